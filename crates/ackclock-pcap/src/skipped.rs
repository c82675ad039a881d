//! Counts of captured packets that cannot be measured, by reason.

use serde::Serialize;
use std::ops::AddAssign;

/// The reason why a captured packet was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Neither IPv4 nor IPv6: ARP, spanning tree and others.
    NotIp,
    /// IP, but neither TCP nor UDP: ICMP, tunnels, encrypted payload.
    OtherTransport,
    /// A fragment other than the first; it has no transport header.
    Fragment,
    /// The capture holds too few bytes of the packet.
    TooShort,
    /// The headers contradict each other.
    Malformed,
    /// The link type of its interface is unknown.
    OtherLink,
    /// There is no timestamp, as in the Simple Packet Blocks of pcapng.
    WithoutTime,
    /// Its block in the file contradicts itself.
    Damaged,
}

/// Numbers of packets that were not decoded, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each is named as its reason in `Skip`")]
pub struct Skipped {
    pub not_ip: u64,
    pub other_transport: u64,
    pub fragments: u64,
    pub too_short: u64,
    pub malformed: u64,
    pub other_link: u64,
    pub without_time: u64,
    pub damaged: u64,
}

impl Skipped {
    /// Returns the number for all reasons.
    pub const fn total(&self) -> u64 {
        let by_headers =
            self.not_ip + self.other_transport + self.fragments + self.too_short + self.malformed;
        by_headers + self.other_link + self.without_time + self.damaged
    }

    /// Counts one packet.
    pub fn count(&mut self, reason: Skip) {
        *match reason {
            Skip::NotIp => &mut self.not_ip,
            Skip::OtherTransport => &mut self.other_transport,
            Skip::Fragment => &mut self.fragments,
            Skip::TooShort => &mut self.too_short,
            Skip::Malformed => &mut self.malformed,
            Skip::OtherLink => &mut self.other_link,
            Skip::WithoutTime => &mut self.without_time,
            Skip::Damaged => &mut self.damaged,
        } += 1;
    }
}

impl AddAssign for Skipped {
    fn add_assign(&mut self, more: Skipped) {
        self.not_ip += more.not_ip;
        self.other_transport += more.other_transport;
        self.fragments += more.fragments;
        self.too_short += more.too_short;
        self.malformed += more.malformed;
        self.other_link += more.other_link;
        self.without_time += more.without_time;
        self.damaged += more.damaged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_every_reason() {
        let mut single = Skipped::default();
        for reason in [
            Skip::NotIp,
            Skip::OtherTransport,
            Skip::Fragment,
            Skip::TooShort,
            Skip::Malformed,
            Skip::OtherLink,
            Skip::WithoutTime,
            Skip::Damaged,
        ] {
            single.count(reason);
        }
        let mut sum = single;
        sum += single;
        assert_eq!((single.total(), sum.total()), (8, 16));
    }
}
