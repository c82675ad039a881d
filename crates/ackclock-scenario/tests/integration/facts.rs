//! The facts that elements state about themselves. Every element states some, and nobody needs the
//! names of its parameters. What a bench can see is true: what is kept, grows, is lost, dropped,
//! marked, delayed, reordered, and how fast.

use crate::controls::EXAMPLE;
use crate::laws::{self, controls, impairments, links, queues, sources};
use crate::station::{Log, Station};
use ackclock_core::congestion::facts::{ControlFacts, GrowthLaw, KeptShare};
use ackclock_core::congestion::{
    Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, Pace,
};
use ackclock_core::impairment::facts::LossSpacing;
use ackclock_core::impairment::{Applies, Impairment, ImpairmentKind, Overtaking, Verdict};
use ackclock_core::link::{LinkContext, LinkKind};
use ackclock_core::observe::DropReason;
use ackclock_core::packet::{Ecn, FlowId, Packet, PacketKind};
use ackclock_core::queue::facts::{Capacity, Drops, QueueFacts};
use ackclock_core::queue::{Discipline, FlowLabels, QueueContext, QueueKind};
use ackclock_core::traffic::{TrafficContext, TrafficKind, Write};
use ackclock_scenario::kinds::{KINDS, KindRecord};
use ackclock_scenario::tree;
use ackclock_spec::files::NoFiles;
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::registry::samples::{SampleFiles, samples};
use ackclock_spec::registry::{
    Element, Entry, FACTS, Factory, Kind, Selection, StreamScope, choose,
};
use ackclock_spec::stated::Stated;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn at_place<R>(build: impl FnOnce(StreamScope<'_>) -> R) -> R {
    build(StreamScope {
        streams: &Streams::new(1, 0),
        name: "facts",
    })
}

/// Returns every sample of every element of a kind.
fn all<K: Kind>() -> Vec<Selection<K>> {
    let samples_of = |entry: &'static Entry<K>| {
        let samples = samples(&(entry.schema)()).into_iter();
        samples.map(|sample| entry.read(sample, &SampleFiles).unwrap())
    };
    K::ENTRIES.iter().flat_map(samples_of).collect()
}

/// Returns every sample of every element that has facts, resolved.
fn resolved() -> Vec<(&'static KindRecord, Value)> {
    let of_kind = |kind: &'static KindRecord| {
        let trees = (kind.elements)().into_iter().flat_map(|element| {
            let mut samples = samples(&(element.schema)());
            samples
                .iter_mut()
                .for_each(|sample| sample["kind"] = element.name.into());
            samples
        });
        trees.map(move |tree| (kind, (kind.resolve)(&tree, &SampleFiles).unwrap()))
    };
    let has_facts = |(kind, _): &(&KindRecord, Value)| (kind.facts)().get("properties").is_some();
    KINDS.iter().flat_map(of_kind).filter(has_facts).collect()
}

/// Facts that few elements have, written only by those.
const MAY_BE_ABSENT: [&str; 5] = [
    "early_end",
    "start_growth",
    "resumes",
    "classes",
    "measures",
];

#[test]
fn every_element_states_facts_in_the_form_of_its_kind() {
    for (kind, resolved) in resolved() {
        let facts = resolved[FACTS].as_object().unwrap();
        assert!(
            facts.values().any(|fact| !fact.is_null()),
            "{resolved}: write fn facts in impl Element"
        );
        let schema = (kind.facts)();
        let described = schema["properties"].as_object().unwrap();
        let written = described
            .keys()
            .filter(|name| facts.contains_key(*name) || !MAY_BE_ABSENT.contains(&name.as_str()));
        assert!(facts.keys().eq(written), "{resolved}");
        for (name, fact) in described {
            assert!(fact["description"].is_string(), "{}.{name}", kind.name);
        }
    }
}

#[test]
fn facts_are_taken_back_as_they_are_and_not_otherwise() {
    for (kind, resolved) in resolved() {
        assert_eq!((kind.resolve)(&resolved, &SampleFiles).unwrap(), resolved);
        for wrong in [json!({}), json!(1), Value::Null] {
            let mut tree = resolved.clone();
            tree[FACTS] = wrong;
            let error = (kind.resolve)(&tree, &SampleFiles).unwrap_err();
            assert_eq!(error.field(), "facts", "{error}");
        }
    }
    let estimator = json!({ "kind": "be", "facts": {} });
    let error =
        choose::<ackclock_core::estimator::EstimatorKind>(&estimator, &NoFiles).unwrap_err();
    assert_eq!(error.field(), "facts", "{error}");
}

#[test]
fn an_assignment_removes_the_facts_that_it_may_change_and_no_others() {
    let resolved = |limit: &str| {
        let queue = json!({ "kind": "droptail", "limit": limit });
        choose::<QueueKind>(&queue, &NoFiles).unwrap().resolved
    };
    let mut tree = json!({
        "queues": [
            { "name": "a", "queue": resolved("9 packets") },
            { "name": "b", "queue": resolved("5 packets") }
        ]
    });
    tree::set(&mut tree, "queues.a.queue.limit", json!("7 packets")).unwrap();
    let queues = &tree["queues"];
    assert!(queues[0]["queue"].get(FACTS).is_none() && queues[1]["queue"].get(FACTS).is_some());
    let again = choose::<QueueKind>(&queues[0]["queue"], &NoFiles).unwrap();
    assert_eq!(again.resolved, resolved("7 packets"));
}

/// Keeps between `alpha` and `beta` of its own packets in the queue, as Vegas does; here `beta` is
/// not a share.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Delayed {
    beta: f64,
}
impl Element<ControlKind> for Delayed {
    const NAME: &'static str = "delayed";
    const LABEL: &'static str = "delayed";
    const SUMMARY: &'static str = "Made up.";
    const REFERENCE: &'static str = "none";
    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByDelay),
            reacts_to_delay: Some(true),
            ..ControlFacts::default()
        }
    }
}
impl Factory<ControlKind> for Delayed {
    fn build(&self, _: ControlContext<'_>) -> Box<dyn CongestionControl> {
        unreachable!("only its parameters are read")
    }
}

/// Drops at the head; the name of its capacity differs from all others.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Sized {
    size: QueueLimit,
}
impl Element<QueueKind> for Sized {
    const NAME: &'static str = "sized";
    const LABEL: &'static str = "sized";
    const SUMMARY: &'static str = "Made up.";
    const REFERENCE: &'static str = "none";
    fn facts(&self) -> QueueFacts {
        QueueFacts {
            capacity: Some(Capacity::Limit {
                limit: self.size,
                counts_packet_in_service: false,
            }),
            drops: Some(Drops::Head),
            ..QueueFacts::default()
        }
    }
}
impl Factory<QueueKind> for Sized {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        unreachable!("only its parameters are read")
    }
}

#[test]
fn names_of_parameters_mean_nothing() {
    let control = Entry::<ControlKind>::of::<Delayed>();
    let control = control.read(json!({ "beta": 4.0 }), &NoFiles).unwrap();
    assert_eq!(control.resolved["beta"], 4.0);
    assert_eq!(control.resolved[FACTS]["kept_after_loss"], Value::Null);
    assert_eq!(
        control.resolved[FACTS]["growth"],
        json!({ "kind": "by_delay" })
    );
    let queue = Entry::<QueueKind>::of::<Sized>();
    let queue = queue
        .read(json!({ "size": "45 packets" }), &NoFiles)
        .unwrap();
    assert_eq!(
        queue.resolved[FACTS]["capacity"],
        json!({ "kind": "limit", "limit": "45 packets", "counts_packet_in_service": false })
    );
    assert_eq!(
        queue.resolved[FACTS]["marks"],
        Value::Null,
        "nothing is taken for granted"
    );
}

const MSS: u64 = 1000;
const WINDOW: u64 = 100;

fn control(chosen: &Selection<ControlKind>) -> Box<dyn CongestionControl> {
    at_place(|place| {
        chosen.build(ControlContext {
            place,
            mss: Bytes(MSS),
            initial_window: Bytes(MSS * WINDOW),
            initial_ssthresh: Some(Bytes(MSS)),
            ssthresh_in_whole_segments: false,
            paced: false,
            selective_acks: true,
            counts_marks: true,
            keeps_calls: false,
        })
    })
}

#[test]
fn controls_keep_the_share_that_they_state() {
    let example = EXAMPLE.read(json!({}), &NoFiles).unwrap();
    let simulated = all::<ControlKind>()
        .into_iter()
        .filter(Selection::is_simulated)
        .chain([example]);
    for chosen in simulated {
        for (kind, kept) in [
            (CongestionKind::Loss, chosen.facts.kept_after_loss),
            (CongestionKind::Mark, chosen.facts.kept_after_mark),
        ] {
            let mut control = control(&chosen);
            let congestion = Congestion {
                kind,
                base: Bytes(MSS * WINDOW),
                in_flight: Bytes(MSS * WINDOW),
                min_rtt: Some(Span::from_millis(100)),
                smoothed_rtt: Some(Span::from_millis(100)),
                loss_window: Bytes(1460),
            };
            control.on_congestion(Time::ZERO, &congestion);
            if let Some(KeptShare::Constant { share }) = kept {
                let left = control.cwnd().as_f64() / (MSS * WINDOW) as f64;
                controls::STATED_SHARE.check(&chosen.name, (left - share).abs() < 1e-9, || {
                    format!("{left} after a {kind:?}, stated {share}")
                });
            }
            let needs = control.pace() == Pace::default() || control.needs().paces;
            controls::NEEDS_PACE.check(&chosen.name, needs, || format!("{:?}", control.pace()));
            let (paces, stated) = (control.pace().rate.is_some(), chosen.facts.paces);
            let holds = stated.is_none_or(|stated| stated == paces);
            controls::STATED_PACING.check(&chosen.name, holds, || {
                format!("it paces: {paces}, stated {stated:?}")
            });
        }
    }
}

#[test]
fn queues_hold_what_they_state() {
    for chosen in all::<QueueKind>() {
        let constant = json!({ "kind": "constant", "rate": "10 Mbit/s" });
        let constant = choose::<LinkKind>(&constant, &NoFiles).unwrap();
        let link = || at_place(|place| constant.build(LinkContext::alone(place)));
        let built = at_place(|place| {
            chosen.build(QueueContext {
                measured: &|| chosen.facts.measures.some().map(|_| link()),
                labels: &FlowLabels::default(),
                place,
                link: &*link(),
            })
        });
        let stated = chosen.facts.capacity;
        match built {
            Discipline::DropTail(queue) => {
                let Some(Capacity::Limit {
                    limit,
                    counts_packet_in_service,
                }) = stated
                else {
                    panic!("{}: {stated:?}", chosen.name);
                };
                let has = (queue.limit, queue.counts_packet_in_service);
                let holds = has == (limit, counts_packet_in_service);
                queues::STATED_CAPACITY.check(&chosen.name, holds, || {
                    format!("{has:?}, stated {stated:?}")
                });
            }
            Discipline::InOrder(admission) => {
                let moves = admission.limit(Time::ZERO, Span::ZERO);
                let is_moving = matches!(stated, Some(Capacity::Moving { .. }));
                queues::STATED_CAPACITY.check(&chosen.name, moves.is_some() == is_moving, || {
                    format!("a limit that moves: {moves:?}, stated {stated:?}")
                });
                if let (
                    Some(now),
                    Some(Capacity::Moving {
                        most: QueueLimit::Packets(most),
                        ..
                    }),
                ) = (moves, stated)
                {
                    queues::STATED_CAPACITY.check(&chosen.name, now <= most as f64, || {
                        format!("{now} packets at first, stated {most}")
                    });
                }
            }
            Discipline::Scheduled(_) | Discipline::Cells(_) => {}
        }
    }
}

#[test]
fn links_vary_as_they_state_and_never_exceed_their_highest_rate() {
    let followed = json!({ "kind": "constant", "rate": "10 Mbit/s" });
    let followed = choose::<LinkKind>(&followed, &NoFiles).unwrap();
    for chosen in all::<LinkKind>() {
        let facts = &chosen.facts;
        let measured = facts
            .measures
            .some()
            .map(|_| at_place(|place| followed.build(LinkContext::alone(place))));
        let link = at_place(|place| chosen.build(LinkContext { place, measured }));
        let moments = (0..2000).map(|number| Time::from_nanos(number * 10_000_000));
        let rates: Vec<u64> = moments.map(|at| link.rate(at).as_bit_per_s()).collect();
        let highest = rates.iter().copied().max();
        let stated = facts.highest_bit_per_s;
        let holds = stated.is_none() || highest <= stated;
        links::STATED_HIGHEST.check(&chosen.name, holds, || {
            format!("{highest:?} bit/s, stated {stated:?}")
        });
        if facts.varies == Some(false) {
            let lowest = rates.iter().copied().min();
            links::STATED_CONSTANT.check(&chosen.name, lowest == highest, || {
                format!("{lowest:?} to {highest:?} bit/s")
            });
        }
        if let Some(mean) = facts.mean_bit_per_s {
            let rate = link.mean_rate(Time::ZERO, Time::from_seconds(20_000.0));
            let rate = rate.as_bit_per_s() as f64;
            links::STATED_MEAN.check(&chosen.name, (rate / mean - 1.0).abs() < 0.02, || {
                format!("{rate} bit/s, stated {mean}")
            });
        }
    }
}

#[test]
fn impairments_do_what_they_state_and_nothing_else() {
    const PACKETS: u64 = 100_000;
    for chosen in all::<ImpairmentKind>() {
        let (facts, mut built): (_, Box<dyn Impairment>) =
            (&chosen.facts, at_place(|place| chosen.build(place)));
        let (mut dropped, mut delayed, mut duplicated, mut rewritten) = (0, false, false, false);
        let (mut pairs, mut lost_before) = (0, false);
        let mut lost_numbers = Vec::new();
        let (mut releases, mut behind) = (Vec::new(), Time::ZERO);
        for number in 0..PACKETS {
            let mut packet = Packet::new(PacketKind::Data, FlowId(0), number, 1500, Time::ZERO);
            packet.set_ecn([Ecn::Capable, Ecn::CapableL4s, Ecn::Marked][number as usize % 3]);
            let now = Time::from_nanos(number * 1_000_000);
            let verdict = built.judge(now, &packet);
            let lost = matches!(verdict, Verdict::Drop);
            pairs += u32::from(lost && lost_before);
            lost_before = lost;
            match verdict {
                Verdict::Drop => {
                    dropped += 1;
                    lost_numbers.push(number);
                }
                Verdict::Delay { by, overtaken } => {
                    delayed = true;
                    releases.push(behind.max(now + by));
                    if overtaken == Overtaking::Forbidden {
                        behind = behind.max(now + by);
                    }
                }
                Verdict::Duplicate => duplicated = true,
                Verdict::Rewrite(_) => rewritten = true,
                Verdict::Pass => releases.push(behind.max(now)),
            }
        }
        let arrivals_in_order = releases.is_sorted();
        let as_stated = |law: laws::Law, stated: Option<bool>, seen: bool| {
            let holds = stated.is_none_or(|stated| stated == seen);
            law.check(&chosen.resolved, holds, || {
                format!("seen: {seen}, stated {stated:?}")
            });
        };
        as_stated(
            impairments::STATED_ORDER,
            facts.reorders,
            !arrivals_in_order,
        );
        // Independent losses follow each other this often, by a law of Poisson. A burst has pairs
        // wherever it comes, so that five standard deviations tell them apart.
        let by_chance = f64::from(dropped).powi(2) / PACKETS as f64;
        if let (Some(spacing), Stated::Some(_), true) =
            (facts.spacing, facts.mean_loss, dropped >= 100)
        {
            let many = f64::from(pairs) > by_chance + 5.0 * by_chance.max(1.0).sqrt();
            let gaps: BTreeSet<u64> = lost_numbers
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect();
            let seen = match (many, gaps.len()) {
                (_, 1) => LossSpacing::Even,
                (true, _) => LossSpacing::Bursty,
                (false, _) => LossSpacing::Independent,
            };
            impairments::STATED_SPACING.check(&chosen.resolved, spacing == seen, || {
                format!("{pairs} pairs, {by_chance} by chance: {seen:?}, stated {spacing:?}")
            });
        }
        let side = built.side();
        let holds = facts.side.is_none_or(|stated| stated == side);
        impairments::STATED_SIDE.check(&chosen.resolved, holds, || {
            format!("{side:?}, stated {:?}", facts.side)
        });
        as_stated(impairments::STATED_DELAY, facts.delays, delayed);
        as_stated(impairments::STATED_DUPLICATES, facts.duplicates, duplicated);
        as_stated(impairments::STATED_ECN, facts.rewrites_ecn, rewritten);
        if let Stated::Some(mean) = facts.mean_loss {
            let share = f64::from(dropped) / PACKETS as f64;
            let holds = (share - mean).abs() <= 0.1 * mean;
            impairments::STATED_LOSS.check(&chosen.resolved, holds, || {
                format!("{share}, stated {mean}")
            });
        }
    }
}

#[test]
fn sources_send_what_they_state() {
    for chosen in all::<TrafficKind>() {
        let mut source = at_place(|place| {
            chosen.build(TrafficContext {
                place,
                mss: Bytes(MSS),
            })
        });
        let facts = &chosen.facts;
        let (total, first) = (source.total(), source.poll_write());
        // A client may stop asking, of which the source hears nothing.
        let asked_for = facts.closed_loop == Some(true);
        let finite = asked_for || facts.finite == Some(total.is_some());
        let has_client = source.take_client().is_some();
        let greedy = facts.greedy == Some(first == Some(Write::Unlimited));
        let size = facts.size_bytes.some().map(|size| Bytes(*size));
        let packet = facts.packet_bytes.some();
        let packet = packet.map(|size| Write::Bytes(Bytes(*size)));
        let sizes = size.is_none_or(|size| total == Some(size))
            && packet.is_none_or(|size| first.is_none_or(|first| first == size));
        sources::STATED_SIZE.check(
            &chosen.resolved,
            finite && greedy && sizes && has_client == asked_for,
            || format!("a total of {total:?}, a first write of {first:?}"),
        );
    }
}

/// Packets of a burst are kept up to the capacity. Where the tail is dropped, little of it is left.
#[test]
fn a_burst_fills_queues_to_their_capacity() {
    const SIZE: u64 = 1500;
    for chosen in all::<QueueKind>() {
        let Some(Capacity::Limit {
            limit,
            counts_packet_in_service,
        }) = chosen.facts.capacity
        else {
            continue;
        };
        let most = match limit {
            QueueLimit::Packets(packets) => packets,
            QueueLimit::Bytes(bytes) => bytes.0 / SIZE,
            QueueLimit::Time(_) | QueueLimit::Unlimited => continue,
        };
        let mut station = Station::new(&chosen, 1);
        let arrivals = 2 * most + 10;
        for number in 0..arrivals {
            station.flow = FlowId((number % 512) as u32); // a flow may have a limit of its own
            station.arrive(Time::ZERO, number, SIZE as u16);
        }
        let counted = u64::from(counts_packet_in_service) * station.serving.packets;
        let kept = station.waiting().packets + counted;
        queues::STATED_CAPACITY.check(&chosen.resolved, kept <= most, || {
            format!("{kept} packets kept, stated {most}")
        });
        let gone = |number| station.log.drops.iter().any(|(one, _)| *one == number);
        match chosen.facts.drops {
            Some(Drops::Tail) => {
                // Limits of single flows may leave less than a packet each.
                let least = most * 9 / 10;
                let is_full = |(_, reason): &(u64, DropReason)| *reason == DropReason::QueueFull;
                let full = station.log.drops.iter().all(is_full);
                let last = gone(arrivals - 1);
                queues::STATED_TAIL.check(&chosen.resolved, kept >= least && last && full, || {
                    format!(
                        "{kept} kept of {most}; the last lost: {last}; full at each drop: {full}"
                    )
                });
            }
            Some(Drops::Early) => {
                queues::STATED_EARLY.check(&chosen.resolved, gone(arrivals - 1), || {
                    format!("{arrivals} packets came, {kept} are kept")
                });
            }
            Some(Drops::Head) | None => {}
        }
    }
}

/// Offers a queue that multiple of what it and its link let pass, for 20 s.
fn loaded(chosen: &Selection<QueueKind>, load: f64, ecn: Ecn) -> Station {
    let service = Station::RATE.serialization(Bytes(1500));
    let highest = chosen.facts.highest_bit_per_s.some().copied();
    let highest = Station::RATE
        .as_bit_per_s()
        .min(highest.unwrap_or(u64::MAX));
    let gap = Span::from_seconds(1500.0 * 8.0 / (load * highest as f64));
    let mut station = Station::new(chosen, 1);
    station.ecn = ecn;
    let (mut now, mut number, mut done) = (Time::ZERO, 0, Time::ZERO + service);
    while now < Time::from_seconds(20.0) {
        station.arrive(now, number, 1500);
        number += 1;
        now = now + gap;
        while done <= now {
            if station.serving.packets > 0 {
                station.complete(done);
            }
            station.wake(done);
            done = done + service;
        }
    }
    station
}

/// In an overload, queues mark if they state so, and drop before they are full if they state so.
#[test]
fn queues_mark_and_drop_as_they_state() {
    for chosen in all::<QueueKind>().into_iter().filter(Station::serves) {
        let facts = &chosen.facts;
        let overloaded = |ecn| loaded(&chosen, 1.5, ecn).log;
        // A mild overload, too: some mark only at low probabilities.
        let mild = |ecn| loaded(&chosen, 1.05, ecn).log;
        let marks =
            [Ecn::Capable, Ecn::CapableL4s].map(|ecn| overloaded(ecn).marks + mild(ecn).marks);
        if let Some(stated) = facts.marks {
            let holds = marks.iter().any(|marks| *marks > 0) == stated;
            queues::STATED_MARKS.check(&chosen.resolved, holds, || {
                format!("{marks:?} of classic and L4S packets; marks stated: {stated}")
            });
        }
        let Log { drops, marks } = overloaded(Ecn::NotCapable);
        queues::MARKS_CAPABLE.check(&chosen.resolved, marks == 0, || format!("{marks} marks"));
        if facts.drops == Some(Drops::Tail) {
            let is_early = |(_, reason): &&(u64, DropReason)| *reason == DropReason::Aqm;
            let early = drops.iter().filter(is_early).count();
            queues::TAIL_IS_NOT_EARLY.check(&chosen.resolved, early == 0, || {
                format!("{early} of {} drops", drops.len())
            });
        }
    }
}

/// Nothing but the link limits a queue that states no rate; one that states a rate lets no more
/// pass, and nearly that.
#[test]
fn queues_limit_the_rate_as_they_state() {
    for chosen in all::<QueueKind>() {
        let (load, expected) = match chosen.facts.highest_bit_per_s {
            Stated::Unknown => continue,
            Stated::None => (0.9, 0.9 * Station::RATE.as_bit_per_s() as f64),
            Stated::Some(highest) => (1.5, highest as f64),
        };
        let station = loaded(&chosen, load, Ecn::NotCapable);
        let rate = station.served.len() as f64 * 1500.0 * 8.0 / 20.0;
        let deviates = (rate / expected - 1.0).abs();
        // A bucket's burst counts, and headers that a shaper adds: 2 % of a packet.
        queues::STATED_RATE.check(&chosen.resolved, deviates < 0.05, || {
            format!("{rate} bit/s of {expected}")
        });
    }
}

/// The ECN fields that packets may have.
const ECN_FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable, Ecn::CapableL4s, Ecn::Marked];

#[test]
fn impairments_judge_the_packets_that_they_state() {
    for chosen in all::<ImpairmentKind>() {
        for (kind, others) in [
            (PacketKind::Data, Applies::Acks),
            (PacketKind::Ack, Applies::Data),
        ] {
            let mut built: Box<dyn Impairment> = at_place(|place| chosen.build(place));
            let passes = (0..100_000).all(|number| {
                let mut packet = Packet::new(kind, FlowId(0), number, 1500, Time::ZERO);
                packet.set_ecn(ECN_FIELDS[number as usize % ECN_FIELDS.len()]);
                built.judge(Time::from_nanos(number * 1_000_000), &packet) == Verdict::Pass
            });
            let Some(states) = chosen.facts.applies_to else {
                continue;
            };
            impairments::STATED_PACKETS.check(
                &chosen.resolved,
                passes == (states == others),
                || format!("all {kind:?} packets pass: {passes}, stated {states:?}"),
            );
        }
    }
}
