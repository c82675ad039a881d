//! Parameter checks that several controls use.

use super::SHORTEST_RTT;
use super::acknowledging::MOST;
use crate::scenario::error::{Error, Result};
use crate::units::Span;
use serde::Serialize;
use serde_json::json;

/// Returns the error that `value` is invalid for `field`.
pub(super) fn refuse(field: &str, value: impl Serialize, remedy: &str) -> Result<()> {
    Err(Error::new(field, &json!(value), remedy))
}

/// Checks a time used as a wait or a divisor; `example` is a usual value.
pub(super) fn time(field: &str, time: Span, example: &str) -> Result<()> {
    if time >= SHORTEST_RTT {
        return Ok(());
    }
    let remedy = format!(
        "is shorter than the clock's resolution; for example {}",
        json!(example)
    );
    refuse(field, time, &remedy)
}

/// Checks the number of bits of the receiver's vector.
pub(super) fn vector(bits: u8) -> Result<()> {
    if (1..=MOST).contains(&bits) {
        return Ok(());
    }
    refuse("vector", bits, "is not between 1 and 64")
}

/// Checks the number of later packets that mean a loss: at most as many as a vector can report.
pub(super) fn duplicate_threshold(packets: u8) -> Result<()> {
    if (1..MOST).contains(&packets) {
        return Ok(());
    }
    let remedy = "is not between 1 and 63; for example 3";
    refuse("duplicate_threshold", packets, remedy)
}
