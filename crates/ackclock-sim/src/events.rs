//! The event queue: a calendar queue (Brown, CACM 31(10), 1988). A bucket holds one event and links
//! to its other events, if any, in one slab.
//!
//! Events are ordered by (time, target), whatever the shape of the calendar, so their order depends
//! on the events alone. A push and a pop cost a few nanoseconds each for any number of pending
//! events.

use ackclock_spec::units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of the object to be woken.
pub type Target = u32;

/// A wake-up: ordered by time, then target.
type Event = (u64, Target);

/// Stands for no event. Unlike an `Option`, it is returned in registers.
const NOTHING: Event = (u64::MAX, 0);

/// The valid wake-up of a target, if one is pending; the queue may also hold obsolete ones.
#[derive(Clone, Copy, Debug)]
pub struct Wake(Time);

impl Default for Wake {
    fn default() -> Self {
        Wake(Time::NEVER)
    }
}

impl Wake {
    /// Ensures that `target` is woken at `at` or earlier. An early wake-up is harmless: the target
    /// sets the next one again.
    #[inline]
    pub fn set(&mut self, at: Time, target: Target, events: &mut EventQueue) {
        if at < self.0 {
            self.0 = at;
            events.push(at, target);
        }
    }

    /// Takes a popped wake-up off the record. Returns false if it is obsolete.
    #[inline]
    pub fn take(&mut self, time: Time) -> bool {
        let counts = time == self.0;
        if counts {
            self.0 = Time::NEVER;
        }
        counts
    }
}

/// A [`Wake`] that remembers one obsolete wake-up still in the queue, which can serve again. A
/// sender whose pacing timer expires a thousand times before its retransmission timer keeps one
/// event for the latter.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    next: Wake,
    spare: Time,
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm {
            next: Wake::default(),
            spare: Time::NEVER,
        }
    }
}

impl Alarm {
    /// Acts like [`Wake::set`].
    #[inline]
    pub fn set(&mut self, at: Time, target: Target, events: &mut EventQueue) {
        if at >= self.next.0 {
            return;
        }
        if self.spare.is_never() {
            self.spare = self.next.0;
        }
        self.next.set(at, target, events);
    }

    /// Acts like [`Wake::take`].
    #[inline]
    pub fn take(&mut self, time: Time) -> bool {
        let counts = self.next.take(time);
        if counts {
            self.next.0 = std::mem::replace(&mut self.spare, Time::NEVER);
        }
        counts
    }
}

const NONE: u32 = u32::MAX;
const FEWEST_BUCKETS: usize = 256;
const MOST_BUCKETS: usize = 1 << 18;
/// Stands for an unknown next day.
const UNKNOWN: u64 = 0;
/// Number of pops between two reviews of the calendar's shape.
const REVIEW: u32 = 4096;

/// An event of a bucket, and the position of the bucket's next event in the slab.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: u64,
    target: Target,
    next: u32,
}

impl Node {
    const EMPTY: Node = Node {
        time: NOTHING.0, // the time that is never added
        target: NOTHING.1,
        next: NONE,
    };

    const fn is_empty(&self) -> bool {
        self.time == u64::MAX
    }
    const fn event(&self) -> Event {
        (self.time, self.target)
    }
}

/// The event queue.
#[derive(Debug)]
pub struct EventQueue {
    /// The event last added to each bucket. A bucket holds one `width` of time, of the
    /// `buckets.len()` that follow `day`.
    buckets: Vec<Node>,
    /// The slab: all other events of buckets.
    nodes: Vec<Node>,
    free: u32,
    occupied: Vec<u64>,
    /// A bucket is 2^shift nanoseconds wide.
    shift: u32,
    /// The bucket being drained, counted from time zero. All earlier events have been popped.
    day: u64,
    /// The remaining events of that bucket, last event first.
    today: Vec<Event>,
    /// Events beyond the calendar's last bucket.
    later: BinaryHeap<Reverse<Event>>,
    /// Day of the first event in `later`, `u64::MAX` if there is none.
    later_day: u64,
    /// Day of the calendar's first bucket with events after the one being drained; `UNKNOWN` until
    /// it is needed.
    next_day: u64,
    /// Least number of nanoseconds that the calendar must cover.
    least_reach: u64,
    pending: usize,
    pops: u32,
    days_opened: u32,
    pushed_later: u32,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            nodes: Vec::new(),
            free: NONE,
            buckets: vec![Node::EMPTY; FEWEST_BUCKETS],
            occupied: vec![0; FEWEST_BUCKETS / 64],
            shift: 13,
            day: 0,
            today: Vec::new(),
            later: BinaryHeap::new(),
            later_day: u64::MAX,
            next_day: UNKNOWN,
            least_reach: 0,
            pending: 0,
            pops: 0,
            days_opened: 0,
            pushed_later: 0,
        }
    }
}

impl EventQueue {
    /// Adds a wake-up. `time` must not be before the last popped one; [`Time::NEVER`] is not added.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        if time.is_never() {
            return;
        }
        self.pending += 1;
        self.place((time.as_nanos(), target));
    }

    /// Pops the earliest wake-up; among several at the same time, the one with the lowest target.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let (time, target) = match self.today.pop() {
            Some(event) => event,
            None => self.open_next_day(),
        };
        if time == NOTHING.0 {
            return None;
        }
        self.pending -= 1;
        self.pops += 1;
        if self.pops >= REVIEW {
            self.review();
        }
        Some((Time::from_nanos(time), target))
    }

    /// Pops the earliest wake-up like [`EventQueue::pop`], if it comes before `limit`.
    #[inline(always)]
    pub fn pop_before(&mut self, limit: (Time, Target)) -> Option<(Time, Target)> {
        if self.today.is_empty() {
            if self.next_day == UNKNOWN {
                self.next_day = self.next_occupied_day(self.day);
            }
            if limit.0.as_nanos() >> self.shift < self.next_day.min(self.later_day) {
                return None;
            }
        }
        let event = self.pop()?;
        if event < limit {
            return Some(event);
        }
        self.push(event.0, event.1);
        None
    }

    /// Takes out wake-ups of the targets that are `wanted` before `end`, in any order. Some may
    /// stay, to be popped: those of the current day, of the last day, and of days beyond the
    /// calendar.
    pub fn drain_before(
        &mut self,
        end: Time,
        wanted: impl Fn(Target) -> bool,
        drained: &mut Vec<(Time, Target)>,
    ) {
        let end = (end.as_nanos() >> self.shift).min(self.day + self.buckets.len() as u64);
        let mut day = self.next_occupied_day(self.day);
        while day < end {
            let bucket = day as usize & (self.buckets.len() - 1);
            let mut node = std::mem::replace(&mut self.buckets[bucket], Node::EMPTY);
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
            while !node.is_empty() {
                let next = self.release_slot(node.next);
                if wanted(node.target) {
                    self.pending -= 1;
                    self.pops += 1;
                    drained.push((Time::from_nanos(node.time), node.target));
                } else {
                    self.place(node.event());
                }
                node = next;
            }
            self.days_opened += 1;
            // The search wraps around, so an event left behind is taken for one beyond `end`.
            day = self.next_occupied_day(day);
        }
        self.next_day = UNKNOWN;
        if self.pops >= REVIEW {
            self.review();
        }
    }

    /// Ensures that the calendar always covers that much time, for [`EventQueue::drain_before`].
    pub fn keep_reach(&mut self, reach: Span) {
        self.least_reach = reach.as_nanos();
        self.review();
    }

    /// Returns the number of pending wake-ups.
    pub const fn len(&self) -> usize {
        self.pending
    }
    /// True if no wake-up is pending.
    pub const fn is_empty(&self) -> bool {
        self.pending == 0
    }

    #[inline(always)]
    fn place(&mut self, event: Event) {
        let day = event.0 >> self.shift;
        if day <= self.day {
            let position = self.today.partition_point(|other| *other > event);
            self.today.insert(position, event);
        } else if day - self.day < self.buckets.len() as u64 {
            let bucket = day as usize & (self.buckets.len() - 1);
            let former = self.buckets[bucket];
            let next = if former.is_empty() {
                self.occupied[bucket / 64] |= 1 << (bucket % 64);
                self.next_day = self.next_day.min(day);
                NONE
            } else {
                self.take_slot(former)
            };
            self.buckets[bucket] = Node {
                time: event.0,
                target: event.1,
                next,
            };
        } else {
            self.pushed_later += 1;
            self.later_day = self.later_day.min(day);
            self.later.push(Reverse(event));
        }
    }

    fn take_slot(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.nodes[slot as usize].next;
        self.nodes[slot as usize] = node;
        slot
    }

    /// Advances to the next day with events and takes its first.
    #[inline(always)]
    fn open_next_day(&mut self) -> Event {
        self.days_opened += 1;
        self.next_day = UNKNOWN;
        let day = self.next_occupied_day(self.day).min(self.later_day);
        if day == u64::MAX {
            return NOTHING;
        }
        self.day = day;
        let bucket = day as usize & (self.buckets.len() - 1);
        let first = std::mem::replace(&mut self.buckets[bucket], Node::EMPTY);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if first.next == NONE && self.later_day - day >= self.buckets.len() as u64 {
            return first.event(); // the only event of the day
        }
        self.fill_today(first)
    }

    /// Moves the events of the opened bucket to `today`, brings in events that are now within the
    /// calendar, and returns the first of today's.
    #[inline(never)]
    fn fill_today(&mut self, first: Node) -> Event {
        let mut node = first;
        while !node.is_empty() {
            self.today.push(node.event());
            node = self.release_slot(node.next);
        }
        self.today.sort_unstable_by(|a, b| b.cmp(a));
        let reach = self.buckets.len() as u64;
        while let Some(Reverse(event)) = self.later.peek().copied()
            && (event.0 >> self.shift) - self.day < reach
        {
            self.later.pop();
            self.place(event);
        }
        self.find_later_day();
        self.today.pop().unwrap_or(NOTHING)
    }

    /// Takes a node out of the slab; an empty one if `slot` is `NONE`.
    fn release_slot(&mut self, slot: u32) -> Node {
        let Some(node) = self.nodes.get_mut(slot as usize) else {
            return Node::EMPTY;
        };
        let taken = *node;
        node.next = std::mem::replace(&mut self.free, slot);
        taken
    }

    fn find_later_day(&mut self) {
        self.later_day = self
            .later
            .peek()
            .map_or(u64::MAX, |Reverse((time, _))| time >> self.shift);
    }

    /// Returns the day of the bitmap's next set bit after `day`, wrapping around; `u64::MAX` if
    /// there is none.
    #[inline(always)]
    fn next_occupied_day(&self, day: u64) -> u64 {
        let mask = self.buckets.len() - 1;
        let start = (day as usize + 1) & mask;
        let first = self.occupied[start / 64] & (u64::MAX << (start % 64));
        let day_of = |word: usize, bits: u64| {
            let bucket = word * 64 + bits.trailing_zeros() as usize;
            day + 1 + (bucket.wrapping_sub(start) & mask) as u64
        };
        if first != 0 {
            return day_of(start / 64, first);
        }
        match self.next_occupied_word(start / 64) {
            Some(word) => day_of(word, self.occupied[word]),
            None => u64::MAX,
        }
    }

    /// Returns the bitmap's next word after `word` with a set bit, wrapping around up to `word`
    /// itself.
    #[inline(never)]
    fn next_occupied_word(&self, word: usize) -> Option<usize> {
        let words = self.occupied.len();
        (1..=words)
            .map(|step| (word + step) & (words - 1)) // `words` is a power of two
            .find(|word| self.occupied[*word] != 0)
    }

    /// Reshapes the calendar when days hold too many events or too many events lie beyond it.
    fn review(&mut self) {
        // The only event of a day need not be sorted among others, so about one event per day is
        // best.
        let crowded = 2 * self.pops > 3 * self.days_opened && self.shift > 0;
        let short = self.pushed_later > self.pops / 8;
        let wanted = (2 * self.pending)
            .next_power_of_two()
            .clamp(FEWEST_BUCKETS, MOST_BUCKETS);
        let (mut shift, mut buckets) = (self.shift, self.buckets.len());
        if wanted > buckets || wanted < buckets / 8 {
            buckets = wanted;
        }
        if crowded {
            shift -= 1;
        }
        if short && crowded {
            shift += 1;
            buckets = (2 * buckets).min(MOST_BUCKETS);
        } else if short && shift < 62 {
            shift += 1;
        }
        while self.least_reach >> shift > buckets as u64 {
            shift += 1;
        }
        (self.pops, self.days_opened, self.pushed_later) = (0, 0, 0);
        if (shift, buckets) != (self.shift, self.buckets.len()) {
            self.rebuild(shift, buckets);
        }
    }

    fn rebuild(&mut self, shift: u32, buckets: usize) {
        let mut events: Vec<Event> = std::mem::take(&mut self.today);
        for first in std::mem::take(&mut self.buckets) {
            let mut node = first;
            while !node.is_empty() {
                events.push(node.event());
                node = self
                    .nodes
                    .get(node.next as usize)
                    .copied()
                    .unwrap_or(Node::EMPTY);
            }
        }
        events.extend(
            std::mem::take(&mut self.later)
                .into_iter()
                .map(|Reverse(event)| event),
        );
        // The current day must not move beyond the next event's day; events still to be pushed may
        // come before that event.
        self.day = (self.day << self.shift) >> shift;
        self.next_day = UNKNOWN;
        self.nodes.clear();
        self.free = NONE;
        self.buckets = vec![Node::EMPTY; buckets];
        self.later_day = u64::MAX;
        self.occupied = vec![0; buckets / 64];
        self.shift = shift;
        for event in events {
            self.place(event);
        }
        self.pushed_later = 0;
    }
}

#[cfg(test)]
mod tests;
