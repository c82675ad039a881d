//! Slow start (RFC 5681), and what may end it before a loss.

use super::facts::EarlyEnd;
use super::hoe::Hoe;
use super::hystart_linux::HyStartLinux;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::search::Search;
use super::window::Window;
use super::{Ack, ControlContext};
use ackclock_spec::units::{Span, Time};
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
            SlowStartExit::Hoe => Exit::Hoe(Box::new(Hoe::new(context.mss.as_f64().max(1.0)))),
        }
    }

    /// Processes an ACK in slow start with a window of `cwnd` segments. `least` is the smallest
    /// round-trip time of the connection. Returns true if slow start is over.
    pub fn is_over(&mut self, now: Time, ack: &Ack, cwnd: u64, least: Option<Span>) -> bool {
        match self {
            Exit::None | Exit::Slower(_) => false,
            Exit::HyStart(hystart) => match (ack.newest_rtt, least) {
                (Some(delay), Some(least)) => hystart.is_over(now, ack, cwnd, delay, least),
                _ => false,
            },
            Exit::HyStartPlusPlus(hystart) => hystart.is_over(ack),
            Exit::Search(search) => search.is_over(now, ack),
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
        let left = match &self.exit {
            Exit::HyStartPlusPlus(hystart) => hystart.grow(window, credit),
            Exit::Slower(slower) => slower.grow(window, credit),
            _ => window.grow_in_slow_start(credit, 1.0),
        };
        let segments = (window.cwnd() / window.mss()) as u64;
        if self.exit.is_over(now, ack, segments, ack.min_rtt) {
            window.end_slow_start();
        }
        if !window.in_slow_start() {
            self.exit = Exit::None;
        }
        left
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
            _ => "slow_start",
        }
    }
}
