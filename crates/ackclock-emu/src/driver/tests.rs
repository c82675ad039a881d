//! One set of hops, driven in three ways: a clock that jumps, one that wakes late, and the engine
//! take the same decisions.

use super::*;
use crate::testing::networks::{
    Coming, Description, END, INTERVAL, Left, arrivals, counters, descriptions, drive, lateness,
};
use ackclock_core::hop::Arrival;
use ackclock_core::observe::{Context, DropReason, Observer};
use ackclock_core::packet::{Ecn, PacketPool};
use ackclock_core::result::Column;
use ackclock_core::routes::Routes;
use ackclock_scenario::network::decision::Fate;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Hops driven as the engine does it when it does not work ahead, with its events in a set.
struct Engine {
    hops: Vec<Hop>,
    wakes: Vec<Time>,
    events: BTreeSet<(Time, u32)>,
    routes: Routes,
    packets: PacketPool,
    recorder: Recorder,
}

#[derive(Default)]
struct Recorder {
    hop: usize,
    decisions: Vec<Decision>,
}
impl Recorder {
    fn tell(&mut self, at: Time, hop: u32, packet: &Packet, outcome: Fate) {
        let packet = packet.sequence;
        self.decisions.push(Decision {
            at,
            hop,
            packet,
            outcome,
        });
    }
}
impl Observer for Recorder {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.tell(now, self.hop as u32, packet, reason.into());
    }
    fn marked(&mut self, now: Time, packet: &Packet) {
        self.tell(now, self.hop as u32, packet, Fate::Marked);
    }
}

impl Engine {
    fn run(description: &Description, arrivals: &[Coming]) -> Engine {
        let network = description.network();
        let mut engine = Engine {
            wakes: vec![Time::NEVER; network.hops.len()],
            hops: network.hops,
            events: BTreeSet::new(),
            routes: network.routes,
            packets: PacketPool::new(),
            recorder: Recorder::default(),
        };
        for (number, coming) in (0..).zip(arrivals) {
            engine.proceed_until(coming.at);
            let kind = ipv4::kind(&coming.bytes, coming.direction);
            let mut packet = Packet::new(
                kind,
                coming.flow,
                number,
                coming.bytes.len() as u16,
                coming.at,
            );
            packet.set_ecn(ipv4::ecn(&coming.bytes));
            let id = engine.packets.insert(packet);
            engine.enter(coming.at, id);
        }
        engine.proceed_until(END);
        for hop in 0..engine.hops.len() {
            engine.recorder.hop = hop;
            let mut context = Context {
                packets: &mut engine.packets,
                observer: &mut engine.recorder,
            };
            engine.hops[hop].catch_up(END, &mut context);
        }
        engine
    }

    fn proceed_until(&mut self, end: Time) {
        while let Some(&(at, hop)) = self.events.first().filter(|(at, _)| *at <= end) {
            self.events.pop_first();
            if self.wakes[hop as usize] == at {
                self.wakes[hop as usize] = Time::NEVER;
                self.empty(at, hop as usize);
            }
        }
    }

    fn wake(&mut self, hop: usize, at: Time) {
        if at < self.wakes[hop] {
            self.wakes[hop] = at;
            self.events.insert((at, hop as u32));
        }
    }

    fn empty(&mut self, now: Time, hop: usize) {
        loop {
            self.recorder.hop = hop;
            let element = &mut self.hops[hop];
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.recorder,
            };
            let departure = element.poll_transmit(now, &mut context);
            let done = departure.not_before > now;
            if done {
                self.wake(hop, departure.not_before);
            }
            if let Some((at, id)) = departure.packet {
                self.packets[id].position += 1;
                self.enter(at, id);
            }
            if done || departure.packet.is_none() {
                return;
            }
        }
    }

    fn enter(&mut self, at: Time, id: PacketId) {
        let packet = self.packets[id];
        let begin = self
            .routes
            .begin(packet.flow.0 as usize, packet.is_forward());
        let stop = begin + usize::from(packet.position);
        let Some(hop) = self.routes.stop(stop).as_hop() else {
            let last = (packet.position > 0).then(|| self.routes.stop(stop - 1).as_hop());
            let last = last.flatten().map_or(Decision::NOWHERE, |hop| hop as u32);
            self.packets.remove(id);
            return self.recorder.tell(at, last, &packet, Fate::Departed);
        };
        let identity = (id, packet.size);
        self.recorder.hop = hop;
        let mut context = Context {
            packets: &mut self.packets,
            observer: &mut self.recorder,
        };
        match self.hops[hop].handle_packet(at, identity, None, &mut context) {
            Arrival::Kept(next) | Arrival::Released(next) => self.wake(hop, next),
        }
    }
}

/// Sorts decisions into an order that does not depend on when hops caught up.
fn sorted(decisions: impl IntoIterator<Item = Decision>) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = decisions.into_iter().collect();
    decisions.sort_by_key(|decision| {
        (
            decision.at,
            decision.hop,
            decision.packet,
            decision.outcome as u8,
        )
    });
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Each packet leaves at the same time and with the same bytes, whatever clock drives the hops.
    #[test]
    fn every_clock_gives_the_same_and_packets_keep_their_bytes(
        description in descriptions(),
        arrivals in arrivals(),
        lateness in lateness(),
    ) {
        let (mut jumping, mut sleeping) = (description.driver(), description.driver());
        let left = drive(&mut jumping, &arrivals, &[], |_| {});
        prop_assert_eq!(&left, &drive(&mut sleeping, &arrivals, &lateness, |_| {}));
        let engine = Engine::run(&description, &arrivals);

        let record = jumping.poll_record().clone();
        prop_assert_eq!(&record, sleeping.poll_record(), "the records, in the same order");
        prop_assert_eq!(sorted(record.decisions()), sorted(engine.recorder.decisions));
        prop_assert_eq!(counters(jumping.hops()), counters(sleeping.hops()));
        prop_assert_eq!(counters(jumping.hops()), counters(&engine.hops));
        prop_assert_eq!(jumping.losses(), sleeping.losses());
        prop_assert_eq!(jumping.inside(), engine.packets.live());
        prop_assert_eq!(jumping.take_table(), sleeping.take_table());
        let rewrites_ecn = description.rewrites_ecn();
        packets_keep_their_bytes(&sleeping, &record, &arrivals, left, rewrites_ecn)?;
    }
}

/// Packets leave as they came, byte for byte, except for the mark, and as the record says. With
/// `rewrites_ecn`, an impairment may set the ECN field to anything.
fn packets_keep_their_bytes(
    driver: &Driver,
    record: &Chunk,
    arrivals: &[Coming],
    left: Left,
    rewrites_ecn: bool,
) -> Result<(), TestCaseError> {
    let departed: Vec<Decision> = record
        .decisions()
        .filter(|decision| decision.outcome == Fate::Departed)
        .collect();
    let marked: BTreeMap<u64, Time> = record
        .decisions()
        .filter(|decision| decision.outcome == Fate::Marked)
        .map(|decision| (decision.packet, decision.at))
        .collect();
    prop_assert_eq!(departed.len(), left.len());
    for (decision, (at, flow, forward, bytes)) in departed.iter().zip(&left) {
        let coming = &arrivals[decision.packet as usize];
        prop_assert_eq!(
            (*at, *flow, *forward),
            (decision.at, coming.flow, coming.direction.is_forward()),
        );
        let mut expected = coming.bytes.clone();
        if rewrites_ecn {
            ipv4::set_ecn(&mut expected, ipv4::ecn(bytes));
        } else if ipv4::ecn(bytes) == Ecn::Marked && ipv4::ecn(&expected) != Ecn::Marked {
            prop_assert!(
                marked.contains_key(&decision.packet),
                "nobody marked packet {}",
                decision.packet
            );
            ipv4::set_ecn(&mut expected, Ecn::Marked);
        }
        prop_assert_eq!(bytes, &expected);
    }
    // A packet that was marked at the only hop of its route, and left, carries the mark.
    for (packet, at) in &marked {
        // Each copy ends once, if none is inside; another one need not be marked.
        let ends = record
            .decisions()
            .filter(|decision| decision.packet == *packet && decision.outcome != Fate::Marked);
        let one_copy = !rewrites_ecn && driver.inside() == 0 && ends.count() == 1;
        let seen = departed
            .iter()
            .zip(&left)
            .find(|(one, _)| one.packet == *packet && one.at >= *at);
        if let (true, Some((_, (.., bytes)))) = (one_copy, seen) {
            prop_assert_eq!(ipv4::ecn(bytes), Ecn::Marked);
        }
    }
    let losses: u64 = driver.losses().iter().map(|hop| hop.drops()).sum();
    prop_assert_eq!(
        losses,
        driver
            .dropped()
            .iter()
            .map(|flow| flow.drops())
            .sum::<u64>()
    );
    let duplicates: u64 = driver
        .hops()
        .iter()
        .map(|hop| hop.counters().duplicates)
        .sum();
    prop_assert_eq!(
        arrivals.len() as u64 + duplicates,
        losses + left.len() as u64 + driver.inside() as u64,
    );
    Ok(())
}

/// In a steady state a packet reuses the buffer of one that has gone.
#[test]
fn buffers_are_used_again() {
    let mut driver =
        Description::one_hop(r#"{ kind = "duplicate", probability = "50 %" }"#).driver();
    let bytes = [0x45; 1500];
    let mut addresses = BTreeSet::new();
    for number in 0..2000 {
        let now = Time::from_nanos(number * 5_000_000);
        driver.handle_packet(now, FlowId(0), Direction::Forward, &bytes);
        while driver.poll_departure(now).is_some() {}
        if number >= 1000 {
            let buffers = &driver.graph.listener().payloads.0;
            addresses.extend(
                buffers
                    .iter()
                    .map(|buffer| (buffer.as_ptr() as usize, buffer.capacity())),
            );
        }
    }
    assert!(driver.hops()[0].counters().duplicates > 800);
    // One packet arrives while the previous one and its duplicate are still inside.
    assert!(
        (2..=3).contains(&addresses.len()),
        "{} buffers",
        addresses.len()
    );
}

#[test]
fn a_stamp_that_lies_behind_is_brought_up_and_recorded_so() {
    let mut driver = Description::one_hop("").driver();
    let (early, late) = (Time::from_nanos(5), Time::from_nanos(900));
    assert!(driver.poll_departure(late).is_none());
    driver.handle_packet(early, FlowId(0), Direction::Back, &[0x45; 60]);
    assert_eq!(
        driver.poll_record().arrivals().next().map(|row| row.at),
        Some(late)
    );
    assert_eq!(driver.poll_timeout(), late + Span::from_micros(40));
}

/// A sample includes everything at its own time, even if the driver was polled at that time before
/// the packet arrived, and whenever it is polled next.
#[test]
fn a_sample_sees_what_happens_at_its_moment() {
    for looks in [false, true] {
        let mut driver = Description::one_hop("").driver();
        let at = |nanos| Time::ZERO + Span::from_nanos(nanos);
        let interval = INTERVAL.as_nanos();
        // The second packet leaves at the time of a sample; the third arrives then.
        for moment in [0, interval - 1_000_000, interval] {
            if looks {
                assert!(driver.poll_departure(at(moment)).is_none() || moment > 0);
            }
            driver.handle_packet(at(moment), FlowId(0), Direction::Forward, &[0x45; 1500]);
        }
        driver.finish(at(2 * interval + 5));
        let Table(columns) = driver.take_table();
        let column = |name: &str| match &columns
            .iter()
            .find(|(column, _)| *column == name)
            .unwrap()
            .1
        {
            Column::Integer(rows) => rows.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(column("arrivals"), [1, 3, 3, 3]);
        assert_eq!(column("departures"), [0, 2, 3, 3]);
        assert_eq!(column("served_bytes"), [0, 3000, 4500, 4500]);
    }
}
