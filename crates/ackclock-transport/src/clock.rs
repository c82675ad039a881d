//! Clocks of the event loop. They use CLOCK_MONOTONIC: it cannot be set, and timeouts are measured
//! by it.

use ackclock_spec::units::{Span, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Measures the time since the beginning of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Span,
}

impl Clock {
    /// Creates a clock that begins now.
    pub fn start() -> Self {
        Clock {
            origin: read(ClockId::Monotonic),
        }
    }

    /// Creates a clock that began when CLOCK_MONOTONIC was `origin`, so that several processes can
    /// share a beginning.
    pub const fn since(origin: Span) -> Self {
        Clock { origin }
    }

    /// Returns the time since the beginning, to the nanosecond.
    pub fn now(&self) -> Time {
        Time::ZERO + (read(ClockId::Monotonic) - self.origin)
    }
}

/// Returns the processor time that the calling thread has used.
pub fn thread_time() -> Span {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Span {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // Neither clock is ever negative.
    Span::from_nanos(tv_sec as u64 * 1_000_000_000 + tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_zero_and_never_runs_backwards() {
        let clock = Clock::start();
        let readings: Vec<Time> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
        assert!(readings[0] < Time::from_seconds(3600.0));
        let earlier = Clock::since(Span::ZERO);
        assert!(
            earlier.now() > clock.now(),
            "the machine was started before"
        );
    }

    #[test]
    fn work_takes_processor_time() {
        let before = thread_time();
        let mut sum = 0_u64;
        while thread_time() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_time() > before);
    }
}
