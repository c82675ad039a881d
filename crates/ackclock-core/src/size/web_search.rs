//! Sizes of the flows of a web search, as simulations of data centres draw them.

use super::{SizeKind, whole};
use ackclock_spec::prelude::*;

/// Web search has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebSearch {}

/// Sizes in bytes with the share of sizes up to them. Sizes between two rows are equally likely.
/// Their mean is 1,711,250 bytes.
const TABLE: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

impl Element<SizeKind> for WebSearch {
    const NAME: &'static str = "web_search";
    const LABEL: &'static str = "web search";
    const SUMMARY: &'static str = "Sizes of the flows of a web search in a data centre: half are \
        below 73 kB, the mean is 1.7 MB.";
    const REFERENCE: &'static str = "Alizadeh et al. (2010), SIGCOMM: the measured flows; the \
        table is that of the simulations of HPCC";
}

impl Factory<SizeKind> for WebSearch {
    fn build(&self, stream: &mut Stream) -> Bytes {
        let drawn = stream.uniform();
        let above = TABLE.partition_point(|(_, share)| *share <= drawn);
        let ((low, from), (high, to)) = (TABLE[above - 1], TABLE[above]);
        whole(low + (high - low) * (drawn - from) / (to - from))
    }
}
