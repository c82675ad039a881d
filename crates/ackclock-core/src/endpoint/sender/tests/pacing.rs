//! Sending times of segments, and the resulting rate.

use super::*;
use crate::endpoint::parameters::Pacing;
use ackclock_spec::quantity::{OptionalWindow, Segments};

#[test]
fn pacing_spreads_segments_at_the_controls_rate() {
    let parameters = plain(LossRecovery::Newreno);
    let mut d = Dialogue::with(parameters, 10, Some(BitRate::from_mbit_per_s(8.0)), false);
    d.sender.write(Write::Unlimited);
    for n in 0..10 {
        assert_eq!(d.send(), [n]);
        assert_eq!(d.now, Time::ZERO + Span::from_millis(n));
        if n < 9 {
            d.now = d.sender.poll_timeout();
            d.sender.handle_timeout(d.now);
        }
    }
    // The window is full: only the retransmission timer runs.
    assert_eq!(
        d.sender.poll_timeout(),
        Time::ZERO + Span::from_millis(1000)
    );
}

/// Linux counts the segments that were sent, retransmissions included: the gap after the tenth is
/// the first (`tcp_update_skb_after_send`, `data_segs_out`).
#[test]
fn the_first_segments_may_leave_without_pacing() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.sending.unpaced_segments = Segments(10);
    let mut d = Dialogue::with(parameters, 12, Some(BitRate::from_mbit_per_s(8.0)), false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send(), Vec::from_iter(0..10));
    assert_eq!(d.timeout(), [10]);
    assert_eq!(d.now, Time::ZERO + Span::from_millis(1));
    assert_eq!(d.timeout(), [11]);
}

#[test]
fn pacing_that_is_off_ignores_the_controls_rate() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.sending.pacing = Pacing::Off;
    let mut d = Dialogue::with(parameters, 10, Some(BitRate::from_mbit_per_s(8.0)), false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send().len(), 10);
}

#[test]
fn pacing_always_uses_the_window_per_round_trip() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.sending.pacing = Pacing::Always;
    let mut d = Dialogue::bulk(parameters, 10);
    assert_eq!(d.wait(120).ack(5), [10]);
    // In congestion avoidance the rate is 1.2 cwnd per SRTT: slightly more than SRTT/12 between
    // segments.
    let gap = d.sender.poll_timeout() - d.now;
    assert!((gap.as_seconds() - 0.01).abs() < 1e-4, "{gap:?}");
}

#[test]
fn jitter_delays_within_its_bound_and_keeps_order() {
    let most = Span::from_millis(2);
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.sending.send_jitter = most;
    let mut d = Dialogue::with(parameters, 50, None, false);
    d.sender.write(Write::Unlimited);
    while d.segments.len() < 50 {
        d.send();
        if d.segments.len() < 50 {
            d.now = d.sender.poll_timeout();
            d.sender.handle_timeout(d.now);
        }
    }
    assert!(
        d.segments.is_sorted_by_key(|s| s.sequence) && d.segments.is_sorted_by_key(|s| s.stamp)
    );
    assert!(d.segments[0].stamp > Time::ZERO);
    assert!(d.segments[49].stamp <= Time::ZERO + most);
    assert_eq!(d.sender.statistics().timeouts, 0);
}

/// Checks that no release time is drawn for segments that the smaller window holds back. Behind a
/// receive window the congestion window grows without bound, and so would the work.
#[test]
fn jitter_does_not_ask_which_window_keeps_segments_back() {
    let sent = |cwnd| {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.sending.send_jitter = Span::from_millis(2);
        parameters.receiver.receive_window = OptionalWindow::Segments(4);
        let mut d = Dialogue::with(parameters, cwnd, None, false);
        d.sender.write(Write::Unlimited);
        for round in 1..=20 {
            while d.segments.len() < 4 * round {
                d.now = d.sender.poll_timeout().min(d.now + Span::from_millis(1));
                d.sender.handle_timeout(d.now);
                d.send();
            }
            d.wait(10).ack(4 * round as u64);
        }
        d.segments
            .iter()
            .map(|segment| segment.stamp)
            .collect::<Vec<_>>()
    };
    assert_eq!(sent(1000), sent(4));
}

#[test]
fn a_rate_sample_tells_the_rate_of_the_path() {
    let mut d = Dialogue::with(plain(LossRecovery::Sack), 10, None, true);
    d.sender.write(Write::Unlimited);
    d.send();
    // The rate is one segment per millisecond.
    d.wait(99);
    for cumulative in 1..=30 {
        d.wait(1).ack(cumulative);
    }
    let ack = d.last_ack();
    let sample = ack.rate_sample().unwrap();
    assert_eq!(sample.rate(), BitRate::from_mbit_per_s(8.0));
    assert_eq!(sample.limited, SendLimit::CongestionWindow);
}
