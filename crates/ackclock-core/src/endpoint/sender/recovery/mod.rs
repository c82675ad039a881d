//! Loss recovery: what is lost, when recovery begins and ends, what is sent again.
//!
//! Each algorithm is a [`Recovery`] in a file of its own. What all of them need of the connection,
//! and what the rest of the sender asks about recovery, is the [`Episode`].

use super::super::parameters::{LossRecovery, RecoveryParameters};
use super::super::scoreboard::Advance;
use super::super::{Acknowledgement, RecoveryCounts};
use super::connection::Connection;
use super::growth::AckEffect;
use super::transmit::Choice;
use ackclock_spec::units::Time;

mod by_time;
mod classic;
mod episode;
mod prr;

use by_time::ByTime;
use classic::Classic;
pub(super) use episode::Episode;
pub(super) use prr::PrrAck;

/// An algorithm of loss recovery. It tells the control of congestion, sets the timer, and keeps the
/// connection's [`Episode`].
pub(super) trait Recovery {
    /// True if no ACK needs a look beyond the data that it acknowledges.
    fn is_quiet(&self, connection: &Connection) -> bool;

    /// Processes an ACK that only acknowledges new data, while recovery is [quiet](Self::is_quiet).
    /// One that is not `RATED` gives no delivery-rate sample. Nearly all ACKs are such, so the
    /// compiler makes copies for them without the other code.
    fn on_plain_ack<const RATED: bool>(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    );

    /// Processes any other ACK.
    fn on_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>);

    /// Processes an ACK with SACK blocks that acknowledges less than before, or comes while nothing
    /// is in flight.
    fn on_late_ack(&mut self, _: &mut Connection, _: Time, _: &Acknowledgement<'_>) {}

    /// Processes a retransmission timeout.
    fn on_timeout(&mut self, connection: &mut Connection, now: Time);

    /// Processes the expiry of a timer that recovery has set for another purpose.
    fn on_other_timer(&mut self, _: &mut Connection, _: Time) {}

    /// Returns the bytes that count against the congestion window.
    fn used(&self, connection: &Connection) -> u64;

    /// True if a segment is to be sent whatever the congestion window.
    fn is_urgent(&self, connection: &Connection) -> bool;

    /// Returns a segment that goes before new data.
    fn choose_before_new(&mut self, connection: &mut Connection) -> Option<Choice>;

    /// Returns a segment to send where there is no new data.
    fn choose_after_new(&mut self, connection: &mut Connection) -> Option<Choice>;

    /// Records that a segment of `length` bytes is about to be sent.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn before_sending(&mut self, _: &Connection, _choice: Choice, _length: u64) {}

    /// Records that a segment has been sent, and sets the timer.
    fn on_sent(&mut self, connection: &mut Connection, now: Time, choice: Choice);

    /// Returns the counts of RACK; zeros without it.
    fn counts(&self) -> RecoveryCounts {
        RecoveryCounts::default()
    }

    /// Returns the degree of reordering seen, in segments; `None` without RACK.
    fn reordering(&self) -> Option<u64> {
        None
    }

    /// Tells the control of an ACK. One that limits its own rate samples says so afterwards.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn tell_control<const RATED: bool>(
        &self,
        connection: &mut Connection,
        now: Time,
        advance: &Advance,
        effect: &AckEffect,
    ) {
        connection.tell_control::<RATED>(now, advance, effect);
        if RATED && connection.limits_rate_samples() {
            let used = self.used(connection);
            connection.meter.mark_application_limited(used);
        }
    }
}

/// The algorithms. Calls through a vtable would cost more than the work.
#[derive(Debug)]
pub(super) enum Algorithm {
    Classic(Classic),
    ByTime(Box<ByTime>),
}

impl Algorithm {
    pub fn new(parameters: &RecoveryParameters) -> Self {
        match parameters.algorithm {
            LossRecovery::Rack => Algorithm::ByTime(Box::new(ByTime::new(parameters))),
            _ => Algorithm::Classic(Classic::new(parameters)),
        }
    }
}

/// Calls a method of the algorithm.
macro_rules! call {
    ($self:ident.$method:ident $(::<$flag:ident>)? ($($argument:expr),*)) => {
        match $self {
            Algorithm::Classic(recovery) => recovery.$method $(::<$flag>)? ($($argument),*),
            Algorithm::ByTime(recovery) => recovery.$method $(::<$flag>)? ($($argument),*),
        }
    };
}

impl Recovery for Algorithm {
    #[inline(always)] // as all that run for every packet
    fn is_quiet(&self, connection: &Connection) -> bool {
        call!(self.is_quiet(connection))
    }
    #[inline(always)]
    fn on_plain_ack<const RATED: bool>(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    ) {
        call!(self.on_plain_ack::<RATED>(connection, now, ack));
    }
    fn on_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        call!(self.on_ack(connection, now, ack));
    }
    fn on_late_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        call!(self.on_late_ack(connection, now, ack));
    }
    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        call!(self.on_timeout(connection, now));
    }
    fn on_other_timer(&mut self, connection: &mut Connection, now: Time) {
        call!(self.on_other_timer(connection, now));
    }
    #[inline(always)]
    fn used(&self, connection: &Connection) -> u64 {
        call!(self.used(connection))
    }
    #[inline(always)]
    fn is_urgent(&self, connection: &Connection) -> bool {
        call!(self.is_urgent(connection))
    }
    #[inline(always)]
    fn choose_before_new(&mut self, connection: &mut Connection) -> Option<Choice> {
        call!(self.choose_before_new(connection))
    }
    #[inline(always)]
    fn choose_after_new(&mut self, connection: &mut Connection) -> Option<Choice> {
        call!(self.choose_after_new(connection))
    }
    #[inline(always)]
    fn before_sending(&mut self, connection: &Connection, choice: Choice, length: u64) {
        call!(self.before_sending(connection, choice, length));
    }
    #[inline(always)]
    fn on_sent(&mut self, connection: &mut Connection, now: Time, choice: Choice) {
        call!(self.on_sent(connection, now, choice));
    }
    fn counts(&self) -> RecoveryCounts {
        call!(self.counts())
    }
    fn reordering(&self) -> Option<u64> {
        call!(self.reordering())
    }
}
