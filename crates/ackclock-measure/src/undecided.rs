//! Periods that wait for the decision what limits them.

use crate::limits::{LimitingFactor, STILL_ROUNDS, Stillness, judge_still};
use crate::rounds::Stretch;

/// Largest number of periods that wait, so that memory is bounded.
const MOST: usize = 1_024;

/// The decision that a limit depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depends {
    /// None: the limit is certain, and only waits for the periods before it.
    Nothing,
    /// Whether the window stands still.
    Stillness,
    /// Whether the growth of the window ends where it stands still.
    Growth,
}

/// Periods in order; the first is not certain.
#[derive(Clone, Debug, Default)]
pub struct Undecided {
    periods: Vec<(Stretch, Depends)>,
}

impl Undecided {
    /// Returns the limit of the last period.
    pub fn last_limit(&self) -> Option<LimitingFactor> {
        self.periods.last().map(|(stretch, _)| stretch.limit)
    }

    /// Adds the next period. Returns it if it need not wait.
    pub fn add(&mut self, next: Stretch, depends: Depends) -> Option<Stretch> {
        match self.periods.last_mut() {
            Some((last, same)) if last.limit == next.limit && *same == depends => last.join(&next),
            None if depends == Depends::Nothing => return Some(next),
            _ => self.periods.push((next, depends)),
        }
        None
    }

    /// True if no more periods may wait.
    pub fn is_full(&self) -> bool {
        self.periods.len() > MOST
    }

    /// Records that the window has grown out of the band in which it might have stood still.
    pub fn grow(&mut self) {
        for (_, depends) in &mut self.periods {
            if *depends == Depends::Stillness {
                *depends = Depends::Growth;
            }
        }
    }

    /// Takes out the periods, decided by the band that they end in.
    ///
    /// Whatever holds the window where it stands still may have held it while it grew: a send
    /// buffer grows with the size of what it holds. So if that is not the congestion window, the
    /// limit of the growth is unknown.
    pub fn decide(&mut self, still: &Stillness) -> impl Iterator<Item = Stretch> + use<> {
        let limit = judge_still(still);
        let lasts = |of: Depends| -> u64 {
            let those = self.periods.iter().filter(|(_, depends)| *depends == of);
            those.map(|(stretch, _)| stretch.end - stretch.start).sum()
        };
        let stands = still.rounds >= STILL_ROUNDS
            && limit != LimitingFactor::CongestionWindow
            && lasts(Depends::Stillness) > lasts(Depends::Nothing);
        let decided = move |(stretch, depends): (Stretch, Depends)| {
            let limit = match depends {
                Depends::Stillness => limit,
                Depends::Growth if stands => LimitingFactor::Unknown,
                Depends::Growth | Depends::Nothing => stretch.limit,
            };
            Stretch { limit, ..stretch }
        };
        std::mem::take(&mut self.periods).into_iter().map(decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sums;
    use ackclock_core::units::Span;

    const fn period(start: u64, end: u64, limit: LimitingFactor) -> Stretch {
        Stretch {
            start,
            end,
            limit,
            sums: Sums::NONE,
        }
    }

    /// A window that stands still, with neither the packets of a buffer nor of an application.
    const STANDS: Stillness = Stillness {
        rounds: STILL_ROUNDS,
        lasted: Span::from_millis(1_000),
        after_loss: false,
        sent: 100,
        near: 100,
        told: 100,
        prompt: 50,
        late: 10,
    };

    /// Decides on a slow start up to 2, then a congestion window up to 9, which has stood still
    /// since 4, with a certain period up to `certain`.
    fn decided(still: &Stillness, certain: u64) -> Vec<(u64, &'static str)> {
        use LimitingFactor::{BottleneckRate, CongestionWindow, SlowStart};
        let mut undecided = Undecided::default();
        let first = period(0, 1, SlowStart);
        assert_eq!(undecided.add(first, Depends::Nothing), Some(first));
        assert_eq!(
            undecided.add(period(1, 2, SlowStart), Depends::Growth),
            None
        );
        let window = |start, end| (period(start, end, CongestionWindow), Depends::Stillness);
        for (next, depends) in [window(2, 3), window(3, 4)] {
            assert_eq!(undecided.add(next, depends), None);
        }
        undecided.grow();
        let (next, depends) = window(4, 9);
        undecided.add(next, depends);
        undecided.add(period(9, certain, BottleneckRate), Depends::Nothing);
        let told = undecided.decide(still);
        told.map(|one| (one.end, one.limit.name())).collect()
    }

    #[test]
    fn growth_is_decided_by_where_it_ends() {
        let unknown = [
            (2, "unknown"),
            (4, "unknown"),
            (9, "unknown"),
            (10, "bottleneck_rate"),
        ];
        assert_eq!(decided(&STANDS, 10), unknown);
        let grows = Stillness {
            rounds: STILL_ROUNDS - 1,
            ..STANDS
        };
        let as_it_seems = [
            (2, "slow_start"),
            (4, "congestion_window"),
            (9, "congestion_window"),
            (10, "bottleneck_rate"),
        ];
        assert_eq!(decided(&grows, 10), as_it_seems);
    }

    #[test]
    fn growth_that_ends_at_a_certain_limit_is_as_it_seems() {
        let told = decided(&STANDS, 20);
        assert_eq!(told[..2], [(2, "slow_start"), (4, "congestion_window")]);
    }
}
