//! Parameter checks that several controls use.

use super::SHORTEST_RTT;
use super::acknowledging::MOST;
use ackclock_spec::error::{Result, in_range};
use ackclock_spec::units::Span;

/// Checks a time used as a wait or a divisor; `example` is a usual value.
pub(super) fn time(field: &str, time: Span, example: &str) -> Result<()> {
    let remedy = format!("is shorter than the clock's resolution; for example \"{example}\"");
    in_range(time >= SHORTEST_RTT, field, &time, &remedy)
}

/// Checks the number of bits of the receiver's vector.
pub(super) fn vector(bits: u8) -> Result<()> {
    in_range(
        (1..=MOST).contains(&bits),
        "vector",
        &bits,
        "is not between 1 and 64",
    )
}

/// Checks the number of later packets that mean a loss: at most as many as a vector can report.
pub(super) fn duplicate_threshold(packets: u8) -> Result<()> {
    let remedy = "is not between 1 and 63; for example 3";
    in_range(
        (1..MOST).contains(&packets),
        "duplicate_threshold",
        &packets,
        remedy,
    )
}
