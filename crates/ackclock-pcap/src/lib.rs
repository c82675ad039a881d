//! Packet captures: what crossed a point of the path, as a file that Wireshark, tshark, tcpdump and
//! tcptrace read, or that one of them wrote.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@write`] | the pcap file format, out |
//! | [`mod@read`] | pcap and pcapng files, in |
//! | [`mod@decode`] | from the bytes of a packet to what measuring needs of it |
//! | [`skipped`] | what that passes over |
//! | [`addresses`] | IP addresses and ports of a flow |
//! | [`encode`] | real IP, TCP and UDP headers for simulated packets |
//! | [`labels`] | what simulated packets carry from end to end beyond what they know |
//! | [`packet`] | a packet as a capture shows it |
//! | [`capture`] | addresses, headers and file together: one call per simulated packet |
//!
//! A capture is best taken where the sender's packets leave and its ACKs arrive, as one does with
//! tcpdump on a sending host. What a simulated packet does not know, and what the capture says
//! instead, is in [`encode`].

pub mod addresses;
pub mod capture;
pub mod datagram;
pub mod decode;
pub mod encode;
pub mod labels;
pub mod packet;
pub mod read;
pub mod skipped;
pub mod write;

pub use addresses::FlowAddresses;
pub use capture::Capture;
pub use datagram::encode_datagram;
pub use encode::PacketEncoder;
pub use labels::{Label, Labels};
pub use packet::CapturedPacket;
pub use read::{CaptureError, Damage, Merged, Reader};
pub use skipped::Skipped;
pub use write::PcapWriter;
