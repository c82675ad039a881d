//! The sender with the parameters of Linux, in dialogues whose answers the kernel gives.
//!
//! Stimuli and answers are those of the kernel's own packetdrill tests, named at each test:
//! `tools/testing/selftests/net/packetdrill` of Linux 6.18 and `gtests/net/tcp` of
//! google/packetdrill. A segment is a thousand bytes there and has a number here.

use super::*;
use crate::congestion::ControlContext;
use crate::endpoint::parameters::Preset;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
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
/// ssthresh (zero if unset) if the script looks at them.
type Step = (f64, Event, &'static [u64], Option<(u64, u64)>);

/// A connection of Linux's CUBIC after a handshake of `rtt` milliseconds, ten segments of window.
fn connection(rtt: u64) -> Dialogue {
    let mut parameters = Preset::Linux.parameters();
    parameters.connection.mss = Bytes(MSS);
    parameters.timer.timer_tick = Span::ZERO; // the scripts' times have no ticks
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
            selective_acks: true,
            counts_marks: true,
            keeps_calls: false,
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
        ace: 0,
        options: None,
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
            let threshold = d.sender.control().state().ssthresh;
            let threshold = threshold.map_or(0, |bytes| bytes.0 / MSS);
            assert_eq!((d.cwnd(), threshold), (*cwnd, *ssthresh), "step {n}");
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
    let single: [&[u64]; 14] = [
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
    for (n, (&wait, &sent)) in (9..).zip(waits.iter().zip(&single)) {
        steps.push((wait, Answer(n, &[]), sent, Some((7, 7))));
    }
    steps.push((98.0, Answer(23, &[]), &[29, 30], Some((8, 7))));
    play(100, &steps);
}

/// `fr-4pkt-sack` of google/packetdrill: three of four segments arrive behind a hole.
#[test]
fn three_arrivals_behind_a_hole_retransmit_at_once() {
    play(
        100,
        &[
            (0.0, Data(4), &[0, 1, 2, 3], None),
            (100.0, Answer(0, &[(1, 2)]), &[], None),
            (0.0, Answer(0, &[(1, 3)]), &[], None),
            (0.0, Answer(0, &[(1, 4)]), &[0], None),
            (100.0, Answer(4, &[]), &[], None),
        ],
    );
}

/// `limited-transmit-sack` of google/packetdrill: two duplicate ACKs send new data, and prove to be
/// reordering. The window has grown by what the ACK delivered.
#[test]
fn reordering_sends_new_data_and_reduces_nothing() {
    play(
        100,
        &[
            (0.0, Data(15), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (110.0, Answer(0, &[(1, 2)]), &[10], None),
            (10.0, Answer(0, &[(1, 3)]), &[11], None),
            (10.0, Answer(3, &[]), &[12, 13], None),
            (20.0, Answer(5, &[]), &[14], None),
            (20.0, Answer(7, &[]), &[], None),
            (20.0, Answer(9, &[]), &[], None),
            (20.0, Answer(11, &[]), &[], None),
            (20.0, Answer(13, &[]), &[], None),
            (20.0, Answer(15, &[]), &[], None),
        ],
    );
}

/// `slow-start-ack-per-1pkt` of google/packetdrill: each ACK sends two segments.
#[test]
fn slow_start_doubles_the_window_in_a_round_trip() {
    play(
        100,
        &[
            (
                0.0,
                Data(30),
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                Some((10, 0)),
            ),
            (105.0, Answer(1, &[]), &[10, 11], None),
            (0.0, Answer(2, &[]), &[12, 13], None),
            (5.0, Answer(3, &[]), &[14, 15], None),
            (0.0, Answer(4, &[]), &[16, 17], None),
            (5.0, Answer(5, &[]), &[18, 19], None),
            (0.0, Answer(6, &[]), &[20, 21], None),
            (5.0, Answer(7, &[]), &[22, 23], None),
            (0.0, Answer(8, &[]), &[24, 25], None),
            (5.0, Answer(9, &[]), &[26, 27], None),
            (0.0, Answer(10, &[]), &[28, 29], Some((20, 0))),
        ],
    );
}

/// `slow-start-app-limited` of google/packetdrill: exactly the window was used.
#[test]
fn a_window_that_was_used_up_grows_without_more_data() {
    play(
        100,
        &[
            (
                0.0,
                Data(10),
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                Some((10, 0)),
            ),
            (105.0, Answer(2, &[]), &[], Some((12, 0))),
            (5.0, Answer(4, &[]), &[], Some((14, 0))),
            (5.0, Answer(6, &[]), &[], Some((16, 0))),
            (5.0, Answer(8, &[]), &[], Some((18, 0))),
            (5.0, Answer(10, &[]), &[], Some((20, 0))),
        ],
    );
}

/// `slow-start-ack-per-2pkt-send-5pkt` of google/packetdrill: half a window does not open it.
#[test]
fn a_window_that_was_half_used_stays() {
    play(
        1,
        &[
            (0.0, Data(5), &[0, 1, 2, 3, 4], Some((10, 0))),
            (1.0, Answer(2, &[]), &[], Some((10, 0))),
            (0.0, Answer(4, &[]), &[], Some((10, 0))),
            (0.0, Answer(5, &[]), &[], Some((10, 0))),
        ],
    );
}

/// `slow-start-after-idle` of google/packetdrill: two idle seconds leave the initial window.
#[test]
fn after_idling_the_window_is_the_initial_one() {
    const SECOND: [u64; 16] = [
        10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ];
    const THIRD: [u64; 10] = [26, 27, 28, 29, 30, 31, 32, 33, 34, 35];
    play(
        100,
        &[
            (
                0.0,
                Data(26),
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                Some((10, 0)),
            ),
            (100.0, Answer(10, &[]), &SECOND, Some((20, 0))),
            (100.0, Answer(26, &[]), &[], Some((36, 0))),
            (2000.0, Data(20), &THIRD, None),
            (0.0, Nothing, &[], Some((10, 0))),
        ],
    );
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

/// A retransmission that is still in flight when a second recovery begins: its ACK undoes nothing
/// (`tcp_retrans_stamp_cleanup`). Found by the twin, in `reno-random-loss-10s`.
#[test]
fn the_ack_of_a_retransmission_from_the_recovery_before_undoes_nothing() {
    play(
        100,
        &[
            (0.0, Data(40), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (110.0, Answer(0, &[(1, 2)]), &[10], None),
            (2.0, Answer(0, &[(1, 3)]), &[11], None),
            (2.0, Answer(0, &[(1, 4)]), &[0], Some((9, 7))),
            (2.0, Answer(0, &[(1, 9)]), &[12, 13, 14], None),
            (2.0, Answer(0, &[(10, 11), (1, 9)]), &[9, 15], None),
            (96.0, Answer(9, &[(10, 12)]), &[16, 17], None),
            (2.0, Answer(9, &[(13, 15), (10, 12)]), &[12, 18, 19], None),
            (2.0, Answer(12, &[(13, 15)]), &[20], Some((7, 4))),
            (100.0, Answer(18, &[]), &[21], Some((4, 4))),
        ],
    );
}

/// A segment that fits the window and does not fill a burst waits for an ACK that is due, or for a
/// write. Time alone does not let it leave, but after a millisecond both do
/// (`tcp_tso_should_defer`; the times are ours).
#[test]
fn a_single_segment_waits_for_an_ack_that_is_due() {
    play(
        50,
        &[
            (0.0, Data(20), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (50.0, Answer(0, &[(1, 2)]), &[10], None),
            (0.5, Answer(0, &[(1, 3)]), &[], None),
            (2.0, Nothing, &[], None),
            (0.0, Data(1), &[11], None),
        ],
    );
}

/// Long before an ACK is due, a single segment leaves at once.
#[test]
fn a_single_segment_does_not_wait_long_for_an_ack() {
    play(
        50,
        &[
            (0.0, Data(20), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None),
            (20.0, Answer(0, &[(1, 2)]), &[10], None),
            (0.5, Answer(0, &[(1, 3)]), &[11], None),
        ],
    );
}

/// Segments that wait for room in the receive window do not count as use of the congestion window,
/// which then grows to twice what is in flight and no further.
#[test]
fn a_wait_for_the_receive_window_does_not_open_the_congestion_window() {
    const WINDOW: u64 = 6;
    let mut d = connection(50);
    d.sender.connection.data.receive_window = WINDOW * MSS;
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send().len() as u64, WINDOW);
    for round in 0..4 {
        d.now = d.now + Span::from_millis(48);
        for segment in 1..=WINDOW {
            d.now = d.now + Span::from_seconds(0.3e-3);
            d.sack(round * WINDOW + segment, &[]);
        }
        d.now = d.now + Span::from_millis(2);
        d.send();
    }
    assert_eq!(d.cwnd(), 2 * WINDOW);
}

/// `tcp_cwnd_validate` runs for new data alone: a probe that repeats the last segment does not
/// replace the record of a window that was full, which therefore goes on growing.
#[test]
fn a_probe_of_old_data_says_nothing_of_the_use_of_the_window() {
    let mut d = connection(100);
    d.sender.write(Write::Bytes(Bytes(10 * MSS)));
    assert_eq!(d.send().len(), 10);
    d.wait(100);
    d.sack(9, &[]);
    assert_eq!(d.cwnd(), 19);
    d.sender.write(Write::Bytes(Bytes(3 * MSS)));
    assert_eq!(d.send().len(), 3);
    d.wait(100);
    d.sack(12, &[]);
    assert_eq!(d.cwnd(), 22);
    d.timeout();
    assert_eq!(d.segments.last().unwrap().sequence, 12, "the probe");
    d.wait(100);
    d.sack(13, &[]);
    assert_eq!(d.cwnd(), 23);
}

#[test]
fn timers_expire_at_ticks() {
    let mut d = connection(51);
    let mut parameters = *d.sender.parameters();
    parameters.timer.timer_tick = Span::from_millis(4);
    d.sender.connection.parameters = Arc::new(parameters);
    d.sender.write(Write::Bytes(Bytes(4 * MSS)));
    assert_eq!(d.send(), [0, 1, 2, 3]);
    let due = d.sender.poll_timeout();
    d.now = due;
    d.sender.handle_timeout(due);
    let tick = d.sender.poll_timeout();
    assert_eq!(tick.as_nanos() % 4_000_000, 0);
    assert!(
        due < tick && tick.since(due) < Span::from_millis(4),
        "{due:?} {tick:?}"
    );
    d.now = tick;
    assert_eq!(d.timeout(), [3], "the tail loss probe");
}

/// A timeout is rounded up to ticks, counted from the tick before, and one tick is added
/// (`usecs_to_jiffies`, `calc_index`).
#[test]
fn timeouts_are_kept_in_ticks() {
    let mut d = connection(51);
    let mut parameters = *d.sender.parameters();
    let tick_ns = 4_000_000;
    parameters.timer.timer_tick = Span::from_nanos(tick_ns);
    parameters.timer.timeouts_in_ticks = true;
    d.sender.connection.parameters = Arc::new(parameters);
    d.now = d.now + Span::from_micros(500);
    d.sender.write(Write::Bytes(Bytes(4 * MSS)));
    assert_eq!(d.send(), [0, 1, 2, 3]);
    let due = d.sender.poll_timeout();
    let ticks = d.now.as_nanos() / tick_ns + due.since(d.now).as_nanos().div_ceil(tick_ns) + 1;
    d.now = due;
    d.sender.handle_timeout(due);
    let tick = d.sender.poll_timeout();
    assert_eq!(tick.as_nanos(), ticks * tick_ns);
    d.now = tick;
    assert_eq!(d.timeout(), [3], "the tail loss probe");
}
