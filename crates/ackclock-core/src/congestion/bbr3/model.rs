//! The model of the path: rounds, bandwidth, ACK aggregation, the full pipe, and the bounds by
//! recent losses (sections 5.3.1, 5.3.2 and 5.5).

use super::parameters::StartupLossFlags;
use super::{Control, FullBw, News, State};

impl Control {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest(&mut self, news: &News) {
        let round = &mut self.loss_round;
        round.bw_latest = round.bw_latest.max(news.sample.rate);
        round.inflight_latest = round.inflight_latest.max(news.sample.delivered);
        round.start = news.prior_delivered.is_some_and(|prior| prior >= round.end);
        if round.start {
            round.end = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest(&mut self, news: &News) {
        let round = &mut self.loss_round;
        if round.start {
            round.bw_latest = news.sample.rate;
            round.inflight_latest = news.sample.delivered;
            round.ranges = 0;
        }
    }

    /// Takes in the bandwidth, and adapts the bounds once per round with losses
    /// (`UpdateCongestionSignals`).
    pub(super) fn update_congestion(&mut self, news: &News) {
        self.update_max_bw(news);
        if !self.loss_round.start {
            return;
        }
        if self.loss_round.has_loss && !self.state.probes() {
            self.lower_bounds();
        }
        self.loss_round.has_loss = false;
    }

    /// Lowers the short-term bounds to the latest delivery, but not too far (`InitLowerBounds`,
    /// `LossLowerBounds`).
    fn lower_bounds(&mut self) {
        let (beta, latest) = (self.parameters.beta, &self.loss_round);
        let bw = self.bounds.bw_shortterm;
        let bw = if bw.is_finite() { bw } else { self.max_bw };
        let inflight = self.bounds.inflight_shortterm;
        let inflight = if inflight.is_finite() {
            inflight
        } else {
            self.cwnd
        };
        self.bounds.bw_shortterm = latest.bw_latest.max(beta * bw);
        self.bounds.inflight_shortterm = latest.inflight_latest.max(beta * inflight);
    }

    /// Removes the short-term bounds (`ResetShortTermModel`).
    pub(super) fn reset_shortterm(&mut self) {
        self.bounds.bw_shortterm = f64::INFINITY;
        self.bounds.inflight_shortterm = f64::INFINITY;
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        let round = &mut self.loss_round;
        (round.has_loss, round.bw_latest, round.inflight_latest) = (false, 0.0, 0.0);
    }

    /// `UpdateMaxBw`, `UpdateRound`.
    pub(super) fn update_max_bw(&mut self, news: &News) {
        let rounds = &mut self.rounds;
        rounds.start = news
            .prior_delivered
            .is_some_and(|prior| prior >= rounds.end);
        if rounds.start {
            rounds.end = self.delivered;
            rounds.count += 1;
            self.cycle.rounds_since_up += 1;
        }
        let rate = news.sample.rate;
        if rate > 0.0 && (rate >= self.max_bw || !news.sample.limited) {
            let age = self.parameters.max_bw_filter_len - 1;
            let value = (rate * 8.0) as u64;
            self.max_bw_filter.update(age, self.cycle.count, value);
            self.max_bw = self.max_bw_filter.get() as f64 / 8.0;
        }
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, news: &News) {
        let aggregation = &mut self.aggregation;
        let interval = news.now.since(aggregation.start).as_seconds();
        let mut expected = self.bw * interval;
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.start) = (0.0, news.now);
            expected = 0.0;
        }
        aggregation.delivered += news.newly_acked;
        let extra = (aggregation.delivered - expected).min(self.cwnd);
        let rounds = if self.full.reached {
            self.parameters.extra_acked_filter_len
        } else {
            1
        };
        let count = self.rounds.count;
        aggregation.most.update(rounds - 1, count, extra as u64);
    }

    /// `CheckFullBWReached`.
    pub(super) fn check_full_bw(&mut self, news: &News) {
        let (full, rate) = (&mut self.full, news.sample.rate);
        if full.now || !self.rounds.start || news.sample.limited {
            return;
        }
        if rate >= full.bw * self.parameters.full_bw_growth {
            (full.bw, full.count) = (rate, 0);
            return;
        }
        full.count += 1;
        full.now = full.count >= self.parameters.full_bw_rounds;
        full.reached |= full.now;
    }

    /// Looks for the full pipe anew, above the rate `bw` (`ResetFullBW`).
    pub(super) fn reset_full_bw(&mut self, bw: f64) {
        self.full = FullBw {
            bw,
            reached: self.full.reached,
            ..FullBw::default()
        };
    }

    /// `CheckStartupDone`, `EnterDrain`.
    pub(super) fn check_startup_done(&mut self, news: &News) {
        if self.state != State::Startup {
            return;
        }
        if self.startup_loses_much(news) {
            self.leave_startup_on_losses();
        }
        if self.full.reached {
            self.enter(State::Drain);
            self.drain_start = self.rounds.count;
        }
    }

    /// True if losses show that the pipe is full (section 5.3.1.3).
    fn startup_loses_much(&self, news: &News) -> bool {
        use super::RecoveryPhase::Recovery;
        if self.recovery != Recovery {
            return false;
        }
        if !self.selective_acks {
            return self.loss_round.has_loss;
        }
        let round = news
            .prior_delivered
            .is_some_and(|prior| prior >= self.recovery_start);
        self.loss_round.start
            && round
            && self.loss_round.ranges >= self.parameters.startup_full_loss_count
            && self.is_too_high(&news.sample)
    }

    /// Ends Startup because of losses (section 5.3.1.3).
    pub(super) fn leave_startup_on_losses(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full.reached = true;
        if self.parameters.startup_loss_flags == StartupLossFlags::Both {
            self.full.now = true;
        }
        let product = self.product(1.0);
        self.bounds.inflight_longterm = product.max(self.loss_round.inflight_latest);
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, news: &News) {
        if self.state != State::Drain {
            return;
        }
        let last = self.drain_start + self.parameters.drain_rounds;
        if news.in_flight <= self.inflight(1.0) || self.rounds.count > last {
            self.start_down(news.now);
        }
    }
}
