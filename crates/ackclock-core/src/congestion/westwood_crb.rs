//! TCP Westwood with combined rate and bandwidth (CRB).

use super::westwood::{Named, Westwood};
use crate::estimator::crb::Crb;

/// Parameters.
pub type WestwoodCrb = Westwood<Crb>;

impl Named for Crb {
    const NAME: &'static str = "westwood_crb";
    const LABEL: &'static str = "Westwood CRB";
    const SUMMARY: &'static str = "NewReno that sets the window after a loss from RE if it looks \
        like congestion, else from BE.";
}
