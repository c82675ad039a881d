//! BBR version 3 as in draft-ietf-ccwg-bbr-06: bytes, bytes per second, and gains as numbers.
//!
//! The control sends at the largest delivery rate that it has measured in two cycles. Losses set
//! bounds on the rate and on the data in flight. Short-term bounds hold until the next probe, the
//! long-term bound is what a probe has shown the path to bear. Names of the draft are in brackets.
//! docs/deviations.md says how its contradictions are read.

use self::parameters::{Bbr3, TimeoutWindow};
use super::windowed_maximum::WindowedMaximum;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event, Needs,
    Pace, PathModel, RecoveryPhase, SendLimit,
};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

mod losses;
mod model;
mod output;
pub mod parameters;
mod probe_bw;
mod probe_rtt;
#[cfg(test)]
mod tests;

/// Largest window, in segments: sums and products of a few windows are exact.
const LARGEST: f64 = (1_u64 << 30) as f64;

/// The state machine (`BBR.state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe_bw_down",
            State::Cruise => "probe_bw_cruise",
            State::Refill => "probe_bw_refill",
            State::Up => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        }
    }
    /// True for the four states of ProbeBW (`IsInAProbeBWState`).
    const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }
    /// True while more is sent to learn how much the path bears (`IsProbingBW`).
    const fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// The meaning of the ACKs that arrive (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl AckPhase {
    const fn name(self) -> &'static str {
        match self {
            AckPhase::Init => "init",
            AckPhase::Refilling => "refilling",
            AckPhase::ProbeStarting => "probe_starting",
            AckPhase::ProbeFeedback => "probe_feedback",
            AckPhase::ProbeStopping => "probe_stopping",
        }
    }
}

/// The fate of a flight, as an ACK or a lost segment shows it (`RS`).
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Delivery rate; zero if unknown (`RS.delivery_rate`).
    rate: f64,
    delivered: f64,
    tx_in_flight: f64,
    lost: f64,
    /// True if the application limited it (`RS.is_app_limited`).
    limited: bool,
}

/// Content of an ACK.
#[derive(Clone, Copy, Debug)]
struct News {
    now: Time,
    sample: Sample,
    /// Data delivered when the sampled segment was sent; `None` without a sample.
    prior_delivered: Option<u64>,
    newly_acked: f64,
    in_flight: f64,
    rtt: Option<Span>,
    /// True if the window has been full in the last round trip (`C.is_cwnd_limited`).
    fills_window: bool,
}

impl News {
    fn new(now: Time, ack: &Ack) -> Self {
        let sample = ack.rate_sample().map(|sample| Sample {
            rate: sample.delivered.as_f64() / sample.interval.as_seconds(),
            delivered: sample.delivered.as_f64(),
            tx_in_flight: sample.tx_in_flight.as_f64(),
            lost: sample.lost.as_f64(),
            limited: sample.limited == SendLimit::Application,
        });
        News {
            now,
            sample: sample.unwrap_or_default(),
            prior_delivered: ack.rate_sample().map(|sample| sample.prior_delivered.0),
            newly_acked: ack.newly_delivered.as_f64(),
            in_flight: ack.in_flight.as_f64(),
            rtt: ack.newest_rtt,
            fills_window: ack.limited == SendLimit::CongestionWindow,
        }
    }
}

/// Bounds by losses; infinite without any.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };
}

/// Count of round trips: a round ends when data sent after its start is delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    /// True for the ACK that ends one (`BBR.round_start`).
    start: bool,
    /// `BBR.next_round_delivered`.
    end: u64,
}

/// Detection of the full pipe.
#[derive(Clone, Copy, Debug, Default)]
struct FullBw {
    bw: f64,
    count: u64,
    now: bool,
    reached: bool,
}

/// The last round trip, in which losses are counted.
#[derive(Clone, Copy, Debug, Default)]
struct LossRound {
    /// `BBR.loss_round_delivered`.
    end: u64,
    /// True for the ACK that ends it (`BBR.loss_round_start`).
    start: bool,
    /// `BBR.is_loss_in_round`.
    has_loss: bool,
    /// Ranges of segments lost in it, and the segment after the last one.
    ranges: u64,
    after_lost: u64,
    bw_latest: f64,
    inflight_latest: f64,
}

/// State of the cycle that probes for bandwidth.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    ack_phase: AckPhase,
    /// `BBR.cycle_count`.
    count: u64,
    start: Time,
    wait: Span,
    rounds_since_up: u64,
    /// True while ACKs tell of a probe, and it has not been found to go too high
    /// (`BBR.is_bw_probe_sample`).
    is_sample: bool,
    /// `BBR.prev_probe_too_high`, `BBR.prev_probe_precautionary`.
    too_high: bool,
    precautionary: bool,
    /// `BBR.bw_probe_up_rounds`, `BBR.bw_probe_up_acked`, `BBR.probe_up_acked_per_inc`.
    up_rounds: u32,
    up_acked: f64,
    acked_per_increase: f64,
}

/// The smallest round-trip time and the state that measures it again.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    value: Option<Span>,
    at: Time,
    /// The smallest of the last interval (`BBR.probe_rtt_min_delay`).
    recent: Option<Span>,
    recent_at: Time,
    /// `BBR.probe_rtt_expired`.
    expired: bool,
    /// Earliest end of ProbeRTT, once little is in flight (`BBR.probe_rtt_done_stamp`).
    done_at: Option<Time>,
    round_done: bool,
}

/// ACK aggregation.
#[derive(Clone, Copy, Debug)]
struct Aggregation {
    most: WindowedMaximum,
    start: Time,
    delivered: f64,
}

/// The state that an undo restores.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bounds: Bounds,
    /// True from the first loss of a recovery until it ends.
    is_saved: bool,
}

/// The control.
#[derive(Debug)]
struct Control {
    parameters: Bbr3,
    mss: f64,
    initial_window: f64,
    selective_acks: bool,
    stream: Stream,
    state: State,
    /// State before this one.
    previous: Option<State>,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Window, and the one to return to (`BBR.prior_cwnd`).
    cwnd: f64,
    prior_cwnd: f64,
    pacing: f64,
    send_quantum: f64,
    has_seen_rtt: bool,
    delivered: u64,
    rounds: Rounds,
    max_bw_filter: WindowedMaximum,
    max_bw: f64,
    /// Bandwidth in use, within its bound (`BBR.bw`).
    bw: f64,
    bounds: Bounds,
    full: FullBw,
    loss_round: LossRound,
    cycle: Cycle,
    /// `BBR.drain_start_round`.
    drain_start: u64,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    recovery: RecoveryPhase,
    /// Data delivered when fast recovery began.
    recovery_start: u64,
    undo: Undo,
    idle_restart: bool,
    /// Sample of the last ACK.
    last: Sample,
}

impl Control {
    fn new(parameters: Bbr3, context: &ControlContext<'_>) -> Self {
        let mss = context.mss.as_f64().max(1.0);
        let initial_window = context.initial_window.as_f64().clamp(mss, LARGEST * mss);
        let mut control = Control {
            mss,
            initial_window,
            selective_acks: context.selective_acks,
            stream: context.place.stream(),
            state: State::Startup,
            previous: None,
            pacing_gain: parameters.startup_pacing_gain,
            cwnd_gain: parameters.default_cwnd_gain,
            cwnd: initial_window,
            prior_cwnd: 0.0,
            pacing: 0.0,
            send_quantum: 0.0,
            has_seen_rtt: false,
            delivered: 0,
            rounds: Rounds::default(),
            max_bw_filter: WindowedMaximum::default(),
            max_bw: 0.0,
            bw: 0.0,
            bounds: Bounds::NONE,
            full: FullBw::default(),
            loss_round: LossRound::default(),
            cycle: Cycle {
                ack_phase: AckPhase::Init,
                count: 0,
                start: Time::ZERO,
                wait: Span::ZERO,
                rounds_since_up: 0,
                is_sample: false,
                too_high: false,
                precautionary: false,
                up_rounds: 0,
                up_acked: 0.0,
                acked_per_increase: f64::INFINITY,
            },
            drain_start: 0,
            min_rtt: MinRtt {
                value: None,
                at: Time::ZERO,
                recent: None,
                recent_at: Time::ZERO,
                expired: false,
                done_at: None,
                round_done: false,
            },
            aggregation: Aggregation {
                most: WindowedMaximum::default(),
                start: Time::ZERO,
                delivered: 0.0,
            },
            recovery: RecoveryPhase::Open,
            recovery_start: 0,
            undo: Undo {
                state: None,
                bounds: Bounds::NONE,
                is_saved: false,
            },
            idle_restart: false,
            last: Sample::default(),
            parameters,
        };
        control.pace_initially(control.parameters.assumed_rtt);
        control
    }

    /// Starts all clocks (`OnInit`).
    fn open(&mut self, now: Time) {
        (self.min_rtt.at, self.min_rtt.recent_at) = (now, now);
        self.aggregation.start = now;
    }

    /// Changes the state, and the gains with it (section 5.6.1).
    fn enter(&mut self, state: State) {
        let parameters = &self.parameters;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (parameters.startup_pacing_gain, parameters.default_cwnd_gain),
            State::Drain => (parameters.drain_pacing_gain, parameters.default_cwnd_gain),
            State::Down => (
                parameters.probe_down_pacing_gain,
                parameters.default_cwnd_gain,
            ),
            State::Cruise | State::Refill => (1.0, parameters.default_cwnd_gain),
            State::Up => (
                parameters.probe_up_pacing_gain,
                parameters.probe_up_cwnd_gain,
            ),
            State::ProbeRtt => (1.0, parameters.probe_rtt_cwnd_gain),
        };
        self.previous = Some(self.state);
        self.state = state;
    }

    /// Begins a round (`StartRound`).
    fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }

    /// Updates model and state by an ACK (`UpdateModelAndState`).
    fn update_model(&mut self, news: &News) {
        self.update_latest(news);
        self.update_congestion(news);
        self.update_aggregation(news);
        self.check_full_bw(news);
        self.check_startup_done(news);
        self.check_drain_done(news);
        self.follow_cycle(news);
        self.update_min_rtt(news);
        self.check_probe_rtt(news);
        self.advance_latest(news);
        self.bw = self.max_bw.min(self.bounds.bw_shortterm);
    }

    /// Restarts after idling at the estimated rate, without a gain (`HandleRestartFromIdle`).
    fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.start = now;
        if self.state.is_probe_bw() {
            self.set_pacing(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

fn bit_rate(bytes_per_s: f64) -> BitRate {
    BitRate::from_bit_per_s((bytes_per_s * 8.0) as u64)
}

/// Returns a finite bound.
fn finite(bound: f64) -> Option<f64> {
    bound.is_finite().then_some(bound)
}

impl CongestionControl for Control {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            paces: true,
            replaces_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.delivered = self.delivered.max(ack.delivered.0);
        self.follow_recovery(ack.phase);
        let news = News::new(now, ack);
        self.update_model(&news);
        if let Some(rtt) = ack.smoothed_rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pace_initially(rtt);
        }
        self.set_pacing(self.pacing_gain);
        self.set_send_quantum();
        self.set_cwnd(&news);
        self.last = news.sample;
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        match congestion.kind {
            CongestionKind::Loss => self.enter_fast_recovery(),
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => {
                self.save_state();
                self.recovery = RecoveryPhase::Loss;
                let window = congestion.loss_window.as_f64();
                let window = match self.parameters.timeout_window {
                    TimeoutWindow::Segment => window,
                    TimeoutWindow::Byte => window - self.mss + 1.0,
                };
                self.cwnd = window.clamp(self.mss, LARGEST * self.mss);
            }
            CongestionKind::Mark => self.handle_mark(now),
            CongestionKind::SpuriousLoss => self.handle_spurious_loss(),
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Open { rtt } => {
                self.open(now);
                if let Some(rtt) = *rtt {
                    self.min_rtt.value = Some(rtt);
                    self.has_seen_rtt = true;
                    self.pace_initially(rtt);
                }
            }
            Event::SentAfterIdle => self.restart_from_idle(now),
            Event::Lost(lost) => {
                self.delivered = self.delivered.max(lost.delivered.0);
                self.note_range(lost.sequence);
                self.handle_lost(now, lost);
            }
            Event::RecoveryEnd => self.end_recovery(),
            Event::IdleRestart { limit } => {
                self.cwnd = self.cwnd.min(limit.as_f64()).max(self.mss);
            }
            Event::Sent(_) | Event::Marks(_) => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }
    fn pace(&self) -> Pace {
        Pace {
            rate: Some(bit_rate(self.pacing)),
            burst: None,
        }
    }
    fn limits_rate_samples(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: None,
            mode: self.state.name(),
            rate_estimate: Some(bit_rate(self.bw)),
        }
    }

    fn model(&self) -> PathModel {
        let bytes = |bound: f64| finite(bound).map(|bytes| Bytes(bytes as u64));
        PathModel {
            phase: self.cycle.ack_phase.name(),
            previous_mode: self.previous.map_or("", State::name),
            max_bw: Some(bit_rate(self.max_bw)),
            bw: Some(bit_rate(self.bw)),
            bw_shortterm: finite(self.bounds.bw_shortterm).map(bit_rate),
            inflight_longterm: bytes(self.bounds.inflight_longterm),
            inflight_shortterm: bytes(self.bounds.inflight_shortterm),
            min_rtt: self.min_rtt.value,
            extra_acked: Some(Bytes(self.aggregation.most.get())),
            pacing_gain: Some(self.pacing_gain),
            cwnd_gain: Some(self.cwnd_gain),
            round_count: Some(self.rounds.count),
            full_bw: Some(bit_rate(self.full.bw)),
            full_bw_count: Some(self.full.count),
            full_bw_now: Some(self.full.now),
            full_bw_reached: Some(self.full.reached),
            idle_restart: Some(self.idle_restart),
            undo_mode: self.undo.state.map_or("", State::name),
        }
    }
}
