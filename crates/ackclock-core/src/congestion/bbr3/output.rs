//! Pacing rate, burst and window (section 5.6).

use super::parameters::{DrainBounds, ProbeRttWindow};
use super::{Control, LARGEST, News, State};
use ackclock_spec::units::Span;

impl Control {
    /// `InitPacingRate`.
    pub(super) fn pace_initially(&mut self, rtt: Span) {
        let seconds = rtt.max(Span::from_nanos(1)).as_seconds();
        self.pacing = self.parameters.startup_pacing_gain * self.initial_window / seconds;
        self.set_send_quantum();
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_pacing(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.parameters.pacing_margin / 100.0);
        if self.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// `SetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self) {
        let parameters = &self.parameters;
        let quantum = self.pacing * parameters.send_quantum_time.as_seconds();
        let least = parameters.send_quantum_least as f64 * self.mss;
        self.send_quantum = quantum
            .min(parameters.send_quantum_most.as_f64())
            .max(least);
    }

    /// Returns bandwidth times smallest round-trip time times gain (`BDPMultiple`).
    pub(super) fn product(&self, gain: f64) -> f64 {
        match self.min_rtt.value {
            Some(rtt) => gain * self.bw * rtt.as_seconds(),
            None => self.initial_window,
        }
    }

    /// Adds what bursts and pipelining need (`QuantizationBudget`).
    fn with_bursts(&self, volume: f64) -> f64 {
        let bursts = self.parameters.offload_budget as f64 * self.send_quantum;
        let volume = volume.max(bursts).max(self.min_pipe_cwnd());
        if self.state == State::Up {
            volume + 2.0 * self.mss
        } else {
            volume
        }
    }

    fn min_pipe_cwnd(&self) -> f64 {
        self.parameters.min_pipe_cwnd as f64 * self.mss
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.with_bursts(self.product(gain))
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> f64 {
        self.product(1.0).min(self.cwnd)
    }

    /// Returns the long-term bound less the share that is left to others
    /// (`InflightWithHeadroom`).
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.bounds.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = self.mss.max(self.parameters.headroom * longterm);
        (longterm - headroom).max(self.min_pipe_cwnd())
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        let least = self.min_pipe_cwnd();
        match self.parameters.probe_rtt_window {
            ProbeRttWindow::HalfProduct => {
                self.product(self.parameters.probe_rtt_cwnd_gain).max(least)
            }
            ProbeRttWindow::MinPipe => least,
        }
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, news: &News) {
        let extra = self.aggregation.most.get() as f64;
        let most = self.with_bursts(self.product(self.cwnd_gain) + extra);
        if self.full.reached {
            self.cwnd = (self.cwnd + news.newly_acked).min(most);
        } else if self.cwnd < most || (self.delivered as f64) < self.initial_window {
            self.cwnd += news.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.volume_bound()).min(LARGEST * self.mss);
    }

    /// Returns the bound that losses have set (`BoundCwndForModel`).
    fn volume_bound(&self) -> f64 {
        let longterm = match self.state {
            State::Drain if self.parameters.drain_bounds == DrainBounds::Shortterm => f64::INFINITY,
            State::Startup => f64::INFINITY,
            State::Drain | State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        longterm
            .min(self.bounds.inflight_shortterm)
            .max(self.min_pipe_cwnd())
    }
}
