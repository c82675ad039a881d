//! A program: what an object holds, ready to run.

use crate::instruction::{Operation, Step};
use crate::join::{constant, decided};
use crate::lines::Lines;
use crate::memory::{FIRST_OWN, Region};

/// Most steps that are followed to see whether a callback does anything.
const MOST_FOLLOWED: usize = 16;

/// Begin of the names that belong to `ackclock.bpf.h`, and its switch of recording.
const RESERVED: &str = "ackclock_";
const RECORDING: &str = "ackclock_recording";

/// The callbacks of a control that the engine knows, by their names in `tcp_congestion_ops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callback {
    /// The control is set on a connection.
    Init,
    /// Congestion: asks for the new threshold.
    Ssthresh,
    /// An ACK: the window may open.
    CongAvoid,
    /// Loss recovery changes its state.
    SetState,
    /// Another event.
    CwndEvent,
    /// An ACK, before anything is done about it.
    InAckEvent,
    /// An ACK has acknowledged data.
    PktsAcked,
    /// A reduction was unnecessary: asks for the window.
    UndoCwnd,
    /// An ACK, for controls that own the window in all states.
    CongControl,
    /// The connection ends, or takes another control; only a twin calls it.
    Release,
}

impl Callback {
    /// Number of callbacks.
    pub const COUNT: usize = 10;

    pub(crate) const ALL: [Callback; Self::COUNT] = [
        Callback::Init,
        Callback::Ssthresh,
        Callback::CongAvoid,
        Callback::SetState,
        Callback::CwndEvent,
        Callback::InAckEvent,
        Callback::PktsAcked,
        Callback::UndoCwnd,
        Callback::CongControl,
        Callback::Release,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Callback::Init => "init",
            Callback::Ssthresh => "ssthresh",
            Callback::CongAvoid => "cong_avoid",
            Callback::SetState => "set_state",
            Callback::CwndEvent => "cwnd_event",
            Callback::InAckEvent => "in_ack_event",
            Callback::PktsAcked => "pkts_acked",
            Callback::UndoCwnd => "undo_cwnd",
            Callback::CongControl => "cong_control",
            Callback::Release => "release",
        }
    }

    /// True if it only tells of something, so that a control need not have it.
    const fn is_event(self) -> bool {
        use Callback as C;
        matches!(
            self,
            C::SetState | C::CwndEvent | C::InAckEvent | C::PktsAcked | C::Release
        )
    }

    /// Returns the callback of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|callback| callback.name() == name)
    }
}

/// A constant of a program that a scenario may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the variable.
    pub name: String,
    pub(crate) region: u32,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) signed: bool,
}

impl Parameter {
    /// Returns the smallest and the largest value.
    pub const fn range(&self) -> (i128, i128) {
        let bits = 8 * self.size;
        if self.signed {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        }
    }
}

/// Kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapKind {
    /// Values by number, each so many bytes after the one before.
    Array { entries: u32, stride: u32 },
    /// One value for each socket. A machine has one socket.
    SocketStorage { in_use: bool },
    /// Records for a reader outside.
    Ring,
}

/// A map of a program, and the region of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    pub region: u32,
    pub kind: MapKind,
}

/// A control as its object has it. It does not change while it runs, so that machines share it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) code: Vec<Step>,
    pub(crate) entries: [Option<u32>; Callback::COUNT],
    pub(crate) long_cong_control: bool,
    pub(crate) forbidden: Vec<String>,
    pub(crate) lines: Lines,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) own: Vec<Region>,
    pub(crate) maps: Vec<Map>,
}

impl Program {
    /// Returns the name of the variable that registers the control.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the control has a callback.
    pub const fn has(&self, callback: Callback) -> bool {
        self.entries[callback as usize].is_some()
    }

    /// True if the control has a callback that does something. One whose code returns at once, by
    /// its constants, has no effect: `ackclock.bpf.h` makes such callbacks of events to which an
    /// author does not listen, if nothing is recorded.
    pub fn listens(&self, callback: Callback) -> bool {
        let Some(entry) = self.entries[callback as usize] else {
            return false;
        };
        !callback.is_event() || !self.returns_at_once(entry as usize)
    }

    /// True if the code from a step on reaches its end by constants alone.
    fn returns_at_once(&self, entry: usize) -> bool {
        let mut registers = [None; 16];
        let mut at = entry;
        for _ in 0..MOST_FOLLOWED {
            let Some(step) = self.code.get(at) else {
                return false;
            };
            let to = usize::from(step.dst & 15);
            at += 1;
            match step.operation {
                Operation::Exit => return true,
                Operation::Filler => {}
                Operation::Mov64 if step.register => {
                    registers[to] = registers[usize::from(step.src & 15)];
                }
                Operation::SetWide => {
                    registers[to] = Some(step.immediate);
                    at += 1;
                }
                Operation::SetJump => {
                    registers[to] = Some(step.immediate);
                    match at.checked_add_signed(step.offset as isize) {
                        Some(there) => at = there,
                        None => return false,
                    }
                }
                Operation::Load8 | Operation::Load32 => {
                    let size = if step.operation == Operation::Load8 {
                        1
                    } else {
                        4
                    };
                    let from = registers[usize::from(step.src & 15)];
                    match from.and_then(|from| self.constant_at(from, step.offset, size)) {
                        Some(value) => registers[to] = Some(value),
                        None => return false,
                    }
                }
                _ => match (constant(step), registers[to]) {
                    (Some(value), _) => registers[to] = Some(value),
                    (None, Some(value)) => match decided(step, step.dst, value) {
                        Some(true) => match at.checked_add_signed(step.offset as isize) {
                            Some(there) => at = there,
                            None => return false,
                        },
                        Some(false) => {}
                        None => return false,
                    },
                    (None, None) => return false,
                },
            }
        }
        false
    }

    /// Returns a number that never changes, by its address.
    fn constant_at(&self, address: u64, offset: i32, size: usize) -> Option<u64> {
        let place = address.wrapping_add(i64::from(offset).cast_unsigned());
        let region = ((place >> 32) as u32).checked_sub(FIRST_OWN)?;
        self.own.get(region as usize)?.constant(place as u32, size)
    }

    /// True if `cong_control` has the four parameters that it has since Linux 6.10, not two.
    pub const fn has_long_cong_control(&self) -> bool {
        self.long_cong_control
    }

    /// Returns the constants that a scenario may set.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        let own = |parameter: &&Parameter| !parameter.name.starts_with(RESERVED);
        self.parameters.iter().filter(own)
    }

    /// True if the program can record its calls: it includes `ackclock.bpf.h`.
    pub fn records(&self) -> bool {
        self.recording().is_some()
    }

    /// Returns the switch of recording, if the program has one.
    pub(crate) fn recording(&self) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == RECORDING)
    }

    /// Switches on or off that the program records each call, if its header can.
    pub fn set_recording(&mut self, on: bool) {
        if let Some(switch) = self.recording().cloned() {
            self.set(&switch, on.into());
        }
    }

    /// Returns a digest of all that the program computes by: code, constants, maps. Names of files
    /// do not count.
    pub fn digest(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325; // of Fowler, Noll and Vo
        let mut add = |bytes: &[u8]| {
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for step in &self.code {
            let flag = u8::from(step.register);
            add(&[step.operation as u8, step.dst, step.src, flag]);
            add(&step.offset.to_le_bytes());
            add(&step.immediate.to_le_bytes());
        }
        for entry in self.entries {
            add(&entry.unwrap_or(u32::MAX).to_le_bytes());
        }
        for region in &self.own {
            add(region.bytes());
            add(&[u8::MAX]);
        }
        hash
    }

    /// Returns the value of a parameter.
    pub fn value(&self, parameter: &Parameter) -> i128 {
        let bytes = self.own[(parameter.region - FIRST_OWN) as usize].bytes();
        let at = parameter.offset as usize;
        let mut wide = [0; 8];
        let size = parameter.size as usize;
        wide[..size].copy_from_slice(&bytes[at..at + size]);
        let value = u64::from_le_bytes(wide);
        if parameter.signed {
            let unused = 64 - 8 * parameter.size;
            i128::from((value << unused).cast_signed() >> unused)
        } else {
            value.into()
        }
    }

    /// Sets a parameter to a value within its range.
    pub fn set(&mut self, parameter: &Parameter, value: i128) {
        let region = (parameter.region - FIRST_OWN) as usize;
        let at = parameter.offset as usize;
        let size = parameter.size as usize;
        let bytes = value.to_le_bytes();
        self.own[region].bytes_mut()[at..at + size].copy_from_slice(&bytes[..size]);
    }
}
