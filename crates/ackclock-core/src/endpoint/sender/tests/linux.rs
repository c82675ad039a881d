//! The sender with the parameters of Linux, in dialogues whose answers the kernel gives.
//!
//! Stimuli and answers are those of the kernel's own packetdrill tests, named at each test:
//! `tools/testing/selftests/net/packetdrill` of Linux 6.18 and `gtests/net/tcp` of
//! google/packetdrill. A segment is a thousand bytes there and has a number here.

use super::*;
use crate::congestion::ControlContext;
use crate::endpoint::parameters::Preset;
use crate::registry::{StreamScope, choose};
use crate::scenario::files::NoFiles;
use serde_json::json;

/// An event at the sender.
enum Event {
    /// The application writes so many segments.
    Write(u64),
    /// An ACK of everything before a segment, with SACK blocks.
    Ack(u64, &'static [(u64, u64)]),
    /// The timer expires.
    Timer,
    /// Nothing.
    Nothing,
}
use Event::{Ack as Answer, Nothing, Timer as Expiry, Write as Data};

/// After so many milliseconds: an event, what the sender then sends, and its congestion window and
/// ssthresh if the script looks at them.
type Step = (f64, Event, &'static [u64], Option<(u64, u64)>);

/// A connection of Linux's CUBIC after a handshake of `rtt` milliseconds, ten segments of window.
fn connection(rtt: u64) -> Dialogue {
    let parameters = TcpParameters {
        mss: Bytes(MSS),
        ..Preset::Linux.parameters()
    };
    let streams = Streams::new(1, 0);
    let tree = json!({ "kind": "cubic", "arithmetic": "linux" });
    let control = choose::<crate::congestion::ControlKind>(&tree, &NoFiles)
        .unwrap()
        .build(ControlContext {
            place: StreamScope {
                streams: &streams,
                name: "control",
            },
            mss: Bytes(MSS),
            initial_window: Bytes(10 * MSS),
            initial_ssthresh: None,
            ssthresh_in_whole_segments: false,
            paced: false,
        });
    let mut sender = Sender::new(Arc::new(parameters), control, streams.stream("jitter"));
    sender.open(Time::ZERO);
    let mut dialogue = Dialogue {
        sender,
        log: Arc::default(),
        now: Time::ZERO,
        segments: Vec::new(),
    };
    dialogue.send();
    dialogue.wait(rtt);
    let answer = Acknowledgement {
        kind: AcknowledgementKind::SynAck,
        cumulative: 0,
        echo: Time::NEVER,
        sacks: None,
        ecn_echo: false,
    };
    dialogue
        .sender
        .handle_acknowledgement(dialogue.now, &answer);
    dialogue
}

fn play(rtt: u64, steps: &[Step]) {
    let mut d = connection(rtt);
    for (n, (after, event, expected, window)) in steps.iter().enumerate() {
        d.now = d.now + Span::from_seconds(after * 1e-3);
        let sent = match event {
            Data(segments) => {
                d.sender.write(Write::Bytes(Bytes(segments * MSS)));
                d.send()
            }
            Answer(cumulative, blocks) => d.sack(*cumulative, blocks),
            Expiry => {
                let due = d.sender.poll_timeout();
                let early = d.now.since(due).as_seconds().abs();
                assert!(early < 3e-3, "step {n}: due at {due:?}, not at {:?}", d.now);
                d.now = due;
                d.timeout()
            }
            Nothing => d.send(),
        };
        assert_eq!(sent, *expected, "step {n}");
        if let Some((cwnd, ssthresh)) = window {
            let threshold = d
                .sender
                .control()
                .state()
                .ssthresh
                .map(|bytes| bytes.0 / MSS);
            assert_eq!((d.cwnd(), threshold), (*cwnd, Some(*ssthresh)), "step {n}");
        }
    }
}

/// `tcp_fast_recovery_prr-ss-10pkt-lost-1`: the data in flight equals ssthresh, so each arrival
/// sends one segment.
#[test]
fn each_arrival_sends_one_segment() {
    play(
        100,
        &[
            (0.0, Data(10), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (110.0, Answer(0, &[(1, 2)]), &[], None),
            (10.0, Answer(0, &[(1, 3)]), &[], None),
            (10.0, Answer(0, &[(1, 4)]), &[0], None),
            (10.0, Nothing, &[], Some((7, 7))),
            (10.0, Data(7), &[], None),
            (10.0, Answer(0, &[(1, 5)]), &[10], None),
            (10.0, Answer(0, &[(1, 6)]), &[11], None),
            (10.0, Answer(0, &[(1, 7)]), &[12], None),
            (10.0, Answer(0, &[(1, 8)]), &[13], None),
            (10.0, Answer(0, &[(1, 9)]), &[14], None),
            (10.0, Answer(0, &[(1, 10)]), &[15], None),
            (20.0, Answer(10, &[]), &[16], Some((7, 7))),
        ],
    );
}

/// `tcp_fast_recovery_prr-ss-30pkt-lost-1_4-11_16`: two bursts are lost; proportional reduction,
/// packet conservation and slow start follow each other.
#[test]
fn two_lost_bursts_are_repaired_in_proportion() {
    play(
        10,
        &[
            (0.0, Data(20), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (10.0, Answer(0, &[(4, 5)]), &[10], None),
            (2.0, Answer(0, &[(4, 6)]), &[11], None),
            (2.0, Answer(0, &[(4, 7)]), &[0], None),
            (2.0, Answer(0, &[(4, 8)]), &[1], None),
            (2.0, Answer(0, &[(4, 9)]), &[2], None),
            (2.0, Answer(0, &[(4, 10)]), &[3], None),
            (2.0, Answer(0, &[(4, 11)]), &[12], None),
            (2.0, Answer(0, &[(4, 12)]), &[13], None),
            (10.0, Answer(1, &[(4, 12)]), &[14, 15], None),
            (2.0, Answer(1, &[(2, 12)]), &[1, 16], None),
            (2.0, Answer(1, &[(2, 13)]), &[17], None),
            (2.0, Answer(1, &[(2, 14)]), &[18], None),
        ],
    );
}

/// `tcp_fast_recovery_prr-ss-30pkt-lost1_4`: after recovery ssthresh segments leave at once.
#[test]
fn a_recovery_ends_with_a_window_of_ssthresh() {
    play(
        10,
        &[
            (0.0, Data(10), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (10.0, Answer(0, &[(4, 5)]), &[], None),
            (2.0, Answer(0, &[(4, 6)]), &[], None),
            (0.0, Answer(0, &[(4, 7)]), &[0], None),
            (0.0, Answer(0, &[(4, 8)]), &[1], None),
            (0.0, Answer(0, &[(4, 9)]), &[2], None),
            (0.0, Answer(0, &[(4, 10)]), &[3], None),
            (10.0, Answer(1, &[(4, 10)]), &[], None),
            (0.0, Answer(2, &[(4, 10)]), &[], None),
            (0.0, Answer(3, &[(4, 10)]), &[], None),
            (0.0, Answer(10, &[]), &[], None),
            (10.0, Data(10), &[10, 11, 12, 13, 14, 15, 16], None),
        ],
    );
}

/// `tcp_fast_recovery_prr-ss-ack-below-snd_una-cubic`: the SACK blocks of a reordered ACK count.
#[test]
fn the_blocks_of_a_late_ack_count() {
    play(
        10,
        &[
            (0.0, Data(10), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (10.0, Answer(0, &[(1, 2)]), &[], None),
            (0.0, Answer(0, &[(1, 3)]), &[], None),
            (0.0, Answer(0, &[(1, 3), (8, 9)]), &[0], None),
            (12.0, Answer(4, &[(8, 9)]), &[4, 5, 6], None),
            (0.0, Data(10), &[], None),
            (2.0, Answer(3, &[(5, 7)]), &[7, 10], None),
        ],
    );
}

/// `cubic-rto-ss-ca-cwnd-bump` of google/packetdrill: a probe at the time of the timeout, a timeout
/// later, slow start to ssthresh, then CUBIC with one segment per twenty delivered.
#[test]
fn a_segment_lost_twice_waits_for_probe_and_timeout() {
    let mut steps: Vec<Step> = vec![
        (0.0, Data(1), &[0], None),
        (100.0, Answer(1, &[]), &[], None),
        (0.0, Data(1), &[1], None),
        (300.0, Expiry, &[1], None),
        (300.0, Expiry, &[1], None),
        (100.0, Answer(2, &[]), &[], Some((2, 7))),
        (0.0, Data(200), &[2, 3], None),
        (100.0, Answer(3, &[]), &[4, 5], Some((3, 7))),
        (2.0, Answer(4, &[]), &[6, 7], Some((4, 7))),
        (98.0, Answer(5, &[]), &[8, 9], Some((5, 7))),
        (2.0, Answer(6, &[]), &[10, 11], Some((6, 7))),
        (2.0, Answer(7, &[]), &[12, 13], Some((7, 7))),
        (2.0, Answer(8, &[]), &[14], None),
    ];
    let one: [&[u64]; 14] = [
        &[15],
        &[16],
        &[17],
        &[18],
        &[19],
        &[20],
        &[21],
        &[22],
        &[23],
        &[24],
        &[25],
        &[26],
        &[27],
        &[28],
    ];
    let waits = [
        98.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 98.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0,
    ];
    for (n, (&wait, &sent)) in (9..).zip(waits.iter().zip(&one)) {
        steps.push((wait, Answer(n, &[]), sent, Some((7, 7))));
    }
    steps.push((98.0, Answer(23, &[]), &[29, 30], Some((8, 7))));
    play(100, &steps);
}

/// Part of a window is lost at its end. Two round trips and 2 ms after the last ACK a probe leaves;
/// its SACK shows the other two to be lost, and the window is reduced once. Derived from RFC 8985
/// with the timers of Linux: slow start has opened the window to 17, and β leaves 11.
#[test]
fn a_lost_tail_is_repaired_without_a_timeout() {
    play(
        100,
        &[
            (0.0, Data(10), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (100.0, Answer(7, &[]), &[], None),
            (202.0, Expiry, &[9], None),
            (100.0, Answer(7, &[(9, 10)]), &[7], Some((1, 11))),
            (100.0, Answer(8, &[(9, 10)]), &[8], None),
            (100.0, Answer(10, &[]), &[], Some((11, 11))),
        ],
    );
}

/// One segment arrives behind a hole and nothing follows: it counts as lost a quarter of a round
/// trip and 2 ms later (RFC 8985 section 6.3, with the timer of Linux).
#[test]
fn one_arrival_behind_a_hole_is_enough() {
    play(
        40,
        &[
            (0.0, Data(2), &[0, 1], None),
            (40.0, Answer(0, &[(1, 2)]), &[], None),
            (12.0, Expiry, &[0], None),
            (40.0, Answer(2, &[]), &[], None),
        ],
    );
}

/// A retransmission that is lost again is sent again a round trip later, without a timeout.
#[test]
fn a_lost_retransmission_is_sent_again() {
    play(
        100,
        &[
            (0.0, Data(30), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (100.0, Answer(0, &[(1, 4)]), &[0], None),
            (10.0, Answer(0, &[(1, 10)]), &[10, 11, 12, 13, 14, 15], None),
            // In flight are 5 of 7; 10 have arrived and 7 were sent: 10 - 7 = 3, but 2 fit.
            (100.0, Answer(0, &[(1, 11)]), &[0, 16], None),
            (
                100.0,
                Answer(16, &[]),
                &[17, 18, 19, 20, 21, 22],
                Some((7, 7)),
            ),
        ],
    );
}
