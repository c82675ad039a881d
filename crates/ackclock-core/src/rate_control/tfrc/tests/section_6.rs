//! The receiver.

use super::super::Tfrc;
use super::super::receiver::TfrcReceiver;
use super::{RTT, SEGMENT, close, ms};
use crate::rate_control::{Arrived, Feedback, RateReceiver};
use ackclock_spec::units::{Span, Time};

/// A receiver, with its answers and their times.
struct Receiving {
    receiver: TfrcReceiver,
    answers: Vec<(Time, Feedback)>,
}

impl Receiving {
    fn new() -> Self {
        Receiving {
            receiver: TfrcReceiver::new(&Tfrc::default()),
            answers: Vec::new(),
        }
    }

    fn poll(&mut self, now: Time) {
        while let Some(feedback) = self.receiver.poll_feedback(now) {
            self.answers.push((now, feedback));
        }
    }

    /// Advances to `now`.
    fn until(&mut self, now: Time) {
        while self.receiver.poll_timeout() <= now {
            let due = self.receiver.poll_timeout();
            self.receiver.handle_timeout(due);
            self.poll(due);
        }
    }

    fn data(&mut self, at: u64, sequence: u64, rtt: Option<Span>, marked: bool) {
        self.until(ms(at));
        let data = Arrived {
            sequence,
            sent_at: ms(at.saturating_sub(50)),
            length: SEGMENT,
            rtt,
            marked,
        };
        self.receiver.on_data(ms(at), &data);
        self.poll(ms(at));
    }

    /// Delivers packets 10 ms apart, number n at 10 n ms.
    fn steady(&mut self, numbers: impl Iterator<Item = u64>) {
        numbers.for_each(|number| self.data(10 * number, number, Some(RTT), false));
    }

    /// Then delivers `count` packets 20 ms apart.
    fn slower(&mut self, first: u64, count: u64) {
        (first..first + count)
            .for_each(|number| self.data(20 * number - 510, number, Some(RTT), false));
    }

    fn times(&self) -> Vec<u64> {
        let times = self.answers.iter();
        times.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    }

    fn last(&self) -> (f64, f64) {
        let report = self.answers.last().unwrap().1.report.unwrap();
        (report.receive_rate, report.loss_event_rate)
    }
}

#[test]
fn section_6_3_the_first_packet_is_answered_at_once_with_zero_rates() {
    let mut receiving = Receiving::new();
    receiving.data(0, 0, Some(RTT), false);
    assert_eq!((receiving.times(), receiving.last()), (vec![0], (0.0, 0.0)));
    assert_eq!(receiving.receiver.poll_timeout(), ms(100));
}

#[test]
fn section_6_3_until_a_packet_says_the_round_trip_time_each_is_answered() {
    let mut receiving = Receiving::new();
    for number in 0..3 {
        receiving.data(1000 * number, number, None, false);
    }
    receiving.data(3000, 3, Some(RTT), false);
    receiving.until(ms(3099));
    assert_eq!(receiving.times(), [0, 1000, 2000]);
    receiving.until(ms(3100));
    assert_eq!(receiving.times(), [0, 1000, 2000, 3100]);
}

#[test]
fn section_6_feedback_once_per_round_trip() {
    let mut receiving = Receiving::new();
    receiving.steady(0..100);
    assert_eq!(
        receiving.times(),
        (0..10).map(|k| 100 * k).collect::<Vec<_>>()
    );
}

#[test]
fn section_6_below_a_packet_per_round_trip_each_is_answered() {
    let mut receiving = Receiving::new();
    for number in 0..5 {
        receiving.data(250 * number, number, Some(RTT), false);
    }
    assert_eq!(receiving.times(), [0, 250, 500, 750, 1000]);
    // Section 6.2: the smallest reported rate is one packet per round trip.
    close(receiving.last().0, 10_000.0, 1e-12);
}

#[test]
fn section_6_2_no_feedback_without_data() {
    let mut receiving = Receiving::new();
    receiving.steady(0..3);
    receiving.until(ms(5000));
    assert_eq!(receiving.times(), [0, 100]);
}

#[test]
fn section_6_2_the_receive_rate_is_that_of_the_last_round_trip() {
    let mut receiving = Receiving::new();
    receiving.steady(0..51);
    close(receiving.last().0, 100_000.0, 1e-12);
    receiving.slower(51, 20);
    close(receiving.last().0, 50_000.0, 1e-12);
}

#[test]
fn section_3_2_2_a_report_says_how_long_its_packet_was_held() {
    let mut receiving = Receiving::new();
    receiving.steady(0..5);
    receiving.until(ms(100));
    let (_, feedback) = receiving.answers[1];
    assert_eq!(
        (feedback.sequence, feedback.held),
        (4, Span::from_millis(60))
    );
    assert_eq!(
        feedback.rtt(ms(150)),
        Span::from_millis(100 - 10),
        "50 ms there, or 40 for the first ones"
    );
}

#[test]
fn section_6_1_a_new_loss_event_is_reported_at_once_over_a_whole_round_trip() {
    let mut receiving = Receiving::new();
    receiving.steady((0..50).filter(|number| *number != 42));
    // Packet 42 is found lost when 45 arrives, 50 ms after the timer expired. The timer next
    // expires one round trip later.
    assert_eq!(receiving.times()[4..], [400, 450]);
    let (receive_rate, p) = receiving.last();
    assert!(p > 0.0);
    close(receive_rate, 90_000.0, 1e-12);
    receiving.steady(50..60);
    assert_eq!(receiving.times()[5..], [450, 550]);
}

#[test]
fn section_6_1_more_losses_of_the_same_event_are_not() {
    let mut receiving = Receiving::new();
    receiving.steady((0..60).filter(|number| ![42, 44, 46].contains(number)));
    assert_eq!(receiving.times()[4..], [400, 470, 570]);
}

#[test]
fn section_6_a_late_packet_that_removes_a_loss_event_is_reported_at_once() {
    let mut receiving = Receiving::new();
    receiving.steady((0..47).filter(|number| *number != 42));
    receiving.data(467, 42, Some(RTT), false);
    assert_eq!(receiving.times()[4..], [400, 450, 467]);
    assert_eq!(receiving.last().1, 0.0);
}

#[test]
fn section_6_1_a_mark_is_reported_at_once() {
    let mut receiving = Receiving::new();
    receiving.steady(0..43);
    receiving.data(430, 43, Some(RTT), true);
    assert_eq!(receiving.times()[4..], [400, 430]);
    assert_eq!(receiving.answers.last().unwrap().1.marked, 1);
}

#[test]
fn section_6_3_1_the_first_interval_gives_the_largest_rate_that_arrived() {
    let mut receiving = Receiving::new();
    receiving.steady(0..51);
    // The sender slows down before the loss: X_target is not the latest rate.
    receiving.slower(51, 20);
    for number in 72..75 {
        receiving.data(20 * number - 510, number, Some(RTT), false);
    }
    let (_, p) = receiving.last();
    let rate = Tfrc::default().equation().packets_per_s(0.1, p);
    assert!((95.0..=105.0).contains(&rate), "{rate} instead of 100");
    // Section 6.3.1: the reported receive rate is the actual one.
    assert!(receiving.last().0 < 60_000.0);
}

#[test]
fn section_6_3_1_a_lost_first_packet_leaves_half_a_packet_per_round_trip() {
    let mut lost = Receiving::new();
    lost.steady(1..4);
    let mut marked = Receiving::new();
    marked.data(0, 0, Some(RTT), true);
    for receiving in [lost, marked] {
        let (_, p) = receiving.last();
        close(Tfrc::default().equation().packets_per_s(0.1, p), 5.0, 1e-9);
    }
}
