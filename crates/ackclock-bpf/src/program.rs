//! A program: what an object holds, ready to run.

use crate::instruction::Step;
use crate::memory::Region;
use crate::refusal::SourceLine;

/// The callbacks of a control that the engine calls, by their names in `tcp_congestion_ops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callback {
    Init,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    UndoCwnd,
    CongControl,
}

impl Callback {
    /// Number of callbacks.
    pub const COUNT: usize = 9;

    const ALL: [Callback; Self::COUNT] = [
        Callback::Init,
        Callback::Ssthresh,
        Callback::CongAvoid,
        Callback::SetState,
        Callback::CwndEvent,
        Callback::InAckEvent,
        Callback::PktsAcked,
        Callback::UndoCwnd,
        Callback::CongControl,
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
        }
    }

    /// Returns the callback of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
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
pub enum MapKind {
    /// Values by number, each so many bytes after the one before.
    Array { entries: u32, stride: u32 },
    /// One value for each socket. A machine has one socket.
    SocketStorage { in_use: bool },
    /// Records for a reader outside.
    Ring,
}

/// A map of a program, and the region of its values.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    pub region: u32,
    pub kind: MapKind,
}

/// Lines of the source by step, in order.
#[derive(Clone, Debug, Default)]
pub struct Lines(pub Vec<(u32, SourceLine)>);

impl Lines {
    /// Returns the line of a step.
    pub fn of(&self, step: usize) -> Option<SourceLine> {
        let after = self.0.partition_point(|(start, _)| *start as usize <= step);
        let (_, line) = self.0.get(after.checked_sub(1)?)?;
        Some(line.clone())
    }
}

/// A control as its object has it. It does not change while it runs, so that machines share it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) code: Vec<Step>,
    pub(crate) entries: [Option<u32>; Callback::COUNT],
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

    /// Returns the constants that a scenario may set.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the value of a parameter.
    pub fn value(&self, parameter: &Parameter) -> i128 {
        let bytes = self.own[(parameter.region - crate::memory::FIRST_OWN) as usize].bytes();
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
        let region = (parameter.region - crate::memory::FIRST_OWN) as usize;
        let at = parameter.offset as usize;
        let size = parameter.size as usize;
        let bytes = value.to_le_bytes();
        self.own[region].bytes_mut()[at..at + size].copy_from_slice(&bytes[..size]);
    }
}
