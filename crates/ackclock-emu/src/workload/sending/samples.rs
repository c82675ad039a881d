//! Readings of all flows that have something to show, at even spacing.

use super::Flow;
use crate::workload::SampleSink;
use crate::workload::readings::{RateReading, Readings};
use crate::workload::tcp_info::TcpInfo;
use ackclock_core::units::{Span, Time};
use std::io;

/// Rows handed on at a time.
const BLOCK: usize = 4096;

/// Collects readings and hands them on in blocks.
pub(super) struct Samples<'a> {
    block: Readings,
    take: SampleSink<'a>,
}

impl<'a> Samples<'a> {
    pub(super) fn new(take: SampleSink<'a>) -> Self {
        Samples {
            block: Readings::default(),
            take,
        }
    }
    pub(super) fn push(&mut self, now: Time, flow: u32, info: &TcpInfo) -> io::Result<()> {
        self.block.tcp_info.push(now.as_nanos(), flow, info);
        self.flush_if_full()
    }
    pub(super) fn push_rate(&mut self, reading: RateReading) -> io::Result<()> {
        self.block.rates.push(reading);
        self.flush_if_full()
    }
    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.block.len() < BLOCK {
            Ok(())
        } else {
            self.flush()
        }
    }
    /// Hands on what there is.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        (self.take)(std::mem::take(&mut self.block))
    }
}

/// Reads one flow after the other, one a turn: a datagram that falls due meanwhile waits for one
/// reading, not for all.
#[derive(Debug)]
pub(super) struct Sampler {
    interval: Span,
    due: Time,
    next_flow: usize,
    missed: u64,
}

impl Sampler {
    /// Every `interval_ns` nanoseconds from the run's begin on; never if that is zero.
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
    /// Sampling times that were left out.
    pub(super) const fn missed(&self) -> u64 {
        self.missed
    }

    /// Reads the next flow if that is due, and says when to come again.
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
