//! Recently delivered data: the sum over a window that slides with the ACKs.

use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Times with ACKs, the latest last, as far back as any sum needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    moments: VecDeque<Moment>,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    at: Time,
    bytes: f64,
    /// Bytes delivered before, since the start.
    before: f64,
}

/// Data delivered in a recent interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sum {
    /// Bytes delivered within `span` before the last ACK.
    pub bytes: f64,
    /// Time from the last ACK before these to the last of all, in seconds; the whole history if
    /// there is none.
    pub reach: f64,
}

impl Recent {
    /// Adds the bytes delivered by an ACK.
    pub fn push(&mut self, now: Time, bytes: f64) {
        match self.moments.back_mut() {
            Some(last) if last.at >= now => last.bytes += bytes,
            last => {
                let before = last.map_or(0.0, |last| last.before + last.bytes);
                self.moments.push_back(Moment {
                    at: now,
                    bytes,
                    before,
                });
            }
        }
    }

    /// Returns the bytes delivered in (last − span, last].
    pub fn sum(&self, span: Span) -> Sum {
        let Some(last) = self.moments.back() else {
            return Sum {
                bytes: 0.0,
                reach: 0.0,
            };
        };
        let inside = self
            .moments
            .partition_point(|moment| last.at.since(moment.at) >= span);
        let boundary = &self.moments[inside.saturating_sub(1)];
        let counted_before = if inside == 0 {
            boundary.before
        } else {
            boundary.before + boundary.bytes
        };
        Sum {
            bytes: last.before + last.bytes - counted_before,
            reach: super::seconds(last.at.since(boundary.at)),
        }
    }

    /// Discards data too old for any later sum: spans may grow fourfold from one ACK to the next.
    pub fn forget_far_beyond(&mut self, span: Span) {
        self.forget_beyond(span * 4);
    }

    fn forget_beyond(&mut self, span: Span) {
        let Some(last) = self.moments.back().map(|last| last.at) else {
            return;
        };
        while self
            .moments
            .get(1)
            .is_some_and(|second| last.since(second.at) >= span)
        {
            self.moments.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recent() -> Recent {
        let mut recent = Recent::default();
        for (ms, bytes) in [(0, 1.0), (10, 2.0), (10, 3.0), (30, 4.0)] {
            recent.push(Time::ZERO + Span::from_millis(ms), bytes);
        }
        recent
    }

    #[test]
    fn a_sum_is_open_at_its_beginning() {
        let is = |recent: &Recent, asked: u64, bytes: f64, reach: u64| {
            let reach = crate::estimator::seconds(Span::from_millis(reach));
            assert_eq!(
                recent.sum(Span::from_millis(asked)),
                Sum { bytes, reach },
                "{asked} ms"
            );
        };
        is(&recent(), 0, 0.0, 0);
        is(&recent(), 20, 4.0, 20);
        is(&recent(), 21, 9.0, 30);
        is(&recent(), 30, 9.0, 30);
        is(&recent(), 31, 10.0, 30);
        is(&Recent::default(), 1000, 0.0, 0);
    }

    #[test]
    fn what_is_forgotten_is_in_no_sum_that_is_asked_for() {
        for ms in [5, 20, 25, 30, 100] {
            let (whole, mut short) = (recent(), recent());
            short.forget_beyond(Span::from_millis(ms));
            for asked in 0..=ms {
                assert_eq!(
                    short.sum(Span::from_millis(asked)),
                    whole.sum(Span::from_millis(asked)),
                    "{ms} {asked}"
                );
            }
        }
    }
}
