//! Parts that few receivers have: feedback of marks, and an application that reads slowly.

use super::super::parameters::TcpParameters;
use super::advertised::Advertised;
use super::beyond::Beyond;
use super::marks::Marks;
use super::{Owed, Receiver};
use crate::packet::{AckOptions, Ecn};
use ackclock_spec::units::{Bytes, Time};

/// State that few receivers have; a receiver without any has none of this.
#[derive(Debug)]
pub(super) struct More {
    /// Feedback of marks, with ECN.
    pub marks: Option<Marks>,
    /// The advertised window, if the application reads slowly.
    pub window: Option<Advertised>,
    /// Options of the last ACK.
    options: AckOptions,
}

/// The fields of an ACK that come from these parts, and what follows for the next ACKs.
pub(super) struct Report<'a> {
    pub ace: u8,
    pub options: Option<&'a AckOptions>,
    /// Time of the next window update.
    pub update_at: Time,
    /// True if quick ACKs end.
    pub ends_quick_acks: bool,
}

impl More {
    pub fn new(parameters: &TcpParameters) -> Option<Self> {
        let (marks, window) = (Marks::new(parameters), Advertised::new(parameters));
        (marks.is_some() || window.is_some()).then_some(More {
            marks,
            window,
            options: AckOptions::default(),
        })
    }

    /// Returns what an ACK of all that has arrived carries.
    #[cold] // few receivers have any of it
    #[inline(never)]
    pub fn report(&mut self, now: Time, delivered: Bytes, beyond: &Beyond) -> Report<'_> {
        let (mut update_at, mut ends_quick_acks) = (Time::NEVER, false);
        if let Some(window) = &mut self.window {
            let stored = window.stored(delivered, beyond);
            self.options.window = Some(window.advertise(now, stored));
            window.delayed = Time::NEVER; // the ACK that leaves
            update_at = window.update_at(stored);
            ends_quick_acks = window.ends_quick_acks(now, stored);
        }
        let (ace, options) = self.report_marks();
        Report {
            ace,
            options,
            update_at,
            ends_quick_acks,
        }
    }

    /// Returns the feedback of marks, beside the window that is set.
    fn report_marks(&mut self) -> (u8, Option<&AckOptions>) {
        let mut ace = 0;
        if let Some(marks) = &mut self.marks {
            (ace, self.options.counters) = marks.report();
        }
        let any = self.options != AckOptions::default();
        (ace, any.then_some(&self.options))
    }

    /// Returns what an ACK carries that does not acknowledge all that has arrived: no window.
    pub fn report_earlier(&mut self) -> (u8, Option<&AckOptions>) {
        self.options.window = None;
        self.report_marks()
    }
}

impl Receiver {
    /// Takes note of a segment before it is processed.
    #[cold] // few receivers have any of it
    #[inline(never)]
    pub(super) fn note_segment(
        &mut self,
        now: Time,
        ecn: Ecn,
        payload: Bytes,
        window_reduced: bool,
    ) {
        self.note_mark(ecn, payload, window_reduced);
        self.resume_reading(now);
    }

    /// Takes the timer of the delayed ACK back from the one that it shares with window updates.
    pub(super) fn resume_reading(&mut self, now: Time) {
        let delivered = self.statistics.delivered;
        if let Some(window) = self.window_mut() {
            window.read_until(now, delivered);
            self.deadline = window.delayed;
            self.owed.add(Owed::WINDOW);
        }
    }
}
