//! Queueing delays of packets at a hop that records them.

use super::Hop;
use crate::histogram::Histogram;
use crate::packet::{FlowId, PacketId, PacketPool};
use ackclock_spec::units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A histogram of delays with buckets of at most a 128th of their lower end.
pub type DelayHistogram = Histogram<7>;

/// The times that packets waited until their service began, by flow group and class.
#[derive(Debug)]
pub(super) struct Delays {
    /// Packets that arrive earlier do not count.
    from: Time,
    /// Group of each flow.
    groups: Arc<[u32]>,
    /// Arrival and class of each packet that waits, by the number of its slot.
    waiting: Vec<(Time, &'static str)>,
    histograms: BTreeMap<(u32, &'static str), DelayHistogram>,
}

impl Delays {
    /// Records an arrival.
    pub(super) fn note_arrival(&mut self, now: Time, id: PacketId, class: &'static str) {
        let slot = id.index();
        if self.waiting.len() <= slot {
            self.waiting.resize(slot + 1, (Time::ZERO, ""));
        }
        self.waiting[slot] = (now, class);
    }

    /// Records the start of the service of a packet whose arrival was recorded.
    pub(super) fn note_service(&mut self, start: Time, id: PacketId, packets: &PacketPool) {
        let (arrival, class) = self.waiting[id.index()];
        self.add(packets[id].flow, class, arrival, start);
    }

    /// Records a packet that arrives at `arrival` and is served from `start` on, in a queue of one
    /// class.
    pub(super) fn note(&mut self, arrival: Time, start: Time, flow: FlowId) {
        self.add(flow, "", arrival, start);
    }

    fn add(&mut self, flow: FlowId, class: &'static str, arrival: Time, start: Time) {
        let Some(group) = self.groups.get(flow.0 as usize) else {
            return;
        };
        if arrival >= self.from && !start.is_never() {
            let histogram = self.histograms.entry((*group, class)).or_default();
            histogram.add(start.since(arrival));
        }
    }
}

impl Hop {
    /// Makes the hop record the queueing delay of each packet that arrives at `from` or later.
    /// `groups` has the group of each flow. The hop must be empty.
    pub fn record_delays(&mut self, from: Time, groups: Arc<[u32]>) {
        self.cold.delays = Some(Delays {
            from,
            groups,
            waiting: Vec::new(),
            histograms: BTreeMap::new(),
        });
        self.path = super::fast::Path::Reference;
    }

    /// Returns the recorded delays by group and class, `None` unless they are recorded. A queue
    /// without classes has one, the empty word.
    pub fn delays(&self) -> Option<impl Iterator<Item = (u32, &'static str, &DelayHistogram)>> {
        let delays = self.cold.delays.as_ref()?;
        let histograms = delays.histograms.iter();
        Some(histograms.map(|((group, class), histogram)| (*group, *class, histogram)))
    }
}
