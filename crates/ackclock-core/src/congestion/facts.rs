//! What a congestion control states about itself, and what it shares with rate controls.

use schemars::JsonSchema;
use serde::Serialize;

/// What a congestion control states about itself with its parameters. A field that is not known is
/// null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ControlFacts {
    /// The law by which congestion avoidance opens the window.
    pub growth: Option<GrowthLaw>,
    /// By how many segments it opens the window per round trip, where that is a constant.
    pub growth_segments_per_rtt: Option<f64>,
    /// CUBIC's C in segments per cubic second (RFC 9438 section 4.1), where growth is cubic.
    pub cubic_c: Option<f64>,
    /// Whether the Reno-friendly window grows by a segment per round trip above the last maximum
    /// (RFC 9438 section 4.3).
    pub reno_friendly_speedup: Option<bool>,
    /// The share of the window that is kept after a loss.
    pub kept_after_loss: Option<KeptShare>,
    /// The share of the window that is kept after an ECN mark.
    pub kept_after_mark: Option<KeptShare>,
    /// Whether a loss makes it send less.
    pub reacts_to_loss: Option<bool>,
    /// Whether longer round trips make it send less.
    pub reacts_to_delay: Option<bool>,
    /// Whether it gives a pacing rate.
    pub paces: Option<bool>,
    /// Whether the first slow start ends when round trips grow longer.
    pub slow_start_ends_on_delay: Option<bool>,
    /// The same control in Linux; null also if Linux has none.
    pub linux: Option<LinuxControl>,
}

/// The law by which a window or a rate grows while nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrowthLaw {
    /// By a constant per round trip.
    Linear,
    /// By a cubic function of the time since the last loss (RFC 9438).
    Cubic,
    /// By a(w) of HighSpeed TCP (RFC 3649 section 5).
    Highspeed,
    /// By another function of the window.
    ByWindow,
    /// By a function of the round-trip time.
    ByDelay,
    /// To what a throughput equation gives.
    ByEquation,
}

/// The share of a window or a rate that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeptShare {
    /// Always the same.
    Constant {
        /// From 0 to 1.
        share: f64,
    },
    /// A function of the window.
    ByWindow,
    /// What an estimate says the path holds.
    ByEstimate,
    /// All of it: the control does not react.
    None,
}

/// A control as a kernel of Linux has it. A socket takes its name and no parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinuxControl {
    /// The name of the kernel module.
    pub name: String,
    /// The parameters that the kernel has otherwise.
    pub differences: Vec<String>,
    /// Whether the module ends slow start when round trips grow longer (HyStart).
    pub slow_start_ends_on_delay: bool,
    /// Whether the module's Reno-friendly window grows by a segment per round trip above the last
    /// maximum.
    pub reno_friendly_speedup: bool,
}

impl LinuxControl {
    /// The module of that name; `kernel` has the parameters by which the engine's control is like
    /// it.
    pub(super) fn new<P: Serialize>(name: &str, given: &P, kernel: &P) -> Self {
        let [given, kernel] = [given, kernel].map(crate::scenario::parse::to_tree);
        let fields = given.as_object().into_iter().flatten();
        let different = fields.filter(|(field, value)| kernel.get(field) != Some(value));
        LinuxControl {
            name: name.into(),
            differences: different.map(|(field, _)| field.clone()).collect(),
            slow_start_ends_on_delay: false,
            reno_friendly_speedup: false,
        }
    }
}

impl ControlFacts {
    /// A control that opens the window by a constant, reacts to losses alone, and leaves pacing to
    /// the transport.
    pub(super) fn linear(segments_per_rtt: f64, kept: KeptShare) -> Self {
        ControlFacts {
            growth: Some(GrowthLaw::Linear),
            growth_segments_per_rtt: Some(segments_per_rtt),
            ..ControlFacts::loss_based(kept)
        }
    }

    /// A control that reacts to losses and marks alike, to delay not at all, and leaves pacing to
    /// the transport.
    pub(super) fn loss_based(kept: KeptShare) -> Self {
        ControlFacts {
            kept_after_loss: Some(kept),
            kept_after_mark: Some(kept),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(false),
            paces: Some(false),
            slow_start_ends_on_delay: Some(false),
            ..ControlFacts::default()
        }
    }
}
