//! The sender's congestion control with cached values.

use super::super::control_states::{ControlRecord, Recorder};
use super::super::resume::Resuming;
use crate::congestion::steered::{Order, Steered};
use crate::congestion::{Ack, Congestion, CongestionControl, Event, Foreign, Needs, Pace};
use ackclock_spec::units::{Bytes, Time};

/// A congestion control with cached copies of the values that are read several times per ACK. A
/// call through the trait costs more than the rest of a decision to send. The congestion window can
/// change only in the calls made here.
#[derive(Debug)]
pub(super) struct Control {
    control: Box<dyn CongestionControl>,
    cwnd: Bytes,
    needs: Needs,
    is_foreign: bool,
    recorder: Option<Box<Recorder>>,
}

impl Control {
    pub fn new(mut control: Box<dyn CongestionControl>) -> Self {
        Control {
            cwnd: control.cwnd(),
            needs: control.needs(),
            is_foreign: control.foreign().is_some(),
            recorder: None,
            control,
        }
    }

    /// Returns the cached [`CongestionControl::cwnd`].
    pub const fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    /// Returns the cached [`CongestionControl::needs`].
    pub const fn needs(&self) -> Needs {
        self.needs
    }
    /// True if [`Control::foreign`] returns something.
    pub const fn is_foreign(&self) -> bool {
        self.is_foreign
    }
    /// Returns [`CongestionControl::pace`].
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn pace(&self) -> Pace {
        match self.needs.paces {
            true => self.control.pace(),
            false => Pace::default(),
        }
    }
    /// Returns the control itself.
    pub fn get(&self) -> &dyn CongestionControl {
        self.control.as_ref()
    }
    /// Calls [`CongestionControl::resuming`].
    pub fn resuming(&mut self) -> Option<&mut Resuming> {
        self.control.resuming()
    }
    /// Calls [`CongestionControl::steered`].
    pub fn steered(&mut self) -> Option<&mut Steered> {
        self.control.steered()
    }
    /// Calls [`Steered::obey`], of a control that does.
    pub fn obey(&mut self, order: &Order) -> bool {
        let grows = self.control.steered();
        let grows = grows.is_some_and(|steered| steered.obey(order));
        self.cwnd = self.control.cwnd();
        grows
    }
    /// Calls [`CongestionControl::foreign`].
    pub fn foreign(&mut self) -> Option<&mut dyn Foreign> {
        self.control.foreign()
    }

    /// Calls [`CongestionControl::on_ack`].
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.control.on_ack(now, ack);
        self.cwnd = self.control.cwnd();
        if self.recorder.is_some() {
            self.record_ack(now, ack);
        }
    }
    #[inline(never)] // few runs record states
    fn record_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_ack(now, ack, self.control.as_ref());
        }
    }
    /// Calls [`CongestionControl::on_congestion`].
    pub fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.control.on_congestion(now, congestion);
        self.cwnd = self.control.cwnd();
        if let Some(recorder) = &mut self.recorder {
            recorder.on_congestion(now, congestion, self.control.as_ref());
        }
    }
    /// Calls [`CongestionControl::on_event`].
    pub fn on_event(&mut self, now: Time, event: &Event) {
        self.control.on_event(now, event);
        self.cwnd = self.control.cwnd();
        if let Some(recorder) = &mut self.recorder {
            recorder.on_event(now, event, self.control.as_ref());
        }
    }

    /// Records the most data in flight since the last reduction, with the next state.
    pub fn note_most_in_flight(&mut self, most: Bytes) {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_most_in_flight(most);
        }
    }
    /// Records the states from now on.
    pub fn record(&mut self) {
        self.recorder = Some(Box::new(Recorder::new()));
    }
    /// Removes and returns the states recorded since the last call.
    pub fn take_records(&mut self) -> Vec<ControlRecord> {
        let recorder = self.recorder.as_mut();
        recorder.map_or_else(Vec::new, |recorder| std::mem::take(&mut recorder.records))
    }
}
