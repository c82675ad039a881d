//! The sending side of a UDP flow under rate control.

use super::clock::SendClock;
use super::{Datagram, DatagramParameters};
use crate::rate_control::{DatagramSent, Feedback, RateControl, RateState};
use crate::streams::Stream;
use crate::traffic::Write;
use crate::units::{Bytes, Span, Time};

/// Holds what the application has written until the control's clock lets it go, in packets of one
/// size; only the last one, after the close, may be shorter.
#[derive(Debug)]
pub struct DatagramSender {
    control: Box<dyn RateControl>,
    clock: SendClock,
    mss: u64,
    /// What the application has written and not been sent, in bytes; `u64::MAX` without end.
    waiting: u64,
    /// Whether the next packet leaves even if it is not full.
    push: bool,
    phase: SenderState,
    next_sequence: u64,
    statistics: DatagramSenderStatistics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    Idle,
    Open,
    /// The application will write no more.
    Closed,
    Stopped,
}

/// Counts of one sender since it was made.
#[derive(Clone, Copy, Debug)]
pub struct DatagramSenderStatistics {
    /// Datagrams sent.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: Bytes,
    /// Round-trip samples taken: answers that arrived.
    pub rtt_samples: u64,
    /// Their sum, in seconds.
    pub rtt_sum_s: f64,
    /// The smallest, in seconds; infinite before the first.
    pub rtt_min_s: f64,
    /// The largest, in seconds.
    pub rtt_max_s: f64,
}

impl DatagramSender {
    /// A sender that has not been opened. Chance delays are drawn from `jitter`.
    pub fn new(
        control: Box<dyn RateControl>,
        parameters: &DatagramParameters,
        jitter: Stream,
    ) -> Self {
        DatagramSender {
            control,
            clock: SendClock::new(*parameters, jitter),
            mss: parameters.mss.0.max(1),
            waiting: 0,
            push: false,
            phase: SenderState::Idle,
            next_sequence: 0,
            statistics: DatagramSenderStatistics {
                sent: 0,
                sent_bytes: Bytes::ZERO,
                rtt_samples: 0,
                rtt_sum_s: 0.0,
                rtt_min_s: f64::INFINITY,
                rtt_max_s: 0.0,
            },
        }
    }

    /// Ticks may be nearer to one another than the parameters say: so that a tick longer than a
    /// round trip does not slow down a control that lets no more than a round trip's worth leave
    /// together.
    pub fn allow_finer_ticks(&mut self) {
        self.clock.allow_finer_ticks();
    }

    /// Starts.
    pub fn open(&mut self, now: Time) {
        self.phase = SenderState::Open;
        self.control.start(now);
        self.follow_control();
    }
    /// The application writes.
    pub fn write(&mut self, write: Write) {
        self.waiting = match write {
            Write::Unlimited => u64::MAX,
            Write::Bytes(bytes) => self.waiting.saturating_add(bytes.0),
        };
    }
    /// The next packet need not be full: what waits is not to wait for more, and if nothing does,
    /// an empty one tells the receiver that the sender is there.
    pub fn push(&mut self) {
        self.push = true;
    }
    /// The application will write no more: what remains is sent.
    pub fn close(&mut self) {
        if self.phase != SenderState::Stopped {
            self.phase = SenderState::Closed;
        }
    }
    /// Nothing more is sent.
    pub fn stop(&mut self) {
        self.phase = SenderState::Stopped;
    }

    fn follow_control(&mut self) {
        self.clock.follow(self.control.clocking());
        self.clock.keep_bursts_within(self.control.carried_rtt());
    }

    /// The payload of the next packet, if there is one to be sent.
    fn ready(&self) -> Option<u64> {
        match self.phase {
            SenderState::Idle | SenderState::Stopped => None,
            _ if self.waiting >= self.mss => Some(self.mss),
            SenderState::Closed if self.waiting > 0 => Some(self.waiting),
            SenderState::Open if self.push => Some(self.waiting),
            SenderState::Open | SenderState::Closed => None,
        }
    }
    /// Whether there is nothing left to be done.
    fn is_over(&self) -> bool {
        match self.phase {
            SenderState::Idle | SenderState::Open => false,
            SenderState::Closed => self.waiting == 0,
            SenderState::Stopped => true,
        }
    }

    /// When it wants to be called.
    pub fn poll_timeout(&self) -> Time {
        if self.is_over() {
            return Time::NEVER;
        }
        let due = self.ready().map_or(Time::NEVER, |_| self.clock.next());
        due.min(self.control.poll_timeout())
    }

    /// Lets the control do what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.control.poll_timeout() <= now && !self.is_over() {
            self.control.handle_timeout(now);
            self.follow_control();
        }
    }

    /// The receiver has answered.
    pub fn handle_feedback(&mut self, now: Time, feedback: &Feedback) {
        let rtt = feedback.rtt(now).as_seconds();
        let counts = &mut self.statistics;
        counts.rtt_samples += 1;
        counts.rtt_sum_s += rtt;
        counts.rtt_min_s = counts.rtt_min_s.min(rtt);
        counts.rtt_max_s = counts.rtt_max_s.max(rtt);
        self.control.on_feedback(now, feedback);
        self.follow_control();
    }

    /// The next packet that leaves at `now`, if there is one.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let length = self.ready().filter(|_| self.clock.next() <= now)?;
        if self.waiting != u64::MAX {
            self.waiting -= length;
        }
        self.push = false;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.clock.on_sent(now);
        let counts = &mut self.statistics;
        counts.sent += 1;
        counts.sent_bytes += Bytes(length);
        let sent = DatagramSent {
            sequence,
            length: Bytes(length),
            data_limited: self.ready().is_none(),
        };
        self.control.on_sent(now, &sent);
        self.follow_control();
        Some(Datagram {
            sequence,
            length: Bytes(length),
            stamp: now,
            rtt: self.control.carried_rtt(),
        })
    }

    /// How long the control's round is; see [`RateControl::round`].
    pub fn round(&self) -> Span {
        self.control.round()
    }
    /// What the control shows of itself.
    pub fn state(&self) -> RateState {
        self.control.state()
    }
    /// Counts.
    pub const fn statistics(&self) -> &DatagramSenderStatistics {
        &self.statistics
    }
    /// Whether everything that will ever be written has been sent.
    pub fn is_finished(&self) -> bool {
        self.phase == SenderState::Closed && self.waiting == 0
    }
}
