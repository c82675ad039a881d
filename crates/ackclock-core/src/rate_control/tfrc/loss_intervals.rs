//! The lengths of loss intervals and their weighted mean (RFC 5348 sections 5.3 to 5.5).

use crate::units::Time;
use std::collections::VecDeque;

/// How loss intervals are weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// n: how many intervals count.
    pub intervals: usize,
    /// THRESHOLD of history discounting: the smallest discount factor; 1 for none.
    pub discount_floor: f64,
}

/// Where a loss event begins, and with it a loss interval.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// S: the first packet lost or marked in it.
    pub number: u64,
    /// T: when that packet arrived, or would have.
    pub at: Time,
    /// DF_i of the interval that begins here.
    discount: f64,
}

/// The last n loss intervals and the current one.
#[derive(Debug)]
pub struct LossIntervals {
    weighing: Weighing,
    /// The latest first, at most n + 1.
    starts: VecDeque<Start>,
    /// The made-up interval before the first loss event, in packets, and its DF_i (section 6.3.1);
    /// none once it is forgotten.
    first: Option<(f64, f64)>,
    /// DF, as of the last arrival.
    discount: f64,
    /// Twice the mean of the intervals before the current one, beyond which DF is less than one. It
    /// changes with loss events only; packets are many more.
    twice_mean: f64,
}

impl LossIntervals {
    /// Before the first loss event.
    pub const fn new(weighing: Weighing) -> Self {
        LossIntervals {
            weighing,
            starts: VecDeque::new(),
            first: None,
            discount: 1.0,
            twice_mean: f64::INFINITY,
        }
    }

    /// The start of the last loss event.
    pub fn latest(&self) -> Option<Start> {
        self.starts.front().copied()
    }
    /// The start of the oldest one that is remembered.
    pub fn oldest(&self) -> Option<Start> {
        self.starts.back().copied()
    }

    /// How many loss events are remembered.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The first loss event is preceded by an interval that is made up, of so many packets.
    pub fn begin_with(&mut self, first_interval: f64) {
        self.first = Some((first_interval, 1.0));
    }

    /// A loss event has begun.
    pub fn begin(&mut self, number: u64, at: Time) {
        // DF enters the factors of the intervals before the current one (section 5.5); then all
        // move by one.
        for start in self.starts.iter_mut().skip(1) {
            start.discount *= self.discount;
        }
        if let (Some((_, discount)), false) = (&mut self.first, self.starts.is_empty()) {
            *discount *= self.discount;
        }
        self.discount = 1.0;
        self.starts.push_front(Start {
            number,
            at,
            discount: 1.0,
        });
        self.starts.truncate(self.weighing.intervals + 1);
        if self.starts.len() > self.weighing.intervals {
            self.first = None;
        }
        self.weigh();
    }

    /// The event that began there is no event, because the packet has arrived after all: forgets it
    /// and those after it, so that they can be begun anew. Nothing if none began there.
    pub fn forget_from(&mut self, number: u64) -> Option<Forgotten> {
        let index = self
            .starts
            .iter()
            .position(|start| start.number == number)?;
        let forgotten = self.starts.drain(..=index).rev();
        let discounts = forgotten.map(|start| start.discount).collect();
        let before = self.first.map(|(_, discount)| discount);
        let discount = std::mem::replace(&mut self.discount, 1.0);
        Some(Forgotten {
            kept: self.starts.len(),
            discounts,
            before,
            discount,
        })
    }

    /// The events after what was forgotten have been begun anew: they take the factors of those in
    /// whose place they stand. RFC 5348 does not say which factor two intervals have that become
    /// one.
    pub fn restore(&mut self, forgotten: &Forgotten) {
        let anew = self.starts.len() - forgotten.kept;
        let discounts = forgotten.discounts.iter();
        for (start, discount) in self.starts.iter_mut().take(anew).rev().zip(discounts) {
            start.discount = *discount;
        }
        if let Some(current) = self.starts.front_mut() {
            current.discount = 1.0;
        }
        if let (Some((_, discount)), Some(before)) = (&mut self.first, forgotten.before) {
            *discount = before;
        }
        self.discount = forgotten.discount;
        if self.starts.is_empty() {
            self.first = None;
            self.discount = 1.0;
        }
        self.weigh();
    }

    /// I_0 in packets, where `highest` is the highest number that has arrived.
    fn current(&self, highest: u64) -> Option<f64> {
        let start = self.latest()?;
        Some((highest.saturating_add(1) - start.number) as f64)
    }

    /// I_1, I_2, … in packets, each with its DF_i.
    fn past(&self) -> impl Iterator<Item = (f64, f64)> {
        let ends = self.starts.iter().map(|start| start.number);
        let real = self
            .starts
            .iter()
            .skip(1)
            .zip(ends)
            .map(|(start, end)| ((end - start.number) as f64, start.discount));
        let first = self.first.filter(|_| !self.starts.is_empty());
        real.chain(first).take(self.weighing.intervals)
    }

    /// w_i.
    fn weight(&self, i: usize) -> f64 {
        let (i, n) = (i as f64, self.weighing.intervals as f64);
        if i < n / 2.0 {
            1.0
        } else {
            2.0 * (n - i) / (n + 2.0)
        }
    }

    /// Total length and total weight of the intervals before the current one.
    fn past_total(&self) -> (f64, f64) {
        let past = self.past().enumerate();
        past.fold((0.0, 0.0), |(length, weight), (i, (interval, discount))| {
            let w = self.weight(i) * discount;
            (length + interval * w, weight + w)
        })
    }

    /// The intervals before the current one have changed.
    fn weigh(&mut self) {
        let (length, weight) = self.past_total();
        self.twice_mean = if weight > 0.0 {
            2.0 * length / weight
        } else {
            f64::INFINITY
        };
    }

    /// A packet has arrived: updates DF.
    pub fn discount(&mut self, highest: u64) {
        let Some(current) = self.current(highest) else {
            return;
        };
        self.discount = if current > self.twice_mean {
            (self.twice_mean / current).max(self.weighing.discount_floor)
        } else {
            1.0
        };
    }

    /// p: zero before the first loss event.
    pub fn loss_event_rate(&self, highest: u64) -> f64 {
        let Some(current) = self.current(highest) else {
            return 0.0;
        };
        let (past_length, past_weight) = self.past_total();
        // The last one has left the window when the current one has entered it.
        let others = self.past().count().saturating_sub(1);
        let with_current = self.past().take(others).enumerate();
        let (length, weight) = with_current.fold(
            (current, 1.0),
            |(length, weight), (i, (interval, discount))| {
                let w = self.weight(i + 1) * discount * self.discount;
                (length + interval * w, weight + w)
            },
        );
        let p = if past_weight > 0.0 {
            (weight / length).min(past_weight / past_length)
        } else {
            weight / length
        };
        p.min(1.0)
    }

    #[cfg(test)]
    pub fn lengths_and_discounts(&self, highest: u64) -> Vec<(f64, f64)> {
        let current = self
            .current(highest)
            .map(|length| (length, self.starts[0].discount));
        current.into_iter().chain(self.past()).collect()
    }
}

/// What is needed to begin forgotten events anew.
#[derive(Debug)]
pub struct Forgotten {
    /// How many older events stay.
    kept: usize,
    /// DF_i of those forgotten, the oldest first.
    discounts: Vec<f64>,
    before: Option<f64>,
    discount: f64,
}
