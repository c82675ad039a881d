//! The smallest round-trip time, and the state that measures it without a queue (section 5.3.4).

use super::parameters::{MinRttOnProbe, MinRttRefresh};
use super::{AckPhase, Control, News, State};
use ackclock_spec::units::{Span, Time};

impl Control {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, news: &News) {
        let (now, parameters) = (news.now, &self.parameters);
        let is_new = |rtt: Span, least: Option<Span>| match parameters.min_rtt_refresh {
            MinRttRefresh::Lower => least.is_none_or(|least| rtt < least),
            MinRttRefresh::NotHigher => least.is_none_or(|least| rtt <= least),
        };
        let min = &mut self.min_rtt;
        min.expired = now > min.recent_at + parameters.probe_rtt_interval;
        if let Some(rtt) = news.rtt
            && (min.expired || is_new(rtt, min.recent))
        {
            (min.recent, min.recent_at) = (Some(rtt), now);
        }
        let is_saved = parameters.min_rtt_on_probe == MinRttOnProbe::Saved
            && (min.expired || self.state == State::ProbeRtt);
        let expired = !is_saved && now > min.at + parameters.min_rtt_filter_len;
        if let Some(recent) = min.recent
            && (expired || is_new(recent, min.value))
        {
            (min.value, min.at) = (Some(recent), min.recent_at);
        }
    }

    /// `CheckProbeRTT`, `EnterProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, news: &News) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.enter(State::ProbeRtt);
            self.save_cwnd();
            self.min_rtt.done_at = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(news);
        }
        if news.newly_acked > 0.0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, news: &News) {
        if self.min_rtt.done_at.is_none() {
            if news.in_flight <= self.probe_rtt_cwnd() {
                self.min_rtt.done_at = Some(news.now + self.parameters.probe_rtt_duration);
                self.min_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.start;
        if self.min_rtt.round_done {
            self.check_probe_rtt_done(news.now);
        }
    }

    /// Leaves ProbeRTT if it has lasted long enough (`CheckProbeRTTDone`, `ExitProbeRTT`).
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.min_rtt.done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.recent_at = now;
        self.restore_cwnd();
        self.reset_shortterm();
        if self.full.reached {
            self.start_down(now);
            self.enter(State::Cruise);
        } else {
            self.enter(State::Startup);
        }
    }
}
