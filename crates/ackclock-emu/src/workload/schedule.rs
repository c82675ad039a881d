//! When a flow writes, in the run's time.

use ackclock_core::traffic::{Traffic, Write};
use ackclock_core::units::{Bytes, Time};

/// The writes of a flow at the times of its traffic. A write at the flow's stop is none any more, one at the end of the run is, as in the
/// engine.
#[derive(Debug)]
pub struct Schedule {
    traffic: Box<dyn Traffic>,
    start: Time,
    stop: Time,
    end: Time,
}

impl Schedule {
    /// The writes of `traffic`, whose times count from `start`, before `stop` and up to `end`.
    pub(super) fn new(traffic: Box<dyn Traffic>, start: Time, stop: Time, end: Time) -> Self {
        Schedule {
            traffic,
            start,
            stop,
            end,
        }
    }
    /// When the flow starts.
    pub const fn start(&self) -> Time {
        self.start
    }
    /// When it stops sending, the run's end at the latest.
    pub fn stop(&self) -> Time {
        self.stop.min(self.end)
    }
    /// Whether it stops before the run does.
    pub fn stops_early(&self) -> bool {
        self.stop < self.end
    }
    /// When the next write is due; [`Time::NEVER`] after the last.
    pub fn poll_timeout(&self) -> Time {
        let offset = self.traffic.poll_timeout();
        if offset.is_never() {
            return Time::NEVER;
        }
        let at = self.start + offset.since(Time::ZERO);
        if at < self.stop && at <= self.end {
            at
        } else {
            Time::NEVER
        }
    }
    /// Takes the next write if it is due by `now`, and the time at which it was due.
    pub fn poll_write(&mut self, now: Time) -> Option<(Time, Write)> {
        let at = self.poll_timeout();
        if at.is_never() || at > now {
            return None;
        }
        Some((at, self.traffic.poll_write()?))
    }
    /// Whether the application has written all that it ever will. Traffic without end never has.
    pub fn is_complete(&self) -> bool {
        self.traffic.total().is_some() && self.traffic.poll_timeout().is_never()
    }
    /// All that it will ever write, if it ends.
    pub fn total(&self) -> Option<Bytes> {
        self.traffic.total()
    }
}
