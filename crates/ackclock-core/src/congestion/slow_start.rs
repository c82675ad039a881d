//! Slow start (RFC 5681), and what may end it before a loss.

use super::facts::EarlyEnd;
use super::hoe::Hoe;
use super::hystart_linux::HyStartLinux;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rapid_start::{Rapid, RapidStart};
use super::search::{Drain, Search};
use super::window::Window;
use super::{Ack, Congestion, CongestionKind, ControlContext};
use ackclock_spec::units::{BitRate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sign that ends the first slow start before a loss, a mark or the slow-start threshold does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SlowStartExit {
    /// Nothing.
    #[default]
    #[serde(rename = "none")]
    None,
    /// A long train of ACKs or a longer round-trip time, as in Linux: at once.
    #[serde(rename = "hystart")]
    HyStart,
    /// A longer round-trip time (RFC 9406), after rounds of slower growth.
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
    /// Delivery that falls short of what was sent a round trip before (SEARCH,
    /// draft-chung-ccwg-search-09): at once, without the draft's lowering of the window.
    #[serde(rename = "search")]
    Search,
    /// The same, and then a drain: one packet less for every three acknowledged, down to what
    /// arrived in the last round trip (version 4.0 of the module for Linux).
    #[serde(rename = "search-drain")]
    SearchDrain,
    /// The bandwidth-delay product, estimated from the spacing of the first ACKs (Hoe, SIGCOMM
    /// 1996).
    #[serde(rename = "hoe")]
    Hoe,
}

impl SlowStartExit {
    /// True if it may end a slow start.
    pub const fn is_early(self) -> bool {
        !matches!(self, SlowStartExit::None)
    }

    /// Returns where it ends a slow start, if that is known ahead.
    pub const fn early_end(self) -> Option<EarlyEnd> {
        match self {
            SlowStartExit::Hoe => Some(EarlyEnd::AtProduct {
                least_acks: Hoe::LEAST_ACKS,
            }),
            _ => None,
        }
    }
}

/// A slow start that goes on more slowly from some window on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slower {
    /// The window, in bytes.
    pub from: f64,
    /// Segments acknowledged per segment by which the window then grows.
    pub divisor: f64,
}

impl Slower {
    /// Opens the window. Returns the credit that is left at ssthresh.
    fn grow(self, window: &mut Window, credit: f64) -> f64 {
        let before = (self.from - window.cwnd()).clamp(0.0, credit);
        let left = window.grow_in_slow_start(before, 1.0);
        left + window.grow_in_slow_start(credit - before, self.divisor)
    }
}

/// The rule that ends a slow start early or slows it down, and its state.
#[derive(Debug)]
pub(super) enum Exit {
    None,
    HyStart(Box<HyStartLinux>),
    HyStartPlusPlus(Box<HyStartPlusPlus>),
    Search(Box<Search>),
    SearchDrain(Box<Search>),
    Draining(Drain),
    Rapid(Box<Rapid>),
    Hoe(Box<Hoe>),
    Slower(Slower),
}

impl Exit {
    pub fn new(exit: SlowStartExit, context: &ControlContext<'_>) -> Self {
        match exit {
            SlowStartExit::None => Exit::None,
            SlowStartExit::HyStart => Exit::HyStart(Box::new(HyStartLinux::new(context.paced))),
            SlowStartExit::HyStartPlusPlus => {
                Exit::HyStartPlusPlus(Box::new(HyStartPlusPlus::new()))
            }
            SlowStartExit::Search => Exit::Search(Box::new(Search::new())),
            SlowStartExit::SearchDrain => Exit::SearchDrain(Box::new(Search::new())),
            SlowStartExit::Hoe => Exit::Hoe(Box::new(Hoe::new(context.mss.as_f64().max(1.0)))),
        }
    }

    /// Processes an ACK in slow start with a window of `cwnd` segments. `least` is the smallest
    /// round-trip time of the connection. Returns true if slow start is over.
    pub fn is_over(&mut self, now: Time, ack: &Ack, cwnd: u64, least: Option<Span>) -> bool {
        match self {
            Exit::None | Exit::Slower(_) | Exit::Draining(_) => false,
            Exit::Rapid(rapid) => rapid.is_over(ack),
            Exit::HyStart(hystart) => match (ack.newest_rtt, least) {
                (Some(delay), Some(least)) => hystart.is_over(now, ack, cwnd, delay, least),
                _ => false,
            },
            Exit::HyStartPlusPlus(hystart) => hystart.is_over(ack),
            Exit::Search(search) | Exit::SearchDrain(search) => search.is_over(now, ack),
            Exit::Hoe(hoe) => hoe.is_over(now, ack, cwnd, least),
        }
    }

    /// Handles a timeout of Linux's CUBIC: HyStart looks again.
    pub fn reset(&mut self, now: Time) {
        if let Exit::HyStart(hystart) = self {
            hystart.reset(now);
        }
    }
}

/// The slow start of a control.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// [`Exit::None`] once the first slow start has ended.
    exit: Exit,
}

impl SlowStart {
    /// Creates it. `exit` applies to the first slow start only (RFC 9406 section 4.2).
    pub fn new(exit: SlowStartExit, context: &ControlContext<'_>) -> Self {
        SlowStart {
            exit: Exit::new(exit, context),
        }
    }

    /// Creates a rapid one, if there are parameters for it. HyStart++ may go with it.
    pub fn rapid(
        rapid: Option<RapidStart>,
        exit: SlowStartExit,
        context: &ControlContext<'_>,
    ) -> Self {
        let Some(parameters) = rapid else {
            return SlowStart::new(exit, context);
        };
        let hystart = exit == SlowStartExit::HyStartPlusPlus;
        let rapid = Rapid::new(parameters, hystart.then(HyStartPlusPlus::new));
        SlowStart {
            exit: Exit::Rapid(Box::new(rapid)),
        }
    }

    /// Creates one that nothing ends early, and that is slower from some window on.
    pub const fn slowing(slower: Slower) -> Self {
        SlowStart {
            exit: Exit::Slower(slower),
        }
    }

    /// Opens the window below ssthresh. Returns the unused credit of the ACK, in bytes, for
    /// congestion avoidance.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn grow(&mut self, window: &mut Window, now: Time, ack: &Ack) -> f64 {
        let credit = ack.credit.as_f64();
        if !window.in_slow_start() {
            return credit;
        }
        match &self.exit {
            Exit::None => window.grow_in_slow_start(credit, 1.0),
            _ => self.grow_until_over(window, now, ack),
        }
    }

    /// Opens the window, and ends slow start if the rule says so.
    fn grow_until_over(&mut self, window: &mut Window, now: Time, ack: &Ack) -> f64 {
        let credit = ack.credit.as_f64();
        let left = match &mut self.exit {
            Exit::Rapid(rapid) => rapid.on_ack(window, now, ack),
            Exit::Draining(drain) => {
                if drain.on_ack(window, ack) {
                    window.end_slow_start();
                }
                0.0
            }
            Exit::HyStartPlusPlus(hystart) => hystart.grow(window, credit),
            Exit::Slower(slower) => slower.grow(window, credit),
            _ => window.grow_in_slow_start(credit, 1.0),
        };
        let segments = (window.cwnd() / window.mss()) as u64;
        if self.exit.is_over(now, ack, segments, ack.min_rtt) {
            match &self.exit {
                Exit::SearchDrain(search) => {
                    let target = search.arrived_lately() as f64;
                    self.exit = Exit::Draining(Drain::new(target, window));
                }
                _ => window.end_slow_start(),
            }
        }
        if !window.in_slow_start() {
            self.exit = Exit::None;
        }
        left
    }

    /// Takes the round-trip time of the handshake, by which a rapid start is paced.
    pub fn open(&mut self, rtt: Option<Span>) {
        if let Exit::Rapid(rapid) = &mut self.exit {
            rapid.open(rtt);
        }
    }

    /// True in a rapid start and in its recovery.
    pub const fn is_rapid(&self) -> bool {
        matches!(self.exit, Exit::Rapid(_))
    }

    /// Begins the recovery of a rapid start, for a loss or mark after which a decrease would leave
    /// `beta`. Returns false if the congestion is to be handled as usual.
    pub fn converge(
        &mut self,
        window: &mut Window,
        now: Time,
        congestion: &Congestion,
        beta: f64,
    ) -> bool {
        let kinds = [CongestionKind::Loss, CongestionKind::Mark];
        match &mut self.exit {
            Exit::Rapid(rapid)
                if kinds.contains(&congestion.kind)
                    && (rapid.converges() || window.in_slow_start()) =>
            {
                if !rapid.converges() {
                    rapid.converge(window, now, beta);
                }
                true
            }
            _ => false,
        }
    }

    /// True in the recovery of a rapid start.
    pub fn converges(&self) -> bool {
        matches!(&self.exit, Exit::Rapid(rapid) if rapid.converges())
    }

    /// Ends the recovery of a rapid start. Returns false if there is none.
    pub fn end_convergence(&mut self, window: &mut Window) -> bool {
        let converges = self.converges();
        if converges {
            window.end_slow_start();
            self.exit = Exit::None;
        }
        converges
    }

    /// Returns the rate at which a rapid start is paced: a window per round trip.
    pub fn pace(&self, window: &Window) -> Option<BitRate> {
        match &self.exit {
            Exit::Rapid(rapid) => rapid.pace(window),
            _ => None,
        }
    }

    /// Handles congestion: any later slow start is the standard one.
    pub fn end(&mut self) {
        self.exit = Exit::None;
    }

    /// Returns the phase for [`ControlState::mode`](super::ControlState::mode).
    pub fn mode(&self) -> &'static str {
        match &self.exit {
            Exit::HyStartPlusPlus(hystart) if hystart.is_conservative() => {
                "conservative_slow_start"
            }
            Exit::Rapid(rapid) => rapid.mode(),
            Exit::Draining(_) => "drain",
            _ => "slow_start",
        }
    }
}
