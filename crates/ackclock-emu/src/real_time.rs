//! The real-time loop: passes packets from two devices through the hops of a scenario.
//!
//! One turn reads the packets that have arrived (at most [`MOST_READS`], so that due packets never
//! starve), stamps each with the time of reading, and writes all packets that are due. Then the
//! thread sleeps until the next packet is due or one arrives. Lateness moves only the stamp of an
//! arrival and the time of a write, never a decision of a hop.
//!
//! Request real-time priority before calling it: nothing improves punctuality more.

use crate::addresses;
use crate::background::Output;
use crate::capture::{Captures, Point};
use crate::clock::{Clock, thread_time};
use crate::driver::Driver;
use crate::fidelity::Measured;
use crate::ipv4::{Direction, Header};
use crate::port::Port;
use crate::record::MAGIC;
use crate::timing::Timing;
use crate::wait::{Stop, wait};
use ackclock_spec::units::{Span, Time};
use rustix::thread::set_current_timer_slack;
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most packets read in one turn.
pub const MOST_READS: u32 = 32;
/// Longest sleep, so that the loop notices that it was away even if nothing was due.
const LONGEST_SLEEP: Span = Span::from_millis(10);
/// Time between groups of writes. Packets due closer together are written in groups: sleeping and
/// waking costs as much processor time as carrying a packet or two, and at 1 Gbit/s one is due
/// every 12 µs. It is a sixteenth of the lateness that a verdict permits.
const GROUP: Span = Span::from_micros(60);
/// Number of rows from which on the record is written: some fifty microseconds of work.
const RECORD_ROWS: usize = 1 << 11;
/// Interval at which all outputs are handed over to the disk, however short they are. It is half of
/// the second by which a killed run may be ahead of its record and captures. The rest is for the
/// threads that write.
const HAND_OVER: Span = Span::from_millis(500);
/// Length of the longest IPv4 packet in bytes.
const LONGEST_PACKET: usize = 65_535;

/// Packets that passed the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that arrived at the hops, forward and back.
    pub taken: [u64; 2],
    /// Packets written, forward and back.
    pub written: [u64; 2],
    /// Packets that a device refused or had no room for: lost outside the model.
    pub not_written: u64,
    /// Packets read that are not whole IPv4 packets.
    pub malformed: u64,
    /// Packets between addresses of no flow, or from the wrong side.
    pub strangers: u64,
    /// Largest packet read, in bytes.
    pub largest: u64,
}

/// Outputs of a run while it lasts; absent ones are not written. They are handed over to the disk
/// about twice a second.
#[derive(Default)]
pub struct Outputs {
    /// Record for replay, see [`record`](crate::record).
    pub record: Option<Box<dyn Output>>,
    /// Captures at the ends of the path.
    pub captures: Captures,
    /// Bytes delivered to the receivers so far, headers included, to show progress.
    pub delivered: Arc<AtomicU64>,
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("Outputs");
        shape.field("record", &self.record.is_some());
        shape.field("captures", &self.captures);
        shape.field("delivered", &self.delivered).finish()
    }
}

/// Results of a run.
#[derive(Debug)]
pub struct Report {
    /// The hops, with the unwritten rest of the record and the table `hops`.
    pub driver: Driver,
    /// Punctuality of the run.
    pub timing: Timing,
    /// Packets that passed.
    pub traffic: Traffic,
    /// Duration of the run.
    pub elapsed: Span,
    /// Processor time of the thread.
    pub processor: Span,
    /// True if it was stopped before its end.
    pub stopped: bool,
}

impl Report {
    /// Returns the measurements for the verdict. `lost_elsewhere` counts packets lost by the
    /// devices themselves; `probe_extra` comes from the self-test, if there was one.
    pub fn measured(
        &self,
        lost_elsewhere: u64,
        base_rtt: Span,
        mtu: u64,
        probe_extra: Option<Span>,
    ) -> Measured {
        Measured {
            outside_drops: lost_elsewhere + self.traffic.not_written,
            lateness_p99: self.timing.lateness.quantile(0.99),
            base_rtt,
            longest_gap: self.timing.longest_gap,
            largest_packet: self.traffic.largest,
            mtu,
            probe_extra,
            hosts: None,
            cpu_share: self.processor.as_seconds() / self.elapsed.as_seconds(),
        }
    }
}

/// Passes packets between two devices through the hops.
#[derive(Debug)]
pub struct RealTime<S, R> {
    driver: Driver,
    senders: S,
    receivers: R,
    outputs: Outputs,
    timing: Timing,
    traffic: Traffic,
    buffer: Vec<u8>,
    body: Vec<u8>,
}

impl<S: Port, R: Port> RealTime<S, R> {
    /// Creates a loop with the hops of `driver` between two devices.
    ///
    /// # Errors
    /// Errors of writing the first bytes of the record.
    pub fn new(
        driver: Driver,
        (senders, receivers): (S, R),
        mut outputs: Outputs,
    ) -> io::Result<Self> {
        if let Some(record) = &mut outputs.record {
            record.write_all(&MAGIC)?;
            record.hand_over()?;
        }
        Ok(RealTime {
            driver,
            senders,
            receivers,
            outputs,
            timing: Timing::default(),
            traffic: Traffic::default(),
            buffer: vec![0; LONGEST_PACKET],
            body: Vec::new(),
        })
    }

    /// Runs until `end` by `clock`, or until `stop` is set, which is checked after every turn.
    ///
    /// # Errors
    /// Errors of reading from a device, of waiting, and of writing to the outputs. A packet that
    /// cannot be written to a device is not an error; it is counted.
    pub fn run(mut self, clock: &Clock, end: Time, stop: &Stop) -> io::Result<Report> {
        // Without this every timer of this thread is 50 µs late (prctl(2), PR_SET_TIMERSLACK).
        set_current_timer_slack(NonZeroU64::new(1))?;
        let processor = thread_time();
        let begin = clock.now();
        let (mut planned, mut stopped, mut handed_over) = (begin, false, begin);
        loop {
            let now = clock.now();
            self.timing.note_gap(now.since(planned));
            let more = self.turn(clock, end)?;
            if now.since(handed_over) >= HAND_OVER {
                self.hand_over()?;
                handed_over = now;
            } else {
                self.write_record(RECORD_ROWS)?;
            }
            let after = clock.now();
            self.timing.note_gap(after.since(now));
            stopped = stopped || stop.is_given();
            if stopped || after >= end {
                break;
            }
            let due = self.driver.poll_timeout().min(end);
            planned = if more { after } else { due };
            if !more && due < now + GROUP {
                planned = now + GROUP;
                wait([], planned.since(after))?; // arrivals meanwhile belong to the group
            } else {
                self.wait_until(planned, clock, stop)?;
            }
            planned = planned.min(after + LONGEST_SLEEP);
        }
        let last = clock.now();
        self.driver.finish(last.min(end));
        self.write_record(0)?;
        self.outputs.captures.finish()?;
        if let Some(record) = &mut self.outputs.record {
            record.flush()?;
        }
        Ok(Report {
            driver: self.driver,
            timing: self.timing,
            traffic: self.traffic,
            elapsed: last.since(begin),
            processor: thread_time() - processor,
            stopped,
        })
    }

    /// Reads packets that have arrived and writes packets due by `end`; returns true if there may
    /// be more to read.
    fn turn(&mut self, clock: &Clock, end: Time) -> io::Result<bool> {
        self.timing.turns += 1;
        let (mut reads, mut empty) = (0, [false; 2]);
        while reads < MOST_READS && empty != [true; 2] {
            for side in [Direction::Forward, Direction::Back] {
                let dry = &mut empty[usize::from(!side.is_forward())];
                if !*dry {
                    *dry = !self.read(side, clock, end)?;
                    reads += 1;
                }
            }
        }
        while self.write(clock, end)? {}
        Ok(empty != [true; 2])
    }

    /// Takes the next packet that the hosts of one side have sent; returns false if there is none.
    /// Packets after `end` are not part of the run.
    fn read(&mut self, side: Direction, clock: &Clock, end: Time) -> io::Result<bool> {
        let read = match side {
            Direction::Forward => self.senders.read(&mut self.buffer)?,
            Direction::Back => self.receivers.read(&mut self.buffer)?,
        };
        let Some(length) = read else {
            return Ok(false);
        };
        let stamp = clock.now();
        if stamp > end {
            return Ok(false);
        }
        let Ok(header) = Header::read(&self.buffer[..length]) else {
            self.traffic.malformed += 1;
            return Ok(true);
        };
        let flow = addresses::flow_of(header.source, header.destination)
            .filter(|(_, direction)| *direction == side)
            .and_then(|(position, _)| self.driver.written().get(position as usize).copied());
        let Some(flow) = flow else {
            self.traffic.strangers += 1;
            return Ok(true);
        };
        let packet = &self.buffer[..usize::from(header.length)];
        self.traffic.largest = self.traffic.largest.max(header.length.into());
        self.traffic.taken[usize::from(!side.is_forward())] += 1;
        self.driver.handle_packet(stamp, flow, side, packet);
        let point = match side {
            Direction::Forward => Point::FromSenders,
            Direction::Back => Point::FromReceivers,
        };
        self.outputs.captures.write(point, stamp, packet)?;
        Ok(true)
    }

    /// Writes the next packet that is due; returns false if there is none.
    fn write(&mut self, clock: &Clock, end: Time) -> io::Result<bool> {
        let now = clock.now();
        let Some(departure) = self.driver.poll_departure(now.min(end)) else {
            return Ok(false);
        };
        self.timing.lateness.add(now.since(departure.at));
        let (written, point) = match departure.direction {
            Direction::Forward => (self.receivers.write(departure.bytes), Point::ToReceivers),
            Direction::Back => (self.senders.write(departure.bytes), Point::ToSenders),
        };
        if matches!(written, Ok(true)) {
            if departure.direction.is_forward() {
                let bytes = departure.bytes.len() as u64;
                self.outputs.delivered.fetch_add(bytes, Ordering::Relaxed);
            }
            self.traffic.written[usize::from(!departure.direction.is_forward())] += 1;
        } else {
            self.traffic.not_written += 1;
        }
        self.outputs
            .captures
            .write(point, departure.at, departure.bytes)?;
        Ok(true)
    }

    /// Sleeps until `at`, or until a packet arrives; returns immediately if that time has come.
    fn wait_until(&mut self, at: Time, clock: &Clock, stop: &Stop) -> io::Result<()> {
        let sleep = at.since(clock.now()).min(LONGEST_SLEEP);
        if sleep > Span::ZERO {
            self.timing.sleeps += 1;
            let descriptors = [self.senders.as_fd(), self.receivers.as_fd(), stop.as_fd()];
            wait(descriptors, sleep)?;
        }
        Ok(())
    }

    /// Hands over to the disk everything that has arrived and was decided until now.
    fn hand_over(&mut self) -> io::Result<()> {
        self.write_record(0)?;
        if let Some(record) = &mut self.outputs.record {
            record.hand_over()?;
        }
        self.outputs.captures.hand_over()
    }

    /// Writes the record if it has at least this many rows, and clears it. Without an output it is
    /// cleared, except for its digest.
    fn write_record(&mut self, rows: usize) -> io::Result<()> {
        if self.driver.record_len() < rows {
            return Ok(());
        }
        let chunk = self.driver.poll_record();
        if let Some(record) = &mut self.outputs.record {
            chunk.write_to(record, &mut self.body)?;
        }
        chunk.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
