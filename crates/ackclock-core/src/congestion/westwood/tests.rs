use super::super::testing::{AckClock, MSS, context};
use super::super::{Ack, ControlKind, Event, RecoveryPhase};
use super::*;
use crate::estimator::trace::{Follower, TracedAck};
use crate::estimator::{EstimatorContext, EstimatorKind};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::Span;
use serde_json::{Value, json};

const RTT: Span = Span::from_millis(100);
const FAMILY: [&str; 5] = [
    "westwood_be",
    "westwood_re",
    "westwood_crb",
    "westwood_abse",
    "westwood_plus",
];

fn clock(tree: &Value, window: u64, ssthresh: Option<u64>) -> AckClock {
    AckClock::new(tree, RTT, window, ssthresh)
}

fn linux() -> Value {
    json!({
        "kind": "westwood_plus",
        "estimator": { "kind": "westwood_linux" },
        "cut": "at_recovery_end",
    })
}

/// Returns the window that a loss should leave, in segments: the estimated amount that the path
/// holds. The clock's path has no queue.
fn held(clock: &AckClock) -> f64 {
    clock.control.state().rate_estimate.unwrap().as_byte_per_s() * RTT.as_seconds() / MSS as f64
}

#[test]
fn the_family_is_registered_in_the_order_of_its_papers() {
    let names: Vec<&str> = ControlKind::ENTRIES
        .iter()
        .filter(|entry| entry.simulated)
        .map(|entry| entry.name)
        .collect();
    assert!(names.ends_with(&FAMILY));
}

#[test]
fn a_loss_without_a_queue_costs_nothing_but_what_the_estimate_lags() {
    for kind in FAMILY {
        let mut clock = clock(&json!({ "kind": kind }), 20, Some(20));
        (0..60).for_each(|_| clock.round());
        let (before, held) = (clock.cwnd(), held(&clock));
        clock.congestion(CongestionKind::Loss);
        assert!((clock.cwnd() - held.min(before)).abs() < 0.01, "{kind}");
        // The window grows by a segment per round trip; the slowest filter has a time constant of
        // eleven rounds.
        assert!(
            clock.cwnd() > before - 12.0,
            "{kind}: {} of {before}",
            clock.cwnd()
        );
        assert_eq!(
            clock.ssthresh().map(f64::floor),
            Some(held.floor()),
            "{kind}"
        );
    }
}

/// The window exceeds the capacity of the path: the excess queues and lengthens the round trip.
#[test]
fn with_a_queue_a_loss_leaves_what_the_path_holds() {
    for kind in FAMILY {
        let mut clock = clock(&json!({ "kind": kind }), 20, Some(20));
        (0..60).for_each(|_| clock.round());
        let pipe = clock.cwnd();
        for _ in 0..pipe as u32 {
            clock.rtt = Span::from_seconds(RTT.as_seconds() * clock.cwnd() / pipe);
            clock.round();
        }
        assert!(clock.cwnd() > 1.7 * pipe);
        clock.congestion(CongestionKind::Loss);
        // The clock's rate is exact to a segment per window, and the estimate to an ACK per round
        // trip.
        assert!(
            (clock.cwnd() / pipe - 1.0).abs() < 2.0 / pipe,
            "{kind}: {} {pipe}",
            clock.cwnd()
        );
    }
}

#[test]
fn a_loss_never_raises_the_window_and_in_slow_start_moves_the_threshold_alone() {
    for kind in FAMILY {
        let mut clock = clock(&json!({ "kind": kind }), 20, Some(20));
        (0..60).for_each(|_| clock.round());
        // After a timeout the window is small, but the path holds as much as before.
        clock.congestion(CongestionKind::Timeout);
        let threshold = clock.ssthresh().unwrap();
        assert!(clock.cwnd() == 1.0 && threshold > 50.0, "{kind}");
        clock.round();
        clock.round();
        let before = clock.cwnd();
        assert!(before < threshold / 4.0);
        clock.congestion(CongestionKind::Loss);
        assert_eq!(clock.cwnd(), before, "{kind}: slow start goes on");
        assert!(clock.ssthresh().unwrap() > before, "{kind}");
        assert_eq!(clock.control.state().mode, "slow_start");
    }
}

#[test]
fn two_segments_are_kept_whatever_the_estimate_says() {
    for kind in [CongestionKind::Loss, CongestionKind::Timeout] {
        for tree in FAMILY
            .map(|kind| json!({ "kind": kind }))
            .into_iter()
            .chain([linux()])
        {
            let mut clock = clock(&tree, 20, Some(20));
            clock.ack(MSS);
            clock.congestion(kind);
            if !matches!(tree["cut"], Value::String(_)) || kind == CongestionKind::Timeout {
                assert_eq!(
                    clock.ssthresh(),
                    Some(2.0),
                    "{tree} {kind:?}: nothing is known yet"
                );
            }
            clock.event(&Event::RecoveryEnd);
            assert!(
                clock.cwnd()
                    >= if kind == CongestionKind::Loss {
                        2.0
                    } else {
                        1.0
                    }
            );
        }
    }
}

#[test]
fn without_a_round_trip_time_half_is_kept() {
    for kind in FAMILY {
        let mut clock = clock(&json!({ "kind": kind }), 20, Some(20));
        let blind = Ack {
            rtt: None,
            smoothed_rtt: None,
            ..clock.ack_of(MSS)
        };
        clock.control.on_ack(clock.now, &blind);
        clock.congestion(CongestionKind::Loss);
        assert!(
            (clock.cwnd() - 10.0).abs() < 0.1,
            "{kind}: {}",
            clock.cwnd()
        );
    }
}

#[test]
fn linux_halves_at_the_loss_and_may_raise_at_the_end_of_recovery() {
    let mut clock = clock(&linux(), 20, Some(20));
    (0..60).for_each(|_| clock.round());
    let before = clock.cwnd();
    clock.congestion(CongestionKind::Loss);
    assert_eq!(clock.cwnd(), before / 2.0);
    (0..4).for_each(|_| clock.round());
    let lower = clock.cwnd();
    clock.event(&Event::RecoveryEnd);
    assert!(clock.cwnd() > lower, "raised to what the path holds");
    assert_eq!(clock.cwnd().fract(), 0.0, "in whole segments");
    assert_eq!(clock.ssthresh(), Some(clock.cwnd()));
    let after = clock.cwnd();
    clock.event(&Event::RecoveryEnd);
    assert_eq!(clock.cwnd(), after, "once");
    // A timeout takes effect at once and cancels the change at the end of recovery.
    clock.congestion(CongestionKind::Loss);
    clock.congestion(CongestionKind::Timeout);
    clock.event(&Event::RecoveryEnd);
    assert_eq!(clock.cwnd(), 1.0);
}

/// Checks, to the bit, that the control has the same estimate as the estimator alone on the same
/// trace, including the third duplicate ACK.
#[test]
fn the_estimate_of_a_control_is_that_of_the_trace() {
    for (control, estimator) in [
        ("westwood_be", "be"),
        ("westwood_re", "re"),
        ("westwood_crb", "crb"),
        ("westwood_abse", "abse"),
        ("westwood_plus", "westwood_plus"),
    ] {
        let streams = Streams::new(1, 0);
        let built = choose::<ControlKind>(&json!({ "kind": control }), &NoFiles).unwrap();
        let mut clock = AckClock::of(built.build(context(&streams, 20, Some(20))), RTT);
        let alone = choose::<EstimatorKind>(&json!({ "kind": estimator }), &NoFiles).unwrap();
        let mut alone = alone.build(EstimatorContext { mss: Bytes(MSS) });
        let (mut follower, mut number) = (Follower::default(), 0_u32.wrapping_sub(7 * MSS as u32));
        let mut tell = |clock: &mut AckClock, bytes: u64| {
            clock.now = clock.now + Span::from_micros(2_000 + 700 * (clock.delivered.0 / MSS % 5));
            clock.delivered += Bytes(MSS);
            let duplicate = bytes == 0;
            let signal = Ack {
                credit: Bytes(0),
                rtt: (!duplicate).then_some(clock.rtt),
                phase: RecoveryPhase::Open,
                ..clock.ack_of(bytes)
            };
            number = number.wrapping_add(bytes as u32);
            let traced = TracedAck {
                at: clock.now,
                number,
                delivered: None,
                rtt: signal.rtt,
                smoothed_rtt: signal.smoothed_rtt,
                cwnd: clock.control.cwnd(),
            };
            clock.control.on_ack(clock.now, &signal);
            alone.on_ack(clock.now, &follower.follow(&traced).unwrap());
            let estimate = clock.control.state().rate_estimate.unwrap().as_bit_per_s();
            assert_eq!(estimate, (8.0 * alone.rate()) as u64, "{control}");
            alone.window()
        };
        for n in 0..400 {
            tell(&mut clock, if n % 3 == 0 { 2 * MSS } else { MSS });
        }
        tell(&mut clock, 0);
        tell(&mut clock, 0);
        let without_the_third = clock.control.state().rate_estimate;
        let window = tell(&mut clock, 0).unwrap();
        clock.congestion(CongestionKind::Loss);
        assert_eq!(
            clock.control.state().ssthresh,
            Some(Bytes(window as u64)),
            "{control}"
        );
        let third_counts = clock.control.state().rate_estimate != without_the_third;
        assert!(
            third_counts || control == "westwood_plus",
            "{control}: fed first"
        );
    }
}
