//! Captures of real packets at four points, two at each end of the path, with the model's own times
//! to the nanosecond.

use crate::background::{Background, Output};
use ackclock_pcap::PcapWriter;
use ackclock_pcap::capture::DEFAULT_SNAP_LENGTH;
use ackclock_spec::units::Time;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// Capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Packets of the senders, when they arrive at the hops.
    FromSenders,
    /// Packets to the receivers, when they leave the hops.
    ToReceivers,
    /// Packets of the receivers, when they arrive at the hops.
    FromReceivers,
    /// Packets to the senders, when they leave the hops.
    ToSenders,
}

impl Point {
    /// All points in the order of their numbers.
    pub const ALL: [Point; 4] = [
        Point::FromSenders,
        Point::ToReceivers,
        Point::FromReceivers,
        Point::ToSenders,
    ];
    /// Returns the name of its file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Point::FromSenders => "from-senders.pcap",
            Point::ToReceivers => "to-receivers.pcap",
            Point::FromReceivers => "from-receivers.pcap",
            Point::ToSenders => "to-senders.pcap",
        }
    }
}

/// Captures at any of the four points. The times of each are in order: for departures they are the
/// model's times, not the times of writing to a device.
#[derive(Default)]
pub struct Captures([Option<PcapWriter<Box<dyn Output>>>; 4]);

impl fmt::Debug for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = Point::ALL
            .iter()
            .filter(|point| self.0[**point as usize].is_some());
        f.debug_list().entries(points).finish()
    }
}

impl Captures {
    /// Creates files at all four points, named `prefix` with [`Point::file_name`], each written by
    /// a thread of its own.
    ///
    /// # Errors
    /// Errors of creating and writing them.
    pub fn in_folder(folder: &Path, prefix: &str) -> io::Result<Self> {
        let mut captures = Captures::default();
        for point in Point::ALL {
            let file = File::create(folder.join(format!("{prefix}{}", point.file_name())))?;
            captures.add(point, Box::new(Background::new(file)?))?;
        }
        Ok(captures)
    }

    /// Adds a capture at this point, with headers and some payload of each packet.
    ///
    /// # Errors
    /// Errors of `output`.
    pub fn add(&mut self, point: Point, output: Box<dyn Output>) -> io::Result<()> {
        self.0[point as usize] = Some(PcapWriter::new(output, DEFAULT_SNAP_LENGTH)?);
        Ok(())
    }

    /// Writes a packet seen at `at`, if there is a capture at the point.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write(&mut self, point: Point, at: Time, packet: &[u8]) -> io::Result<()> {
        match &mut self.0[point as usize] {
            Some(writer) => writer.write(at, packet, packet.len() as u32),
            None => Ok(()),
        }
    }

    /// Passes everything captured so far on to the disk, without waiting.
    ///
    /// # Errors
    /// Errors of the outputs.
    pub fn hand_over(&mut self) -> io::Result<()> {
        let mut writers = self.0.iter_mut().flatten();
        writers.try_for_each(|writer| writer.output_mut().hand_over())
    }

    /// Ends all captures.
    ///
    /// # Errors
    /// Errors of the outputs.
    pub fn finish(&mut self) -> io::Result<()> {
        for writer in self.0.iter_mut().filter_map(Option::take) {
            writer.finish()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_files_of_a_folder() {
        let folder = std::env::temp_dir().join(format!("ackclock-captures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut captures = Captures::in_folder(&folder, "run-").unwrap();
        for (number, point) in (1..).zip(Point::ALL) {
            for _ in 0..number {
                captures.write(point, Time::ZERO, &[0x45; 1500]).unwrap();
            }
        }
        captures.finish().unwrap();
        let lengths = Point::ALL.map(|point| {
            std::fs::read(folder.join(format!("run-{}", point.file_name())))
                .unwrap()
                .len()
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            lengths,
            [1, 2, 3, 4].map(|packets| 24 + packets * (16 + 96))
        );
        assert_eq!(format!("{captures:?}"), "[]");
        captures
            .write(Point::ToSenders, Time::ZERO, &[0x45; 40])
            .unwrap();
    }
}
