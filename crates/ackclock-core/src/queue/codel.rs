//! Controlled Delay (CoDel, RFC 8289). Drops or marks at the head when packets have waited longer
//! than a target for a whole interval. Then it does so more and more often until they no longer
//! wait that long.

use super::buffer::{Buffer, check_limit};
use super::facts::{Capacity, Drops, QueueFacts};
use super::{Discipline, Queue, QueueContext, QueueKind};
use crate::observe::{Context, DropReason};
use crate::packet::{Backlog, PacketId};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Result, consistent, every, in_range};
use crate::scenario::files::Files;
use crate::scenario::quantity::QueueLimit;
use crate::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(example = json!({}))]
#[schemars(example = json!({
    "target": "2 ms",
    "interval": "20 ms",
    "limit": "60 kB",
    "ecn": true
}))]
pub struct Codel {
    /// Allowed standing queueing delay. Above 0 and below the interval (RFC 8289 section 4.3).
    pub target: Span,
    /// Time for which the delay may exceed the target before the first drop: about the longest
    /// usual round-trip time (RFC 8289 section 4.2).
    pub interval: Span,
    /// Most packets or bytes that may wait, without the packet in service. RFC 8289 leaves it open;
    /// 1000 packets is the value of Linux.
    pub limit: QueueLimit,
    /// True if ECN-capable packets are marked instead of dropped. Packets that find the buffer full
    /// are still dropped.
    pub ecn: bool,
    /// Size of a full packet on the wire. With at most this many bytes waiting, nothing is dropped
    /// (RFC 8289 section 5.6).
    pub mtu: Bytes,
}

impl Default for Codel {
    /// Target and interval of RFC 8289 section 5.3; the rest is as in Linux.
    fn default() -> Self {
        Codel {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            limit: QueueLimit::Packets(1000),
            ecn: false,
            mtu: Bytes(1500),
        }
    }
}

impl Element<QueueKind> for Codel {
    const NAME: &'static str = "codel";
    const LABEL: &'static str = "CoDel";
    const SUMMARY: &'static str = "First in, first out; drops or marks at the head, increasingly \
        often, while packets wait longer than a target.";
    const REFERENCE: &'static str =
        "RFC 8289; Nichols and Jacobson (2012), Controlling Queue Delay";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let (target, interval) = (self.target, self.interval);
        let longer = format!(
            "is not longer than the target, {}; for example twenty times as long",
            json!(target)
        );
        every([
            in_range(
                target != Span::ZERO,
                "target",
                &target,
                "is too short; for example \"5 ms\"",
            ),
            consistent(
                interval > target,
                "interval",
                &interval,
                &["target"],
                &longer,
            ),
            check_limit("limit", self.limit),
        ])
    }

    fn facts(&self) -> QueueFacts {
        QueueFacts {
            capacity: Some(Capacity::Limit {
                limit: self.limit,
                counts_packet_in_service: false,
            }),
            drops: Some(Drops::Head),
            marks: Some(self.ecn),
            thresholds: None,
        }
    }
}

impl Factory<QueueKind> for Codel {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::Scheduled(Box::new(CodelQueue::new(self)))
    }
}

/// The state of RFC 8289 section 5.2: first_above_time_ is `late_from`, lastcount_ `last_count`.
#[derive(Debug)]
struct CodelQueue {
    parameters: Codel,
    buffer: Buffer,
    /// Time at which the delay will have exceeded the target for an interval; `None` while it does
    /// not exceed it.
    late_from: Option<Time>,
    /// True while packets are being dropped; then, the time of the next drop.
    dropping: bool,
    drop_next: Time,
    /// Drops in this dropping state, and the count with which it began.
    count: u64,
    last_count: u64,
}

/// The packet taken from the head of the buffer.
#[derive(Clone, Copy, Debug)]
enum Head {
    Empty,
    InTime(PacketId),
    /// May be dropped: ok_to_drop.
    Late(PacketId),
}

impl Head {
    const fn packet(self) -> Option<PacketId> {
        match self {
            Head::Empty => None,
            Head::InTime(id) | Head::Late(id) => Some(id),
        }
    }
}

impl CodelQueue {
    fn new(parameters: &Codel) -> Self {
        CodelQueue {
            buffer: Buffer::new(parameters.limit),
            parameters: parameters.clone(),
            late_from: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// dodequeue of RFC 8289 section 5.6: takes the next packet, and determines whether the delay
    /// has exceeded the target for an interval.
    fn take(&mut self, now: Time, context: &mut Context<'_>) -> Head {
        let Some((arrival, id)) = self.buffer.dequeue(context) else {
            self.late_from = None;
            return Head::Empty;
        };
        let in_time = now.since(arrival) < self.parameters.target;
        if in_time || self.buffer.backlog().bytes <= self.parameters.mtu {
            self.late_from = None;
            return Head::InTime(id);
        }
        let late_from = *self.late_from.get_or_insert(now + self.parameters.interval);
        if now >= late_from {
            Head::Late(id)
        } else {
            Head::InTime(id)
        }
    }

    /// Returns the time of the next drop: control_law of RFC 8289 section 5.6. Throughput is
    /// proportional to one over the square root of the drop probability, so intervals of this
    /// length make it fall linearly with time.
    fn after(&self, time: Time) -> Time {
        let interval = self.parameters.interval.as_seconds();
        time + Span::from_seconds(interval / libm::sqrt(self.count as f64))
    }

    /// Marks a packet if possible, as Linux does. Otherwise drops it and takes the next.
    fn signal(&mut self, now: Time, id: PacketId, context: &mut Context<'_>) -> Signal {
        if self.parameters.ecn && context.mark_packet(now, id) {
            return Signal::Marked;
        }
        context.drop_packet(now, id, DropReason::Aqm);
        Signal::Dropped(self.take(now, context))
    }

    /// Enters the dropping state (RFC 8289 section 5.5). If the last one ended less than 16
    /// intervals ago, its final rate is a better start than one drop per interval.
    fn begin_dropping(&mut self, now: Time) {
        let drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < self.parameters.interval * 16;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.after(now);
        self.dropping = true;
    }
}

/// Result of a signal to a late packet.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Marked,
    /// The packet behind it.
    Dropped(Head),
}

impl Queue for CodelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        self.buffer.enqueue(now, id, in_service, context);
    }

    /// Follows RFC 8289 section 5.5.
    fn dequeue(&mut self, now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        let mut head = self.take(now, context);
        if self.dropping {
            // With a large backlog several drops may be due at once.
            while let Head::Late(id) = head
                && now >= self.drop_next
            {
                self.count += 1;
                match self.signal(now, id, context) {
                    Signal::Marked => {
                        self.drop_next = self.after(self.drop_next);
                        return Some(id);
                    }
                    Signal::Dropped(next) => head = next,
                }
                if matches!(head, Head::Late(_)) {
                    self.drop_next = self.after(self.drop_next);
                }
            }
            self.dropping = matches!(head, Head::Late(_));
        } else if let Head::Late(id) = head {
            if let Signal::Dropped(next) = self.signal(now, id, context) {
                head = next;
            }
            self.begin_dropping(now);
        }
        head.packet()
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observer;
    use crate::packet::{Ecn, FlowId, Packet, PacketKind, PacketPool};
    use crate::registry::choose;
    use crate::scenario::files::NoFiles;

    const INTERVAL: f64 = 0.1;

    /// Drops and marks, in seconds.
    #[derive(Debug, Default)]
    struct Log {
        drops: Vec<(f64, DropReason)>,
        marks: Vec<f64>,
    }
    impl Observer for Log {
        fn dropped(&mut self, now: Time, _: &Packet, reason: DropReason) {
            self.drops.push((now.as_seconds(), reason));
        }
        fn marked(&mut self, now: Time, _: &Packet) {
            self.marks.push(now.as_seconds());
        }
    }

    /// A CoDel queue and a server with the same service time for each packet.
    struct Bench {
        queue: CodelQueue,
        pool: PacketPool,
        log: Log,
        service: Span,
        ecn: Ecn,
        serving: Option<(Time, PacketId)>,
        /// Start of each packet's service, and the packet's wait, in seconds.
        waits: Vec<(f64, f64)>,
    }

    impl Bench {
        fn new(parameters: Codel, service_ms: u64) -> Self {
            Bench {
                queue: CodelQueue::new(&parameters),
                pool: PacketPool::new(),
                log: Log::default(),
                service: Span::from_millis(service_ms),
                ecn: Ecn::NotCapable,
                serving: None,
                waits: Vec::new(),
            }
        }

        fn arrive(&mut self, seconds: f64) {
            let now = Time::from_seconds(seconds);
            self.serve_until(now);
            let mut packet = Packet::new(PacketKind::Data, FlowId(0), 0, 1500, now);
            packet.set_ecn(self.ecn);
            let id = self.pool.insert(packet);
            let in_service = self.serving.map_or_else(Backlog::default, |_| Backlog {
                packets: 1,
                bytes: Bytes(1500),
            });
            let mut context = Context {
                packets: &mut self.pool,
                observer: &mut self.log,
            };
            self.queue.enqueue(now, id, in_service, &mut context);
            if self.serving.is_none() {
                self.start(now);
            }
        }

        fn start(&mut self, now: Time) {
            let mut context = Context {
                packets: &mut self.pool,
                observer: &mut self.log,
            };
            self.serving = self.queue.dequeue(now, &mut context).map(|id| {
                let waited = now.since(self.pool[id].stamp);
                self.waits.push((now.as_seconds(), waited.as_seconds()));
                (now + self.service, id)
            });
        }

        fn serve_until(&mut self, now: Time) {
            while let Some((done, id)) = self.serving
                && done <= now
            {
                self.pool.remove(id);
                self.start(done);
            }
        }

        /// Offers a packet every `gap` seconds.
        fn load(&mut self, from: f64, until: f64, gap: f64) {
            let packets = ((until - from) / gap) as u32;
            (0..packets).for_each(|n| self.arrive(from + f64::from(n) * gap));
            self.serve_until(Time::from_seconds(until));
        }
        /// Returns the times of the early drops.
        fn early(&self) -> Vec<f64> {
            let early = self
                .log
                .drops
                .iter()
                .filter(|(_, why)| *why == DropReason::Aqm);
            early.map(|(at, _)| *at).collect()
        }
    }

    fn unlimited() -> Codel {
        Codel {
            limit: QueueLimit::Unlimited,
            ..Codel::default()
        }
    }

    /// A load that does not react. The first drop comes an interval after the delay has exceeded
    /// the target. The n-th drop precedes the next by INTERVAL/sqrt(n), rounded up to the end of a
    /// service.
    #[test]
    fn the_interval_between_drops_shrinks_with_the_square_root_of_their_number() {
        let mut bench = Bench::new(unlimited(), 1);
        bench.load(0.0, 4.0, 0.000_5);
        let late = bench
            .waits
            .iter()
            .find(|(_, waited)| *waited >= 0.005)
            .unwrap();
        let drops = bench.early();
        assert!(
            (drops[0] - late.0 - INTERVAL).abs() < 1e-6,
            "{late:?} {}",
            drops[0]
        );
        assert!(drops.len() > 100);
        let mut due = drops[0];
        for (n, drop) in (1_u32..).zip(&drops[1..]) {
            due += INTERVAL / f64::from(n).sqrt();
            assert!(
                due <= drop + 1e-6 && *drop < due + 0.001 + 1e-6,
                "drop {n}: {due} {drop}"
            );
        }
    }

    /// A load that slows down by a third at each drop, and speeds up gradually.
    #[test]
    fn the_delay_stays_near_the_target_under_a_load_that_reacts() {
        for ecn in [false, true] {
            let parameters = Codel {
                ecn,
                ..Codel::default()
            };
            let mut bench = Bench::new(parameters, 1);
            bench.ecn = Ecn::Capable;
            let (mut now, mut rate, mut seen) = (0.0, 1000.0, 0);
            while now < 60.0 {
                now += 1.0 / rate;
                bench.arrive(now);
                let signals = bench.log.drops.len() + bench.log.marks.len();
                rate = if signals > seen {
                    rate / 1.5
                } else {
                    rate + 400.0 / rate
                };
                seen = signals;
            }
            let steady = bench.waits.iter().filter(|(at, _)| *at > 10.0);
            let mut waits: Vec<f64> = steady.map(|(_, waited)| *waited).collect();
            waits.sort_by(f64::total_cmp);
            let (median, served) = (waits[waits.len() / 2], waits.len());
            assert!(median < 0.010, "ecn {ecn}: {median}");
            assert!(served > 45_000, "ecn {ecn}: {served} of 50,000");
        }
    }

    #[test]
    fn a_burst_that_drains_within_an_interval_is_let_through() {
        let mut bench = Bench::new(unlimited(), 1);
        for burst in 0..20 {
            let at = f64::from(burst) * 0.3;
            (0..90).for_each(|_| bench.arrive(at));
        }
        assert!(bench.waits.iter().any(|(_, waited)| *waited > 0.08));
        assert_eq!(bench.log.drops, []);
    }

    /// Returns the gap between the first two drops of an overload that begins `pause` seconds after
    /// another.
    fn second_gap(pause: f64) -> f64 {
        let mut bench = Bench::new(unlimited(), 1);
        bench.load(0.0, 3.0, 0.000_8);
        let again = bench.early().last().unwrap() + pause;
        bench.serve_until(Time::from_seconds(again));
        assert!(bench.serving.is_none(), "the queue has drained meanwhile");
        let before = bench.early().len();
        bench.load(again, again + 2.0, 0.000_8);
        let drops = &bench.early()[before..];
        drops[1] - drops[0]
    }

    #[test]
    fn a_restart_is_quicker_than_a_cold_start_if_it_comes_soon() {
        let (soon, late) = (second_gap(1.3), second_gap(8.0));
        assert!((late - INTERVAL).abs() < 0.002, "{late}");
        assert!(soon < 0.5 * INTERVAL, "{soon}");
    }

    /// A slow link: each packet waits for ten times the target, but at most one packet waits.
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut bench = Bench::new(unlimited(), 50);
        (0..2).for_each(|_| bench.arrive(0.0));
        bench.load(0.001, 20.0, 0.05);
        let waits = bench.waits[2..].iter();
        assert!(waits.clone().count() > 300 && waits.clone().all(|(_, waited)| *waited > 0.04));
        assert_eq!(bench.log.drops, []);
    }

    #[test]
    fn capable_packets_are_marked_and_the_others_dropped() {
        let outcome = |ecn: bool, packets: Ecn| {
            let mut bench = Bench::new(Codel { ecn, ..unlimited() }, 1);
            bench.ecn = packets;
            bench.load(0.0, 2.0, 0.000_9);
            (bench.early().len(), bench.log.marks.len())
        };
        for (ecn, packets) in [(false, Ecn::Capable), (true, Ecn::NotCapable)] {
            let (drops, marks) = outcome(ecn, packets);
            assert!(
                drops > 10 && marks == 0,
                "{ecn} {packets:?}: {drops} {marks}"
            );
        }
        for packets in [Ecn::Capable, Ecn::CapableL4s] {
            let (drops, marks) = outcome(true, packets);
            assert!(drops == 0 && marks > 10, "{packets:?}: {drops} {marks}");
        }
    }

    #[test]
    fn what_does_not_fit_is_dropped_at_the_tail() {
        let limit = QueueLimit::Packets(10);
        let mut bench = Bench::new(
            Codel {
                limit,
                ..unlimited()
            },
            1,
        );
        (0..50).for_each(|_| bench.arrive(0.0));
        assert_eq!(bench.queue.backlog().packets, 10);
        assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 39]);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        for (field, value) in [
            ("target", "0 ms"),
            ("target", "100 ms"),
            ("limit", "0 packets"),
            ("limit", "20 ms"),
        ] {
            let mut tree = json!({ "kind": "codel" });
            tree[field] = value.into();
            let error = choose::<QueueKind>(&tree, &NoFiles).unwrap_err();
            let named = if value == "100 ms" { "interval" } else { field };
            assert_eq!(error.field(), named);
            assert!(error.to_string().contains("; "), "{error}");
        }
    }
}
