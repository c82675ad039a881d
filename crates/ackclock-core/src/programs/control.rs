//! A control for the Linux kernel, run by the engine: its program hears what the kernel would tell
//! it, in the kernel's order (`net/ipv4/tcp_input.c` of 6.18).
//!
//! It differs from a kernel in four places. `pkts_acked` of an ACK comes after the reaction to a
//! loss that it reveals, not before. Its `in_flight` is what the ACK delivers, if the delivery rate
//! has no valid sample. During a reduction, `snd_cwnd` is the window at its end; the sender
//! inflates it (`endpoint/sender/recovery/prr.rs`). Global variables belong to one connection each.

use crate::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event,
    Foreign, LARGEST_WINDOW, Needs, Pace, RateInfo, SegmentSent, SendLimit, SocketState,
};
use ackclock_bpf::layout::{ack_sample, rate_sample, socket};
use ackclock_bpf::machine::STARTED_NS;
use ackclock_bpf::{Argument, Callback, Machine};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;

/// ssthresh that is not set (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// Largest window that a kernel takes (`snd_cwnd_clamp`).
const LARGEST: u64 = u32::MAX as u64;
/// Local address of every connection, 10.0.0.1 in the order of the network.
const ADDRESS: u64 = 0x0100_000a;
/// `AF_INET`, `TCP_ESTABLISHED`.
const IPV4: u64 = 2;
const ESTABLISHED: u64 = 1;

/// States of loss recovery (`enum tcp_ca_state`).
const OPEN: u64 = 0;
const CWR: u64 = 2;
const RECOVERY: u64 = 3;
const LOSS: u64 = 4;

/// Events (`enum tcp_ca_event`).
const TX_START: u64 = 0;
const CWND_RESTART: u64 = 1;
const COMPLETE_CWR: u64 = 2;
const EVENT_LOSS: u64 = 3;

/// Flags of `in_ack_event` (`enum tcp_ca_ack_event_flags`).
const ACK_ECHOES: u64 = 4;

/// An algorithm with the callbacks of a control for Linux, and its socket.
pub trait Algorithm: Debug + Send {
    /// True if it has a callback that does something.
    fn has(&self, callback: Callback) -> bool;
    /// True if `cong_control` has the four parameters that it has since Linux 6.10, not two.
    fn has_long_cong_control(&self) -> bool;
    /// True if it paces, without deciding about recovery. No control in a kernel does only that.
    fn paces(&self) -> bool {
        false
    }
    /// Sets the clock, in nanoseconds since the run began.
    fn set_time(&mut self, nanos: u64);
    /// Returns the tick of the kernel's clock.
    fn ticks(&self) -> u64;
    /// Returns a field of the socket (`ackclock_bpf::layout::socket`).
    fn get(&self, field: u32) -> u64;
    /// Sets a field of the socket.
    fn set(&mut self, field: u32, value: u64);
    /// Sets a field of the argument of `pkts_acked` (`ackclock_bpf::layout::ack_sample`).
    fn set_ack_sample(&mut self, field: u32, value: u64);
    /// Sets a field of the argument of `cong_control` (`ackclock_bpf::layout::rate_sample`).
    fn set_rate_sample(&mut self, field: u32, value: u64);
    /// Keeps a record of each call from now on, if it can.
    fn keep_records(&mut self) {}
    /// Removes and returns the records.
    fn take_records(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Calls a callback. Returns its answer; zero if there is no such callback.
    ///
    /// # Errors
    /// The callback and the reason why it failed.
    fn call(&mut self, callback: Callback, arguments: &[Argument]) -> Result<u64, String>;
}

impl Algorithm for Machine {
    fn has(&self, callback: Callback) -> bool {
        self.listens(callback)
    }
    fn has_long_cong_control(&self) -> bool {
        self.program().has_long_cong_control()
    }
    fn set_time(&mut self, nanos: u64) {
        Machine::set_time(self, nanos);
    }
    fn ticks(&self) -> u64 {
        Machine::ticks(self)
    }
    fn get(&self, field: u32) -> u64 {
        Machine::get(self, field)
    }
    fn set(&mut self, field: u32, value: u64) {
        Machine::set(self, field, value);
    }
    fn set_ack_sample(&mut self, field: u32, value: u64) {
        Machine::set_ack_sample(self, field, value);
    }
    fn set_rate_sample(&mut self, field: u32, value: u64) {
        Machine::set_rate_sample(self, field, value);
    }
    fn keep_records(&mut self) {
        Machine::keep_records(self);
    }
    fn take_records(&mut self) -> Vec<u8> {
        Machine::take_records(self)
    }
    fn call(&mut self, callback: Callback, arguments: &[Argument]) -> Result<u64, String> {
        Machine::call(self, callback, arguments).map_err(|fault| fault.to_string())
    }
}

/// A control whose algorithm is a program.
#[derive(Debug)]
pub(super) struct ProgramControl<A> {
    machine: A,
    mss: u64,
    begun: bool,
    /// Window and recovery are the program's own (`cong_control`).
    owns: bool,
    hears_acked: bool,
    una: u64,
    fault: Option<String>,
}

/// A call that the engine makes may fail once; then none is made.
type Called = Result<u64, String>;

impl<A: Algorithm> ProgramControl<A> {
    pub fn new(mut machine: A, context: &ControlContext<'_>) -> Self {
        let mss = context.mss.0.max(1);
        let owns = machine.has(Callback::CongControl);
        if context.keeps_calls {
            machine.keep_records();
        }
        let hears_acked = machine.has(Callback::PktsAcked);
        let segments = |bytes: Bytes| (bytes.0 / mss).min(LARGEST);
        let ssthresh = context.initial_ssthresh.map_or(INFINITE_SSTHRESH, segments);
        for (field, value) in [
            (socket::SND_CWND, segments(context.initial_window).max(1)),
            (socket::SND_SSTHRESH, ssthresh),
            (socket::SND_CWND_CLAMP, LARGEST),
            (socket::MSS_CACHE, mss),
            (socket::PACING_RATE, u64::MAX),
            (socket::MAX_PACING_RATE, u64::MAX),
            (socket::RTT_MIN, LARGEST),
            (socket::LOCAL_ADDRESS, ADDRESS),
            (socket::LOCAL_PORT, port(context.place.name)),
            (socket::FAMILY, IPV4),
            (socket::SOCKET_STATE, ESTABLISHED),
        ] {
            machine.set(field, value);
        }
        ProgramControl {
            machine,
            mss,
            begun: false,
            owns,
            hears_acked,
            una: 0,
            fault: None,
        }
    }

    /// Returns a number of bytes in segments, rounded up.
    fn segments(&self, bytes: Bytes) -> u64 {
        match bytes.0 {
            0 => 0, // the usual case of what is lost, marked, SACKed or sent again
            some => some.div_ceil(self.mss),
        }
    }

    fn set(&mut self, field: u32, value: u64) {
        self.machine.set(field, value);
    }

    fn get(&self, field: u32) -> u64 {
        self.machine.get(field)
    }

    fn call(&mut self, callback: Callback, number: u64) -> Called {
        self.machine
            .call(callback, &[Argument::Socket, Argument::Number(number)])
    }

    /// Does something at `now`, after `init`, unless the program has failed.
    fn at(&mut self, now: Time, act: impl FnOnce(&mut Self) -> Result<(), String>) {
        if self.fault.is_some() {
            return;
        }
        self.machine.set_time(now.as_nanos());
        let begun = if self.begun {
            Ok(0)
        } else {
            self.begun = true;
            self.machine.call(Callback::Init, &[Argument::Socket])
        };
        let acted = begun.and_then(|_| act(self));
        if let Err(fault) = acted.and_then(|()| self.bound_window()) {
            self.fault = Some(fault);
        }
    }

    /// Refuses a window that only a mistake makes, and leaves a segment of it to send.
    fn bound_window(&mut self) -> Result<(), String> {
        let segments = self.get(socket::SND_CWND);
        if segments <= LARGEST_WINDOW.into() {
            return Ok(());
        }
        self.set_cwnd(1);
        Err(format!(
            "its window: {segments} segments are more than {LARGEST_WINDOW}, the most that are sent"
        ))
    }

    /// Sets cwnd, and the tick at which that happened.
    fn set_cwnd(&mut self, segments: u64) {
        self.set(socket::SND_CWND, segments.clamp(1, LARGEST));
        let ticks = self.machine.ticks();
        self.set(socket::SND_CWND_STAMP, ticks);
    }

    /// Returns ssthresh as it would be now (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u64 {
        let (cwnd, ssthresh) = (self.get(socket::SND_CWND), self.get(socket::SND_SSTHRESH));
        match self.get(socket::CA_STATE) {
            CWR | RECOVERY => ssthresh,
            _ => ssthresh.max(cwnd / 2 + cwnd / 4),
        }
    }

    /// Enters a state of recovery (`tcp_set_ca_state`).
    fn enter(&mut self, state: u64) -> Result<(), String> {
        self.call(Callback::SetState, state)?;
        self.set(socket::CA_STATE, state);
        Ok(())
    }

    /// Asks for ssthresh (`tcp_init_cwnd_reduction`, `tcp_enter_loss`).
    fn ask_ssthresh(&mut self) -> Result<u64, String> {
        let cwnd = self.get(socket::SND_CWND);
        self.set(socket::PRIOR_CWND, cwnd);
        let ssthresh = u64::from(self.call(Callback::Ssthresh, 0)? as u32);
        self.set(socket::SND_SSTHRESH, ssthresh);
        Ok(ssthresh)
    }

    /// Begins a reduction that ends with ssthresh.
    fn reduce(&mut self, state: u64) -> Result<(), String> {
        let prior = if state == CWR {
            0
        } else {
            self.current_ssthresh()
        };
        self.set(socket::PRIOR_SSTHRESH, prior);
        self.set(socket::SND_CWND_CNT, 0);
        let ssthresh = self.ask_ssthresh()?;
        if !self.owns {
            let cwnd = self.get(socket::SND_CWND);
            self.set_cwnd(cwnd.min(ssthresh));
        }
        self.enter(state)
    }

    fn time_out(&mut self, loss_window: Bytes, first: bool) -> Result<(), String> {
        if first {
            let prior = self.current_ssthresh();
            self.set(socket::PRIOR_SSTHRESH, prior);
            self.ask_ssthresh()?;
            self.call(Callback::CwndEvent, EVENT_LOSS)?;
        }
        self.set(socket::SND_CWND_CNT, 0);
        self.set_cwnd(loss_window.0 / self.mss);
        self.enter(LOSS)
    }

    fn undo(&mut self) -> Result<(), String> {
        let cwnd = u64::from(self.call(Callback::UndoCwnd, 0)? as u32);
        self.set_cwnd(cwnd);
        let prior = self.get(socket::PRIOR_SSTHRESH);
        if prior > self.get(socket::SND_SSTHRESH) {
            self.set(socket::SND_SSTHRESH, prior);
        }
        self.enter(OPEN)
    }

    fn end_recovery(&mut self) -> Result<(), String> {
        let state = self.get(socket::CA_STATE);
        if state == OPEN {
            return Ok(());
        }
        if state != LOSS && !self.owns {
            let ssthresh = self.get(socket::SND_SSTHRESH);
            if ssthresh < INFINITE_SSTHRESH {
                self.set_cwnd(ssthresh);
            }
            self.call(Callback::CwndEvent, COMPLETE_CWR)?;
        }
        self.enter(OPEN)
    }

    /// Writes what the sender knows into the socket.
    fn note(&mut self, now: Time, ack: &Ack, sender: &SocketState) {
        let micros = |span: Option<Span>| span.map_or(0, |span| span.as_nanos() / 1000);
        self.una = self.una.wrapping_add(ack.newly_acked.0); // a sequence number
        let departure = ack.rate.map_or(now, |rate| rate.next_departure);
        let marked = self.segments(ack.marked);
        let delivered_ce = self.get(socket::DELIVERED_CE).wrapping_add(marked);
        let newly_lost = self.segments(ack.newly_lost);
        let lost = self.get(socket::LOST).wrapping_add(newly_lost);
        for (field, value) in [
            (socket::SRTT_US, micros(ack.smoothed_rtt).saturating_mul(8)),
            (socket::RTT_MIN, micros(ack.min_rtt)),
            (socket::PACKETS_OUT, self.segments(sender.outstanding)),
            (socket::SACKED_OUT, self.segments(sender.sacked)),
            (socket::LOST_OUT, self.segments(sender.lost)),
            (socket::RETRANS_OUT, self.segments(sender.resent)),
            (socket::DELIVERED, self.segments(ack.delivered)),
            (socket::DELIVERED_CE, delivered_ce),
            (socket::LOST, lost),
            (socket::SND_UNA, self.una),
            (socket::SND_NXT, self.una.wrapping_add(sender.outstanding.0)),
            (
                socket::TCP_WSTAMP_NS,
                STARTED_NS.saturating_add(departure.as_nanos()),
            ),
        ] {
            self.machine.set(field, value);
        }
    }

    fn acknowledge(&mut self, now: Time, ack: &Ack) -> Result<(), String> {
        let sender = ack.socket.unwrap_or_default();
        self.note(now, ack, &sender);
        if self.machine.has(Callback::InAckEvent) {
            let flags = if ack.marked > Bytes::ZERO {
                ACK_ECHOES
            } else {
                0
            };
            self.call(Callback::InAckEvent, flags)?;
        }
        if self.hears_acked {
            self.report_acked(ack)?;
        }
        if let Some(rate) = ack.rate.filter(|_| self.owns) {
            return self.control(ack, &rate);
        }
        if !sender.opens || ack.newly_delivered == Bytes::ZERO {
            return Ok(());
        }
        let used = ack.credit > Bytes::ZERO;
        let counted = if used {
            ack.credit
        } else {
            ack.newly_delivered
        };
        let cwnd = self.get(socket::SND_CWND);
        self.set(socket::IS_CWND_LIMITED, used.into());
        self.set(socket::MAX_PACKETS_OUT, if used { cwnd } else { 0 });
        let (una, acked) = (self.una, self.segments(counted));
        self.machine.call(
            Callback::CongAvoid,
            &[
                Argument::Socket,
                Argument::Number(u64::from(una as u32)),
                Argument::Number(acked),
            ],
        )?;
        let ticks = self.machine.ticks();
        self.set(socket::SND_CWND_STAMP, ticks);
        Ok(())
    }

    /// Returns `in_flight` of `pkts_acked`: the data delivered since the newest segment that the
    /// ACK acknowledges was sent, in whole segments (`tcp_clean_rtx_queue`, as Linux has it since
    /// 5.16). If the ACK delivers nothing, that is all data, as in Linux.
    fn flight(&self, ack: &Ack) -> u64 {
        let delivered = self.segments(ack.delivered);
        let segments = match ack.rate_sample() {
            Some(sample) => delivered - self.segments(sample.prior_delivered).min(delivered),
            None if ack.newly_delivered == Bytes::ZERO => delivered,
            None => self.segments(ack.newly_delivered),
        };
        segments.saturating_mul(self.mss)
    }

    /// Calls `pkts_acked`.
    fn report_acked(&mut self, ack: &Ack) -> Result<(), String> {
        let rtt = ack.newest_rtt.map_or(u64::MAX, |rtt| rtt.as_nanos() / 1000);
        let flight = self.flight(ack);
        let acked = self.segments(ack.newly_acked);
        self.machine.set_ack_sample(ack_sample::PKTS_ACKED, acked);
        self.machine.set_ack_sample(ack_sample::RTT_US, rtt);
        self.machine.set_ack_sample(ack_sample::IN_FLIGHT, flight);
        self.machine
            .call(
                Callback::PktsAcked,
                &[Argument::Socket, Argument::AckSample],
            )
            .map(drop)
    }

    /// Calls `cong_control`.
    fn control(&mut self, ack: &Ack, rate: &RateInfo) -> Result<(), String> {
        self.set_rate_sample(ack, rate);
        let una = Argument::Number(u64::from(self.una as u32));
        let long = [
            Argument::Socket,
            una,
            Argument::Number(0),
            Argument::RateSample,
        ];
        let short = [Argument::Socket, Argument::RateSample];
        let arguments = match self.machine.has_long_cong_control() {
            true => &long[..],
            false => &short[..],
        };
        self.machine
            .call(Callback::CongControl, arguments)
            .map(drop)
    }

    fn set_rate_sample(&mut self, ack: &Ack, rate: &RateInfo) {
        let micros = |span: Span| span.as_nanos() / 1000;
        let none = (-1_i64).cast_unsigned();
        let (prior, delivered, interval, send, receive, limited) =
            rate.sample.map_or((0, none, none, 0, 0, false), |sample| {
                (
                    sample.prior_delivered.0.div_ceil(self.mss),
                    sample.delivered.0.div_ceil(self.mss),
                    micros(sample.interval),
                    micros(sample.send_elapsed),
                    micros(sample.ack_elapsed),
                    sample.limited == SendLimit::Application,
                )
            });
        for (field, value) in [
            (rate_sample::PRIOR_DELIVERED, prior),
            (rate_sample::DELIVERED, delivered),
            (rate_sample::INTERVAL_US, interval),
            (rate_sample::SND_INTERVAL_US, send),
            (rate_sample::RCV_INTERVAL_US, receive),
            (rate_sample::RTT_US, ack.newest_rtt.map_or(none, micros)),
            (rate_sample::LOSSES, self.segments(ack.newly_lost)),
            (
                rate_sample::ACKED_SACKED,
                self.segments(ack.newly_delivered),
            ),
            (
                rate_sample::PRIOR_IN_FLIGHT,
                self.segments(rate.prior_in_flight),
            ),
            (rate_sample::IS_APP_LIMITED, limited.into()),
            (rate_sample::IS_ACK_DELAYED, rate.delayed.into()),
        ] {
            self.machine.set_rate_sample(field, value);
        }
    }
}

/// Returns a port that tells connections of a run apart: the number in the name of its place.
fn port(place: &str) -> u64 {
    let digits = place.split('/').find_map(|part| part.parse::<u64>().ok());
    1 + digits.unwrap_or(0) % 65_535
}

impl<A: Algorithm> ProgramControl<A> {
    fn open(&mut self, now: Time, rtt: Option<Span>) {
        let srtt = rtt.map_or(0, |rtt| (rtt.as_nanos() / 1000).saturating_mul(8));
        self.set(socket::SRTT_US, srtt);
        self.at(now, |_| Ok(()));
    }

    fn note_sent(&mut self, now: Time, sent: &SegmentSent) {
        if sent.in_flight <= sent.bytes {
            self.at(now, |this| {
                this.call(Callback::CwndEvent, TX_START).map(drop)
            });
        }
    }

    fn restart_from_idle(&mut self, now: Time, limit: Bytes) {
        let lowered = (limit.0 / self.mss).min(self.get(socket::SND_CWND));
        if !self.begun {
            return self.set(socket::SND_CWND, lowered.max(1)); // the SYN was lost
        }
        self.at(now, |this| {
            this.call(Callback::CwndEvent, CWND_RESTART)?;
            let ssthresh = this.current_ssthresh();
            this.set(socket::SND_SSTHRESH, ssthresh);
            this.set_cwnd(lowered);
            Ok(())
        });
    }
}

impl<A: Algorithm> CongestionControl for ProgramControl<A> {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: self.owns || self.hears_acked,
            marks: false,
            sent: self.machine.has(Callback::CwndEvent),
            socket: true,
            paces: true,
            replaces_recovery: self.owns,
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.at(now, |this| this.acknowledge(now, ack));
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.at(now, |this| match congestion.kind {
            CongestionKind::Loss => this.reduce(RECOVERY),
            CongestionKind::Mark => this.reduce(CWR),
            CongestionKind::Timeout => this.time_out(congestion.loss_window, true),
            CongestionKind::RepeatedTimeout => this.time_out(congestion.loss_window, false),
            CongestionKind::SpuriousLoss => this.undo(),
        });
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Open { rtt } => self.open(now, *rtt),
            Event::IdleRestart { limit } => self.restart_from_idle(now, *limit),
            Event::RecoveryEnd => self.at(now, Self::end_recovery),
            Event::Sent(sent) => self.note_sent(now, sent),
            Event::SentAfterIdle | Event::Lost(_) | Event::Marks(_) => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.get(socket::SND_CWND).max(1) * self.mss)
    }

    fn pace(&self) -> Pace {
        let rate = self.get(socket::PACING_RATE);
        let rate = ((self.owns || self.machine.paces()) && rate != u64::MAX)
            .then(|| BitRate::from_bit_per_s(rate.max(1).saturating_mul(8)));
        Pace { rate, burst: None }
    }

    fn state(&self) -> ControlState {
        let (cwnd, ssthresh) = (self.get(socket::SND_CWND), self.get(socket::SND_SSTHRESH));
        let is_set = ssthresh < INFINITE_SSTHRESH;
        ControlState {
            ssthresh: is_set.then(|| Bytes(ssthresh * self.mss)),
            mode: match (self.owns, cwnd < ssthresh) {
                (true, _) => "own",
                (false, true) => "slow_start",
                (false, false) => "congestion_avoidance",
            },
            rate_estimate: None,
        }
    }

    fn foreign(&mut self) -> Option<&mut dyn Foreign> {
        Some(self)
    }
}

impl<A: Algorithm> Foreign for ProgramControl<A> {
    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    fn take_calls(&mut self) -> Vec<u8> {
        self.machine.take_records()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckClock, MSS, context};
    use ackclock_spec::streams::Streams;
    use std::sync::{Arc, Mutex};

    /// An algorithm that writes down its calls and keeps half of the window.
    #[derive(Debug)]
    struct Listener {
        heard: Arc<Mutex<Vec<String>>>,
        fields: Vec<u64>,
        fails_at: Option<Callback>,
    }

    impl Algorithm for Listener {
        fn has(&self, callback: Callback) -> bool {
            callback != Callback::CongControl
        }
        fn has_long_cong_control(&self) -> bool {
            false
        }
        fn set_time(&mut self, _: u64) {}
        fn ticks(&self) -> u64 {
            0
        }
        fn get(&self, field: u32) -> u64 {
            self.fields[field as usize]
        }
        fn set(&mut self, field: u32, value: u64) {
            self.fields[field as usize] = value;
        }
        fn set_ack_sample(&mut self, _: u32, _: u64) {}
        fn set_rate_sample(&mut self, _: u32, _: u64) {}
        fn call(&mut self, callback: Callback, arguments: &[Argument]) -> Result<u64, String> {
            let number = match arguments.get(1) {
                Some(Argument::Number(number)) => *number,
                _ => 0,
            };
            let state = self.get(socket::CA_STATE);
            let named = format!("{} {number} in {state}", callback.name());
            self.heard.lock().unwrap().push(named);
            if self.fails_at == Some(callback) {
                return Err(format!("{}: it fails", callback.name()));
            }
            Ok(match callback {
                Callback::Ssthresh => self.get(socket::SND_CWND) / 2,
                Callback::UndoCwnd => self.get(socket::PRIOR_CWND),
                _ => 0,
            })
        }
    }

    fn listening(fails_at: Option<Callback>, window: u64) -> (AckClock, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = Listener {
            heard: Arc::clone(&heard),
            fields: vec![0; socket::FIELDS.len()],
            fails_at,
        };
        let streams = Streams::new(1, 0);
        let control = ProgramControl::new(listener, &context(&streams, window, None));
        let clock = AckClock::of(Box::new(control), Span::from_millis(100));
        heard.lock().unwrap().clear();
        (clock, heard)
    }

    fn tell(clock: &mut AckClock, kind: CongestionKind) {
        let congestion = Congestion {
            kind,
            base: Bytes(10 * MSS),
            in_flight: Bytes(10 * MSS),
            min_rtt: None,
            smoothed_rtt: None,
            loss_window: Bytes(MSS),
        };
        clock.control.on_congestion(clock.now, &congestion);
    }

    /// The order in `tcp_input.c` of Linux 6.18.
    #[test]
    fn a_program_hears_what_the_kernel_would_tell_it_in_its_order() {
        let (mut clock, heard) = listening(None, 10);
        let hear = |expected: &[&str]| {
            let calls = std::mem::take(&mut *heard.lock().unwrap());
            assert_eq!(calls, expected);
        };
        clock.event(&Event::Open { rtt: None });
        hear(&["init 0 in 0"]);
        let ack = clock.ack_of(MSS);
        clock.control.on_ack(clock.now, &ack);
        hear(&[
            "in_ack_event 0 in 0",
            "pkts_acked 0 in 0",
            "cong_avoid 1000 in 0",
        ]);
        tell(&mut clock, CongestionKind::Loss);
        hear(&["ssthresh 0 in 0", "set_state 3 in 0"]);
        assert_eq!((clock.cwnd(), clock.ssthresh()), (5.0, Some(5.0)));
        clock.event(&Event::RecoveryEnd);
        hear(&["cwnd_event 2 in 3", "set_state 0 in 3"]);
        tell(&mut clock, CongestionKind::Mark);
        hear(&["ssthresh 0 in 0", "set_state 2 in 0"]);
        tell(&mut clock, CongestionKind::Timeout);
        hear(&["ssthresh 0 in 2", "cwnd_event 3 in 2", "set_state 4 in 2"]);
        assert_eq!(clock.cwnd(), 1.0);
        tell(&mut clock, CongestionKind::RepeatedTimeout);
        hear(&["set_state 4 in 4"]);
        tell(&mut clock, CongestionKind::SpuriousLoss);
        hear(&["undo_cwnd 0 in 4", "set_state 0 in 4"]);
        assert_eq!(clock.cwnd(), 2.0, "the window before the timeout");
        clock.event(&Event::RecoveryEnd);
        hear(&[]);
        clock.event(&Event::IdleRestart { limit: Bytes(MSS) });
        hear(&["cwnd_event 1 in 0"]);
        let first = SegmentSent {
            bytes: Bytes(MSS),
            in_flight: Bytes(MSS),
            next: 0,
            limited: SendLimit::Application,
        };
        clock.event(&Event::Sent(first));
        hear(&["cwnd_event 0 in 0"]);
    }

    #[test]
    fn a_window_that_fills_the_memory_is_a_fault() {
        let (mut clock, _) = listening(None, 20_000_000);
        clock.event(&Event::Open { rtt: None });
        let fault = clock.control.foreign().unwrap().fault().unwrap();
        assert!(fault.contains("20000000 segments"), "{fault}");
        assert_eq!(clock.cwnd(), 1.0);
    }

    #[test]
    fn after_a_fault_nothing_is_called_and_the_window_stays() {
        let (mut clock, heard) = listening(Some(Callback::Ssthresh), 10);
        tell(&mut clock, CongestionKind::Loss);
        let fault = clock.control.foreign().unwrap().fault();
        assert_eq!(fault, Some("ssthresh: it fails".into()));
        heard.lock().unwrap().clear();
        let ack = clock.ack_of(MSS);
        clock.control.on_ack(clock.now, &ack);
        tell(&mut clock, CongestionKind::Timeout);
        assert!(heard.lock().unwrap().is_empty());
        assert_eq!(clock.cwnd(), 10.0);
    }

    #[test]
    fn connections_of_a_run_have_ports_of_their_own() {
        assert_eq!(port("flow/3/control"), 4);
        assert_eq!(port("flow/65534/control"), 65_535);
        assert_eq!(port("control"), 1);
    }
}
