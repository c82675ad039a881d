//! The time in which a flow was active, and averages over that time.

use ackclock_spec::units::{Bytes, Span, Time};

/// The interval in which a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Start of the flow.
    pub start: Time,
    /// Time at which the flow stops sending; [`Time::NEVER`] if nothing stops it.
    pub stop: Time,
    /// Time at which the application has the last byte, for a finite transfer.
    pub completed: Option<Time>,
}

impl Activity {
    /// Returns the time within `warmup`..`end` during which the flow could send.
    pub fn measured(&self, warmup: Time, end: Time) -> Span {
        end.min(self.last()).since(warmup.max(self.start))
    }

    /// Returns the last moment at which the flow could send, as far as is known.
    pub fn last(&self) -> Time {
        self.stop.min(self.completed.unwrap_or(Time::NEVER))
    }

    /// Returns it without a completion that lies beyond `end`: a slow reader completes a transfer
    /// after the last byte has arrived.
    pub fn known_at(self, end: Time) -> Self {
        Activity {
            completed: self.completed.filter(|at| *at <= end),
            ..self
        }
    }

    /// Returns when the flow ended, if it ended by `end`.
    pub fn ended(&self, end: Time) -> Option<Time> {
        self.completed.or((self.stop <= end).then_some(self.stop))
    }

    /// Returns the time from the start to the arrival of the last byte, for a finite transfer.
    pub fn completion_time(&self) -> Option<Span> {
        self.completed.map(|at| at.since(self.start))
    }
}

/// Returns the average rate in bit/s; NaN if `measured` is zero.
pub fn bit_per_s(bytes: Bytes, measured: Span) -> f64 {
    match measured {
        Span::ZERO => f64::NAN,
        _ => bytes.as_f64() * 8.0 / measured.as_seconds(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }
    const WITHOUT_END: Activity = Activity {
        start: at(3),
        stop: Time::NEVER,
        completed: None,
    };
    const STOPPED: Activity = Activity {
        stop: at(20),
        ..WITHOUT_END
    };
    const COMPLETED: Activity = Activity {
        completed: Some(at(8)),
        ..STOPPED
    };

    #[test]
    fn what_comes_first_ends_it_and_what_comes_last_begins_it() {
        let seconds =
            |activity: Activity, warmup, end| activity.measured(at(warmup), at(end)).as_seconds();
        assert_eq!(seconds(WITHOUT_END, 1, 30), 27.0);
        assert_eq!(seconds(WITHOUT_END, 5, 30), 25.0);
        assert_eq!(seconds(STOPPED, 5, 30), 15.0);
        assert_eq!(seconds(STOPPED, 5, 10), 5.0);
        assert_eq!(seconds(COMPLETED, 5, 30), 3.0);
        assert_eq!(
            seconds(COMPLETED, 9, 30),
            0.0,
            "over before the warm-up was"
        );
    }

    #[test]
    fn a_transfer_ends_with_its_last_byte_and_anything_else_when_it_is_stopped() {
        assert_eq!(WITHOUT_END.ended(at(30)), None);
        assert_eq!(
            (STOPPED.ended(at(19)), STOPPED.ended(at(20))),
            (None, Some(at(20)))
        );
        assert_eq!(COMPLETED.ended(at(30)), Some(at(8)));
        assert_eq!(STOPPED.completion_time(), None);
        assert_eq!(COMPLETED.completion_time(), Some(Span::from_millis(5000)));
        assert_eq!(COMPLETED.known_at(at(8)), COMPLETED);
        assert_eq!(COMPLETED.known_at(at(7)), STOPPED, "read after the end");
    }

    #[test]
    fn a_rate_needs_time() {
        assert_eq!(bit_per_s(Bytes(1000), Span::from_millis(500)), 16_000.0);
        assert!(bit_per_s(Bytes(1000), Span::ZERO).is_nan());
    }
}
