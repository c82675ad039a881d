//! A period with one limit, and sums over it.

use crate::limits::LimitingFactor;

/// A period with one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Beginning, in nanoseconds.
    pub start: u64,
    /// End, in nanoseconds.
    pub end: u64,
    /// The limit.
    pub limit: LimitingFactor,
    /// Sums over the period.
    pub sums: Sums,
}

impl Stretch {
    /// Adds the period that follows.
    pub fn join(&mut self, next: &Stretch) {
        self.end = next.end;
        self.sums.add(&next.sums);
    }
}

/// Sums over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Data in flight, in bytes times nanoseconds.
    pub outstanding: f64,
    /// The receiver's window, in bytes times nanoseconds.
    pub window: f64,
    /// Bytes acknowledged.
    pub acknowledged: u64,
    /// New bytes sent.
    pub sent: u64,
    /// Packets retransmitted.
    pub resent: u64,
    /// ACKs that reported marks.
    pub marks: u64,
    /// Sum of the round-trip times in nanoseconds, and their number.
    pub round_trips: (u64, u64),
}

impl Sums {
    /// No time.
    #[cfg(test)]
    pub const NONE: Sums = Sums {
        outstanding: 0.0,
        window: 0.0,
        acknowledged: 0,
        sent: 0,
        resent: 0,
        marks: 0,
        round_trips: (0, 0),
    };

    /// Returns the increase since `before`.
    pub fn since(&self, before: &Sums) -> Sums {
        Sums {
            outstanding: self.outstanding - before.outstanding,
            window: self.window - before.window,
            acknowledged: self.acknowledged - before.acknowledged,
            sent: self.sent - before.sent,
            resent: self.resent - before.resent,
            marks: self.marks - before.marks,
            round_trips: (
                self.round_trips.0 - before.round_trips.0,
                self.round_trips.1 - before.round_trips.1,
            ),
        }
    }

    fn add(&mut self, more: &Sums) {
        self.outstanding += more.outstanding;
        self.window += more.window;
        self.acknowledged += more.acknowledged;
        self.sent += more.sent;
        self.resent += more.resent;
        self.marks += more.marks;
        self.round_trips.0 = self.round_trips.0.saturating_add(more.round_trips.0);
        self.round_trips.1 += more.round_trips.1;
    }
}
