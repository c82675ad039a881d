//! The window of a receiver whose application reads slowly: what ACKs advertise, and the probes
//! that ask for a closed window (RFC 9293 section 3.8.6.1; `tcp_ack_probe`, `tcp_send_probe0` and
//! `tcp_write_wakeup` of Linux 6.18).
//!
//! Segments are whole: a window with room for less than the next one is closed.

use super::super::parameters::{IdleRestart, TcpParameters, WindowRule};
use super::super::{Acknowledgement, FlowControlCounts, Segment, SegmentKind, SenderEventKind};
use super::connection::Connection;
use super::timer::Purpose;
use super::{Sender, State};
use ackclock_spec::units::{Bytes, Span, Time};

/// Shortest time until Linux asks for a closed window (`tcp_probe0_base`: `TCP_RTO_MIN`).
const SHORTEST_WAIT: Span = Span::from_millis(200);

/// Doublings after which the time between probes stays in any case below the largest timeout.
const MOST_DOUBLINGS: u32 = 31;

/// State of a sender whose receiver advertises how much it can take.
#[derive(Debug)]
pub(super) struct FlowControl {
    rule: WindowRule,
    /// Time since which the window is closed: data waits and nothing is in flight. Never if it is
    /// open.
    closed_at: Time,
    /// True if it has just opened, until data is sent.
    opened: bool,
    /// Probes since it closed.
    tries: u32,
    /// True if a probe is to be sent now.
    probe_due: bool,
    /// Time since which the window, and not the congestion window, keeps data from leaving.
    limited_at: Time,
    counts: FlowControlCounts,
}

impl FlowControl {
    /// Returns none if the receiver's window is constant.
    pub fn new(parameters: &TcpParameters) -> Option<Self> {
        parameters.receiver.read_rate.map(|_| FlowControl {
            rule: parameters.receiver.window_rule,
            closed_at: Time::NEVER,
            opened: false,
            tries: 0,
            probe_due: false,
            limited_at: Time::NEVER,
            counts: FlowControlCounts::default(),
        })
    }

    const fn is_closed(&self) -> bool {
        !self.closed_at.is_never()
    }

    /// Ends the time in which the window limits the sender.
    fn end_limit(&mut self, now: Time) {
        let since = std::mem::replace(&mut self.limited_at, Time::NEVER);
        if !since.is_never() {
            self.counts.limited = self.counts.limited + now.since(since);
        }
    }
}

impl Connection {
    fn flow_control(&self) -> Option<&FlowControl> {
        self.more.as_ref()?.flow_control.as_ref()
    }
    fn flow_control_mut(&mut self) -> Option<&mut FlowControl> {
        self.more.as_mut()?.flow_control.as_mut()
    }

    /// Returns the time until the next probe: a timeout that doubles (`tcp_probe0_when`).
    pub fn window_probe_timeout(&self) -> Span {
        let longest = self.parameters.timer.rto_maximum;
        let Some(flow_control) = self.flow_control() else {
            return longest;
        };
        let shortest = match flow_control.rule {
            WindowRule::Linux => SHORTEST_WAIT,
            WindowRule::Rfc9293 => Span::ZERO,
        };
        let base = self.meter.rtt.rto().max(shortest).as_nanos();
        let doubled = u128::from(base) << flow_control.tries.min(MOST_DOUBLINGS);
        Span::from_nanos(u64::try_from(doubled).unwrap_or(u64::MAX)).min(longest)
    }

    /// True if a segment of the length of the next one fits into the receive window.
    #[inline(never)] // only the last segment is short
    pub fn next_fits(&self) -> bool {
        let flight = self.scoreboard.flight();
        let length = self.scoreboard.length(self.scoreboard.next());
        self.flow_control().is_some() && self.data.fits(flight, length)
    }

    /// True if new data waits for room in the receive window alone.
    fn waits_for_receiver(&self) -> bool {
        self.scoreboard.next() < self.data.available && !self.has_new_data()
    }

    /// Takes the window from an ACK, which is not older than the last one. The right edge stays
    /// where it is if the ACK says nothing, and never moves back.
    #[inline(never)] // few receivers advertise a changing window
    pub fn hear_window(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let Some(flow_control) = self.flow_control_mut() else {
            return;
        };
        flow_control.end_limit(now);
        let acked = self
            .scoreboard
            .bytes(self.scoreboard.first(), ack.cumulative);
        let left = self.data.receive_window.saturating_sub(acked);
        let advertised = ack.options.and_then(|options| options.window);
        self.data.receive_window = advertised.map_or(left, |Bytes(window)| window.max(left));
    }

    /// Looks at a closed window after an ACK: it opens, or the wait for the next probe begins again
    /// (`tcp_ack_probe`).
    #[inline(never)] // few receivers advertise a changing window
    pub fn look_at_closed_window(&mut self, now: Time) {
        let opens = !self.waits_for_receiver();
        let Some(flow_control) = self.flow_control_mut().filter(|it| it.is_closed()) else {
            return;
        };
        if !opens {
            let deadline = now + self.window_probe_timeout();
            return self.timer.set(Purpose::Window, deadline);
        }
        let since = std::mem::replace(&mut flow_control.closed_at, Time::NEVER);
        flow_control.counts.closed = flow_control.counts.closed + now.since(since);
        flow_control.opened = true;
        flow_control.probe_due = false;
        self.transmission.begin_event();
        self.timer.set(Purpose::Retransmission, Time::NEVER);
        let before = self.before();
        self.note(now, SenderEventKind::WindowOpened, before);
    }

    /// Handles the timer of a closed window: a probe is to be sent.
    #[cold]
    pub fn ask_for_window(&mut self, now: Time) {
        self.transmission.begin_event();
        if let Some(flow_control) = self.flow_control_mut() {
            flow_control.probe_due = true;
            flow_control.tries = flow_control.tries.saturating_add(1);
        }
        let deadline = now + self.window_probe_timeout();
        self.timer.set(Purpose::Window, deadline);
    }

    /// True if nothing was sent for long because the window was closed. Linux does not count that
    /// as idle: it asks when the application writes (`tcp_slow_start_after_idle_check`).
    pub fn waited_for_receiver(&mut self) -> bool {
        let decays = self.parameters.growth.idle_restart == IdleRestart::Decay;
        self.flow_control_mut()
            .is_some_and(|it| decays && (it.is_closed() || std::mem::take(&mut it.opened)))
    }

    /// Closes the window: nothing is in flight whose ACK could open it.
    fn close_window(&mut self, now: Time) {
        if let Some(flow_control) = self.flow_control_mut() {
            flow_control.closed_at = now;
            flow_control.opened = false;
            flow_control.tries = 0;
            flow_control.counts.closings += 1;
        }
        let deadline = now + self.window_probe_timeout();
        self.timer.set(Purpose::Window, deadline);
        let before = self.before();
        self.note(now, SenderEventKind::WindowClosed, before);
    }
}

impl Sender {
    /// Returns the probe that is due, where no data can leave. Notes whether the receive window is
    /// the reason.
    #[inline(never)] // only where the congestion window has room and nothing leaves
    pub(super) fn poll_window(&mut self, now: Time) -> Option<Segment> {
        let connection = &mut self.connection;
        let waits = connection.flow_control().is_some()
            && connection.transmission.burst_left > 0
            && connection.waits_for_receiver();
        let is_empty = connection.scoreboard.is_empty();
        let flow_control = connection.flow_control_mut().filter(|_| waits)?;
        flow_control.limited_at = flow_control.limited_at.min(now);
        if std::mem::take(&mut flow_control.probe_due) {
            flow_control.counts.probes += 1;
            let before = connection.before();
            connection.note(now, SenderEventKind::WindowProbe, before);
            return Some(self.window_probe(now));
        }
        if is_empty && !flow_control.is_closed() {
            connection.close_window(now);
        }
        None
    }

    fn window_probe(&self, now: Time) -> Segment {
        Segment {
            kind: SegmentKind::WindowProbe,
            sequence: self.connection.scoreboard.first(),
            length: Bytes::ZERO,
            retransmission: false,
            stamp: now,
            window_reduced: false,
            pushed: false,
        }
    }

    /// Takes the window from an ACK while nothing is in flight.
    pub(super) fn hear_window_late(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let first = self.connection.scoreboard.first();
        if self.state == State::Established && ack.cumulative == first {
            self.connection.hear_window(now, ack);
            self.connection.look_at_closed_window(now);
        }
    }

    /// Returns the counts of flow control until `now`; `None` if the receiver's window is constant.
    pub fn flow_control_counts(&self, now: Time) -> Option<FlowControlCounts> {
        let flow_control = self.connection.flow_control()?;
        let mut counts = flow_control.counts;
        counts.limited = counts.limited + since(flow_control.limited_at, now);
        counts.closed = counts.closed + since(flow_control.closed_at, now);
        Some(counts)
    }
}

/// Returns the time from `begin` until `now`; zero if it has not begun.
fn since(begin: Time, now: Time) -> Span {
    if begin.is_never() {
        Span::ZERO
    } else {
        now.since(begin)
    }
}
