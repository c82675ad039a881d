//! A record replays, and every change to it is found.

use super::*;
use crate::record::{ArrivalRow, Chunks, MAGIC};
use crate::testing::networks::{
    Coming, Description, INTERVAL, arrivals, descriptions, drive, lateness,
};
use ackclock_core::packet::{Ecn, FlowId, PacketKind};
use ackclock_scenario::network::decision::Fate;
use proptest::prelude::*;

/// Drives packets through, and cuts the record into chunks of at least `rows` rows.
fn record(
    description: &Description,
    arrivals: &[Coming],
    lateness: &[Span],
    rows: usize,
) -> Vec<Chunk> {
    let (mut chunks, mut driver) = (Vec::new(), description.driver());
    drive(&mut driver, arrivals, lateness, |driver| {
        if driver.record_len() >= rows {
            let chunk = driver.poll_record();
            chunks.push(chunk.clone());
            chunk.clear();
        }
    });
    chunks.push(driver.poll_record().clone());
    chunks
}

fn replayed(description: &Description, chunks: &[Chunk]) -> Replay {
    replay(
        description.network(),
        INTERVAL,
        Time::NEVER,
        chunks.iter().cloned().map(Ok),
    )
    .unwrap()
}

/// The rows of a chunk, to be changed.
struct Rows(Vec<ArrivalRow>, Vec<Decision>);

/// Returns the chunk with changed rows, but the same digest.
fn tampered(chunk: &Chunk, change: impl FnOnce(&mut Rows)) -> Chunk {
    let mut rows = Rows(chunk.arrivals().collect(), chunk.decisions().collect());
    change(&mut rows);
    let mut changed = Chunk::default();
    rows.0.iter().for_each(|row| changed.push_arrival(row));
    rows.1
        .iter()
        .for_each(|decision| changed.push_decision(decision));
    (changed.until, changed.digest, changed.last) = (chunk.until, chunk.digest, chunk.last);
    changed
}

fn other_outcome(outcome: Fate) -> Fate {
    let next = (outcome as u8 + 1) % 5;
    Fate::from_number(next).unwrap_or(Fate::Departed)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_record_replays_through_a_file(
        description in descriptions(),
        arrivals in arrivals(),
        lateness in lateness(),
        rows in 1_usize..60,
        place in any::<prop::sample::Index>(),
    ) {
        let chunks = record(&description, &arrivals, &lateness, rows);
        let (mut file, mut body) = (MAGIC.to_vec(), Vec::new());
        for chunk in &chunks {
            chunk.write_to(&mut file, &mut body).unwrap();
        }
        let replayed =
            replay(description.network(), INTERVAL, Time::NEVER, Chunks::new(&file[..]).unwrap())
                .unwrap();
        let decisions: usize = chunks.iter().map(Chunk::decisions_len).sum();
        let expected = Replay {
            arrivals: arrivals.len() as u64,
            decisions: decisions as u64,
            until: chunks[chunks.len() - 1].until,
            complete: true,
            difference: None,
        };
        prop_assert_eq!(replayed, expected);
        // The record of a killed run is compared as far as it goes, wherever it was cut off.
        let cut = place.index(file.len());
        let replayed =
            replay(description.network(), INTERVAL, Time::NEVER, Chunks::new(&file[..cut]).unwrap())
                .unwrap();
        prop_assert_eq!((replayed.complete, &replayed.difference), (false, &None));
        let (mut whole, mut until) = (MAGIC.len(), Time::ZERO);
        for chunk in &chunks {
            chunk.write_to(&mut Vec::new(), &mut body).unwrap();
            whole += 12 + body.len();
            until = if whole <= cut { chunk.until } else { until };
        }
        prop_assert_eq!(replayed.until, until);
    }

    #[test]
    fn every_change_is_found(
        description in descriptions(),
        arrivals in arrivals(),
        lateness in lateness(),
        rows in 1_usize..60,
        place in any::<prop::sample::Index>(),
        kind in 0..14_usize,
    ) {
        let mut chunks = record(&description, &arrivals, &lateness, rows);
        let suitable = |chunk: &Chunk| if kind < 8 {
            chunk.arrivals_len() > 0
        } else {
            chunk.decisions_len() > 0
        };
        let those: Vec<usize> = (0..chunks.len())
            .filter(|number| suitable(&chunks[*number]))
            .collect();
        prop_assume!(!those.is_empty());
        let number = those[place.index(those.len())];
        chunks[number] = tampered(&chunks[number], |rows| {
            let (at, of) = (place.index(rows.0.len().max(1)), place.index(rows.1.len().max(1)));
            let nanosecond = Span::from_nanos(1);
            match kind {
                0 => rows.0[at].at = rows.0[at].at + nanosecond,
                1 => rows.0[at].flow = FlowId((rows.0[at].flow.0 + 1) % 4),
                2 => rows.0[at].size ^= 1,
                3 => rows.0[at].kind = if rows.0[at].kind == PacketKind::Ack {
                    PacketKind::Data
                } else {
                    PacketKind::Ack
                },
                4 => rows.0[at].ecn = if rows.0[at].ecn == Ecn::Marked {
                    Ecn::Capable
                } else {
                    Ecn::Marked
                },
                5 => drop(rows.0.remove(at)),
                6 => rows.0.insert(at, rows.0[at]),
                7 => rows.0[at].flow = FlowId(99),
                8 => rows.1[of].at = rows.1[of].at + nanosecond,
                9 => rows.1[of].hop = rows.1[of].hop.wrapping_add(1),
                10 => rows.1[of].packet += 1,
                11 => rows.1[of].outcome = other_outcome(rows.1[of].outcome),
                12 => drop(rows.1.remove(of)),
                _ => rows.1.insert(of, rows.1[of]),
            }
        });
        let outcome = replayed(&description, &chunks);
        prop_assert!(outcome.difference.is_some(), "change {} of chunk {} not found", kind, number);
        prop_assert!(!outcome.difference.unwrap().to_string().is_empty());
    }
}

#[test]
fn a_difference_says_what_was_recorded_and_what_was_replayed() {
    let at = Time::from_nanos(7);
    let recorded = Decision {
        at,
        hop: 1,
        packet: 3,
        outcome: Fate::QueueFull,
    };
    let difference = Difference::Decision {
        number: 2,
        recorded: Some(recorded),
        replayed: None,
    };
    assert_eq!(
        difference.to_string(),
        "decision 2: recorded packet 3 QueueFull at 7 ns, hop 1, replayed nothing"
    );
}

#[test]
fn arrivals_that_cannot_have_come_are_named() {
    let row = |at, flow| ArrivalRow {
        at: Time::from_nanos(at),
        flow: FlowId(flow),
        size: 1500,
        kind: PacketKind::Data,
        ecn: Ecn::NotCapable,
    };
    let difference = |second| {
        let mut chunk = Chunk::default();
        chunk.until = Time::from_nanos(2000);
        chunk.push_arrival(&row(900, 0));
        chunk.push_arrival(&second);
        replayed(&Description::one_hop(""), &[chunk]).difference
    };
    let at = Time::from_nanos(5);
    assert_eq!(
        difference(row(5, 0)),
        Some(Difference::OutOfOrder { packet: 1, at })
    );
    assert_eq!(
        difference(row(901, 1)),
        Some(Difference::UnknownFlow { packet: 1, flow: 1 })
    );
    assert_eq!(difference(row(900, 0)), None);
}

#[test]
fn times_after_the_end_are_named_and_take_no_time() {
    let end = Time::from_nanos(1_000_000_000);
    let difference = |until, arrival| {
        let mut chunk = Chunk::default();
        chunk.until = until;
        chunk.push_arrival(&ArrivalRow {
            at: arrival,
            flow: FlowId(0),
            size: 1500,
            kind: PacketKind::Data,
            ecn: Ecn::NotCapable,
        });
        let network = Description::one_hop("").network();
        let replayed = replay(network, INTERVAL, end, [Ok(chunk)]).unwrap();
        replayed.difference
    };
    let far = Time::from_nanos(u64::MAX - 1);
    assert_eq!(difference(far, end), Some(Difference::TooLate { at: far }));
    assert_eq!(difference(end, far), Some(Difference::TooLate { at: far }));
    let named = Difference::TooLate { at: end }.to_string();
    assert_eq!(named, "1000000000 ns is recorded, which is after the end");
}
