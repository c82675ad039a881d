//! The clocks of the loop that sleeps. CLOCK_MONOTONIC: nobody sets it, and it is what timeouts are
//! measured by.

use ackclock_core::units::{Span, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Says how long the run has lasted.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Span,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Clock {
            origin: read(ClockId::Monotonic),
        }
    }

    /// A clock that began when CLOCK_MONOTONIC showed `origin`, so that several processes can agree
    /// on the beginning.
    pub const fn since(origin: Span) -> Self {
        Clock { origin }
    }

    /// Nanoseconds since the beginning.
    pub fn now(&self) -> Time {
        Time::ZERO + (read(ClockId::Monotonic) - self.origin)
    }
}

/// Processor time the calling thread has used.
pub fn thread_time() -> Span {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Span {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // Neither clock shows anything negative.
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
