//! The sender's reading of marks from ACKs.

use super::super::Acknowledgement;
use super::super::accurate_ecn::{Decoding, Progress};
use super::super::parameters::{EcnFeedback, TcpParameters};
use super::Sender;
use crate::congestion::{Event, MarkReport};
use ackclock_spec::units::{Bytes, Time};

/// The reading of a sender that looks at the marks of every ACK.
#[derive(Debug)]
pub(super) struct Marks {
    /// Decodes the counters of accurate ECN, if the receiver sends them.
    decoding: Option<Decoding>,
    /// True if the control is told.
    reports: bool,
}

/// Marks that an ACK makes known.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkNews {
    /// True if a reaction is due, at most once per window of data.
    pub echo: bool,
    /// Bytes that arrived marked, as far as the feedback tells.
    pub bytes: u64,
}

impl MarkNews {
    pub const NONE: MarkNews = MarkNews {
        echo: false,
        bytes: 0,
    };
}

impl Marks {
    /// Returns none if an echo tells everything and nobody else wants to know.
    pub fn new(parameters: &TcpParameters, reports: bool) -> Option<Self> {
        let is_accurate = parameters.ecn.feedback == EcnFeedback::Accurate;
        (parameters.ecn.enabled && (is_accurate || reports)).then(|| Marks {
            decoding: is_accurate.then(|| {
                Decoding::new(parameters.ecn.accurate, parameters.connection.mss.0.max(1))
            }),
            reports,
        })
    }
}

impl Sender {
    /// Reads the marks from an ACK that shows `delivered` bytes to have arrived, and reports them
    /// to a control that asks. With accurate ECN, an ACK without progress is ignored: it may be old
    /// (RFC 9768 section 3.2.2.5).
    pub(super) fn read_marks(
        &mut self,
        now: Time,
        ack: &Acknowledgement<'_>,
        delivered: u64,
        round_start: bool,
    ) -> MarkNews {
        if !self.parameters.ecn.enabled {
            return MarkNews::NONE;
        }
        let decoding = self
            .marks
            .as_mut()
            .and_then(|marks| marks.decoding.as_mut());
        let news = if let Some(decoding) = decoding {
            let progress = Progress {
                packets: delivered.div_ceil(self.mss),
                bytes: delivered,
                sack: ack.sacks.is_some(),
                ace: ack.ace,
                counters: ack.counters.copied(),
            };
            let packets = match delivered {
                0 => 0,
                _ => decoding.decode(&progress),
            };
            MarkNews {
                echo: packets > 0,
                bytes: packets * self.mss,
            }
        } else {
            let echo = ack.ace != 0;
            MarkNews {
                echo,
                bytes: if echo { delivered } else { 0 },
            }
        };
        if self.marks.as_ref().is_some_and(|marks| marks.reports) {
            let report = MarkReport {
                delivered: Bytes(delivered),
                marked: Bytes(news.bytes),
                round_start,
            };
            self.control.on_event(now, &Event::Marks(report));
        }
        news
    }
}
