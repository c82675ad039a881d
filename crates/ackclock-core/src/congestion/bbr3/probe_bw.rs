//! The cycle that probes for bandwidth, and the long-term bound that it adapts (section 5.3.3).

use super::parameters::{ProbeRoundsUnit, TooHigh};
use super::{AckPhase, Control, News, State};
use ackclock_spec::units::{Span, Time};

impl Control {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.cycle.acked_per_increase = f64::INFINITY;
        self.pick_wait();
        self.cycle.start = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.enter(State::Down);
    }

    /// Draws the time to the next probe (`PickProbeWait`).
    fn pick_wait(&mut self) {
        let parameters = &self.parameters;
        self.cycle.rounds_since_up = u64::from(self.stream.uniform() < 0.5);
        let range = parameters.probe_wait_range.as_nanos() as f64;
        let extra = Span::from_nanos((range * self.stream.uniform()) as u64);
        self.cycle.wait = parameters.probe_wait + extra;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.reset_shortterm();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0.0);
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill);
    }

    /// `StartProbeBW_UP`.
    pub(super) fn start_up(&mut self, news: &News) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw(news.sample.rate);
        self.enter(State::Up);
        self.raise_slope();
    }

    /// Moves on in the cycle (`UpdateProbeBWCyclePhase`).
    pub(super) fn follow_cycle(&mut self, news: &News) {
        let acknowledges = news.newly_acked > 0.0;
        if !self.full.reached || !acknowledges || self.adapt_longterm(news) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(news.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(news) => self.enter(State::Cruise),
            State::Refill if self.rounds.start => {
                self.cycle.is_sample = true;
                self.start_up(news);
            }
            State::Up => self.go_down_in_time(news),
            _ => {}
        }
    }

    fn go_down_in_time(&mut self, news: &News) {
        if self.is_time_to_go_down(news) {
            self.cycle.too_high = false;
            self.start_down(news.now);
        }
    }

    /// `IsTimeToProbeBW`, `IsRenoCoexistenceProbeTime`.
    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let target = match self.parameters.probe_rounds_unit {
            ProbeRoundsUnit::Segments => self.target_inflight() / self.mss,
            ProbeRoundsUnit::Bytes => self.target_inflight(),
        };
        let rounds = target.min(self.parameters.probe_rounds as f64);
        now > self.cycle.start + self.cycle.wait || self.cycle.rounds_since_up as f64 >= rounds
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, news: &News) -> bool {
        news.in_flight <= self.inflight_with_headroom() && news.in_flight <= self.inflight(1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, news: &News) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.cycle.too_high && news.in_flight >= longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if news.fills_window && self.cwnd >= longterm {
            self.reset_full_bw(news.sample.rate);
            return false;
        }
        self.full.now
    }

    /// Follows the meaning of ACKs, and adapts the long-term bound (`AdaptLongTermModel`). Returns
    /// true if it has changed the state.
    fn adapt_longterm(&mut self, news: &News) -> bool {
        if self.rounds.start {
            let phase = self.cycle.ack_phase;
            if phase == AckPhase::ProbeStarting {
                self.cycle.ack_phase = AckPhase::ProbeFeedback;
            } else if phase == AckPhase::ProbeStopping && self.end_probe(news) {
                return true;
            }
        }
        if self.is_too_high(&news.sample) {
            let acts = self.parameters.too_high == TooHigh::LossesAndAcks;
            if acts && self.cycle.is_sample {
                self.handle_too_high(news.now, &news.sample);
            }
            return false;
        }
        let longterm = &mut self.bounds.inflight_longterm;
        if longterm.is_finite() {
            *longterm = longterm.max(news.sample.tx_in_flight);
            if self.state == State::Up {
                self.probe_longterm_upward(news);
            }
        }
        false
    }

    /// All ACKs of a probe have arrived. Returns true if another one begins at once.
    fn end_probe(&mut self, news: &News) -> bool {
        self.cycle.is_sample = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !news.sample.limited {
            self.cycle.count += 1;
        }
        let again = self.cycle.precautionary && !self.cycle.too_high;
        if again {
            self.start_refill();
        }
        again
    }

    /// `ProbeInflightLongtermUpward`.
    pub(super) fn probe_longterm_upward(&mut self, news: &News) {
        if !news.fills_window || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked += news.newly_acked;
        if cycle.up_acked >= cycle.acked_per_increase {
            let increases = libm::floor(cycle.up_acked / cycle.acked_per_increase);
            cycle.up_acked -= increases * cycle.acked_per_increase;
            self.bounds.inflight_longterm += increases * self.mss;
        }
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// Doubles the growth of the long-term bound in a round (`RaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self) {
        let growth = (1_u64 << self.cycle.up_rounds) as f64;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(self.parameters.probe_up_rounds);
        self.cycle.acked_per_increase = (self.cwnd / growth).max(self.mss);
    }
}
