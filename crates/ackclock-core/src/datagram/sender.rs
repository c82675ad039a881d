//! The sender of a UDP flow under rate control.

use super::clock::SendClock;
use super::{Datagram, DatagramParameters};
use crate::rate_control::{DatagramSent, Feedback, RateControl, RateState};
use crate::traffic::Write;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Span, Time};

/// Holds the application's data until the control's clock releases it, in packets of one size. Only
/// the last one, after the close, and a pushed one may be shorter.
#[derive(Debug)]
pub struct DatagramSender {
    control: Box<dyn RateControl>,
    clock: SendClock,
    mss: u64,
    /// Bytes that the application has written and that are not sent; `u64::MAX` for unlimited data.
    waiting: u64,
    /// True if the next packet leaves even if it is not full.
    push: bool,
    phase: SenderState,
    next_sequence: u64,
    statistics: DatagramSenderStatistics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    Idle,
    Open,
    /// The application writes no more.
    Closed,
    Stopped,
}

/// Counts of one sender since its creation.
#[derive(Clone, Copy, Debug)]
pub struct DatagramSenderStatistics {
    /// Datagrams sent.
    pub sent: u64,
    /// Payload sent.
    pub sent_bytes: Bytes,
    /// Number of round-trip samples: answers that arrived.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples, in seconds.
    pub rtt_sum_s: f64,
    /// Smallest round-trip sample, in seconds; infinite before the first.
    pub rtt_min_s: f64,
    /// Largest round-trip sample, in seconds.
    pub rtt_max_s: f64,
}

impl DatagramSender {
    /// A sender that has not been opened. Random delays are drawn from `jitter`.
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

    /// Allows ticks shorter than the parameters set. A control that limits bursts to a round trip's
    /// worth is otherwise slowed down by a tick longer than a round trip.
    pub fn allow_finer_ticks(&mut self) {
        self.clock.allow_finer_ticks();
    }

    /// Starts the flow.
    pub fn open(&mut self, now: Time) {
        self.phase = SenderState::Open;
        self.control.start(now);
        self.follow_control();
    }
    /// Adds data from the application.
    pub fn write(&mut self, write: Write) {
        self.waiting = match write {
            Write::Unlimited => u64::MAX,
            Write::Bytes(bytes) => self.waiting.saturating_add(bytes.0),
        };
    }
    /// Lets the next packet leave even if it is not full. If no data waits, an empty packet tells
    /// the receiver that the sender is present.
    pub fn push(&mut self) {
        self.push = true;
    }
    /// Ends the data: the remainder is sent.
    pub fn close(&mut self) {
        if self.phase != SenderState::Stopped {
            self.phase = SenderState::Closed;
        }
    }
    /// Stops the flow: nothing more is sent.
    pub fn stop(&mut self) {
        self.phase = SenderState::Stopped;
    }

    fn follow_control(&mut self) {
        self.clock.follow(self.control.clocking());
        self.clock.keep_bursts_within(self.control.carried_rtt());
    }

    /// Returns the payload of the next packet, if one is ready.
    fn ready(&self) -> Option<u64> {
        match self.phase {
            SenderState::Idle | SenderState::Stopped => None,
            _ if self.waiting >= self.mss => Some(self.mss),
            SenderState::Closed if self.waiting > 0 => Some(self.waiting),
            SenderState::Open if self.push => Some(self.waiting),
            SenderState::Open | SenderState::Closed => None,
        }
    }
    /// True if nothing remains to be done.
    fn is_over(&self) -> bool {
        match self.phase {
            SenderState::Idle | SenderState::Open => false,
            SenderState::Closed => self.waiting == 0,
            SenderState::Stopped => true,
        }
    }

    /// Returns when to call [`DatagramSender::handle_timeout`].
    pub fn poll_timeout(&self) -> Time {
        if self.is_over() {
            return Time::NEVER;
        }
        let due = self.ready().map_or(Time::NEVER, |_| self.clock.next());
        due.min(self.control.poll_timeout())
    }

    /// Lets the control handle all timeouts due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.control.poll_timeout() <= now && !self.is_over() {
            self.control.handle_timeout(now);
            self.follow_control();
        }
    }

    /// Processes an answer of the receiver.
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

    /// Returns the next packet to send at `now`, if there is one.
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

    /// Returns the length of the control's round ([`RateControl::round`]).
    pub fn round(&self) -> Span {
        self.control.round()
    }
    /// Returns the state of the control.
    pub fn state(&self) -> RateState {
        self.control.state()
    }
    /// Returns the counts.
    pub const fn statistics(&self) -> &DatagramSenderStatistics {
        &self.statistics
    }
    /// True if it is closed and all data has been sent.
    pub fn is_finished(&self) -> bool {
        self.phase == SenderState::Closed && self.waiting == 0
    }
}
