//! The sender's reading of marks from ACKs, and its reactions to them.

use super::super::Acknowledgement;
use super::super::accurate_ecn::{Decoding, Progress};
use super::super::parameters::{EcnFeedback, RttSampling, TcpParameters};
use super::connection::Connection;
use crate::congestion::{Event, MarkReport};
use ackclock_spec::units::{Bytes, Time};

/// The marks that a sender has read, and its reactions.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// True if the next new segment carries CWR.
    pub window_reduced: bool,
    /// First segment not yet sent at the last reaction of any kind, and at the last one to an ECN
    /// echo.
    pub reacted: u64,
    pub marked: u64,
}

/// The reading of a sender that looks at the marks of every ACK.
#[derive(Debug)]
pub(super) struct Reading {
    /// Decodes the counters of accurate ECN, if the receiver sends them.
    decoding: Option<Decoding>,
    /// True if the control is told.
    reports: bool,
    /// Latest timestamp that an ACK has echoed.
    newest_echo: Time,
}

impl Reading {
    /// Returns none if an echo tells everything and nobody else wants to know: the control does if
    /// it wants `reports`.
    pub fn new(parameters: &TcpParameters, reports: bool) -> Option<Self> {
        let ecn = &parameters.ecn;
        let is_accurate = ecn.feedback == EcnFeedback::Accurate;
        let mss = parameters.connection.mss.0.max(1);
        (ecn.enabled && (is_accurate || reports)).then(|| Reading {
            decoding: is_accurate.then(|| Decoding::new(ecn.accurate, mss)),
            reports,
            newest_echo: Time::ZERO,
        })
    }

    /// True if an ACK echoes a later timestamp than all before, so that it is not old. The
    /// receiver's own timestamp says the same (FLAG_TS_PROGRESS of Linux), but simulated ACKs do
    /// not carry it.
    fn is_newer(&mut self, echo: Time) -> bool {
        let newer = !echo.is_never() && echo > self.newest_echo;
        if newer {
            self.newest_echo = echo;
        }
        newer
    }
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
    /// Records a reduction of the window while `next` is the first segment not sent. With
    /// `announces`, the next new segment carries CWR.
    pub fn on_reduction(&mut self, next: u64, announces: bool) {
        self.reacted = next;
        self.window_reduced = announces;
    }
}

impl Connection {
    /// Reads the marks from an ACK that shows `delivered` bytes to have arrived, and reports them
    /// to a control that asks. With accurate ECN, an ACK is ignored if neither the data nor the
    /// echoed timestamp makes progress: it may be old (RFC 9768 section 3.2.2.5).
    pub fn read_marks(
        &mut self,
        now: Time,
        ack: &Acknowledgement<'_>,
        delivered: u64,
        round_start: bool,
    ) -> MarkNews {
        if !self.parameters.ecn.enabled {
            return MarkNews::NONE;
        }
        let stamped = self.parameters.timer.rtt_sampling == RttSampling::Timestamps;
        let mut is_current = delivered > 0;
        let reading = self.more.as_mut().and_then(|more| more.reading.as_mut());
        let decoding = reading.and_then(|reading| {
            is_current |= stamped && reading.is_newer(ack.echo);
            reading.decoding.as_mut()
        });
        let news = if let Some(decoding) = decoding {
            let progress = Progress {
                packets: delivered.div_ceil(self.mss),
                bytes: delivered,
                sack: ack.sacks.is_some(),
                ace: ack.ace,
                counters: ack.options.and_then(|options| options.counters),
            };
            let packets = match is_current {
                true => decoding.decode(&progress),
                false => 0,
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
        let reading = self.more.as_ref().and_then(|more| more.reading.as_ref());
        if reading.is_some_and(|reading| reading.reports) {
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
