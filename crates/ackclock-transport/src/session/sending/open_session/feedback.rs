//! Feedback of the receiver, checked against the sender's records.

use super::OpenSession;
use crate::log::Claim;
use crate::session::{Ending, Ignored, LONGEST_RTT, SILENCE, micros};
use crate::wire::{Acknowledgement, ErrorCode, Report};
use ackclock_core::rate_control::{self, Feedback, Received};
use ackclock_spec::units::{Span, Time};

/// Feedback so far.
#[derive(Debug)]
pub(super) struct Answers {
    /// Time since which there has been no feedback although packets had been sent.
    pub(super) unanswered_since: Option<Time>,
    /// Longest time without feedback.
    pub(super) patience: Span,
    /// One more than the highest number for which there has been feedback.
    answered: u64,
    /// Packets that arrived with a mark.
    pub(super) marked: u64,
    /// Payload that the receiver reports as delivered, in bytes.
    pub(super) delivered: u64,
    /// Feedback whose echo was not what was sent.
    pub(super) wrong_echoes: u64,
    /// Reports of more data than had been sent.
    pub(super) clamped: u64,
    /// Impossible round-trip times.
    pub(super) unusable_rtts: u64,
}

impl Answers {
    /// Creates a record without feedback.
    pub(super) const fn new() -> Self {
        Answers {
            unanswered_since: None,
            patience: SILENCE,
            answered: 0,
            marked: 0,
            delivered: 0,
            wrong_echoes: 0,
            clamped: 0,
            unusable_rtts: 0,
        }
    }
}

impl OpenSession {
    /// Passes feedback to the control, or ends the session if it cannot be true.
    pub(super) fn handle_feedback(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        report: Option<&Report>,
        ignored: &mut Ignored,
    ) {
        let sent = match self.log.judge(ack) {
            Claim::True(sent) => sent,
            Claim::Forgotten => {
                ignored.forgotten += 1;
                return;
            }
            Claim::False => {
                ignored.dishonest += 1;
                self.closing.farewell = Some(ErrorCode::Dishonest);
                self.end(Ending::Dishonest);
                return;
            }
        };
        self.answers.wrong_echoes += u64::from(ack.echo_us != micros(sent.at));
        let since = now.since(sent.at);
        if since > LONGEST_RTT {
            self.answers.unusable_rtts += 1;
            return;
        }
        let mut held = Span::from_micros(u64::from(ack.held_us));
        if held >= since {
            self.answers.unusable_rtts += 1;
            held = Span::ZERO;
        }
        // The count is modulo 2^32, and reordering may set it back a little.
        let more = ack.marked.wrapping_sub(self.answers.marked as u32);
        self.answers.marked += u64::from(if more < 1 << 31 { more } else { 0 });
        let feedback = Feedback {
            sequence: ack.sequence,
            echo: sent.at,
            held,
            received: Received {
                bits: if ack.width == 0 { 0 } else { ack.vector },
                width: ack.width,
            },
            marked: self.answers.marked,
            report: report.map(|report| self.believed(ack.sequence, since - held, report)),
        };
        self.answers.delivered = self
            .answers
            .delivered
            .max(ack.delivered)
            .min(self.datagrams.statistics().sent_bytes.0);
        self.shown = now;
        self.datagrams.handle_feedback(now, &feedback);
        self.answers.answered = self.answers.answered.max(ack.sequence + 1);
        self.answers.unanswered_since = (self.answers.answered < self.log.next()).then_some(now);
        self.answers.patience = self.patience_now();
    }

    /// Returns a report with its receive rate limited to what was sent.
    fn believed(&mut self, sequence: u64, rtt: Span, report: &Report) -> rate_control::Report {
        let round_trip = self.datagrams.state().smoothed_rtt.unwrap_or(rtt).max(rtt);
        let most = self.log.most_received(sequence, round_trip);
        let claimed = report.receive_byte_per_s as f64;
        self.answers.clamped += u64::from(claimed > most);
        rate_control::Report {
            receive_rate: claimed.min(most),
            loss_event_rate: f64::from(report.loss_event_rate) / f64::from(u32::MAX),
        }
    }

    /// Returns the longest time without feedback: three rounds of the control, or three gaps
    /// between packets where these are long, but at least [`SILENCE`].
    fn patience_now(&self) -> Span {
        let gap = self.payload as f64 / self.datagrams.state().rate;
        let gap = if gap.is_finite() {
            Span::from_seconds(gap)
        } else {
            Span::ZERO
        };
        SILENCE.max(self.datagrams.round() * 3).max(gap * 3)
    }
}
