//! Windows of time: with many flows, the run proceeds flow by flow instead of event by event.
//!
//! With ten thousand flows, the next event nearly always belongs to another flow, whose state is in
//! no cache of the processor. But a packet that leaves the last hop that other flows can observe
//! concerns only its own flow until it enters the next such hop. That takes at least the
//! propagation delay that it has just begun. So time is divided into windows no longer than the
//! smallest such delay (conservative lookahead: Chandy and Misra, IEEE TSE 5(5), 1979).
//!
//! At the beginning of a window, most packets that will come to a shared hop in it are known. They
//! are taken out of private hops, sorted, and pass the shared hops one after the other. The steps
//! that follow are deferred to the end of the window and then executed flow by flow.
//!
//! The order at shared hops, and of the steps of one flow, is that of a run without windows. Only
//! steps of two flows that cannot observe each other change places.

use super::leg::Leg;
use super::{Run, Supervisor};
use crate::counting_sort::CountingSort;
use crate::events::Target;
use crate::hop_slot::HopSlot;
use crate::prefetch::prefetch;
use crate::prefetch_pipeline::{PrefetchPipeline, Turn};
use crate::samples::Sampler;
use crate::trace::Trace;
use ackclock_core::packet::PacketId;
use ackclock_core::routes::Routes;
use ackclock_spec::units::{Span, Time};

/// Least number of flows for which windows are worth their sorting.
const MANY_FLOWS: usize = 200;

/// Windows with more packets are made shorter: they cost memory, and caches hold no more.
const MANY_PACKETS: usize = 1 << 17;

/// Number of hops drained side by side, so that their memory accesses overlap.
const SIDE_BY_SIDE: usize = 16;

/// A packet that comes to a shared hop in the window at `at`, from `hop`.
#[derive(Clone, Copy, Debug)]
struct Coming {
    at: Time,
    leg: Leg,
    hop: Target,
    id: PacketId,
}

/// A packet that has left a hop at `at` and waits for its flow's turn.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Time,
    leg: Leg,
    id: PacketId,
}

impl Turn for Waiting {
    fn packet(&self) -> PacketId {
        self.id
    }
    fn flow(&self) -> usize {
        self.leg.flow()
    }
}

/// The windows of a run and their working lists.
#[derive(Debug)]
pub(super) struct Windows {
    /// Longest length of a window, and length of the next.
    longest: Span,
    length: Span,
    /// For each hop that the scenario names, true if it is private. All other hops are private.
    private: Vec<bool>,
    coming: Vec<Coming>,
    /// Number of packets in `coming` that have come.
    come: usize,
    waiting: Vec<Waiting>,
    by_time: CountingSort<Coming>,
    by_flow: CountingSort<Waiting>,
    /// Wake-ups of private hops, taken out of the event queue.
    wakes: Vec<(Time, Target)>,
    prefetch: PrefetchPipeline,
}

impl Windows {
    /// Makes the windows of a run, if it has any.
    pub(super) fn new(routes: &Routes, slots: &[HopSlot], traced: bool) -> Self {
        let mut private = routes.private(slots.len());
        private.truncate(routes.shared_hops());
        let last_shared = slots.iter().filter(|slot| slot.hop.is_last_shared());
        let longest = last_shared.map(|slot| slot.hop.delay()).min();
        let longest =
            longest.filter(|delay| *delay > Span::ZERO && routes.flows() >= MANY_FLOWS && !traced);
        Windows {
            longest: longest.unwrap_or_default(),
            length: longest.unwrap_or_default(),
            private,
            coming: Vec::new(),
            come: 0,
            waiting: Vec::new(),
            by_time: CountingSort::default(),
            by_flow: CountingSort::default(),
            wakes: Vec::new(),
            prefetch: PrefetchPipeline::new(routes),
        }
    }

    /// True if the run is divided into windows.
    pub(super) fn are_any(&self) -> bool {
        self.longest > Span::ZERO
    }

    /// Returns how far ahead wake-ups should be in the calendar: a few windows.
    pub(super) fn reach(&self) -> Span {
        self.longest * 4
    }

    fn next(&self) -> Option<Coming> {
        self.coming.get(self.come).copied()
    }

    /// Halves the length after a window with too many packets, and doubles it after one with few.
    fn adapt_length(&mut self) {
        if self.coming.len() > MANY_PACKETS {
            self.length = (self.length / 2).max(Span::from_nanos(1));
        } else if self.coming.len() < MANY_PACKETS / 4 {
            self.length = (self.length * 2).min(self.longest);
        }
    }

    /// Sorts the packets that come; those from one hop are sorted already.
    fn sort_coming(&mut self, begin: Time) {
        let share = self.length.as_nanos() / (self.coming.len() as u64 + 1);
        let shift = share.max(1).ilog2();
        let slice = |coming: &Coming| (coming.at.since(begin).as_nanos() >> shift) as usize;
        let slices = (self.length.as_nanos() >> shift) as usize + 1;
        self.by_time.sort(&mut self.coming, slices, slice);
        for together in self.coming.chunk_by_mut(|a, b| slice(a) == slice(b)) {
            together.sort_by_key(|coming| (coming.at, coming.hop));
        }
    }
}

impl<T: Trace> Run<T> {
    /// [`Run::proceed_until`], window by window.
    #[inline(never)]
    pub(super) fn proceed_by_windows(
        &mut self,
        end: Time,
        sampler: &mut Sampler,
        supervisor: &dyn Supervisor,
    ) -> bool {
        while self.open_window(end) {
            while let Some((time, target)) = self.pop_in_window() {
                self.handle_in_window(time, target, end, sampler);
            }
            self.take_turns();
            // Only now is every packet in its hop.
            if self.statistics.events >= self.question_at
                && !self.may_go_on(self.clock.now, supervisor)
            {
                return false;
            }
        }
        true
    }

    /// Calls [`Run::handle`].
    #[inline(never)] // packets are more frequent than events
    fn handle_in_window(&mut self, time: Time, target: Target, end: Time, sampler: &mut Sampler) {
        self.handle(time, target, end, sampler);
    }

    /// Defers a packet that left a hop at `at` to its flow's turn, if possible. Returns true if it
    /// did.
    #[inline(always)]
    pub(super) fn defer(&mut self, at: Time, hop: usize, id: PacketId, leg: Leg) -> bool {
        if T::ON || at < self.clock.window_end || !self.slots[hop].hop.is_last_shared() {
            return false;
        }
        self.windows.waiting.push(Waiting { at, leg, id });
        true
    }

    /// Returns the next wake-up of the window, after moving all packets that come before it.
    #[inline(always)]
    fn pop_in_window(&mut self) -> Option<(Time, Target)> {
        while let Some(Coming { at, leg, hop, id }) = self.windows.next() {
            if let Some(event) = self.events.pop_before((at, hop)) {
                return Some(event);
            }
            self.windows.come += 1;
            self.clock.advance(at);
            self.statistics.events += 1;
            self.travel(at, id, leg.next());
            self.work();
        }
        self.events.pop_before((self.clock.window_end, 0))
    }

    /// Begins a window with the next wake-up. Returns false if there is none up to `end`.
    #[inline(never)]
    fn open_window(&mut self, end: Time) -> bool {
        let Some((begin, target)) = self.events.pop() else {
            return false;
        };
        self.events.push(begin, target);
        if begin > end {
            return false;
        }
        self.windows.adapt_length();
        let after_all = end + Span::from_nanos(1);
        self.clock.window_end = (begin + self.windows.length).min(after_all);
        self.find_coming();
        self.windows.sort_coming(begin);
        true
    }

    /// Executes the deferred steps at the end of a window, flow by flow.
    #[inline(never)]
    fn take_turns(&mut self) {
        let mut waiting = std::mem::take(&mut self.windows.waiting);
        let flow = |turn: &Waiting| turn.leg.flow();
        self.windows
            .by_flow
            .sort(&mut waiting, self.flows.len(), flow);
        for (number, one) in waiting.iter().enumerate() {
            self.windows.prefetch.fetch(
                &waiting[number..],
                &self.slots,
                &self.flows,
                &self.packets,
            );
            self.travel(one.at, one.id, one.leg.next());
            self.work();
        }
        debug_assert!(
            self.windows.waiting.is_empty(),
            "a turn stays out of others' sight"
        );
        waiting.clear();
        self.windows.waiting = waiting;
    }

    /// Takes the packets that leave within the window out of private hops.
    fn find_coming(&mut self) {
        self.windows.coming.clear();
        self.windows.come = 0;
        let mut wakes = std::mem::take(&mut self.windows.wakes);
        let (named, slots) = (&self.windows.private, self.slots.len());
        let private = |target: Target| {
            let hop = target as usize;
            named.get(hop).copied().unwrap_or(hop < slots)
        };
        self.events
            .drain_before(self.clock.window_end, private, &mut wakes);
        let mut leaving = Vec::with_capacity(SIDE_BY_SIDE);
        for together in wakes.chunks(SIDE_BY_SIDE) {
            for (_, hop) in together {
                prefetch(&self.slots[*hop as usize]);
            }
            leaving.extend(
                together
                    .iter()
                    .filter_map(|(time, hop)| self.take_wake(*time, *hop)),
            );
            while !leaving.is_empty() {
                leaving.retain(|hop| self.take_coming(*hop));
            }
        }
        wakes.clear();
        self.windows.wakes = wakes;
    }

    /// Returns the hop of a wake-up, if packets may be taken from it before their time.
    fn take_wake(&mut self, time: Time, hop: Target) -> Option<Target> {
        let slot = &mut self.slots[hop as usize];
        if slot.hop.is_private() || !slot.hop.knows_ahead() {
            self.events.push(time, hop);
            return None;
        }
        if let Some(first) = slot.hop.first(&self.packets) {
            prefetch(first);
        }
        slot.wake.take(time).then_some(hop)
    }

    /// Takes the next packet that leaves a hop within the window. Returns false if there is none.
    /// Stops at the horizon, where the sampler must find packets in their hops.
    fn take_coming(&mut self, hop: Target) -> bool {
        let last = Time::from_nanos(self.clock.window_end.as_nanos() - 1).min(self.clock.horizon);
        let slot = &mut self.slots[hop as usize];
        let departure = slot.hop.poll_ahead(last, &mut self.packets);
        let Some((at, id)) = departure.packet else {
            slot.wake.set(departure.not_before, hop, &mut self.events);
            return false;
        };
        let leg = Leg::of(&self.packets[id]);
        self.windows.coming.push(Coming { at, leg, hop, id });
        if let Some(next) = slot.hop.first(&self.packets) {
            prefetch(next);
        }
        true
    }
}
