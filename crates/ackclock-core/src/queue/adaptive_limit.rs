//! Queues that adapt their limit: to the service time (eBDP), to the time for which the queue is
//! empty (ALT), or to both (A*).

use super::{Admission, Occupancy};
use crate::observe::{Context, DropReason};
use crate::packet::PacketId;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::{PacketRate, Segments};
use serde_json::json;

/// A FIFO queue that drops a packet that finds at least as many packets as the limit. Packets that
/// wait stay when the limit falls.
#[derive(Debug)]
pub(super) struct AdaptiveLimit {
    /// If both laws are given, the smaller limit applies.
    pub by_service: Option<ServiceTimeLimit>,
    pub by_idleness: Option<IdleTimeLimit>,
    pub counts_packet_in_service: bool,
}

impl AdaptiveLimit {
    fn now(&self) -> f64 {
        let by_service = self.by_service.map_or(f64::INFINITY, |law| law.limit());
        let by_idleness = self.by_idleness.map_or(f64::INFINITY, |law| law.limit());
        by_service.min(by_idleness)
    }
}

impl Admission for AdaptiveLimit {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        if let Some(law) = &mut self.by_idleness {
            law.go_on(now, occupancy.idle);
        }
        let serving = if self.counts_packet_in_service {
            occupancy.in_service.packets
        } else {
            0
        };
        let fits = ((occupancy.waiting.packets + serving) as f64) < self.now();
        if !fits {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
        fits
    }

    fn observes_service(&self) -> bool {
        self.by_service.is_some()
    }

    fn note_service(&mut self, from: Time, until: Time) {
        if let Some(law) = &mut self.by_service {
            law.note(until - from);
        }
    }

    fn limit(&self, now: Time, idle: Span) -> Option<f64> {
        let mut by_idleness = self.by_idleness;
        if let Some(law) = &mut by_idleness {
            law.go_on(now, idle);
        }
        let limits = AdaptiveLimit {
            by_idleness,
            ..*self
        };
        Some(limits.now())
    }
}

/// The packets sent within a target delay, and some more: min(T/T_serv + a, Q_max).
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceTimeLimit {
    /// T, in seconds.
    target_delay: f64,
    /// a
    over_provision: f64,
    /// W
    weight: f64,
    /// Q_max
    maximum: f64,
    /// T_serv, in seconds, once a packet has been served.
    service_time: Option<f64>,
}

impl ServiceTimeLimit {
    pub fn new(
        target_delay: Span,
        over_provision: Segments,
        weight: f64,
        maximum: Segments,
    ) -> Self {
        ServiceTimeLimit {
            target_delay: target_delay.as_seconds(),
            over_provision: over_provision.0.into(),
            weight,
            maximum: maximum.0.into(),
            service_time: None,
        }
    }

    /// Updates the average service time: T_serv = (1 − W) T_serv + W service, the first time the
    /// service itself.
    fn note(&mut self, service: Span) {
        let service = service.as_seconds();
        let average = |before: f64| (1.0 - self.weight) * before + self.weight * service;
        self.service_time = Some(self.service_time.map_or(service, average));
    }

    fn limit(&self) -> f64 {
        let within = |service: f64| self.target_delay / service + self.over_provision;
        self.service_time
            .map_or(self.maximum, within)
            .min(self.maximum)
    }
}

/// A limit adapted at the end of each interval t, in which the queue was empty for t_i.
///
/// `q = clip(q + a1 t_i − b1 (t − t_i), q_min, q_max)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleTimeLimit {
    /// t
    interval: Span,
    /// a1 and b1, in packets per second.
    increase: f64,
    decrease: f64,
    /// q_min and q_max.
    bounds: [f64; 2],
    /// q
    limit: f64,
    /// End of the last complete interval.
    begun: Time,
    /// Moment up to which the idle time is known, and the idle time since the interval began.
    known_until: Time,
    idle: Span,
}

impl IdleTimeLimit {
    pub fn new(
        interval: Span,
        [increase, decrease]: [PacketRate; 2],
        bounds: [Segments; 2],
        initial: Segments,
    ) -> Self {
        IdleTimeLimit {
            interval,
            increase: increase.0,
            decrease: decrease.0,
            bounds: bounds.map(|bound| bound.0.into()),
            limit: initial.0.into(),
            begun: Time::ZERO,
            known_until: Time::ZERO,
            idle: Span::ZERO,
        }
    }

    const fn limit(&self) -> f64 {
        self.limit
    }

    /// Advances to `now`, when the queue has been empty for `idle`. Before that it was not empty,
    /// as far as that was not known already.
    fn go_on(&mut self, now: Time, idle: Span) {
        let busy = now.since(self.known_until) - idle;
        self.pass(self.known_until + busy, false);
        self.pass(now, true);
    }

    /// Advances to `until`; up to then, the queue was either empty or not empty throughout.
    fn pass(&mut self, until: Time, is_empty: bool) {
        let idle = |span: Span| if is_empty { span } else { Span::ZERO };
        let end = self.begun + self.interval;
        if until < end {
            self.idle = self.idle + idle(until.since(self.known_until));
        } else {
            self.adapt(1, self.idle + idle(end.since(self.known_until)));
            // Further intervals are all alike, however many.
            let more = until.since(end).as_nanos() / self.interval.as_nanos();
            self.adapt(more, idle(self.interval));
            self.begun = end + self.interval * more;
            self.idle = idle(until.since(self.begun));
        }
        self.known_until = until;
    }

    /// Adapts the limit for that many intervals, in each of which the queue was empty for `idle`.
    fn adapt(&mut self, intervals: u64, idle: Span) {
        let busy = self.interval - idle;
        let step = self.increase * idle.as_seconds() - self.decrease * busy.as_seconds();
        let [minimum, maximum] = self.bounds;
        self.limit = (self.limit + intervals as f64 * step).clamp(minimum, maximum);
    }
}

pub(super) fn check_service_time(target_delay: Span, weight: f64, maximum: Segments) -> Result<()> {
    every([
        check_above_zero("target_delay", target_delay, "200 ms"),
        check_weight("weight", weight, "0.001"),
        check_room("maximum", maximum),
    ])
}

/// Checks the parameters of ALT; `named` is the scenario's name of q_max.
pub(super) fn check_idle_time(
    interval: Span,
    [increase, decrease]: [PacketRate; 2],
    (minimum, initial): (Segments, Segments),
    (named, maximum): (&str, Segments),
) -> Result<()> {
    let too_much = format!(
        "is more than {named}, {}; lower it or raise {named}",
        json!(maximum)
    );
    let outside = format!(
        "is not between minimum, {}, and {named}, {}",
        json!(minimum),
        json!(maximum)
    );
    every([
        check_above_zero("interval", interval, "1 s"),
        check_above_zero("increase", increase, "10 packets/s"),
        check_above_zero("decrease", decrease, "1 packet/s"),
        check_room("minimum", minimum),
        consistent(minimum <= maximum, "minimum", &minimum, &[named], &too_much),
        consistent(
            minimum > maximum || (minimum..=maximum).contains(&initial),
            "initial",
            &initial,
            &["minimum", named],
            &outside,
        ),
    ])
}

/// Refuses a limit of zero.
fn check_room(field: &str, limit: Segments) -> Result<()> {
    let remedy = "is too small; for example \"100 packets\"";
    in_range(limit.0 > 0, field, &limit, remedy)
}

#[cfg(test)]
mod tests;
