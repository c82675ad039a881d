//! A captured segment.

use ackclock_core::packet::Ecn;
use ackclock_pcap::packet::Segment;

/// A captured TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Time at which it passed, in nanoseconds.
    pub at: u64,
    /// Length of the IP packet in bytes.
    pub ip_bytes: u32,
    /// Identification of IPv4.
    pub identification: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP header.
    pub segment: &'a Segment,
}

impl Seen<'_> {
    /// Returns the timestamp, if there is one.
    pub fn stamp(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|(value, _)| value)
    }
}
