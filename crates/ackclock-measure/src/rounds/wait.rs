//! Waits of a silent sender: for the window, the application or its own queue.

use super::{Round, State};
use crate::limits::LimitingFactor;

/// The event that a silent sender obviously waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    Window,
    Application,
    /// Data in the queue of the sender's own device, which shows only when it passes.
    OwnQueue,
}

impl WaitsFor {
    /// Returns what a sender in this state waits for.
    pub fn of(state: &State) -> Option<Self> {
        if state.recovering {
            None
        } else if state.waits_for_window {
            Some(WaitsFor::Window)
        } else {
            (state.outstanding == 0).then_some(WaitsFor::Application)
        }
    }

    /// Returns the limit of the wait.
    pub const fn limit(self) -> LimitingFactor {
        match self {
            WaitsFor::Window => LimitingFactor::ReceiveWindow,
            WaitsFor::Application => LimitingFactor::Application,
            WaitsFor::OwnQueue => LimitingFactor::BottleneckRate,
        }
    }
}

/// A wait that goes on.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub waits_for: WaitsFor,
    pub since: u64,
    /// Copy of the round trip when the wait began; `None` if the wait has become a round trip of
    /// its own.
    pub before: Option<Round>,
}
