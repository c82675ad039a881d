//! Periodic readings of all flows.

use super::Flow;
use crate::workload::SampleSink;
use crate::workload::readings::{EventReading, RateReading, Readings};
use crate::workload::tcp_info::TcpInfo;
use ackclock_spec::units::{Span, Time};
use std::io;

/// Rows passed on at a time.
const BLOCK: usize = 4096;
/// Longest time that a reading waits for others, so that a run can be watched.
const LONGEST_WAIT: Span = Span::from_millis(200);

/// Collects readings and passes them on in blocks.
pub(super) struct Samples<'a> {
    block: Readings,
    /// Time of the first reading of the block.
    since: Time,
    take: SampleSink<'a>,
}

impl<'a> Samples<'a> {
    pub(super) fn new(take: SampleSink<'a>) -> Self {
        Samples {
            block: Readings::default(),
            since: Time::ZERO,
            take,
        }
    }
    pub(super) fn push(&mut self, now: Time, flow: u32, info: &TcpInfo) -> io::Result<()> {
        self.begin(now);
        self.block.tcp_info.push(now.as_nanos(), flow, info);
        self.flush_if_due(now)
    }
    pub(super) fn push_rate(&mut self, now: Time, reading: RateReading) -> io::Result<()> {
        self.begin(now);
        self.block.rates.push(reading);
        self.flush_if_due(now)
    }
    pub(super) fn push_event(&mut self, now: Time, event: EventReading) -> io::Result<()> {
        self.begin(now);
        self.block.events.push(event);
        self.flush_if_due(now)
    }
    fn begin(&mut self, now: Time) {
        if self.block.is_empty() {
            self.since = now;
        }
    }
    fn flush_if_due(&mut self, now: Time) -> io::Result<()> {
        let is_due = self.block.len() >= BLOCK || now.since(self.since) >= LONGEST_WAIT;
        if is_due { self.flush() } else { Ok(()) }
    }
    /// Passes on the current block.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        (self.take)(std::mem::take(&mut self.block))
    }
}

/// Reads the flows one after the other, one per turn of the loop. A datagram that falls due
/// meanwhile waits for one reading, not for all.
#[derive(Debug)]
pub(super) struct Sampler {
    interval: Span,
    due: Time,
    next_flow: usize,
    missed: u64,
}

impl Sampler {
    /// Creates a sampler with this interval from the run's beginning on; with interval 0 it never
    /// samples.
    pub(super) fn new(interval_ns: u64) -> Self {
        Sampler {
            interval: Span::from_nanos(interval_ns),
            due: if interval_ns == 0 {
                Time::NEVER
            } else {
                Time::ZERO
            },
            next_flow: 0,
            missed: 0,
        }
    }
    /// Returns the number of sampling times left out.
    pub(super) const fn missed(&self) -> u64 {
        self.missed
    }

    /// Reads the next flow if it is due; returns the time of the next call.
    pub(super) fn poll(
        &mut self,
        now: Time,
        flows: &[Flow],
        samples: &mut Samples<'_>,
    ) -> io::Result<Time> {
        if now < self.due {
            return Ok(self.due);
        }
        while let Some(flow) = flows.get(self.next_flow) {
            self.next_flow += 1;
            if flow.take_reading(now, samples)? {
                return Ok(now);
            }
        }
        self.next_flow = 0;
        let behind = now.since(self.due).as_nanos() / self.interval.as_nanos();
        self.missed += behind;
        self.due = self.due + self.interval * (behind + 1);
        Ok(self.due)
    }
}
