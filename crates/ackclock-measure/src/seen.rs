//! A captured segment.

use ackclock_core::packet::Ecn;
use ackclock_pcap::packet::Segment;

/// A TCP segment as the capture shows it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When it passed, in nanoseconds.
    pub at: u64,
    /// Length of the IP packet.
    pub ip_bytes: u32,
    /// Identification of IPv4.
    pub identification: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its header.
    pub segment: &'a Segment,
}

impl Seen<'_> {
    /// The timestamp, if there is one.
    pub fn stamp(&self) -> Option<u32> {
        self.segment.options.timestamps.map(|(value, _)| value)
    }
}
