//! Marks, as each kind of feedback tells a sender of them.

use super::*;
use crate::endpoint::Receiver;
use crate::endpoint::parameters::EcnFeedback;
use crate::packet::Ecn;
use ackclock_spec::quantity::Segments;
use std::collections::VecDeque;

/// Totals of one connection, in segments.
#[derive(Debug, PartialEq)]
struct Totals {
    delivered: u64,
    marks: u64,
    /// Marks that the sender heard of.
    heard: u64,
    acks: u64,
}

/// Sends 2000 segments over a path of 10 ms that marks the segments whose number in a cycle of 16
/// is below `marked`, by the `feedback` and with an ACK for `every` segments.
fn totals(feedback: EcnFeedback, (every, marked): (u32, u64)) -> Totals {
    let mut parameters = Preset::RfcModern.parameters();
    parameters.connection.mss = Bytes(MSS);
    parameters.connection.handshake = false;
    parameters.ecn.enabled = true;
    parameters.ecn.feedback = feedback;
    parameters.receiver.delayed_ack.every = Segments(every);
    parameters.receiver.delayed_ack.timeout = Span::from_millis(1);
    let mut d = Dialogue::with(parameters, 40, None, false);
    let mut receiver = Receiver::new(&parameters);
    let (mut forward, mut back) = (VecDeque::new(), VecDeque::new());
    let delay = Span::from_millis(10);
    d.sender.write(Write::Bytes(Bytes(2_000 * MSS)));
    let mut totals = Totals {
        delivered: 0,
        marks: 0,
        heard: 0,
        acks: 0,
    };
    while d.sender.first_in_flight() < 2000 {
        while let Some(segment) = d.sender.poll_transmit(d.now) {
            forward.push_back((d.now + delay, segment));
        }
        while let Some(ack) = receiver.poll_transmit(d.now) {
            totals.acks += 1;
            let options = (ack.sacks.copied(), ack.options.copied());
            back.push_back((d.now + delay, ack.without_options(), options));
        }
        let arrival = forward.front().map_or(Time::NEVER, |(at, _)| *at);
        let answer = back.front().map_or(Time::NEVER, |(at, ..)| *at);
        let timers = d.sender.poll_timeout().min(receiver.poll_timeout());
        d.now = arrival.min(answer).min(timers);
        if arrival == d.now {
            let (_, segment) = forward.pop_front().unwrap();
            let is_marked = segment.sequence % 16 < marked;
            totals.marks += u64::from(is_marked);
            let ecn = if is_marked {
                Ecn::Marked
            } else {
                Ecn::CapableL4s
            };
            receiver.handle_segment(d.now, &segment, ecn);
        } else if answer == d.now {
            let (_, ack, (sacks, options)) = back.pop_front().unwrap();
            let (sacks, options) = (sacks.as_ref(), options.as_ref());
            d.sender.handle_acknowledgement(
                d.now,
                &Acknowledgement {
                    sacks,
                    options,
                    ..ack
                },
            );
        } else {
            d.sender.handle_timeout(d.now);
            receiver.handle_timeout(d.now);
        }
    }
    let log = d.log.lock().unwrap();
    totals.heard = log.acks.iter().map(|ack| ack.marked.0).sum::<u64>() / MSS;
    totals.delivered = receiver.statistics().delivered.0 / MSS;
    totals
}

/// With delayed ACKs, DCTCP's two states tell the marked share exactly, and so does accurate ECN.
/// The classic echo lasts until the sender has answered, so it cannot.
#[test]
fn the_marked_share_is_exact_with_the_feedback_made_for_it() {
    for marked in [1, 3, 8, 15] {
        for every in [1, 2, 4] {
            for feedback in [EcnFeedback::Dctcp, EcnFeedback::Accurate] {
                let totals = totals(feedback, (every, marked));
                assert_eq!(
                    totals.heard, totals.marks,
                    "{feedback:?} {every} {totals:?}"
                );
                assert_eq!(totals.delivered, 2000);
            }
        }
        let classic = totals(EcnFeedback::Classic, (2, marked));
        assert_ne!(classic.heard, classic.marks, "{classic:?}");
    }
}

#[test]
fn accurate_ecn_sets_no_cwr_and_reacts_once_per_window() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.ecn.enabled = true;
    parameters.ecn.feedback = EcnFeedback::Accurate;
    let mut d = Dialogue::bulk(parameters, 10);
    d.now = d.now + Span::from_millis(100);
    for (cumulative, ace) in [(1, 6), (2, 7), (3, 0), (4, 0)] {
        let ack = Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative,
            echo: Time::NEVER,
            sacks: None,
            ace,
            options: None,
        };
        d.sender.handle_acknowledgement(d.now, &ack);
        let marked = d.last_ack().marked.0 / MSS;
        assert_eq!(marked, u64::from(cumulative < 4), "{cumulative}");
    }
    d.send();
    assert_eq!(d.sender.statistics().ecn_reactions, 1);
    assert!(d.segments.iter().all(|segment| !segment.window_reduced));
    // An ACK without progress may be old: its counter is not read.
    let old = Acknowledgement {
        kind: AcknowledgementKind::Ack,
        cumulative: 4,
        echo: Time::NEVER,
        sacks: None,
        ace: 6,
        options: None,
    };
    d.sender.handle_acknowledgement(d.now, &old);
    assert_eq!(d.sender.statistics().ecn_reactions, 1);
}

/// `tcp_accecn_tsprogress`: an ACK that acknowledges nothing is read if its timestamp shows that it
/// is not old.
#[test]
fn an_ack_without_progress_is_read_if_it_echoes_a_later_timestamp() {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.ecn.enabled = true;
    parameters.ecn.feedback = EcnFeedback::Accurate;
    parameters.timer.rtt_sampling = RttSampling::Timestamps;
    let mut d = Dialogue::bulk(parameters, 10);
    let (first, later) = (Time::ZERO, Time::ZERO + Span::from_millis(1));
    d.wait(100);
    for (cumulative, echo, ace, heard) in [
        (1, first, 5, 0),
        (1, first, 6, 0), // may be old
        (1, later, 6, 1),
        (1, later, 7, 1),
        (2, later, 7, 2),
    ] {
        let ack = Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative,
            echo,
            sacks: None,
            ace,
            options: None,
        };
        d.sender.handle_acknowledgement(d.now, &ack);
        let log = d.log.lock().unwrap();
        let marked: u64 = log.acks.iter().map(|ack| ack.marked.0).sum();
        assert_eq!(marked / MSS, heard, "{cumulative} {ace}");
    }
}
