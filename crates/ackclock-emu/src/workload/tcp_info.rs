//! The kernel's information on a connection: `struct tcp_info` of tcp(7) and linux/tcp.h.

use crate::system::socket_option;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;

/// Buffer size: more than any kernel fills.
const LARGEST: usize = 512;
/// Slow-start threshold of a connection without congestion so far (net/tcp.h,
/// TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// State of a connection (net/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "RFC 9293 section 3.3.2 says what each is")]
pub enum ConnectionState {
    Established,
    SynSent,
    SynReceived,
    FinWait1,
    FinWait2,
    TimeWait,
    Closed,
    CloseWait,
    LastAck,
    Listen,
    Closing,
    /// A state that this program does not know.
    Unknown,
}

impl ConnectionState {
    fn of(number: u8) -> Self {
        use ConnectionState::{
            CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, Listen,
            SynReceived, SynSent, TimeWait, Unknown,
        };
        const LIST: [ConnectionState; 12] = [
            Unknown,
            Established,
            SynSent,
            SynReceived,
            FinWait1,
            FinWait2,
            TimeWait,
            Closed,
            CloseWait,
            LastAck,
            Listen,
            Closing,
        ];
        LIST.get(usize::from(number)).copied().unwrap_or(Unknown)
    }
}

/// Loss state of a sender (linux/tcp.h, `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossState {
    /// No loss is suspected.
    Open,
    /// Duplicate ACKs or SACKs have arrived.
    Disorder,
    /// The window is being reduced because of an ECN echo or local congestion.
    WindowReduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
    /// A state that this program does not know.
    Unknown,
}

impl LossState {
    fn of(number: u8) -> Self {
        use LossState::{Disorder, Loss, Open, Recovery, Unknown, WindowReduced};
        const LIST: [LossState; 5] = [Open, Disorder, WindowReduced, Recovery, Loss];
        LIST.get(usize::from(number)).copied().unwrap_or(Unknown)
    }
}

/// The bytes that the kernel has filled.
#[derive(Clone, Copy)]
struct Raw<'a>(&'a [u8]);

impl Raw<'_> {
    fn bytes<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }
    fn u8(self, at: usize) -> Option<u8> {
        self.bytes(at).map(u8::from_ne_bytes)
    }
    fn u16(self, at: usize) -> Option<u32> {
        self.bytes(at).map(u16::from_ne_bytes).map(u32::from)
    }
    fn u32(self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_ne_bytes)
    }
    fn u64(self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_ne_bytes)
    }
}

/// Defines the fields with their offsets once, for a single reading and for columns of readings.
macro_rules! tcp_info {
    (|$raw:ident| $($(#[doc = $summary:literal])* $field:ident: $type:ty = $read:expr,)*) => {
        /// One reading. `None` if the kernel is too old for a field or has not measured it yet.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct TcpInfo {
            $($(#[doc = $summary])* pub $field: $type,)*
        }

        /// Readings of several connections, one row per reading, one column per field.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct TcpInfoColumns {
            /// Time of the reading, in nanoseconds of the run.
            pub time_ns: Vec<u64>,
            /// Number of the flow.
            pub flow: Vec<u32>,
            $($(#[doc = $summary])* pub $field: Vec<$type>,)*
        }

        impl TcpInfo {
            /// Parses the bytes that the kernel has filled; `None` if there are fewer than every
            /// kernel fills (104).
            pub fn parse(bytes: &[u8]) -> Option<Self> {
                let $raw = Raw(bytes);
                Some(TcpInfo { $($field: $read,)* })
            }
        }

        impl TcpInfoColumns {
            /// Appends a reading.
            pub fn push(&mut self, time_ns: u64, flow: u32, info: &TcpInfo) {
                self.time_ns.push(time_ns);
                self.flow.push(flow);
                $(self.$field.push(info.$field);)*
            }
            /// Appends all rows of `more`.
            pub fn append(&mut self, mut more: TcpInfoColumns) {
                self.time_ns.append(&mut more.time_ns);
                self.flow.append(&mut more.flow);
                $(self.$field.append(&mut more.$field);)*
            }
        }
    };
}

tcp_info! { |raw|
    /// State of the connection.
    state: ConnectionState = ConnectionState::of(raw.u8(0)?),
    /// Loss state of the sender.
    loss_state: LossState = LossState::of(raw.u8(1)?),
    /// Consecutive retransmission timeouts since new data was acknowledged.
    timeouts_in_a_row: u8 = raw.u8(2)?,
    /// Exponent of 2 by which the retransmission timeout is backed off.
    back_off: u8 = raw.u8(4)?,
    /// True if the application limited the delivery rate.
    application_limited: bool = raw.u8(7)? & 1 != 0,
    /// Retransmission timeout, in microseconds.
    rto_us: u32 = raw.u32(8)?,
    /// Payload of a full segment sent, in bytes.
    mss_bytes: u32 = raw.u32(16)?,
    /// Segments sent and not acknowledged.
    unacknowledged_segments: u32 = raw.u32(24)?,
    /// Number of these that were selectively acknowledged.
    sacked_segments: u32 = raw.u32(28)?,
    /// Number of these that are deemed lost.
    lost_segments: u32 = raw.u32(32)?,
    /// Number of these that were retransmitted.
    resent_segments: u32 = raw.u32(36)?,
    /// MTU of the path, in bytes.
    path_mtu_bytes: u32 = raw.u32(60)?,
    /// Smoothed round-trip time, in microseconds.
    smoothed_rtt_us: Option<u32> = Some(raw.u32(68)?).filter(|span| *span > 0),
    /// Variation of the round-trip time, in microseconds.
    rtt_variation_us: u32 = raw.u32(72)?,
    /// Slow-start threshold, in segments; `None` before any congestion.
    ssthresh_segments: Option<u32> = Some(raw.u32(76)?).filter(|segments| *segments < NO_THRESHOLD),
    /// Congestion window, in segments.
    cwnd_segments: u32 = raw.u32(80)?,
    /// Reordering that is tolerated before a segment is deemed lost, in segments.
    reordering_segments: u32 = raw.u32(88)?,
    /// Segments retransmitted since the beginning.
    retransmissions: u32 = raw.u32(100)?,
    /// Pacing rate in bytes per second; `None` if unlimited.
    pacing_rate_byte_per_s: Option<u64> = raw.u64(104).filter(|rate| *rate < u64::MAX),
    /// Payload acknowledged since the beginning, in bytes. The kernel counts the SYN and the FIN as
    /// one byte each.
    acknowledged_bytes: Option<u64> = raw.u64(120),
    /// Segments sent since the beginning, including pure ACKs.
    sent_segments: Option<u32> = raw.u32(136),
    /// Bytes written by the application and never sent.
    unsent_bytes: Option<u32> = raw.u32(144),
    /// Least round-trip time of the last minutes (net.ipv4.tcp_min_rtt_wlen), in microseconds.
    min_rtt_us: Option<u32> = raw.u32(148).filter(|span| *span < u32::MAX),
    /// Segments with payload sent since the beginning, including retransmissions.
    sent_data_segments: Option<u32> = raw.u32(156),
    /// Latest delivery rate, in bytes per second.
    delivery_rate_byte_per_s: Option<u64> = raw.u64(160),
    /// Time with data in flight or to send, in microseconds.
    busy_us: Option<u64> = raw.u64(168),
    /// Part of the busy time in which the receiver's window limited the sender, in microseconds.
    receive_window_limited_us: Option<u64> = raw.u64(176),
    /// Part of the busy time in which the send buffer limited the sender, in microseconds.
    send_buffer_limited_us: Option<u64> = raw.u64(184),
    /// Segments delivered since the beginning.
    delivered_segments: Option<u32> = raw.u32(192),
    /// Number of these with a CE mark (RFC 3168), as reported by ECN echoes.
    delivered_marked_segments: Option<u32> = raw.u32(196),
    /// Payload sent since the beginning, including retransmissions, in bytes.
    sent_bytes: Option<u64> = raw.u64(200),
    /// Payload retransmitted since the beginning, in bytes.
    retransmitted_bytes: Option<u64> = raw.u64(208),
    /// Duplicate SACKs received since the beginning (RFC 2883), which report spurious
    /// retransmissions.
    duplicate_sacks: Option<u32> = raw.u32(216),
    /// Number of reordering events since the beginning.
    reordering_events: Option<u32> = raw.u32(220),
    /// Receiver's window, in bytes.
    receive_window_bytes: Option<u32> = raw.u32(228),
    /// Retransmission timeouts since the beginning.
    timeouts: Option<u32> = raw.u16(240),
}

impl TcpInfo {
    /// Reads the information from the kernel.
    ///
    /// # Errors
    /// Errors of getsockopt(2), or too few bytes.
    pub(super) fn read(socket: impl AsFd) -> io::Result<Self> {
        let mut bytes = [0; LARGEST];
        let length = socket_option::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        TcpInfo::parse(&bytes[..length])
            .ok_or_else(|| io::Error::other(format!("tcp_info has only {length} bytes")))
    }
}

impl TcpInfoColumns {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }
    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from Linux 6.18 on x86-64: a connection over the loopback interface with 60,000
    /// bytes sent and acknowledged.
    #[cfg(target_endian = "little")]
    const RECORDED: &str = "010000000007aa01e01c03000000000000ba000018020000000000000000000000000000000000000000000064000000\
        000000006400000064000000ffff0000d7ff0000190000000e000000ffffff7f0a000000cbff00000300000000000000\
        d7ff0000000000006a63609c08000000ffffffffffffffff61ea00000000000000000000000000000400000003000000\
        000000000e00000000000000020000004e6c51da00000000000000000000000000000000000000000000000000000000\
        030000000000000060ea0000000000000000000000000000000000000000000000000000007401000000010000000000\
        00000000000000000000000000000000000000000000000000000000000000000000000000000000";

    #[cfg(target_endian = "little")]
    fn recorded() -> Vec<u8> {
        let digits: Vec<u32> = RECORDED
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn what_a_kernel_said_is_read() {
        let info = TcpInfo::parse(&recorded()).unwrap();
        assert_eq!(
            (info.state, info.loss_state),
            (ConnectionState::Established, LossState::Open)
        );
        assert!(info.application_limited);
        assert_eq!((info.rto_us, info.mss_bytes), (204_000, 47_616));
        assert_eq!(
            (info.smoothed_rtt_us, info.rtt_variation_us),
            (Some(25), 14)
        );
        assert_eq!((info.ssthresh_segments, info.cwnd_segments), (None, 10));
        assert_eq!((info.reordering_segments, info.retransmissions), (3, 0));
        assert_eq!((info.path_mtu_bytes, info.min_rtt_us), (65_535, Some(14)));
        // The kernel counts the SYN.
        assert_eq!(
            (info.acknowledged_bytes, info.sent_bytes),
            (Some(60_001), Some(60_000))
        );
        assert_eq!(
            (info.sent_segments, info.sent_data_segments),
            (Some(4), Some(2))
        );
        assert_eq!(
            (info.delivered_segments, info.delivered_marked_segments),
            (Some(3), Some(0))
        );
        assert_eq!(info.delivery_rate_byte_per_s, Some(3_662_769_230));
        assert_eq!(
            (info.receive_window_bytes, info.timeouts),
            (Some(95_232), Some(0))
        );
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn values_that_stand_for_nothing_are_none() {
        let mut bytes = recorded();
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(1, &[3]);
        put(68, &[0; 4]);
        put(76, &20_u32.to_ne_bytes());
        put(100, &7_u32.to_ne_bytes());
        put(104, &u64::MAX.to_ne_bytes());
        put(148, &u32::MAX.to_ne_bytes());
        put(168, &11_u64.to_ne_bytes());
        put(176, &12_u64.to_ne_bytes());
        put(184, &13_u64.to_ne_bytes());
        put(208, &14_u64.to_ne_bytes());
        put(240, &[5, 0]);
        let info = TcpInfo::parse(&bytes).unwrap();
        assert_eq!(
            (info.loss_state, info.smoothed_rtt_us),
            (LossState::Recovery, None)
        );
        assert_eq!(
            (info.ssthresh_segments, info.retransmissions),
            (Some(20), 7)
        );
        assert_eq!((info.pacing_rate_byte_per_s, info.min_rtt_us), (None, None));
        let limits = (
            info.busy_us,
            info.receive_window_limited_us,
            info.send_buffer_limited_us,
        );
        assert_eq!(limits, (Some(11), Some(12), Some(13)));
        assert_eq!(
            (info.retransmitted_bytes, info.timeouts),
            (Some(14), Some(5))
        );
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn an_older_kernel_fills_less() {
        let bytes = recorded();
        assert_eq!(TcpInfo::parse(&bytes[..103]), None);
        let oldest = TcpInfo::parse(&bytes[..104]).unwrap();
        assert_eq!(
            (oldest.cwnd_segments, oldest.acknowledged_bytes),
            (10, None)
        );
        let of_4_9 = TcpInfo::parse(&bytes[..192]).unwrap();
        assert!(of_4_9.send_buffer_limited_us.is_some() && of_4_9.delivered_segments.is_none());
        let of_5_4 = TcpInfo::parse(&bytes[..232]).unwrap();
        assert!(of_5_4.receive_window_bytes.is_some() && of_5_4.timeouts.is_none());
        // A field that the kernel fills only in part is missing.
        assert_eq!(TcpInfo::parse(&bytes[..206]).unwrap().sent_bytes, None);
        let longer = [&bytes[..], &[255; 40]].concat();
        assert_eq!(TcpInfo::parse(&longer), TcpInfo::parse(&bytes));
    }

    #[test]
    fn unknown_states_say_so() {
        assert_eq!(ConnectionState::of(11), ConnectionState::Closing);
        assert_eq!(ConnectionState::of(12), ConnectionState::Unknown);
        assert_eq!(LossState::of(5), LossState::Unknown);
    }
}
