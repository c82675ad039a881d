//! Numbers that follow from the constants by hand, and the modes in order.

use super::super::SegmentLost;
use super::super::testing::context;
use super::*;
use ackclock_spec::streams::Streams;

fn control() -> Control {
    Control::new(Bbr1::default(), &context(&Streams::new(1, 0), 10, None))
}

/// A path of 40 segments per 40 ms.
fn on_path() -> Control {
    let mut control = control();
    control.min_rtt.value = Some(40_000);
    control
        .bandwidth
        .update(10, 0, (1 << BANDWIDTH_BITS) / 1000);
    control.full.reached = true;
    control
}

#[test]
fn gains_are_those_of_linux() {
    let parameters = Bbr1::default();
    assert_eq!((parameters.startup_gain, parameters.drain_gain), (739, 88));
    assert_eq!(parameters.cycle_gains.iter().sum::<u64>(), 8 * GAIN_ONE);
}

/// 40 segments, two in a burst: 80 + 6, 40 + 6, and 50 + 6 + 2 in the phase that probes.
#[test]
fn the_data_to_have_in_flight_is_the_product_and_three_bursts() {
    let mut control = on_path();
    control.pacing = 1_000_000; // 976 bytes per 1/1024 s: the smallest burst of two
    assert_eq!(control.target(512), 86);
    assert_eq!(control.target(256), 46);
    control.mode = Mode::ProbeBandwidth;
    assert_eq!(control.target(320), 58);
}

/// 1000 segments of 1000 bytes per second, less one percent.
#[test]
fn pacing_leaves_a_percent() {
    let mut control = on_path();
    control.set_pacing(GAIN_ONE, None);
    assert!(
        (989_900..=990_000).contains(&control.pacing),
        "{}",
        control.pacing
    );
}

/// Ten segments of 1000 bytes times 2.887, per 1 ms or per round trip of the handshake. The
/// bandwidth is cut to whole units: ten segments in 50 ms are 3355 of them.
#[test]
fn the_initial_rate_is_the_window_over_the_round_trip() {
    let mut control = control();
    let exact = 10_000.0 * 739.0 / 256.0 * 0.99;
    assert!((control.pacing as f64 / (exact * 1000.0) - 1.0).abs() < 1e-4);
    control.open(Time::ZERO, Some(Span::from_millis(50)));
    assert!((control.pacing as f64 / (exact * 20.0) - 1.0).abs() < 1.0 / 3355.0);
}

#[test]
fn the_cycle_begins_anywhere_but_in_the_phase_that_drains() {
    let mut control = on_path();
    let mut seen = [0; 8];
    for _ in 0..700 {
        control.probe_bandwidth();
        seen[control.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(
        seen.iter().filter(|count| **count > 50).count() == 7,
        "{seen:?}"
    );
}

/// Rounds with bandwidths of 1, 2, 4, 8, 8, 8, 8: three without a quarter more end startup.
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    for (samples, end) in [
        (vec![100, 200, 400, 800, 800, 800, 800], 7),
        (vec![100, 200, 240, 250, 250, 250, 250], 7),
    ] {
        let mut control = control();
        let mut clock =
            super::super::testing::AckClock::of(Box::new(self::control()), Span::from_millis(50));
        let ack = clock.ack_of(1000);
        clock.ack(1000);
        let rounds = samples.iter().take_while(|sample| {
            control.round_start = true;
            control.rounds += 1;
            control.bandwidth.update(10, control.rounds, **sample);
            control.check_full(&ack);
            !control.full.reached
        });
        assert_eq!(rounds.count() + 1, end);
    }
}

fn sampled(millis: u64, delivered: u64, lost: u64) -> Sampled {
    Sampled {
        at: Time::ZERO + Span::from_millis(millis),
        delivered: Bytes(delivered * 1000),
        lost: Bytes(lost * 1000),
        has_losses: true,
        application_limited: false,
        round_start: true,
        mss: 1000,
        used: 99,
    }
}

/// 100 segments a round of 100 ms, and 30 lost: over 50/256. Two intervals of four rounds agree.
#[test]
fn a_policer_is_found_after_two_intervals_that_agree_and_for_48_rounds() {
    let parameters = Bbr1::default();
    let mut policer = Policer::default();
    let verdicts = (1..70).map(|round| {
        let now = sampled(round * 100, round * 100, round * 30);
        let verdict = policer.sample(&parameters, &now, true);
        if verdict == Verdict::Found {
            let exact = (1 << BANDWIDTH_BITS) / 1000;
            assert!(policer.bandwidth().unwrap().abs_diff(exact) <= exact / 100);
        }
        verdict
    });
    let verdicts: Vec<_> = verdicts.collect();
    let peak = verdicts
        .iter()
        .position(|verdict| *verdict == Verdict::Found);
    let expired = verdicts
        .iter()
        .position(|verdict| *verdict == Verdict::Expired);
    assert_eq!(expired.unwrap() - peak.unwrap(), 48);
}

#[test]
fn little_loss_is_no_policer() {
    let mut policer = Policer::default();
    for round in 1..70 {
        let now = sampled(round * 100, round * 100, round * 10);
        assert_eq!(
            policer.sample(&Bbr1::default(), &now, true),
            Verdict::Continue
        );
    }
    assert_eq!(policer.bandwidth(), None);
}

/// The drawn phases begin each cycle once; after the last, any but the one that drains.
#[test]
fn cycles_begin_at_the_given_phases() {
    let parameters = Bbr1 {
        cycle_starts: vec![5, 1],
        ..Bbr1::default()
    };
    let mut control = Control::new(parameters, &context(&Streams::new(1, 0), 10, None));
    let begun: Vec<usize> = (0..100)
        .map(|_| {
            control.probe_bandwidth();
            control.phase
        })
        .collect();
    assert_eq!(begun[..2], [5, 1]);
    assert!(!begun[2..].contains(&1), "{begun:?}");
    assert!(
        (0..8)
            .filter(|phase| *phase != 1)
            .all(|phase| begun[2..].contains(&phase))
    );
}

/// An ACK after `millis`, of one segment with a round trip of `rtt` milliseconds.
fn hear(
    control: &mut Control,
    millis: u64,
    rtt: u64,
    change: impl FnOnce(&mut Ack, &mut RateInfo),
) {
    let clock =
        super::super::testing::AckClock::of(Box::new(self::control()), Span::from_millis(40));
    let mut ack = clock.ack_of(1000);
    ack.newest_rtt = Some(Span::from_millis(rtt));
    let mut rate = ack.rate.unwrap();
    rate.sample = None;
    change(&mut ack, &mut rate);
    ack.rate = Some(rate);
    control.on_ack(Time::ZERO + Span::from_millis(millis), &ack);
}

/// Earlier releases of Linux let it.
#[test]
fn an_equal_round_trip_does_not_postpone_the_probe() {
    let mut control = on_path();
    hear(&mut control, 9_996, 40, |_, _| {});
    hear(&mut control, 10_003, 40, |_, _| {});
    assert_ne!(control.mode, Mode::ProbeRtt, "tick 2500 is not after 2500");
    hear(&mut control, 10_004, 41, |_, _| {});
    assert_eq!(control.mode, Mode::ProbeRtt);
    assert_eq!(control.min_rtt.value, Some(41_000));
}

#[test]
fn a_delayed_ack_does_not_raise_the_smallest_round_trip() {
    let mut control = on_path();
    hear(&mut control, 10_004, 80, |_, rate| rate.delayed = true);
    assert_eq!(control.min_rtt.value, Some(40_000));
    assert_eq!(control.mode, Mode::ProbeRtt);
}

/// A phase of 40 ms: an ACK after 50 ms that delivers nothing does not end it.
#[test]
fn a_phase_ends_with_a_delivery() {
    let mut control = on_path();
    control.probe_bandwidth();
    (control.phase, control.pacing_gain) = (3, GAIN_ONE);
    hear(&mut control, 50, 40, |ack, _| {
        ack.newly_delivered = Bytes::ZERO
    });
    assert_eq!(control.phase, 3);
    hear(&mut control, 51, 40, |_, _| {});
    assert_eq!(control.phase, 4);
}

/// Losses that a timeout shows count too.
#[test]
fn the_policer_counts_all_losses() {
    let mut control = on_path();
    let lost = SegmentLost {
        sequence: 0,
        bytes: Bytes(1000),
        tx_in_flight: Bytes(1000),
        lost: Bytes(1000),
        delivered: Bytes::ZERO,
        limited: SendLimit::CongestionWindow,
    };
    control.on_event(Time::ZERO, &Event::Lost(lost));
    assert_eq!(control.sampled(true, false).lost, Bytes(1000));
}
