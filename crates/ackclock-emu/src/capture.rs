//! Four captures of real packets, two at each end of the path, with the model's own times to the
//! nanosecond.

use crate::background::{Background, Output};
use ackclock_core::units::Time;
use ackclock_pcap::PcapWriter;
use ackclock_pcap::capture::DEFAULT_SNAP_LENGTH;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// Where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// What the senders have sent, when it came to the hops.
    FromSenders,
    /// What is given to the receivers, when it left the hops.
    ToReceivers,
    /// What the receivers have sent, when it came to the hops.
    FromReceivers,
    /// What is given to the senders, when it left the hops.
    ToSenders,
}

impl Point {
    /// All, as they are numbered.
    pub const ALL: [Point; 4] = [
        Point::FromSenders,
        Point::ToReceivers,
        Point::FromReceivers,
        Point::ToSenders,
    ];
    /// The name of its file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Point::FromSenders => "from-senders.pcap",
            Point::ToReceivers => "to-receivers.pcap",
            Point::FromReceivers => "from-receivers.pcap",
            Point::ToSenders => "to-senders.pcap",
        }
    }
}

/// Captures at any of the four points. The times of each are in order: packets that left at the
/// times the model gave them, not when they were written to a device.
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
    /// Files at all four points, named `prefix` and as [`Point::file_name`] says, each written by a
    /// thread of its own.
    ///
    /// # Errors
    /// Those of creating and writing them.
    pub fn in_folder(folder: &Path, prefix: &str) -> io::Result<Self> {
        let mut captures = Captures::default();
        for point in Point::ALL {
            let file = File::create(folder.join(format!("{prefix}{}", point.file_name())))?;
            captures.add(point, Box::new(Background::new(file)?))?;
        }
        Ok(captures)
    }

    /// Captures at that point from now on: headers and some payload of each packet.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn add(&mut self, point: Point, output: Box<dyn Output>) -> io::Result<()> {
        self.0[point as usize] = Some(PcapWriter::new(output, DEFAULT_SNAP_LENGTH)?);
        Ok(())
    }

    /// Writes a packet seen at `at`, if somebody captures there.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, point: Point, at: Time, packet: &[u8]) -> io::Result<()> {
        match &mut self.0[point as usize] {
            Some(writer) => writer.write(at, packet, packet.len() as u32),
            None => Ok(()),
        }
    }

    /// Lets all that was captured so far go to the disk, without waiting for it.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn hand_over(&mut self) -> io::Result<()> {
        let mut writers = self.0.iter_mut().flatten();
        writers.try_for_each(|writer| writer.output_mut().hand_over())
    }

    /// Ends all captures.
    ///
    /// # Errors
    /// Those of the outputs.
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
