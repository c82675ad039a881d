//! Feedback of marks: the classic echo, DCTCP's, and accurate ECN.

use super::super::accurate_ecn::Counting;
use super::super::parameters::{EcnFeedback, TcpParameters};
use super::{Acknowledgement, AcknowledgementKind, More, Owed, Receiver};
use crate::packet::{Ecn, EcnCounters};
use ackclock_spec::units::{Bytes, Time};

/// The state of the feedback.
#[derive(Debug)]
pub(super) enum Marks {
    /// Classic ECN (RFC 3168 section 6.1.3).
    Classic(Classic),
    /// DCTCP (RFC 8257 section 3.2).
    Dctcp(Dctcp),
    /// Accurate ECN (RFC 9768).
    Accurate(Counting),
}

/// The state of the classic echo.
#[derive(Debug, Default)]
pub(super) struct Classic {
    /// True while ECE is echoed.
    echoes: bool,
    /// True if the last segment was marked.
    marked: bool,
}

/// The two states of DCTCP's receiver.
#[derive(Debug)]
pub(super) struct Dctcp {
    /// True if the last segment was marked (DCTCP.CE).
    marked: bool,
    /// Number and timestamp of the ACK of what came before the last change of the state, and the
    /// state at that time.
    earlier: (u64, Time, bool),
}

impl Marks {
    /// Returns none without ECN.
    pub fn new(parameters: &TcpParameters) -> Option<Self> {
        match parameters.ecn.feedback {
            _ if !parameters.ecn.enabled => None,
            EcnFeedback::Classic => Some(Marks::Classic(Classic::default())),
            EcnFeedback::Dctcp => Some(Marks::Dctcp(Dctcp {
                marked: false,
                earlier: (0, Time::NEVER, false),
            })),
            EcnFeedback::Accurate => Some(Marks::Accurate(Counting::new(parameters.ecn.accurate))),
        }
    }

    /// Returns the flags and the byte counters of an ACK that leaves now.
    pub fn report(&mut self) -> (u8, Option<EcnCounters>) {
        match self {
            Marks::Classic(state) => (state.echoes.into(), None),
            Marks::Dctcp(state) => (state.marked.into(), None),
            Marks::Accurate(counting) => counting.report(),
        }
    }
}

impl Receiver {
    /// Takes note of a segment's ECN field, before the segment itself. If DCTCP's state changes,
    /// what came before is acknowledged with the old state, and the segment at once (Linux,
    /// `dctcp_ece_ack_update`). A change of the classic state acknowledges the segment at once.
    pub(super) fn note_mark(&mut self, ecn: Ecn, payload: Bytes, window_reduced: bool) {
        let marks = self.more.as_mut().and_then(|more| more.marks.as_mut());
        let state = match marks {
            Some(Marks::Classic(state)) => {
                let marked = ecn == Ecn::Marked;
                // A segment with both CWR and CE starts a new echo.
                state.echoes = marked || (state.echoes && !window_reduced);
                if marked != state.marked {
                    self.owed.add(Owed::ACK);
                }
                state.marked = marked;
                return;
            }
            Some(Marks::Dctcp(state)) => state,
            Some(Marks::Accurate(counting)) => {
                if counting.count(ecn, payload.0) {
                    self.owed.add(Owed::ACK);
                }
                return;
            }
            None => return,
        };
        let marked = ecn == Ecn::Marked;
        if marked == state.marked {
            return;
        }
        if self.unacknowledged > 0 && self.beyond.is_empty() {
            state.earlier = (self.next, self.recent_stamp, state.marked);
            self.owed.add(Owed::EARLIER);
            self.unacknowledged = 0;
            self.deadline = Time::NEVER;
            self.last_sent = self.next;
        }
        state.marked = marked;
        self.owed.add(Owed::ACK);
    }

    /// Returns the ACK of what came before the state of DCTCP changed.
    #[cold]
    pub(super) fn acknowledge_earlier(&mut self) -> Option<Acknowledgement<'_>> {
        let Some(Marks::Dctcp(Dctcp {
            earlier: (cumulative, echo, marked),
            ..
        })) = self
            .more
            .as_deref()
            .and_then(|more: &More| more.marks.as_ref())
        else {
            return None;
        };
        self.statistics.acks += 1;
        Some(Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative: *cumulative,
            echo: *echo,
            sacks: None,
            ace: (*marked).into(),
            options: None,
        })
    }
}
