//! The kernel's functions that programs call.

use super::{NET_COOKIE, State};
use crate::calls::Function;
use crate::layout::socket;
use crate::memory::{self, MOST_FRAMES, address};
use crate::program::{MapKind, Program};
use crate::refusal::Refusal;

/// Largest record of a ring buffer that a program may write at once.
const LONGEST_RECORD: u64 = 4096;
/// Most bytes of records that are kept.
const MOST_RECORDED: usize = 256 << 20;
/// `EINVAL`, negative.
const INVALID: u64 = (-22_i64).cast_unsigned();

impl State {
    /// Calls a function of the kernel.
    pub(super) fn host(
        &mut self,
        program: &Program,
        function: u64,
        [a, b, c, d, _]: [u64; 5],
        depth: usize,
    ) -> Result<u64, Refusal> {
        use Function as F;
        let unknown = || Refusal::new("calls a function that the engine does not have");
        let function = F::numbered(function).ok_or_else(unknown)?;
        match function {
            F::SlowStart => {
                self.is_socket(a)?;
                Ok(self.slow_start(b as u32).into())
            }
            F::CongAvoidAi => {
                self.is_socket(a)?;
                self.grow(b as u32, c as u32).map(|()| 0)
            }
            F::KtimeGetNs => Ok(self.now),
            F::Jiffies => Ok(self.ticks()),
            F::ProcessorId | F::TracePrintk | F::NumbersDestroy => Ok(0),
            F::SocketCookie => Ok(1),
            F::NetCookie => Ok(NET_COOKIE),
            F::RandomU32 => Ok(self.random()),
            F::SameSocket => self.is_socket(a).map(|()| a),
            F::Identity => Ok(a),
            F::RenoSsthresh => {
                self.is_socket(a)?;
                Ok((self.get(socket::SND_CWND) >> 1).max(2))
            }
            F::RenoUndoCwnd => {
                self.is_socket(a)?;
                Ok(self.get(socket::SND_CWND).max(self.get(socket::PRIOR_CWND)))
            }
            F::RenoCongAvoid => {
                self.is_socket(a)?;
                if self.get(socket::IS_CWND_LIMITED) == 0 {
                    return Ok(0);
                }
                let left = self.slow_start(c as u32);
                let window = self.get(socket::SND_CWND) as u32;
                if left > 0 {
                    self.grow(window, left)?;
                }
                Ok(0)
            }
            F::MapLookup | F::StorageGet | F::StorageDelete => {
                self.map(program, function, [a, b, c, d])
            }
            F::RecordReserve => self.reserve(b),
            F::RecordSubmit => {
                let record = self.memory.region(memory::RECORD).bytes().to_vec();
                self.charge(record.len())?;
                self.keep(&record);
                self.memory.replace(memory::RECORD, Vec::new());
                Ok(0)
            }
            F::RecordDiscard => {
                self.memory.replace(memory::RECORD, Vec::new());
                Ok(0)
            }
            F::RecordQuery => Ok(0),
            F::RecordOutput => {
                let record = self.copy(b, c)?;
                self.charge(record.len())?;
                self.keep(&record);
                Ok(0)
            }
            F::ProbeRead => self.probe_read(a, b, c),
            F::Loop => self.repeat(program, [a, b, c], depth),
            F::NumbersNew | F::NumbersNext => self.numbers(function, [a, b, c]),
        }
    }

    /// Refuses a pointer that is not the socket.
    fn is_socket(&self, pointer: u64) -> Result<(), Refusal> {
        if pointer == address(memory::SOCKET, 0) {
            Ok(())
        } else {
            Err(Refusal::new(
                "calls a function of sockets with something else",
            ))
        }
    }

    /// Grows the window in slow start, at most to ssthresh. Returns the segments left
    /// (`tcp_slow_start`).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.get(socket::SND_CWND) as u32;
        let ssthresh = self.get(socket::SND_SSTHRESH) as u32;
        if cwnd >= ssthresh {
            return acked;
        }
        let grown = cwnd.saturating_add(acked).min(ssthresh);
        let clamp = self.get(socket::SND_CWND_CLAMP) as u32;
        self.set(socket::SND_CWND, grown.min(clamp).into());
        acked - (grown - cwnd)
    }

    /// Grows the window by a segment for each `every` acknowledged ones (`tcp_cong_avoid_ai`).
    fn grow(&mut self, every: u32, acked: u32) -> Result<(), Refusal> {
        if every == 0 {
            let reason = "calls tcp_cong_avoid_ai with w = 0, by which the kernel divides";
            return Err(Refusal::new(reason));
        }
        let mut cwnd = self.get(socket::SND_CWND) as u32;
        let mut counted = self.get(socket::SND_CWND_CNT) as u32;
        if counted >= every {
            counted = 0;
            cwnd = cwnd.saturating_add(1);
        }
        counted = counted.saturating_add(acked);
        if counted >= every {
            cwnd = cwnd.saturating_add(counted / every);
            counted %= every;
        }
        let clamp = self.get(socket::SND_CWND_CLAMP) as u32;
        self.set(socket::SND_CWND, cwnd.min(clamp).into());
        self.set(socket::SND_CWND_CNT, counted.into());
        Ok(())
    }

    /// Returns the next random number (SplitMix64, upper half).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> 32
    }

    /// Looks a value up in a map.
    fn map(
        &mut self,
        program: &Program,
        function: Function,
        [a, b, c, d]: [u64; 4],
    ) -> Result<u64, Refusal> {
        let unknown = || Refusal::new("looks something up in what is no map");
        let number = (a as u32) as usize;
        let is_map = (a >> 32) as u32 == memory::MAP;
        let map = program.maps.get(number).filter(|_| is_map);
        let region = map.ok_or_else(unknown)?.region;
        match (function, &mut self.maps[number]) {
            (Function::MapLookup, MapKind::Array { entries, stride }) => {
                let key = self.memory.load(b).map(u32::from_le_bytes);
                let key = key.ok_or_else(|| Refusal::new(self.memory.complaint(b, 4, false)))?;
                let inside = key < *entries;
                let place = address(region, key.wrapping_mul(*stride));
                Ok(if inside { place } else { 0 })
            }
            (Function::StorageGet, MapKind::SocketStorage { in_use }) => {
                let creates = d & 1 != 0; // BPF_SK_STORAGE_GET_F_CREATE
                if !*in_use && creates {
                    *in_use = true;
                    let initial = self.memory.region(region).bytes().len();
                    self.charge(initial)?;
                    let bytes = match c {
                        0 => vec![0; initial],
                        from => self.copy(from, initial as u64)?,
                    };
                    self.memory.replace(region, bytes);
                    return Ok(address(region, 0));
                }
                Ok(if *in_use { address(region, 0) } else { 0 })
            }
            (Function::StorageDelete, MapKind::SocketStorage { in_use }) => {
                *in_use = false;
                Ok(0)
            }
            _ => Err(Refusal::new("asks a map for what its kind does not have")),
        }
    }

    /// Makes room for a record. Returns a null pointer, as a full ring buffer does, if no records
    /// are kept.
    fn reserve(&mut self, size: u64) -> Result<u64, Refusal> {
        if self.records.is_none() || size > LONGEST_RECORD {
            return Ok(0);
        }
        self.charge(size as usize)?;
        self.memory.replace(memory::RECORD, vec![0; size as usize]);
        Ok(address(memory::RECORD, 0))
    }

    fn keep(&mut self, record: &[u8]) {
        if let Some(records) = &mut self.records
            && records.len() + record.len() <= MOST_RECORDED
        {
            records.extend_from_slice(record);
        }
    }

    /// Counts bytes that are copied as the instructions that it would take, of eight bytes each.
    fn charge(&mut self, bytes: usize) -> Result<(), Refusal> {
        let left = self.left.checked_sub(bytes as u64 / 8);
        let reason = "copies more bytes than a call may take time for";
        self.left = left.ok_or_else(|| Refusal::new(reason))?;
        Ok(())
    }

    fn copy(&self, from: u64, size: u64) -> Result<Vec<u8>, Refusal> {
        let size = size.min(u32::MAX.into()) as usize;
        match self.memory.slice(from, size) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(Refusal::new(self.memory.complaint(from, size, false))),
        }
    }

    /// Copies what a program may read (`bpf_probe_read_kernel`); what it may not is an error that
    /// it can handle.
    fn probe_read(&mut self, to: u64, size: u64, from: u64) -> Result<u64, Refusal> {
        let Ok(bytes) = self.copy(from, size) else {
            return Ok(INVALID);
        };
        self.charge(bytes.len())?;
        match self.memory.slice_mut(to, bytes.len()) {
            Some(place) => place.copy_from_slice(&bytes),
            None => return Err(Refusal::new(self.memory.complaint(to, bytes.len(), true))),
        }
        Ok(0)
    }

    /// Calls a function again and again, until it returns 1 (`bpf_loop`).
    fn repeat(
        &mut self,
        program: &Program,
        [count, function, context]: [u64; 3],
        depth: usize,
    ) -> Result<u64, Refusal> {
        if (function >> 32) as u32 != memory::CODE || depth == MOST_FRAMES {
            return Err(Refusal::new("repeats what is no function"));
        }
        for index in 0..count.min(u32::MAX.into()) {
            let mut registers = [0; 16];
            (registers[1], registers[2]) = (index, context);
            let entry = (function as u32) as usize;
            if self.run(program, entry, &mut registers, depth + 1)? != 0 {
                return Ok(index + 1);
            }
        }
        Ok(count)
    }

    /// Counts through a range (`bpf_for`): next number and end, each of four bytes.
    fn numbers(&mut self, function: Function, [a, b, c]: [u64; 3]) -> Result<u64, Refusal> {
        let wrong = |state: &Self| Refusal::new(state.memory.complaint(a, 8, true));
        let store = |state: &mut Self, next: u32, end: u32| {
            let both = u64::from(end) << 32 | u64::from(next);
            let stored = state.memory.store(a, both.to_le_bytes());
            stored.ok_or_else(|| wrong(state))
        };
        if function == Function::NumbersNew {
            store(self, b as u32, c as u32)?;
            return Ok(0);
        }
        let state = self.memory.load(a).map(u64::from_le_bytes);
        let state = state.ok_or_else(|| wrong(self))?;
        let (next, end) = (state as u32, (state >> 32) as u32);
        if next.cast_signed() >= end.cast_signed() {
            return Ok(0);
        }
        store(self, next.wrapping_add(1), end)?;
        // The number itself is read through a pointer.
        self.memory
            .replace(memory::RECORD, next.to_le_bytes().to_vec());
        Ok(address(memory::RECORD, 0))
    }
}
