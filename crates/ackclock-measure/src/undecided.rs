//! Periods that wait for the decision what limits them.

use crate::limits::{LimitingFactor, STILL_ROUNDS, Stillness, judge_still};
use crate::rounds::Stretch;

/// Largest number of periods that wait, so that memory is bounded.
const MOST: usize = 1_024;

/// The decision that a limit depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depends {
    /// No decision: the limit is certain, and only waits for the periods before it.
    Nothing,
    /// The window stands still or not.
    Stillness,
    /// The same, but the congestion window had room: if it does not stand still, the limit is
    /// unknown.
    Room,
    /// The growth of the window ends where it stands still, or not.
    Growth,
}

/// Periods in order; the first is not certain.
#[derive(Clone, Debug, Default)]
pub struct Undecided {
    periods: Vec<(Stretch, Depends)>,
    /// True if something else than the congestion window has held the window. Then that has room,
    /// and is not known to be the limit of the periods that follow.
    has_room: bool,
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

    /// Records that the congestion window was reduced, or may have shrunk in a pause.
    pub fn shrink(&mut self) {
        self.has_room = false;
    }

    /// Records that the window has grown out of the band in which it might have stood still.
    pub fn grow(&mut self) {
        for (stretch, depends) in &mut self.periods {
            match depends {
                Depends::Stillness => *depends = Depends::Growth,
                Depends::Room => {
                    (stretch.limit, *depends) = (LimitingFactor::Unknown, Depends::Nothing);
                }
                Depends::Growth | Depends::Nothing => {}
            }
        }
    }

    /// Returns how long periods of a kind last together, in nanoseconds.
    fn lasts(&self, kind: impl Fn(&&(Stretch, Depends)) -> bool) -> u64 {
        let those = self.periods.iter().filter(kind);
        those.map(|(stretch, _)| stretch.end - stretch.start).sum()
    }

    /// Takes out the periods, decided by the band that they end in.
    ///
    /// Whatever holds the window where it stands still may have held it while it grew: a send
    /// buffer grows with the size of what it holds. So if that is not the congestion window, the
    /// limit of the growth is unknown. Where the receiver or the network holds it for most of the
    /// time, the rest tells nothing of a buffer.
    pub fn decide(&mut self, still: &Stillness) -> impl Iterator<Item = Stretch> + use<> {
        let limit = judge_still(still);
        let is_held = |(stretch, depends): &&(Stretch, Depends)| {
            use LimitingFactor::{Application, Unknown};
            *depends == Depends::Nothing && !matches!(stretch.limit, Application | Unknown)
        };
        let is_still = |(_, depends): &&(Stretch, Depends)| {
            matches!(depends, Depends::Stillness | Depends::Room)
        };
        let (held, stood) = (self.lasts(is_held), self.lasts(is_still));
        let limit = match limit {
            _ if held > stood => LimitingFactor::CongestionWindow,
            LimitingFactor::CongestionWindow if self.has_room => LimitingFactor::Unknown,
            limit => limit,
        };
        let stands = still.rounds >= STILL_ROUNDS && limit != LimitingFactor::CongestionWindow;
        self.has_room |= stands && stood > 0 && !still.after_loss;
        let decided = move |(stretch, depends): (Stretch, Depends)| {
            let limit = match depends {
                Depends::Room if limit == LimitingFactor::CongestionWindow => {
                    LimitingFactor::Unknown
                }
                Depends::Stillness | Depends::Room => limit,
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
    use ackclock_spec::units::Span;

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
        ack_known: 100,
        prompt: 50,
        late: 10,
        unsent: crate::pauses::Unsent::Unknown,
        marked: false,
        dense: false,
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
        let decided = undecided.decide(still);
        decided
            .map(|period| (period.end, period.limit.name()))
            .collect()
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
    fn a_window_with_room_is_not_the_limit_but_what_holds_it_may_be() {
        let prompt = Stillness {
            prompt: 98,
            ..STANDS
        };
        let brief = Stillness {
            rounds: 2,
            ..STANDS
        };
        for (still, grows, expected) in [
            (&prompt, false, "sender_buffer"),
            (&STANDS, false, "unknown"),
            (&brief, false, "unknown"),
            (&prompt, true, "unknown"),
        ] {
            let mut undecided = Undecided::default();
            undecided.add(
                period(0, 1, LimitingFactor::CongestionWindow),
                Depends::Room,
            );
            if grows {
                undecided.grow();
            }
            let limit = undecided.decide(still).next().unwrap().limit.name();
            assert_eq!(limit, expected);
        }
    }

    #[test]
    fn a_window_that_had_room_is_not_the_limit_until_it_shrinks() {
        let mut undecided = Undecided::default();
        let brief = Stillness {
            rounds: 2,
            ..STANDS
        };
        let mut limit_name = |still: &Stillness, shrinks: bool| {
            if shrinks {
                undecided.shrink();
            }
            let next = period(0, 1, LimitingFactor::CongestionWindow);
            undecided.add(next, Depends::Stillness);
            undecided.decide(still).next().unwrap().limit.name()
        };
        assert_eq!(limit_name(&brief, false), "congestion_window");
        assert_eq!(limit_name(&STANDS, false), "unknown");
        assert_eq!(limit_name(&brief, false), "unknown");
        assert_eq!(limit_name(&brief, true), "congestion_window");
    }

    #[test]
    fn what_ends_at_a_certain_limit_is_as_it_seems() {
        let decided_limits = decided(&STANDS, 20);
        let as_it_seems = [
            (2, "slow_start"),
            (4, "congestion_window"),
            (9, "congestion_window"),
        ];
        assert_eq!(decided_limits[..3], as_it_seems);
    }
}
