//! TCP Westwood with the bandwidth estimate (BE): the first of the family.

use super::westwood::{Named, Westwood};
use crate::estimator::be::Be;

/// Parameters.
pub type WestwoodBe = Westwood<Be>;

impl Named for Be {
    const NAME: &'static str = "westwood_be";
    const LABEL: &'static str = "Westwood BE";
    const SUMMARY: &'static str = "NewReno, but a loss reduces the window to what the path holds \
        by the bandwidth estimate BE.";
}
