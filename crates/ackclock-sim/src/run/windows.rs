//! Windows of time: with many flows, work is done flow by flow and not event by event.
//!
//! With ten thousand flows the next event is nearly always another flow's, whose state is in no
//! cache of the processor. But what leaves the last hop that others can see concerns its flow alone
//! until it comes to the next such hop, and that is never sooner than the propagation delay it has
//! just begun. So time is cut into windows no longer than the least such delay (conservative
//! lookahead: Chandy and Misra, IEEE TSE 5(5), 1979). At a window's beginning most packets that
//! will come to a shared hop in it are known: they are taken out of private hops, put in order, and
//! pass the shared hops one after the other. What follows is deferred to the window's end, and then
//! done flow by flow.
//!
//! The order at shared hops, and of what happens to one flow, is that of a run without windows.
//! Only what two flows do out of each other's sight changes places.

use super::leg::Leg;
use super::{QUESTION_EVERY, Run, Supervisor};
use crate::counting_sort::CountingSort;
use crate::events::Target;
use crate::hop_slot::HopSlot;
use crate::prefetch::prefetch;
use crate::prefetch_pipeline::{PrefetchPipeline, Turn};
use crate::samples::Sampler;
use crate::trace::Trace;
use ackclock_core::packet::PacketId;
use ackclock_core::routes::Routes;
use ackclock_core::units::{Span, Time};

/// With fewer flows windows are not worth their sorting.
const MANY_FLOWS: usize = 200;

/// Windows in which more packets come are made shorter: they cost memory, and caches hold no more.
const MANY_PACKETS: usize = 1 << 17;

/// How many hops are drained side by side, so that they wait for memory together.
const SIDE_BY_SIDE: usize = 16;

/// A packet that comes to a shared hop in the window at `at`, out of `hop`.
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

/// The windows of a run and the lists they are worked off with.
#[derive(Debug)]
pub(super) struct Windows {
    /// How long a window may be, and how long the next will be.
    longest: Span,
    length: Span,
    /// The lowest number of a private hop; those above are private too.
    first_private: usize,
    coming: Vec<Coming>,
    /// How many of them have come.
    come: usize,
    waiting: Vec<Waiting>,
    by_time: CountingSort<Coming>,
    by_flow: CountingSort<Waiting>,
    /// Wake-ups of private hops, taken out of the event queue.
    wakes: Vec<(Time, Target)>,
    prefetch: PrefetchPipeline,
}

impl Windows {
    /// Windows for a run, if it has any.
    pub(super) fn new(routes: &Routes, slots: &[HopSlot], traced: bool) -> Self {
        let first_private = routes.shared_hops();
        let shared = slots[..first_private].iter();
        let followed = shared.filter(|slot| slot.hop.is_private());
        let longest = followed.map(|slot| slot.hop.delay()).min();
        let longest =
            longest.filter(|delay| *delay > Span::ZERO && routes.flows() >= MANY_FLOWS && !traced);
        Windows {
            longest: longest.unwrap_or_default(),
            length: longest.unwrap_or_default(),
            first_private,
            coming: Vec::new(),
            come: 0,
            waiting: Vec::new(),
            by_time: CountingSort::default(),
            by_flow: CountingSort::default(),
            wakes: Vec::new(),
            prefetch: PrefetchPipeline::new(routes),
        }
    }

    /// Whether the run is cut into windows.
    pub(super) fn are_any(&self) -> bool {
        self.longest > Span::ZERO
    }

    /// How far ahead wake-ups should be at hand: a few windows.
    pub(super) fn reach(&self) -> Span {
        self.longest * 4
    }

    fn next(&self) -> Option<Coming> {
        self.coming.get(self.come).copied()
    }

    /// Half as long after a window in which too many came, longer again after one with few.
    fn adapt_length(&mut self) {
        if self.coming.len() > MANY_PACKETS {
            self.length = (self.length / 2).max(Span::from_nanos(1));
        } else if self.coming.len() < MANY_PACKETS / 4 {
            self.length = (self.length * 2).min(self.longest);
        }
    }

    /// Puts in order who comes; out of one hop, they are already.
    fn sort_coming(&mut self, begin: Time) {
        let share = self.length.as_nanos() / (self.coming.len() as u64 + 1);
        let shift = share.max(1).ilog2();
        let slice = |one: &Coming| (one.at.since(begin).as_nanos() >> shift) as usize;
        let slices = (self.length.as_nanos() >> shift) as usize + 1;
        self.by_time.sort(&mut self.coming, slices, slice);
        for together in self.coming.chunk_by_mut(|a, b| slice(a) == slice(b)) {
            together.sort_by_key(|one| (one.at, one.hop));
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
        let mut asked = 0;
        while self.open_window(end) {
            while let Some((time, target)) = self.pop_in_window() {
                self.handle_in_window(time, target, end, sampler);
            }
            self.take_turns();
            // Only now is every packet in its hop.
            if self.statistics.events - asked >= QUESTION_EVERY {
                asked = self.statistics.events;
                if !supervisor.proceed(self.clock.now) {
                    return false;
                }
            }
        }
        true
    }

    /// [`Run::handle`].
    #[inline(never)] // it stays out of the way of the packets, which are more
    fn handle_in_window(&mut self, time: Time, target: Target, end: Time, sampler: &mut Sampler) {
        self.handle(time, target, end, sampler);
    }

    /// Whether a packet that left a hop at `at` can be deferred to its flow's turn; then it is.
    #[inline(always)]
    pub(super) fn defer(&mut self, at: Time, hop: usize, id: PacketId, leg: Leg) -> bool {
        let waits = at >= self.clock.window_end && hop < self.windows.first_private;
        if T::ON || !waits || !self.slots[hop].hop.is_private() {
            return false;
        }
        self.windows.waiting.push(Waiting { at, leg, id });
        true
    }

    /// The next wake-up of the window, after all that come before it have come.
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

    /// Begins a window with the next wake-up; `false` if there is none up to `end`.
    #[inline(never)]
    fn open_window(&mut self, end: Time) -> bool {
        let next = self.events.pop().filter(|(time, _)| *time <= end);
        let Some((begin, target)) = next else {
            return false;
        };
        self.events.push(begin, target);
        self.windows.adapt_length();
        let after_all = end + Span::from_nanos(1);
        self.clock.window_end = (begin + self.windows.length).min(after_all);
        self.find_coming();
        self.windows.sort_coming(begin);
        true
    }

    /// Carries out at a window's end what has been deferred, flow by flow.
    #[inline(never)]
    fn take_turns(&mut self) {
        let mut waiting = std::mem::take(&mut self.windows.waiting);
        let flow = |one: &Waiting| one.leg.flow();
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

    /// Takes what leaves within the window out of private hops.
    fn find_coming(&mut self) {
        self.windows.coming.clear();
        self.windows.come = 0;
        let mut wakes = std::mem::take(&mut self.windows.wakes);
        let private = self.windows.first_private as Target..self.slots.len() as Target;
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

    /// The hop of a wake-up, if what leaves it may be taken before its time.
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

    /// Takes the next packet that leaves a hop within the window; `false` if there is none. Not
    /// beyond the horizon: the sampler wants to find it in its hop.
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
