//! Packet captures: files of the packets that cross one point of the path. Wireshark, tshark,
//! tcpdump and tcptrace read the files that we write, and we read theirs.
//!
//! * [`mod@write`]: writing the pcap file format.
//! * [`mod@read`]: reading pcap and pcapng files.
//! * [`mod@decode`]: decoding a packet's bytes into the fields that measurement needs.
//! * [`skipped`]: counts of packets that were not decoded, by reason.
//! * [`addresses`]: IP addresses and ports of a flow.
//! * [`encode`]: real IP, TCP and UDP headers for simulated packets.
//! * [`labels`]: header fields that a simulated packet lacks, kept from sender to receiver.
//! * [`packet`]: a decoded packet.
//! * [`capture`]: addresses, headers and file together: one call per simulated packet.
//!
//! A capture is best taken where the sender's packets leave and its ACKs arrive, as with tcpdump on
//! a sending host. [`encode`] lists the fields that a simulated packet lacks and what the capture
//! holds instead.

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
