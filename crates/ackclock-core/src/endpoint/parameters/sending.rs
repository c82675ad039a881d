//! Parameters of the times at which permitted segments leave.

use ackclock_spec::quantity::Segments;
use ackclock_spec::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the times at which permitted segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendingParameters {
    /// Pacing of segments over the round trip.
    pub pacing: Pacing,
    /// Segments at the start of a connection that pacing does not delay. Linux has ten
    /// (`tcp_update_skb_after_send`), and so have `linux` and `l4s`.
    pub unpaced_segments: Segments,
    /// True if a segment that leaves later than pacing allows shortens the gap after it by as much,
    /// at most by half. So Linux has it (`tcp_update_skb_after_send`); the presets do not
    /// (`docs/deviations.md`).
    pub pacing_credit: bool,
    /// True if a rate made of the window is made of what is outstanding where that is more, SACKed
    /// data included. So Linux has it (`tcp_update_pacing_rate`); the presets do not.
    pub rate_of_outstanding: bool,
    /// Largest random delay of a segment before it leaves (uniform, order is kept): breaks phase
    /// effects.
    pub send_jitter: Span,
    /// Most segments sent in response to one ACK; `"0 segments"` for no limit.
    pub max_burst: Segments,
    /// True if new data leaves in the bursts of Linux's segmentation offload. What does not fill a
    /// burst may wait for the next ACK (`tcp_tso_should_defer`). The last of two or more segments
    /// carries PSH, so that the receiver acknowledges it at once (since Linux 5.8).
    pub segmentation_offload: bool,
}

/// Pacing of segments over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Only if the congestion control sets a pacing rate.
    Control,
    /// At the control's pacing rate. Without one, at 2 cwnd/SRTT in slow start and 1.2 cwnd/SRTT
    /// after it (Linux with fq).
    Always,
    /// Never, not even if the control sets a rate.
    Off,
}
