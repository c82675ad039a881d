//! Counts drops and marks by hop and by flow.

use crate::trace::{Step, Trace};
use ackclock_core::observe::{DropReason, FlowLosses, HopLosses, Observer};
use ackclock_core::packet::{Content, Packet};
use ackclock_spec::units::Time;

/// The observer of all hops of a run.
#[derive(Debug)]
pub struct Ledger<T> {
    /// Counts of drops and marks.
    pub losses: Losses,
    /// Index of the hop at work.
    pub hop: usize,
    /// Records each drop and mark.
    pub trace: T,
}

/// Counts of drops and marks.
#[derive(Debug)]
pub struct Losses {
    /// Counts by hop.
    pub hops: Vec<HopLosses>,
    /// Counts by flow.
    pub flows: Vec<FlowLosses>,
}

impl<T: Trace> Ledger<T> {
    /// Makes a ledger without counts.
    pub fn new(hops: usize, flows: usize, trace: T) -> Self {
        Ledger {
            losses: Losses {
                hops: vec![HopLosses::default(); hops],
                flows: vec![FlowLosses::default(); flows],
            },
            hop: 0,
            trace,
        }
    }
}

impl<T: Trace> Observer for Ledger<T> {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.losses.hops[self.hop].count(reason);
        self.losses.flows[packet.flow.0 as usize].count(packet);
        self.trace
            .record(now, Step::Drop, Some(self.hop), packet, Content::Nothing);
    }
    fn marked(&mut self, now: Time, packet: &Packet) {
        self.losses.hops[self.hop].marks += 1;
        self.trace
            .record(now, Step::Mark, Some(self.hop), packet, Content::Nothing);
    }
}
