//! Properties that hold for any input and any loss.

use super::*;
use crate::endpoint::Receiver;
use crate::endpoint::parameters::{
    AvoidMultipleFastRetransmits, Pacing, PartialAck, RecoveryWindow, RepeatedTimeout, SsthreshFrom,
};
use crate::packet::Ecn;
use ackclock_spec::quantity::{OptionalWindow, Segments};
use proptest::prelude::*;
use proptest::sample::select;

/// All recoveries.
const ALL: [LossRecovery; 6] = [
    LossRecovery::TimeoutOnly,
    LossRecovery::Tahoe,
    LossRecovery::Reno,
    LossRecovery::Newreno,
    LossRecovery::Sack,
    LossRecovery::Rack,
];

prop_compose! {
    fn any_parameters()(
        recovery in select(&ALL),
        recovery_window in prop_oneof![
            Just(RecoveryWindow::Ssthresh),
            Just(RecoveryWindow::Proportional),
            Just(RecoveryWindow::ProportionalToWindow),
        ],
        window_validation in prop_oneof![
            Just(WindowValidation::Off),
            Just(WindowValidation::HalfUsed),
            Just(WindowValidation::Full),
            Just(WindowValidation::RateLimitedIncrease),
        ],
        flags in any::<[bool; 8]>(),
        rtt_sampling in select(&RTT_SAMPLINGS),
        idle_restart in prop_oneof![
            Just(IdleRestart::Off),
            Just(IdleRestart::InitialWindow),
            Just(IdleRestart::Decay),
        ],
        byte_counting in prop_oneof![
            Just(ByteCounting::PerAck),
            Just(ByteCounting::AbcL2),
            Just(ByteCounting::All),
            Just(ByteCounting::Delivered),
        ],
        avoid_multiple_fast_retransmits in prop_oneof![
            Just(AvoidMultipleFastRetransmits::Always),
            Just(AvoidMultipleFastRetransmits::AfterTimeout),
            Just(AvoidMultipleFastRetransmits::Never),
        ],
        pacing in prop_oneof![Just(Pacing::Always), Just(Pacing::Control), Just(Pacing::Off)],
        threshold in 0u32..5,
        jitter in prop_oneof![3 => Just(0u64), 1 => 1u64..3000],
        burst in 0u32..4,
        receive_window in prop_oneof![
            Just(OptionalWindow::Unlimited),
            (0u64..40).prop_map(OptionalWindow::Segments),
        ],
    ) -> TcpParameters {
        {
            let mut parameters = plain(recovery);
            parameters.recovery.avoid_multiple_fast_retransmits = avoid_multiple_fast_retransmits;
            parameters.recovery.limited_transmit = flags[1];
            parameters.recovery.rescue_retransmission = flags[2];
            parameters.recovery.partial_window_deflation = flags[3];
            parameters.recovery.recovery_window = match recovery.has_scoreboard() {
                true => recovery_window,
                false => RecoveryWindow::Ssthresh,
            };
            let sack = flags[3] || recovery != LossRecovery::Rack;
            parameters.recovery.sack = sack;
            parameters.recovery.tail_loss_probe =
                recovery == LossRecovery::Rack && flags[0] && sack;
            parameters.recovery.forward_rto = recovery == LossRecovery::Rack && flags[1];
            parameters.recovery.undo = recovery == LossRecovery::Rack && flags[2];
            parameters.receiver.duplicate_sack = flags[4];
            parameters.ecn.enabled = flags[5];
            parameters.recovery.after_timeout = if flags[6] {
                AfterTimeout::GoBackN
            } else {
                AfterTimeout::Scoreboard
            };
            parameters.recovery.repeated_timeout = if flags[7] {
                RepeatedTimeout::Keep
            } else {
                RepeatedTimeout::Reduce
            };
            parameters.growth.ssthresh_from = if flags[0] {
                SsthreshFrom::FlightSize
            } else {
                SsthreshFrom::Window
            };
            parameters.recovery.partial_ack = if flags[1] {
                PartialAck::Impatient
            } else {
                PartialAck::SlowButSteady
            };
            parameters.recovery.duplicate_threshold = Segments(threshold);
            parameters.sending.send_jitter = Span::from_micros(jitter);
            parameters.sending.max_burst = Segments(burst);
            parameters.timer.rtt_sampling = rtt_sampling;
            parameters.growth.idle_restart = idle_restart;
            parameters.growth.byte_counting = byte_counting;
            parameters.sending.pacing = pacing;
            parameters.receiver.receive_window = receive_window;
            parameters.growth.window_validation = window_validation;
            parameters
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// An ACK: its distance from the first unacknowledged segment, SACK blocks as offsets from
    /// there, and whether it carries an echo.
    Ack(u64, Vec<(u64, u64)>, bool),
    /// An ACK with arbitrary numbers.
    Garbage(u64, Vec<(u64, u64)>),
    Wait(u64),
    Timer,
    Write(u64),
    Close,
}

fn steps() -> impl Strategy<Value = Step> {
    let blocks = || proptest::collection::vec((0u64..40, 0u64..50), 0..4);
    prop_oneof![
        6 => (0u64..6, blocks(), any::<bool>()).prop_map(|(n, b, e)| Step::Ack(n, b, e)),
        1 => (any::<u64>(), proptest::collection::vec(any::<(u64, u64)>(), 0..4))
            .prop_map(|(n, b)| Step::Garbage(n, b)),
        3 => (0u64..2_000_000).prop_map(Step::Wait),
        2 => Just(Step::Timer),
        2 => (0u64..30_000).prop_map(Step::Write),
        1 => Just(Step::Close),
    ]
}

/// Sends all segments that may leave. Checks that sequence numbers have no gap and that a timeout
/// is set.
fn send_and_check(d: &mut Dialogue, next: &mut u64) {
    let sent = d.send();
    for sequence in sent {
        assert!(sequence <= *next, "{sequence} leaves a gap after {next}");
        *next = (*next).max(sequence + 1);
    }
    assert_eq!(*next, d.sender.connection.scoreboard.highest());
    assert!(d.cwnd() >= 1);
    assert!(
        d.sender.poll_timeout() > d.now,
        "a wake-up call in the past"
    );
    let waiting = d.sender.connection.scoreboard.first() < d.sender.connection.scoreboard.highest();
    assert!(
        !waiting || !d.sender.poll_timeout().is_never(),
        "nothing would ever happen"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_upsets_the_sender(
        parameters in any_parameters(),
        rated in any::<bool>(),
        sampled in any::<bool>(),
        script in proptest::collection::vec(steps(), 1..80),
    ) {
        let rate = rated.then(|| BitRate::from_mbit_per_s(2.0));
        let mut d = Dialogue::with(parameters, 5, rate, sampled);
        let mut next = 0;
        d.sender.write(Write::Bytes(Bytes(20 * MSS)));
        send_and_check(&mut d, &mut next);
        for step in script {
            let first = d.sender.connection.scoreboard.first();
            match step {
                Step::Ack(beyond, blocks, echo) => {
                    let blocks: Vec<_> = blocks
                        .iter()
                        .map(|(a, b)| (first + a, first + b))
                        .collect();
                    let to = (first + beyond).min(d.sender.connection.scoreboard.highest());
                    let sacks = sack_blocks(&blocks);
                    let ack = Acknowledgement {
                        kind: AcknowledgementKind::Ack,
                        cumulative: to,
                        echo: d.now,
                        sacks: (!sacks.is_empty()).then_some(&sacks),
                        ace: u8::from(echo),
                        options: None,
                    };
                    d.sender.handle_acknowledgement(d.now, &ack);
                }
                Step::Garbage(cumulative, blocks) => {
                    let sacks = sack_blocks(&blocks);
                    let ack = Acknowledgement {
                        kind: AcknowledgementKind::Ack,
                        cumulative,
                        echo: Time::from_nanos(cumulative),
                        sacks: (!sacks.is_empty()).then_some(&sacks),
                        ace: 0,
                        options: None,
                    };
                    d.sender.handle_acknowledgement(d.now, &ack);
                }
                Step::Wait(micros) => {
                    d.now = d.now + Span::from_micros(micros);
                    d.sender.handle_timeout(d.now);
                }
                Step::Timer => {
                    let at = d.sender.poll_timeout();
                    if !at.is_never() {
                        d.now = d.now.max(at);
                        d.sender.handle_timeout(d.now);
                    }
                }
                Step::Write(bytes) => d.sender.write(Write::Bytes(Bytes(bytes))),
                Step::Close => d.sender.close(),
            }
            d.sender.connection.scoreboard.check();
            send_and_check(&mut d, &mut next);
            let log = d.log.lock().unwrap();
            let delivered = log.acks.last().map_or(0, |ack| ack.delivered.0);
            let once = counts_once(d.sender.parameters());
            prop_assert!(!once || delivered <= next * MSS, "more is delivered than was sent");
            prop_assert!(log.acks.is_sorted_by_key(|ack| ack.delivered));
            let least =
                |ack: &Ack| ack.rtt.is_none_or(|rtt| ack.min_rtt.is_some_and(|least| least <= rtt));
            prop_assert!(
                log.acks.last().is_none_or(least),
                "the minimum exceeds a round-trip time"
            );
        }
    }

    #[test]
    fn a_transfer_arrives_whole_whatever_is_lost(
        parameters in any_parameters(),
        bytes in 1u64..60_000,
        loss in 0.0..0.6f64,
        seed in any::<u64>(),
        handshake in any::<bool>(),
    ) {
        let mut parameters = parameters;
parameters.connection.handshake = handshake;
parameters.receiver.receive_window = OptionalWindow::Unlimited;
        let delivered = closed_loop(parameters, bytes, loss, seed, Span::from_millis(10));
        prop_assert_eq!(delivered, bytes);
    }
}

/// True if each byte counts once as delivered. RACK without SACK counts what a forgotten duplicate
/// ACK counted again, as Linux does.
fn counts_once(parameters: &TcpParameters) -> bool {
    parameters.recovery.sack || parameters.recovery.algorithm != LossRecovery::Rack
}

/// Connects sender and receiver with `delay` each way, in order, and random losses of data and
/// ACKs. Returns the bytes delivered.
fn closed_loop(parameters: TcpParameters, bytes: u64, loss: f64, seed: u64, delay: Span) -> u64 {
    let mut draws = Streams::new(seed, 0).stream("loss");
    let mut d = Dialogue::with(parameters, 4, None, false);
    let mut receiver = Receiver::new(&parameters);
    let (mut forward, mut back) = (
        std::collections::VecDeque::new(),
        std::collections::VecDeque::new(),
    );
    d.sender.write(Write::Bytes(Bytes(bytes)));
    d.sender.close();
    for _ in 0..200_000 {
        let from = d.segments.len();
        d.send();
        for segment in &d.segments[from..] {
            if draws.uniform() >= loss {
                forward.push_back((d.now + delay, *segment));
            }
        }
        while let Some(ack) = receiver.poll_transmit(d.now) {
            if draws.uniform() >= loss {
                // The driver keeps the blocks while the ACK is in transit.
                let sacks = ack.sacks.copied();
                back.push_back((d.now + delay, ack.without_options(), sacks));
            }
        }
        if d.sender.is_finished() {
            break;
        }
        let arrival = forward.front().map_or(Time::NEVER, |(at, _)| *at);
        let answer = back.front().map_or(Time::NEVER, |(at, ..)| *at);
        let timers = d.sender.poll_timeout().min(receiver.poll_timeout());
        d.now = arrival.min(answer).min(timers);
        assert!(!d.now.is_never(), "stuck at {:?}", d.sender);
        if arrival == d.now {
            let (_, segment) = forward.pop_front().unwrap();
            receiver.handle_segment(d.now, &segment, Ecn::NotCapable);
        } else if answer == d.now {
            let (_, ack, sacks) = back.pop_front().unwrap();
            let sacks = sacks.as_ref();
            d.sender
                .handle_acknowledgement(d.now, &Acknowledgement { sacks, ..ack });
        } else {
            d.sender.handle_timeout(d.now);
            receiver.handle_timeout(d.now);
        }
    }
    assert!(d.sender.is_finished(), "no end in sight");
    let log = d.log.lock().unwrap();
    let delivered = log.acks.last().unwrap().delivered.0;
    if counts_once(d.sender.parameters()) {
        assert_eq!(delivered, bytes, "delivered by the sender's count");
    } else {
        assert!(delivered >= bytes, "delivered by the sender's count");
    }
    receiver.statistics().delivered.0
}

#[test]
fn segments_of_one_byte_over_no_distance_arrive() {
    for recovery in ALL {
        for rtt_sampling in RTT_SAMPLINGS {
            let mut parameters = plain(recovery);
            parameters.connection.mss = Bytes(1);
            parameters.sending.pacing = Pacing::Always;
            parameters.timer.rtt_sampling = rtt_sampling;
            assert_eq!(closed_loop(parameters, 1000, 0.1, 7, Span::ZERO), 1000);
        }
    }
}

/// Checks that an ACK without blocks, which a separate copy of the code handles, has the same
/// effect as one with an empty list.
#[test]
fn no_blocks_and_an_empty_list_of_them_are_the_same() {
    for recovery in ALL {
        for rtt_sampling in RTT_SAMPLINGS {
            let mut parameters = plain(recovery);
            parameters.timer.rtt_sampling = rtt_sampling;
            let mut dialogues = [
                Dialogue::bulk(parameters, 20),
                Dialogue::bulk(parameters, 20),
            ];
            // In order, a loss and its recovery, a jump, and a timeout after the eleventh.
            for (n, cumulative) in [1, 2, 4, 4, 4, 4, 4, 6, 9, 20, 21, 22, 23, 30]
                .into_iter()
                .enumerate()
            {
                for (dialogue, sacks) in dialogues
                    .iter_mut()
                    .zip([None, Some(&SackBlocks::default())])
                {
                    let ack = Acknowledgement {
                        kind: AcknowledgementKind::Ack,
                        cumulative,
                        echo: dialogue.now,
                        sacks,
                        ace: 0,
                        options: None,
                    };
                    dialogue.wait(7);
                    dialogue.sender.handle_acknowledgement(dialogue.now, &ack);
                    dialogue.send();
                    if n == 10 {
                        dialogue.now = dialogue.now.max(dialogue.sender.poll_timeout());
                        dialogue.sender.handle_timeout(dialogue.now);
                        dialogue.send();
                    }
                }
                let [short, long] = &dialogues;
                assert_eq!(short.segments, long.segments);
                assert_eq!(format!("{:?}", short.sender), format!("{:?}", long.sender));
            }
            assert!(dialogues[0].sender.statistics().timeouts == 1);
        }
    }
}
