//! ECN echoes.

use super::*;
use crate::congestion::{ControlContext, ControlKind};
use crate::endpoint::Receiver;
use crate::packet::Ecn;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, StreamScope, choose};
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

#[test]
fn an_ecn_echo_reduces_once_per_window_and_is_answered() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.ecn.enabled = true;
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).tell(1, &[], true);
    assert_eq!(d.last_ack().marked, Bytes(MSS));
    for cumulative in 2..=9 {
        d.tell(cumulative, &[], true);
    }
    assert_eq!(
        (d.sender.statistics().ecn_reactions, d.last_base()),
        (1, 10)
    );
    let answered: Vec<u64> = d
        .segments
        .iter()
        .filter(|s| s.window_reduced)
        .map(|s| s.sequence)
        .collect();
    assert_eq!(answered, [10]);
    // A loss in the same window is retransmitted without a second reduction.
    assert_eq!(d.duplicates(3, 9)[0], 9);
    assert_eq!(d.log.lock().unwrap().congestions.len(), 1);
    let outstanding = d.sender.connection.scoreboard.highest();
    d.wait(100).tell(outstanding, &[], true);
    assert_eq!(d.sender.statistics().ecn_reactions, 2);
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    d.wait(100).tell(1, &[], true);
    assert!(d.events().is_empty());
}

/// RFC 3168 section 6.1.2: a sender "should not react to congestion indications more than once
/// every window of data". The receiver echoes until the segment with CWR has arrived (section
/// 6.1.3), so the ACK just before that one's is an echo too.
#[test]
fn the_last_ack_of_the_window_that_was_marked_is_no_second_indication() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.ecn.enabled = true;
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).tell(1, &[], true);
    for cumulative in 2..=10 {
        d.tell(cumulative, &[], true);
    }
    assert_eq!(d.sender.statistics().ecn_reactions, 1);
    assert!(d.segments[10].window_reduced && d.segments[10].sequence == 10);
    // The segment with CWR was marked itself: this belongs to the next window.
    d.wait(100).tell(11, &[], true);
    assert_eq!(d.sender.statistics().ecn_reactions, 2);
}

/// Outcome of a connection over a path with `one_way` milliseconds of delay, losses and marks.
#[derive(Debug, Default)]
struct Outcome {
    marks: u64,
    losses: u64,
    /// For each reaction to an echo: the data acknowledged then, and the first segment not sent yet
    /// at the previous reaction of any kind.
    reactions: Vec<(u64, u64)>,
    cwr: u64,
}

fn over_a_marking_path(
    kind: &str,
    parameters: TcpParameters,
    (loss, mark): (f64, f64),
    seed: u64,
) -> Outcome {
    let streams = Streams::new(seed, 0);
    let place = StreamScope {
        streams: &streams,
        name: "flow/test/0/control",
    };
    let control = choose::<ControlKind>(&json!({ "kind": kind }), &NoFiles)
        .unwrap()
        .build(ControlContext {
            place,
            mss: Bytes(MSS),
            initial_window: Bytes(10 * MSS),
            initial_ssthresh: None,
            ssthresh_in_whole_segments: false,
            paced: false,
            selective_acks: true,
            counts_marks: true,
            keeps_calls: false,
        });
    let mut parameters = parameters;
    parameters.ecn.enabled = true;
    let mut sender = Sender::new(Arc::new(parameters), control, streams.stream("jitter"));
    let mut receiver = Receiver::new(&parameters);
    let mut draws = streams.stream("path");
    let (mut forward, mut back) = (VecDeque::new(), VecDeque::new());
    let delay = Span::from_millis(10);
    let mut now = Time::ZERO;
    let mut outcome = Outcome::default();
    sender.open(now);
    sender.write(Write::Bytes(Bytes(1_000 * MSS)));
    sender.close();
    let mut reduced = 0;
    for _ in 0..100_000 {
        while let Some(segment) = sender.poll_transmit(now) {
            outcome.cwr += u64::from(segment.window_reduced);
            if draws.uniform() < loss {
                outcome.losses += 1;
            } else {
                // A retransmission is not ECN-capable (RFC 3168 section 6.1.5).
                let marked = !segment.retransmission && draws.uniform() < mark;
                outcome.marks += u64::from(marked);
                forward.push_back((now + delay, segment, marked));
            }
        }
        while let Some(ack) = receiver.poll_transmit(now) {
            let options = (ack.sacks.copied(), ack.options.copied());
            back.push_back((now + delay, ack.without_options(), options));
        }
        if sender.is_finished() {
            return outcome;
        }
        let arrival = forward.front().map_or(Time::NEVER, |(at, ..)| *at);
        let answer = back.front().map_or(Time::NEVER, |(at, ..)| *at);
        now = arrival
            .min(answer)
            .min(sender.poll_timeout())
            .min(receiver.poll_timeout());
        if arrival == now {
            let (_, segment, marked) = forward.pop_front().unwrap();
            let ecn = if marked { Ecn::Marked } else { Ecn::Capable };
            receiver.handle_segment(now, &segment, ecn);
        } else if answer == now {
            let (_, ack, (sacks, options)) = back.pop_front().unwrap();
            let (sacks, options) = (sacks.as_ref(), options.as_ref());
            sender.handle_acknowledgement(
                now,
                &Acknowledgement {
                    sacks,
                    options,
                    ..ack
                },
            );
        } else {
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
        }
        let kinds: Vec<SenderEventKind> = sender.take_events().map(|event| event.kind).collect();
        for kind in kinds {
            if kind == SenderEventKind::EcnEcho {
                outcome
                    .reactions
                    .push((sender.connection.scoreboard.first(), reduced));
            }
            if kind != SenderEventKind::RecoveryEnd {
                reduced = sender.connection.marks.reacted;
            }
        }
    }
    panic!("no end in sight: {sender:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks RFC 3168 section 6.1.2 for every registered control:
    ///
    /// * There is at most one reaction to echoes per window of data, counted from the last
    ///   reduction of any kind.
    /// * Each reaction is to a different mark, unless a loss kept the segment with CWR from
    ///   arriving.
    /// * Each reaction is reported to the receiver.
    #[test]
    fn every_control_reacts_at_most_once_in_a_window_of_data(
        recovery in proptest::sample::select(&RECOVERIES[1..]),
        every in 1u32..3,
        loss in prop_oneof![2 => Just(0.0), 1 => 0.0..0.05f64],
        mark in prop_oneof![0.001..0.05f64, 0.05..0.9f64],
        seed in any::<u64>(),
    ) {
        for entry in ControlKind::ENTRIES.iter().filter(|entry| entry.simulated) {
            let mut parameters = plain(recovery);
            parameters.receiver.delayed_ack.every = ackclock_spec::quantity::Segments(every);
            let outcome = over_a_marking_path(entry.name, parameters, (loss, mark), seed);
            for &(acknowledged, sent_before) in &outcome.reactions {
                prop_assert!(
                    acknowledged > sent_before,
                    "{}: reacts at {acknowledged}, when what it sent before its last reduction was \
                     up to {sent_before}",
                    entry.name,
                );
            }
            let reactions = outcome.reactions.len() as u64;
            prop_assert!(
                reactions <= outcome.marks + outcome.losses,
                "{}: {outcome:?}",
                entry.name
            );
            prop_assert!(loss > 0.0 || reactions <= outcome.cwr + 1, "{}: {outcome:?}", entry.name);
            prop_assert!(
                outcome.marks == 0 || reactions > 0 || outcome.losses > 0,
                "{}: {outcome:?}",
                entry.name
            );
        }
    }
}
