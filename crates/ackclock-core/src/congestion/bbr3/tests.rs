//! Acceptance numbers: each follows from the constants by hand.

use super::super::SegmentLost;
use super::super::testing::context;
use super::parameters::{InflightAtLoss, MinRttOnProbe, ProbeRoundsUnit, UndoState};
use super::*;
use ackclock_spec::streams::Streams;

/// Bytes of a segment on all paths here, as the context has it.
const MSS: f64 = 1000.0;

fn with(parameters: Bbr3) -> Control {
    let mut control = Control::new(parameters, &context(&Streams::new(1, 0), 10, None));
    control.open(Time::ZERO);
    control
}

/// A path of `segments` per 40 ms whose pipe has been full.
fn on_path(segments: f64) -> Control {
    path_with(Bbr3::default(), segments)
}

fn path_with(parameters: Bbr3, segments: f64) -> Control {
    let mut control = with(parameters);
    control.min_rtt.value = Some(Span::from_millis(40));
    control.max_bw = segments * MSS / 0.04;
    control.bw = control.max_bw;
    control
        .max_bw_filter
        .update(1, 0, (control.max_bw * 8.0) as u64);
    control.full.reached = true;
    control.cycle.wait = Span::from_millis(3_600_000);
    control.enter(State::Cruise);
    control
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{found} is not {expected}"
    );
}

/// An ACK of one segment that ends a round, 40 ms after another.
fn news(round: u64, rate: f64) -> News {
    News {
        now: at(40 * round),
        sample: Sample {
            rate,
            delivered: rate * 0.04,
            tx_in_flight: rate * 0.04,
            ..Sample::default()
        },
        prior_delivered: Some(u64::MAX),
        newly_acked: MSS,
        in_flight: rate * 0.04,
        rtt: Some(Span::from_millis(40)),
        fills_window: false,
    }
}

fn lost(sequence: u64, tx_in_flight: u64, lost: u64) -> SegmentLost {
    SegmentLost {
        sequence,
        bytes: Bytes(1000),
        tx_in_flight: Bytes(tx_in_flight * 1000),
        lost: Bytes(lost * 1000),
        delivered: Bytes(1_000_000),
        limited: SendLimit::CongestionWindow,
    }
}

fn loss(kind: CongestionKind) -> Congestion {
    Congestion {
        kind,
        base: Bytes(100_000),
        in_flight: Bytes(50_000),
        min_rtt: None,
        smoothed_rtt: None,
        loss_window: Bytes(51_000),
    }
}

/// The table of section 5.6.1.
#[test]
fn each_state_has_the_gains_of_the_table() {
    let mut control = with(Bbr3::default());
    for (state, pacing, cwnd) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Cruise, 1.0, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        control.enter(state);
        assert_eq!((control.pacing_gain, control.cwnd_gain), (pacing, cwnd));
    }
}

/// Samples of 1, 2, 4, 8, 8, 8, 8: the pipe is full in the seventh round. So it is with 1, 2, 2.4,
/// 2.5, 2.5, 2.5, 2.5: 2.4 is below 1.25 times 2, and 2.5 is not, so that counting starts again.
#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    for samples in [
        [1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0],
        [1.0, 2.0, 2.4, 2.5, 2.5, 2.5, 2.5],
    ] {
        let mut control = with(Bbr3::default());
        control.rounds.start = true;
        for (round, sample) in (1..).zip(samples) {
            control.check_full_bw(&news(round, sample * 1e6));
            assert_eq!(control.full.now, round == 7, "{round}");
        }
        assert!(control.full.reached);
    }
}

/// Doubling a window of 10 segments reaches a path of 83 with the 4th doubling, of 833 with the
/// 7th, of 8333 with the 10th: ceil(log2(B/10)), one round later as the first sends the 10. Three
/// rounds without growth follow. On the path of 83, the 4th doubling itself is one: 83 of 80.
#[test]
fn startup_lasts_the_doublings_and_three_rounds() {
    for (product, doublings, until_full) in [(83.0, 4, 7), (833.0, 7, 11), (8333.0, 10, 14)] {
        let mut control = with(Bbr3::default());
        let (mut flight, mut round, mut filled) = (10.0_f64, 0, None);
        while control.state == State::Startup {
            round += 1;
            control.rounds.start = true;
            let ack = news(round, flight.min(product) * MSS / 0.04);
            control.check_full_bw(&ack);
            control.check_startup_done(&ack);
            if flight >= product {
                filled = filled.or(Some(round));
            }
            flight *= 2.0;
        }
        assert_eq!((filled, round), (Some(1 + doublings), until_full));
        assert_eq!(control.state, State::Drain);
    }
}

/// A window of 100 segments: the long-term bound rises by 1, 2, 4, 8, 16, 32 segments in
/// successive rounds, by 2^n - 1 in all. With a window of 8 it never rises by more than a segment
/// per segment acknowledged. A tenfold path (35 to 350 segments) needs nine rounds.
#[test]
fn the_longterm_bound_rises_twice_as_fast_in_each_round() {
    for (window, growth) in [(100, [1, 2, 4, 8, 16, 32]), (8, [1, 2, 4, 8, 8, 8])] {
        let mut control = on_path(50.0);
        control.cwnd = f64::from(window) * MSS;
        control.enter(State::Up);
        control.raise_slope();
        for growth in growth {
            control.bounds.inflight_longterm = 0.0;
            for n in 1..=window {
                control.rounds.start = n == window;
                let fills_window = true;
                control.probe_longterm_upward(&News {
                    fills_window,
                    ..news(1, 0.0)
                });
            }
            close(control.bounds.inflight_longterm, f64::from(growth) * MSS);
        }
    }
    let in_all = |rounds: u32| (1 << rounds) - 1;
    assert!(in_all(8) < 315 && in_all(9) >= 315);
}

#[test]
fn the_longterm_bound_does_not_rise_while_the_window_is_not_full() {
    let mut control = on_path(50.0);
    control.cwnd = 100.0 * MSS;
    control.enter(State::Up);
    control.raise_slope();
    control.bounds.inflight_longterm = 50.0 * MSS;
    for round in 1..300 {
        control.probe_longterm_upward(&news(round, 0.0));
    }
    close(control.bounds.inflight_longterm, 50.0 * MSS);
}

/// 100 in flight, 3 lost, 1 each: 99 + (0.02 * 99 - 2)/0.98 = 98.980, which lies before the
/// segment; clamped 99. With 1000 and 21: 999 + (19.98 - 20)/0.98 = 998.980, clamped 999. With one
/// lost of 100: 99 + 1.98/0.98, after the segment; clamped 100.
#[test]
fn losses_cross_the_threshold_within_the_lost_segment() {
    for (tx, lost, unclamped, clamped) in [
        (100.0, 3.0, 99.0 - 0.02 / 0.98, 99.0),
        (1000.0, 21.0, 999.0 - 0.02 / 0.98, 999.0),
        (100.0, 1.0, 99.0 + 1.98 / 0.98, 100.0),
    ] {
        let sample = Sample {
            tx_in_flight: tx * MSS,
            lost: lost * MSS,
            ..Sample::default()
        };
        let mut control = on_path(50.0);
        close(control.inflight_at_loss(&sample, MSS), clamped * MSS);
        control.parameters.inflight_at_loss = InflightAtLoss::Unclamped;
        close(control.inflight_at_loss(&sample, MSS), unclamped * MSS);
    }
}

/// Segments of 1448 bytes at 10, 100 and 1000 Mbit/s: two of them, 1 ms, and 64 KB.
#[test]
fn a_burst_is_a_millisecond_within_its_limits() {
    let mut control = on_path(50.0);
    control.mss = 1448.0;
    for (rate, quantum) in [(10e6, 2896.0), (100e6, 12_500.0), (1000e6, 65_536.0)] {
        control.pacing = rate / 8.0;
        control.set_send_quantum();
        close(control.send_quantum, quantum);
    }
}

/// 10 Mbit/s and 40 ms: 50,000 bytes, and twice as many at gain 2.
#[test]
fn the_window_is_twice_the_product() {
    let mut control = on_path(50.0);
    close(control.product(1.0), 50_000.0);
    close(control.product(2.0), 100_000.0);
    for _ in 0..100 {
        control.set_cwnd(&news(1, 0.0));
    }
    close(control.cwnd, 100_000.0);
}

/// A bound of 100, 5 and 4 segments leaves 85, 4 (of 4.25, less than a whole segment of headroom)
/// and 4, the least.
#[test]
fn headroom_is_a_share_but_at_least_a_segment() {
    let mut control = on_path(50.0);
    for (bound, left) in [(100.0, 85.0), (5.0, 4.0), (4.0, 4.0)] {
        control.bounds.inflight_longterm = bound * MSS;
        close(control.inflight_with_headroom(), left * MSS);
    }
    control.bounds = Bounds::NONE;
    assert!(control.inflight_with_headroom().is_infinite());
}

/// 64 kbit/s and 5 ms with segments of 1448 bytes: a product of 40 bytes. The window is that of
/// three bursts of two segments, 8688 bytes, in ProbeRTT that of four segments, 5792. The rate is
/// 0.99 of 64 kbit/s.
#[test]
fn a_product_below_a_segment_leaves_room_for_three_bursts() {
    let mut control = on_path(50.0);
    control.mss = 1448.0;
    control.min_rtt.value = Some(Span::from_millis(5));
    (control.max_bw, control.bw) = (8000.0, 8000.0);
    control.set_pacing(1.0);
    control.set_send_quantum();
    control.cwnd = 1e6;
    control.set_cwnd(&news(1, 0.0));
    close(control.product(1.0), 40.0);
    close(control.cwnd, 8688.0);
    close(control.pacing * 8.0, 63_360.0);
    close(control.probe_rtt_cwnd(), 5792.0);
}

/// After n rounds with losses and little delivery, 0.7^n of the bandwidth is left.
#[test]
fn the_shortterm_bound_falls_by_beta_in_each_round_with_a_loss() {
    let mut control = on_path(50.0);
    let most = control.max_bw;
    for (round, left) in (1..).zip([0.7, 0.49, 0.343, 0.2401, 0.168_07]) {
        control.loss_round.has_loss = true;
        control.update_model(&news(round, 1.0));
        close(control.bounds.bw_shortterm, left * most);
        close(control.bw, left * most);
    }
    control.update_model(&news(6, 1.0));
    close(control.bounds.bw_shortterm, 0.168_07 * most);
}

/// While it probes, losses do not lower the short-term bounds.
#[test]
fn losses_do_not_lower_the_shortterm_bounds_of_a_probe() {
    for state in [State::Startup, State::Refill, State::Up] {
        let mut control = on_path(50.0);
        control.enter(state);
        control.loss_round.has_loss = true;
        control.update_latest(&news(1, 1.0));
        control.update_congestion(&news(1, 1.0));
        assert!(control.bounds.bw_shortterm.is_infinite(), "{state:?}");
    }
}

/// 34 segments in flight: the next probe is due after 34 rounds, which are shorter than two seconds
/// at 40 ms. 350 segments: after 63 rounds, or after two to three seconds.
#[test]
fn the_next_probe_waits_for_rounds_or_for_seconds() {
    for (segments, rounds) in [(34.0, 34), (350.0, 63)] {
        let mut control = on_path(segments);
        control.cwnd = 2.0 * segments * MSS;
        control.start_down(at(0));
        let wait = control.cycle.wait;
        assert!((2.0..3.0).contains(&wait.as_seconds()), "{wait:?}");
        for (count, due) in [(rounds - 1, false), (rounds, true)] {
            control.cycle.rounds_since_up = count;
            assert_eq!(control.is_time_to_probe(at(1900)), due, "{count}");
        }
        control.cycle.rounds_since_up = 0;
        assert!(!control.is_time_to_probe(Time::ZERO + wait));
        assert!(control.is_time_to_probe(Time::ZERO + wait + Span::from_nanos(1)));
        // In bytes, there are always more than 63.
        control.parameters.probe_rounds_unit = ProbeRoundsUnit::Bytes;
        control.cycle.rounds_since_up = 62;
        assert!(!control.is_time_to_probe(at(1900)));
    }
}

/// The wait is 2 s and up to one more, the count of rounds starts at 0 or 1, each as often.
#[test]
fn the_wait_for_a_probe_is_random() {
    let mut control = on_path(50.0);
    let (mut ones, mut seconds) = (0, 0.0);
    for _ in 0..2000 {
        control.start_down(at(0));
        ones += control.cycle.rounds_since_up;
        seconds += control.cycle.wait.as_seconds();
    }
    // Four standard deviations of 2000 draws.
    assert!((ones as f64 / 2000.0 - 0.5).abs() < 0.045, "{ones}");
    assert!((seconds / 2000.0 - 2.5).abs() < 0.026, "{seconds}");
}

/// The largest bandwidth of a cycle is gone with the second cycle after it.
#[test]
fn a_bandwidth_lives_for_its_cycle_and_the_next() {
    let mut control = on_path(50.0);
    control.update_max_bw(&news(1, 12.5e6));
    for (cycle, left) in [(1, 12.5e6), (2, 1.25e6)] {
        control.cycle.count = cycle;
        control.update_max_bw(&news(2, 1.25e6));
        control.update_max_bw(&news(2, 1.0e6));
        close(control.max_bw, left);
    }
}

/// A sample that the application limited counts only if it is the largest.
#[test]
fn what_the_application_limits_does_not_lower_the_bandwidth() {
    let mut control = with(Bbr3::default());
    let limited = |rate| {
        let mut news = news(1, rate);
        news.sample.limited = true;
        news
    };
    control.update_max_bw(&news(1, 1e6));
    for cycle in 1..9 {
        control.cycle.count = cycle;
        control.update_max_bw(&limited(0.5e6));
        close(control.max_bw, 1e6);
    }
    control.update_max_bw(&limited(2e6));
    close(control.max_bw, 2e6);
}

/// Drain ends after three rounds, whatever is in flight.
#[test]
fn drain_ends_with_its_rounds() {
    let mut control = on_path(50.0);
    control.enter(State::Drain);
    control.drain_start = 10;
    let full = |round| News {
        in_flight: 1e9,
        ..news(round, 0.0)
    };
    for round in 10..=13 {
        control.rounds.count = round;
        control.check_drain_done(&full(round));
        assert_eq!(control.state, State::Drain);
    }
    control.rounds.count = 14;
    control.check_drain_done(&full(14));
    assert_eq!(control.state, State::Down);
}

/// A control in a probe of 100 segments, one round before it would end.
fn probing(parameters: Bbr3) -> Control {
    let mut control = path_with(parameters, 50.0);
    control.cwnd = 120.0 * MSS;
    control.delivered = 1_000_000;
    control.bounds.inflight_longterm = 110.0 * MSS;
    control.cycle.is_sample = true;
    control.start_up(&news(1, control.max_bw));
    control
}

/// Two of 100 segments lost are not above 2 %, three are. Then the bound is what was in flight, and
/// the probe ends, with the same loss.
#[test]
fn a_probe_ends_with_the_loss_that_exceeds_the_threshold() {
    let mut control = probing(Bbr3::default());
    for (number, state) in [(1, State::Up), (2, State::Up), (3, State::Down)] {
        control.on_event(at(100), &Event::Lost(lost(10 * number, 100, number)));
        assert_eq!(control.state, state, "{number}");
    }
    close(control.bounds.inflight_longterm, 99.0 * MSS);
    assert!(control.cycle.too_high && !control.cycle.is_sample);
    control.on_event(at(100), &Event::Lost(lost(40, 100, 4)));
    close(control.bounds.inflight_longterm, 99.0 * MSS);
}

/// The bound does not fall below 0.7 of the target: of the 50 segments of the path.
#[test]
fn the_longterm_bound_keeps_a_share_of_the_target() {
    let mut control = probing(Bbr3::default());
    control.on_event(at(100), &Event::Lost(lost(10, 20, 2)));
    close(control.bounds.inflight_longterm, 0.7 * 50.0 * MSS);
}

/// A lost segment that the application limited ends the probe, and leaves the bound.
#[test]
fn a_limited_loss_ends_the_probe_alone() {
    let mut control = probing(Bbr3::default());
    let mut loss = lost(10, 100, 5);
    loss.limited = SendLimit::Application;
    control.on_event(at(100), &Event::Lost(loss));
    assert_eq!(control.state, State::Down);
    close(control.bounds.inflight_longterm, 110.0 * MSS);
}

/// After a probe that went too high, the next one stops at the bound. If that causes no loss,
/// another begins at once.
#[test]
fn a_probe_after_one_that_went_too_high_is_careful() {
    let mut control = probing(Bbr3::default());
    control.cycle.too_high = true;
    let rate = control.max_bw;
    let with_flight = |segments: f64| News {
        in_flight: segments * MSS,
        ..news(2, rate)
    };
    control.follow_cycle(&with_flight(109.0));
    assert_eq!(control.state, State::Up);
    control.follow_cycle(&with_flight(110.0));
    assert_eq!(
        (control.state, control.cycle.too_high),
        (State::Down, false)
    );
    control.rounds.start = true;
    control.follow_cycle(&with_flight(90.0));
    assert_eq!(control.state, State::Refill);
}

/// Two losses of a probe and the undo of the recovery: window and bounds are as before, and the
/// probe begins again with REFILL. Read as the pseudocode, the second loss has overwritten them.
#[test]
fn an_undo_returns_to_the_probe() {
    for (reading, state, longterm) in [
        (UndoState::Recovery, State::Refill, 110.0),
        (UndoState::Round, State::Down, 99.0),
    ] {
        let parameters = Bbr3 {
            undo_state: reading,
            ..Bbr3::default()
        };
        let mut control = probing(parameters);
        for number in 3..6 {
            control.on_event(at(100), &Event::Lost(lost(10 * number, 100, number)));
        }
        control.on_congestion(at(100), &loss(CongestionKind::Loss));
        let window = control.cwnd;
        control.cwnd = 40.0 * MSS;
        control.on_congestion(at(150), &loss(CongestionKind::SpuriousLoss));
        assert_eq!(control.state, state);
        close(control.bounds.inflight_longterm, longterm * MSS);
        assert!(control.bounds.bw_shortterm.is_infinite());
        close(control.cwnd, window);
        assert_eq!(control.undo.state, None);
    }
}

/// Losses in Startup: at least six ranges, above 2 %, after a full round of recovery.
#[test]
fn startup_ends_after_a_round_of_recovery_with_six_ranges_lost() {
    for (ranges, expected) in [(5, State::Startup), (6, State::Drain)] {
        let mut control = on_path(50.0);
        control.full = FullBw::default();
        control.enter(State::Startup);
        for number in 1..=ranges {
            // Ranges of two segments with gaps between them.
            control.on_event(at(10), &Event::Lost(lost(10 * number, 100, 2 * number - 1)));
            control.on_event(at(10), &Event::Lost(lost(10 * number + 1, 100, 2 * number)));
        }
        control.on_congestion(at(10), &loss(CongestionKind::Loss));
        let end = |prior| {
            let mut news = news(2, 1e5);
            news.prior_delivered = Some(prior);
            (news.sample.lost, news.sample.tx_in_flight) = (12.0 * MSS, 100.0 * MSS);
            news.sample.delivered = 80.0 * MSS;
            news.in_flight = 1e9; // so that Drain lasts
            news
        };
        control.update_model(&end(999_999));
        assert_eq!(control.state, State::Startup, "less than a round");
        control.update_model(&end(1_000_000));
        assert_eq!(control.state, expected, "{ranges}");
        if expected == State::Drain {
            assert!(control.full.now && control.full.reached);
            close(control.bounds.inflight_longterm, 80.0 * MSS);
            control.on_congestion(at(60), &loss(CongestionKind::SpuriousLoss));
            assert_eq!(control.state, State::Startup);
            assert!(!control.full.reached);
        }
    }
}

/// Without SACK, any loss in recovery ends Startup.
#[test]
fn without_sack_one_loss_ends_startup() {
    let mut control = with(Bbr3::default());
    control.selective_acks = false;
    control.on_event(at(10), &Event::Lost(lost(10, 100, 1)));
    control.on_congestion(at(10), &loss(CongestionKind::Loss));
    let mut news = news(2, 1e5);
    (news.prior_delivered, news.in_flight) = (Some(0), 1e9);
    control.update_model(&news);
    assert_eq!(control.state, State::Drain);
}

/// ProbeRTT comes 5 s after the last lower round-trip time. It halves the product and lasts 200 ms
/// and a round; then the flow cruises with its former window.
#[test]
fn a_probe_of_the_round_trip_time_comes_and_goes() {
    let mut control = on_path(50.0);
    control.cwnd = 100.0 * MSS;
    control.bw = control.max_bw;
    let step = |control: &mut Control, millis: u64, in_flight: f64| {
        let mut news = news(1, control.max_bw);
        (news.now, news.in_flight) = (at(millis), in_flight * MSS);
        control.update_min_rtt(&news);
        control.check_probe_rtt(&news);
        control.set_cwnd(&news);
        control.rounds.start = false;
    };
    step(&mut control, 1, 50.0);
    step(&mut control, 5001, 50.0);
    assert_eq!(control.state, State::Cruise);
    step(&mut control, 5002, 50.0);
    assert_eq!(control.state, State::ProbeRtt);
    close(control.cwnd, 25.0 * MSS);
    step(&mut control, 5030, 25.0);
    control.rounds.start = true;
    step(&mut control, 5080, 25.0);
    step(&mut control, 5230, 25.0);
    assert_eq!(control.state, State::ProbeRtt, "200 ms are not over");
    step(&mut control, 5231, 25.0);
    assert_eq!(control.state, State::Cruise);
    close(control.cwnd, 100.0 * MSS);
}

/// With one length for interval and filter, the smallest round-trip time expires as ProbeRTT
/// begins, and is that of the queue until it has drained.
#[test]
fn the_smallest_round_trip_time_expires_at_a_probe_or_is_saved() {
    let largest = |on_probe: MinRttOnProbe| {
        let mut control = on_path(50.0);
        let parameters = &mut control.parameters;
        parameters.probe_rtt_interval = Span::from_millis(10_000);
        parameters.min_rtt_filter_len = Span::from_millis(10_000);
        parameters.min_rtt_on_probe = on_probe;
        let mut samples = Vec::new();
        // A standing queue of 20 ms, which the probe drains.
        for (millis, trip, in_flight) in [
            (1, 40, 50.0),
            (10_000, 60, 75.0),
            (10_002, 60, 75.0),
            (10_040, 60, 75.0),
            (10_080, 40, 25.0),
            (10_130, 40, 25.0),
            (10_290, 40, 25.0),
            (10_340, 60, 75.0),
        ] {
            let mut news = news(1, control.max_bw);
            (news.now, news.in_flight) = (at(millis), in_flight * MSS);
            news.rtt = Some(Span::from_millis(trip));
            control.update_min_rtt(&news);
            control.check_probe_rtt(&news);
            samples.push(control.min_rtt.value.unwrap());
        }
        samples.into_iter().max().unwrap()
    };
    assert_eq!(largest(MinRttOnProbe::Expire), Span::from_millis(60));
    assert_eq!(largest(MinRttOnProbe::Saved), Span::from_millis(40));
}

/// Sending after an idle time paces at the bandwidth itself, and ProbeRTT is not needed.
#[test]
fn idleness_replaces_the_probe_of_the_round_trip_time() {
    let mut control = on_path(50.0);
    control.enter(State::Down);
    control.set_pacing(0.9);
    control.on_event(at(9000), &Event::SentAfterIdle);
    close(control.pacing, 0.99 * control.bw);
    assert!(control.idle_restart);
    let mut ack = news(1, 0.0);
    ack.now = at(9040);
    control.update_min_rtt(&ack);
    control.check_probe_rtt(&ack);
    assert!(control.min_rtt.expired && control.state != State::ProbeRtt);
    assert!(!control.idle_restart);
}

/// A mark counts as one lost segment: it does not end a probe of 100 segments by itself, but that
/// of 40. As more loss than the threshold, it ends both.
#[test]
fn a_mark_counts_as_a_loss() {
    use parameters::EcnReaction::{ExcessLoss, Loss};
    for (ecn, in_flight, state) in [
        (Loss, 100.0, State::Up),
        (Loss, 40.0, State::Down),
        (ExcessLoss, 100.0, State::Down),
    ] {
        let mut control = probing(Bbr3 {
            ecn,
            ..Bbr3::default()
        });
        control.last.tx_in_flight = in_flight * MSS;
        control.on_congestion(at(10), &loss(CongestionKind::Mark));
        assert_eq!(control.state, state, "{ecn:?} {in_flight}");
    }
    let mut control = on_path(50.0);
    control.on_congestion(at(10), &loss(CongestionKind::Mark));
    control.update_model(&news(1, 1.0));
    close(control.bounds.bw_shortterm, 0.7 * control.max_bw);
}

/// Linux's BBRv3 takes no notice of marks beyond its longest round-trip time.
#[test]
fn beyond_the_longest_round_trip_marks_change_nothing() {
    for (longest_ms, state) in [(5, State::Up), (50, State::Down)] {
        let mut control = probing(Bbr3 {
            ecn: parameters::EcnReaction::ExcessLoss,
            ecn_max_rtt: Some(Span::from_millis(longest_ms)),
            ..Bbr3::default()
        });
        let rounds = control.loss_round.end;
        control.on_congestion(at(10), &loss(CongestionKind::Mark));
        assert_eq!(control.state, state, "{longest_ms} ms");
        if state == State::Up {
            assert!(!control.loss_round.has_loss && control.loss_round.end == rounds);
        }
    }
}

/// A flow that starts late and without a handshake does not take the time before it for an old
/// round-trip time.
#[test]
fn the_clocks_start_with_the_flow() {
    let streams = Streams::new(1, 0);
    let mut control = Control::new(Bbr3::default(), &context(&streams, 10, None));
    control.on_event(at(60_000), &Event::Open { rtt: None });
    let mut ack = news(1, 1e5);
    ack.now = at(60_040);
    control.update_model(&ack);
    assert_eq!(control.state, State::Startup);
}
