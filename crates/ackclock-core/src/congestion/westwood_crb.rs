//! TCP Westwood with combined rate and bandwidth (CRB).

use super::westwood::{Named, Westwood};
use crate::estimator::crb::Crb;

/// Parameters.
pub type WestwoodCrb = Westwood<Crb>;

impl Named for Crb {
    const NAME: &'static str = "westwood_crb";
    const LABEL: &'static str = "Westwood CRB";
    const SUMMARY: &'static str = "NewReno, but a loss reduces the window to what the path holds: \
        by RE if the loss looks like congestion, by BE if it looks like an error.";
}
