//! Hops under both clocks: conservation, causality, order and limits.

use super::*;
use crate::impairment::ImpairmentKind;
use crate::link::{LinkContext, LinkKind};
use crate::observe::{DropReason, Observer};
use crate::packet::{Fifo, FlowId, Packet, PacketKind, PacketPool};
use crate::queue::{Admission, FlowLabels, Occupancy, Queue, QueueContext, QueueKind};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{self, StreamScope};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::BitRate;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

mod cases;
mod cells;
mod contending;

/// A hop as a scenario would describe it.
#[derive(Clone, Debug)]
struct Description {
    link: Value,
    queue: Value,
    impairments: Vec<Value>,
    delay: Span,
}

impl Description {
    fn new(link: Value, queue: Value, impairments: Vec<Value>, delay: Span) -> Self {
        Description {
            link,
            queue,
            impairments,
            delay,
        }
    }
    fn link(&self) -> Box<dyn Link> {
        let streams = &Streams::new(1, 0);
        let link = registry::choose::<LinkKind>(&self.link, &NoFiles).unwrap();
        link.build(LinkContext::alone(StreamScope {
            streams,
            name: "hop/test/link",
        }))
    }
    fn impairments(&self) -> Vec<Box<dyn Impairment>> {
        let streams = &Streams::new(1, 0);
        let build = |(index, tree): (usize, &Value)| {
            let chosen = registry::choose::<ImpairmentKind>(tree, &NoFiles).unwrap();
            chosen.build(StreamScope {
                streams,
                name: &format!("hop/test/impairment/{index}"),
            })
        };
        self.impairments.iter().enumerate().map(build).collect()
    }
    fn build(&self) -> Hop {
        let streams = &Streams::new(1, 0);
        let queue = registry::choose::<QueueKind>(&self.queue, &NoFiles).unwrap();
        let (link, name) = (self.link(), "hop/test/queue");
        let queue = queue.build(QueueContext {
            measured: &|| None,
            labels: &FlowLabels::default(),
            place: StreamScope { streams, name },
            link: &*link,
        });
        Hop::new(queue, link, self.impairments(), self.delay)
    }
}

fn constant(rate: &str) -> Value {
    json!({ "kind": "constant", "rate": rate })
}
fn droptail(limit: &str, counts: bool) -> Value {
    json!({ "kind": "droptail", "limit": limit, "counts_packet_in_service": counts })
}

#[derive(Debug, Default, PartialEq)]
struct Drops(Vec<(Time, u64, DropReason)>);
impl Observer for Drops {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.0.push((now, packet.sequence, reason));
    }
    fn marked(&mut self, _now: Time, _packet: &Packet) {}
}

/// (time, size)
type Arrivals = Vec<(Time, u16)>;

/// A hop under test, the packets that left it (time, number) and the packets that it dropped.
struct Bench {
    hop: Hop,
    pool: PacketPool,
    drops: Drops,
    departures: Vec<(Time, u64)>,
    /// Time of the next poll.
    alarm: Time,
    /// The hop catches up, and counts are checked, once in that many arrivals. In between, the
    /// counts of the fast path accumulate.
    every: u64,
    /// A packet that leaves within this time of its arrival may be released at once.
    ahead: Option<Span>,
}

impl Bench {
    fn new(hop: Hop) -> Self {
        Bench {
            hop,
            pool: PacketPool::new(),
            drops: Drops::default(),
            departures: Vec::new(),
            alarm: Time::NEVER,
            every: 1,
            ahead: None,
        }
    }
    fn context<'a>(pool: &'a mut PacketPool, drops: &'a mut Drops) -> Context<'a> {
        Context {
            packets: pool,
            observer: drops,
        }
    }
    fn arrive(&mut self, now: Time, sequence: u64, size: u16) {
        let packet = Packet::new(PacketKind::Data, FlowId(0), sequence, size, now);
        let id = self.pool.insert(packet);
        let until = self.ahead.map(|ahead| now + ahead);
        let passed = self.hop.pass_idle(now, (id, size), until, &mut self.pool);
        let arrival = passed.unwrap_or_else(|| {
            let mut context = Self::context(&mut self.pool, &mut self.drops);
            self.hop.handle_packet(now, (id, size), until, &mut context)
        });
        match arrival {
            Arrival::Kept(until) => self.alarm = self.alarm.min(until),
            Arrival::Released(at) => {
                assert!(
                    until.is_some_and(|until| at <= until),
                    "released though nobody asked"
                );
                self.departures.push((at, sequence));
                self.pool.remove(id);
            }
        }
        if !sequence.is_multiple_of(self.every) {
            return;
        }
        self.hop
            .catch_up(now, &mut Self::context(&mut self.pool, &mut self.drops));
        self.check(now);
    }
    /// Takes out all packets that have left by `now`.
    fn take(&mut self, now: Time) {
        loop {
            let mut context = Self::context(&mut self.pool, &mut self.drops);
            let departure = self.hop.poll_transmit(now, &mut context);
            self.alarm = departure.not_before;
            let Some((at, id)) = departure.packet else {
                break;
            };
            assert!(at <= now, "it is there when it is taken out");
            self.departures.push((at, self.pool[id].sequence));
            self.pool.remove(id);
            self.check(now);
        }
    }
    fn wake(&self) -> Time {
        self.alarm
    }
    /// Checks that packets are conserved and that the pool holds exactly those inside.
    fn check(&self, now: Time) {
        let counters = self.hop.counters();
        let drops = self.drops.0.len() as u64;
        assert_eq!(
            counters.arrivals + counters.duplicates,
            counters.departures + drops + self.hop.inside(&self.pool),
            "conservation at {now:?}"
        );
        assert_eq!(self.pool.live() as u64, self.hop.inside(&self.pool));
        assert_eq!(counters.departures, self.departures.len() as u64);
        assert!(self.hop.busy(now) <= now.since(Time::ZERO));
    }
}

/// Drives a hop until nothing more will happen. Wakes up late by each `lateness` in turn; without
/// lateness, the clock jumps. Calls `at_each` after every event.
fn drive(
    description: &Description,
    arrivals: &Arrivals,
    lateness: &[Span],
    at_each: impl FnMut(&Bench, Time),
) -> Bench {
    drive_bench(Bench::new(description.build()), arrivals, lateness, at_each)
}

fn drive_bench(
    mut bench: Bench,
    arrivals: &Arrivals,
    lateness: &[Span],
    mut at_each: impl FnMut(&Bench, Time),
) -> Bench {
    let mut coming = (0..).zip(arrivals).peekable();
    let mut late = lateness.iter().cycle();
    loop {
        let next = coming.peek().map_or(Time::NEVER, |(_, (at, _))| *at);
        let due = next.min(bench.wake());
        if due.is_never() {
            let end = Time::from_nanos(u64::MAX - 1);
            bench
                .hop
                .catch_up(end, &mut Bench::context(&mut bench.pool, &mut bench.drops));
            return bench;
        }
        let now = due + late.next().copied().unwrap_or_default();
        // First the packets that came in the meantime, each at its own time; then the departures
        // due.
        while let Some((sequence, (at, size))) = coming.next_if(|(_, (at, _))| *at <= now) {
            bench.arrive(*at, sequence, *size);
            at_each(&bench, *at);
        }
        let taken = bench.departures.len();
        bench.take(now);
        let on_time = bench.departures[taken..].iter().all(|(at, _)| *at == now);
        assert!(
            on_time || !lateness.is_empty(),
            "who comes when asked to misses nothing"
        );
        at_each(&bench, now);
    }
}

fn jump(description: &Description, arrivals: &Arrivals) -> Bench {
    drive(description, arrivals, &[], |_, _| {})
}

/// A burst of `n` packets of 1500 bytes.
fn burst(n: usize) -> Arrivals {
    vec![(Time::ZERO, 1500); n]
}

fn links() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => (1_u64..100).prop_map(|mbit| constant(&format!("{mbit} Mbit/s"))),
        1 => Just(constant("400000 Mbit/s")), // small packets take zero time
        4 => Just(
            json!({
                "kind": "markov",
                "rates": ["20 Mbit/s", "1 Mbit/s", "0 bit/s"],
                "mean_sojourn": "2 ms"
            })
        ),
        4 => Just(
            json!({
                "kind": "markov",
                "rates": ["20 Mbit/s", "1 Mbit/s"],
                "mean_sojourn": "9 ms",
                "step": "3 ms"
            })
        ),
    ]
}
fn queues() -> impl Strategy<Value = Value> {
    let limits = prop_oneof![
        (0..20_u32).prop_map(|n| format!("{n} packets")),
        (0..30_000_u32).prop_map(|n| format!("{n} bytes")),
        (0..20_u32).prop_map(|n| format!("{n} ms")),
        Just("unlimited".to_owned()),
    ];
    let early = json!({ "kind": "red", "limit": "9 packets",
        "minimum_threshold": "1 packet", "maximum_threshold": "4 packets",
        "weight": 0.3, "typical_packet": "800 bytes" });
    prop_oneof![
        4 => (limits, any::<bool>()).prop_map(|(limit, counts)| droptail(&limit, counts)),
        1 => Just(early),
        1 => Just(adaptive()),
        2 => select(scheduled()),
        1 => select(shaped()),
        1 => select(in_cells()),
    ]
}
/// Buffers of cells, which no medium serves.
fn in_cells() -> Vec<Value> {
    let cells = |discard| {
        let line_rate = "8 Mbit/s";
        json!({ "kind": "cells", "limit": 40, "line_rate": line_rate, "discard": discard })
    };
    ["cell", "partial", "packet"].map(cells).to_vec()
}
/// Disciplines that hold packets back.
fn shaped() -> Vec<Value> {
    vec![
        json!({ "kind": "tbf", "rate": "3 Mbit/s", "burst": "4 kB", "limit": "9 packets" }),
        json!({ "kind": "tbf", "rate": "3 Mbit/s", "burst": "4 kB", "limit": "9 kB",
            "peak_rate": "5 Mbit/s" }),
        json!({ "kind": "cake", "rate": "3 Mbit/s", "rtt": "2 ms", "limit": "9 packets",
            "mtu": "100 bytes", "overhead": "7 bytes" }),
        json!({ "kind": "ack_regulator", "limit": "9 packets",
            "server": { "kind": "constant", "rate": "3 Mbit/s" } }),
    ]
}
/// Disciplines that decide when the link asks, so quick that they drop within milliseconds.
fn scheduled() -> Vec<Value> {
    let codel = |arithmetic| {
        json!({ "kind": "codel", "target": "1 ms", "interval": "4 ms", "limit": "9 packets",
            "mtu": "100 bytes", "arithmetic": arithmetic })
    };
    vec![
        codel("exact"),
        codel("linux"),
        json!({ "kind": "fq_codel", "target": "1 ms", "interval": "4 ms", "limit": "9 kB",
            "queues": 1, "drop_batch": 2, "mtu": "100 bytes" }),
        json!({ "kind": "pie", "target": "1 ms", "update_interval": "1 ms", "alpha": 60,
            "burst_allowance": "0 s", "limit": "9 packets", "mean_packet": "100 bytes" }),
        json!({ "kind": "pie", "target": "1 ms", "update_interval": "1 ms", "alpha": 2, "beta": 2,
            "burst_allowance": "0 s", "limit": "9 packets", "mean_packet": "100 bytes",
            "arithmetic": "linux" }),
        json!({ "kind": "drr", "limit": "9 packets", "flow_limit": "7 packets" }),
        json!({ "kind": "fq", "limit": "9 packets", "flow_limit": "7 packets",
            "ce_threshold": "1 ms" }),
        json!({ "kind": "headdrop", "limit": "5 packets" }),
        json!({ "kind": "cake", "rtt": "2 ms", "limit": "9 packets" }),
        json!({ "kind": "fq_pie", "target": "1 ms", "update_interval": "1 ms", "alpha": 60,
            "burst_allowance": "0 s", "limit": "9 packets", "mean_packet": "100 bytes",
            "queues": 1 }),
        json!({ "kind": "pi2", "target": "1 ms", "update_interval": "1 ms", "alpha": 20,
            "beta": 200, "limit": "9 packets", "mtu": "100 bytes" }),
        json!({ "kind": "dualpi2", "target": "1 ms", "update_interval": "1 ms", "alpha": 20,
            "beta": 200, "limit": "9 packets", "mtu": "100 bytes" }),
    ]
}
/// A limit that changes with every service and every few milliseconds.
fn adaptive() -> Value {
    json!({ "kind": "a_star", "target_delay": "4 ms", "over_provision": "1 packet", "weight": 0.3,
        "interval": "3 ms", "increase": "900 packets/s", "decrease": "300 packets/s",
        "minimum": "2 packets", "initial": "4 packets" })
}
fn impairments(with_reordering: bool) -> impl Strategy<Value = Vec<Value>> {
    let sides = || prop_oneof![Just("before_queue"), Just("after_link")];
    let orders = if with_reordering {
        prop_oneof![Just("allowed"), Just("forbidden")].boxed()
    } else {
        Just("forbidden").boxed()
    };
    let impairment = prop_oneof![
        (0..=100_u32, sides()).prop_map(
            |(p, side)| json!({ "kind": "iid_loss", "probability": format!("{p} %"), "side": side })
        ),
        sides().prop_map(
            |side| json!({ "kind": "gilbert_elliott", "good_to_bad": "10 %", "bad_to_good": "30 %",
            "side": side })
        ),
        (0..=100_u32, sides()).prop_map(|(p, side)| json!({
            "kind": "duplicate",
            "probability": format!("{p} %"),
            "side": side
        })),
        (0..=5_u32, orders).prop_map(|(ms, order)| json!({ "kind": "jitter", "reordering": order,
            "distribution": { "kind": "uniform", "maximum": format!("{ms} ms") } })),
        (1..9_u32, sides()).prop_map(
            |(every, side)| json!({ "kind": "periodic_loss", "every": every, "side": side })
        ),
        (1..20_u32, sides()).prop_map(|(mbit, side)| json!({ "kind": "policer",
            "rate": format!("{mbit} Mbit/s"), "burst": "4500 bytes", "side": side })),
        (1..=5_u32).prop_map(|ms| json!({ "kind": "aggregation", "interval": format!("{ms} ms") })),
        (0..=5_u32).prop_map(|ms| json!({ "kind": "scheduled_delay", "steps": [
            { "from": format!("{ms} ms"), "delay": "3 ms" }, { "from": "6 ms", "delay": "0 s" }
        ] })),
    ];
    prop::collection::vec(impairment, 0..4)
}
fn hops(with_reordering: bool) -> impl Strategy<Value = Description> {
    let delays = prop_oneof![
        Just(Span::ZERO),
        (0..20_000_u64).prop_map(Span::from_micros)
    ];
    (links(), queues(), impairments(with_reordering), delays).prop_map(
        |(link, queue, impairments, delay)| Description::new(link, queue, impairments, delay),
    )
}
/// Hops through which packets may take the fast path.
fn plain_hops() -> impl Strategy<Value = Description> {
    let plain = (1_u64..100, 1_u32..20, 0..5_000_u64);
    plain.prop_map(|(mbit, limit, delay)| {
        let (link, queue) = (
            constant(&format!("{mbit} Mbit/s")),
            droptail(&format!("{limit} packets"), false),
        );
        Description::new(link, queue, vec![], Span::from_micros(delay))
    })
}
/// Bursts and pauses.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    let gap = prop_oneof![3 => Just(0_u64), 3 => 0..500_000_u64, 1 => 0..20_000_000_u64];
    let size = prop_oneof![6 => Just(1500_u16), 1 => Just(40), 1 => 40..1501_u16];
    prop::collection::vec((gap, size), 0..80).prop_map(|gaps| {
        let mut at = Time::ZERO;
        let arrive = |(gap, size)| {
            at = at + Span::from_nanos(gap);
            (at, size)
        };
        gaps.into_iter().map(arrive).collect()
    })
}

/// A FIFO with room for that many packets, as a discipline that decides when the link asks.
#[derive(Debug)]
struct Shelf(Fifo, u64);
impl Queue for Shelf {
    fn enqueue(&mut self, now: Time, id: PacketId, in_service: Backlog, context: &mut Context<'_>) {
        if in_service.packets > 0 && self.0.backlog().packets >= self.1 {
            context.drop_packet(now, id, DropReason::QueueFull);
        } else {
            self.0.push_back(id, context.packets);
        }
    }
    fn dequeue(&mut self, _now: Time, context: &mut Context<'_>) -> Option<PacketId> {
        self.0.pop_front(context.packets)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

/// Admits packets that fit and records the services reported: (from, until).
#[derive(Debug, Default)]
struct Observing {
    room: u64,
    admitted: u64,
    noted: Arc<Mutex<Vec<(Time, Time)>>>,
}
impl Admission for Observing {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        let noted = self.noted.lock().unwrap();
        let served = self.admitted - occupancy.waiting.packets - occupancy.in_service.packets;
        assert_eq!(
            noted.len() as u64,
            served,
            "all that has been sent, before the next is judged"
        );
        assert!(noted.last().is_none_or(|(_, until)| *until <= now));
        let fits = occupancy.waiting.packets < self.room;
        self.admitted += u64::from(fits);
        if !fits {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
        fits
    }
    fn observes_service(&self) -> bool {
        true
    }
    fn note_service(&mut self, from: Time, until: Time) {
        self.noted.lock().unwrap().push((from, until));
    }
}

proptest! {
    /// A discipline that observes services hears of each packet sent, in order, however the hop is
    /// driven and whatever impairments it has.
    ///
    /// A service begins when the previous one has ended, or else when its packet came. It takes the
    /// link's service time, without the wait.
    #[test]
    fn services_are_noted_one_by_one(
        hop in hops(true),
        room in 0_u64..20,
        arrivals in arrivals(),
        lateness in prop::collection::vec(0..30_000_000_u64, 1..20),
        every in 1_u64..50,
    ) {
        let lateness: Vec<Span> = lateness.into_iter().map(Span::from_nanos).collect();
        let notes = |lateness: &[Span], every| {
            let observing = Observing { room, ..Observing::default() };
            let noted = observing.noted.clone();
            let queue = Discipline::InOrder(Box::new(observing));
            let mut bench = Bench::new(Hop::new(queue, hop.link(), hop.impairments(), hop.delay));
            bench.every = every;
            let bench = drive_bench(bench, &arrivals, lateness, |_, _| {});
            let noted = noted.lock().unwrap().clone();
            (bench, noted)
        };
        let (bench, noted) = notes(&[], 1);
        prop_assert_eq!(noted.len() as u64, bench.hop.counters().served);
        let (mut link, mut before) = (hop.link(), Time::ZERO);
        let mut served = Span::ZERO;
        for (from, until) in &noted {
            let came = arrivals.iter().any(|(at, _)| at == from);
            prop_assert!(*from == before || (*from > before && came), "{from:?} after {before:?}");
            served = served + (*until - *from);
            before = *until;
        }
        prop_assert_eq!(served, bench.hop.busy(before));
        if hop.impairments.is_empty() && noted.len() == arrivals.len() {
            for ((from, until), (_, size)) in noted.iter().zip(&arrivals) {
                prop_assert_eq!(link.finish(*from, Bytes((*size).into())), *until);
            }
        }
        prop_assert_eq!(&noted, &notes(&lateness, every).1, "late");
    }

    /// A discipline that decides when the link asks, but keeps the order, is served like one that
    /// decides on arrival. Both give the same departures, drops and counts, under a punctual and a
    /// late clock.
    #[test]
    fn both_ways_through_a_hop_agree(
        hop in hops(true),
        limit in 0_u64..20,
        arrivals in arrivals(),
        lateness in prop::collection::vec(0..30_000_000_u64, 1..20),
    ) {
        let hop = Description { queue: droptail(&format!("{limit} packets"), false), ..hop };
        let lateness: Vec<Span> = lateness.into_iter().map(Span::from_nanos).collect();
        let in_order = jump(&hop, &arrivals);
        let scheduled = || {
            let shelf = Discipline::Scheduled(Box::new(Shelf(Fifo::default(), limit)));
            Hop::new(shelf, hop.link(), hop.impairments(), hop.delay)
        };
        for lateness in [&[][..], &lateness] {
            let other = drive_bench(Bench::new(scheduled()), &arrivals, lateness, |_, _| {});
            prop_assert_eq!(&in_order.drops, &other.drops);
            prop_assert_eq!(&in_order.departures, &other.departures);
            prop_assert_eq!(in_order.hop.counters(), other.hop.counters());
        }
    }

    /// Every path through a hop leads to the departures, drops and counts of the reference.
    #[test]
    fn the_fast_path_changes_nothing(
        hop in prop_oneof![hops(true), plain_hops()],
        arrivals in arrivals(),
        every in 1_u64..50,
        extra in prop::option::of(0..5_000_000_u64),
    ) {
        let ahead = extra.map(|extra| hop.delay + Span::from_nanos(extra));
        let drive = |path: Option<Path>| {
            let mut bench = Bench::new(hop.build());
            (bench.every, bench.ahead) = (every, ahead);
            if let Some(path) = path {
                bench.hop.path = path;
            }
            drive_bench(bench, &arrivals, &[], |_, _| {})
        };
        let reference = drive(Some(Path::Reference));
        let built = drive(None);
        let others = match built.hop.path {
            Path::ConstantRate { .. } => vec![built, drive(Some(Path::InOrder))],
            Path::InOrder | Path::Reference => vec![built],
        };
        let end = Time::from_nanos(u64::MAX - 1);
        for other in others {
            prop_assert_eq!(&reference.drops, &other.drops);
            prop_assert_eq!(&reference.departures, &other.departures);
            prop_assert_eq!(reference.hop.counters(), other.hop.counters());
            prop_assert_eq!(reference.hop.busy(end), other.hop.busy(end));
        }
    }

    /// Packets are conserved (checked at every event by the bench). In the end, every packet has
    /// left or was dropped.
    #[test]
    fn packets_are_conserved(hop in hops(true), arrivals in arrivals()) {
        let bench = jump(&hop, &arrivals);
        let counters = bench.hop.counters();
        prop_assert_eq!(bench.hop.inside(&bench.pool), 0);
        prop_assert_eq!(counters.arrivals, arrivals.len() as u64);
        prop_assert_eq!(
            bench.drops.0.len() as u64 + counters.departures,
            counters.arrivals + counters.duplicates
        );
    }

    /// No link is busy for longer than time passes, or sends more than its rate allows. This also
    /// holds if it goes down for good while packets wait.
    #[test]
    fn busy_time_and_capacity_are_conserved(
        rates in prop::collection::vec(
            select(&[0_u64, 64_000, 3_000_000, 400_000_000_000, 10_000_000_000_000][..]),
            1..5
        ),
        queue in queues(),
        arrivals in arrivals(),
    ) {
        const STEP: u64 = 3_000_000;
        let steps: Vec<Value> = (0..).zip(&rates)
            .map(
                |(n, rate): (u64, _)| json!({
                    "from": format!("{} ms", 3 * n),
                    "rate": format!("{rate} bit/s")
                })
            )
            .collect();
        let link = json!({ "kind": "scheduled", "steps": steps });
        let hop = Description::new(link, queue, vec![], Span::ZERO);
        // In billionths of a bit.
        let carried = |until: Time| -> u128 {
            let last = rates.len() as u64 - 1;
            (0..).zip(&rates).map(|(n, rate): (u64, _)| {
                let end = if n == last { u64::MAX } else { (n + 1) * STEP };
                u128::from(*rate) * u128::from(until.as_nanos().min(end).saturating_sub(n * STEP))
            }).sum()
        };
        let highest = u128::from(*rates.iter().max().unwrap());
        let mut before = (Time::ZERO, Span::ZERO);
        drive(&hop, &arrivals, &[], |bench, now| {
            let (then, busy) = before;
            before = (now, bench.hop.busy(now));
            assert!(before.1 >= busy && before.1 - busy <= now.since(then), "busy at {now:?}");
            let sent = u128::from(bench.hop.counters().served_bytes.0) * 8_000_000_000;
            // The end of a service is rounded down to a nanosecond.
            assert!(sent <= carried(now) + highest, "{sent} sent by {now:?}");
        });
    }

    /// One element, two clocks: a clock that wakes up late leads to the same departures and drops,
    /// to the nanosecond.
    #[test]
    fn a_late_clock_changes_nothing(
        hop in hops(true),
        arrivals in arrivals(),
        lateness in prop::collection::vec(
            prop_oneof![Just(0_u64), 0..100_000_u64, 0..30_000_000_u64],
            1..20
        ),
    ) {
        let lateness: Vec<Span> = lateness.into_iter().map(Span::from_nanos).collect();
        let (jumping, sleeping) = (
            jump(&hop, &arrivals),
            drive(&hop, &arrivals, &lateness, |_, _| {})
        );
        prop_assert_eq!(jumping.drops, sleeping.drops);
        prop_assert_eq!(jumping.departures, sleeping.departures);
        prop_assert_eq!(jumping.hop.counters(), sleeping.hop.counters());
    }

    /// No packet leaves before it can have been sent and have propagated. Without reordering,
    /// packets leave in the order of arrival.
    #[test]
    fn causes_come_before_effects_and_order_is_kept(hop in hops(false), arrivals in arrivals()) {
        let mut last_polled = Time::ZERO;
        let bench = drive(&hop, &arrivals, &[], |_, now| {
            assert!(now >= last_polled, "time is monotone");
            last_polled = now;
        });
        let fastest = match hop.link["rate"].as_str() {
            Some(rate) => BitRate::from_mbit_per_s(
                rate.trim_end_matches(" Mbit/s").parse().unwrap()
            ),
            None => BitRate::from_mbit_per_s(20.0),
        };
        for (at, sequence) in &bench.departures {
            let (arrived, size) = arrivals[*sequence as usize];
            prop_assert!(*at >= arrived + fastest.serialization(Bytes(size.into())) + hop.delay);
        }
        prop_assert!(bench.departures.is_sorted(), "first in, first out");
    }

    /// The queue never holds more than its limit.
    #[test]
    fn the_limit_holds(
        mbit in 1_u64..100,
        limit in 0_u64..20,
        unit in 0..3_usize,
        counts: bool,
        arrivals in arrivals()
    ) {
        let rate = BitRate::from_mbit_per_s(mbit as f64);
        let unit = ["packets", "kB", "ms"][unit];
        let hop = Description::new(
            constant(&format!("{mbit} Mbit/s")),
            droptail(&format!("{limit} {unit}"), counts),
            vec![],
            Span::ZERO,
        );
        drive(&hop, &arrivals, &[], |bench, now| {
            let mut held = bench.hop.backlog();
            if counts {
                held.packets += bench.hop.in_service().packets;
                held.bytes += bench.hop.in_service().bytes;
            }
            let within = match unit {
                "packets" => held.packets <= limit,
                "kB" => held.bytes <= Bytes(limit * 1000),
                // The packets before the last one are sent within the limit (and the rest of the
                // one in service).
                _ => {
                    let in_front = held.bytes.saturating_sub(Bytes(1500 * (1 + u64::from(counts))));
                    rate.serialization(in_front) <= Span::from_millis(limit)
                }
            };
            assert!(within, "{held:?} at {now:?}");
        });
    }

    /// A link without pauses is busy whenever a packet is there: a burst leaves back to back.
    #[test]
    fn the_link_does_not_rest_while_there_is_work(
        sizes in prop::collection::vec(40..1501_u16, 1..50)
    ) {
        let hop = Description::new(
            constant("8 Mbit/s"),
            droptail("unlimited", false),
            vec![],
            Span::from_millis(3)
        );
        let burst: Arrivals = sizes.iter().map(|size| (Time::ZERO, *size)).collect();
        let bench = jump(&hop, &burst);
        let mut sent = 0;
        for ((at, _), size) in bench.departures.iter().zip(&sizes) {
            sent += u64::from(*size);
            prop_assert_eq!(*at, Time::from_nanos(sent * 1000 + 3_000_000));
        }
        prop_assert_eq!(bench.hop.busy(Time::NEVER), Span::from_nanos(sent * 1000));
        prop_assert_eq!(bench.hop.counters().served_bytes, Bytes(sent));
    }
}
