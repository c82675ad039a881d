//! Careful Resume (RFC 9959): a connection that begins with what an earlier one on the same path
//! has learnt.
//!
//! It stands between the sender and the congestion control. In `Reconnaissance` the
//! control works as ever, and the path is compared with the saved one. Then the window jumps to
//! half of the saved one, and what it adds is paced over a round trip (`Unvalidated`). The
//! window is brought back to what is in flight (`Validating`) until all of that is
//! acknowledged. Congestion on the way leaves half of what has arrived (`SafeRetreat`).
//!
//! Compared with the text: the authors' working copy of draft -24 (October 2025), rule by rule
//! (sections 3 and 4). The RFC was made from that draft; its own text was not at hand beyond the
//! abstract. The appendix on BBR is not here.

use super::parameters::{ResumeFrom, ResumeParameters};
use crate::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event,
    Foreign, Needs, Pace, PathModel, Resumption, SegmentSent, SendLimit,
};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// A shorter round trip than this part of the saved one shows another path (section 4.2.1).
const SHORTEST: u64 = 2;
/// A longer round trip than so many times the saved one shows another path.
const LONGEST: u64 = 10;

/// Parameters that a connection saves for a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// Bytes delivered in a round trip.
    pub cwnd: Bytes,
    /// Smallest round-trip time.
    pub rtt: Span,
}

/// A phase of section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The path is compared with the saved one.
    Reconnaissance {
        /// True once all initial data is acknowledged.
        confirmed: bool,
    },
    /// The window has jumped.
    Unvalidated {
        since: Time,
        /// First segment that the jump allowed.
        first: u64,
    },
    /// All that the jump allowed is in flight.
    Validating {
        /// First segment after it.
        end: u64,
    },
    /// The jump was too far.
    SafeRetreat {
        /// First segment after those that the jump allowed.
        end: u64,
    },
    /// The control is on its own.
    Normal,
}

impl Phase {
    const fn name(self) -> &'static str {
        match self {
            Phase::Reconnaissance { .. } => "reconnaissance",
            Phase::Unvalidated { .. } => "unvalidated",
            Phase::Validating { .. } => "validating",
            Phase::SafeRetreat { .. } => "safe_retreat",
            Phase::Normal => "normal",
        }
    }
}

/// A congestion control that resumes.
#[derive(Debug)]
pub struct Resuming {
    control: Box<dyn CongestionControl>,
    parameters: ResumeParameters,
    mss: u64,
    initial_window: u64,
    /// The saved parameters in use, and their age when the connection opened.
    saved: Option<(SavedPath, Span)>,
    phase: Phase,
    opened: Time,
    /// Bytes that the path has been shown to hold (PipeSize).
    pipe: u64,
    /// Bytes in flight after the last event, and the first segment that was not sent.
    in_flight: u64,
    next: u64,
    /// Round-trip time of now, and the smallest.
    rtt: Option<Span>,
    observed: Observed,
}

/// Observation of the path for a later connection (section 3.1).
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    /// Most bytes delivered in a round trip that the window limited, and in the last one.
    cwnd: u64,
    /// All bytes delivered when this round trip began.
    delivered: u64,
    min_rtt: Option<Span>,
}

impl Resuming {
    /// Wraps a control.
    pub fn new(
        control: Box<dyn CongestionControl>,
        parameters: ResumeParameters,
        context: &ControlContext<'_>,
    ) -> Self {
        let saved = match (parameters.from, parameters.cwnd, parameters.rtt) {
            (ResumeFrom::Scenario, Some(cwnd), Some(rtt)) => {
                Some((SavedPath { cwnd, rtt }, parameters.age))
            }
            _ => None,
        };
        Resuming {
            control,
            parameters,
            mss: context.mss.0.max(1),
            initial_window: context.initial_window.0,
            phase: match saved {
                Some(_) => Phase::Reconnaissance { confirmed: false },
                None => Phase::Normal,
            },
            saved,
            opened: Time::ZERO,
            pipe: 0,
            in_flight: 0,
            next: 0,
            rtt: None,
            observed: Observed::default(),
        }
    }

    /// Gives it what an earlier connection saved. Call it before the connection opens.
    pub fn remember(&mut self, path: SavedPath, age: Span) {
        self.saved = Some((path, age));
        self.phase = Phase::Reconnaissance { confirmed: false };
    }

    /// True if what it was given may be used again: there was no retreat, and it has not expired.
    pub const fn keeps(&self) -> bool {
        self.saved.is_some()
    }

    /// Returns what a later connection may use: none before the first round trip, and none if the
    /// control is not on its own.
    pub fn observed(&self) -> Option<SavedPath> {
        let rtt = self.observed.min_rtt?;
        let is_usable = self.phase == Phase::Normal && self.observed.cwnd > 0;
        is_usable.then_some(SavedPath {
            cwnd: Bytes(self.observed.cwnd),
            rtt,
        })
    }

    /// Measures what was delivered in a round trip; in slow start half of the window. A round trip
    /// that the window did not limit counts if it has more.
    fn observe(&mut self, ack: &Ack) {
        self.observed.min_rtt = ack.min_rtt;
        if !ack.round_start {
            return;
        }
        let delivered = ack.delivered.0 - self.observed.delivered;
        self.observed.delivered = ack.delivered.0;
        if self.phase != Phase::Normal {
            return;
        }
        let capacity = match self.is_in_slow_start() {
            true => delivered.min(self.control.cwnd().0 / 2),
            false => delivered,
        };
        self.observed.cwnd = match ack.limited {
            SendLimit::CongestionWindow => capacity,
            _ => capacity.max(self.observed.cwnd),
        };
    }

    fn is_in_slow_start(&self) -> bool {
        let ssthresh = self.control.state().ssthresh;
        ssthresh.is_none_or(|ssthresh| self.control.cwnd() < ssthresh)
    }

    /// True if a round-trip time is that of another path.
    fn differs(&self, rtt: Option<Span>) -> bool {
        match (self.saved, rtt) {
            (Some((path, _)), Some(rtt)) => rtt * SHORTEST <= path.rtt || rtt > path.rtt * LONGEST,
            _ => false,
        }
    }

    /// Takes the data in flight and the segments sent so far.
    fn update(&mut self, ack: &Ack) {
        self.in_flight = ack.in_flight.0;
        self.next = self.next.max(ack.next);
        self.rtt = ack.newest_rtt.or(self.rtt);
    }

    /// Compares the path in the reconnaissance (section 3.2).
    fn compare(&mut self, now: Time, ack: &Ack) {
        let (lifetime, opened) = (self.parameters.lifetime, self.opened);
        let expired = |(_, age): (SavedPath, Span)| age + now.since(opened) > lifetime;
        // A slow start that a sign of a queue has ended does not confirm the path either.
        if self.saved.is_some_and(expired) {
            self.saved = None;
        }
        let ends = self.saved.is_none()
            || self.differs(ack.newest_rtt)
            || self.differs(ack.min_rtt)
            || !self.is_in_slow_start();
        if ends {
            self.end();
            return;
        }
        let was_confirmed = self.phase == Phase::Reconnaissance { confirmed: true };
        let confirmed = ack.first.saturating_mul(self.mss) >= self.initial_window;
        self.phase = Phase::Reconnaissance { confirmed };
        // Data that leaves in bursts may never fill the window to the last segment.
        if was_confirmed && ack.limited == SendLimit::CongestionWindow {
            self.jump(now);
        }
    }

    /// Ends the resumption without a change of the window.
    const fn end(&mut self) {
        self.phase = Phase::Normal;
    }

    /// Jumps to half of the saved window (section 3.3).
    fn jump(&mut self, now: Time) {
        let Some((path, _)) = self.saved else {
            return;
        };
        let most = self.parameters.max_jump.map_or(u64::MAX, |most| most.0);
        let cwnd = most.min(path.cwnd.0 / 2);
        if cwnd <= self.control.cwnd().0 {
            self.end();
            return;
        }
        self.pipe = self.in_flight;
        self.phase = Phase::Unvalidated {
            since: now,
            first: self.next,
        };
        self.control.resume(Resumption::Window(Bytes(cwnd)));
    }

    /// True if the jump is over: the window is full, a segment of it has been acknowledged, or a
    /// round trip has passed.
    fn has_jumped(&self, now: Time, acknowledged: u64) -> bool {
        let Phase::Unvalidated { since, first } = self.phase else {
            return false;
        };
        let full = self.in_flight + self.mss > self.control.cwnd().0;
        full || acknowledged > first || self.rtt.is_some_and(|rtt| now.since(since) > rtt)
    }

    /// Brings the window back to what is used (section 3.3, "Check flight_size").
    fn decide(&mut self) {
        if self.in_flight < self.initial_window || self.in_flight <= self.pipe {
            let cwnd = self.pipe.max(self.initial_window);
            self.control.resume(Resumption::Window(Bytes(cwnd)));
            self.end();
        } else {
            self.control
                .resume(Resumption::Window(Bytes(self.in_flight)));
            self.phase = Phase::Validating { end: self.next };
        }
    }

    /// Retreats (section 3.5): the saved parameters are deleted.
    fn retreat(&mut self) {
        let end = match self.phase {
            Phase::Validating { end } => end,
            _ => self.next,
        };
        let least = u64::from(self.parameters.retreat_floor.0).saturating_mul(self.mss);
        let cwnd = (self.pipe / 2).max(least).min(self.control.cwnd().0);
        self.control.resume(Resumption::Retreat(Bytes(cwnd)));
        self.saved = None;
        self.phase = Phase::SafeRetreat { end };
    }

    fn on_sent(&mut self, now: Time, sent: &SegmentSent) {
        self.in_flight = sent.in_flight.0;
        self.next = self.next.max(sent.next);
        match self.phase {
            Phase::Reconnaissance { confirmed: true } => {
                // More waits than the window allows.
                let full = self.in_flight + self.mss > self.control.cwnd().0;
                if full && sent.limited == SendLimit::CongestionWindow {
                    self.jump(now);
                }
            }
            Phase::Unvalidated { .. } if self.has_jumped(now, 0) => self.decide(),
            _ => {}
        }
    }
}

impl CongestionControl for Resuming {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            paces: true,
            ..self.control.needs()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.observe(ack);
        self.update(ack);
        match self.phase {
            Phase::Normal => self.control.on_ack(now, ack),
            Phase::Reconnaissance { .. } => {
                self.control.on_ack(now, ack);
                self.compare(now, ack);
            }
            Phase::Unvalidated { .. } => {
                self.pipe += ack.newly_delivered.0;
                if self.differs(ack.newest_rtt) {
                    self.retreat();
                } else if self.has_jumped(now, ack.first) {
                    self.decide();
                }
            }
            Phase::Validating { end } => {
                self.pipe += ack.newly_delivered.0;
                self.control.on_ack(now, ack);
                if ack.first >= end {
                    self.end();
                }
            }
            Phase::SafeRetreat { end } => {
                self.pipe += ack.newly_delivered.0;
                if ack.first >= end {
                    let ssthresh = Bytes((self.pipe as f64 * self.parameters.beta) as u64);
                    self.control.resume(Resumption::Threshold(ssthresh));
                    self.end();
                }
            }
        }
    }

    fn on_congestion(&mut self, now: Time, congestion: &Congestion) {
        let times_out = matches!(
            congestion.kind,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout
        );
        match self.phase {
            Phase::Unvalidated { .. } | Phase::Validating { .. } if !times_out => self.retreat(),
            // One retreat for all that the jump has done; it is not undone.
            Phase::SafeRetreat { .. } if !times_out => {}
            _ => {
                self.end();
                self.control.on_congestion(now, congestion);
            }
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Open { .. } => self.opened = now,
            Event::Sent(sent) => self.on_sent(now, sent),
            _ => {}
        }
        self.control.on_event(now, event);
    }

    fn cwnd(&self) -> Bytes {
        self.control.cwnd()
    }

    /// A jump is paced at the window per round trip (section 3.3, "Pacing transmission").
    fn pace(&self) -> Pace {
        match (self.phase, self.rtt) {
            (Phase::Unvalidated { .. }, Some(rtt)) if rtt > Span::ZERO => Pace {
                rate: Some(BitRate::from_bit_per_s(
                    (self.control.cwnd().as_f64() * 8.0 / rtt.as_seconds()) as u64,
                )),
                burst: Some(Bytes(self.mss)),
            },
            _ => self.control.pace(),
        }
    }

    /// A retreat has cut the window as far as it is to be cut.
    fn holds_in_recovery(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. })
    }

    fn state(&self) -> ControlState {
        self.control.state()
    }

    fn model(&self) -> PathModel {
        let model = self.control.model();
        match self.phase {
            Phase::Normal if !model.phase.is_empty() => model,
            phase => PathModel {
                phase: phase.name(),
                ..model
            },
        }
    }

    fn foreign(&mut self) -> Option<&mut dyn Foreign> {
        self.control.foreign()
    }

    fn resuming(&mut self) -> Option<&mut Resuming> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
