//! Fields that few ACKs carry beside SACK blocks.

use super::EcnCounters;
use ackclock_spec::units::Bytes;

/// Fields of an ACK that most ACKs lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOptions {
    /// Byte counters of accurate ECN, if the receiver sends them.
    pub counters: Option<EcnCounters>,
    /// Window that the receiver advertises, from the cumulative acknowledgement on. A receiver that
    /// always advertises the same window leaves it out.
    pub window: Option<Bytes>,
}
