//! Facts that a congestion control states about itself, and the types that it shares with rate
//! controls.

use crate::endpoint::parameters::{EcnCodepoint, EcnFeedback};
use ackclock_spec::prelude::*;
use std::collections::BTreeMap;

/// Facts that a congestion control states about itself for its parameters. A field that is not
/// known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ControlFacts {
    /// Name in tables; none if it is that of its kind.
    pub title: Stated<String>,
    /// Law by which congestion avoidance opens the congestion window.
    pub growth: Option<GrowthLaw>,
    /// Share of the congestion window that is kept after a loss.
    pub kept_after_loss: Option<KeptShare>,
    /// Share of the congestion window that is kept after an ECN mark.
    pub kept_after_mark: Option<KeptShare>,
    /// ECN that it asks for; none if it takes that of the transport.
    pub ecn: Stated<EcnUse>,
    /// True if a loss makes it send less.
    pub reacts_to_loss: Option<bool>,
    /// True if longer round trips make it send less.
    pub reacts_to_delay: Option<bool>,
    /// True if it sets a pacing rate.
    pub paces: Option<bool>,
    /// True if a sign of a queue, such as longer round trips, may end the first slow start before a
    /// loss, or if it becomes slower.
    pub slow_start_ends_early: Option<bool>,
    /// End or change of the first slow start before a loss, where a number tells it. Absent if none
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_end: Option<EarlyEnd>,
    /// Factor by which the first slow start opens the window in a round trip. Absent if it is two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_growth: Option<f64>,
    /// True if a transport may set its window to resume a connection. Absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<bool>,
    /// Its random draws.
    pub draws: Stated<Draws>,
    /// The same control in Linux, or in a kernel made from it.
    pub linux: Stated<LinuxControl>,
}

/// The end, or the change, of the first slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EarlyEnd {
    /// It ends at the bandwidth-delay product without queueing.
    AtProduct {
        /// Fewest ACKs of a full link in a round trip without queueing that tell the product.
        least_acks: u32,
    },
    /// From a window on, it opens the window more slowly.
    Slower {
        /// The window, in segments.
        from_segments: f64,
        /// Segments acknowledged per segment by which the window then opens.
        divisor: f64,
    },
}

/// The ECN that a control asks for. A flow has it unless its transport says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EcnUse {
    /// Codepoint of its packets.
    pub codepoint: EcnCodepoint,
    /// Feedback of marks.
    pub feedback: EcnFeedback,
}

/// Random draws of a control, which a parameter can fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Draws {
    /// The parameter: a list of outcomes, one for each draw.
    pub parameter: String,
    /// Number of outcomes of a draw, which are 0, 1, and so on.
    pub outcomes: usize,
}

/// The law by which a window or a rate grows while nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GrowthLaw {
    /// Constant per round trip.
    Linear {
        /// Segments per round trip; for a rate, packets per round-trip time.
        segments_per_rtt: Option<f64>,
        /// Flows with a shorter round-trip time behave as if theirs were this, in seconds.
        least_rtt_s: Stated<f64>,
    },
    /// Cubic function of the time since the last loss (RFC 9438).
    Cubic {
        /// C in segments per cubic second (section 4.1).
        c: Option<f64>,
        /// True if the Reno-friendly window grows by one segment per round trip above the last
        /// maximum (section 4.3).
        reno_friendly_speedup: Option<bool>,
        /// True if a loss below the last maximum lowers the maximum further (section 4.7).
        fast_convergence: Option<bool>,
    },
    /// a(w) of HighSpeed TCP (RFC 3649 section 5).
    Highspeed,
    /// Another function of the window.
    ByWindow,
    /// Function of the round-trip time.
    ByDelay,
    /// Multiple of the bandwidth-delay product that the control estimates (BBR).
    ByPathModel {
        /// Gains of its rate and its window.
        gains: Option<PathModelFacts>,
    },
    /// Growth to the rate of a throughput equation.
    ByEquation,
}

/// Gains of a control that estimates bandwidth and smallest round-trip time. It sends at a gain
/// times the bandwidth and keeps at most a gain times their product in flight, as BBR does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathModelFacts {
    /// Gain of the rate in startup.
    pub startup_rate_gain: f64,
    /// Gain of the congestion window in startup.
    pub startup_window_gain: f64,
    /// Rounds without growth of the bandwidth that end startup.
    pub startup_full_rounds: u32,
    /// Gain of the rate while startup's queue drains.
    pub drain_rate_gain: f64,
    /// Gain of the congestion window after startup, outside probes.
    pub window_gain: f64,
    /// Largest gain of the rate in a probe for bandwidth.
    pub probe_rate_gain: f64,
    /// Gain of the congestion window in a probe for bandwidth.
    pub probe_window_gain: f64,
    /// Rounds that a probe for bandwidth lasts if nothing is lost.
    pub probe_rounds: u32,
    /// Share of the estimated bandwidth that is used.
    pub used_share: f64,
    /// Longest time between probes for the smallest round-trip time, in seconds.
    pub rtt_probe_interval_s: f64,
    /// Time for which such a probe keeps little in flight, in seconds.
    pub rtt_probe_time_s: f64,
    /// Congestion window of such a probe, as a share of the estimated bandwidth-delay product.
    pub rtt_probe_share: f64,
    /// Smallest congestion window of such a probe, in segments.
    pub rtt_probe_segments: f64,
}

/// The share of a window or a rate that is kept after congestion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeptShare {
    /// Constant.
    Constant {
        /// From 0 to 1.
        share: f64,
    },
    /// Function of the window.
    ByWindow,
    /// Function of the share of marked packets.
    ByMarks,
    /// Set by an estimate of the data that the path holds.
    ByEstimate,
    /// All of it: the control does not react.
    All,
}

/// A control in the Linux kernel. A socket selects it by name and cannot set its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinuxControl {
    /// Name of the kernel module; empty for a program, whose name a run chooses.
    pub name: String,
    /// The program that a run loads into the kernel; none for a control of the kernel itself.
    pub program: Stated<Box<ControlProgram>>,
    /// Parameters whose values differ in the kernel.
    pub differences: Vec<String>,
    /// Rules of the module that the engine's control does not have, whatever its parameters.
    pub other_rules: Vec<String>,
    /// True if the module may end slow start before a loss (HyStart).
    pub slow_start_ends_early: Option<bool>,
    /// True if the module's Reno-friendly window grows by one segment per round trip above the last
    /// maximum.
    pub reno_friendly_speedup: Option<bool>,
}

/// A BPF program that is loaded into the kernel as a control: one that comes with ackclock, or the
/// user's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ControlProgram {
    /// Its origin.
    pub source: ProgramSource,
    /// Values of its parameters.
    pub parameters: BTreeMap<String, i64>,
    /// Digest of the program with its parameters; none if the engine cannot run it.
    pub object: Stated<String>,
    /// True if simulations can record its calls: its source includes `ackclock.bpf.h`.
    pub records_calls: bool,
}

/// The origin of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramSource {
    /// It comes with ackclock.
    Shipped {
        /// Its name.
        name: String,
    },
    /// It is the user's.
    File {
        /// The file, as written in the scenario.
        file: String,
    },
}

impl LinuxControl {
    /// The module `name`. `kernel` holds the parameters with which the engine's control behaves
    /// like the module.
    pub(super) fn new<P: Serialize>(name: &str, given: &P, kernel: &P) -> Self {
        let [given, kernel] = [given, kernel].map(ackclock_spec::tree::to_tree);
        let fields = given.as_object().into_iter().flatten();
        let different = fields.filter(|(field, value)| kernel.get(field) != Some(value));
        LinuxControl {
            name: name.into(),
            program: Stated::None,
            differences: different.map(|(field, _)| field.clone()).collect(),
            other_rules: Vec::new(),
            slow_start_ends_early: Some(false),
            reno_friendly_speedup: Some(false),
        }
    }
}

impl ControlFacts {
    /// A control that opens the window by a constant, reacts to losses and marks alone, and leaves
    /// pacing to the transport.
    pub(super) fn linear(segments_per_rtt: f64, kept: KeptShare) -> Self {
        ControlFacts {
            growth: Some(GrowthLaw::linear(segments_per_rtt)),
            ..ControlFacts::loss_based(kept)
        }
    }

    /// A control that reacts alike to losses and marks, does not react to delay, and leaves pacing
    /// to the transport.
    pub fn loss_based(kept: KeptShare) -> Self {
        ControlFacts {
            kept_after_loss: Some(kept),
            kept_after_mark: Some(kept),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(false),
            paces: Some(false),
            slow_start_ends_early: Some(false),
            ..ControlFacts::of_the_engine()
        }
    }

    /// A control with the name of its kind that leaves ECN to the transport, draws nothing at
    /// random, and that Linux does not have. How it grows and reacts is unknown.
    pub(super) fn of_the_engine() -> Self {
        ControlFacts {
            title: Stated::None,
            ecn: Stated::None,
            draws: Stated::None,
            linux: Stated::None,
            ..ControlFacts::default()
        }
    }
}

impl GrowthLaw {
    /// Growth by a constant per round trip, whatever the round-trip time is.
    pub const fn linear(segments_per_rtt: f64) -> Self {
        GrowthLaw::Linear {
            segments_per_rtt: Some(segments_per_rtt),
            least_rtt_s: Stated::None,
        }
    }
}
