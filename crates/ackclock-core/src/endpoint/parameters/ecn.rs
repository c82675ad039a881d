//! Parameters of explicit congestion notification.

use crate::packet::Ecn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnParameters {
    /// True if segments are ECN-capable (RFC 3168).
    #[serde(rename = "ecn")]
    pub enabled: bool,
    /// Codepoint of ECN-capable packets. The default is the one that the control asks for, else
    /// the preset's.
    #[serde(rename = "ecn_codepoint")]
    pub codepoint: EcnCodepoint,
    /// Feedback by which the receiver tells the sender of marks. The default is the one that the
    /// control asks for, else the preset's.
    #[serde(rename = "ecn_feedback")]
    pub feedback: EcnFeedback,
    /// Accurate ECN: the byte counters, and the decoding of the packet counter.
    #[serde(rename = "accurate_ecn")]
    pub accurate: AccurateEcn,
    /// Settings of both hosts from which `ecn` and `ecn_feedback` follow, as Linux negotiates them
    /// (`tcp_ecn`); absent: these say themselves what holds.
    pub tcp_ecn: Option<TcpEcn>,
}

impl EcnParameters {
    /// Returns the ECN field of new data.
    pub fn of_new_data(&self) -> Ecn {
        match self.enabled {
            true => self.codepoint.field(),
            false => Ecn::NotCapable,
        }
    }

    /// Returns the ECN field of retransmissions and ACKs. With classic feedback they are not
    /// ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5). RFC 9768 allows it, and Linux does so for
    /// DCTCP, too.
    pub fn of_the_rest(&self) -> Ecn {
        match self.feedback {
            EcnFeedback::Classic => Ecn::NotCapable,
            EcnFeedback::Dctcp | EcnFeedback::Accurate => self.of_new_data(),
        }
    }
}

/// The feedback by which a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnFeedback {
    /// An echo on every ACK from a mark until the sender has reduced its window (RFC 3168). Only
    /// new data is ECN-capable.
    #[default]
    Classic,
    /// An echo on the ACKs of marked data alone (DCTCP, RFC 8257 section 3.2). When marks begin or
    /// end, data whose ACK was delayed is acknowledged first. Retransmissions and ACKs are
    /// ECN-capable too.
    Dctcp,
    /// A count of marked packets modulo eight, in three flags of every ACK (accurate ECN, RFC
    /// 9768). Retransmissions and ACKs are ECN-capable too.
    Accurate,
}

/// The setting `tcp_ecn` of Linux (`net.ipv4`, 3 and more since 7.0) at both ends.
///
/// With 1 a host asks for the ECN of RFC 3168 and takes it. With 2, the default, it only takes it.
/// With 3 it asks for accurate ECN and takes it. With 4 and 5 it takes accurate ECN. Then 4 asks
/// for the ECN of RFC 3168, 5 for nothing. With 0 it does neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpEcn {
    /// Setting of the host that opens the connection, which is the sender's.
    #[serde(default = "passive")]
    pub client: u8,
    /// Setting of the other host.
    #[serde(default = "passive")]
    pub server: u8,
}

const fn passive() -> u8 {
    2
}

/// Largest value of `tcp_ecn`.
pub(crate) const LARGEST_TCP_ECN: u8 = 5;

impl TcpEcn {
    /// Returns the feedback that the two agree upon: the weaker of what the client asks for and
    /// what the server takes (RFC 9768 section 3.1.2); none without ECN.
    pub fn negotiated(self) -> Option<EcnFeedback> {
        let asked = match self.client {
            1 | 4 => Some(EcnFeedback::Classic),
            3 => Some(EcnFeedback::Accurate),
            _ => None,
        };
        let taken = match self.server {
            1 | 2 => Some(EcnFeedback::Classic),
            3..=LARGEST_TCP_ECN => Some(EcnFeedback::Accurate),
            _ => None,
        };
        match (asked?, taken?) {
            (EcnFeedback::Accurate, EcnFeedback::Accurate) => Some(EcnFeedback::Accurate),
            _ => Some(EcnFeedback::Classic),
        }
    }
}

/// Settings of accurate ECN (RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccurateEcn {
    /// True if ACKs also carry counters of bytes by codepoint (section 3.2.3). They tell a sender
    /// how often the packet counter has wrapped.
    pub option: bool,
    /// True if a sender believes the packet counter as it is where ACKs cover more than four
    /// packets on average (Linux 7.0). Otherwise it assumes the largest number of marks that fits
    /// (appendix A.2, Linux 6.18). Byte counters know better than either.
    pub thinning_estimate: bool,
}

/// The codepoint by which a packet says that it is ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnCodepoint {
    /// ECT(0): marks are as rare as losses would be (RFC 3168).
    #[default]
    Ect0,
    /// ECT(1): marks are frequent, and each reaction is small (L4S, RFC 9331).
    Ect1,
}

impl EcnCodepoint {
    /// Returns the field of the IP header.
    pub const fn field(self) -> Ecn {
        match self {
            EcnCodepoint::Ect0 => Ecn::Capable,
            EcnCodepoint::Ect1 => Ecn::CapableL4s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of 36 pairs have accurate ECN, 12 that of RFC 3168, and 21 none.
    #[test]
    fn the_weaker_of_what_is_asked_and_taken_is_negotiated() {
        let pairs = (0..=5).flat_map(|client| (0..=5).map(move |server| TcpEcn { client, server }));
        let results: Vec<_> = pairs.map(TcpEcn::negotiated).collect();
        let number = |feedback| results.iter().filter(|&&result| result == feedback).count();
        let numbers = [
            Some(EcnFeedback::Accurate),
            Some(EcnFeedback::Classic),
            None,
        ]
        .map(number);
        assert_eq!(numbers, [3, 12, 21]);
        let both = |client, server| TcpEcn { client, server }.negotiated();
        assert_eq!(both(3, 2), Some(EcnFeedback::Classic));
        assert_eq!(both(3, 5), Some(EcnFeedback::Accurate));
        assert_eq!(both(4, 3), Some(EcnFeedback::Classic));
        assert_eq!(both(2, 2), None);
    }
}
