//! Times at which a flow writes, in the run's time.

use ackclock_core::traffic::{Traffic, Write};
use ackclock_spec::units::{Bytes, Time};

/// The writes of a flow at the times of its traffic. A write at the flow's stop is left out; one at
/// the end of the run counts, as in the engine.
#[derive(Debug)]
pub struct Schedule {
    traffic: Box<dyn Traffic>,
    start: Time,
    stop: Time,
    end: Time,
}

impl Schedule {
    /// Creates the writes of `traffic`, whose times count from `start`, before `stop` and up to
    /// `end`.
    pub(super) fn new(traffic: Box<dyn Traffic>, start: Time, stop: Time, end: Time) -> Self {
        Schedule {
            traffic,
            start,
            stop,
            end,
        }
    }
    /// Returns the start of the flow.
    pub const fn start(&self) -> Time {
        self.start
    }
    /// Returns the time at which it stops sending, at the latest the run's end.
    pub fn stop(&self) -> Time {
        self.stop.min(self.end)
    }
    /// True if it stops before the run ends.
    pub fn stops_early(&self) -> bool {
        self.stop < self.end
    }
    /// Returns the time of the next write; [`Time::NEVER`] after the last.
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
    /// Takes the next write, with its time, if it is due by `now`.
    pub fn poll_write(&mut self, now: Time) -> Option<(Time, Write)> {
        let at = self.poll_timeout();
        if at.is_never() || at > now {
            return None;
        }
        Some((at, self.traffic.poll_write()?))
    }
    /// True if the application has written all its data; never true for endless traffic.
    pub fn is_complete(&self) -> bool {
        self.traffic.total().is_some() && self.traffic.poll_timeout().is_never()
    }
    /// Returns the total length of its data, if it ends.
    pub fn total(&self) -> Option<Bytes> {
        self.traffic.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three writes of a kilobyte, one per millisecond.
    #[derive(Debug)]
    struct Three(u64);

    impl Traffic for Three {
        fn transports(&self) -> ackclock_core::traffic::Transports {
            ackclock_core::traffic::Transports::Any
        }
        fn poll_timeout(&self) -> Time {
            if self.0 < 3 {
                Time::from_nanos(self.0 * 1_000_000)
            } else {
                Time::NEVER
            }
        }
        fn poll_write(&mut self) -> Option<Write> {
            self.0 += 1;
            (self.0 <= 3).then_some(Write::Bytes(Bytes(1000)))
        }
        fn total(&self) -> Option<Bytes> {
            Some(Bytes(3000))
        }
    }

    fn writes(start: u64, stop: Time, end: u64) -> (Vec<u64>, bool) {
        let at = |milliseconds: u64| Time::from_nanos(milliseconds * 1_000_000);
        let mut schedule = Schedule::new(Box::new(Three(0)), at(start), stop, at(end));
        let mut times = Vec::new();
        while let Some((due, _)) = schedule.poll_write(at(1000)) {
            times.push(due.as_nanos() / 1_000_000);
        }
        (times, schedule.is_complete())
    }

    #[test]
    fn writes_are_before_the_stop_and_up_to_the_end() {
        let stop = |milliseconds: u64| Time::from_nanos(milliseconds * 1_000_000);
        assert_eq!(writes(5, Time::NEVER, 100), (vec![5, 6, 7], true));
        assert_eq!(writes(5, stop(7), 100), (vec![5, 6], false));
        assert_eq!(writes(5, Time::NEVER, 7), (vec![5, 6, 7], true));
        assert_eq!(writes(5, Time::NEVER, 6), (vec![5, 6], false));
    }

    #[test]
    fn nothing_is_written_before_its_time() {
        let mut schedule = Schedule::new(
            Box::new(Three(0)),
            Time::from_nanos(10),
            Time::NEVER,
            Time::NEVER,
        );
        assert_eq!(schedule.poll_write(Time::from_nanos(9)), None);
        let first = Some((Time::from_nanos(10), Write::Bytes(Bytes(1000))));
        assert_eq!(schedule.poll_write(Time::from_nanos(10)), first);
        assert_eq!(schedule.poll_write(Time::from_nanos(10)), None);
    }
}
