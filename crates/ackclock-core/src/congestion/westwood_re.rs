//! TCP Westwood with the rate estimate (RE).

use super::westwood::{Named, Westwood};
use crate::estimator::re::Re;

/// Parameters.
pub type WestwoodRe = Westwood<Re>;

impl Named for Re {
    const NAME: &'static str = "westwood_re";
    const LABEL: &'static str = "Westwood RE";
    const SUMMARY: &'static str =
        "NewReno that sets the window after a loss from the rate estimate RE.";
}
