//! The findings of a twin.

use super::connection::EventKind;
use ackclock_spec::units::{Span, Time};

/// Largest share by which equal pacing rates may differ. Both are computed from round trips and
/// rates measured at two places, and the time between them is known only on average.
pub const PACING_TOLERANCE: f64 = 0.02;

/// Differences that are kept with their place; all are counted.
pub const MOST_KEPT: usize = 1000;

/// A reading of the other stack's window (`tcp_info`).
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Time of the reading, on the clock of the capture.
    pub at: Time,
    /// Congestion window in segments.
    pub cwnd: u64,
    /// Slow-start threshold in segments; `None` if it was never set.
    pub ssthresh: Option<u64>,
    /// Pacing rate in bit/s, if it is known.
    pub pacing: Option<f64>,
    /// Least round-trip time so far, if it is known.
    pub least_rtt: Option<Span>,
}

/// One event, with our sender's state after it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Number of the event, from zero.
    pub number: usize,
    /// Time of the event.
    pub at: Time,
    /// The event.
    pub kind: EventKind,
    /// Segment that our sender would have sent in place of the captured one.
    pub own: Option<u64>,
    /// Congestion window in segments.
    pub cwnd: u64,
    /// Slow-start threshold in segments; `None` if it was never set.
    pub ssthresh: Option<u64>,
    /// Segments in flight.
    pub in_flight: u64,
    /// Retransmission timeout.
    pub rto: Span,
}

/// A place where the two stacks differ.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Number of the step.
    pub step: usize,
    /// Time.
    pub at: Time,
    /// Kind, with both sides.
    pub kind: DifferenceKind,
}

/// The kinds of [`Difference`].
#[derive(Clone, Copy, Debug)]
pub enum DifferenceKind {
    /// The capture has a segment, ours would have sent another one or none.
    Segment {
        /// The captured segment.
        theirs: u64,
        /// Ours.
        ours: Option<u64>,
    },
    /// Ours would have sent a segment, the capture has none.
    Silence {
        /// Our segment.
        ours: u64,
    },
    /// Our timer would have expired and sent something, the capture has nothing.
    Timer,
    /// The congestion windows differ by more than a segment.
    Window {
        /// The window read.
        theirs: u64,
        /// Our window.
        ours: u64,
    },
    /// The pacing rates differ by more than 2 %.
    Pacing {
        /// The rate read, in bit/s.
        theirs: f64,
        /// Our rate, in bit/s.
        ours: f64,
    },
    /// The slow-start thresholds differ by more than a segment.
    Threshold {
        /// The threshold read.
        theirs: Option<u64>,
        /// Our threshold.
        ours: Option<u64>,
    },
}

impl DifferenceKind {
    /// Returns the name used in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            DifferenceKind::Segment { .. } => "segment",
            DifferenceKind::Silence { .. } => "silence",
            DifferenceKind::Timer => "timer",
            DifferenceKind::Window { .. } => "window",
            DifferenceKind::Pacing { .. } => "pacing",
            DifferenceKind::Threshold { .. } => "threshold",
        }
    }
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of events.
    pub steps: usize,
    /// Number of ACKs.
    pub acks: usize,
    /// Time that ACKs took from the capture to the other stack.
    pub on_the_way: Span,
    /// Number of captured segments, and of those that ours would have sent, too.
    pub segments: usize,
    /// See `segments`.
    pub equal_segments: usize,
    /// Times that ours would have sent something and the capture has nothing.
    pub silences: usize,
    /// Times that our timer would have expired and the other one did not.
    pub timers: usize,
    /// Number of readings, and of those where window and threshold are within one segment of ours.
    pub readings: usize,
    /// See `readings`.
    pub equal_windows: usize,
    /// See `readings`.
    pub equal_thresholds: usize,
    /// Number of readings of a pacing rate that our control has too, and of those that are equal.
    pub pacing_readings: usize,
    /// See `pacing_readings`.
    pub equal_pacing: usize,
    /// The differences in order of time, the first 1,000 of them.
    pub differences: Vec<Difference>,
    /// The steps asked for, or the first that differs with the ten before it.
    pub shown: Vec<Step>,
    /// Reason why the comparison ended before the capture did.
    pub ended: Option<String>,
}

impl Report {
    /// Keeps a difference, if there are not too many.
    pub fn note(&mut self, difference: Difference) {
        if self.differences.len() < MOST_KEPT {
            self.differences.push(difference);
        }
    }
}
