//! The source of ATM's available bit rate (ABR): how its allowed cell rate (ACR) follows feedback.
//!
//! One of `cells_per_message` cells that it sends is a resource management (RM) cell. It comes back
//! a round trip later with what the network feeds back. ATM Forum, Traffic Management Specification
//! 4.0 (af-tm-0056.000, 1996), section 5.10.4:
//!
//! * Rule 3: a cell is an RM cell if `cells_per_message` − 1 others followed the last one. It may
//!   come as the third cell if the last one was sent `message_interval` ago.
//! * Rule 5: if the last RM cell was sent more than `pause` ago, ACR falls to ICR before the next.
//!   Here it falls before the next packet, which keeps one rate.
//! * Rule 8: an RM cell with CI takes RDF · ACR away; one without adds RIF · PCR, up to PCR.
//! * Rule 9: then ACR is at most ER, and at least MCR.
//!
//! More RM cells return to a faster source. One that always has cells to send thus rises
//! exponentially: dACR(t)/dt = RIF · PCR · ACR(t − Δ)/(bits from one RM cell to the next).
//!
//! ACR depends on what the source itself has sent, and on nothing else that packets do. So a hop
//! knows at arrival when the link will have sent a packet, and nothing needs an event. What is kept
//! are the RM cells under way, as many as were sent within a round trip. A pause costs nothing:
//! those come back, and rule 5 makes the rest of its length irrelevant.
//!
//! Left out: rule 6 (CRM, CDF), by which a source slows down that hears nothing, since here no RM
//! cell is lost. RM cells wait in no queue. Their bytes are among those that the link sends, as the
//! headers of cells are: 1/`cells_per_message` of it is a factor on the result.

use crate::queue::cells::CELL;
use ackclock_spec::error::consistent;
use ackclock_spec::prelude::*;
use std::collections::VecDeque;

/// Mrm: cells that are sent from one RM cell to the next at least.
const FEWEST_CELLS: u64 = 2;

/// The source of ATM's available bit rate; without it, the rate jumps to the one fed back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbrSource {
    /// PCR, the peak cell rate, headers of cells included: the highest rate of the source.
    pub peak_rate: BitRate,
    /// RIF: the share of the peak rate that each RM cell adds to the rate, above 0 and at most 1.
    #[serde(default = "factor")]
    pub increase_factor: f64,
    /// RDF: the share of its rate that the source gives up for each RM cell with CI, above 0 and at
    /// most 1. If given, the network only sets CI, for a source that sends more than the rate fed
    /// back. Otherwise it tells that rate (ER), to which the source falls at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [0.0625]))]
    pub decrease_factor: Option<f64>,
    /// Nrm: one of so many cells is an RM cell.
    #[serde(default = "cells_per_message")]
    #[schemars(range(min = 2, max = 256))]
    pub cells_per_message: u32,
    /// Trm: after this time a slow source sends an RM cell earlier, as the third cell.
    #[serde(default = "message_interval")]
    pub message_interval: Span,
    /// ADTF: after this time without an RM cell, the rate returns to ICR (`initial_rate`) if it is
    /// higher.
    #[serde(default = "pause")]
    pub pause: Span,
}

// Defaults: those of the specification.
const fn factor() -> f64 {
    1.0 / 16.0
}
const fn cells_per_message() -> u32 {
    32
}
const fn message_interval() -> Span {
    Span::from_millis(100)
}
const fn pause() -> Span {
    Span::from_millis(500)
}

impl AbrSource {
    /// Refuses parameters out of range, and a lowest or an initial rate above the peak rate.
    pub(super) fn check(&self, lowest: BitRate, initial: Option<BitRate>) -> Result<()> {
        let factor = |field, factor: f64| {
            let remedy = "is not above 0 and at most 1; for example 0.0625";
            in_range(factor > 0.0 && factor <= 1.0, field, &factor, remedy)
        };
        let below = |rate: Option<BitRate>, other, remedy| {
            let holds = rate.is_none_or(|rate| rate <= self.peak_rate);
            consistent(holds, "peak_rate", &self.peak_rate, &[other], remedy)
        };
        every([
            check_above_zero("peak_rate", self.peak_rate, "800 kbit/s"),
            below(Some(lowest), "minimum_rate", "is less than minimum_rate"),
            below(initial, "initial_rate", "is less than initial_rate"),
            factor("increase_factor", self.increase_factor),
            factor("decrease_factor", self.decrease_factor.unwrap_or(1.0)),
            in_range(
                (2..=256).contains(&self.cells_per_message),
                "cells_per_message",
                &self.cells_per_message,
                "is not between 2 and 256",
            ),
            check_above_zero("message_interval", self.message_interval, "100 ms"),
            consistent(
                self.pause >= self.message_interval,
                "pause",
                &self.pause,
                &["message_interval"],
                "is less than message_interval",
            ),
        ])
    }
}

/// Bounds of a source's rate, and the time after which its RM cells come back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// MCR.
    pub(super) lowest: BitRate,
    /// ICR.
    pub(super) initial: BitRate,
    pub(super) round_trip: Span,
}

/// A source's allowed rate, and its RM cells.
#[derive(Debug)]
pub(super) struct Allowed {
    rules: AbrSource,
    bounds: Bounds,
    /// ACR in bit/s, by the RM cells that were back when the last service began.
    bit_per_s: f64,
    /// RM cells under way: when each comes back, and the rate at which it was sent (CCR).
    under_way: VecDeque<(Time, BitRate)>,
    /// When the last RM cell was sent, and the bytes sent since its beginning.
    last_message: Time,
    since_message: u64,
}

impl Allowed {
    /// Makes the state of a source that has sent nothing.
    pub(super) fn new(rules: AbrSource, bounds: Bounds) -> Self {
        let bounds = Bounds {
            initial: bounds.initial.min(rules.peak_rate),
            ..bounds
        };
        Allowed {
            bit_per_s: bounds.initial.as_bit_per_s() as f64,
            bounds,
            under_way: VecDeque::new(),
            last_message: Time::ZERO,
            since_message: u64::from(rules.cells_per_message) * CELL.0, // the first cell is one
            rules,
        }
    }

    /// Returns the rate of a packet whose service begins at `at`, which is not before the last
    /// service. `fed_back` returns the rate that an RM cell brings which comes back at a moment.
    pub(super) fn rate(&self, at: Time, fed_back: impl Fn(Time) -> BitRate) -> BitRate {
        let back = self.under_way.iter().take_while(|(back, _)| *back <= at);
        let allowed = back.fold(self.bit_per_s, |allowed, &message| {
            self.after_message(allowed, message, fed_back(message.0))
        });
        BitRate::from_bit_per_s(self.after_pause(allowed, at) as u64)
    }

    /// Begins a service at `start` and returns its rate; `fed_back` as for [`Allowed::rate`].
    pub(super) fn begin(&mut self, start: Time, fed_back: impl Fn(Time) -> BitRate) -> BitRate {
        while let Some(&message) = self.under_way.front()
            && message.0 <= start
        {
            self.under_way.pop_front();
            self.bit_per_s = self.after_message(self.bit_per_s, message, fed_back(message.0));
        }
        self.bit_per_s = self.after_pause(self.bit_per_s, start);
        BitRate::from_bit_per_s(self.bit_per_s as u64)
    }

    /// Records a service at a rate, and the RM cells among its cells.
    pub(super) fn note_sent(&mut self, rate: BitRate, (start, finish): (Time, Time), size: Bytes) {
        let takes = u128::from(finish.since(start).as_nanos());
        let mut begun = 0;
        loop {
            let next = self.next_message(begun, start, (takes, size.0));
            if next >= size.0 {
                break;
            }
            let offset = takes * u128::from(next) / u128::from(size.0);
            self.last_message = start + Span::from_nanos(offset as u64);
            self.since_message = 0;
            begun = next;
            let back = self.last_message + self.bounds.round_trip;
            self.under_way.push_back((back, rate));
        }
        self.since_message += size.0 - begun;
    }

    /// Returns the byte of a packet at which the next RM cell begins, `begun` bytes of it having
    /// been sent; at least the packet's size if none begins in it. The packet takes `takes` ns.
    fn next_message(&self, begun: u64, start: Time, (takes, size): (u128, u64)) -> u64 {
        let since = self.since_message;
        let due = self.last_message + self.rules.message_interval;
        let wait = u128::from(due.since(start).as_nanos());
        let timely = match wait {
            0 => begun,
            _ if wait >= takes => size,
            _ => begun.max((wait * u128::from(size)).div_ceil(takes) as u64),
        };
        let early = (since + timely - begun).max(FEWEST_CELLS * CELL.0);
        let full = u64::from(self.rules.cells_per_message) * CELL.0;
        begun + full.min(early.next_multiple_of(CELL.0)) - since
    }

    /// Returns the next time after `at` at which the rate may change if nothing is sent.
    pub(super) fn next_change(&self, at: Time) -> Time {
        let back = self.under_way.iter().map(|(back, _)| *back);
        let paused = self.last_message + self.rules.pause + Span::from_nanos(1);
        let next = back.chain([paused]).filter(|change| *change > at).min();
        next.unwrap_or(Time::NEVER)
    }

    /// Returns how often the rate may change if nothing is sent, at most.
    pub(super) fn changes(&self) -> u64 {
        self.under_way.len() as u64 + 1
    }

    /// Rules 8 and 9: returns ACR after an RM cell that was sent at a rate has brought another.
    fn after_message(&self, allowed: f64, (_, sent): (Time, BitRate), fed_back: BitRate) -> f64 {
        let AbrSource {
            peak_rate,
            increase_factor,
            decrease_factor,
            ..
        } = self.rules;
        let peak = peak_rate.as_bit_per_s() as f64;
        let risen = (allowed + increase_factor * peak).min(peak);
        let next = match decrease_factor {
            Some(factor) if sent > fed_back => allowed * (1.0 - factor),
            Some(_) => risen,
            None => risen.min(fed_back.as_bit_per_s() as f64),
        };
        next.max(self.bounds.lowest.as_bit_per_s() as f64)
    }

    /// Rule 5: returns ACR if an RM cell is sent at `at`.
    fn after_pause(&self, allowed: f64, at: Time) -> f64 {
        if at.since(self.last_message) > self.rules.pause {
            allowed.min(self.bounds.initial.as_bit_per_s() as f64)
        } else {
            allowed
        }
    }
}

#[cfg(test)]
mod tests;
