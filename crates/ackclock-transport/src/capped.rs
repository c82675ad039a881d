//! A rate control with a rate cap.

use ackclock_core::rate_control::{Clocking, DatagramSent, Feedback, RateControl, RateState};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// Caps the rate of a control. The control does not know of the cap; it appears to be limited by
/// the application's data.
#[derive(Debug)]
pub struct Capped {
    control: Box<dyn RateControl>,
    packets_per_s: f64,
}

impl Capped {
    /// Caps the rate at `most`, for packets of `on_wire` bytes with all headers.
    pub fn new(control: Box<dyn RateControl>, most: BitRate, on_wire: Bytes) -> Self {
        Capped {
            control,
            packets_per_s: most.as_byte_per_s() / on_wire.as_f64(),
        }
    }
}

impl RateControl for Capped {
    fn start(&mut self, now: Time) {
        self.control.start(now);
    }
    fn on_sent(&mut self, now: Time, sent: &DatagramSent) {
        let data_limited =
            sent.data_limited || self.control.clocking().packets_per_s > self.packets_per_s;
        let sent = DatagramSent {
            data_limited,
            ..*sent
        };
        self.control.on_sent(now, &sent);
    }
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.control.on_feedback(now, feedback);
    }
    fn poll_timeout(&self) -> Time {
        self.control.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Time) {
        self.control.handle_timeout(now);
    }
    fn clocking(&self) -> Clocking {
        let clocking = self.control.clocking();
        Clocking {
            packets_per_s: clocking.packets_per_s.min(self.packets_per_s),
            ..clocking
        }
    }
    fn carried_rtt(&self) -> Option<Span> {
        self.control.carried_rtt()
    }
    fn round(&self) -> Span {
        self.control.round()
    }
    fn state(&self) -> RateState {
        self.control.state()
    }
}
