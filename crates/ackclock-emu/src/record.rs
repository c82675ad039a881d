//! The record of a run: packets that arrived at the hops, and the hops' decisions, in columns that
//! only grow. It is written in chunks, so that a run of any length needs little memory. If a run is
//! killed, the part that has reached the disk can still be replayed.
//!
//! The file is [`MAGIC`], then chunks: the body's length (u32) and its FNV-1a digest (u64), both
//! little-endian, then the body. In the body every number is a LEB128 varint. Times and packet
//! numbers are differences from the previous row (zigzag where they may fall).

use crate::ipv4::Direction;
use ackclock_core::packet::{Ecn, FlowId, Packet, PacketKind};
use ackclock_scenario::job::Job;
use ackclock_scenario::network::decision::{Decision, Fate};
use ackclock_spec::units::Time;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// First bytes of a record; the last of them is its version.
pub const MAGIC: [u8; 8] = *b"ackrec\0\x01";

/// Returns the file of a run's record within the folder of a result.
pub fn file_of(folder: &Path, job: &Job<'_>) -> PathBuf {
    folder.join("record").join(format!("{}.ackrec", job.name()))
}

/// One packet that arrived at the hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalRow {
    /// Time of arrival.
    pub at: Time,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Length with the IP header, in bytes.
    pub size: u16,
    /// Kind as the hops see it, which includes the direction.
    pub kind: PacketKind,
    /// ECN field on arrival.
    pub ecn: Ecn,
}

impl ArrivalRow {
    /// Returns the row of a packet that arrives at `at`.
    pub const fn of(at: Time, packet: &Packet) -> Self {
        ArrivalRow {
            at,
            flow: packet.flow,
            size: packet.size,
            kind: packet.kind(),
            ecn: packet.ecn(),
        }
    }
    /// Returns the packet as the hops see it.
    pub fn packet(&self) -> Packet {
        let mut packet = Packet::new(self.kind, self.flow, 0, self.size, self.at);
        packet.set_ecn(self.ecn);
        packet
    }
    /// Returns the direction of the packet.
    pub fn direction(&self) -> Direction {
        if self.packet().is_forward() {
            Direction::Forward
        } else {
            Direction::Back
        }
    }
    /// Encodes kind and ECN field in one byte.
    const fn traits(&self) -> u8 {
        self.kind as u8 | ((self.ecn as u8) << 4)
    }
}

fn from_traits(traits: u8) -> Option<(PacketKind, Ecn)> {
    let kind = match traits & 0xf {
        0 => PacketKind::Data,
        1 => PacketKind::Ack,
        2 => PacketKind::Syn,
        3 => PacketKind::SynAck,
        4 => PacketKind::Datagram,
        5 => PacketKind::Feedback,
        6 => PacketKind::WindowProbe,
        7 => PacketKind::Request,
        _ => return None,
    };
    let ecn = match traits >> 4 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable,
        2 => Ecn::CapableL4s,
        3 => Ecn::Marked,
        _ => return None,
    };
    Some((kind, ecn))
}

/// A digest of all arrivals since the run began. It shows changes that do not affect any decision
/// of the hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalDigest(u64);

impl ArrivalDigest {
    /// Adds an arrival.
    pub fn add(&mut self, row: &ArrivalRow) {
        let rest = u64::from(row.flow.0) << 32 | u64::from(row.size) << 8 | u64::from(row.traits());
        // The step of FNV-1a, on words.
        for word in [row.at.as_nanos(), rest] {
            self.0 = (self.0 ^ word).wrapping_mul(FNV_PRIME).rotate_left(29);
        }
    }
}

/// Part of a record, in columns. A chunk begins at `until` of the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Arrivals: times, flows, sizes, kinds with ECN fields.
    arrivals: (Vec<u64>, Vec<u32>, Vec<u16>, Vec<u8>),
    /// Decisions: times, hops, packets, outcomes.
    decisions: (Vec<u64>, Vec<u32>, Vec<u64>, Vec<u8>),
    /// Everything due by this time has been carried out, and its decisions are in this chunk or an
    /// earlier one.
    pub until: Time,
    /// Digest of all arrivals up to the end of this chunk.
    pub digest: ArrivalDigest,
    /// True if the run ended with this chunk, and the hops were caught up to `until`.
    pub last: bool,
}

impl Chunk {
    /// Appends an arrival.
    pub fn push_arrival(&mut self, row: &ArrivalRow) {
        self.arrivals.0.push(row.at.as_nanos());
        self.arrivals.1.push(row.flow.0);
        self.arrivals.2.push(row.size);
        self.arrivals.3.push(row.traits());
        self.digest.add(row);
    }
    /// Appends a decision.
    pub fn push_decision(&mut self, decision: &Decision) {
        self.decisions.0.push(decision.at.as_nanos());
        self.decisions.1.push(decision.hop);
        self.decisions.2.push(decision.packet);
        self.decisions.3.push(decision.outcome as u8);
    }
    /// Returns the number of arrivals.
    pub fn arrivals_len(&self) -> usize {
        self.arrivals.0.len()
    }
    /// Returns the number of decisions.
    pub fn decisions_len(&self) -> usize {
        self.decisions.0.len()
    }
    /// Yields the arrivals in order. Leaves out invalid rows; [`Chunk::read_from`] accepts none.
    pub fn arrivals(&self) -> impl Iterator<Item = ArrivalRow> + '_ {
        let (times, flows, sizes, traits) = &self.arrivals;
        let rows = times.iter().zip(flows).zip(sizes).zip(traits);
        rows.filter_map(|(((&at, &flow), &size), &traits)| {
            let (kind, ecn) = from_traits(traits)?;
            Some(ArrivalRow {
                at: Time::from_nanos(at),
                flow: FlowId(flow),
                size,
                kind,
                ecn,
            })
        })
    }
    /// Yields the decisions, in the order in which they were reported.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> + '_ {
        let (times, hops, packets, outcomes) = &self.decisions;
        let rows = times.iter().zip(hops).zip(packets).zip(outcomes);
        rows.filter_map(|(((&at, &hop), &packet), &outcome)| {
            Some(Decision {
                at: Time::from_nanos(at),
                hop,
                packet,
                outcome: Fate::from_number(outcome)?,
            })
        })
    }
    /// Removes the rows, but keeps their memory and the digest.
    pub fn clear(&mut self) {
        let (times, flows, sizes, traits) = &mut self.arrivals;
        times.clear();
        flows.clear();
        sizes.clear();
        traits.clear();
        let (times, hops, packets, outcomes) = &mut self.decisions;
        times.clear();
        hops.clear();
        packets.clear();
        outcomes.clear();
    }

    fn encode(&self, body: &mut Vec<u8>) {
        body.clear();
        let head = [
            self.until.as_nanos(),
            self.digest.0,
            u64::from(self.last),
            self.arrivals_len() as u64,
            self.decisions_len() as u64,
        ];
        head.iter().for_each(|value| put(body, *value));
        let (times, flows, sizes, traits) = &self.arrivals;
        put_differences(body, times);
        flows.iter().for_each(|flow| put(body, (*flow).into()));
        sizes.iter().for_each(|size| put(body, (*size).into()));
        body.extend_from_slice(traits);
        let (times, hops, packets, outcomes) = &self.decisions;
        put_differences(body, times);
        // So that [`Decision::NOWHERE`] takes one byte.
        hops.iter()
            .for_each(|hop| put(body, hop.wrapping_add(1).into()));
        put_differences(body, packets);
        body.extend_from_slice(outcomes);
    }

    /// Decodes a body.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it is not valid.
    fn decode(body: &[u8]) -> io::Result<Chunk> {
        let mut cursor = Cursor(body);
        let (until, digest) = (
            Time::from_nanos(cursor.take()?),
            ArrivalDigest(cursor.take()?),
        );
        let last = cursor.take()? != 0;
        let (arrivals, decisions) = (cursor.count()?, cursor.count()?);
        let chunk = Chunk {
            until,
            digest,
            last,
            arrivals: (
                cursor.take_differences(arrivals)?,
                cursor.take_narrow(arrivals)?,
                cursor.take_narrow(arrivals)?,
                cursor.take_bytes(arrivals)?,
            ),
            decisions: (
                cursor.take_differences(decisions)?,
                cursor.take_hops(decisions)?,
                cursor.take_differences(decisions)?,
                cursor.take_bytes(decisions)?,
            ),
        };
        let sound = chunk.arrivals().count() == arrivals && chunk.decisions().count() == decisions;
        if sound && cursor.0.is_empty() {
            Ok(chunk)
        } else {
            Err(invalid("a record's chunk has rows that cannot be"))
        }
    }

    /// Appends the chunk to a record that begins with [`MAGIC`]. `body` is a scratch buffer, which
    /// may be reused.
    ///
    /// # Errors
    /// Errors of `output`, and [`io::ErrorKind::InvalidInput`] beyond 4 GiB.
    pub fn write_to(&self, output: &mut dyn Write, body: &mut Vec<u8>) -> io::Result<()> {
        self.encode(body);
        write_body(output, body)
    }

    /// Reads the next chunk; returns `None` at the end, or if the next chunk is incomplete.
    ///
    /// # Errors
    /// Errors of `input`; [`io::ErrorKind::InvalidData`] if it is not a chunk.
    pub fn read_from(input: &mut dyn Read) -> io::Result<Option<Chunk>> {
        let mut head = Vec::with_capacity(12);
        input.take(12).read_to_end(&mut head)?;
        let (Some(length), Some(digest)) = (
            head.first_chunk(),
            head.last_chunk().filter(|_| head.len() == 12),
        ) else {
            return Ok(None);
        };
        let (length, digest) = (u32::from_le_bytes(*length), u64::from_le_bytes(*digest));
        let mut body = Vec::new();
        input.take(length.into()).read_to_end(&mut body)?;
        if body.len() < length as usize {
            return Ok(None);
        }
        if fnv(&body) != digest {
            return Err(invalid("a record's chunk is damaged"));
        }
        Chunk::decode(&body).map(Some)
    }
}

/// Appends a chunk's body with its length and its digest.
///
/// # Errors
/// Those of [`Chunk::write_to`].
pub fn write_body(output: &mut dyn Write, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(&fnv(body).to_le_bytes())?;
    output.write_all(body)
}

/// Iterator over the chunks of a record.
#[derive(Debug)]
pub struct Chunks<R> {
    input: R,
}

impl<R: Read> Chunks<R> {
    /// Reads a record's first bytes. A file with fewer of them is the record of a run that was
    /// killed before it had written anything.
    ///
    /// # Errors
    /// Errors of `input`; [`io::ErrorKind::InvalidData`] if it is not a record.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(MAGIC.len());
        input
            .by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut magic)?;
        if MAGIC.starts_with(&magic) {
            Ok(Chunks { input })
        } else {
            Err(invalid("not a record of this version"))
        }
    }
}

impl<R: Read> Iterator for Chunks<R> {
    type Item = io::Result<Chunk>;
    fn next(&mut self) -> Option<io::Result<Chunk>> {
        Chunk::read_from(&mut self.input).transpose()
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    bytes.iter().fold(FNV_OFFSET, step)
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn put(body: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        body.push(value as u8 | 0x80);
        value >>= 7;
    }
    body.push(value as u8);
}

fn put_differences(body: &mut Vec<u8>, values: &[u64]) {
    let mut last = 0_u64;
    for &value in values {
        let difference = value.wrapping_sub(last) as i64;
        put(body, ((difference << 1) ^ (difference >> 63)) as u64);
        last = value;
    }
}

/// The rest of a body.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for place in 0..10 {
            let (&byte, rest) = self
                .0
                .split_first()
                .ok_or_else(|| invalid("a record's chunk ends early"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(invalid("a number in a record is too long"))
    }
    /// Reads a number of rows. Each row takes at least a byte, so a wrong number cannot exhaust the
    /// memory.
    fn count(&mut self) -> io::Result<usize> {
        let rows = self.take()?;
        usize::try_from(rows)
            .ok()
            .filter(|rows| *rows <= self.0.len())
            .ok_or_else(|| invalid("a record's chunk ends early"))
    }
    fn take_differences(&mut self, rows: usize) -> io::Result<Vec<u64>> {
        let mut last = 0_u64;
        let mut next = || {
            let zigzag = self.take()?;
            let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            last = last.wrapping_add(difference as u64);
            Ok(last)
        };
        (0..rows).map(|_| next()).collect()
    }
    fn take_narrow<T: TryFrom<u64>>(&mut self, rows: usize) -> io::Result<Vec<T>> {
        let next =
            |_| T::try_from(self.take()?).map_err(|_| invalid("a number in a record is too large"));
        (0..rows).map(next).collect()
    }
    fn take_hops(&mut self, rows: usize) -> io::Result<Vec<u32>> {
        let mut hops: Vec<u32> = self.take_narrow(rows)?;
        hops.iter_mut().for_each(|hop| *hop = hop.wrapping_sub(1));
        Ok(hops)
    }
    fn take_bytes(&mut self, rows: usize) -> io::Result<Vec<u8>> {
        let (bytes, rest) = self
            .0
            .split_at_checked(rows)
            .ok_or_else(|| invalid("a record's chunk ends early"))?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_chunk() -> impl Strategy<Value = Chunk> {
        let arrival = (any::<u64>(), any::<u32>(), any::<u16>(), 0..6_u8, 0..4_u8);
        let decision = (any::<u64>(), any::<u32>(), any::<u64>(), 0..5_u8);
        (
            prop::collection::vec(arrival, 0..50),
            prop::collection::vec(decision, 0..50),
            any::<(u64, bool)>(),
        )
            .prop_map(|(arrivals, decisions, (until, last))| {
                let mut chunk = Chunk {
                    until: Time::from_nanos(until),
                    last,
                    ..Chunk::default()
                };
                for (at, flow, size, kind, ecn) in arrivals {
                    let (kind, ecn) = from_traits(kind | ecn << 4).unwrap();
                    let (at, flow) = (Time::from_nanos(at), FlowId(flow));
                    chunk.push_arrival(&ArrivalRow {
                        at,
                        flow,
                        size,
                        kind,
                        ecn,
                    });
                }
                for (at, hop, packet, outcome) in decisions {
                    let (at, outcome) = (Time::from_nanos(at), Fate::from_number(outcome).unwrap());
                    chunk.push_decision(&Decision {
                        at,
                        hop,
                        packet,
                        outcome,
                    });
                }
                chunk
            })
    }

    fn written(chunks: &[Chunk]) -> Vec<u8> {
        let (mut file, mut body) = (MAGIC.to_vec(), Vec::new());
        for chunk in chunks {
            chunk.write_to(&mut file, &mut body).unwrap();
        }
        file
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(chunks in prop::collection::vec(any_chunk(), 0..4)) {
            let file = written(&chunks);
            let read: io::Result<Vec<Chunk>> = Chunks::new(&file[..]).unwrap().collect();
            prop_assert_eq!(read.unwrap(), chunks);
        }

        #[test]
        fn what_was_cut_off_ends_with_the_last_whole_chunk(
            chunks in prop::collection::vec(any_chunk(), 1..4),
            cut in 1_usize..12,
        ) {
            let file = written(&chunks);
            let read: io::Result<Vec<Chunk>> =
                Chunks::new(&file[..file.len() - cut.min(file.len() - 8)]).unwrap().collect();
            prop_assert_eq!(&read.unwrap()[..], &chunks[..chunks.len() - 1]);
        }

        #[test]
        fn damage_is_found(
            chunk in any_chunk(),
            place in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let mut file = written(std::slice::from_ref(&chunk));
            let place = place.index(file.len());
            file[place] ^= 1 << bit;
            let read = Chunks::new(&file[..])
                .and_then(|chunks| chunks.collect::<io::Result<Vec<_>>>());
            // A chunk that seems longer than the file counts as incomplete.
            prop_assert!(read.is_err() || read.is_ok_and(|chunks| chunks.is_empty()));
        }

        #[test]
        fn whatever_the_bytes_reading_ends(body in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(chunk) = Chunk::decode(&body) {
                prop_assert!(chunk.arrivals_len() + chunk.decisions_len() <= body.len());
            }
        }
    }

    #[test]
    fn a_row_takes_few_bytes() {
        let mut chunk = Chunk::default();
        for number in 0..1000 {
            let at = Time::from_nanos(1_000_000_000 + number * 120_000);
            let (flow, kind, ecn) = (FlowId(3), PacketKind::Data, Ecn::NotCapable);
            chunk.push_arrival(&ArrivalRow {
                at,
                flow,
                size: 1500,
                kind,
                ecn,
            });
            chunk.push_decision(&Decision {
                at,
                hop: 2,
                packet: number,
                outcome: Fate::Departed,
            });
        }
        let bytes = written(&[chunk]).len();
        assert!(bytes < 14_100, "{bytes} bytes for a thousand packets");
    }
}
