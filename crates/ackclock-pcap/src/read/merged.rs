//! Merging of several captures taken at one point: an emulation writes one per direction.

use super::{CaptureError, Reader};
use crate::packet::CapturedPacket;
use crate::skipped::Skipped;
use std::io::Read;

/// The packets of several captures in order of time; at equal times, in the order of the captures.
/// A capture that fails ends there, and the others continue.
#[derive(Debug)]
pub struct Merged<R: Read> {
    /// Each reader with its next packet.
    captures: Vec<(Reader<R>, Option<CapturedPacket>)>,
    failure: Option<CaptureError>,
}

impl<R: Read> Merged<R> {
    /// Merges captures, each of which must be in order of time.
    pub fn new(readers: impl IntoIterator<Item = Reader<R>>) -> Self {
        let captures = readers.into_iter().map(|reader| (reader, None)).collect();
        let mut merged = Merged {
            captures,
            failure: None,
        };
        (0..merged.captures.len()).for_each(|number| merged.refill(number));
        merged
    }

    /// Returns how many packets of all captures have been skipped so far, by reason.
    pub fn skipped(&self) -> Skipped {
        let mut sum = Skipped::default();
        self.captures
            .iter()
            .for_each(|(reader, _)| sum += *reader.skipped());
        sum
    }

    /// Describes in one line the first failure or, if there is none, the first damage.
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
