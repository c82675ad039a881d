//! Delivery at the opportunities of a Mahimahi trace; `trace.rs` describes the rules.

use crate::link::Link;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::sync::Arc;

/// Bytes that one opportunity carries (`PACKET_SIZE` in Mahimahi's `link_queue.hh`), and the header
/// bytes of each packet.
pub(super) const OPPORTUNITY: u64 = 1504;
pub(super) const TUN_HEADER: u64 = 4;
/// The interval over which opportunities are averaged to a rate, and its half.
const AROUND: Span = Span::from_millis(1000);
const HALF_AROUND: Span = Span::from_millis(500);

/// Opportunities at the given times in nanoseconds. Times never decrease, and there is at least
/// one. The last is above zero and is also the period.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    pub at: Arc<[u64]>,
    pub repeat: bool,
}

impl Deliveries {
    pub fn period(&self) -> u64 {
        self.at.last().copied().unwrap_or(u64::MAX)
    }
    /// Returns the number of opportunities until `until`, that moment included.
    fn count(&self, until: Time) -> u64 {
        let (length, until) = (self.at.len() as u64, until.as_nanos());
        if !self.repeat {
            return self.at.partition_point(|&at| at <= until) as u64;
        }
        let (round, offset) = (until / self.period(), until % self.period());
        round.saturating_mul(length) + self.at.partition_point(|&at| at <= offset) as u64
    }
}

/// A link that delivers at these opportunities.
#[derive(Debug)]
pub(super) struct DeliveryLink {
    deliveries: Deliveries,
    /// The opportunity after the last one used: its index in the trace, the beginning of that
    /// round, and its time.
    index: usize,
    round: Time,
    next: Time,
    last_finish: Time,
    /// Bytes left of the opportunity at `last_finish`.
    left: u64,
}

/// Most opportunities to skip one by one; a search is faster beyond that.
const FEW: u64 = 8;

impl DeliveryLink {
    pub fn new(deliveries: Deliveries) -> Self {
        DeliveryLink {
            next: Time::from_nanos(deliveries.at[0]),
            deliveries,
            index: 0,
            round: Time::ZERO,
            last_finish: Time::NEVER,
            left: 0,
        }
    }

    /// Skips one opportunity.
    fn pass(&mut self) {
        self.index += 1;
        if self.index == self.deliveries.at.len() && self.deliveries.repeat {
            self.index = 0;
            self.round = self.round + Span::from_nanos(self.deliveries.period());
        }
        self.tell();
    }

    /// Skips that many opportunities.
    fn pass_many(&mut self, number: u64) {
        if number <= FEW {
            return (0..number).for_each(|_| self.pass());
        }
        let length = self.deliveries.at.len();
        let reached = (self.index as u64).saturating_add(number);
        if self.deliveries.repeat {
            let rounds = reached / length as u64;
            self.round = self.round + Span::from_nanos(self.deliveries.period()) * rounds;
            self.index = (reached % length as u64) as usize;
        } else {
            self.index = usize::try_from(reached).map_or(length, |reached| reached.min(length));
        }
        self.tell();
    }

    /// Skips all opportunities up to `now` unused.
    fn waste(&mut self, now: Time) {
        self.left = 0;
        for _ in 0..FEW {
            if self.next > now {
                return;
            }
            self.pass();
        }
        if self.next <= now && !now.is_never() {
            if self.deliveries.repeat {
                let period = self.deliveries.period();
                self.round = Time::from_nanos(now.as_nanos() / period * period);
            }
            let offset = now.since(self.round).as_nanos();
            self.index = self.deliveries.at.partition_point(|&at| at <= offset);
            self.tell();
        }
    }

    fn tell(&mut self) {
        let at = self.deliveries.at.get(self.index);
        self.next = at.map_or(Time::NEVER, |&at| self.round + Span::from_nanos(at));
    }
}

impl Link for DeliveryLink {
    fn finish(&mut self, start: Time, size: Bytes) -> Time {
        if start != self.last_finish {
            self.waste(start);
        }
        let size = size.0.saturating_add(TUN_HEADER);
        if size <= self.left {
            self.left -= size;
            return start;
        }
        let missing = size - self.left;
        let more = missing.div_ceil(OPPORTUNITY);
        self.left = (OPPORTUNITY - missing % OPPORTUNITY) % OPPORTUNITY;
        self.pass_many(more - 1);
        self.last_finish = self.next;
        self.pass();
        self.last_finish
    }

    fn rate(&self, at: Time) -> BitRate {
        let from = Time::ZERO + at.since(Time::ZERO + HALF_AROUND);
        let opportunities = self.deliveries.count(from + AROUND) - self.deliveries.count(from);
        let bytes = (OPPORTUNITY - TUN_HEADER).saturating_mul(opportunities);
        BitRate::average(Bytes(bytes), AROUND)
    }

    /// Not exact, because a packet of more than 1500 bytes takes one header for several
    /// opportunities.
    fn is_exact(&self) -> bool {
        false
    }

    /// Computed at 1500 bytes per opportunity. An opportunity at `until` counts, one at `from` does
    /// not.
    fn mean_rate(&self, from: Time, until: Time) -> BitRate {
        if until <= from {
            return self.rate(from);
        }
        let opportunities = self.deliveries.count(until) - self.deliveries.count(from);
        let bytes = (OPPORTUNITY - TUN_HEADER).saturating_mul(opportunities);
        BitRate::average(Bytes(bytes), until.since(from))
    }
}
