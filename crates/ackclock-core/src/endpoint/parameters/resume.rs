//! Parameters of a connection that is resumed.

use ackclock_spec::quantity::Segments;
use ackclock_spec::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of Careful Resume (RFC 9959): what was saved of an earlier connection on the same
/// path, and how far it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeParameters {
    /// Origin of the saved parameters.
    #[serde(default)]
    pub from: ResumeFrom,
    /// Bytes that the earlier connection had delivered in a round trip (`saved_cwnd`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd: Option<Bytes>,
    /// Smallest round-trip time of the earlier connection (`saved_rtt`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Span>,
    /// Age of the saved parameters when the connection starts; only with those of the scenario.
    #[serde(default)]
    pub age: Span,
    /// Age from which saved parameters are not used. The RFC has minutes for paths that change and
    /// hours for stable ones.
    #[serde(default = "lifetime")]
    pub lifetime: Span,
    /// Largest window to jump to, beside half of the saved one; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_jump: Option<Bytes>,
    /// Share of the delivered data that is the slow-start threshold after a retreat: 0.5 to 1. 0.7
    /// goes with CUBIC.
    #[serde(default = "beta")]
    pub beta: f64,
    /// Smallest congestion window of a retreat. The example of the RFC has the initial window, its
    /// rule two segments.
    #[serde(default = "retreat_floor")]
    pub retreat_floor: Segments,
}

const fn lifetime() -> Span {
    Span::from_millis(3_600_000)
}
const fn beta() -> f64 {
    0.5
}
const fn retreat_floor() -> Segments {
    Segments(2)
}

/// Origin of the saved parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeFrom {
    /// The scenario gives them.
    #[default]
    Scenario,
    /// The last instance of the same flow that has ended; none before the first. One instance at a
    /// time uses them, and a retreat deletes them.
    EarlierFlow,
}
