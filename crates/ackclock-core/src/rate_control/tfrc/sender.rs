//! The sender's half (RFC 5348 section 4).

use super::limited::NotLimited;
use super::measuring::Measuring;
use super::receive_rate::ReceiveRateSet;
use super::{LossMeasured, SegmentSize, Tfrc};
use crate::rate_control::equation::tfrc::Equation;
use crate::rate_control::{
    Clocking, DatagramSent, Feedback, RateControl, RateState, Report, SLOWEST,
};
use ackclock_spec::units::{Bytes, Span, Time};

/// Nofeedback timer before the first round-trip time (section 4.2, appendix B).
const FIRST_TIMEOUT: Span = Span::from_millis(2000);

/// Upper limit on X_recv, in bytes per second, so that all sums stay finite.
const FASTEST: f64 = 1e18;

/// Share of X_recv that counts after a loss in a data-limited interval (section 4.3 step 4).
const LOST_WHILE_LIMITED: f64 = 0.85;

/// Quantities known after the first feedback.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// R: mean round-trip time, in seconds.
    mean: f64,
    /// R_sample: last round-trip time, in seconds.
    sample: f64,
    /// R_sqmean: mean of the square root of the round-trip time.
    root_mean: f64,
    /// initial_rate = W_init / R at the first sample, in bytes per second.
    initial_rate: f64,
}

/// The sender, in the RFC's symbols; rates are in bytes per second.
#[derive(Debug)]
pub struct TfrcSender {
    parameters: Tfrc,
    equation: Equation,
    mss: Bytes,
    origin: Time,
    /// s: segment size, in bytes.
    segment: f64,
    packets: u64,
    /// X: allowed rate.
    rate: f64,
    /// X_Bps: rate of the equation; infinite before a loss.
    equation_rate: f64,
    /// tld: time of the last doubling.
    last_doubled: Time,
    round_trip: Option<RoundTrip>,
    receive_rates: ReceiveRateSet,
    /// p: loss event rate.
    loss_event_rate: f64,
    /// RTO, and the expiry of the nofeedback timer.
    timeout: Span,
    nofeedback: Time,
    /// True if nothing has been sent since that timer was set.
    idle: bool,
    not_limited: NotLimited,
    timeouts: u64,
    /// The receiver's half, in the sender-based variant.
    measuring: Option<Measuring>,
}

impl TfrcSender {
    /// A sender before the start.
    pub fn new(parameters: Tfrc, mss: Bytes) -> Self {
        let measuring = match parameters.loss_measured_by {
            LossMeasured::Sender => Some(Measuring::new(&parameters)),
            LossMeasured::Receiver => None,
        };
        TfrcSender {
            equation: parameters.equation(),
            measuring,
            origin: Time::NEVER,
            segment: mss.as_f64().max(1.0),
            packets: 0,
            rate: mss.as_f64().max(1.0), // section 4.2: one packet per second
            equation_rate: f64::INFINITY,
            last_doubled: Time::ZERO,
            round_trip: None,
            receive_rates: ReceiveRateSet::new(Time::ZERO),
            loss_event_rate: 0.0,
            timeout: FIRST_TIMEOUT,
            nofeedback: Time::NEVER,
            idle: true,
            not_limited: NotLimited::default(),
            timeouts: 0,
            parameters,
            mss,
        }
    }

    fn slowest(&self) -> f64 {
        self.segment * SLOWEST
    }

    /// W_init (section 4.2, RFC 3390).
    fn initial_window(&self) -> f64 {
        let mss = self.mss.0;
        let of_rfc_3390 = (4 * mss).min((2 * mss).max(4380));
        self.parameters
            .initial_window
            .unwrap_or(Bytes(of_rfc_3390))
            .as_f64()
    }

    /// Returns max(4 R, 2 s/X).
    fn reckon_timeout(&self, rtt: f64) -> Span {
        Span::from_seconds((4.0 * rtt).max(2.0 * self.segment / self.rate))
    }

    fn restart_timer(&mut self, now: Time) {
        self.nofeedback = now + self.timeout;
        self.idle = true;
    }

    /// Updates the round-trip time by section 4.3, steps 1 and 2, and the mean of section 4.5.
    fn measure(&mut self, sample: Span) -> RoundTrip {
        let sample = sample.as_seconds();
        let root = libm::sqrt(sample);
        let q = self.parameters.rtt_filter;
        let round_trip = match self.round_trip {
            None => RoundTrip {
                mean: sample,
                sample,
                root_mean: root,
                initial_rate: self.initial_window() / sample,
            },
            Some(before) => RoundTrip {
                mean: q * before.mean + (1.0 - q) * sample,
                sample,
                root_mean: q * before.root_mean + (1.0 - q) * root,
                ..before
            },
        };
        self.round_trip = Some(round_trip);
        round_trip
    }

    /// Processes feedback by section 4.3. The first one only gives the round-trip time (section
    /// 4.2).
    fn take(&mut self, now: Time, feedback: &Feedback, report: Report) {
        let is_first = self.round_trip.is_none();
        let round_trip = self.measure(feedback.rtt(now));
        self.timeout = self.reckon_timeout(round_trip.mean);
        let increased = report.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = report.loss_event_rate.clamp(0.0, 1.0);
        if is_first {
            self.last_doubled = now;
            self.rate = round_trip.initial_rate;
            self.receive_rates = ReceiveRateSet::new(feedback.echo);
        } else {
            let receive_rate = report.receive_rate.clamp(0.0, FASTEST);
            let limit = self.receive_limit(now, feedback.echo, receive_rate, increased);
            self.allow(now, limit, round_trip);
        }
        self.restart_timer(now);
    }

    /// Returns recv_limit (section 4.3 step 4).
    fn receive_limit(
        &mut self,
        now: Time,
        sent_at: Time,
        receive_rate: f64,
        increased: bool,
    ) -> f64 {
        let rtt = self.carried_rtt().unwrap_or_default();
        let only_limited = self.not_limited.covers_only_limited(sent_at, rtt);
        if !only_limited || receive_rate == 0.0 {
            self.receive_rates.update(now, receive_rate, rtt);
            return 2.0 * self.receive_rates.largest();
        }
        if increased {
            self.receive_rates.halve();
            self.receive_rates
                .maximize(now, LOST_WHILE_LIMITED * receive_rate);
            return self.receive_rates.largest();
        }
        self.receive_rates.maximize(now, receive_rate);
        2.0 * self.receive_rates.largest()
    }

    /// Sets X, the second half of step 4.
    fn allow(&mut self, now: Time, limit: f64, round_trip: RoundTrip) {
        let rtt = round_trip.mean;
        if self.loss_event_rate > 0.0 {
            self.equation_rate =
                self.segment * self.equation.packets_per_s(rtt, self.loss_event_rate);
            self.rate = self.equation_rate.min(limit).max(self.slowest());
        } else if now.since(self.last_doubled) >= Span::from_seconds(rtt) {
            self.rate = (2.0 * self.rate).min(limit).max(round_trip.initial_rate);
            self.last_doubled = now;
        }
    }

    /// Handles expiry of the nofeedback timer (section 4.4).
    fn expire(&mut self, now: Time) {
        self.timeouts += 1;
        match self.round_trip {
            Some(round_trip) if !self.is_slow_and_idle(round_trip) => {
                self.back_off(now, round_trip)
            }
            Some(_) => {}
            // Nothing was sent, so no answer is missing, and there is no rate to recover yet.
            None if self.idle => {}
            None => self.rate = (self.rate / 2.0).max(self.slowest()),
        }
        let rtt = self.round_trip.map_or(0.0, |round_trip| round_trip.mean);
        self.timeout = self.reckon_timeout(rtt);
        self.restart_timer(now);
    }

    /// True if the sender is idle and slow: idle time does not reduce the rate below recover_rate,
    /// which is initial_rate.
    fn is_slow_and_idle(&self, round_trip: RoundTrip) -> bool {
        let recover_rate = round_trip.initial_rate;
        let is_slow = if self.loss_event_rate > 0.0 {
            self.receive_rates.largest() < recover_rate
        } else {
            self.rate < 2.0 * recover_rate
        };
        is_slow && self.idle
    }

    /// Halves the rate through the quantity that limits it.
    fn back_off(&mut self, now: Time, round_trip: RoundTrip) {
        let receive_rate = self.receive_rates.largest();
        if self.loss_event_rate == 0.0 {
            self.rate = (self.rate / 2.0).max(self.slowest());
        } else if self.equation_rate > 2.0 * receive_rate {
            self.update_limits(now, receive_rate, round_trip);
        } else {
            self.update_limits(now, self.equation_rate / 2.0, round_trip);
        }
    }

    /// Update_Limits of the RFC.
    fn update_limits(&mut self, now: Time, timer_limit: f64, round_trip: RoundTrip) {
        let timer_limit = timer_limit.max(self.slowest());
        self.receive_rates.replace(now, timer_limit / 2.0);
        self.allow(now, timer_limit, round_trip);
    }

    /// Returns X_inst (section 4.5).
    fn instantaneous_rate(&self) -> f64 {
        match self.round_trip {
            Some(round_trip) if self.parameters.damping => {
                let damped = self.rate * round_trip.root_mean / libm::sqrt(round_trip.sample);
                damped.max(self.slowest())
            }
            _ => self.rate,
        }
    }

    /// Processes the feedback of the sender's own measurements.
    fn take_own(&mut self, now: Time) {
        while let Some(feedback) = self.measuring.as_mut().and_then(|own| own.poll(now)) {
            if let Some(report) = feedback.report {
                self.take(now, &feedback, report);
            }
        }
    }

    fn mode(&self) -> &'static str {
        match self.round_trip {
            None => "no_rtt",
            Some(_) if self.loss_event_rate == 0.0 => "slow_start",
            Some(_) if self.rate < self.equation_rate => "receive_limited",
            Some(_) => "equation",
        }
    }
}

impl RateControl for TfrcSender {
    fn start(&mut self, now: Time) {
        self.origin = now;
        self.restart_timer(now);
    }

    fn on_sent(&mut self, now: Time, sent: &DatagramSent) {
        self.idle = false;
        self.packets += 1;
        if self.parameters.segment_size == SegmentSize::Mean {
            // The mean of all packets at first, later of about the last four loss intervals
            // (section 4.1).
            let weight = (self.loss_event_rate / 4.0).max(1.0 / self.packets as f64);
            self.segment += weight * (sent.length.as_f64() - self.segment);
            self.segment = self.segment.max(1.0);
        }
        self.not_limited.on_sent(now, sent.data_limited);
        if let Some(own) = &mut self.measuring {
            own.on_sent(now, sent);
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        if feedback.sequence >= self.packets {
            return; // feedback on a packet that was never sent
        }
        let rtt = self.carried_rtt();
        match (&mut self.measuring, feedback.report) {
            (Some(own), _) => {
                own.on_feedback(now, feedback, rtt);
                self.take_own(now);
            }
            (None, Some(report)) if !report.loss_event_rate.is_nan() => {
                self.take(now, feedback, report)
            }
            (None, _) => {}
        }
    }

    fn poll_timeout(&self) -> Time {
        let own = self
            .measuring
            .as_ref()
            .map_or(Time::NEVER, Measuring::timer);
        self.nofeedback.min(own)
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(own) = &mut self.measuring {
            own.handle_timeout(now);
            self.take_own(now);
        }
        if self.nofeedback <= now {
            self.expire(now);
        }
    }

    fn clocking(&self) -> Clocking {
        Clocking {
            origin: self.origin,
            packets_per_s: self.instantaneous_rate() / self.segment,
        }
    }

    fn carried_rtt(&self) -> Option<Span> {
        self.round_trip
            .map(|round_trip| Span::from_seconds(round_trip.mean))
    }

    fn state(&self) -> RateState {
        let losses = self.measuring.as_ref().map(Measuring::losses);
        RateState {
            rate: self.instantaneous_rate(),
            loss_event_rate: self.round_trip.map_or(f64::NAN, |_| self.loss_event_rate),
            mode: self.mode(),
            lost: losses.map(|(lost, _)| lost),
            spurious_losses: losses.map(|(_, spurious)| spurious),
            timeouts: self.timeouts,
            rtt: self
                .round_trip
                .map(|round_trip| Span::from_seconds(round_trip.sample)),
            smoothed_rtt: self.carried_rtt(),
            timeout: Some(self.timeout),
        }
    }
}
