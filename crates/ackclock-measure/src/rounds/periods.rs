//! Periods of a direction, each with its limit: the finished ones, and those that wait.

use super::stretch::Stretch;
use crate::limits::{LimitingFactor, Stillness};
use crate::undecided::{Depends, Undecided};
use std::mem;

/// Most periods that wait for the first ACK. Together they last 3 s or more, as each has at least
/// [`SHORTEST`](super::SHORTEST); whatever comes later still waits for it.
const MOST_UNANSWERED: usize = 300;

/// Periods in order. They wait for a decision, then for the first ACK, then for the next limit.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    /// Periods that are decided when it is known whether the window stands still.
    pub undecided: Undecided,
    /// A round trip after a pause in which data left independently of ACKs. The application limits
    /// it, unless ACKs release more right after it.
    doubted: Option<Stretch>,
    /// True if an ACK of data has been seen.
    answered: bool,
    /// Periods before the first ACK.
    unanswered: Vec<Stretch>,
    stretch: Option<Stretch>,
    finished: Vec<Stretch>,
    /// Time with each limit, in nanoseconds.
    totals: [u64; LimitingFactor::ALL.len()],
}

impl Periods {
    /// Returns the limit of the last period.
    pub fn last_limit(&self) -> Option<LimitingFactor> {
        self.undecided
            .last_limit()
            .or_else(|| Some(self.doubted.or(self.stretch)?.limit))
    }

    /// Keeps a round trip apart, until the next one or a decision tells if the application limits
    /// it.
    pub fn doubt(&mut self, round_trip: Stretch) {
        self.doubted = Some(round_trip);
    }

    /// True if a round trip that is doubted ends at that time.
    pub fn doubts_until(&self, end: u64) -> bool {
        self.doubted.is_some_and(|doubted| doubted.end == end)
    }

    /// Adds the round trip that was doubted.
    pub fn resolve_doubt(&mut self, limit: LimitingFactor) {
        if let Some(doubted) = self.doubted.take() {
            self.append(Stretch { limit, ..doubted });
        }
    }

    /// Decides on the periods that wait, by the band that they end in.
    pub fn decide(&mut self, still: &Stillness) {
        self.resolve_doubt(LimitingFactor::Application);
        for decided in self.undecided.decide(still) {
            self.append(decided);
        }
    }

    /// Adds the next period. It waits if its limit depends on a decision.
    pub fn add(&mut self, next: Stretch, depends: Depends, still: &Stillness) {
        self.resolve_doubt(LimitingFactor::Application);
        if let Some(next) = self.undecided.add(next, depends) {
            self.append(next);
        }
        if self.undecided.is_full() {
            self.decide(still);
        }
    }

    /// Adds a period. As long as nothing was acknowledged, nobody knows how much is in flight, and
    /// so what limits: the period waits for the first ACK.
    fn append(&mut self, next: Stretch) {
        if self.answered {
            return self.push(next);
        }
        self.unanswered.push(next);
        if self.unanswered.len() >= MOST_UNANSWERED {
            self.give_up_answers();
        }
    }

    /// Adds the periods that waited for an ACK in vain.
    fn give_up_answers(&mut self) {
        for period in mem::take(&mut self.unanswered) {
            self.push(Stretch {
                limit: LimitingFactor::Unknown,
                ..period
            });
        }
    }

    fn push(&mut self, next: Stretch) {
        self.totals[next.limit as usize] += next.end - next.start;
        match &mut self.stretch {
            Some(stretch) if stretch.limit == next.limit => stretch.join(&next),
            current => self.finished.extend(current.replace(next)),
        }
    }

    /// Records an ACK of data: periods need not wait for the first one any more.
    pub fn answer(&mut self) {
        if !self.answered {
            self.answered = true;
            let answered = mem::take(&mut self.unanswered);
            answered.into_iter().for_each(|period| self.push(period));
        }
    }

    /// Ends the last period. All decisions must have been made.
    pub fn finish(&mut self) {
        self.give_up_answers();
        self.finished.extend(self.stretch.take());
    }

    /// Takes out the finished periods.
    pub fn take_finished(&mut self) -> std::vec::Drain<'_, Stretch> {
        self.finished.drain(..)
    }

    /// True if there are finished periods.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Returns the main limit and its share of the time. It has the longest total time among the
    /// limits of the network, if these last longer together than any other, else among the others.
    pub fn dominant(&self) -> Option<(LimitingFactor, f64)> {
        let all: u64 = self.totals.iter().sum();
        let total = |limit: LimitingFactor| self.totals[limit as usize];
        let of_network = |limit: LimitingFactor| match limit.is_network() {
            true => LimitingFactor::ALL
                .into_iter()
                .filter(|other| other.is_network())
                .map(total)
                .sum(),
            false => total(limit),
        };
        let longest = LimitingFactor::ALL
            .into_iter()
            .max_by_key(|limit| (of_network(*limit), total(*limit)))?;
        (all > 0).then(|| (longest, self.totals[longest as usize] as f64 / all as f64))
    }
}
