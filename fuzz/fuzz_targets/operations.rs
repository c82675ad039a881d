//! Any sequence of operations on a connection: writes, losses, duplicates, reordering, marks, time.
//! Covers every registered control, every preset and every loss recovery. After the operations the
//! path behaves well, and all data must arrive, each byte once.
#![no_main]

use ackclock_core::congestion::{ControlContext, ControlKind};
use ackclock_core::endpoint::parameters::{
    AfterTimeout, EcnFeedback, LossRecovery, Pacing, Preset, RecoveryWindow,
};
use ackclock_core::endpoint::receiver::Receiver;
use ackclock_core::endpoint::sender::Sender;
use ackclock_core::endpoint::{Acknowledgement, Segment, TcpParameters};
use ackclock_core::packet::{AckOptions, Ecn, SackBlocks};
use ackclock_spec::registry::{Kind, StreamScope, choose};
use ackclock_spec::files::NoFiles;
use ackclock_spec::quantity::OptionalWindow;
use ackclock_spec::streams::Streams;
use ackclock_core::traffic::Write;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// The fields of an ACK beside its header.
type Options = (Option<SackBlocks>, Option<AckOptions>);

/// Most segments that one call may send; a sender that sends more does not stop.
const BURST: usize = 100_000;
/// Most events until the connection has ended. Timeouts back off, so that virtual time passes
/// quickly.
const EVENTS: usize = 1_000_000;
/// One-way delay of the path when it behaves well.
const DELAY: Span = Span::from_millis(20);

/// Two endpoints and the packets in flight between them.
struct Connection {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    forward: VecDeque<(Segment, bool)>,
    /// The driver keeps the blocks and options of an ACK while it is in flight.
    back: VecDeque<(Acknowledgement<'static>, Options)>,
    mss: u64,
    written: u64,
}

impl Connection {
    fn new(choice: [u8; 4]) -> Self {
        let parameters = parameters(choice);
        let streams = Streams::new(u64::from(choice[3]), 0);
        let controls = controls();
        let control = &controls[usize::from(choice[2]) % controls.len()];
        let control = choose::<ControlKind>(control, &NoFiles).expect("valid");
        let mss = parameters.connection.mss;
        let context = ControlContext {
            place: StreamScope {
                streams: &streams,
                name: "flow/0/control",
            },
            mss,
            initial_window: mss * u64::from(parameters.growth.initial_window.0),
            initial_ssthresh: parameters.growth.initial_ssthresh.bytes(mss),
            ssthresh_in_whole_segments: parameters.growth.ssthresh_in_whole_segments,
            paced: parameters.sending.pacing == Pacing::Always,
            selective_acks: parameters.recovery.uses_sack(),
            counts_marks: parameters.ecn.enabled && parameters.ecn.feedback != EcnFeedback::Classic,
            keeps_calls: false,
        };
        let mut sender = Sender::new(
            Arc::new(parameters),
            control.build(context),
            streams.stream("flow/0/jitter"),
        );
        sender.open(Time::ZERO);
        Connection {
            now: Time::ZERO,
            sender,
            receiver: Receiver::new(&parameters),
            forward: VecDeque::new(),
            back: VecDeque::new(),
            mss: mss.0,
            written: 0,
        }
    }

    /// Transmits everything that may leave now.
    fn transmit(&mut self) {
        for sent in 0.. {
            let Some(segment) = self.sender.poll_transmit(self.now) else {
                break;
            };
            assert!(sent < BURST, "the sender does not stop");
            self.forward.push_back((segment, false));
        }
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            let options = (ack.sacks.copied(), ack.options.copied());
            self.back.push_back((ack.without_options(), options));
        }
        assert!(self.sender.cwnd().0 >= self.mss, "less than one segment");
        assert!(self.receiver.statistics().delivered.0 <= self.written);
        self.sender.take_events().for_each(drop);
    }

    fn arrive(&mut self, (segment, marked): (Segment, bool)) {
        let ecn = if marked { Ecn::Marked } else { Ecn::Capable };
        self.receiver.handle_segment(self.now, &segment, ecn);
        self.transmit();
    }

    fn acknowledge(&mut self, (ack, (sacks, options)): (Acknowledgement<'static>, Options)) {
        let (sacks, options) = (sacks.as_ref(), options.as_ref());
        let ack = Acknowledgement {
            sacks,
            options,
            ..ack
        };
        self.sender.handle_acknowledgement(self.now, &ack);
        self.transmit();
    }

    /// Advances the time to the next timer; returns false if none runs.
    fn wait(&mut self) -> bool {
        let due = self.sender.poll_timeout().min(self.receiver.poll_timeout());
        if due.is_never() {
            return false;
        }
        self.now = self.now.max(due);
        self.sender.handle_timeout(self.now);
        self.receiver.handle_timeout(self.now);
        self.transmit();
        true
    }

    fn operate(&mut self, code: u8, argument: u8) {
        match code % 11 {
            0 => {
                let bytes = u64::from(argument) * 200;
                self.written += bytes;
                self.sender.write(Write::Bytes(Bytes(bytes)));
                self.transmit();
            }
            1 | 2 => {
                if let Some(packet) = self.forward.pop_front() {
                    self.arrive(packet);
                }
            }
            3 => drop(self.forward.pop_front()),
            4 => {
                if let Some((segment, _)) = self.forward.pop_front() {
                    self.arrive((segment, true));
                }
            }
            5 => {
                let at = usize::from(argument) % self.forward.len().max(1);
                if let Some(packet) = self.forward.get(at).copied() {
                    self.arrive(packet); // early, and again later
                }
            }
            6 | 7 => {
                if let Some(ack) = self.back.pop_front() {
                    self.acknowledge(ack);
                }
            }
            8 => {
                let at = usize::from(argument) % self.back.len().max(1);
                if let Some(ack) = self.back.remove(at) {
                    self.acknowledge(ack); // overtakes
                }
            }
            9 => drop(self.back.pop_front()),
            _ => {
                self.now = self.now + Span::from_millis(u64::from(argument));
                let due = self.sender.poll_timeout().min(self.receiver.poll_timeout());
                if due <= self.now || argument == u8::MAX {
                    self.wait();
                }
            }
        }
    }

    /// Ends the connection without further losses: all data must arrive and be acknowledged.
    fn end(&mut self) {
        self.sender.close();
        self.transmit();
        for _ in 0..EVENTS {
            if self.sender.is_finished() {
                break;
            }
            if let Some(packet) = self.forward.pop_front() {
                self.now = self.now + DELAY / (self.forward.len() as u64 + 1);
                self.arrive(packet);
            } else if let Some(ack) = self.back.pop_front() {
                self.now = self.now + DELAY / (self.back.len() as u64 + 1);
                self.acknowledge(ack);
            } else {
                assert!(
                    self.wait(),
                    "nothing under way, nothing to wait for, and not finished"
                );
            }
        }
        assert!(self.sender.is_finished(), "does not come to an end");
        assert_eq!(
            self.receiver.statistics().delivered.0,
            self.written,
            "each byte once"
        );
    }
}

/// Returns every simulated control with its defaults, and variants of the Westwood family that the
/// defaults do not cover.
fn controls() -> Vec<Value> {
    let defaults = ControlKind::ENTRIES
        .iter()
        .filter(|entry| entry.simulated)
        .map(|entry| json!({ "kind": entry.name }));
    let others = [
        json!({ "kind": "westwood_be", "estimator": { "low_pass": { "zeros_at_timeout": true } } }),
        json!({ "kind": "westwood_crb", "growth": "per_window" }),
        json!({ "kind": "westwood_abse", "estimator": { "kind": "abse_literal" } }),
        json!({
            "kind": "westwood_plus",
            "estimator": { "kind": "westwood_linux" },
            "cut": "at_recovery_end",
            "growth": "per_window",
        }),
    ];
    defaults.chain(others).collect()
}

/// Returns the parameters of a preset, sometimes with another loss recovery and other switches.
fn parameters(choice: [u8; 4]) -> TcpParameters {
    let presets = [
        Preset::Linux2012,
        Preset::Linux,
        Preset::Rfc,
        Preset::RfcModern,
        Preset::Ns2Of2002,
        Preset::Jacobson1988,
    ];
    let mut parameters = presets[usize::from(choice[0]) % presets.len()].parameters();
    parameters.timer.rto_adaptive = choice[0] < 128;
    match choice[1] % 8 {
        0 => parameters.recovery.algorithm = LossRecovery::Tahoe,
        1 => parameters.recovery.algorithm = LossRecovery::Reno,
        2 => parameters.recovery.algorithm = LossRecovery::Newreno,
        3 => parameters.recovery.algorithm = LossRecovery::Sack,
        4 => parameters.recovery.algorithm = LossRecovery::TimeoutOnly,
        5 => parameters.recovery.algorithm = LossRecovery::Rack,
        _ => {}
    }
    parameters.recovery.sack = parameters.recovery.algorithm.has_scoreboard();
    if !parameters.recovery.sack {
        parameters.recovery.after_timeout = AfterTimeout::GoBackN;
        parameters.recovery.recovery_window = RecoveryWindow::Ssthresh;
    }
    if parameters.recovery.algorithm != LossRecovery::Rack {
        parameters.recovery.tail_loss_probe = false;
        parameters.recovery.forward_rto = false;
        parameters.recovery.undo = false;
    }
    parameters.recovery.limited_transmit ^= choice[1] & 8 != 0;
    parameters.recovery.partial_window_deflation ^= choice[1] & 16 != 0;
    parameters.connection.handshake ^= choice[1] & 32 != 0;
    parameters.ecn.enabled = choice[1] & 64 != 0;
    parameters.sending.send_jitter = Span::from_millis(u64::from(choice[1] >> 7));
    if choice[3] & 3 == 3 {
        parameters.receiver.receive_window = OptionalWindow::Segments(4);
        parameters.receiver.read_rate = Some(BitRate::from_bit_per_s(100_000));
    }
    parameters
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, operations)) = data.split_first_chunk::<4>() else {
        return;
    };
    let mut connection = Connection::new(*choice);
    connection.transmit();
    for pair in operations.chunks_exact(2) {
        connection.operate(pair[0], pair[1]);
    }
    connection.end();
});
