//! One connection of a capture as events at its sender, with segments instead of bytes.
//!
//! The segments are those in which the data left first. A retransmission of several of them, or of
//! a part of one, counts for each of them.

use crate::sequence;
use ackclock_core::packet::{SackBlock, SackBlocks};
use ackclock_pcap::CapturedPacket;
use ackclock_pcap::packet::{Segment, Transport};
use ackclock_spec::units::Time;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Bytes of the timestamp option with its padding, in every segment after the SYN (RFC 7323
/// appendix A).
const TIMESTAMPS: u16 = 12;

/// Largest payload without the option for it (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// An event at the sender.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Capture time, counted from 1970 or from the beginning of the run.
    pub at: Time,
    /// Kind of event.
    pub kind: EventKind,
}

/// The kinds of [`Event`].
#[derive(Clone, Copy, Debug)]
pub enum EventKind {
    /// A SYN leaves.
    Syn,
    /// The answer to the SYN arrives.
    SynAck {
        /// Time of the SYN whose timestamp it echoes.
        echo: Time,
    },
    /// A segment leaves.
    Sent {
        /// Number of the segment.
        segment: u64,
    },
    /// An ACK arrives.
    Ack(Answer),
}

/// An ACK, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Next segment expected.
    pub cumulative: u64,
    /// Time of the segment whose timestamp it echoes; [`Time::NEVER`] if unknown.
    pub echo: Time,
    /// SACK blocks.
    pub sacks: SackBlocks,
    /// ECE flag.
    pub ecn_echo: bool,
    /// First segment beyond the advertised window.
    pub edge: u64,
}

/// The state that turns packets into events.
#[derive(Debug)]
pub struct Connection {
    pair: (SocketAddr, SocketAddr),
    /// Sequence number of the first byte, once the SYN has been seen.
    begin: Option<u64>,
    /// Payload of a full segment, once the handshake is over.
    mss: Option<u64>,
    own: Segment,
    highest: u64,
    /// First byte of each segment, and the byte after the last one, counted from the first byte.
    starts: Vec<u64>,
    end: u64,
    scale: u8,
    /// Time of the last packet with each timestamp.
    stamps: HashMap<u32, Time>,
    events: Vec<Event>,
}

impl Connection {
    /// A connection whose data goes from the first address to the second.
    pub fn new(pair: (SocketAddr, SocketAddr)) -> Self {
        Connection {
            pair,
            begin: None,
            mss: None,
            own: Segment::default(),
            highest: 0,
            starts: Vec::new(),
            end: 0,
            scale: 0,
            stamps: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Returns the payload of a full segment; `None` before the end of the handshake.
    pub fn mss(&self) -> Option<u64> {
        self.mss
    }

    /// Returns the events so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Processes a packet of the capture; ignores those of other connections.
    ///
    /// # Errors
    /// The capture lacks packets: one sentence.
    pub fn take(&mut self, packet: &CapturedPacket) -> Result<(), String> {
        let Transport::Tcp(segment) = &packet.transport else {
            return Ok(());
        };
        let at = Time::from_nanos(packet.at_ns);
        if (packet.source, packet.destination) == self.pair {
            self.take_sent(at, segment)
        } else if (packet.destination, packet.source) == self.pair {
            self.take_received(at, segment);
            Ok(())
        } else {
            Ok(())
        }
    }

    fn push(&mut self, at: Time, kind: EventKind) {
        self.events.push(Event { at, kind });
    }

    fn take_sent(&mut self, at: Time, segment: &Segment) -> Result<(), String> {
        if let Some((stamp, _)) = segment.options.timestamps {
            self.stamps.insert(stamp, at);
        }
        if segment.flags.syn {
            if self.mss.is_none() {
                self.own = *segment;
                let begin = sequence::first(segment.sequence) + 1;
                self.begin = Some(begin);
                self.highest = begin;
                self.push(at, EventKind::Syn);
            }
            return Ok(());
        }
        let (Some(begin), Some(mss)) = (self.begin, self.mss) else {
            return Ok(());
        };
        if segment.payload == 0 {
            return Ok(());
        }
        let first = sequence::unwrap(segment.sequence, self.highest);
        let end = first + u64::from(segment.payload);
        self.highest = self.highest.max(end);
        let Some(first) = first.checked_sub(begin) else {
            return Ok(()); // a probe of the window
        };
        let end = end - begin;
        if first > self.end {
            return Err(format!("the capture lacks the data before byte {first}"));
        }
        let mut at_byte = self.end;
        while at_byte < end {
            self.starts.push(at_byte);
            at_byte = end.min(at_byte + mss);
        }
        self.end = self.end.max(end);
        for number in self.number(first)..self.number_up(end) {
            self.push(at, EventKind::Sent { segment: number });
        }
        Ok(())
    }

    fn take_received(&mut self, at: Time, segment: &Segment) {
        let echo = segment
            .options
            .timestamps
            .and_then(|(_, echo)| self.stamps.get(&echo).copied())
            .unwrap_or(Time::NEVER);
        if segment.flags.syn {
            if segment.flags.ack && self.begin.is_some() && self.mss.is_none() {
                self.settle(segment);
                self.push(at, EventKind::SynAck { echo });
            }
            return;
        }
        if segment.flags.ack && !segment.flags.rst && self.mss.is_some() {
            let answer = self.answer(segment, echo);
            self.push(at, EventKind::Ack(answer));
        }
    }

    /// Takes what both sides have said in the handshake.
    fn settle(&mut self, answer: &Segment) {
        let of = |segment: &Segment| segment.options.maximum_segment.unwrap_or(DEFAULT_MSS);
        let stamps = answer.options.timestamps.is_some() && self.own.options.timestamps.is_some();
        let taken = if stamps { TIMESTAMPS } else { 0 };
        let mss = of(&self.own).min(of(answer)).saturating_sub(taken).max(1);
        self.mss = Some(mss.into());
        self.scale = match (self.own.options.window_scale, answer.options.window_scale) {
            (Some(_), Some(scale)) => scale.min(14),
            _ => 0,
        };
    }

    /// Returns the number of the segment with that byte; of the next one to be sent for a byte
    /// beyond all.
    fn number(&self, byte: u64) -> u64 {
        if byte >= self.end {
            return self.starts.len() as u64;
        }
        self.starts.partition_point(|start| *start <= byte) as u64 - 1
    }

    /// Returns the number of the first segment that does not begin before that byte.
    fn number_up(&self, byte: u64) -> u64 {
        self.starts.partition_point(|start| *start < byte) as u64
    }

    fn answer(&self, segment: &Segment, echo: Time) -> Answer {
        let begin = self.begin.unwrap_or(0);
        let byte = |number: u32| sequence::unwrap(number, self.highest).saturating_sub(begin);
        let acknowledged = byte(segment.acknowledgment);
        let mut blocks = segment
            .options
            .sacks()
            .iter()
            .map(|(left, right)| (byte(*left), byte(*right)))
            .filter(|(left, right)| left < right);
        let block = |(left, right): (u64, u64)| SackBlock {
            start: self.number(left),
            end: self.number_up(right),
        };
        let mut sacks = SackBlocks::default();
        if let Some(first) = blocks.next() {
            let within = |(left, right): &(u64, u64)| *left <= first.0 && first.1 <= *right;
            // RFC 2883 section 4: below the cumulative ACK, or within the second block.
            if first.0 < acknowledged || blocks.clone().next().as_ref().is_some_and(within) {
                sacks = SackBlocks::reporting(block(first));
            } else {
                sacks.push(block(first));
            }
        }
        blocks.for_each(|range| sacks.push(block(range)));
        let window = u64::from(segment.window) << self.scale;
        Answer {
            cumulative: self.number(acknowledged),
            echo,
            sacks,
            ecn_echo: segment.flags.ece,
            edge: self.number(acknowledged) + window / self.mss.unwrap_or(1),
        }
    }
}
