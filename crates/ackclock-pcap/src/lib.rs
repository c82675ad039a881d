//! Packet captures: what crossed a point of the path, as a file that Wireshark, tshark, tcpdump and tcptrace read.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@write`] | the pcap file format |
//! | [`addresses`] | IP addresses and ports of a flow |
//! | [`encode`] | real IP, TCP and UDP headers for simulated packets |
//! | [`packet`] | a packet as a capture shows it |
//! | [`capture`] | the three together: one call per packet |
//!
//! A capture is best taken where the sender's packets leave and its ACKs arrive, as one does with tcpdump on a sending
//! host. What a simulated packet does not know, and what the capture says instead, is in [`encode`].

pub mod addresses;
pub mod capture;
pub mod encode;
pub mod packet;
pub mod write;

pub use addresses::FlowAddresses;
pub use capture::Capture;
pub use encode::PacketEncoder;
pub use packet::CapturedPacket;
pub use write::PcapWriter;
