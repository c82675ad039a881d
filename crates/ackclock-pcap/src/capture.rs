//! Capture of simulated packets: one call per packet.

use crate::{Label, PacketEncoder, PcapWriter};
use ackclock_core::packet::{Content, Packet};
use ackclock_spec::units::Time;
use std::io::{self, Write};

/// Default snap length in bytes: keeps all headers and options, and some payload.
pub const DEFAULT_SNAP_LENGTH: u32 = 96;

/// Writes the packets of a run's flows to one pcap file. Allocates nothing per packet.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: PcapWriter<W>,
    encoders: Vec<PacketEncoder>,
    buffer: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Writes the file header. `encoders` are those of flow 0, 1 and so on. At most `snap_length`
    /// bytes of each packet are kept; 0 keeps whole packets. `output` should be a
    /// [`std::io::BufWriter`].
    ///
    /// # Errors
    /// Errors of `output`.
    pub fn new(output: W, snap_length: u32, encoders: Vec<PacketEncoder>) -> io::Result<Self> {
        Ok(Capture {
            writer: PcapWriter::new(output, snap_length)?,
            encoders,
            buffer: Vec::new(),
        })
    }

    /// Writes a packet seen at `at`, with its label and what it carries. Calls must come in order
    /// of time.
    ///
    /// # Errors
    /// Errors of the output; [`io::ErrorKind::InvalidInput`] for a flow without an encoder.
    pub fn write(
        &mut self,
        at: Time,
        packet: &Packet,
        content: Content<'_>,
        label: Label,
    ) -> io::Result<()> {
        let Some(encoder) = self.encoders.get(packet.flow.0 as usize) else {
            let message = format!("flow {} was not declared to the capture", packet.flow.0);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let snap_length = self.writer.snap_length();
        let whole = encoder.encode(packet, content, label, snap_length, &mut self.buffer);
        self.writer.write(at, &self.buffer, whole)
    }

    /// Flushes and returns the output. A file that was not finished is valid up to the last packet
    /// that reached it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(self) -> io::Result<W> {
        self.writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowAddresses, Labels};
    use ackclock_core::packet::{FlowId, PacketKind};

    #[test]
    fn each_flow_has_its_own_addresses() {
        let encoders = (0..2).map(|flow| PacketEncoder::udp(FlowAddresses::of(flow)));
        let mut capture = Capture::new(Vec::new(), 0, encoders.collect()).unwrap();
        let mut write = |flow| {
            let packet = Packet::new(PacketKind::Datagram, FlowId(flow), 0, 50, Time::ZERO);
            let label = Labels::default().sent(Time::ZERO, &packet);
            capture.write(Time::ZERO, &packet, Content::Nothing, label)
        };
        (0..2).for_each(|flow| write(flow).unwrap());
        let error = write(2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let file = capture.finish().unwrap();
        let packets: Vec<_> = file[24..]
            .chunks(16 + 50)
            .map(|record| &record[16..])
            .collect();
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[0][12..16], [10, 0, 0, 1]);
        assert_eq!(packets[1][12..16], [10, 0, 0, 2]);
    }
}
