//! Dialogues with a sender: its answers to scripted ACKs and to arbitrary input.

mod connection;
mod ecn;
mod flow_control;
mod linux;
mod marks;
mod pacing;
mod properties;
mod rate_limited;
mod rate_samples;
mod recovery;
mod round_trip;
mod timer;
mod window;

use super::*;
use crate::congestion::{
    Ack, Congestion, CongestionKind, ControlState, Needs, Pace, SegmentLost, SegmentSent, SendLimit,
};
use crate::endpoint::parameters::{
    AfterTimeout, ByteCounting, IdleRestart, LossRecovery, Preset, WindowValidation,
};
use crate::endpoint::{Acknowledgement, AcknowledgementKind, Segment, SenderEventKind};
use crate::packet::{SackBlock, SackBlocks};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::BitRate;
use std::sync::Mutex;

const MSS: u64 = 1000;
const RECOVERIES: [LossRecovery; 5] = [
    LossRecovery::TimeoutOnly,
    LossRecovery::Tahoe,
    LossRecovery::Reno,
    LossRecovery::Newreno,
    LossRecovery::Sack,
];
const RTT_SAMPLINGS: [RttSampling; 3] = [
    RttSampling::Timestamps,
    RttSampling::EveryAck,
    RttSampling::OncePerRoundTrip,
];
/// No segments.
const NONE: [u64; 0] = [];

#[derive(Debug, Default)]
struct Log {
    acks: Vec<Ack>,
    congestions: Vec<Congestion>,
    sent: Vec<SegmentSent>,
    lost: Vec<SegmentLost>,
    after_idle: Vec<Time>,
}

/// A control with slow start and halving that logs its calls.
#[derive(Debug)]
struct Halving {
    cwnd: u64,
    ssthresh: u64,
    log: Arc<Mutex<Log>>,
    rate: Option<BitRate>,
    sampled: bool,
    replaces_recovery: bool,
}

impl CongestionControl for Halving {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: self.sampled,
            sent: true,
            paces: true,
            replaces_recovery: self.replaces_recovery,
            ..Needs::default()
        }
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        self.log.lock().unwrap().acks.push(*ack);
        if self.cwnd < self.ssthresh {
            self.cwnd += ack.credit.0;
        } else {
            self.cwnd += ack.credit.0 * MSS / self.cwnd;
        }
    }
    fn on_congestion(&mut self, _now: Time, congestion: &Congestion) {
        self.log.lock().unwrap().congestions.push(*congestion);
        if congestion.kind != CongestionKind::RepeatedTimeout {
            self.ssthresh = (congestion.base.0 / 2).max(2 * MSS);
        }
        self.cwnd = match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => self.ssthresh,
            _ => MSS,
        };
    }
    fn on_event(&mut self, now: Time, event: &Event) {
        let mut log = self.log.lock().unwrap();
        match event {
            Event::Sent(sent) => log.sent.push(*sent),
            Event::SentAfterIdle => log.after_idle.push(now),
            Event::Lost(lost) => log.lost.push(*lost),
            Event::IdleRestart { limit } => self.cwnd = self.cwnd.min(limit.0),
            Event::Open { .. } | Event::RecoveryEnd | Event::Marks(_) => {}
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }
    fn pace(&self) -> Pace {
        Pace {
            rate: self.rate,
            burst: None,
        }
    }
    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: Some(Bytes(self.ssthresh)),
            mode: "test",
            rate_estimate: None,
        }
    }
}

/// NewReno without delayed ACKs, burst limit or window validation; ten segments in congestion
/// avoidance.
fn plain(recovery: LossRecovery) -> TcpParameters {
    let mut parameters = Preset::Rfc.parameters();
    parameters.connection.mss = Bytes(MSS);
    parameters.connection.handshake = false;
    parameters.recovery.algorithm = recovery;
    parameters.growth.byte_counting = ByteCounting::PerAck;
    parameters.growth.window_validation = WindowValidation::Off;
    parameters.recovery.limited_transmit = false;
    parameters.growth.idle_restart = IdleRestart::Off;
    parameters.recovery.after_timeout = AfterTimeout::GoBackN;
    parameters
}

/// Returns SACK blocks from pairs of start and end.
fn sack_blocks(blocks: &[(u64, u64)]) -> SackBlocks {
    let mut sacks = SackBlocks::default();
    for &(start, end) in blocks {
        sacks.push(SackBlock { start, end });
    }
    sacks
}

struct Dialogue {
    sender: Sender,
    log: Arc<Mutex<Log>>,
    now: Time,
    segments: Vec<Segment>,
}

impl Dialogue {
    fn with(parameters: TcpParameters, cwnd: u64, rate: Option<BitRate>, sampled: bool) -> Self {
        Self::replacing(parameters, cwnd, rate, sampled, false)
    }
    fn replacing(
        parameters: TcpParameters,
        cwnd: u64,
        rate: Option<BitRate>,
        sampled: bool,
        replaces_recovery: bool,
    ) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let control = Halving {
            cwnd: cwnd * MSS,
            ssthresh: cwnd * MSS,
            log: Arc::clone(&log),
            rate,
            sampled,
            replaces_recovery,
        };
        let jitter = Streams::new(1, 0).stream("jitter");
        let mut sender = Sender::new(Arc::new(parameters), Box::new(control), jitter);
        sender.open(Time::ZERO);
        Dialogue {
            sender,
            log,
            now: Time::ZERO,
            segments: Vec::new(),
        }
    }
    /// An open connection with unlimited data and a window of `cwnd` segments; nothing is sent.
    fn unlimited(parameters: TcpParameters, cwnd: u64) -> Self {
        let mut dialogue = Self::with(parameters, cwnd, None, false);
        dialogue.sender.write(Write::Unlimited);
        dialogue
    }
    /// The same connection, after sending all that the window allows.
    fn bulk(parameters: TcpParameters, cwnd: u64) -> Self {
        let mut dialogue = Self::unlimited(parameters, cwnd);
        assert_eq!(dialogue.send(), Vec::from_iter(0..cwnd));
        dialogue
    }
    /// A transfer of `bytes` bytes.
    fn transfer(parameters: TcpParameters, cwnd: u64, bytes: u64) -> Self {
        let mut dialogue = Self::with(parameters, cwnd, None, false);
        dialogue.sender.write(Write::Bytes(Bytes(bytes)));
        dialogue.sender.close();
        dialogue.send();
        dialogue
    }
    fn send(&mut self) -> Vec<u64> {
        let before = self.segments.len();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.segments.push(segment);
            self.sender.connection.scoreboard.check();
            assert!(self.segments.len() - before < 10_000, "sending has no end");
        }
        self.segments[before..].iter().map(|s| s.sequence).collect()
    }
    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Span::from_millis(millis);
        self
    }
    fn tell(&mut self, cumulative: u64, blocks: &[(u64, u64)], ecn_echo: bool) -> Vec<u64> {
        let sacks = sack_blocks(blocks);
        let ack = Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative,
            echo: Time::NEVER,
            sacks: (!sacks.is_empty()).then_some(&sacks),
            ace: ecn_echo.into(),
            options: None,
        };
        self.sender.handle_acknowledgement(self.now, &ack);
        self.sender.connection.scoreboard.check();
        self.send()
    }
    fn ack(&mut self, cumulative: u64) -> Vec<u64> {
        self.tell(cumulative, &[], false)
    }
    fn sack(&mut self, cumulative: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.tell(cumulative, blocks, false)
    }
    fn duplicates(&mut self, count: u64, cumulative: u64) -> Vec<u64> {
        (0..count).flat_map(|_| self.ack(cumulative)).collect()
    }
    /// Advances to the next timeout and handles it.
    fn timeout(&mut self) -> Vec<u64> {
        self.now = self.sender.poll_timeout();
        assert!(!self.now.is_never(), "no timer is running");
        self.sender.handle_timeout(self.now);
        self.send()
    }
    fn events(&mut self) -> Vec<SenderEventKind> {
        self.sender.take_events().map(|event| event.kind).collect()
    }
    fn cwnd(&self) -> u64 {
        self.sender.cwnd().0 / MSS
    }
    fn last_ack(&self) -> Ack {
        *self.log.lock().unwrap().acks.last().unwrap()
    }
    fn last_base(&self) -> u64 {
        self.log.lock().unwrap().congestions.last().unwrap().base.0 / MSS
    }
}
