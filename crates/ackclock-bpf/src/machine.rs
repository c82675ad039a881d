//! The machine: one control of one connection, with its socket.
//!
//! Instructions are those of RFC 9669. Memory is checked at each access, and a call ends after
//! [`MOST_INSTRUCTIONS`]. Nothing outside the machine has an effect on it but the fields of the
//! socket, the arguments of calls and the clock. So it computes the same everywhere.
//!
//! In a kernel, global variables belong to all connections together. Here each connection has its
//! own: what a run computes must not depend on the order in which flows are simulated.

use crate::layout::{GAP, SLOT, ack_sample, net, rate_sample, socket};
use crate::memory::{self, Memory, address};
use crate::program::{Callback, MapKind, Program};
use crate::refusal::Fault;
use std::sync::Arc;

mod functions;
mod interpreter;

/// Most instructions of a call: as many as the verifier of a kernel follows.
pub const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// Time on the machine's clock when a run begins. A kernel was started before its connections, and
/// controls take a time of zero for none.
pub const STARTED_NS: u64 = 3_600_000_000_000;
/// A tick of the kernel's clock (`CONFIG_HZ` of 250).
const TICK_NS: u64 = 4_000_000;
/// Cookie of the network namespace of every connection.
const NET_COOKIE: u64 = 1;

/// Argument of a callback.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// The socket.
    Socket,
    /// The structure `ack_sample`.
    AckSample,
    /// The structure `rate_sample`.
    RateSample,
    /// A number.
    Number(u64),
}

impl Argument {
    const fn value(self) -> u64 {
        match self {
            Argument::Socket => address(memory::SOCKET, 0),
            Argument::AckSample => address(memory::ACK_SAMPLE, 0),
            Argument::RateSample => address(memory::RATE_SAMPLE, 0),
            Argument::Number(number) => number,
        }
    }
}

/// A running control.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<Program>,
    /// By callback: true if the program listens to it.
    listens: [bool; Callback::COUNT],
    state: State,
}

/// All of a machine that changes.
#[derive(Clone, Debug)]
struct State {
    memory: Memory,
    maps: Vec<MapKind>,
    /// State of the generator of random numbers.
    random: u64,
    /// Nanoseconds on the machine's clock.
    now: u64,
    /// Instructions left to the present call.
    left: u64,
    /// Records of ring buffers, one after the other; `None` if none are kept.
    records: Option<Vec<u8>>,
}

/// Registers of a function.
type Registers = [u64; 16];

impl Machine {
    /// Makes a machine; `seed` is that of the random numbers that its program asks for.
    pub fn new(program: Arc<Program>, seed: u64) -> Self {
        let mut state = State {
            memory: Memory::new(&program.own),
            maps: program.maps.iter().map(|map| map.kind).collect(),
            random: seed,
            now: STARTED_NS,
            left: 0,
            records: None,
        };
        state.set_slot(memory::NET, net::COOKIE, NET_COOKIE);
        state.set(socket::NET, address(memory::NET, 0));
        state.set(socket::CA_INITIALIZED, 1);
        Machine {
            listens: Callback::ALL.map(|callback| program.listens(callback)),
            program,
            state,
        }
    }

    /// Keeps the records that the program writes into ring buffers, and has it write them. Call it
    /// before all else.
    pub fn keep_records(&mut self) {
        self.state.records = Some(Vec::new());
        self.listens = Callback::ALL.map(|callback| self.program.has(callback));
        if let Some(switch) = self.program.recording() {
            let constants = self.state.memory.region_mut(switch.region).bytes_mut();
            if let Some(on) = constants.get_mut(switch.offset as usize) {
                *on = 1;
            }
        }
    }
    /// Removes and returns the records.
    pub fn take_records(&mut self) -> Vec<u8> {
        self.state
            .records
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Sets the clock, in nanoseconds since the run began.
    pub fn set_time(&mut self, nanos: u64) {
        self.set_clock(STARTED_NS + nanos);
    }

    /// Sets the clock, in nanoseconds of its own.
    pub fn set_clock(&mut self, nanos: u64) {
        self.state.now = nanos;
        self.set(socket::TCP_CLOCK_CACHE, nanos);
        self.set(socket::TCP_MSTAMP, nanos / 1000);
    }

    /// Returns the tick of the kernel's clock (`tcp_jiffies32`).
    pub const fn ticks(&self) -> u64 {
        self.state.ticks()
    }

    /// Returns a field of the socket, by the number of its slot (`layout::socket`).
    #[inline]
    pub fn get(&self, field: u32) -> u64 {
        self.state.get(field)
    }
    /// Sets a field of the socket.
    #[inline]
    pub fn set(&mut self, field: u32, value: u64) {
        self.state.set(field, value);
    }
    /// Sets a field of `ack_sample` (`layout::ack_sample`).
    pub fn set_ack_sample(&mut self, field: u32, value: u64) {
        self.state.set_slot(memory::ACK_SAMPLE, field, value);
    }
    /// Sets a field of `rate_sample` (`layout::rate_sample`).
    pub fn set_rate_sample(&mut self, field: u32, value: u64) {
        self.state.set_slot(memory::RATE_SAMPLE, field, value);
    }

    /// True if the program has a callback that does something.
    #[inline]
    pub const fn listens(&self, callback: Callback) -> bool {
        self.listens[callback as usize]
    }

    /// Calls a callback. Returns its answer; zero if the control does not have it.
    ///
    /// # Errors
    /// The program did what no verifier would let pass, or what the engine does not have.
    pub fn call(&mut self, callback: Callback, arguments: &[Argument]) -> Result<u64, Fault> {
        let entry = self.program.entries[callback as usize];
        let Some(entry) = entry.filter(|_| self.listens(callback)) else {
            return Ok(0);
        };
        let state = &mut self.state;
        let region = state.memory.region_mut(memory::ARGUMENTS).bytes_mut();
        for (place, argument) in region.chunks_exact_mut(8).zip(arguments) {
            place.copy_from_slice(&argument.value().to_le_bytes());
        }
        state.left = MOST_INSTRUCTIONS;
        let mut registers = [0; 16];
        registers[1] = address(memory::ARGUMENTS, 0);
        let answer = state.run(&self.program, entry as usize, &mut registers, 1);
        answer.map_err(|refusal| Fault {
            callback: callback.name(),
            refusal,
        })
    }
}

impl State {
    const fn ticks(&self) -> u64 {
        self.now / TICK_NS
    }

    #[inline]
    fn get(&self, field: u32) -> u64 {
        let size = socket::FIELDS[field as usize].size;
        self.memory.socket_slot(field) & (u64::MAX >> (64 - 8 * size.min(8)))
    }

    #[inline]
    fn set(&mut self, field: u32, value: u64) {
        self.memory.set_socket_slot(field, value);
    }

    /// Sets a slot of a structure other than the socket.
    fn set_slot(&mut self, region: u32, field: u32, value: u64) {
        let at = (field * SLOT) as usize;
        let bytes = self.memory.region_mut(region).bytes_mut();
        if let Some(slot) = bytes.get_mut(at..at + SLOT as usize) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Checks that slots are where programs look for them.
const _: () =
    assert!(GAP.is_multiple_of(SLOT) && ack_sample::RTT_US == 1 && rate_sample::DELIVERED == 1);
