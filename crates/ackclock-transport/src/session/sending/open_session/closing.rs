//! The end of a session: in good order, by refusal, or by silence.

use super::OpenSession;
use crate::session::{Ending, LINGER, Repeated, STOPS};
use crate::wire::{ErrorCode, Message, Stop, StopReason};
use ackclock_spec::units::Time;

/// Progress of the end of a session.
#[derive(Debug, Default)]
pub(super) struct Closing {
    pub(super) ending: Option<Ending>,
    pub(super) stopping: Option<Stopping>,
    /// A refusal that is still to be sent.
    pub(super) farewell: Option<ErrorCode>,
}

/// An orderly end that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    pub(super) reason: StopReason,
    pub(super) ending: Ending,
    /// Repeated STOP; `None` if the other side stops and this one lingers.
    pub(super) repeated: Option<Repeated>,
    pub(super) until: Time,
}

impl OpenSession {
    pub(super) fn handle_stop(&mut self, now: Time, reason: StopReason, answer: &mut Vec<u8>) {
        if reason == StopReason::Confirmed {
            if let Some(Stopping {
                ending,
                repeated: Some(_),
                ..
            }) = self.closing.stopping
            {
                self.end(match ending {
                    Ending::Finished { .. } => Ending::Finished { confirmed: true },
                    ending => ending,
                });
            }
            return;
        }
        self.datagrams.stop();
        self.closing.stopping.get_or_insert(Stopping {
            reason: StopReason::Confirmed,
            ending: Ending::PeerStopped,
            repeated: None,
            until: now + LINGER,
        });
        let packets = self.log.next();
        let reason = StopReason::Confirmed;
        self.write_other(&Message::Stop(Stop { reason, packets }), answer);
    }

    pub(super) fn end(&mut self, ending: Ending) {
        self.datagrams.stop();
        self.closing.ending = self.closing.ending.or(Some(ending));
    }

    pub fn stop(&mut self, now: Time) {
        self.datagrams.stop();
        self.begin_stop(now, StopReason::Asked, Ending::Stopped);
    }

    pub(super) fn begin_stop(&mut self, now: Time, reason: StopReason, ending: Ending) {
        self.closing.stopping.get_or_insert(Stopping {
            reason,
            ending,
            repeated: Some(Repeated::from(now)),
            until: Time::NEVER,
        });
    }

    pub(super) fn poll_stop(&mut self, now: Time, output: &mut Vec<u8>) -> bool {
        let Some(mut stopping) = self.closing.stopping else {
            return false;
        };
        let is_unanswered = stopping
            .repeated
            .is_some_and(|stop| stop.said == STOPS && stop.next <= now);
        if is_unanswered || stopping.until <= now {
            self.end(stopping.ending);
            return false;
        }
        let is_due = stopping
            .repeated
            .as_mut()
            .is_some_and(|stop| stop.take(now));
        self.closing.stopping = Some(stopping);
        if is_due {
            let packets = self.log.next();
            self.write_other(
                &Message::Stop(Stop {
                    reason: stopping.reason,
                    packets,
                }),
                output,
            );
        }
        is_due
    }

    /// Returns the time at which the circuit breaker opens.
    pub(super) fn silence_ends(&self) -> Time {
        match self.answers.unanswered_since {
            // While stopping, the repeated STOPs limit the wait instead.
            Some(since) if self.closing.stopping.is_none() => since + self.answers.patience,
            _ => Time::NEVER,
        }
    }
}
