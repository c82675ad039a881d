//! Several captures of one place, as one: an emulation keeps the two ways apart.

use super::{CaptureError, Reader};
use crate::packet::CapturedPacket;
use crate::skipped::Skipped;
use std::io::Read;

/// The packets of several captures in the order of time; of the same time in the order of the
/// captures. A capture that cannot be read on ends there, the others go on.
#[derive(Debug)]
pub struct Merged<R: Read> {
    /// Each with the packet that comes next.
    captures: Vec<(Reader<R>, Option<CapturedPacket>)>,
    failure: Option<CaptureError>,
}

impl<R: Read> Merged<R> {
    /// Of captures that are in the order of time themselves.
    pub fn new(readers: impl IntoIterator<Item = Reader<R>>) -> Self {
        let captures = readers.into_iter().map(|reader| (reader, None)).collect();
        let mut merged = Merged {
            captures,
            failure: None,
        };
        (0..merged.captures.len()).for_each(|number| merged.refill(number));
        merged
    }

    /// What was passed over in all of them so far, by reason.
    pub fn skipped(&self) -> Skipped {
        let mut sum = Skipped::default();
        self.captures
            .iter()
            .for_each(|(reader, _)| sum += *reader.skipped());
        sum
    }

    /// What is wrong with the first that failed, or else with the first that is damaged, in one
    /// line.
    pub fn damage(&self) -> Option<String> {
        let failure = self.failure.as_ref().map(ToString::to_string);
        let mut readers = self.captures.iter().map(|(reader, _)| reader);
        failure.or_else(|| readers.find_map(|reader| reader.damage().map(ToString::to_string)))
    }

    fn refill(&mut self, number: usize) {
        let (reader, next) = &mut self.captures[number];
        *next = match reader.next() {
            Some(Ok(packet)) => Some(packet),
            Some(Err(error)) => {
                self.failure.get_or_insert(error);
                None
            }
            None => None,
        };
    }
}

impl<R: Read> Iterator for Merged<R> {
    type Item = CapturedPacket;

    fn next(&mut self) -> Option<CapturedPacket> {
        let waiting = self.captures.iter().enumerate();
        let (_, first) = waiting
            .filter_map(|(number, (_, next))| next.as_ref().map(|packet| (packet.at_ns, number)))
            .min()?;
        let packet = self.captures[first].1.take();
        self.refill(first);
        packet
    }
}
