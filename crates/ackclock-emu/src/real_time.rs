//! The loop that sleeps: packets from two devices through the hops of a scenario, in real time.
//!
//! One turn reads what has come (at most [`MOST_READS`] packets, so that what is due never
//! starves), stamps each with the moment it was read, and writes all that is due. Then the thread
//! sleeps until the next packet is due or one comes. Being late moves only the stamp of an arrival
//! and the moment of a write, never a decision of a hop.
//!
//! Ask for real-time priority before calling it: nothing does more for punctuality.

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
use ackclock_core::units::{Span, Time};
use rustix::thread::set_current_timer_slack;
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many packets are read in one turn at most.
pub const MOST_READS: u32 = 32;
/// The loop sleeps no longer than this, so that it notices when it was away even if nothing was
/// due.
const LONGEST_SLEEP: Span = Span::from_millis(10);
/// When packets are due closer together than this, they are written in groups: falling asleep and
/// waking costs as much processor time as carrying a packet or two, and at 1 Gbit/s one is due
/// every 12 µs. A sixteenth of the lateness that a verdict allows.
const GROUP: Span = Span::from_micros(60);
/// From so many rows on the record is written: some fifty microseconds of work.
const RECORD_ROWS: usize = 1 << 11;
/// How often all that is known by then is let go to the disk, however little it is. Half of the
/// second by which a run that is killed may be ahead of its record and captures: the rest is for
/// the threads that write.
const HAND_OVER: Span = Span::from_millis(500);
/// No IPv4 packet is longer.
const LONGEST_PACKET: usize = 65_535;

/// What passed through the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that came to the hops, forward and back.
    pub taken: [u64; 2],
    /// Packets that were written, forward and back.
    pub written: [u64; 2],
    /// Packets a device had no room for or refused: lost outside the model.
    pub not_written: u64,
    /// What was read and is no whole IPv4 packet.
    pub malformed: u64,
    /// Packets between addresses of no flow, or from the wrong side.
    pub strangers: u64,
    /// The largest packet read, in bytes.
    pub largest: u64,
}

/// Where a run is written to while it lasts; what is missing is not written. What was written is
/// handed over about twice a second.
#[derive(Default)]
pub struct Outputs {
    /// For replay, see [`record`](crate::record).
    pub record: Option<Box<dyn Output>>,
    /// Packets at the ends of the path.
    pub captures: Captures,
    /// Bytes given to the receivers so far, headers included, for whoever shows progress.
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

/// What a run leaves behind.
#[derive(Debug)]
pub struct Report {
    /// The hops, the record of what was not written yet and the table `hops`.
    pub driver: Driver,
    /// How punctual it was.
    pub timing: Timing,
    /// What passed.
    pub traffic: Traffic,
    /// How long it lasted.
    pub elapsed: Span,
    /// Processor time of the thread.
    pub processor: Span,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Report {
    /// What the verdict is about. `lost_elsewhere` counts packets that the devices themselves lost;
    /// `probe_extra` is that of the self-test, if there was one.
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

/// See the module.
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
    /// The hops of `driver` between two devices.
    ///
    /// # Errors
    /// Those of writing the first bytes of the record.
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

    /// Goes round until `end` by `clock`, or until told to `stop`, which is looked at after every
    /// turn.
    ///
    /// # Errors
    /// Those of reading from a device, waiting and writing to the outputs. A packet that cannot be
    /// written to a device is no error: it is counted.
    pub fn run(mut self, clock: &Clock, end: Time, stop: &Stop) -> io::Result<Report> {
        // Or every timer of this thread is 50 µs late (prctl(2), PR_SET_TIMERSLACK).
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
                wait([], planned.since(after))?; // what comes meanwhile belongs to the group
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

    /// Reads what has come and writes what is due by `end`; whether there may be more to read.
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

    /// Takes the next packet that the hosts of one side have sent, if there is one. What comes
    /// after `end` is not of the run.
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
        let flow = match addresses::flow_of(header.source, header.destination) {
            Some((flow, direction))
                if direction == side && (flow.0 as usize) < self.driver.flows() =>
            {
                flow
            }
            _ => {
                self.traffic.strangers += 1;
                return Ok(true);
            }
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

    /// Writes the next packet that is due, if there is one.
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

    /// Sleeps until then, or until a packet comes; not at all if that is now.
    fn wait_until(&mut self, at: Time, clock: &Clock, stop: &Stop) -> io::Result<()> {
        let sleep = at.since(clock.now()).min(LONGEST_SLEEP);
        if sleep > Span::ZERO {
            self.timing.sleeps += 1;
            let descriptors = [self.senders.as_fd(), self.receivers.as_fd(), stop.as_fd()];
            wait(descriptors, sleep)?;
        }
        Ok(())
    }

    /// Lets go to the disk all that has come and was decided until now.
    fn hand_over(&mut self) -> io::Result<()> {
        self.write_record(0)?;
        if let Some(record) = &mut self.outputs.record {
            record.hand_over()?;
        }
        self.outputs.captures.hand_over()
    }

    /// Writes the record down if it has grown to that many rows, and forgets it. Without a writer
    /// it is forgotten at once, save its digest.
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
