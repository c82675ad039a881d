//! Service at a piecewise-constant rate by its exact integral. All links whose rate varies share
//! this.
//!
//! Work is counted in billionths of a bit. A rate of r bit/s does r of them in each nanosecond, and
//! a packet of s bytes takes 8·10⁹ s. All arithmetic is in integers. A finish is rounded down to
//! the nanosecond, and the work left is carried into the next service if that starts there. So the
//! work done in a busy period is exact however often the rate changes.

use super::Link;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::cell::{RefCell, RefMut};
use std::fmt::Debug;

/// Billionths of a bit in a byte.
pub(super) const WORK_PER_BYTE: u64 = 8_000_000_000;

/// Returns the mean rate of `work` done between two moments, rounded down; `None` if they are
/// equal.
pub(super) fn mean_of(work: u128, from: Time, until: Time) -> Option<BitRate> {
    let mean = work.checked_div(until.since(from).as_nanos().into())?;
    Some(BitRate::from_bit_per_s(mean as u64)) // at most the largest rate
}

/// A period with one rate: `from` included, `until` excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub from: Time,
    pub until: Time,
    pub rate: BitRate,
}

impl Piece {
    /// Returns the piece of one rate for ever.
    pub const fn for_ever(rate: BitRate) -> Self {
        Piece {
            from: Time::ZERO,
            until: Time::NEVER,
            rate,
        }
    }
}

/// One cycle of rates that repeat for ever: its length, and the work that a link does in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub period: Span,
    pub work: u128,
}

/// A rate as a function of time, read forwards. Pieces follow each other without a gap from
/// [`Time::ZERO`] on. The last one, if there is one, lasts until [`Time::NEVER`]; a link that will
/// never send again must end with such a piece.
pub(super) trait Rates: Clone + Debug + Send {
    /// Returns the piece being read.
    fn piece(&self) -> Piece;
    /// Advances to the next piece.
    fn advance(&mut self);
    /// Advances to the piece that contains `at`, which is not before the piece being read.
    fn seek(&mut self, at: Time) {
        while at >= self.piece().until && !self.piece().until.is_never() {
            self.advance();
        }
    }
    /// Returns one cycle if the rates repeat.
    fn cycle(&self) -> Option<Cycle> {
        None
    }
}

/// A link that serves at these rates.
#[derive(Debug)]
pub(super) struct PiecewiseLink<R: Rates> {
    /// Reads the piece in which the last service ended.
    ahead: R,
    /// Copy of `ahead` at the beginning of the last service during which the rate changed. Moments
    /// since then may still be asked for.
    behind: R,
    /// Position at which [`Link::rate`] last read. While the link idles, it is asked for many
    /// moments, each later than the last.
    reader: RefCell<R>,
    last_finish: Time,
    /// Work left at `last_finish`: less than a nanosecond's.
    owed: u64,
}

impl<R: Rates> PiecewiseLink<R> {
    /// Returns the reader at that moment.
    fn read(&self, at: Time) -> RefMut<'_, R> {
        let mut reader = self.reader.borrow_mut();
        let nearest = if at < self.ahead.piece().from {
            &self.behind
        } else {
            &self.ahead
        };
        let read = reader.piece().from;
        if at < read || read < nearest.piece().from {
            *reader = nearest.clone();
        }
        reader.seek(at);
        reader
    }

    pub fn new(rates: R) -> Self {
        PiecewiseLink {
            behind: rates.clone(),
            reader: RefCell::new(rates.clone()),
            ahead: rates,
            last_finish: Time::NEVER,
            owed: 0,
        }
    }

    /// Returns the time at which `work` is done that begins at `start` in the piece of `ahead` and
    /// outlasts that piece. Sets the work owed then.
    fn integrate(&mut self, start: Time, mut work: u128) -> Time {
        self.behind = self.ahead.clone();
        let mut now = start;
        if let Some(Cycle { period, work: each }) = self.ahead.cycle()
            && each > 0
            && work > each
        {
            let cycles = (work - 1) / each;
            let Ok(skipped) = u64::try_from(cycles * u128::from(period.as_nanos())) else {
                return Time::NEVER;
            };
            work -= cycles * each;
            now = start + Span::from_nanos(skipped);
            self.ahead.seek(now);
        }
        loop {
            let Piece { until, rate, .. } = self.ahead.piece();
            let rate = u128::from(rate.as_bit_per_s());
            let possible = rate * u128::from(until.since(now).as_nanos());
            if work == 0 || work < possible {
                self.owed = work.checked_rem(rate).unwrap_or(0) as u64;
                return now + Span::from_nanos(work.checked_div(rate).unwrap_or(0) as u64);
            }
            if until.is_never() {
                return Time::NEVER;
            }
            work -= possible;
            now = until;
            self.ahead.advance();
        }
    }
}

impl<R: Rates> Link for PiecewiseLink<R> {
    fn finish(&mut self, start: Time, size: Bytes) -> Time {
        if start >= self.ahead.piece().until {
            self.ahead.seek(start);
        }
        let carried = if start == self.last_finish {
            self.owed
        } else {
            0
        };
        self.owed = 0;
        let Piece { until, rate, .. } = self.ahead.piece();
        // The common case: the work fits in 64 bits and the rate does not change during the
        // service.
        if let Some(work) = size
            .0
            .checked_mul(WORK_PER_BYTE)
            .and_then(|w| w.checked_add(carried))
            && let Some(whole) = work.checked_div(rate.as_bit_per_s())
            && start + Span::from_nanos(whole) < until
        {
            self.owed = work % rate.as_bit_per_s();
            self.last_finish = start + Span::from_nanos(whole);
            return self.last_finish;
        }
        let work = u128::from(size.0) * u128::from(WORK_PER_BYTE) + u128::from(carried);
        self.last_finish = self.integrate(start, work);
        self.last_finish
    }

    fn rate(&self, at: Time) -> BitRate {
        let ahead = self.ahead.piece();
        if ahead.from <= at && at < ahead.until {
            return ahead.rate;
        }
        self.read(at).piece().rate
    }

    fn mean_rate(&self, from: Time, until: Time) -> BitRate {
        self.mean_rate_within(from, until, u64::MAX)
            .unwrap_or_else(|| unreachable!("time has fewer nanoseconds"))
    }

    fn mean_rate_within(&self, from: Time, until: Time, changes: u64) -> Option<BitRate> {
        let mut reader = self.read(from);
        let (mut now, mut work) = (from, 0);
        for _ in 0..=changes {
            let Piece {
                until: end, rate, ..
            } = reader.piece();
            let next = end.min(until);
            work += u128::from(rate.as_bit_per_s()) * u128::from(next.since(now).as_nanos());
            if until <= end {
                return Some(mean_of(work, from, until).unwrap_or(rate));
            }
            now = next;
            reader.advance();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pieces of the given lengths (ns) and rates (bit/s), the last rate for ever.
    #[derive(Clone, Debug)]
    struct Listed {
        pieces: std::sync::Arc<[(u64, u64)]>,
        index: usize,
        from: u64,
    }

    impl Listed {
        fn new(pieces: &[(u64, u64)]) -> Self {
            Listed {
                pieces: pieces.into(),
                index: 0,
                from: 0,
            }
        }
    }

    impl Rates for Listed {
        fn piece(&self) -> Piece {
            let (length, rate) = self.pieces[self.index];
            let last = self.index + 1 == self.pieces.len();
            Piece {
                from: Time::from_nanos(self.from),
                until: if last {
                    Time::NEVER
                } else {
                    Time::from_nanos(self.from + length)
                },
                rate: BitRate::from_bit_per_s(rate),
            }
        }
        fn advance(&mut self) {
            self.from += self.pieces[self.index].0;
            self.index += 1;
        }
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn who_can_do_without_a_mean_of_many_changes_has_none() {
        let link = PiecewiseLink::new(Listed::new(&[
            (MS, 12_000_000),
            (5 * MS, 0),
            (0, 6_000_000),
        ]));
        let within = |changes| link.mean_rate_within(Time::ZERO, Time::from_nanos(8 * MS), changes);
        assert_eq!(within(2), Some(BitRate::from_bit_per_s(3_000_000)));
        assert_eq!(within(1), None);
        assert_eq!(
            link.mean_rate(Time::ZERO, Time::from_nanos(8 * MS))
                .as_bit_per_s(),
            3_000_000
        );
    }

    #[test]
    fn a_rate_may_change_in_the_middle_of_a_packet_and_pause() {
        // 1 ms at 12 Mbit/s is 1500 bytes; then nothing for 5 ms; then 1500 bytes in 2 ms.
        let rates = Listed::new(&[(MS, 12_000_000), (5 * MS, 0), (0, 6_000_000)]);
        let mut link = PiecewiseLink::new(rates);
        let half = link.finish(Time::ZERO, Bytes(750));
        assert_eq!(half, Time::from_nanos(MS / 2));
        assert_eq!(link.finish(half, Bytes(1500)), Time::from_nanos(7 * MS));
        assert_eq!(link.rate(half), BitRate::from_bit_per_s(12_000_000));
        assert_eq!(link.rate(Time::from_nanos(3 * MS)), BitRate::ZERO);
        assert_eq!(link.rate(Time::from_nanos(MS)), BitRate::ZERO);
        assert_eq!(
            link.rate(Time::from_nanos(9 * MS)),
            BitRate::from_bit_per_s(6_000_000)
        );
        assert_eq!(link.rate(half), BitRate::from_bit_per_s(12_000_000));
    }

    #[test]
    fn a_link_that_goes_down_for_good_never_finishes() {
        let mut link = PiecewiseLink::new(Listed::new(&[(MS, 12_000_000), (0, 0)]));
        assert!(link.finish(Time::ZERO, Bytes(1501)).is_never());
        assert!(link.finish(Time::from_nanos(2 * MS), Bytes(1)).is_never());
        let mut link = PiecewiseLink::new(Listed::new(&[(0, 1_000)]));
        assert!(link.finish(Time::ZERO, Bytes(u64::MAX)).is_never());
    }

    proptest! {
        /// However a busy period is split into packets, its work ends at the time at which one
        /// packet of the same total size would end.
        #[test]
        fn work_is_exact_across_changes(
            pieces in prop::collection::vec(
                (1_u64..200_000, prop_oneof![Just(0_u64), 1_000_u64..10_000_000_000]),
                1..20
            ),
            last in 1_000_u64..10_000_000_000,
            sizes in prop::collection::vec(1_u64..9000, 1..50),
            start in 0_u64..1_000_000,
        ) {
            let mut pieces = pieces;
            pieces.push((0, last));
            let mut cut = PiecewiseLink::new(Listed::new(&pieces));
            let mut whole = PiecewiseLink::new(Listed::new(&pieces));
            let start = Time::from_nanos(start);
            let mut now = start;
            for size in &sizes {
                let finish = cut.finish(now, Bytes(*size));
                prop_assert!(finish >= now);
                now = finish;
            }
            let total = whole.finish(start, Bytes(sizes.iter().sum()));
            prop_assert_eq!(now, total);
            prop_assert_eq!(cut.owed, whole.owed);
        }
    }
}
