//! The lengths of loss intervals and their weighted mean (RFC 5348 sections 5.3 to 5.5).

use ackclock_spec::units::Time;
use std::collections::VecDeque;

/// Weights of loss intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// n: number of intervals that count.
    pub intervals: usize,
    /// THRESHOLD of history discounting: the smallest discount factor; 1 for none.
    pub discount_floor: f64,
}

/// The start of a loss event, and of its loss interval.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// S: the first packet of it that was lost or marked.
    pub number: u64,
    /// T: the time at which that packet arrived or would have arrived.
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
    /// The synthetic interval before the first loss event, in packets, and its DF_i (section
    /// 6.3.1); `None` once it is discarded.
    first: Option<(f64, f64)>,
    /// DF at the last arrival.
    discount: f64,
    /// Twice the mean of the intervals before the current one, beyond which DF is below one. It
    /// changes only with loss events, which are far fewer than packets.
    twice_mean: f64,
}

impl LossIntervals {
    /// An empty history, before the first loss event.
    pub const fn new(weighing: Weighing) -> Self {
        LossIntervals {
            weighing,
            starts: VecDeque::new(),
            first: None,
            discount: 1.0,
            twice_mean: f64::INFINITY,
        }
    }

    /// Returns the start of the last loss event.
    pub fn latest(&self) -> Option<Start> {
        self.starts.front().copied()
    }
    /// Returns the start of the oldest loss event kept.
    pub fn oldest(&self) -> Option<Start> {
        self.starts.back().copied()
    }

    /// Returns the number of loss events kept.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Sets the length of the synthetic interval before the first loss event, in packets.
    pub fn begin_with(&mut self, first_interval: f64) {
        self.first = Some((first_interval, 1.0));
    }

    /// Begins a loss event.
    pub fn begin(&mut self, number: u64, at: Time) {
        // DF multiplies the factors of the intervals before the current one (section 5.5); then all
        // shift by one.
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

    /// Removes the event that began at `number`, because the packet has arrived after all, and all
    /// events after it, so that they can be rebuilt. Does nothing if none began there.
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

    /// Restores the discount factors after the removed events were rebuilt: each takes the factor
    /// of the event it replaces. RFC 5348 does not say which factor applies when two intervals
    /// merge.
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

    /// Returns I_0 in packets; `highest` is the highest number that has arrived.
    fn current(&self, highest: u64) -> Option<f64> {
        let start = self.latest()?;
        Some((highest.saturating_add(1) - start.number) as f64)
    }

    /// Returns I_1, I_2, … in packets, each with its DF_i.
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

    /// Returns w_i.
    fn weight(&self, i: usize) -> f64 {
        let (i, n) = (i as f64, self.weighing.intervals as f64);
        if i < n / 2.0 {
            1.0
        } else {
            2.0 * (n - i) / (n + 2.0)
        }
    }

    /// Returns the total length and weight of the intervals before the current one.
    fn past_total(&self) -> (f64, f64) {
        let past = self.past().enumerate();
        past.fold((0.0, 0.0), |(length, weight), (i, (interval, discount))| {
            let w = self.weight(i) * discount;
            (length + interval * w, weight + w)
        })
    }

    /// Updates the mean after the intervals before the current one have changed.
    fn weigh(&mut self) {
        let (length, weight) = self.past_total();
        self.twice_mean = if weight > 0.0 {
            2.0 * length / weight
        } else {
            f64::INFINITY
        };
    }

    /// Updates DF after an arrival.
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

    /// Returns p: zero before the first loss event.
    pub fn loss_event_rate(&self, highest: u64) -> f64 {
        let Some(current) = self.current(highest) else {
            return 0.0;
        };
        let (past_length, past_weight) = self.past_total();
        // The last interval leaves the window when the current one enters it.
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

/// The state needed to rebuild removed events.
#[derive(Debug)]
pub struct Forgotten {
    /// Number of older events kept.
    kept: usize,
    /// DF_i of the removed events, the oldest first.
    discounts: Vec<f64>,
    before: Option<f64>,
    discount: f64,
}
