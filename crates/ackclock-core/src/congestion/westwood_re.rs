//! TCP Westwood with the rate estimate (RE).

use super::westwood::{Named, Westwood};
use crate::estimator::re::Re;

/// Parameters.
pub type WestwoodRe = Westwood<Re>;

impl Named for Re {
    const NAME: &'static str = "westwood_re";
    const LABEL: &'static str = "Westwood RE";
    const SUMMARY: &'static str =
        "NewReno, but a loss reduces the window to what the path holds by the rate estimate RE.";
}
