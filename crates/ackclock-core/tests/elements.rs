//! The contracts of links, queues, impairments and sources, checked on every registered one. A new element is checked by
//! being registered: its parameters come from the examples of its schema, or from the fields its schema requires.

use ackclock_core::impairment::{Impairment, ImpairmentKind, Side, Verdict};
use ackclock_core::link::{Link, LinkKind};
use ackclock_core::observe::{Context, DropReason, Observer};
use ackclock_core::packet::{Backlog, FlowId, Packet, PacketId, PacketKind, PacketPool};
use ackclock_core::queue::{Queue, QueueKind, Server};
use ackclock_core::registry::{Chosen, Kind, Place, choose};
use ackclock_core::scenario::files::Files;
use ackclock_core::streams::Streams;
use ackclock_core::traffic::{Suits, Traffic, TrafficContext, TrafficKind, Write};
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Every file is there.
struct Traces;
impl Files for Traces {
    fn read(&self, name: &str) -> Result<String, String> {
        Ok(if name.ends_with(".csv") {
            "time,rate\n0 s,10 Mbit/s\n500 ms,0 bit/s\n700 ms,2 Mbit/s\n".into()
        } else {
            "0\n3\n3\n4\n9\n".into()
        })
    }
}

/// Parameters that an element's schema gives: its examples, or else the fields it requires, each by its own example.
fn samples(schema: &Value) -> Vec<Value> {
    match schema["examples"].as_array() {
        Some(examples) => examples.clone(),
        None => vec![sample(schema, schema)],
    }
}

fn sample(schema: &Value, root: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        return sample(target.unwrap_or_else(|| panic!("no {reference}")), root);
    }
    if let Some(example) = schema["examples"].get(0) {
        return example.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = schema["oneOf"].get(0).or(schema["anyOf"].get(0)) {
        return sample(first, root);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    assert_eq!(
        schema["type"], "object",
        "give an example: #[schemars(example = …)] on the parameters, {schema}"
    );
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = required.iter().filter_map(Value::as_str);
    fields
        .map(|field| (field.to_owned(), sample(&schema["properties"][field], root)))
        .collect::<Map<_, _>>()
        .into()
}

/// Every registered element of a kind with each of its samples.
fn all<K: Kind>() -> Vec<Chosen<K>> {
    let of_entry = |entry: &'static ackclock_core::registry::Entry<K>| {
        samples(&(entry.schema)()).into_iter().map(|mut tree| {
            tree["kind"] = entry.name.into();
            choose::<K>(&tree, &Traces).unwrap_or_else(|error| panic!("{}: {error}", entry.name))
        })
    };
    K::entries().iter().flat_map(of_entry).collect()
}

/// What holds of every entry, whatever its kind.
fn check_registry<K: Kind>() {
    let mut names: Vec<&str> = K::entries().iter().map(|entry| entry.name).collect();
    for entry in K::entries() {
        let name = entry.name;
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{name}"
        );
        for text in [entry.label, entry.summary, entry.reference] {
            assert!(
                !text.is_empty() && text.trim() == text && !text.contains('\n'),
                "{name}: {text:?}"
            );
        }
        assert!(entry.summary.ends_with('.'), "{name}: a summary is a sentence");
        let schema = (entry.schema)();
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            assert!(
                property["description"].is_string(),
                "{name}.{field} is not described"
            );
        }
    }
    for chosen in all::<K>() {
        let again = choose::<K>(&chosen.resolved, &Traces).unwrap();
        assert_eq!(
            again.resolved, chosen.resolved,
            "what is resolved reads back as itself"
        );
        let mut odd = chosen.resolved.clone();
        odd["no_such_field"] = json!(1);
        let error = choose::<K>(&odd, &Traces).unwrap_err().to_string();
        assert!(
            error.contains("no_such_field") && !error.contains('\n'),
            "{}: {error}",
            chosen.name
        );
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names are unique");
}

#[test]
fn registries_are_complete() {
    check_registry::<LinkKind>();
    check_registry::<QueueKind>();
    check_registry::<ImpairmentKind>();
    check_registry::<TrafficKind>();
}

fn at_place<R>(seed: u64, build: impl FnOnce(Place<'_>) -> R) -> R {
    let streams = Streams::new(seed, 0);
    build(Place {
        streams: &streams,
        name: "hop/test/element",
    })
}
fn link(chosen: &Chosen<LinkKind>, seed: u64) -> Box<dyn Link> {
    at_place(seed, |place| chosen.build(place))
}
fn queue(chosen: &Chosen<QueueKind>, seed: u64) -> Box<dyn Queue> {
    at_place(seed, |place| chosen.build(place))
}
fn impairment(chosen: &Chosen<ImpairmentKind>, seed: u64) -> Box<dyn Impairment> {
    at_place(seed, |place| chosen.build(place))
}
fn traffic(chosen: &Chosen<TrafficKind>, seed: u64, mss: Bytes) -> Box<dyn Traffic> {
    at_place(seed, |place| chosen.build(TrafficContext { place, mss }))
}

/// A century.
const FAR: Time = Time::from_nanos(100 * 365 * 86_400 * 1_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A link does not finish before it starts, answers the same to the same questions, finishes more not earlier than less,
    /// and its rate is a function of time alone: a link that has served nothing has the same.
    #[test]
    fn links_keep_their_contract(
        seed: u64,
        services in prop::collection::vec((0_u64..400_000_000, 1_u64..65_000, 0_u64..2_000_000_000), 1..40),
    ) {
        for chosen in all::<LinkKind>() {
            let [mut one, mut other] = [(); 2].map(|()| link(&chosen, seed));
            let idle = link(&chosen, seed);
            let (mut now, mut finishes) = (Time::ZERO, Vec::new());
            for &(gap, size, ahead) in &services {
                // Three in four back to back.
                let start = if gap % 4 == 0 { now + Span::from_nanos(gap) } else { now };
                let finish = one.finish(start, Bytes(size));
                prop_assert!(finish >= start, "{}", chosen.name);
                finishes.push((start, size, finish));
                for at in [start, start + finish.since(start) / 2, start + Span::from_nanos(ahead)] {
                    prop_assert_eq!(one.rate(at), idle.rate(at), "{} at {:?}", chosen.name, at);
                }
                if finish.is_never() {
                    break;
                }
                now = finish;
            }
            for (start, size, finish) in finishes {
                prop_assert_eq!(other.finish(start, Bytes(size)), finish, "{}", chosen.name);
            }
            let [mut small, mut large] = [(); 2].map(|()| link(&chosen, seed));
            prop_assert!(small.finish(Time::ZERO, Bytes(100)) <= large.finish(Time::ZERO, Bytes(1500)));
        }
    }

    /// A queue loses nothing unseen: what came is dropped and reported once, or waiting, or has been handed out; its backlog
    /// is what waits; what can be sent at once is asked for and, if it was kept, is there.
    #[test]
    fn queues_keep_their_contract(
        seed: u64,
        steps in prop::collection::vec((any::<bool>(), 40_u16..1501, 0_u64..3_000_000), 1..200),
    ) {
        let link = choose::<LinkKind>(&json!({ "kind": "constant", "rate": "10 Mbit/s" }), &Traces).unwrap();
        let link = self::link(&link, seed);
        for chosen in all::<QueueKind>() {
            let mut queue = queue(&chosen, seed);
            let (mut pool, mut drops) = (PacketPool::new(), Drops::default());
            let (mut now, mut sequence, mut served) = (Time::ZERO, 0, 0);
            let mut in_service = Backlog::default();
            let mut waiting = Vec::new();
            for &(comes, size, gap) in &steps {
                now = now + Span::from_nanos(gap);
                let mut context = Context { packets: &mut pool, observer: &mut drops };
                if comes {
                    let packet = Packet::new(PacketKind::Data, FlowId(0), sequence, size, now);
                    let id = context.packets.insert(packet);
                    sequence += 1;
                    queue.enqueue(now, id, Server { in_service, link: &*link }, &mut context);
                }
                if !comes || in_service.packets == 0 {
                    in_service = Backlog::default();
                    if let Some(id) = queue.dequeue(now, &mut context) {
                        in_service = Backlog { packets: 1, bytes: context.packets[id].bytes() };
                        waiting.push(context.packets[id].sequence);
                        context.packets.remove(id);
                        served += 1;
                    }
                }
                let Backlog { packets, bytes } = queue.backlog();
                prop_assert_eq!(sequence, served + packets + drops.0.len() as u64, "{}", chosen.name);
                prop_assert_eq!(pool.live() as u64, packets);
                prop_assert_eq!(packets == 0, bytes == Bytes::ZERO);
                prop_assert!(in_service.packets == 1 || packets == 0, "{} rests while packets wait", chosen.name);
            }
            waiting.extend(drops.0.iter().map(|(sequence, _)| *sequence));
            waiting.sort_unstable();
            waiting.dedup();
            prop_assert_eq!(waiting.len(), served as usize + drops.0.len(), "each packet once");
            prop_assert!(drops.0.iter().all(|(_, reason)| *reason != DropReason::Impairment));
        }
    }

    /// An impairment judges the same way again, delays only behind the link, and by default neither touches an ACK nor is moved by one.
    #[test]
    fn impairments_keep_their_contract(seed: u64, acks in prop::collection::vec(any::<bool>(), 1..200)) {
        let packet = |kind| Packet::new(kind, FlowId(0), 0, 1500, Time::ZERO);
        for chosen in all::<ImpairmentKind>() {
            let [mut one, mut other] = [(); 2].map(|()| impairment(&chosen, seed));
            for (index, &ack) in acks.iter().enumerate() {
                let now = Time::from_nanos(index as u64 * 1_000_000);
                if ack {
                    prop_assert_eq!(one.judge(now, &packet(PacketKind::Ack)), Verdict::Pass, "{}", chosen.name);
                }
                let verdict = one.judge(now, &packet(PacketKind::Data));
                prop_assert_eq!(verdict, other.judge(now, &packet(PacketKind::Data)), "{}", chosen.name);
                let delays = matches!(verdict, Verdict::Delay { .. });
                prop_assert!(!delays || one.side() == Side::AfterLink, "{}", chosen.name);
            }
        }
    }

    /// A source's writes are in order, stay put until they are taken, are the same again, end for good and add up to its total;
    /// what UDP may send is finite.
    #[test]
    fn sources_keep_their_contract(seed: u64, mss in 1_u64..9000) {
        for chosen in all::<TrafficKind>() {
            let [mut one, mut other] = [(); 2].map(|()| traffic(&chosen, seed, Bytes(mss)));
            let (mut last, mut sum) = (Time::ZERO, Bytes::ZERO);
            for _ in 0..1000 {
                let at = one.poll_timeout();
                prop_assert!(at >= last && at == one.poll_timeout(), "{}", chosen.name);
                prop_assert_eq!(at, other.poll_timeout());
                let write = one.poll_write();
                prop_assert_eq!(write, other.poll_write());
                prop_assert_eq!(write.is_none(), at.is_never(), "{}", chosen.name);
                match write {
                    Some(Write::Bytes(bytes)) => sum += bytes,
                    Some(Write::Unlimited) => prop_assert_eq!(one.suits(), Suits::Tcp),
                    None => break,
                }
                prop_assert_ne!(write, Some(Write::Bytes(Bytes::ZERO)));
                last = at;
            }
            if one.poll_timeout().is_never() && let Some(total) = one.total() {
                prop_assert_eq!(sum, total, "{}", chosen.name);
            }
        }
    }
}

#[derive(Default)]
struct Drops(Vec<(u64, DropReason)>);
impl Observer for Drops {
    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        self.0.push((packet.sequence, reason));
    }
    fn marked(&mut self, _now: Time, _packet: &Packet) {}
}

#[test]
fn a_century_of_silence_is_no_wait() {
    for chosen in all::<LinkKind>() {
        let mut link = link(&chosen, 1);
        let first = link.finish(Time::ZERO, Bytes(1500));
        assert!(first < FAR, "{}: the samples send", chosen.name);
        link.rate(FAR);
        assert!(link.finish(FAR, Bytes(1500)) > FAR, "{}", chosen.name);
    }
}

#[test]
fn the_end_of_time_is_reached_without_overflow() {
    let end = Time::from_nanos(u64::MAX - 10);
    for chosen in all::<LinkKind>() {
        let mut link = link(&chosen, 1);
        assert!(link.finish(end, Bytes(65_535)) >= end, "{}", chosen.name);
        assert!(link.rate(end) <= BitRate::from_mbit_per_s(1e6));
    }
    for chosen in all::<ImpairmentKind>() {
        let packet = Packet::new(PacketKind::Data, FlowId(0), 0, 1500, Time::ZERO);
        if let Verdict::Delay { by, .. } = impairment(&chosen, 1).judge(end, &packet) {
            assert!(by < Span::FOREVER);
        }
    }
}

/// A queue's slots are used again: what is dropped or handed out is freed by whoever ends its way.
#[test]
fn packet_ids_do_not_leak() {
    let link = choose::<LinkKind>(&json!({ "kind": "constant", "rate": "10 Mbit/s" }), &Traces).unwrap();
    let link = self::link(&link, 1);
    for chosen in all::<QueueKind>() {
        let (mut queue, mut pool, mut drops) = (queue(&chosen, 1), PacketPool::new(), Drops::default());
        let mut largest: Option<PacketId> = None;
        for round in 0..10_000 {
            let now = Time::from_nanos(round * 1_000_000);
            let mut context = Context {
                packets: &mut pool,
                observer: &mut drops,
            };
            let id = context
                .packets
                .insert(Packet::new(PacketKind::Data, FlowId(0), round, 1500, now));
            largest = largest.max(Some(id));
            let server = Server {
                in_service: Backlog::default(),
                link: &*link,
            };
            queue.enqueue(now, id, server, &mut context);
            if let Some(id) = queue.dequeue(now, &mut context) {
                context.packets.remove(id);
            }
        }
        assert_eq!(
            largest.map(PacketId::index),
            Some(0),
            "{}: one packet at a time needs one slot",
            chosen.name
        );
    }
}
