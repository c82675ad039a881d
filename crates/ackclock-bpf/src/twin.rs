//! The twin of calls: gives the calls that a kernel made of a control to a [`Twin`] of the control,
//! and compares the answers bit by bit.
//!
//! A record holds what went into a call and what came out, 144 bytes (`struct ackclock_call` of
//! `ackclock.bpf.h`). The twin of a program is the same program in a [`Machine`]. Before each call
//! the machine's socket is set to what the record says. The control's own state is the twin's
//! throughout.

use crate::layout::{ack_sample, rate_sample, socket};
use crate::machine::{Argument, Machine};
use crate::program::{Callback, Program};
use crate::refusal::{Fault, Refusal};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// First bytes of a file of records.
pub const MAGIC: &[u8; 16] = b"ackclock calls 2";
/// Bytes of a record.
pub const RECORD: usize = 144;
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
    /// Answer of `ssthresh` and `undo_cwnd`; of `cong_control`, and of all others of a control that
    /// the kernel has, the pacing rate in bytes per second.
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
    /// When the socket last looked at its clock.
    pub mstamp_us: u64,
    /// Ticks of the kernel's coarse clock.
    pub jiffies: u32,
    /// Time until pacing lets the next segment leave.
    pub departure_us: u32,
    /// Segments found lost so far.
    pub lost: u32,
    /// Smallest round-trip time so far; `u32::MAX` if none is known.
    pub min_rtt_us: u32,
    /// `delivered` when the sampled segment was sent.
    pub prior_delivered: u32,
    /// Segments that this ACK shows to be delivered.
    pub acked_sacked: u32,
    /// Segments that this ACK shows to be lost.
    pub losses: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// True if the application limited the sampled flight.
    pub sample_limited: bool,
    /// True if the receiver may have delayed this ACK.
    pub delayed: bool,
    /// True if the application limits the sender.
    pub app_limited: bool,
    /// Random draw of a control that the kernel has, plus one; 0 if it drew nothing in this call.
    pub drawn: u8,
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
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        Call {
            number,
            now_ns: long(0),
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
            mstamp_us: long(96),
            jiffies: word(104),
            departure_us: word(108),
            lost: word(112),
            min_rtt_us: word(116),
            prior_delivered: word(120),
            acked_sacked: word(124),
            losses: word(128),
            prior_in_flight: word(132),
            sample_limited: bytes[136] & 1 != 0,
            delayed: bytes[136] & 2 != 0,
            app_limited: bytes[136] & 4 != 0,
            drawn: bytes[137],
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

    /// Returns the bits of what limits the sender, as the record has them.
    pub fn limits(&self) -> u8 {
        let bit = |is_set, place: u8| u8::from(is_set) << place;
        bit(self.sample_limited, 0) | bit(self.delayed, 1) | bit(self.app_limited, 2)
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
            (socket::LOST, self.lost),
            (socket::RTT_MIN, self.min_rtt_us),
            (socket::APP_LIMITED, self.app_limited.into()),
        ] {
            machine.set(field, value.into());
        }
        let clock_ns = 1000 * self.mstamp_us;
        let departure_ns = clock_ns + 1000 * u64::from(self.departure_us);
        machine.set(socket::TCP_MSTAMP, self.mstamp_us);
        machine.set(socket::TCP_CLOCK_CACHE, clock_ns);
        machine.set(socket::TCP_WSTAMP_NS, departure_ns);
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
            .map(|argument| if valid { argument.into() } else { none });
        machine.set_rate_sample(rate_sample::DELIVERED, delivered);
        machine.set_rate_sample(rate_sample::INTERVAL_US, interval);
        let rtt = i64::from(self.rtt_us).cast_unsigned();
        for (field, value) in [
            (rate_sample::RTT_US, rtt),
            (rate_sample::PRIOR_DELIVERED, self.prior_delivered.into()),
            (rate_sample::ACKED_SACKED, self.acked_sacked.into()),
            (rate_sample::LOSSES, self.losses.into()),
            (rate_sample::PRIOR_IN_FLIGHT, self.prior_in_flight.into()),
            (rate_sample::IS_APP_LIMITED, self.sample_limited.into()),
            (rate_sample::IS_ACK_DELAYED, self.delayed.into()),
        ] {
            machine.set_rate_sample(field, value);
        }
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

/// The same control elsewhere, with one connection.
pub trait Twin {
    /// Makes a call. Returns the window after it, and the answer.
    ///
    /// # Errors
    /// The control fails.
    fn answer(&mut self, callback: Callback, call: &Call) -> Result<(Window, u32), Fault>;
}

impl Twin for Machine {
    fn answer(&mut self, callback: Callback, call: &Call) -> Result<(Window, u32), Fault> {
        call.give(callback, self)
    }
}

/// A call that the twin answered otherwise.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The call.
    pub call: Call,
    /// The twin's window after it.
    pub window: Window,
    /// The twin's answer.
    pub result: u32,
    /// The calls of the same connection before it.
    pub before: Vec<Call>,
}

/// The comparison of a record.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Calls that were given to the twin.
    pub calls: u64,
    /// Calls after which window and answer are the kernel's.
    pub equal: u64,
    /// Calls after which the congestion window is the kernel's.
    pub equal_windows: u64,
    /// Calls whose answer is the kernel's.
    pub equal_answers: u64,
    /// Calls in which a control that the kernel has drew at random.
    pub draws: u64,
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

impl Comparison {
    /// Counts a call and the twin's answer. Returns true if that is the kernel's.
    fn count(&mut self, call: &Call, (window, result): (Window, u32)) -> bool {
        let equal = (window, result) == (call.after, call.result);
        self.calls += 1;
        self.equal += u64::from(equal);
        self.draws += u64::from(call.drawn > 0);
        self.equal_windows += u64::from(window.cwnd == call.after.cwnd);
        self.equal_answers += u64::from(result == call.result);
        equal
    }
}

/// A connection: its twin, the window that its last call left, and its last calls.
struct Connection<T> {
    twin: T,
    left: Window,
    last: VecDeque<Call>,
}

/// Gives the calls of a record to a program, and compares the answers.
///
/// # Errors
/// The bytes are not a record of calls, or end within a call, or the program fails.
pub fn compare(program: &Arc<Program>, record: &[u8]) -> Result<Comparison, Refusal> {
    compare_with(record, |_| Ok(Machine::new(Arc::clone(program), 0)))
}

/// Gives the calls of a record to twins, and compares the answers. For each connection one is made,
/// with the record from its first call on.
///
/// # Errors
/// The bytes are not a record of whole calls, or a twin cannot be made or fails.
pub fn compare_with<T: Twin>(
    record: &[u8],
    mut make: impl FnMut(&[Call]) -> Result<T, Refusal>,
) -> Result<Comparison, Refusal> {
    let calls = record
        .strip_prefix(MAGIC)
        .ok_or_else(|| Refusal::new("is not a record of calls"))?;
    let whole = calls.len() / RECORD;
    if whole * RECORD != calls.len() {
        return Err(Refusal::new(format!(
            "ends within a call, after {whole} calls; its run was cut short"
        )));
    }
    let calls: Vec<Call> = Call::all(calls).collect();
    let mut comparison = Comparison::default();
    let mut counts = [0; KINDS.len()];
    let mut connections: HashMap<([u8; 4], u16), Connection<T>> = HashMap::new();
    for (place, call) in calls.iter().enumerate() {
        let unknown = || Refusal::new(format!("has a call of the unknown kind {}", call.kind));
        let callback = call.callback().ok_or_else(unknown)?;
        if callback == Callback::Init {
            comparison.connections += 1;
            let begun = Connection {
                twin: make(&calls[place..])?,
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
        comparison.moved += u64::from(connection.left != call.before);
        let given = connection.twin.answer(callback, call);
        let answer = given.map_err(|fault| {
            Refusal::new(format!(
                "call {}, {}: {}",
                call.number, fault.callback, fault.refusal
            ))
        })?;
        connection.left = call.after;
        if !comparison.count(call, answer) && comparison.first.is_none() {
            let (window, result) = answer;
            comparison.first = Some(Difference {
                call: *call,
                window,
                result,
                before: connection.last.iter().copied().collect(),
            });
        }
        if connection.last.len() == SHOWN {
            connection.last.pop_front();
        }
        connection.last.push_back(*call);
    }
    let names = KINDS.iter().map(|kind| kind.name());
    comparison.kinds = names.zip(counts).collect();
    Ok(comparison)
}

/// Returns what a control that the kernel has drew at random in a connection. `calls` begin with
/// the first of the connection.
pub fn draws(calls: &[Call]) -> Vec<u8> {
    let Some((first, later)) = calls.split_first() else {
        return Vec::new();
    };
    let own = later
        .iter()
        .filter(|call| call.local == first.local)
        .take_while(|call| call.callback() != Some(Callback::Init));
    own.filter_map(|call| call.drawn.checked_sub(1)).collect()
}
