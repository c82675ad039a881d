//! The parts of a connection that all of the sender's decisions read and change.

use super::super::parameters::{
    EcnFeedback, LossRecovery, RecoveryWindow, SsthreshFrom, TcpParameters,
};
use super::super::scoreboard::{Advance, Scoreboard};
use super::super::{SenderEvent, SenderEventKind};
use super::control::Control;
use super::data::Data;
use super::marks::Marks;
use super::meter::Meter;
use super::more::More;
use super::recovery::{Episode, PrrAck};
use super::timer::{Purpose, Timer};
use super::transmission::Transmission;
use crate::congestion::{Congestion, CongestionControl, CongestionKind, Event, RecoveryPhase};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Bytes, Time};
use std::sync::Arc;

/// All of a sender but its state and its algorithm of loss recovery.
#[derive(Debug)]
pub(super) struct Connection {
    pub parameters: Arc<TcpParameters>,
    pub mss: u64,
    /// True if recovery follows the SACK blocks of the receiver.
    pub sack: bool,
    /// True if the scoreboard says what is in the network.
    has_pipe: bool,
    pub scoreboard: Scoreboard,
    pub data: Data,
    pub control: Control,
    pub episode: Episode,
    pub meter: Meter,
    pub timer: Timer,
    pub transmission: Transmission,
    pub marks: Marks,
    /// Present if every ACK is read for more than what it acknowledges.
    pub more: Option<Box<More>>,
    pub events: Vec<SenderEvent>,
}

impl Connection {
    pub fn new(
        parameters: Arc<TcpParameters>,
        control: Box<dyn CongestionControl>,
        jitter: Stream,
    ) -> Self {
        let mss = parameters.connection.mss.0.max(1);
        let needs = control.needs();
        Connection {
            mss,
            sack: parameters.recovery.uses_sack(),
            has_pipe: parameters.recovery.algorithm.has_scoreboard(),
            scoreboard: Scoreboard::new(mss),
            data: Data::new(&parameters, mss),
            episode: Episode::default(),
            meter: Meter::new(&parameters, needs.rate_samples),
            timer: Timer::STOPPED,
            transmission: Transmission::new(&parameters.sending, jitter),
            marks: Marks::default(),
            more: More::new(&parameters, needs.marks).map(Box::new),
            control: Control::new(control),
            events: Vec::new(),
            parameters,
        }
    }

    /// Returns the bytes in flight: with a scoreboard the `pipe` of RFC 6675, otherwise the data
    /// sent and not acknowledged (FlightSize of RFC 5681).
    pub fn in_flight(&self) -> Bytes {
        Bytes(if self.has_pipe {
            self.scoreboard.pipe()
        } else {
            self.scoreboard.flight()
        })
    }

    /// Returns the congestion window in use: the control's, inflated or deflated by recovery.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn window(&self) -> u64 {
        self.episode.window(self.control.cwnd().0)
    }

    /// Returns the bytes of which the sender makes a rate.
    pub fn rated_window(&self) -> u64 {
        let cwnd = self.control.cwnd().0;
        match self.parameters.sending.rate_of_outstanding {
            true => cwnd.max(self.scoreboard.flight()),
            false => cwnd,
        }
    }

    /// Returns the bytes in flight if the control wants rate samples, else zero.
    #[inline]
    pub fn rated_in_flight(&self) -> u64 {
        self.meter.rate.as_ref().map_or(0, |_| self.in_flight().0)
    }

    /// True if there is new data that the receive window allows.
    pub fn has_new_data(&self) -> bool {
        self.scoreboard.next() < self.data.available
            && (self.data.fits(self.scoreboard.flight(), self.mss) || self.next_fits())
    }

    /// Acknowledges everything before `to`; if `RATED`, for the delivery rate too.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn advance<const RATED: bool>(&mut self, to: u64) -> Advance {
        let Some(rate) = self.meter.rate.as_mut().filter(|_| RATED) else {
            return self.scoreboard.advance(to, |_| ());
        };
        let first = self.scoreboard.first();
        let advance = self.scoreboard.advance(to, |delivered| {
            rate.on_delivered(delivered.index, delivered.sent_at);
        });
        rate.pop(to - first);
        advance
    }

    /// Counts segments that were just found lost, and tells a control that samples the delivery
    /// rate of each.
    pub fn count_lost(&mut self, now: Time, lost: &[u64]) {
        let mut counts = self.meter.counts(self.mss);
        self.meter.statistics.lost_segments += lost.len() as u64;
        let Some(rate) = self.meter.rate.as_ref().filter(|_| !lost.is_empty()) else {
            return;
        };
        for &sequence in lost {
            counts.lost += 1;
            let length = Bytes(self.scoreboard.length(sequence));
            if let Some(loss) = rate.loss(sequence, length, &counts) {
                self.control.on_event(now, &Event::Lost(loss));
            }
        }
    }

    /// Returns the bytes that this ACK shows to be delivered, each byte once. Without SACK, a
    /// duplicate ACK counts as one segment, which is deducted from the next cumulative ACK.
    pub fn count_delivered(&mut self, advance: &Advance, sacked: u64, new: bool) -> u64 {
        let mut news = advance.delivered + sacked;
        let ahead = &mut self.meter.counted_ahead;
        if !new && !self.sack {
            let (first, highest) = (self.scoreboard.first(), self.scoreboard.highest());
            let beyond_first = self.scoreboard.bytes(first + 1, highest);
            news = self.mss.min(beyond_first.saturating_sub(*ahead));
            *ahead += news;
        } else if *ahead > 0 {
            let counted = news.min(*ahead);
            *ahead -= counted;
            news -= counted;
        }
        self.meter.delivered += news;
        news
    }

    #[inline(never)] // once per round trip: kept out of the path of every packet
    pub fn begin_round(&mut self) {
        let in_flight = self.in_flight().0;
        self.meter.round.begin(self.scoreboard.highest(), in_flight);
    }

    /// Tells the control of congestion.
    pub fn tell_congestion(&mut self, now: Time, kind: CongestionKind, base: u64) {
        let in_flight = self.in_flight();
        let still = if self.parameters.recovery.algorithm == LossRecovery::Rack {
            in_flight
        } else {
            Bytes::ZERO
        };
        let congestion = Congestion {
            kind,
            base: Bytes(base),
            in_flight,
            min_rtt: self.meter.rtt.minimum(),
            smoothed_rtt: self.meter.rtt.smoothed(),
            loss_window: still + Bytes(self.mss),
        };
        self.control.on_congestion(now, &congestion);
    }

    /// Reduces the window.
    pub fn reduce(&mut self, now: Time, kind: CongestionKind, base: u64) {
        self.tell_congestion(now, kind, base);
        let echoes = self.parameters.ecn.feedback != EcnFeedback::Accurate;
        self.marks.on_reduction(
            self.scoreboard.highest(),
            self.parameters.ecn.enabled && echoes,
        );
    }

    /// Returns the base of a decrease. Counts `acked` bytes as still in flight, but not the `extra`
    /// ones that limited transmit has sent.
    pub fn ssthresh_base(&self, acked: u64, extra: u64) -> u64 {
        match self.parameters.growth.ssthresh_from {
            SsthreshFrom::Window => self.control.cwnd().0.min(self.data.receive_window),
            // While a scoreboard is resent after a timeout, segments it records as lost are not in
            // flight.
            SsthreshFrom::FlightSize if self.episode.phase() == RecoveryPhase::Loss => {
                self.in_flight().0
            }
            SsthreshFrom::FlightSize => {
                let flight = self.scoreboard.flight() + acked;
                let flight = flight.saturating_sub(extra);
                // SACKed data accumulates behind a loss that is not repaired. RFC 5681's FlightSize
                // counts it although it has left the network (docs/deviations.md). A timeout during
                // a recovery starts from the window in use.
                let recovers = self.episode.phase() == RecoveryPhase::Recovery;
                if recovers || self.scoreboard.sacked_segments() > 0 {
                    flight.min(self.control.cwnd().0)
                } else {
                    flight
                }
            }
        }
    }

    /// Returns the base of a proportional reduction in bytes, before the control reduces the
    /// window. The ACK that causes it shows `delivered` bytes to have arrived.
    pub fn base_of_proportion(&self, delivered: u64) -> u64 {
        match self.parameters.recovery.recovery_window {
            RecoveryWindow::Ssthresh => 0,
            RecoveryWindow::Proportional => self.scoreboard.unsacked() + delivered,
            RecoveryWindow::ProportionalToWindow => self.control.cwnd().0,
        }
    }

    /// Begins a proportional reduction, if the parameters ask for one and the control leaves the
    /// window to it.
    pub fn begin_proportional(&mut self, base: u64) {
        let rule = self.parameters.recovery.recovery_window;
        let holds =
            self.control.needs().replaces_recovery || self.control.get().holds_in_recovery();
        if rule != RecoveryWindow::Ssthresh && !holds {
            self.episode.begin_reduction(base / self.mss);
        }
    }

    /// Updates the window of a proportional reduction after an ACK that shows `delivered` bytes to
    /// have arrived.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn reduce_in_proportion(&mut self, delivered: u64, safe: bool) {
        if self.episode.is_proportional() {
            self.update_proportion(delivered, safe);
        }
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn update_proportion(&mut self, delivered: u64, safe: bool) {
        let (cwnd, mss) = (self.control.cwnd().0, self.mss);
        let ack = PrrAck {
            ssthresh: cwnd / mss,
            in_flight: self.scoreboard.pipe().div_ceil(mss),
            delivered: delivered.div_ceil(mss),
            safe,
        };
        self.episode.reduce_in_proportion(&ack, cwnd, mss);
    }

    /// Ends recovery, a reduction or the phase after a timeout.
    pub fn end_recovery(&mut self, now: Time) {
        let before = self.before();
        self.episode.end();
        self.control.on_event(now, &Event::RecoveryEnd);
        self.note(now, SenderEventKind::RecoveryEnd, before);
    }

    /// Forgets what is in flight, which is sent again as if new.
    pub fn go_back(&mut self) {
        self.meter.counted_ahead += self.scoreboard.go_back();
        self.meter.stop_timing();
        if let Some(rate) = &mut self.meter.rate {
            rate.clear();
        }
    }

    /// Starts the retransmission timer.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn restart_timer(&mut self, now: Time) {
        self.timer
            .set(Purpose::Retransmission, now + self.meter.rtt.rto());
    }

    /// Returns the congestion window and the data in flight before a reaction, for
    /// [`Connection::note`].
    pub fn before(&self) -> (Bytes, Bytes) {
        (self.control.cwnd(), self.in_flight())
    }

    /// Records a reaction.
    pub fn note(&mut self, at: Time, kind: SenderEventKind, before: (Bytes, Bytes)) {
        let (cwnd_before, in_flight) = before;
        self.events.push(SenderEvent {
            at,
            kind,
            cwnd_before,
            cwnd_after: self.control.cwnd(),
            ssthresh_after: self.control.get().state().ssthresh,
            in_flight: Some(in_flight),
        });
    }
}
