//! Parameters of BBR version 3, with the constants of draft-ietf-ccwg-bbr-06.

use super::super::facts::{ControlFacts, GrowthLaw, PathModelFacts};
use super::super::{CongestionControl, ControlContext, ControlKind};
use super::Control;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are the constants of draft-ietf-ccwg-bbr-06, whose names are in
    /// brackets. The draft contradicts itself in places: there, a parameter chooses the reading.
    #[derive(PartialEq)]
    pub struct Bbr3 {
        /// Gain of the rate in Startup: 4 ln 2 (`BBR.StartupPacingGain`).
        pub startup_pacing_gain: f64 = 2.77,
        /// Gain of the rate in Drain (`BBR.DrainPacingGain`).
        pub drain_pacing_gain: f64 = 0.5,
        /// Gain of the window, except when probing up and in ProbeRTT (`BBR.DefaultCwndGain`).
        pub default_cwnd_gain: f64 = 2.0,
        /// Gain of the rate when probing up (section 5.6.1).
        pub probe_up_pacing_gain: f64 = 1.25,
        /// Gain of the window when probing up (section 5.6.1).
        pub probe_up_cwnd_gain: f64 = 2.25,
        /// Gain of the rate after a probe (`BBR.ProbeDownPacingGain` of the test cases).
        pub probe_down_pacing_gain: f64 = 0.9,
        /// Gain of the window in ProbeRTT (`BBR.ProbeRTTCwndGain`).
        pub probe_rtt_cwnd_gain: f64 = 0.5,
        /// Growth of the delivery rate per round that keeps a probe going (section 5.3.1.2).
        pub full_bw_growth: f64 = 1.25,
        /// Rounds without such growth that end it (section 5.3.1.2).
        pub full_bw_rounds: u64 = 3,
        /// Ranges of lost segments in a round that end Startup (`BBRStartupFullLossCnt`).
        pub startup_full_loss_count: u64 = 6,
        /// Rounds after which Drain ends, whatever is in flight (section 5.3.2).
        pub drain_rounds: u64 = 3,
        /// Loss rate over a round that a probe may cause (`BBR.LossThresh`).
        pub loss_threshold: f64 = 0.02,
        /// Share that a bound keeps at least after losses (`BBR.Beta`).
        pub beta: f64 = 0.7,
        /// Share of the long-term bound that is left to others (`BBR.Headroom`).
        pub headroom: f64 = 0.15,
        /// Smallest window, in segments (`BBR.MinPipeCwnd`).
        pub min_pipe_cwnd: u64 = 4,
        /// Cycles of ProbeBW, the present one included, for which the largest bandwidth is kept
        /// (`BBR.MaxBwFilterLen`).
        pub max_bw_filter_len: u64 = 2,
        /// Time for which the smallest round-trip time is kept (`BBR.MinRTTFilterLen`).
        pub min_rtt_filter_len: Span = Span::from_millis(10_000),
        /// Age of the smallest round-trip time at which ProbeRTT begins (`BBR.ProbeRTTInterval`).
        pub probe_rtt_interval: Span = Span::from_millis(5000),
        /// Shortest time with little in flight in ProbeRTT (`BBR.ProbeRTTDuration`).
        pub probe_rtt_duration: Span = Span::from_millis(200),
        /// Rounds, the present one included, for which the largest excess by ACK aggregation is
        /// kept (`BBR.ExtraAckedFilterLen`); in Startup it is one round.
        pub extra_acked_filter_len: u64 = 10,
        /// Shortest time from one probe for bandwidth to the next (section 5.3.3.8, T_bbr).
        pub probe_wait: Span = Span::from_millis(2000),
        /// Range of the random time that is added to it (section 5.3.3.8).
        pub probe_wait_range: Span = Span::from_millis(1000),
        /// Most rounds from one probe to the next (section 5.3.3.8, T_reno_bound).
        pub probe_rounds: u64 = 63,
        /// Largest exponent of the growth of the long-term bound in a round when probing up
        /// (`BBR.bw_probe_up_rounds`).
        pub probe_up_rounds: u32 = 30,
        /// Part of the estimated rate that is not used, in percent (`BBR.PacingMarginPercent`).
        pub pacing_margin: f64 = 1.0,
        /// Round-trip time assumed before the first is known (section 5.6.2).
        pub assumed_rtt: Span = Span::from_millis(1),
        /// Time at the pacing rate that makes a burst (`C.send_quantum`, section 5.6.3).
        pub send_quantum_time: Span = Span::from_millis(1),
        /// Largest burst (section 5.6.3).
        pub send_quantum_most: Bytes = Bytes(65_536),
        /// Smallest burst, in segments (section 5.6.3).
        pub send_quantum_least: u64 = 2,
        /// Bursts that must fit into the window: 3 with TCP, 1 with QUIC (`BBR.offload_budget`).
        pub offload_budget: u64 = 3,
        /// Window after a retransmission timeout.
        pub timeout_window: TimeoutWindow = TimeoutWindow::default(),
        /// Window in ProbeRTT.
        pub probe_rtt_window: ProbeRttWindow = ProbeRttWindow::default(),
        /// Round-trip times that count as a new minimum before the old one expires.
        pub min_rtt_refresh: MinRttRefresh = MinRttRefresh::default(),
        /// Effect of a beginning ProbeRTT on the smallest round-trip time.
        pub min_rtt_on_probe: MinRttOnProbe = MinRttOnProbe::default(),
        /// Flags that an exit from Startup on losses sets.
        pub startup_loss_flags: StartupLossFlags = StartupLossFlags::default(),
        /// Volume bounds in Drain.
        pub drain_bounds: DrainBounds = DrainBounds::default(),
        /// Events that may show too much in flight after a probe.
        pub too_high: TooHigh = TooHigh::default(),
        /// Data in flight at which a lost segment crossed the loss threshold.
        pub inflight_at_loss: InflightAtLoss = InflightAtLoss::default(),
        /// Effect of too much loss on the long-term bound if the application limited the lost
        /// segment.
        pub limited_loss: LimitedLoss = LimitedLoss::default(),
        /// Unit of the data in flight that bounds the rounds between probes.
        pub probe_rounds_unit: ProbeRoundsUnit = ProbeRoundsUnit::default(),
        /// Time at which the state is saved to which an undo returns.
        pub undo_state: UndoState = UndoState::default(),
        /// Reaction to an ECN echo, at most one per window of data. The draft demands one and
        /// specifies none: both choices are guesses.
        pub ecn: EcnReaction = EcnReaction::default(),
        /// Longest minimum round-trip time at which it reacts to ECN echoes; without it, it always
        /// does. Linux's BBRv3, as Google publishes it, has 5 ms (`ecn_max_rtt_us`), and beyond it
        /// takes no notice of marks.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Span")]
        pub ecn_max_rtt: Option<Span> = None,
    }
}

/// The window after a retransmission timeout, beyond what is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutWindow {
    /// One segment: the text of section 5.6.4.4.
    #[default]
    Segment,
    /// One byte: its pseudocode in the draft's units.
    Byte,
}

/// The effect of a beginning ProbeRTT on the smallest round-trip time. It matters where
/// `probe_rtt_interval` is as long as `min_rtt_filter_len`, which the working group considers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MinRttOnProbe {
    /// None: if it expires then, it becomes the round-trip time of a path with a queue until the
    /// queue is gone (draft-ietf-ccwg-bbr-06).
    #[default]
    Expire,
    /// It is kept until ProbeRTT has measured another.
    Saved,
}

/// The window in ProbeRTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRttWindow {
    /// Half the bandwidth-delay product (`probe_rtt_cwnd_gain`), and at least `min_pipe_cwnd`: the
    /// pseudocode of section 5.6.4.5.
    #[default]
    HalfProduct,
    /// `min_pipe_cwnd`: the text of section 5.6.4.5.
    MinPipe,
}

/// The round-trip times that count as a new minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MinRttRefresh {
    /// Only lower ones: the pseudocode of section 5.3.4.3. A constant round-trip time expires.
    #[default]
    Lower,
    /// Equal ones too: then a flow without a queue never needs ProbeRTT, as one of the draft's test
    /// cases assumes.
    NotHigher,
}

/// The flags that an exit from Startup on losses sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartupLossFlags {
    /// `full_bw_now` and `full_bw_reached`: the draft's test case.
    #[default]
    Both,
    /// `full_bw_reached` alone: the text of section 5.3.1.3.
    Reached,
}

/// The volume bounds in Drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrainBounds {
    /// Long-term and short-term bound: the table of section 5.6.1.
    #[default]
    Both,
    /// The short-term bound alone: the pseudocode of section 5.6.4.7.
    Shortterm,
}

/// The events that may show too much in flight after a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TooHigh {
    /// Lost segments and ACKs: the text of section 5.5.10.2 speaks of ACKs, its pseudocode acts on
    /// lost segments.
    #[default]
    LossesAndAcks,
    /// Lost segments alone: the pseudocode.
    Losses,
}

/// The data in flight at which a lost segment crossed the loss threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InflightAtLoss {
    /// Between what was in flight before the segment and after it.
    #[default]
    Clamped,
    /// The formula of section 5.5.10.2, which may lie outside.
    Unclamped,
}

/// The effect of too much loss on the long-term bound if the application limited the lost segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedLoss {
    /// None: the pseudocode of section 5.5.10.2.
    #[default]
    Kept,
    /// It is lowered all the same: a reading of the draft's test case.
    Lowered,
}

/// The unit of the data in flight that bounds the rounds between probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRoundsUnit {
    /// Segments: the text of section 5.3.3.8.
    #[default]
    Segments,
    /// Bytes: its pseudocode in the draft's units.
    Bytes,
}

/// The time at which the state is saved to which an undo returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoState {
    /// The first loss of a recovery: the text of section 5.5.11.
    #[default]
    Recovery,
    /// The first loss of each round, and the start of recovery: the pseudocode. The second loss of
    /// a probe then overwrites the state that the first one saved.
    Round,
}

/// The reaction to an ECN echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnReaction {
    /// The reaction to one lost segment.
    #[default]
    Loss,
    /// The reaction to more losses than the threshold.
    ExcessLoss,
}

/// Checks that a gain is usable.
fn check_gain(name: &str, value: f64) -> Result<()> {
    let usable = (0.01..=100.0).contains(&value);
    in_range(usable, name, &value, "is not from 0.01 to 100")
}

/// Checks that a count is usable.
fn check_count(name: &str, value: u64, least: u64) -> Result<()> {
    let remedy = format!("is not from {least} to 10000");
    in_range((least..=10_000).contains(&value), name, &value, &remedy)
}

/// Checks that a share is below one.
fn check_share(name: &str, value: f64) -> Result<()> {
    let usable = (0.0..1.0).contains(&value);
    in_range(usable, name, &value, "is not from 0 to below 1")
}

impl Bbr3 {
    fn check_gains(&self) -> Result<()> {
        every([
            check_gain("startup_pacing_gain", self.startup_pacing_gain),
            check_gain("drain_pacing_gain", self.drain_pacing_gain),
            check_gain("default_cwnd_gain", self.default_cwnd_gain),
            check_gain("probe_up_pacing_gain", self.probe_up_pacing_gain),
            check_gain("probe_up_cwnd_gain", self.probe_up_cwnd_gain),
            check_gain("probe_down_pacing_gain", self.probe_down_pacing_gain),
            check_gain("probe_rtt_cwnd_gain", self.probe_rtt_cwnd_gain),
            check_gain("full_bw_growth", self.full_bw_growth),
        ])
    }
    fn check_counts(&self) -> Result<()> {
        every([
            check_count("full_bw_rounds", self.full_bw_rounds, 1),
            check_count("startup_full_loss_count", self.startup_full_loss_count, 1),
            check_count("drain_rounds", self.drain_rounds, 0),
            check_count("min_pipe_cwnd", self.min_pipe_cwnd, 1),
            check_count("max_bw_filter_len", self.max_bw_filter_len, 1),
            check_count("extra_acked_filter_len", self.extra_acked_filter_len, 1),
            check_count("probe_rounds", self.probe_rounds, 1),
            check_count("send_quantum_least", self.send_quantum_least, 1),
            check_count("offload_budget", self.offload_budget, 1),
        ])
    }
}

impl Bbr3 {
    fn path_model(&self) -> PathModelFacts {
        let rounds = u32::try_from(self.full_bw_rounds).unwrap_or(u32::MAX);
        PathModelFacts {
            startup_rate_gain: self.startup_pacing_gain,
            startup_window_gain: self.default_cwnd_gain,
            startup_full_rounds: rounds,
            drain_rate_gain: self.drain_pacing_gain,
            window_gain: self.default_cwnd_gain,
            probe_rate_gain: self.probe_up_pacing_gain,
            probe_window_gain: self.probe_up_cwnd_gain,
            probe_rounds: rounds, // without growth, as in startup
            used_share: (100.0 - self.pacing_margin) / 100.0,
            rtt_probe_interval_s: self.probe_rtt_interval.as_seconds(),
            rtt_probe_time_s: self.probe_rtt_duration.as_seconds(),
            rtt_probe_share: match self.probe_rtt_window {
                ProbeRttWindow::HalfProduct => self.probe_rtt_cwnd_gain,
                ProbeRttWindow::MinPipe => 0.0,
            },
            rtt_probe_segments: self.min_pipe_cwnd as f64,
        }
    }
}

impl Element<ControlKind> for Bbr3 {
    const NAME: &'static str = "bbr3";
    const LABEL: &'static str = "BBRv3";
    const SUMMARY: &'static str =
        "Sends at the largest measured delivery rate, within bounds that losses set.";
    const REFERENCE: &'static str = "draft-ietf-ccwg-bbr-06 (6 July 2026), BBR Congestion Control";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let exponents = "is not from 0 to 60";
        let assumed = "is too short; for example \"1 ms\"";
        every([
            self.check_gains(),
            self.check_counts(),
            check_share("loss_threshold", self.loss_threshold),
            check_share("beta", self.beta),
            check_share("headroom", self.headroom),
            in_range(
                (0.0..100.0).contains(&self.pacing_margin),
                "pacing_margin",
                &self.pacing_margin,
                "is not from 0 to below 100",
            ),
            in_range(
                self.probe_up_rounds <= 60,
                "probe_up_rounds",
                &self.probe_up_rounds,
                exponents,
            ),
            in_range(
                self.assumed_rtt > Span::ZERO,
                "assumed_rtt",
                &self.assumed_rtt,
                assumed,
            ),
        ])
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByPathModel {
                gains: Some(self.path_model()),
            }),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(false),
            paces: Some(true),
            slow_start_ends_early: Some(false),
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Factory<ControlKind> for Bbr3 {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(Control::new(self.clone(), &context))
    }

    fn draws(&self) -> bool {
        true
    }
}
