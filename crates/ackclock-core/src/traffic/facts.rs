//! The facts of a source.

use ackclock_spec::prelude::*;

/// The facts that a source states about itself. A field that is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrafficFacts {
    /// True if there is always more to send.
    pub greedy: Option<bool>,
    /// True if it ends by itself.
    pub finite: Option<bool>,
    /// Total payload in bytes; none if the source does not end, or if the size is drawn.
    pub size_bytes: Stated<u64>,
    /// Constant rate of the payload in bit/s; none if the rate varies or the transport decides.
    pub steady_bit_per_s: Stated<u64>,
    /// Long-run rate of the payload in bit/s; none if the transport decides.
    pub mean_bit_per_s: Stated<f64>,
    /// Payload of each packet in bytes; none if the transport decides.
    pub packet_bytes: Stated<u64>,
    /// True if a client at the receiver asks for the data, so that what arrives decides what is
    /// sent next.
    pub closed_loop: Option<bool>,
}

impl TrafficFacts {
    /// Returns the facts of data whose pace and packets the transport decides.
    pub(super) const fn at_any_pace(greedy: bool, finite: bool) -> Self {
        TrafficFacts {
            greedy: Some(greedy),
            finite: Some(finite),
            size_bytes: Stated::None,
            steady_bit_per_s: Stated::None,
            mean_bit_per_s: Stated::None,
            packet_bytes: Stated::None,
            closed_loop: Some(false),
        }
    }

    /// Returns the facts of data that a client asks for; `finite` if it asks only so often.
    pub(super) const fn asked_for(finite: bool) -> Self {
        TrafficFacts {
            closed_loop: Some(true),
            ..TrafficFacts::at_any_pace(false, finite)
        }
    }

    /// Returns the facts of a source without end that writes packets at its own pace, of that size
    /// or of the transport's.
    pub(super) fn paced(packet_size: Option<Bytes>) -> Self {
        TrafficFacts {
            packet_bytes: packet_size.map(|size| size.0).into(),
            ..TrafficFacts::at_any_pace(false, false)
        }
    }
}
