//! What the receiver says, believed only as far as it can be.

use super::OpenSession;
use crate::log::Claim;
use crate::session::{Ending, Ignored, LONGEST_RTT, SILENCE, micros};
use crate::wire::{Acknowledgement, ErrorCode, Report};
use ackclock_core::rate_control::{self, Feedback, Received};
use ackclock_core::units::{Span, Time};

/// The feedback that has come.
#[derive(Debug)]
pub(super) struct Answers {
    /// Since when there has been no feedback though packets had been sent.
    pub(super) unanswered_since: Option<Time>,
    /// How long that may last.
    pub(super) patience: Span,
    /// One more than the highest number there has been feedback on.
    answered: u64,
    /// Packets that arrived marked.
    pub(super) marked: u64,
    /// Payload that the receiver says it has.
    pub(super) delivered: u64,
    /// Feedback that did not echo what was sent.
    pub(super) wrong_echoes: u64,
    /// Reports of more than had been sent.
    pub(super) clamped: u64,
    /// Round-trip times that cannot be.
    pub(super) unusable_rtts: u64,
}

impl Answers {
    /// No feedback yet.
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
    /// Shows feedback to the control, or ends the session over what cannot be true.
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
        // Of a count modulo 2^32, which reordering may bring back a little.
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

    /// What a report says, but no more than was sent.
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

    /// How long there may be no feedback: three rounds of the control, or three gaps between
    /// packets where these are long, but not less than [`SILENCE`].
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
