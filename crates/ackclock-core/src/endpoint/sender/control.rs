//! The sender's congestion control with cached values.

use crate::congestion::{
    Ack, Congestion, CongestionControl, ControlRecord, MarkReport, SegmentLost, SegmentSent,
    SenderState,
};
use ackclock_spec::units::{Bytes, Span, Time};

/// A congestion control with cached copies of the values that are read several times per ACK. A
/// call through the trait costs more than the rest of a decision to send. The congestion window can
/// change only in the calls made here.
#[derive(Debug)]
pub(super) struct Control {
    control: Box<dyn CongestionControl>,
    cwnd: Bytes,
    wants_sent: bool,
    wants_sender_state: bool,
    owns_recovery: bool,
}

impl Control {
    pub fn new(control: Box<dyn CongestionControl>) -> Self {
        Control {
            cwnd: control.cwnd(),
            wants_sent: control.wants_sent(),
            wants_sender_state: control.wants_sender_state(),
            owns_recovery: control.owns_recovery(),
            control,
        }
    }

    /// Returns the cached [`CongestionControl::cwnd`].
    pub const fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    /// Returns the cached [`CongestionControl::wants_sent`].
    pub const fn wants_sent(&self) -> bool {
        self.wants_sent
    }
    /// Returns the cached [`CongestionControl::wants_sender_state`].
    pub const fn wants_sender_state(&self) -> bool {
        self.wants_sender_state
    }
    /// Returns the cached [`CongestionControl::owns_recovery`].
    pub const fn owns_recovery(&self) -> bool {
        self.owns_recovery
    }
    /// Returns the control itself.
    pub fn get(&self) -> &dyn CongestionControl {
        self.control.as_ref()
    }

    /// Calls [`CongestionControl::on_open`].
    pub fn on_open(&mut self, now: Time, rtt: Option<Span>) {
        self.control.on_open(now, rtt);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_sent`].
    pub fn on_sent(&mut self, now: Time, sent: &SegmentSent) {
        self.control.on_sent(now, sent);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_sent_after_idle`].
    pub fn on_sent_after_idle(&mut self, now: Time) {
        self.control.on_sent_after_idle(now);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.control.on_ack(now, ack);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_mark_report`].
    pub fn on_mark_report(&mut self, now: Time, report: &MarkReport) {
        self.control.on_mark_report(now, report);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_sender_state`], which changes no window.
    pub fn on_sender_state(&mut self, state: &SenderState) {
        self.control.on_sender_state(state);
    }
    /// Calls [`CongestionControl::on_lost`].
    pub fn on_lost(&mut self, now: Time, lost: &SegmentLost) {
        self.control.on_lost(now, lost);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_congestion`].
    pub fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.control.on_congestion(now, congestion);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_recovery_end`].
    pub fn on_recovery_end(&mut self, now: Time) {
        self.control.on_recovery_end(now);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::on_idle_restart`].
    pub fn on_idle_restart(&mut self, now: Time, limit: Bytes) {
        self.control.on_idle_restart(now, limit);
        self.cwnd = self.control.cwnd();
    }
    /// Calls [`CongestionControl::take_calls`].
    pub fn take_calls(&mut self) -> Vec<u8> {
        self.control.take_calls()
    }
    /// Calls [`CongestionControl::take_records`].
    pub fn take_records(&mut self) -> Vec<ControlRecord> {
        self.control.take_records()
    }
}
