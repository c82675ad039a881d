//! The sender: its start, and its reaction to missing feedback.

use super::super::sender::TfrcSender;
use super::super::{SegmentSize, Tfrc};
use super::{RTT, SEGMENT, close, ms};
use crate::rate_control::{DatagramSent, Feedback, RateControl, Received, Report};
use ackclock_spec::units::{Bytes, Span, Time};

/// A sender with scripted packets and answers. Rates are in segments per second.
pub(super) struct Sending {
    pub sender: TfrcSender,
    sequence: u64,
}

impl Sending {
    pub fn with(parameters: Tfrc, mss: Bytes) -> Self {
        let mut sender = TfrcSender::new(parameters, mss);
        sender.start(ms(0));
        Sending {
            sender,
            sequence: 0,
        }
    }

    /// A sender without damping, so that the rate is X.
    pub fn new() -> Self {
        let parameters = Tfrc {
            damping: false,
            ..Tfrc::default()
        };
        Sending::with(parameters, SEGMENT)
    }

    /// A sender after the first answer at 100 ms, with a round trip of 100 ms: X is 4 segments in
    /// 100 ms.
    pub fn started() -> Self {
        let mut sending = Sending::new();
        sending.send(0, false);
        sending.answer(100, 0.0, 0.0);
        sending
    }

    pub fn send(&mut self, at: u64, data_limited: bool) {
        let sent = DatagramSent {
            sequence: self.sequence,
            length: SEGMENT,
            data_limited,
        };
        self.sequence += 1;
        self.sender.on_sent(ms(at), &sent);
    }

    /// Answers the packet sent 100 ms before; X_recv is in segments per second.
    pub fn answer(&mut self, at: u64, receive_rate: f64, p: f64) {
        self.answer_after(at, RTT, receive_rate, p);
    }

    pub fn answer_after(&mut self, at: u64, rtt: Span, receive_rate: f64, p: f64) {
        let feedback = Feedback {
            sequence: self.sequence.saturating_sub(1),
            echo: Time::from_nanos(ms(at).as_nanos() - rtt.as_nanos()),
            held: Span::ZERO,
            received: Received::default(),
            marked: 0,
            report: Some(Report {
                receive_rate: receive_rate * SEGMENT.as_f64(),
                loss_event_rate: p,
            }),
        };
        self.sender.on_feedback(ms(at), &feedback);
    }

    pub fn rate(&self) -> f64 {
        self.sender.clocking().packets_per_s
    }

    /// Lets the nofeedback timer expire. Returns the time of expiry in milliseconds.
    pub fn expire(&mut self) -> f64 {
        let due = self.sender.poll_timeout();
        self.sender.handle_timeout(due);
        due.as_seconds() * 1000.0
    }
}

#[test]
fn section_4_2_one_packet_per_second_before_the_first_round_trip_time() {
    let sending = Sending::new();
    assert_eq!(sending.rate(), 1.0);
    assert_eq!(sending.sender.poll_timeout(), ms(2000));
    assert_eq!(sending.sender.carried_rtt(), None);
}

#[test]
fn section_4_2_then_the_initial_window_of_rfc_3390_in_a_round_trip() {
    for (mss, window) in [
        (100, 400),
        (1000, 4000),
        (1460, 4380),
        (2000, 4380),
        (2200, 4400),
    ] {
        let mut sending = Sending::with(Tfrc::default(), Bytes(mss));
        sending.send(0, false);
        // A receive rate of one packet per round trip, as some receivers report, has no effect.
        sending.answer(100, 10.0, 0.0);
        close(sending.rate() * mss as f64, window as f64 / 0.1, 1e-12);
    }
    let given = Tfrc {
        initial_window: Some(Bytes(10_000)),
        ..Tfrc::default()
    };
    let mut sending = Sending::with(given, SEGMENT);
    sending.send(0, false);
    sending.answer(100, 0.0, 0.0);
    close(sending.rate(), 100.0, 1e-12);
}

#[test]
fn section_4_1_the_segment_size_may_be_the_mean() {
    let mean = Tfrc {
        segment_size: SegmentSize::Mean,
        damping: false,
        ..Tfrc::default()
    };
    let mut sending = Sending::with(mean, Bytes(2000));
    for at in 0..50 {
        sending.send(at, false);
    }
    sending.answer(100, 0.0, 0.0);
    sending.answer(200, 1000.0, 0.01);
    let equation = Tfrc::default().equation();
    close(sending.rate(), equation.packets_per_s(0.1, 0.01), 1e-12);
    close(sending.sender.state().rate, sending.rate() * 1000.0, 1e-12);
}

#[test]
fn section_4_4_without_any_feedback_the_rate_is_halved_down_to_a_packet_in_64_seconds() {
    let mut sending = Sending::new();
    let mut at = 0.0;
    let mut rate = 1.0;
    while rate > 1.0 / 64.0 {
        sending.send(at as u64, false);
        let wait = 2000.0 / rate;
        let due = sending.expire();
        close(due, at + wait, 1e-9);
        at = due;
        rate /= 2.0;
        assert_eq!(sending.rate(), rate);
    }
    sending.send(at as u64, false);
    sending.expire();
    assert_eq!(
        (sending.rate(), sending.sender.state().timeouts),
        (1.0 / 64.0, 7)
    );
}

#[test]
fn section_4_4_before_anything_is_sent_it_is_not() {
    let mut sending = Sending::new();
    assert_eq!((sending.expire(), sending.rate()), (2000.0, 1.0));
}

#[test]
fn section_4_4_in_slow_start_the_rate_is_halved_unless_idle_and_slow() {
    // X = 80 = 2 recover_rate, idle: halved. X = 40 < 2 recover_rate, idle: kept. Not idle: halved.
    let mut sending = Sending::started();
    sending.send(150, false);
    sending.answer(200, 40.0, 0.0);
    assert_eq!(sending.rate(), 80.0);
    close(sending.expire(), 200.0 + 400.0, 1e-9);
    assert_eq!(sending.rate(), 40.0);
    close(sending.expire(), 1000.0, 1e-9);
    assert_eq!(sending.rate(), 40.0);
    sending.send(1100, false);
    sending.expire();
    assert_eq!(sending.rate(), 20.0);
}

#[test]
fn section_4_4_where_the_receive_rate_limits_it_is_halved_and_so_is_the_rate() {
    let mut sending = Sending::started();
    let p = 0.0001; // 1224 segments per second by the equation
    for (at, receive_rate) in [(200, 100.0), (300, 100.0), (400, 100.0)] {
        sending.send(at - 50, false);
        sending.answer(at, receive_rate, p);
    }
    assert_eq!(sending.rate(), 200.0);
    sending.send(450, false);
    sending.expire();
    assert_eq!(sending.rate(), 100.0);
    sending.send(850, false);
    sending.expire();
    assert_eq!(sending.rate(), 50.0);
    // Idle, and X_recv = 25 < recover_rate = 40: the rate stays.
    sending.expire();
    assert_eq!(sending.rate(), 50.0);
    // Data and feedback resume: the rate doubles every round trip.
    sending.send(1600, false);
    sending.answer(1700, 50.0, p);
    assert_eq!(sending.rate(), 100.0);
}

#[test]
fn section_4_4_where_the_equation_limits_its_rate_is_halved() {
    let mut sending = Sending::started();
    let equation_rate = Tfrc::default().equation().packets_per_s(0.1, 0.01);
    for at in [200, 300, 400] {
        sending.send(at - 50, false);
        sending.answer(at, 112.0, 0.01);
    }
    close(sending.rate(), equation_rate, 1e-12);
    sending.send(450, false);
    sending.expire();
    close(sending.rate(), equation_rate / 2.0, 1e-12);
}

#[test]
fn section_4_4_no_lower_than_a_packet_in_64_seconds() {
    let mut sending = Sending::started();
    sending.send(150, false);
    sending.answer(200, 10.0, 0.9);
    for _ in 0..50 {
        let now = sending.sender.poll_timeout().as_nanos() / 1_000_000;
        sending.send(now - 1, false);
        sending.expire();
    }
    assert_eq!(sending.rate(), 1.0 / 64.0);
    assert_eq!(
        sending.sender.state().timeout,
        Some(Span::from_millis(128_000))
    );
}
