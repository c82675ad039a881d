//! The sender: rounds, the log, and the rate of the next round.
//!
//! Symbols of the paper: r is the rate, M the length of a round, x the packets found to have
//! arrived in it, y those found lost, p = y/(x + y). B is the timeout without back-off, j the
//! smallest unknown number, l the last number sent, and a the highest acknowledged one.

use super::rounds::Rounds;
use super::{GrowthLimit, RttSamples, Tfrcp};
use crate::endpoint::RttEstimator;
use crate::endpoint::parameters::TimerParameters;
use crate::rate_control::equation::pftk::Pftk;
use crate::rate_control::log::{Log, News};
use crate::rate_control::{Clocking, DatagramSent, Feedback, RateContext, RateControl, RateState};
use ackclock_spec::units::{Bytes, Span, Time};

/// The largest rate, in packets per second: one per nanosecond, the resolution of times.
const FASTEST: f64 = 1e9;

/// Counts of a round. A packet counts once, in the round in which the log settles it as arrived or
/// lost. Neither a shrinking timeout nor an unknown packet below settled ones counts a packet
/// twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    /// 0, 1, 2, …
    pub number: u64,
    pub start: Time,
    /// t_i: end of the round.
    pub end: Time,
    /// r: rate, in packets per second.
    pub rate: f64,
    pub sent: u64,
    /// x: packets found to have arrived.
    pub received: u64,
    /// y: packets found lost.
    pub lost: u64,
    /// Packets found to have arrived with Congestion Experienced.
    pub marked: u64,
    /// True if the application, not the rate, limited the round.
    data_limited: bool,
}

impl Round {
    fn new(number: u64, start: Time, length: Span, rate: f64) -> Self {
        Round {
            number,
            start,
            end: start + length,
            rate,
            sent: 0,
            received: 0,
            lost: 0,
            marked: 0,
            data_limited: false,
        }
    }

    /// M, in seconds.
    fn length(&self) -> f64 {
        self.end.since(self.start).as_seconds()
    }

    /// Returns p, if any packet was settled. A mark counts as a loss (RFC 3168 section 5), but as
    /// an arrival for the acknowledged rate.
    pub fn loss_rate(&self) -> Option<f64> {
        let (settled, bad) = (self.received + self.lost, self.lost + self.marked);
        (settled + bad > 0).then(|| (bad as f64 / settled.max(bad) as f64).min(1.0))
    }
}

/// The sender's half of TFRCP.
#[derive(Debug)]
pub(super) struct TfrcpSender {
    rounds: Rounds,
    growth_limit: GrowthLimit,
    rtt_samples: RttSamples,
    packets_per_ack: f64,
    /// Wmax, in packets.
    window: f64,
    mss: Bytes,
    rtt: RttEstimator,
    next_rtt_sample: Time,
    log: Log,
    /// One more than a, the highest acknowledged number.
    arrived: u64,
    marked: u64,
    origin: Time,
    round: Round,
    /// True if the length of the round waits for the first round-trip sample.
    length_is_open: bool,
    /// The previous round.
    pub(super) last: Option<Round>,
    mode: &'static str,
    /// p of the last round with a settled packet.
    loss_rate: f64,
    lost: u64,
    spurious: u64,
    timeouts: u64,
}

impl TfrcpSender {
    pub fn new(parameters: &Tfrcp, context: &RateContext<'_>) -> Self {
        let mss = Bytes(context.mss.0.max(1));
        let window = parameters.receive_window.bytes(mss);
        let timer = TimerParameters {
            rto_initial: parameters.rto_initial,
            rto_minimum: parameters.rto_minimum,
            rto_maximum: TimerParameters::RFC_6298
                .rto_maximum
                .max(parameters.rto_initial)
                .max(parameters.rto_minimum),
            ..TimerParameters::RFC_6298
        };
        TfrcpSender {
            rounds: Rounds::new(parameters, context.place),
            growth_limit: parameters.growth_limit,
            rtt_samples: parameters.rtt_samples,
            packets_per_ack: parameters.packets_per_ack,
            window: window.map_or(f64::INFINITY, |bytes| {
                (bytes.as_f64() / mss.as_f64()).max(1.0)
            }),
            mss,
            rtt: RttEstimator::new(&timer),
            next_rtt_sample: Time::ZERO,
            log: Log::default(),
            arrived: 0,
            marked: 0,
            origin: Time::NEVER,
            round: Round::new(
                0,
                Time::NEVER,
                Span::ZERO,
                parameters.initial_rate.0.min(FASTEST),
            ),
            length_is_open: false,
            last: None,
            mode: "initial",
            loss_rate: f64::NAN,
            lost: 0,
            spurious: 0,
            timeouts: 0,
        }
    }

    /// Begins a round. It is long enough for one packet, since a round without packets brings no
    /// information. If rounds are short, it is at most as long as the timeout.
    fn begin(&mut self, number: u64, start: Time, rate: f64) {
        let length = self.rounds.length(self.rtt.smoothed());
        self.length_is_open = length.is_none();
        let length = length.unwrap_or(self.rtt.rto());
        let gap = Span::from_seconds(1.0 / rate).min(self.rtt.rto());
        let length = length.max(gap);
        self.round = Round::new(number, start, length, rate.max(1.0 / length.as_seconds()));
    }

    fn lose(&mut self, number: u64) -> bool {
        let news = self.log.lose(number);
        self.lost += u64::from(news);
        self.round.lost += u64::from(news);
        news
    }

    /// Settles overdue packets as lost. Packets j..a are lost because a later one was reported, and
    /// j..l if their time is over. The second rule matters if nothing comes back, when the first
    /// range is empty.
    fn settle(&mut self) {
        let (first, next, end) = (self.log.unknown(), self.log.next(), self.round.end);
        for number in first..self.arrived.min(next) {
            self.lose(number);
        }
        let mut timed_out = false;
        for number in self.arrived.max(first)..next {
            let over = self.log.limit(number).is_some_and(|limit| limit < end);
            timed_out |= over && self.lose(number);
        }
        self.timeouts += u64::from(timed_out);
    }

    /// Returns r of the next round. A round without settled packets (M < B, or none sent) leaves
    /// the rate unchanged.
    fn next_rate(&mut self) -> f64 {
        let (round, rtt) = (self.round, self.rtt.smoothed().unwrap_or(self.rtt.rto()));
        let rtt = rtt.as_seconds();
        let Some(p) = round.loss_rate() else {
            self.mode = "unchanged";
            return round.rate;
        };
        self.loss_rate = p;
        let wanted = if p == 0.0 {
            self.mode = "doubling";
            (2.0 * round.rate).min(self.window / rtt)
        } else {
            self.mode = "equation";
            let connection = Pftk {
                rtt,
                timeout: self.rtt.rto().as_seconds(),
                window: self.window,
                packets_per_ack: self.packets_per_ack,
            };
            connection.full(p)
        };
        wanted.min(self.growth_limit()).min(FASTEST)
    }

    /// Returns the largest rate to which the next round may grow.
    fn growth_limit(&self) -> f64 {
        let round = &self.round;
        let twice = |packets: u64| 2.0 * packets as f64 / round.length();
        let mut limit = f64::INFINITY;
        if round.data_limited {
            limit = twice(round.sent);
        }
        if self.growth_limit == GrowthLimit::Acknowledged {
            limit = limit.min(twice(round.received));
        }
        limit.max(round.rate)
    }
}

impl RateControl for TfrcpSender {
    fn start(&mut self, now: Time) {
        self.origin = now;
        self.begin(0, now, self.round.rate);
    }

    fn on_sent(&mut self, now: Time, sent: &DatagramSent) {
        self.log.push(now + self.rtt.rto());
        self.round.sent += 1;
        self.round.data_limited |= sent.data_limited;
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        if feedback.sequence >= self.log.next() {
            return; // feedback on a packet that was never sent
        }
        if now >= self.next_rtt_sample {
            self.rtt.sample(feedback.rtt(now));
            if self.rtt_samples == RttSamples::OncePerRtt {
                self.next_rtt_sample = now + self.rtt.smoothed().unwrap_or(Span::ZERO);
            }
        }
        for number in feedback.received.numbers(feedback.sequence) {
            match self.log.receive(number) {
                News::Received => self.round.received += 1,
                News::SpuriousLoss => self.spurious += 1,
                News::Nothing => {}
            }
        }
        self.arrived = self.arrived.max(feedback.sequence + 1);
        // At most the number of packets sent, whatever the receiver reports.
        let marked = feedback.marked.min(self.log.next()).max(self.marked);
        self.round.marked += marked - self.marked;
        self.marked = marked;
        if self.length_is_open
            && let Some(length) = self.rounds.length(self.rtt.smoothed())
        {
            self.length_is_open = false;
            self.round.end = (self.round.start + length).max(now);
        }
    }

    fn poll_timeout(&self) -> Time {
        self.round.end
    }

    fn handle_timeout(&mut self, now: Time) {
        let end = self.round.end;
        if now < end {
            return;
        }
        self.settle();
        let rate = self.next_rate();
        self.last = Some(self.round);
        self.begin(self.round.number + 1, end, rate);
        if self.round.end <= now {
            // The timeout came a whole round late: the time without a decision is not a round.
            let length = self.round.end.since(end);
            (self.round.start, self.round.end) = (now, now + length);
        }
    }

    fn clocking(&self) -> Clocking {
        Clocking {
            origin: self.origin,
            packets_per_s: self.round.rate,
        }
    }

    fn round(&self) -> Span {
        self.round.end.since(self.round.start)
    }

    fn state(&self) -> RateState {
        RateState {
            rate: self.round.rate * self.mss.as_f64(),
            loss_event_rate: self.loss_rate,
            mode: self.mode,
            lost: Some(self.lost),
            spurious_losses: Some(self.spurious),
            timeouts: self.timeouts,
            rtt: self.rtt.latest(),
            smoothed_rtt: self.rtt.smoothed(),
            timeout: Some(self.rtt.rto()),
        }
    }
}
