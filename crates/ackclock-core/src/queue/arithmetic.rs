//! The arithmetic of a queue's control law.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arithmetic of a control law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// Real numbers and nanoseconds, as in the RFC.
    #[default]
    Exact,
    /// The integers, clocks and orders of steps of Linux (6.12 and 6.18).
    Linux,
}
