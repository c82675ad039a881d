//! The congestion control as the sender keeps it.

use crate::congestion::{Ack, Congestion, CongestionControl, SegmentSent};
use crate::units::{Bytes, Time};

/// A congestion control, and at hand what is asked of it several times per ACK: a call through the
/// trait costs more than the rest of a decision to send. Its window can change only when it is told
/// something, which happens here.
#[derive(Debug)]
pub(super) struct Control {
    control: Box<dyn CongestionControl>,
    cwnd: Bytes,
    wants_sent: bool,
}

impl Control {
    pub fn new(control: Box<dyn CongestionControl>) -> Self {
        Control {
            cwnd: control.cwnd(),
            wants_sent: control.wants_sent(),
            control,
        }
    }

    /// As [`CongestionControl::cwnd`].
    pub const fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    /// As [`CongestionControl::wants_sent`].
    pub const fn wants_sent(&self) -> bool {
        self.wants_sent
    }
    /// For all else that is asked of it.
    pub fn get(&self) -> &dyn CongestionControl {
        self.control.as_ref()
    }

    /// See [`CongestionControl::on_sent`].
    pub fn on_sent(&mut self, now: Time, sent: &SegmentSent) {
        self.control.on_sent(now, sent);
        self.cwnd = self.control.cwnd();
    }
    /// See [`CongestionControl::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.control.on_ack(now, ack);
        self.cwnd = self.control.cwnd();
    }
    /// See [`CongestionControl::on_congestion`].
    pub fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        self.control.on_congestion(now, congestion);
        self.cwnd = self.control.cwnd();
    }
    /// See [`CongestionControl::on_recovery_end`].
    pub fn on_recovery_end(&mut self, now: Time) {
        self.control.on_recovery_end(now);
        self.cwnd = self.control.cwnd();
    }
    /// See [`CongestionControl::on_idle_restart`].
    pub fn on_idle_restart(&mut self, now: Time, limit: Bytes) {
        self.control.on_idle_restart(now, limit);
        self.cwnd = self.control.cwnd();
    }
}
