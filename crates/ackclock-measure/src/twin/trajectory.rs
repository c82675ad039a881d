//! The window of our sender along a capture, and its comparison with readings of the other one.

use super::report::{Difference, DifferenceKind, PACING_TOLERANCE, Reading, Report};
use ackclock_core::endpoint::Sender;
use ackclock_spec::units::{Bytes, Span, Time};

/// Longest time between a reading and the state that it shows.
const SLACK: Span = Span::from_millis(3);

/// The window of our sender from one step on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window in segments.
    pub cwnd: u64,
    /// Slow-start threshold in segments; `None` if it was never set.
    pub ssthresh: Option<u64>,
    /// Pacing rate in bit/s, if the control has one.
    pub pacing: Option<f64>,
}

impl Window {
    /// The present window of a sender.
    pub fn of(sender: &Sender, mss: u64) -> Self {
        let segments = |bytes: Bytes| bytes.0 / mss;
        let control = sender.control();
        Window {
            cwnd: segments(sender.cwnd()),
            ssthresh: control.state().ssthresh.map(segments),
            pacing: control.pace().rate.map(|rate| rate.as_byte_per_s() * 8.0),
        }
    }

    fn has_window_of(&self, reading: &Reading) -> bool {
        self.cwnd.abs_diff(reading.cwnd) <= 1
    }

    fn has_threshold_of(&self, reading: &Reading) -> bool {
        match (self.ssthresh, reading.ssthresh) {
            (Some(ours), Some(theirs)) => ours.abs_diff(theirs) <= 1,
            (ours, theirs) => ours == theirs,
        }
    }

    fn has_pacing_of(&self, reading: &Reading) -> bool {
        match (self.pacing, reading.pacing) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= PACING_TOLERANCE * theirs,
            _ => false,
        }
    }
}

/// The changes of our sender's window.
#[derive(Debug, Default)]
pub struct Trajectory(Vec<(Time, usize, Window)>);

impl Trajectory {
    /// Notes the window after a step.
    pub fn note(&mut self, at: Time, step: usize, window: Window) {
        if self.0.last().is_none_or(|(.., last)| *last != window) {
            self.0.push((at, step, window));
        }
    }

    /// Compares a reading with the windows around its time; counts and notes what differs.
    pub fn judge(&self, reading: &Reading, report: &mut Report) {
        let early = reading.at.as_nanos().saturating_sub(SLACK.as_nanos());
        let before = |end: Time| self.0.partition_point(|(at, ..)| *at <= end);
        let first = before(Time::from_nanos(early)).saturating_sub(1);
        let after = before(reading.at + SLACK);
        let around = &self.0[first.min(after)..after];
        let Some((_, step, ours)) = around.last() else {
            return;
        };
        let any = |same: fn(&Window, &Reading) -> bool| {
            around.iter().any(|(.., window)| same(window, reading))
        };
        let mut note = |kind| {
            report.note(Difference {
                step: *step,
                at: reading.at,
                kind,
            });
        };
        let equal = (any(Window::has_window_of), any(Window::has_threshold_of));
        if !equal.0 {
            let (theirs, ours) = (reading.cwnd, ours.cwnd);
            note(DifferenceKind::Window { theirs, ours });
        }
        if !equal.1 {
            let (theirs, ours) = (reading.ssthresh, ours.ssthresh);
            note(DifferenceKind::Threshold { theirs, ours });
        }
        if let (Some(ours), Some(theirs)) = (ours.pacing, reading.pacing) {
            let same = any(Window::has_pacing_of);
            if !same {
                note(DifferenceKind::Pacing { theirs, ours });
            }
            report.pacing_readings += 1;
            report.equal_pacing += usize::from(same);
        }
        report.readings += 1;
        report.equal_windows += usize::from(equal.0);
        report.equal_thresholds += usize::from(equal.1);
    }
}
