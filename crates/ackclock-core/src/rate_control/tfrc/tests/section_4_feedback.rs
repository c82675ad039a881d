//! The sender: processing of feedback, and sending times of packets.

use super::super::Tfrc;
use super::section_4_sender::Sending;
use super::{RTT, SEGMENT, close, ms};
use crate::datagram::{DatagramParameters, DatagramSender};
use crate::rate_control::RateControl;
use crate::traffic::Write;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};

fn equation_rate(rtt: f64, p: f64) -> f64 {
    Tfrc::default().equation().packets_per_s(rtt, p)
}

#[test]
fn section_4_3_step_2_the_round_trip_time_is_a_mean_with_a_tenth_of_each_sample() {
    let mut sending = Sending::started();
    sending.answer_after(400, Span::from_millis(200), 40.0, 0.0);
    assert_eq!(sending.sender.carried_rtt(), Some(Span::from_millis(110)));
    assert_eq!(sending.sender.state().rtt, Some(Span::from_millis(200)));
}

#[test]
fn section_4_3_step_3_and_6_the_timer_is_four_round_trips_or_two_packets() {
    let mut sending = Sending::started();
    // Step 3 precedes step 4: X was one segment per second.
    assert_eq!(sending.sender.poll_timeout(), ms(100 + 2000));
    sending.answer(200, 40.0, 0.0);
    assert_eq!(sending.sender.poll_timeout(), ms(200 + 400));
    sending.answer(300, 40.0, 0.5);
    sending.answer(400, 40.0, 0.5);
    let two_packets = 2.0 / equation_rate(0.1, 0.5);
    let due = sending.sender.poll_timeout().as_seconds();
    close(due, 0.4 + two_packets, 1e-6);
}

#[test]
fn section_4_3_step_4_slow_start_doubles_once_per_round_trip() {
    let mut sending = Sending::started();
    sending.send(120, false);
    sending.answer(199, 40.0, 0.0);
    assert_eq!(sending.rate(), 40.0, "a round trip has not passed");
    sending.answer(200, 40.0, 0.0);
    assert_eq!(sending.rate(), 80.0);
    sending.answer(250, 40.0, 0.0);
    assert_eq!(sending.rate(), 80.0);
}

#[test]
fn section_4_3_step_4_slow_start_is_limited_by_twice_what_arrives_but_not_below_the_initial_rate() {
    let mut sending = Sending::started();
    for (at, expected) in [(200, 80.0), (300, 120.0), (400, 120.0), (500, 120.0)] {
        sending.send(at - 100, false);
        sending.answer(at, 60.0, 0.0);
        assert_eq!(sending.rate(), expected, "at {at} ms");
    }
    for at in [600, 700, 800] {
        sending.send(at - 100, false);
        sending.answer(at, 5.0, 0.0);
    }
    assert_eq!(sending.rate(), 40.0);
}

#[test]
fn section_4_3_nothing_that_arrives_limits_in_the_first_two_round_trips() {
    let mut sending = Sending::started();
    for (at, expected) in [(199, 40.0), (200, 80.0)] {
        sending.send(at - 100, false);
        sending.answer(at, 10.0, 0.0);
        assert_eq!(sending.rate(), expected);
    }
    sending.send(250, false);
    sending.answer(300, 10.0, 0.0);
    assert_eq!(
        sending.rate(),
        40.0,
        "twice 10 would be less than the initial rate"
    );
}

#[test]
fn section_4_3_step_4_after_a_loss_the_equation_or_twice_the_larger_of_two_round_trips() {
    let mut sending = Sending::started();
    for (at, receive_rate) in [(200, 40.0), (300, 70.0)] {
        sending.send(at - 100, false);
        sending.answer(at, receive_rate, 0.001);
    }
    // 384 by the equation; 70 is kept for two round trips.
    for (at, receive_rate, expected) in [(400, 50.0, 140.0), (500, 50.0, 140.0), (600, 50.0, 100.0)]
    {
        sending.send(at - 100, false);
        sending.answer(at, receive_rate, 0.001);
        assert_eq!(sending.rate(), expected, "at {at} ms");
    }
    sending.send(600, false);
    sending.answer(700, 50.0, 0.02);
    close(sending.rate(), equation_rate(0.1, 0.02), 1e-12);
}

#[test]
fn section_4_3_step_4_never_below_a_packet_in_64_seconds() {
    let mut sending = Sending::started();
    for at in [200, 300, 400, 500] {
        sending.answer_after(at, Span::from_millis(at), 0.0, 1.0);
    }
    assert_eq!(sending.rate(), 1.0 / 64.0);
}

/// Sends 100 segments per round trip, then the round trips in `limited`: data-limited or not,
/// receive rate, p, and the rate expected after it.
fn after_a_hundred_per_round_trip(limited: &[(bool, f64, f64, f64)]) {
    let p = 1e-5; // 3873 segments per second by the equation
    let mut sending = Sending::started();
    let mut at = 200;
    for _ in 0..5 {
        sending.send(at - 100, false);
        sending.answer(at, 1000.0, p);
        at += 100;
    }
    assert_eq!(sending.rate(), 2000.0);
    for (data_limited, receive_rate, p, expected) in limited {
        sending.send(at - 100, *data_limited);
        sending.answer(at, *receive_rate, *p);
        close(sending.rate(), *expected, 1e-12);
        at += 100;
    }
}

#[test]
fn section_4_3_a_data_limited_interval_does_not_lower_the_limit() {
    let p = 1e-5;
    let limited = (true, 100.0, p, 2000.0);
    after_a_hundred_per_round_trip(&[limited; 8]);
    // Without a data-limited interval, it does.
    let not_limited = |expected| (false, 100.0, p, expected);
    after_a_hundred_per_round_trip(&[not_limited(2000.0), not_limited(2000.0), not_limited(200.0)]);
}

#[test]
fn section_4_3_a_feedback_packet_of_nothing_received_covers_no_data_limited_interval() {
    after_a_hundred_per_round_trip(&[
        (true, 0.0, 1e-5, 2000.0),
        (true, 0.0, 1e-5, 2000.0),
        (true, 0.0, 1e-5, 1.0 / 64.0),
    ]);
}

#[test]
fn appendix_c_4_example_2_a_mildly_data_limited_sender_falls_to_85_of_99() {
    after_a_hundred_per_round_trip(&[
        (true, 990.0, 1e-5, 2000.0),
        (true, 990.0, 2e-5, 0.85 * 990.0),
        (true, 990.0, 2e-5, 2.0 * 990.0),
    ]);
}

#[test]
fn appendix_c_4_examples_3_and_4_each_loss_while_data_limited_halves_what_is_remembered() {
    after_a_hundred_per_round_trip(&[
        (true, 100.0, 1e-5, 2000.0),
        (true, 10.0, 2e-5, 500.0),
        (true, 10.0, 3e-5, 250.0),
        (true, 200.0, 4e-5, 0.85 * 200.0),
    ]);
}

#[test]
fn section_4_5_the_rate_falls_as_the_round_trip_time_rises_above_its_mean() {
    let mut sending = Sending::with(Tfrc::default(), SEGMENT);
    sending.send(0, false);
    sending.answer(100, 0.0, 0.0);
    for at in [200, 300] {
        sending.send(at - 100, false);
        sending.answer(at, 500.0, 0.01);
    }
    close(sending.rate(), equation_rate(0.1, 0.01), 1e-12);
    sending.send(450, false);
    sending.answer_after(500, RTT * 2, 500.0, 0.01);
    // R = 110 ms; R_sqmean = 0.9 sqrt(0.1) + 0.1 sqrt(0.2).
    let root_mean = 0.9 * libm::sqrt(0.1) + 0.1 * libm::sqrt(0.2);
    let expected = equation_rate(0.11, 0.01) * root_mean / libm::sqrt(0.2);
    close(sending.rate(), expected, 1e-12);
    // The RFC's own example: a sample of twice the mean leaves roughly 0.7.
    assert!((0.70..0.75).contains(&(sending.rate() / equation_rate(0.11, 0.01))));
}

/// Section 4.6 forbids bursts of more than a round trip's worth. The clock accumulates no credit at
/// all.
#[test]
fn section_4_6_no_burst_after_idleness() {
    let mut sending = Sending::started();
    sending.answer(200, 1000.0, 0.0);
    let jitter = Streams::new(1, 0).stream("jitter");
    let mut sender = DatagramSender::new(
        Box::new(sending.sender),
        &DatagramParameters::default(),
        jitter,
    );
    sender.open(ms(200));
    sender.write(Write::Bytes(Bytes(1_000_000)));
    let mut left = Vec::new();
    for at in (200..1000).chain(60_000..60_400) {
        // Idle in between: no data to send.
        let now = ms(at);
        while sender.poll_transmit(now).is_some() {
            left.push(now);
        }
    }
    let gaps = left.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(
        gaps.min() >= Some(Span::from_millis(12)),
        "80 packets in a second"
    );
    assert!(left.len() > 90);
}

#[test]
fn section_4_6_a_tick_longer_than_a_round_trip_lets_no_more_than_a_round_trip_s_worth_leave() {
    let mut sending = Sending::started();
    sending.answer(200, 1000.0, 0.0);
    let jitter = Streams::new(1, 0).stream("jitter");
    let parameters = DatagramParameters {
        granularity: Span::from_millis(1000),
        ..DatagramParameters::default()
    };
    let mut sender = DatagramSender::new(Box::new(sending.sender), &parameters, jitter);
    sender.open(ms(200));
    sender.write(Write::Unlimited);
    for tick in 1..5 {
        let left = (0..100).filter(|_| sender.poll_transmit(ms(1000 * tick)).is_some());
        assert!(
            left.count() <= 8,
            "80 packets in a second, 8 in a round trip"
        );
    }
    assert!(sender.statistics().sent >= 25);
}

#[test]
fn any_report_leaves_a_rate() {
    for (receive_rate, p) in [
        (f64::NAN, 0.1),
        (f64::INFINITY, 0.0),
        (-1.0, 2.0),
        (1e300, 1e-300),
        (0.0, f64::NAN),
    ] {
        let mut sending = Sending::started();
        for at in 200..300 {
            sending.send(at - 50, at % 3 == 0);
            sending.answer_after(at, Span::from_nanos(at % 2), receive_rate, p);
            assert!(sending.rate().is_finite() && sending.rate() > 0.0);
            assert!(sending.sender.poll_timeout() > ms(at));
        }
        let expiries = (0..100).map(|_| sending.expire());
        assert!(expiries.last().is_some_and(f64::is_finite));
        assert!(sending.rate() > 0.0 && sending.sender.poll_timeout() < Time::NEVER);
    }
}
