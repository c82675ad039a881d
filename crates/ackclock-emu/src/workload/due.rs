//! Timers of the flows.

use ackclock_spec::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One timer per flow, ordered by time. A flow may change its timer at any time: entries of the
/// heap that differ from the table are outdated.
#[derive(Debug)]
pub(super) struct Due {
    at: Vec<Time>,
    heap: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Due {
    /// Creates timers for `flows` flows, none of which is set.
    pub(super) fn new(flows: usize) -> Self {
        Due {
            at: vec![Time::NEVER; flows],
            heap: BinaryHeap::with_capacity(flows),
        }
    }

    /// Sets the timer of a flow; [`Time::NEVER`] clears it.
    pub(super) fn set(&mut self, flow: usize, at: Time) {
        if self.at[flow] != at {
            self.at[flow] = at;
            if !at.is_never() {
                self.heap.push(Reverse((at, flow)));
            }
        }
    }

    /// Returns the next time; [`Time::NEVER`] if no timer is set.
    pub(super) fn next(&mut self) -> Time {
        while let Some(Reverse((at, flow))) = self.heap.peek().copied() {
            if self.at[flow] == at {
                return at;
            }
            self.heap.pop();
        }
        Time::NEVER
    }

    /// Returns the flow whose timer expires first, if it has expired, and clears its timer.
    pub(super) fn pop(&mut self, now: Time) -> Option<usize> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, flow)) = self.heap.pop()?;
        self.at[flow] = Time::NEVER;
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn flows_come_in_the_order_of_their_last_word() {
        let mut due = Due::new(3);
        assert_eq!((due.next(), due.pop(at(1000))), (Time::NEVER, None));
        for (flow, moment) in [(0, 5), (1, 7), (2, 6)] {
            due.set(flow, at(moment));
        }
        due.set(0, at(9)); // later
        due.set(1, at(4)); // sooner
        due.set(2, Time::NEVER); // not at all
        assert_eq!((due.next(), due.pop(at(3))), (at(4), None));
        assert_eq!((due.pop(at(8)), due.pop(at(8))), (Some(1), None));
        due.set(1, at(10));
        due.set(1, at(4)); // the same time as before
        assert_eq!([(); 3].map(|()| due.pop(at(20))), [Some(1), Some(0), None]);
        assert_eq!(due.next(), Time::NEVER);
    }

    #[test]
    fn what_is_said_often_is_done_once() {
        let mut due = Due::new(1);
        for moment in (1..100).rev() {
            due.set(0, at(moment));
        }
        assert_eq!((due.pop(at(100)), due.pop(at(100))), (Some(0), None));
        assert!(
            due.heap.is_empty(),
            "nothing out of date is kept beyond its time"
        );
    }
}
