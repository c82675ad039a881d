//! The machine: one control of one connection, with its socket.
//!
//! Instructions are those of RFC 9669. Memory is checked at each access, and a call ends after
//! [`MOST_INSTRUCTIONS`]. Nothing outside the machine has an effect on it but the fields of the
//! socket, the arguments of calls and the clock. So it computes the same everywhere.
//!
//! In a kernel, global variables belong to all connections together. Here each connection has its
//! own: what a run computes must not depend on the order in which flows are simulated.

use crate::calls::Function;
use crate::instruction::Operation;
use crate::layout::{GAP, SLOT, ack_sample, net, rate_sample, socket};
use crate::memory::{self, FRAME, MOST_FRAMES, Memory, address};
use crate::program::{Callback, MapKind, Program};
use crate::refusal::{Fault, Refusal};
use std::sync::Arc;

/// Most instructions of a call: as many as the verifier of a kernel follows.
pub const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// Time on the machine's clock when a run begins. A kernel was started before its connections, and
/// controls take a time of zero for none.
pub const STARTED_NS: u64 = 3_600_000_000_000;
/// A tick of the kernel's clock (`CONFIG_HZ` of 250).
const TICK_NS: u64 = 4_000_000;
/// Largest record of a ring buffer that a program may write at once.
const LONGEST_RECORD: u64 = 4096;
/// Most bytes of records that are kept.
const MOST_RECORDED: usize = 256 << 20;
/// Cookie of the network namespace of every connection.
const NET_COOKIE: u64 = 1;
/// `EINVAL`, negative.
const INVALID: u64 = (-22_i64).cast_unsigned();

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

    /// Runs a function with its arguments in `registers`, in the frame of that depth.
    #[allow(clippy::cognitive_complexity)] // one arm for each instruction
    fn run(
        &mut self,
        program: &Program,
        entry: usize,
        registers: &mut Registers,
        depth: usize,
    ) -> Result<u64, Refusal> {
        use Operation as O;
        registers[10] = address(memory::STACK, FRAME * depth as u32);
        let code = &program.code[..];
        let mut next = entry;
        // Instructions are counted where the code jumps: between jumps it comes to an end.
        let mut counted = entry;
        loop {
            let at = next;
            let fail = |reason: String| Err(Refusal::new(reason).at(program.lines.of(at)));
            let Some(step) = code.get(at) else {
                return fail("jumps out of its code".into());
            };
            next += 1;
            // Each arm reads what it needs: that is a third faster than to read all before.
            let (offset, immediate) = (step.offset, step.immediate);
            let (to, from) = (usize::from(step.dst & 15), usize::from(step.src & 15));
            macro_rules! dst {
                () => {
                    registers[to]
                };
            }
            macro_rules! src {
                () => {
                    registers[from]
                };
            }
            macro_rules! operand {
                () => {
                    if step.register { src!() } else { immediate }
                };
            }
            macro_rules! set {
                ($value:expr) => {
                    registers[to] = $value
                };
            }
            macro_rules! set32 {
                ($value:expr) => {
                    registers[to] = u64::from($value)
                };
            }
            macro_rules! count {
                () => {
                    match self.left.checked_sub((next - counted) as u64) {
                        Some(left) => self.left = left,
                        None => {
                            return fail(format!(
                                "ran {MOST_INSTRUCTIONS} instructions without an end"
                            ));
                        }
                    }
                };
            }
            macro_rules! jump_if {
                ($condition:expr) => {
                    if $condition {
                        count!();
                        next = (next as i64 + i64::from(offset)) as usize;
                        counted = next;
                    }
                };
            }
            macro_rules! load {
                ($bytes:literal, $value:expr) => {{
                    let place = src!().wrapping_add(i64::from(offset).cast_unsigned());
                    match self.memory.load::<$bytes>(place) {
                        Some(bytes) => registers[to] = $value(bytes),
                        None => return fail(self.memory.complaint(place, $bytes, false)),
                    }
                }};
            }
            macro_rules! store {
                ($bytes:literal, $type:ty) => {{
                    let place = dst!().wrapping_add(i64::from(offset).cast_unsigned());
                    let value = (operand!() as $type).to_le_bytes();
                    if self.memory.store::<$bytes>(place, value).is_none() {
                        return fail(self.memory.complaint(place, $bytes, true));
                    }
                }};
            }
            macro_rules! dst32 {
                () => {
                    dst!() as u32
                };
            }
            macro_rules! operand32 {
                () => {
                    operand!() as u32
                };
            }
            match step.operation {
                O::Add64 => set!(dst!().wrapping_add(operand!())),
                O::Sub64 => set!(dst!().wrapping_sub(operand!())),
                O::Mul64 => set!(dst!().wrapping_mul(operand!())),
                O::Div64 => set!(dst!().checked_div(operand!()).unwrap_or(0)),
                O::Or64 => set!(dst!() | operand!()),
                O::And64 => set!(dst!() & operand!()),
                O::Lsh64 => set!(dst!() << (operand!() & 63)),
                O::Rsh64 => set!(dst!() >> (operand!() & 63)),
                O::Neg64 => set!(dst!().wrapping_neg()),
                O::Mod64 => set!(dst!().checked_rem(operand!()).unwrap_or(dst!())),
                O::Xor64 => set!(dst!() ^ operand!()),
                O::Mov64 => set!(operand!()),
                O::Arsh64 => set!((dst!().cast_signed() >> (operand!() & 63)).cast_unsigned()),
                O::SignedDiv64 => set!(match operand!().cast_signed() {
                    0 => 0,
                    by => dst!().cast_signed().wrapping_div(by).cast_unsigned(),
                }),
                O::SignedMod64 => set!(match operand!().cast_signed() {
                    0 => dst!(),
                    by => dst!().cast_signed().wrapping_rem(by).cast_unsigned(),
                }),
                O::Mov64From8 => set!(i64::from(operand!() as i8).cast_unsigned()),
                O::Mov64From16 => set!(i64::from(operand!() as i16).cast_unsigned()),
                O::Mov64From32 => set!(i64::from(operand!() as i32).cast_unsigned()),
                O::Add32 => set32!(dst32!().wrapping_add(operand32!())),
                O::Sub32 => set32!(dst32!().wrapping_sub(operand32!())),
                O::Mul32 => set32!(dst32!().wrapping_mul(operand32!())),
                O::Div32 => set32!(dst32!().checked_div(operand32!()).unwrap_or(0)),
                O::Or32 => set32!(dst32!() | operand32!()),
                O::And32 => set32!(dst32!() & operand32!()),
                O::Lsh32 => set32!(dst32!() << (operand32!() & 31)),
                O::Rsh32 => set32!(dst32!() >> (operand32!() & 31)),
                O::Neg32 => set32!(dst32!().wrapping_neg()),
                O::Mod32 => set32!(dst32!().checked_rem(operand32!()).unwrap_or(dst32!())),
                O::Xor32 => set32!(dst32!() ^ operand32!()),
                O::Mov32 => set32!(operand32!()),
                O::Arsh32 => {
                    set32!((dst32!().cast_signed() >> (operand32!() & 31)).cast_unsigned())
                }
                O::SignedDiv32 => set32!(match operand32!().cast_signed() {
                    0 => 0,
                    by => dst32!().cast_signed().wrapping_div(by).cast_unsigned(),
                }),
                O::SignedMod32 => set32!(match operand32!().cast_signed() {
                    0 => dst32!(),
                    by => dst32!().cast_signed().wrapping_rem(by).cast_unsigned(),
                }),
                O::Mov32From8 => set32!(i32::from(operand!() as i8).cast_unsigned()),
                O::Mov32From16 => set32!(i32::from(operand!() as i16).cast_unsigned()),
                O::Keep16 => set!(dst!() & 0xffff),
                O::Keep32 => set32!(dst32!()),
                O::Keep64 => {}
                O::Swap16 => set!((dst!() as u16).swap_bytes().into()),
                O::Swap32 => set32!(dst32!().swap_bytes()),
                O::Swap64 => set!(dst!().swap_bytes()),
                O::Load8 => load!(1, |bytes| u64::from(u8::from_le_bytes(bytes))),
                O::Load16 => load!(2, |bytes| u64::from(u16::from_le_bytes(bytes))),
                O::Load32 => load!(4, |bytes| u64::from(u32::from_le_bytes(bytes))),
                O::Load64 => load!(8, u64::from_le_bytes),
                O::Load8Signed => load!(1, |b| i64::from(i8::from_le_bytes(b)).cast_unsigned()),
                O::Load16Signed => load!(2, |b| i64::from(i16::from_le_bytes(b)).cast_unsigned()),
                O::Load32Signed => load!(4, |b| i64::from(i32::from_le_bytes(b)).cast_unsigned()),
                O::Store8 => store!(1, u8),
                O::Store16 => store!(2, u16),
                O::Store32 => store!(4, u32),
                O::Store64 => store!(8, u64),
                O::Atomic32 | O::Atomic64 => {
                    let place = dst!().wrapping_add(i64::from(offset).cast_unsigned());
                    let wide = step.operation == O::Atomic64;
                    let kind = immediate as u32;
                    let Some(old) = self.atomic(place, kind, wide, src!(), registers[0]) else {
                        let size = if wide { 8 } else { 4 };
                        return fail(self.memory.complaint(place, size, true));
                    };
                    if kind == 0xf1 {
                        registers[0] = old;
                    } else if kind & 1 != 0 {
                        registers[from] = old;
                    }
                }
                O::Jump => jump_if!(true),
                O::IfEq64 => jump_if!(dst!() == operand!()),
                O::IfGt64 => jump_if!(dst!() > operand!()),
                O::IfGe64 => jump_if!(dst!() >= operand!()),
                O::IfSet64 => jump_if!(dst!() & operand!() != 0),
                O::IfNe64 => jump_if!(dst!() != operand!()),
                O::IfSignedGt64 => jump_if!(dst!().cast_signed() > operand!().cast_signed()),
                O::IfSignedGe64 => jump_if!(dst!().cast_signed() >= operand!().cast_signed()),
                O::IfLt64 => jump_if!(dst!() < operand!()),
                O::IfLe64 => jump_if!(dst!() <= operand!()),
                O::IfSignedLt64 => jump_if!(dst!().cast_signed() < operand!().cast_signed()),
                O::IfSignedLe64 => jump_if!(dst!().cast_signed() <= operand!().cast_signed()),
                O::IfEq32 => jump_if!(dst32!() == operand32!()),
                O::IfGt32 => jump_if!(dst32!() > operand32!()),
                O::IfGe32 => jump_if!(dst32!() >= operand32!()),
                O::IfSet32 => jump_if!(dst32!() & operand32!() != 0),
                O::IfNe32 => jump_if!(dst32!() != operand32!()),
                O::IfSignedGt32 => {
                    jump_if!(dst32!().cast_signed() > operand32!().cast_signed())
                }
                O::IfSignedGe32 => {
                    jump_if!(dst32!().cast_signed() >= operand32!().cast_signed())
                }
                O::IfLt32 => jump_if!(dst32!() < operand32!()),
                O::IfLe32 => jump_if!(dst32!() <= operand32!()),
                O::IfSignedLt32 => {
                    jump_if!(dst32!().cast_signed() < operand32!().cast_signed())
                }
                O::IfSignedLe32 => {
                    jump_if!(dst32!().cast_signed() <= operand32!().cast_signed())
                }
                O::CallLocal => {
                    if depth == MOST_FRAMES {
                        return fail(format!("calls functions {MOST_FRAMES} deep"));
                    }
                    let mut inner = [0; 16];
                    inner[1..6].copy_from_slice(&registers[1..6]);
                    count!();
                    registers[0] = self.run(program, immediate as usize, &mut inner, depth + 1)?;
                    counted = next;
                }
                O::CallHost => {
                    let arguments = [1, 2, 3, 4, 5].map(|one| registers[one]);
                    count!();
                    counted = next;
                    match self.host(program, immediate, arguments, depth) {
                        Ok(answer) => registers[0] = answer,
                        Err(refusal) => return Err(refusal.at(program.lines.of(at))),
                    }
                }
                O::Exit => {
                    count!();
                    return Ok(registers[0]);
                }
                O::Forbidden => {
                    let reason = program.forbidden.get(immediate as usize);
                    return fail(reason.cloned().unwrap_or_default());
                }
                O::SetWide => {
                    registers[to] = immediate;
                    next += 1;
                }
                O::Filler => {}
                O::SetJump => {
                    registers[to] = immediate;
                    jump_if!(true);
                }
            }
        }
    }

    /// Executes an atomic operation. Returns the value before it; `None` if the place is not the
    /// program's to write.
    fn atomic(
        &mut self,
        place: u64,
        kind: u32,
        wide: bool,
        operand: u64,
        expected: u64,
    ) -> Option<u64> {
        let mask = if wide { u64::MAX } else { u32::MAX.into() };
        let old = if wide {
            u64::from_le_bytes(self.memory.load(place)?)
        } else {
            u32::from_le_bytes(self.memory.load(place)?).into()
        };
        let new = match kind & !1 {
            0x00 => old.wrapping_add(operand),
            0x40 => old | operand,
            0x50 => old & operand,
            0xa0 => old ^ operand,
            0xe0 => operand,
            _ if old == expected & mask => operand,
            _ => old,
        };
        if wide {
            self.memory.store(place, new.to_le_bytes())?;
        } else {
            self.memory.store(place, (new as u32).to_le_bytes())?;
        }
        Some(old)
    }

    /// Calls a function of the kernel.
    fn host(
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
            F::RecordReserve => Ok(self.reserve(b)),
            F::RecordSubmit => {
                let record = self.memory.region(memory::RECORD).bytes().to_vec();
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
    fn reserve(&mut self, size: u64) -> u64 {
        if self.records.is_none() || size > LONGEST_RECORD {
            return 0;
        }
        self.memory.replace(memory::RECORD, vec![0; size as usize]);
        address(memory::RECORD, 0)
    }

    fn keep(&mut self, record: &[u8]) {
        if let Some(records) = &mut self.records
            && records.len() + record.len() <= MOST_RECORDED
        {
            records.extend_from_slice(record);
        }
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
        store(self, next + 1, end)?;
        // The number itself is read through a pointer.
        self.memory
            .replace(memory::RECORD, next.to_le_bytes().to_vec());
        Ok(address(memory::RECORD, 0))
    }
}

/// Checks that slots are where programs look for them.
const _: () =
    assert!(GAP.is_multiple_of(SLOT) && ack_sample::RTT_US == 1 && rate_sample::DELIVERED == 1);
