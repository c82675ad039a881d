//! The laws of links, queues, impairments and sources ([`crate::laws`]), checked on every
//! registered one, and the contract of every registry. A new element is checked once it is
//! registered: its parameters come from the examples of its schema, or from the fields that its
//! schema requires.

use crate::laws::{impairments, links, queues, sources};
use crate::station::Station;
use ackclock_core::impairment::{Impairment, ImpairmentKind, Side, Verdict};
use ackclock_core::link::{Link, LinkContext, LinkKind};
use ackclock_core::observe::DropReason;
use ackclock_core::packet::{FlowId, Packet, PacketKind};
use ackclock_core::queue::QueueKind;
use ackclock_core::traffic::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use ackclock_scenario::kinds::{ElementRecord, KINDS, KindRecord};
use ackclock_spec::registry::samples::{SampleFiles, samples};
use ackclock_spec::registry::{FACTS, Kind, Selection, StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs::read_to_string;
use std::path::Path;

/// Returns the samples of an element, as written in a scenario.
fn samples_of(element: &ElementRecord) -> Vec<Value> {
    let mut trees = samples(&(element.schema)());
    assert!(
        !trees.is_empty(),
        "{}: give an example: #[schemars(example = …)] on the parameters",
        element.name
    );
    trees
        .iter_mut()
        .for_each(|tree| tree["kind"] = element.name.into());
    trees
}

/// Returns every registered element of a kind with each of its samples.
fn all<K: Kind>() -> Vec<Selection<K>> {
    let elements = (KindRecord::of::<K>().elements)();
    let choose =
        |tree| choose::<K>(&tree, &SampleFiles).unwrap_or_else(|error| panic!("{tree}: {error}"));
    elements.iter().flat_map(samples_of).map(choose).collect()
}

/// Checks rules for all elements, whatever their kind.
fn check_element(kind: &KindRecord, element: &ElementRecord) {
    let name = element.name;
    assert!(
        name.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
        "{name}"
    );
    for text in [element.label, element.summary, element.reference] {
        assert!(
            !text.is_empty() && text.trim() == text && !text.contains('\n'),
            "{name}: {text:?}"
        );
    }
    assert!(
        element.summary.ends_with('.'),
        "{name}: a summary is a sentence"
    );
    let schema = (element.schema)();
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        let text = property["description"].as_str();
        assert!(
            text.is_some_and(|text| text.len() > 10),
            "{name}.{field} is not described"
        );
        assert!(
            !["kind", FACTS].contains(&field.as_str()),
            "{name}.{field} means something else already"
        );
    }
    for sample in samples_of(element) {
        check_sample(kind, &sample);
    }
}

/// Checks that the resolved form reads back as itself and accepts no unknown field.
fn check_sample(kind: &KindRecord, sample: &Value) {
    let resolve = |tree: &Value| (kind.resolve)(tree, &SampleFiles);
    let resolved = resolve(sample).unwrap_or_else(|error| panic!("{sample}: {error}"));
    assert_eq!(
        resolve(&resolved).unwrap(),
        resolved,
        "reads back as itself"
    );
    let mut odd = resolved.clone();
    odd["no_such_field"] = json!(1);
    let error = resolve(&odd).unwrap_err().to_string();
    assert!(
        error.contains("no_such_field") && !error.contains('\n'),
        "{sample}: {error}"
    );
}

/// An element that no list has is in no scenario.
#[test]
fn every_element_is_in_the_list_of_its_kind() {
    let listed: Vec<&str> = KINDS
        .iter()
        .flat_map(|kind| (kind.elements)())
        .map(|element| element.name)
        .collect();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../ackclock-core/src")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for path in folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = read_to_string(&path).unwrap_or_default();
            let (program, _tests) = text
                .split_once("#[cfg(test)]\nmod tests {")
                .unwrap_or((&text, ""));
            for element in program.split("\nimpl Element<").skip(1) {
                let (_, name) = element.split_once("const NAME: &'static str = \"").unwrap();
                let (name, _) = name.split_once('"').unwrap();
                let path = path.display();
                assert!(
                    listed.contains(&name),
                    "{path}: add {name} to the list in mod.rs"
                );
                count += 1;
            }
        }
    }
    assert!(
        count > listed.len() / 2,
        "elements are written in another form"
    );
}

#[test]
fn every_kind_is_complete() {
    let mut kinds: Vec<&str> = KINDS
        .iter()
        .flat_map(|kind| [kind.name, kind.noun])
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let same_in_plural = KINDS.iter().filter(|kind| kind.name == kind.noun).count();
    assert_eq!(
        kinds.len() + same_in_plural,
        2 * KINDS.len(),
        "kinds have names of their own"
    );
    for kind in &KINDS {
        let elements = (kind.elements)();
        elements
            .iter()
            .for_each(|element| check_element(kind, element));
        let mut names: Vec<&str> = elements.iter().map(|element| element.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(
            names.len(),
            elements.len(),
            "{}: names are unique",
            kind.name
        );
    }
}

pub fn at_place<R>(seed: u64, build: impl FnOnce(StreamScope<'_>) -> R) -> R {
    let streams = Streams::new(seed, 0);
    build(StreamScope {
        streams: &streams,
        name: "hop/test/element",
    })
}
fn link(chosen: &Selection<LinkKind>, seed: u64) -> Box<dyn Link> {
    let moving = json!({
        "kind": "markov",
        "rates": ["10 Mbit/s", "1 Mbit/s", "0 bit/s"],
        "mean_sojourn": "80 ms"
    });
    let moving = choose::<LinkKind>(&moving, &SampleFiles).unwrap();
    at_place(seed, |place| {
        let measured = chosen
            .facts
            .measures
            .some()
            .map(|_| moving.build(LinkContext::alone(place)));
        chosen.build(LinkContext { place, measured })
    })
}
fn impairment(chosen: &Selection<ImpairmentKind>, seed: u64) -> Box<dyn Impairment> {
    at_place(seed, |place| chosen.build(place))
}
fn traffic(chosen: &Selection<TrafficKind>, seed: u64, mss: Bytes) -> Box<dyn Traffic> {
    at_place(seed, |place| chosen.build(TrafficContext { place, mss }))
}

/// Queues whose random numbers only spread flows over queues, or matter only under an overload that
/// does not answer (the BLUE of CAKE).
const SPREAD: [&str; 4] = ["cake", "drr", "fq", "fq_codel"];

/// An element that differs by the seed says that it draws. An impairment that
/// leaves nothing to chance, such as a rewrite of all packets, may hold a stream that decides
/// nothing.
#[test]
fn what_depends_on_the_seed_says_that_it_draws() {
    fn check<K: Kind>(built: impl Fn(&Selection<K>, u64) -> String, excepted: &[&str]) {
        for chosen in all::<K>() {
            let differs = built(&chosen, 1) != built(&chosen, 2);
            let says = chosen.draws() || excepted.contains(&chosen.name);
            assert!(!differs || says, "{chosen:?}");
        }
    }
    check::<LinkKind>(
        |chosen, seed| format!("{:?}", link(chosen, seed)),
        // The link that it measures here is random.
        &["feedback"],
    );
    check::<TrafficKind>(
        |chosen, seed| format!("{:?}", traffic(chosen, seed, Bytes(1000))),
        // Constant lengths from the start on.
        &["on_off"],
    );
    check::<ImpairmentKind>(
        |chosen, seed| format!("{:?}", impairment(chosen, seed)),
        &["ecn_rewrite", "scheduled_loss"],
    );
    check::<QueueKind>(|chosen, seed| Station::new(chosen, seed).state(), &SPREAD);
}

/// A century.
const FAR: Time = Time::from_nanos(100 * 365 * 86_400 * 1_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A link does not finish before it starts, answers the same questions the same way, and does
    /// not finish more data earlier than less. Its rate is a function of time alone: a link that
    /// has served nothing has the same rate. If the facts deny that, a link has the same rate that
    /// has served the same and was asked nothing before.
    #[test]
    fn links_keep_their_contract(
        seed: u64,
        services in prop::collection::vec(
            (0_u64..400_000_000, 1_u64..65_000, 0_u64..2_000_000_000),
            1..40
        ),
    ) {
        for chosen in all::<LinkKind>() {
            let [mut first, mut other] = [(); 2].map(|()| link(&chosen, seed));
            let mut same = link(&chosen, seed);
            let (mut now, mut finishes) = (Time::ZERO, Vec::new());
            for &(gap, size, ahead) in &services {
                // Three in four are back to back.
                let start = if gap % 4 == 0 { now + Span::from_nanos(gap) } else { now };
                let finish = first.finish(start, Bytes(size));
                links::FINISHES_LATER.test(&chosen.name, finish >= start, || {
                    format!("{finish:?}, started at {start:?}")
                })?;
                finishes.push((start, size, finish));
                if !chosen.facts.has_rate_of_time() {
                    same = link(&chosen, seed);
                    for &(start, size, _) in &finishes {
                        same.finish(start, Bytes(size));
                    }
                }
                for at in [
                    start,
                    start + finish.since(start) / 2,
                    start + Span::from_nanos(ahead)
                ] {
                    let later = at + Span::from_nanos(size * 1000);
                    let (rate, mean) = (same.rate(at), same.mean_rate(at, later));
                    let brief = first.mean_rate_within(at, later, 3).unwrap_or(mean);
                    let served = (first.rate(at), first.mean_rate(at, later), brief);
                    links::RATE_OF_TIME.test(&chosen.name, served == (rate, mean, mean), || {
                        format!("at {at:?} {served:?}, not {rate:?} and {mean:?} until {later:?}")
                    })?;
                    let moment = first.mean_rate(at, at);
                    links::MEAN_OF_NO_TIME.test(&chosen.name, moment == rate, || {
                        format!("{moment:?} of {rate:?} at {at:?}")
                    })?;
                    let half = at + later.since(at) / 2;
                    let work = |from: Time, until: Time| {
                        same.mean_rate(from, until).as_bit_per_s() as f64
                            * until.since(from).as_nanos() as f64
                    };
                    // Each mean is a whole number of bits per second.
                    let off = work(at, half) + work(half, later) - work(at, later);
                    let most = later.since(at).as_nanos() as f64 * 1.001;
                    links::MEANS_ADD_UP.test(&chosen.name, off.abs() <= most, || {
                        format!("off by {off} of at most {most}, {at:?} to {later:?}")
                    })?;
                }
                if finish.is_never() {
                    break;
                }
                now = finish;
            }
            for (start, size, finish) in finishes {
                let again = other.finish(start, Bytes(size));
                links::IS_REPRODUCIBLE.test(&chosen.name, again == finish, || {
                    format!("{again:?}, {finish:?} before")
                })?;
            }
            let [mut small, mut large] = [(); 2].map(|()| link(&chosen, seed));
            let small = small.finish(Time::ZERO, Bytes(100));
            let large = large.finish(Time::ZERO, Bytes(1500));
            links::MORE_TAKES_LONGER.test(&chosen.name, small <= large, || {
                format!("100 bytes at {small:?}, 1500 at {large:?}")
            })?;
        }
    }

    /// A queue loses no packet silently. Every packet is dropped and reported once, or waits, or
    /// has been handed out. Packets that it drops are freed, and no others. An idle link gets every
    /// packet that is kept, unless the queue says when it lets the next one go.
    #[test]
    fn queues_keep_their_contract(
        seed: u64,
        steps in prop::collection::vec((any::<bool>(), 40_u16..1501, 0_u64..3_000_000), 1..200),
    ) {
        for chosen in all::<QueueKind>().into_iter().filter(Station::serves) {
            let mut station = Station::new(&chosen, seed);
            let (mut now, mut arrived) = (Time::ZERO, 0);
            for &(comes, size, gap) in &steps {
                now = now + Span::from_nanos(gap);
                station.wake(now);
                if comes {
                    station.arrive(now, arrived, size);
                    arrived += 1;
                } else {
                    station.complete(now);
                }
                let (waiting, serving) = (station.waiting(), station.serving);
                let gone = station.served.len() + station.log.drops.len();
                let (inside, live) = (waiting.packets + serving.packets, station.pool.live());
                let numbers = || {
                    format!(
                        "{arrived} arrived, {gone} gone, {live} alive; {waiting:?} waits, \
                        {serving:?} in service"
                    )
                };
                queues::CONSERVES.test(&chosen.name, arrived == gone as u64 + inside, numbers)?;
                queues::FREES.test(&chosen.name, live as u64 == inside, numbers)?;
                let agrees = (waiting.packets == 0) == (waiting.bytes == Bytes::ZERO);
                queues::COUNTS_BYTES.test(&chosen.name, agrees, numbers)?;
                let serves = serving.packets == 1 || waiting.packets == 0;
                let serves = serves || !station.ready_at().is_never();
                queues::DOES_NOT_REST.test(&chosen.name, serves, numbers)?;
            }
            while station.serving.packets > 0 || !station.ready_at().is_never() {
                match station.ready_at() {
                    Time::NEVER => station.complete(now),
                    ready => station.start(ready),
                }
            }
            let mut all = station.served;
            all.extend(station.log.drops.iter().map(|(sequence, _)| *sequence));
            all.sort_unstable();
            let once = all.iter().copied().eq(0..arrived);
            queues::CONSERVES.test(&chosen.name, once, || format!("{arrived} arrived, {all:?}"))?;
            let reasons = station.log.drops.iter().map(|(_, reason)| *reason);
            let foreign = reasons.filter(|reason| *reason == DropReason::Impairment).count();
            queues::DROPS_AS_QUEUE.test(&chosen.name, foreign == 0, || format!("{foreign}"))?;
            let live = station.pool.live();
            queues::FREES.test(&chosen.name, live == 0, || format!("{live} in an empty queue"))?;
        }
    }

    /// An impairment judges the same way again and delays only after the link. By default, it does
    /// not apply to ACKs, nor do they change its state.
    #[test]
    fn impairments_keep_their_contract(
        seed: u64,
        acks in prop::collection::vec(any::<bool>(), 1..200)
    ) {
        let packet = |kind| Packet::new(kind, FlowId(0), 0, 1500, Time::ZERO);
        for chosen in all::<ImpairmentKind>() {
            let [mut first, mut other] = [(); 2].map(|()| impairment(&chosen, seed));
            for (index, &ack) in acks.iter().enumerate() {
                let now = Time::from_nanos(index as u64 * 1_000_000);
                if ack {
                    let verdict = first.judge(now, &packet(PacketKind::Ack));
                    let passes = verdict == Verdict::Pass;
                    impairments::SPARES_ACKS.test(&chosen.name, passes, || {
                        format!("{verdict:?} at packet {index}")
                    })?;
                }
                let verdict = first.judge(now, &packet(PacketKind::Data));
                let again = other.judge(now, &packet(PacketKind::Data));
                // Only the first has seen ACKs.
                impairments::IS_REPRODUCIBLE.test(&chosen.name, verdict == again, || {
                    format!("{verdict:?} and {again:?} at packet {index}")
                })?;
                let delays = matches!(verdict, Verdict::Delay { .. });
                let after = !delays || first.side() == Side::AfterLink;
                impairments::DELAYS_AFTER_LINK.test(&chosen.name, after, || {
                    format!("{verdict:?} {:?}", first.side())
                })?;
            }
        }
    }

    /// The writes of a source are in order, do not change until they are taken, are reproducible,
    /// end for good and add up to its total. A source for UDP has finite writes.
    #[test]
    fn sources_keep_their_contract(seed: u64, mss in 1_u64..9000) {
        for chosen in all::<TrafficKind>() {
            let [mut first, mut other] = [(); 2].map(|()| traffic(&chosen, seed, Bytes(mss)));
            let (mut last, mut sum) = (Time::ZERO, Bytes::ZERO);
            for _ in 0..1000 {
                let at = first.poll_timeout();
                let stays = at == first.poll_timeout();
                let again = (other.poll_timeout(), other.poll_write());
                let write = first.poll_write();
                let numbers = || format!("{write:?} at {at:?} after {last:?}, again {again:?}");
                sources::IN_ORDER.test(&chosen.name, at >= last && stays, numbers)?;
                sources::IS_REPRODUCIBLE.test(&chosen.name, again == (at, write), numbers)?;
                let ends = write.is_none() == at.is_never();
                sources::ENDS_FOR_GOOD.test(&chosen.name, ends, numbers)?;
                match write {
                    Some(Write::Bytes(bytes)) => sum += bytes,
                    Some(Write::Unlimited) => {
                        let controlled = first.transports() == Transports::Controlled;
                        sources::UDP_IS_FINITE.test(&chosen.name, controlled, numbers)?;
                    }
                    None => break,
                }
                let writes = write != Some(Write::Bytes(Bytes::ZERO));
                sources::WRITES_SOMETHING.test(&chosen.name, writes, numbers)?;
                last = at;
            }
            if first.poll_timeout().is_never() && let Some(total) = first.total() {
                sources::ADDS_UP.test(&chosen.name, sum == total, || {
                    format!("{sum:?} of {total:?}")
                })?;
            }
        }
    }
}

#[test]
fn a_century_of_silence_is_no_wait() {
    for chosen in all::<LinkKind>() {
        let mut link = link(&chosen, 1);
        let first = link.finish(Time::ZERO, Bytes(1500));
        links::SENDS.check(&chosen.name, first < FAR, || format!("{first:?}"));
        link.rate(FAR);
        let later = link.finish(FAR, Bytes(1500));
        links::FINISHES_LATER.check(&chosen.name, later > FAR, || {
            format!("{later:?}, started at {FAR:?}")
        });
    }
}

#[test]
fn the_end_of_time_is_reached_without_overflow() {
    let end = Time::from_nanos(u64::MAX - 10);
    for chosen in all::<LinkKind>() {
        let mut link = link(&chosen, 1);
        let (finish, rate) = (link.finish(end, Bytes(65_535)), link.rate(end));
        let holds = finish >= end && rate <= BitRate::from_mbit_per_s(1e6);
        links::ENDS.check(&chosen.name, holds, || format!("{finish:?} at {rate:?}"));
    }
    for chosen in all::<ImpairmentKind>() {
        let packet = Packet::new(PacketKind::Data, FlowId(0), 0, 1500, Time::ZERO);
        if let Verdict::Delay { by, .. } = impairment(&chosen, 1).judge(end, &packet) {
            impairments::DELAY_IS_FINITE
                .check(&chosen.name, by < Span::FOREVER, || format!("{by:?}"));
        }
    }
}
