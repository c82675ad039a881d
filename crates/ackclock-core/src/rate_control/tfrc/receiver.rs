//! The receiver's half (RFC 5348 section 6).

use super::Tfrc;
use super::loss_history::{Change, LossHistory};
use super::receive_rate::ReceiveRate;
use crate::rate_control::equation::tfrc::Equation;
use crate::rate_control::{Arrived, Feedback, RateReceiver, Received, Report, SHORTEST_RTT};
use ackclock_spec::units::{Span, Time};

/// Measures loss and the receive rate. Reports once per round trip, and at once when a new loss
/// event raises p. The sender-based variant runs it at the sender, on the receiver's
/// acknowledgements.
#[derive(Debug)]
pub struct TfrcReceiver {
    equation: Equation,
    history: LossHistory,
    receive_rate: ReceiveRate,
    /// X_target: the largest X_recv so far, in packets per second, which does not depend on s.
    target: f64,
    /// R_m: the round-trip time carried by the packet with the highest number that carries one, and
    /// that number.
    rtt: Option<(Span, u64)>,
    /// R_(m−1): R_m when the timer expired last.
    measured_over: Span,
    /// The last packet to arrive: number, sending time and arrival time.
    last: Option<(u64, Time, Time)>,
    /// Feedback timer; never before a packet carries R, or after an expiry without new data.
    timer: Time,
    /// True if a packet has arrived since the last feedback.
    news: bool,
    /// True if the timer expired last without feedback.
    silent: bool,
    /// p_prev: the last computed p.
    p: f64,
    marked: u64,
    due: Option<Feedback>,
}

/// R assumed for losses found before any packet carries R: the sender then sends one packet per
/// second.
const UNKNOWN_RTT: Span = Span::from_millis(1000);

/// Rate allowed to a sender whose very first packet is lost, in packets per round trip; also the
/// minimum of X_target (section 6.3.1).
const AFTER_NULL_INTERVAL: f64 = 0.5;

impl TfrcReceiver {
    /// A receiver before the first packet.
    pub fn new(parameters: &Tfrc) -> Self {
        TfrcReceiver {
            equation: parameters.equation(),
            history: LossHistory::new(parameters.duplicate_threshold, parameters.weighing()),
            receive_rate: ReceiveRate::default(),
            target: 0.0,
            rtt: None,
            measured_over: Span::ZERO,
            last: None,
            timer: Time::NEVER,
            news: false,
            silent: false,
            p: 0.0,
            marked: 0,
            due: None,
        }
    }

    /// Processes an arrival, or its acknowledgement at a sender that measures. `at` is the time
    /// that separates losses: of arrival or of sending.
    pub fn take(&mut self, now: Time, at: Time, data: &Arrived) {
        let is_first = self.last.is_none();
        if self.silent {
            // X_recv is at least one packet per round trip, however long there was none (section
            // 6.2).
            self.receive_rate.restart(now);
        }
        self.last = Some((data.sequence, data.sent_at, now));
        self.news = true;
        self.marked += u64::from(data.marked);
        self.hear_rtt(data);
        let rtt = self.rtt.map_or(UNKNOWN_RTT, |(rtt, _)| rtt);
        self.receive_rate.on_arrival(now, data.length, rtt);
        let (equation, target) = (self.equation, self.target);
        let first_interval = |null| first_interval(equation, rtt, if null { 0.0 } else { target });
        let change = self
            .history
            .on_arrival(at, data.sequence, data.marked, rtt, &first_interval);
        if is_first || self.rtt.is_none() {
            self.answer(now, 0.0); // section 6.3
            self.receive_rate.restart(now);
        }
        if self.timer.is_never() && !self.silent && self.rtt.is_some() {
            self.restart(now);
        }
        if !is_first {
            self.check_if_done(now, change);
        }
    }

    /// Updates R with the sender's latest estimate.
    fn hear_rtt(&mut self, data: &Arrived) {
        let is_later = self.rtt.is_none_or(|(_, number)| number <= data.sequence);
        if let (Some(rtt), true) = (data.rtt, is_later) {
            self.rtt = Some((rtt.max(SHORTEST_RTT), data.sequence));
        }
    }

    /// Applies section 6.1, steps 2 to 4.
    fn check_if_done(&mut self, now: Time, change: Change) {
        let is_ready = self.silent || !self.timer.is_never() && (change.begun || change.removed);
        if !is_ready {
            return;
        }
        let p = self.history.loss_event_rate();
        if p > self.p || change.removed || self.silent {
            self.expire(now);
        }
        self.p = p;
    }

    /// Handles the feedback timer (section 6.2). The section restarts the timer also without new
    /// data. Such expiries have no effect, and the next packet is answered at once (section 6.1
    /// step 4).
    fn expire(&mut self, now: Time) {
        self.silent = !self.news;
        if self.silent {
            self.timer = Time::NEVER;
            return;
        }
        let measured = self.receive_rate.expire(now, self.measured_over);
        self.target = self.target.max(measured.packets_per_s);
        self.answer(now, measured.bytes_per_s);
        self.restart(now);
    }

    fn restart(&mut self, now: Time) {
        let rtt = self.rtt.map_or(UNKNOWN_RTT, |(rtt, _)| rtt);
        self.measured_over = rtt;
        self.receive_rate.restart(now);
        self.timer = now + rtt;
    }

    fn answer(&mut self, now: Time, receive_rate: f64) {
        let Some((sequence, sent_at, arrived_at)) = self.last else {
            return;
        };
        self.news = false;
        self.p = self.history.loss_event_rate();
        self.due = Some(Feedback {
            sequence,
            echo: sent_at,
            held: now.since(arrived_at),
            received: Received::default(),
            marked: self.marked,
            report: Some(Report {
                receive_rate,
                loss_event_rate: self.p,
            }),
        });
    }

    /// Returns the loss history.
    pub const fn history(&self) -> &LossHistory {
        &self.history
    }
}

/// Returns the first loss interval, in packets, at which the equation gives the receive rate
/// `target`, in packets per second (section 6.3.1).
fn first_interval(equation: Equation, rtt: Span, target: f64) -> f64 {
    let seconds = rtt.as_seconds();
    1.0 / equation.loss_event_rate(seconds, target.max(AFTER_NULL_INTERVAL / seconds))
}

impl RateReceiver for TfrcReceiver {
    fn on_data(&mut self, now: Time, data: &Arrived) {
        self.take(now, now, data);
    }

    fn poll_timeout(&self) -> Time {
        self.timer
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.timer <= now {
            self.expire(now);
        }
    }

    fn poll_feedback(&mut self, now: Time) -> Option<Feedback> {
        let mut feedback = self.due.take()?;
        if let Some((_, _, arrived_at)) = self.last {
            feedback.held = now.since(arrived_at);
        }
        Some(feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::units::Bytes;

    /// RFC 5348 section 6.3 requires an answer to each packet until one carries R. The memory must
    /// stay bounded if the sender never sends R.
    #[test]
    fn without_a_round_trip_time_little_is_remembered() {
        let mut receiver = TfrcReceiver::new(&Tfrc::default());
        for sequence in 0..10_000 {
            let now = Time::from_nanos(sequence * 1_000_000);
            let data = Arrived {
                sequence,
                sent_at: now,
                length: Bytes(1000),
                rtt: None,
                marked: false,
            };
            receiver.on_data(now, &data);
            assert!(receiver.poll_feedback(now).is_some());
        }
        // Two seconds of one packet per millisecond.
        assert!(receiver.receive_rate.remembered() <= 2 * 1000 + 2);
    }
}
