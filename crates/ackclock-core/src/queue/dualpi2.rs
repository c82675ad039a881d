//! DualPI2 (RFC 9332 appendix A): a queue for scalable (L4S) flows, which marks early, and one for
//! classic flows, with coupled probabilities, so that flows of both kinds share the link.

use super::arithmetic::Arithmetic;
use super::buffer::check_limit;
use super::droptail::DropTail;
use super::facts::{Classifier, LowLatency, QueueFacts};
use super::pi_controller::{Controller, Gains};
use super::pi2::check_coupling;
use super::{ClassCounts, Discipline, Occupancy, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, Ecn, Packet, PacketId, TimedFifo};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::QueueLimit;
use serde_json::json;

parameters! {
    /// Parameters. Defaults: RFC 9332 appendix A for `exact` arithmetic, Linux for `linux`.
    #[schemars(example = json!({}))]
    #[schemars(example = json!({ "arithmetic": "linux", "limit": "60 kB" }))]
    pub struct DualPi2 {
        /// Queueing delay of the classic queue to which the base probability p′ is adapted. Above
        /// 0.
        pub target: Span = Span::from_millis(15),
        /// Time from one update of p′ to the next. At least 1 ms.
        pub update_interval: Span = Span::from_millis(16),
        /// Weight of the delay's distance from the target, per second. Above 0.
        pub alpha: f64 = 0.16,
        /// Weight of the delay's change since the last update, per second. Above 0.
        pub beta: f64 = 3.2,
        /// Ratio of the coupled marking probability to p′, k. Above 0. With 2, a scalable and a
        /// Reno flow of equal round-trip time have windows of 0.82 to 1.
        pub coupling: f64 = 2.0,
        /// Delay in the low-latency queue above which it marks by itself. By default 800 µs with
        /// exact arithmetic and 1 ms with that of Linux.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub threshold: Option<Span> = None,
        /// Range of delays above the threshold over which its marking probability rises to 1; with
        /// 0, it is 1 above the threshold. By default 400 µs with exact arithmetic. Linux has 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub range: Option<Span> = None,
        /// Packets that must wait behind a packet in the low-latency queue for it to be marked by
        /// that queue itself. By default 1 with exact arithmetic and 0 with that of Linux.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u64")]
        pub marks_from: Option<u64> = None,
        /// Share of the link that the classic queue has while packets wait in both. Above 0, below
        /// 1. By default 1/16 with exact arithmetic and 10 % with that of Linux.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Probability")]
        pub classic_share: Option<Probability> = None,
        /// Most packets or bytes that may wait in both queues, without the packet in service. RFC
        /// 9332 has 250 ms of the link's highest rate.
        pub limit: QueueLimit = QueueLimit::Packets(10_000),
        /// Packets that join the low-latency queue.
        pub low_latency: Classifier = Classifier::L4s,
        /// True if overload, a coupled probability of 1, leads to drops in both queues, whatever
        /// the ECN field. Otherwise p′ is at most 1/k, and the queues fill up.
        pub drops_on_overload: bool = true,
        /// Size of a full packet on the wire. With less than two of them waiting in both queues,
        /// nothing is dropped, and only the low-latency queue marks by itself.
        pub mtu: Bytes = Bytes(1500),
        /// Arithmetic of p′. That of Linux adapts it to the longer delay of both queues, and marks
        /// at random where RFC 9332 adds up probabilities.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

impl Element<QueueKind> for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const LABEL: &'static str = "DualPI2";
    const SUMMARY: &'static str = "A low-latency queue for scalable flows, which marks at a few \
        hundred microseconds, beside a classic one under PI2, with coupled probabilities.";
    const REFERENCE: &'static str = "RFC 9332; De Schepper et al. (2016), PI2: A Linearized AQM \
        for both Classic and Scalable TCP";

    /// Fills in the defaults that depend on the arithmetic.
    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let linux = self.arithmetic == Arithmetic::Linux;
        let choose = |linux_value: u64, exact: u64| if linux { linux_value } else { exact };
        let share = Probability::new(if linux { 0.1 } else { 1.0 / 16.0 });
        self.threshold
            .get_or_insert(Span::from_micros(choose(1000, 800)));
        self.range.get_or_insert(Span::from_micros(choose(0, 400)));
        self.marks_from.get_or_insert(choose(0, 1));
        self.classic_share = self.classic_share.or(share);
        let share = self.classic_share.map_or(0.0, Probability::get);
        every([
            self.gains().check(self.arithmetic),
            check_coupling(self.coupling),
            check_limit("limit", self.limit),
            consistent(
                !linux || self.range == Some(Span::ZERO),
                "range",
                &self.range,
                &["arithmetic"],
                "is not in Linux, which has a step; choose \"0 s\", or arithmetic = \"exact\"",
            ),
            in_range(
                share > 0.0 && share < 1.0,
                "classic_share",
                &self.classic_share,
                "is not between 0 and 1; for example \"10 %\"",
            ),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            classes: Class::ALL.map(Class::name).into(),
            low_latency: Stated::Some(LowLatency {
                joins: self.low_latency,
                coupling: self.coupling,
                classic_target_s: self.target.as_seconds(),
            }),
            ..QueueFacts::head(self.limit, true)
        }
    }
}

impl DualPi2 {
    const fn gains(&self) -> Gains {
        Gains {
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
        }
    }
}

impl Factory<QueueKind> for DualPi2 {
    fn build(&self, context: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(DualPi2Queue::new(self, context.place.stream())))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    LowLatency,
    Classic,
}

impl Class {
    const ALL: [Class; 2] = [Class::LowLatency, Class::Classic];

    /// Returns the name in tables.
    const fn name(self) -> &'static str {
        match self {
            Class::LowLatency => super::LOW_LATENCY,
            Class::Classic => super::CLASSIC,
        }
    }
}

/// Decides which packets strike: at random, or where a sum of probabilities passes 1 (`recur` of
/// RFC 9332).
#[derive(Debug)]
struct Chance {
    stream: Stream,
    /// Sums of both queues; `None` for random.
    sums: Option<[f64; 2]>,
}

impl Chance {
    /// True with this probability.
    fn strikes(&mut self, class: Class, probability: f64) -> bool {
        let Some(sums) = &mut self.sums else {
            return self.stream.uniform() < probability;
        };
        let sum = &mut sums[class as usize];
        *sum += probability;
        let strikes = *sum > 1.0;
        *sum -= f64::from(u8::from(strikes));
        strikes
    }

    /// True with the square of this probability: two random draws, or a sum of squares.
    fn strikes_squared(&mut self, class: Class, probability: f64) -> bool {
        match self.sums {
            Some(_) => self.strikes(class, probability * probability),
            None => self.strikes(class, probability) && self.strikes(class, probability),
        }
    }
}

/// Chooses the queue while packets wait in both. The sign of the credit says whose turn it is:
/// that of the classic queue while it is positive. A packet of the low-latency queue adds
/// its length times the share of the classic queue, one of that takes away its length times the
/// rest. So the classic queue has its share.
#[derive(Debug)]
struct Turns {
    /// Bytes times [`SHARES`].
    credit: i64,
    initial: i64,
    /// The classic queue's share in parts of [`SHARES`].
    classic: i64,
}

/// Resolution of shares.
const SHARES: i64 = 1_000_000;

impl Turns {
    fn new(share: f64, mtu: Bytes) -> Self {
        let classic = libm::round(share * SHARES as f64) as i64;
        let initial = mtu.0 as i64 * (2 * classic - SHARES);
        Turns {
            credit: initial,
            initial,
            classic,
        }
    }

    /// Begins again when both queues are empty.
    const fn begin(&mut self) {
        self.credit = self.initial;
    }

    fn note(&mut self, class: Class, size: Bytes) {
        let weight = match class {
            Class::LowLatency => self.classic,
            Class::Classic => self.classic - SHARES,
        };
        self.credit += weight * size.0 as i64;
    }
}

/// The two queues.
#[derive(Debug)]
struct DualPi2Queue {
    low_latency: TimedFifo,
    classic: TimedFifo,
    controller: Controller,
    chance: Chance,
    turns: Turns,
    ramp: Ramp,
    tail: DropTail,
    coupling: f64,
    classifier: Classifier,
    drops_on_overload: bool,
    /// With less than this waiting, nothing is dropped or has a coupled mark.
    spared: Bytes,
    linux: bool,
    counts: [ClassCounts; 2],
}

/// The low-latency queue's own marking.
#[derive(Debug)]
struct Ramp {
    threshold: Span,
    range: Span,
    marks_from: u64,
}

impl Ramp {
    /// Returns the marking probability at a delay (`laqm` of RFC 9332).
    fn probability(&self, delay: Span) -> f64 {
        if delay <= self.threshold {
            0.0
        } else if self.range == Span::ZERO {
            1.0
        } else {
            ((delay - self.threshold).as_seconds() / self.range.as_seconds()).min(1.0)
        }
    }
}

/// Verdict on a packet taken from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl DualPi2Queue {
    /// Makes empty queues. The parameters must have been checked.
    fn new(parameters: &DualPi2, stream: Stream) -> Self {
        let linux = parameters.arithmetic == Arithmetic::Linux;
        let most = if parameters.drops_on_overload {
            1.0
        } else {
            (1.0 / parameters.coupling).min(1.0)
        };
        let share = parameters.classic_share.map_or(0.0, Probability::get);
        DualPi2Queue {
            low_latency: TimedFifo::default(),
            classic: TimedFifo::default(),
            controller: Controller::new(parameters.gains(), parameters.arithmetic, most),
            chance: Chance {
                stream,
                sums: (!linux).then_some([0.0; 2]),
            },
            turns: Turns::new(share, parameters.mtu),
            ramp: Ramp {
                threshold: parameters.threshold.unwrap_or_default(),
                range: parameters.range.unwrap_or_default(),
                marks_from: parameters.marks_from.unwrap_or_default(),
            },
            tail: parameters.limit.into(),
            coupling: parameters.coupling,
            classifier: parameters.low_latency,
            drops_on_overload: parameters.drops_on_overload,
            spared: parameters.mtu * 2,
            linux,
            counts: [ClassCounts::default(); 2],
        }
    }

    fn class_of(&self, packet: &Packet) -> Class {
        let low_latency = match packet.ecn() {
            Ecn::NotCapable => false,
            Ecn::Capable => self.classifier == Classifier::AnyEct,
            Ecn::CapableL4s | Ecn::Marked => true,
        };
        if low_latency {
            Class::LowLatency
        } else {
            Class::Classic
        }
    }

    const fn line(&mut self, class: Class) -> &mut TimedFifo {
        match class {
            Class::LowLatency => &mut self.low_latency,
            Class::Classic => &mut self.classic,
        }
    }

    fn catch_up(&mut self, now: Time) {
        let first = [
            self.classic.first_at(),
            if self.linux {
                self.low_latency.first_at()
            } else {
                Time::NEVER
            },
        ];
        // A moment that never comes is later than any other, so its delay is zero.
        self.controller
            .catch_up(now, |at| at.since(first[0]).max(at.since(first[1])));
    }

    /// Returns the queue whose turn it is.
    fn next(&self) -> Option<Class> {
        let [low_latency, classic] =
            [&self.low_latency, &self.classic].map(|line| line.backlog().packets > 0);
        match (low_latency, classic) {
            (false, false) => None,
            (true, false) => Some(Class::LowLatency),
            (false, true) => Some(Class::Classic),
            (true, true) if self.turns.credit <= 0 => Some(Class::LowLatency),
            (true, true) => Some(Class::Classic),
        }
    }

    /// Judges a packet that has been taken from its queue.
    fn judge(&mut self, class: Class, delay: Span, is_capable: bool) -> Verdict {
        let base = self.controller.probability();
        let coupled = self.coupling * base;
        // RFC 9332 has overload from 1 on, and Linux beyond.
        let overload = self.drops_on_overload && (coupled > 1.0 || coupled >= 1.0 && !self.linux);
        let spared = self.backlog().bytes < self.spared;
        match class {
            Class::Classic if spared => Verdict::Pass,
            Class::Classic => {
                if !self.chance.strikes_squared(class, base) {
                    Verdict::Pass
                } else if is_capable && !overload {
                    Verdict::Mark
                } else {
                    Verdict::Drop
                }
            }
            Class::LowLatency if overload && !spared => {
                if self.chance.strikes_squared(class, base) {
                    Verdict::Drop
                } else {
                    Verdict::Mark // with the coupled probability, 1
                }
            }
            Class::LowLatency => {
                let own = self.own_probability(delay);
                let coupled = if spared { 0.0 } else { coupled.min(1.0) };
                let strikes = if self.linux {
                    self.chance.strikes(class, coupled) || own > 0.0
                } else {
                    self.chance.strikes(class, own.max(coupled))
                };
                if strikes {
                    Verdict::Mark
                } else {
                    Verdict::Pass
                }
            }
        }
    }

    /// Returns the low-latency queue's own marking probability for a packet taken from it.
    fn own_probability(&self, delay: Span) -> f64 {
        if self.low_latency.backlog().packets < self.ramp.marks_from {
            return 0.0;
        }
        self.ramp.probability(delay)
    }
}

impl Queue for DualPi2Queue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        self.catch_up(now);
        let packet = &context.packets[id];
        let (class, size) = (self.class_of(packet), packet.bytes());
        self.counts[class as usize].arrivals += 1;
        let occupancy = Occupancy {
            waiting: self.backlog(),
            in_service,
            ..Occupancy::default()
        };
        if self.tail.fits(size, &occupancy) {
            self.line(class).push_back(now, id, context.packets);
        } else {
            self.counts[class as usize].drops += 1;
            context.drop_packet(now, id, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.catch_up(now);
        loop {
            let Some(class) = self.next() else {
                self.turns.begin();
                return None;
            };
            let both = self.low_latency.backlog().packets > 0 && self.classic.backlog().packets > 0;
            let (arrival, id) = self.line(class).pop_front(context.packets)?;
            let packet = &context.packets[id];
            let (size, ecn) = (packet.bytes(), packet.ecn());
            let is_capable = ecn != Ecn::NotCapable;
            match self.judge(class, now.since(arrival), is_capable) {
                Verdict::Drop => {
                    self.counts[class as usize].drops += 1;
                    context.drop_packet(now, id, DropReason::Aqm);
                    continue;
                }
                Verdict::Mark => {
                    let marked = context.mark_packet(now, id);
                    debug_assert!(marked, "only what is capable is to be marked");
                    self.counts[class as usize].marks += u64::from(ecn != Ecn::Marked);
                }
                Verdict::Pass => {}
            }
            if both {
                self.turns.note(class, size);
            }
            return Some(id);
        }
    }

    fn backlog(&self) -> Backlog {
        let [one, other] = [&self.low_latency, &self.classic].map(TimedFifo::backlog);
        Backlog {
            packets: one.packets + other.packets,
            bytes: one.bytes + other.bytes,
        }
    }

    fn class(&self, packet: &Packet) -> &'static str {
        self.class_of(packet).name()
    }

    fn classes(&self) -> Vec<(&'static str, ClassCounts)> {
        let counted = |class: Class| (class.name(), self.counts[class as usize]);
        Class::ALL.map(counted).to_vec()
    }
}

#[cfg(test)]
mod tests;
