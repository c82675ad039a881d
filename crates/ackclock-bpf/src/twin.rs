//! The twin of calls: gives the calls that a kernel made of a control to the same control in a
//! [`Machine`], and compares the answers bit by bit.
//!
//! A record holds what went into a call and what came out, 96 bytes (`struct ackclock_call` of
//! `ackclock.bpf.h`). Before each call the machine's socket is set to what the record says. The
//! control's own state is the machine's throughout.

use crate::layout::{ack_sample, rate_sample, socket};
use crate::machine::{Argument, Machine};
use crate::program::{Callback, Program};
use crate::refusal::{Fault, Refusal};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// First bytes of a file of records.
pub const MAGIC: &[u8; 16] = b"ackclock calls 1";
/// Bytes of a record.
pub const RECORD: usize = 96;
/// Calls that are shown before the first difference.
const SHOWN: usize = 10;

/// The window, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Acknowledged segments that have not opened it yet.
    pub cwnd_cnt: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

/// A recorded call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Number in the record, counted from 1.
    pub number: u64,
    /// Time on the clock of the kernel.
    pub now_ns: u64,
    /// Local address, first byte first, and port.
    pub local: ([u8; 4], u16),
    /// Kind: `enum ackclock_kind`.
    pub kind: u8,
    /// State of loss recovery before the call.
    pub state: u8,
    /// True if the window limited the sender.
    pub limited: bool,
    /// Arguments, as the kind says.
    pub arguments: [u32; 2],
    /// Round-trip time; negative if none was measured.
    pub rtt_us: i32,
    /// Answer of `ssthresh` and `undo_cwnd`; of `cong_control` the pacing rate, bytes per second.
    pub result: u32,
    /// Window before the call.
    pub before: Window,
    /// Window after the call.
    pub after: Window,
    /// Smoothed round-trip time in 1/8 µs; 0 if none was measured.
    pub srtt_us8: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// Segments that are not acknowledged cumulatively.
    pub packets_out: u32,
    /// Those acknowledged selectively.
    pub sacked_out: u32,
    /// Those deemed lost.
    pub lost_out: u32,
    /// Those sent again and in flight.
    pub retrans_out: u32,
    /// Segments delivered so far.
    pub delivered: u32,
    /// Most segments in flight in the last window.
    pub max_packets_out: u32,
    /// First byte that is not acknowledged.
    pub snd_una: u32,
    /// Next byte to send.
    pub snd_nxt: u32,
}

/// The kinds of call, in the order of their numbers from 1.
const KINDS: [Callback; 9] = [
    Callback::Init,
    Callback::Release,
    Callback::PktsAcked,
    Callback::CongAvoid,
    Callback::Ssthresh,
    Callback::SetState,
    Callback::CwndEvent,
    Callback::UndoCwnd,
    Callback::CongControl,
];

impl Call {
    fn read(number: u64, bytes: &[u8; RECORD]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let window = |at: usize| Window {
            cwnd: word(at),
            cwnd_cnt: word(at + 4),
            ssthresh: word(at + 8),
        };
        Call {
            number,
            now_ns: u64::from(word(4)) << 32 | u64::from(word(0)),
            local: (
                [bytes[8], bytes[9], bytes[10], bytes[11]],
                u16::from_le_bytes([bytes[12], bytes[13]]),
            ),
            kind: bytes[14],
            state: bytes[15] & 0x7f,
            limited: bytes[15] & 0x80 != 0,
            arguments: [word(16), word(20)],
            rtt_us: word(24).cast_signed(),
            result: word(28),
            before: window(32),
            after: window(44),
            srtt_us8: word(56),
            mss: word(60),
            packets_out: word(64),
            sacked_out: word(68),
            lost_out: word(72),
            retrans_out: word(76),
            delivered: word(80),
            max_packets_out: word(84),
            snd_una: word(88),
            snd_nxt: word(92),
        }
    }

    /// Returns the calls of a record without its first bytes. What is less than a call at its end
    /// is left out.
    pub fn all(record: &[u8]) -> impl Iterator<Item = Call> {
        let (calls, _) = record.as_chunks::<RECORD>();
        (1..)
            .zip(calls)
            .map(|(number, one)| Call::read(number, one))
    }

    /// Returns the callback that was called; `None` for a kind that is not known.
    pub fn callback(&self) -> Option<Callback> {
        let position = usize::from(self.kind).checked_sub(1)?;
        KINDS.get(position).copied()
    }

    /// Sets a machine's socket to what the call found.
    fn put_into(&self, machine: &mut Machine) {
        let (address, port) = self.local;
        machine.set_clock(self.now_ns);
        for (field, value) in [
            (socket::LOCAL_ADDRESS, u32::from_le_bytes(address)),
            (socket::LOCAL_PORT, port.into()),
            (socket::CA_STATE, self.state.into()),
            (socket::IS_CWND_LIMITED, self.limited.into()),
            (socket::SND_CWND, self.before.cwnd),
            (socket::SND_CWND_CNT, self.before.cwnd_cnt),
            (socket::SND_SSTHRESH, self.before.ssthresh),
            (socket::SRTT_US, self.srtt_us8),
            (socket::MSS_CACHE, self.mss),
            (socket::PACKETS_OUT, self.packets_out),
            (socket::SACKED_OUT, self.sacked_out),
            (socket::LOST_OUT, self.lost_out),
            (socket::RETRANS_OUT, self.retrans_out),
            (socket::DELIVERED, self.delivered),
            (socket::MAX_PACKETS_OUT, self.max_packets_out),
            (socket::SND_UNA, self.snd_una),
            (socket::SND_NXT, self.snd_nxt),
            (socket::SND_CWND_CLAMP, u32::MAX),
        ] {
            machine.set(field, value.into());
        }
    }

    /// Makes the call of a machine. Returns the window after it, and the answer.
    fn give(&self, callback: Callback, machine: &mut Machine) -> Result<(Window, u32), Fault> {
        self.put_into(machine);
        let number = |which: usize| Argument::Number(self.arguments[which].into());
        let answer = match callback {
            Callback::PktsAcked => {
                machine.set_ack_sample(ack_sample::PKTS_ACKED, self.arguments[0].into());
                machine.set_ack_sample(ack_sample::IN_FLIGHT, self.arguments[1].into());
                let rtt = i64::from(self.rtt_us).cast_unsigned();
                machine.set_ack_sample(ack_sample::RTT_US, rtt);
                machine.call(callback, &[Argument::Socket, Argument::AckSample])?
            }
            Callback::CongAvoid => {
                machine.call(callback, &[Argument::Socket, number(0), number(1)])?
            }
            Callback::CongControl => self.give_rate_sample(machine)?,
            _ => machine.call(callback, &[Argument::Socket, number(0)])?,
        };
        let get = |field: u32| machine.get(field) as u32;
        let window = Window {
            cwnd: get(socket::SND_CWND),
            cwnd_cnt: get(socket::SND_CWND_CNT),
            ssthresh: get(socket::SND_SSTHRESH),
        };
        let answer = match callback {
            Callback::Ssthresh | Callback::UndoCwnd => answer as u32,
            Callback::CongControl => get(socket::PACING_RATE),
            _ => 0,
        };
        Ok((window, answer))
    }

    /// Calls `cong_control` with what a record holds of its sample: all that a control sees of it.
    fn give_rate_sample(&self, machine: &mut Machine) -> Result<u64, Fault> {
        let none = (-1_i64).cast_unsigned();
        let valid = self.arguments[1] > 0;
        let [delivered, interval] = self
            .arguments
            .map(|one| if valid { one.into() } else { none });
        machine.set_rate_sample(rate_sample::DELIVERED, delivered);
        machine.set_rate_sample(rate_sample::INTERVAL_US, interval);
        let rtt = i64::from(self.rtt_us).cast_unsigned();
        machine.set_rate_sample(rate_sample::RTT_US, rtt);
        let zero = Argument::Number(0);
        let arguments = [Argument::Socket, zero, zero, Argument::RateSample];
        match machine.program().has_long_cong_control() {
            true => machine.call(Callback::CongControl, &arguments),
            false => machine.call(
                Callback::CongControl,
                &[Argument::Socket, Argument::RateSample],
            ),
        }
    }
}

/// A call that the machine answered otherwise.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The call.
    pub call: Call,
    /// The machine's window after it.
    pub window: Window,
    /// The machine's answer.
    pub result: u32,
    /// The calls of the same connection before it.
    pub before: Vec<Call>,
}

/// The comparison of a record.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Calls that were given to the machine.
    pub calls: u64,
    /// Calls that it answered as the kernel did.
    pub equal: u64,
    /// Calls of each kind, in the order of [`Callback`]'s names in the header.
    pub kinds: Vec<(&'static str, u64)>,
    /// Connections.
    pub connections: u64,
    /// Calls that found another window than the call before had left: the kernel sets it itself at
    /// reductions, timeouts and undos.
    pub moved: u64,
    /// Calls of connections whose first call is not recorded, so that the state is unknown.
    pub skipped: u64,
    /// The first difference.
    pub first: Option<Difference>,
}

/// A connection: its machine, the window that its last call left, and its last calls.
struct Connection {
    machine: Machine,
    left: Window,
    last: VecDeque<Call>,
}

/// Gives the calls of a record to a program, and compares the answers.
///
/// # Errors
/// The bytes are not a record of calls, or end within a call, or the program fails.
pub fn compare(program: &Arc<Program>, record: &[u8]) -> Result<Comparison, Refusal> {
    let calls = record
        .strip_prefix(MAGIC)
        .ok_or_else(|| Refusal::new("is not a record of calls"))?;
    let (calls, rest) = calls.as_chunks::<RECORD>();
    if !rest.is_empty() {
        return Err(Refusal::new(format!(
            "ends within a call, after {} calls; its run was cut short",
            calls.len()
        )));
    }
    let mut comparison = Comparison::default();
    let mut counts = [0; KINDS.len()];
    let mut connections: HashMap<([u8; 4], u16), Connection> = HashMap::new();
    for (number, bytes) in (1..).zip(calls) {
        let call = Call::read(number, bytes);
        let unknown = || Refusal::new(format!("has a call of the unknown kind {}", call.kind));
        let callback = call.callback().ok_or_else(unknown)?;
        if callback == Callback::Init {
            comparison.connections += 1;
            let begun = Connection {
                machine: Machine::new(Arc::clone(program), 0),
                left: call.before,
                last: VecDeque::new(),
            };
            connections.insert(call.local, begun);
        }
        let Some(connection) = connections.get_mut(&call.local) else {
            comparison.skipped += 1;
            continue;
        };
        counts[usize::from(call.kind) - 1] += 1;
        comparison.calls += 1;
        comparison.moved += u64::from(connection.left != call.before);
        let given = call.give(callback, &mut connection.machine);
        let (window, result) = given.map_err(|fault| {
            Refusal::new(format!(
                "call {number}, {}: {}",
                fault.callback, fault.refusal
            ))
        })?;
        connection.left = call.after;
        if (window, result) == (call.after, call.result) {
            comparison.equal += 1;
        } else if comparison.first.is_none() {
            comparison.first = Some(Difference {
                call,
                window,
                result,
                before: connection.last.iter().copied().collect(),
            });
        }
        if connection.last.len() == SHOWN {
            connection.last.pop_front();
        }
        connection.last.push_back(call);
    }
    let names = KINDS.iter().map(|kind| kind.name());
    comparison.kinds = names.zip(counts).collect();
    Ok(comparison)
}
