//! Calculation of the loss event rate.

use super::super::loss_history::{Change, LossHistory};
use super::super::loss_intervals::{LossIntervals, Weighing};
use super::{RTT, close, ms};
use ackclock_spec::units::Span;
use proptest::prelude::*;

const WEIGHING: Weighing = Weighing {
    intervals: 8,
    discount_floor: 0.25,
};
const FIRST: f64 = 100.0;
const NULL: f64 = 2.0;

fn history() -> LossHistory {
    LossHistory::new(3, WEIGHING)
}

fn arrive(history: &mut LossHistory, at: u64, number: u64, marked: bool) -> Change {
    history.on_arrival(ms(at), number, marked, RTT, &|null| {
        if null { NULL } else { FIRST }
    })
}

/// Delivers packets sent 10 ms apart, except the lost ones.
fn all_but(lost: &[u64], last: u64) -> LossHistory {
    let mut history = history();
    for number in (0..=last).filter(|number| !lost.contains(number)) {
        arrive(&mut history, number * 10, number, false);
    }
    history
}

fn lengths(history: &LossHistory) -> Vec<f64> {
    let all = history.lengths_and_discounts();
    all.into_iter().map(|(length, _)| length).collect()
}

#[test]
fn section_5_1_a_packet_is_lost_when_three_later_ones_have_arrived() {
    let mut history = history();
    for number in [0, 1, 3, 4] {
        assert_eq!(
            arrive(&mut history, number * 10, number, false),
            Change::default()
        );
    }
    assert_eq!((history.lost(), history.loss_event_rate()), (0, 0.0));
    assert!(arrive(&mut history, 50, 5, false).begun);
    assert_eq!(history.lost(), 1);
}

#[test]
fn section_5_1_reordering_by_two_packets_is_no_loss() {
    let mut history = history();
    for (at, number) in [0, 3, 4, 1, 2, 5, 8, 9, 6, 7, 10, 11, 12]
        .into_iter()
        .enumerate()
    {
        arrive(&mut history, at as u64 * 10, number, false);
    }
    assert_eq!((history.lost(), history.loss_event_rate()), (0, 0.0));
}

#[test]
fn section_5_1_a_late_packet_fills_the_hole() {
    let mut history = all_but(&[2, 3], 6);
    assert!(history.loss_event_rate() > 0.0);
    assert!(
        !arrive(&mut history, 70, 3, false).removed,
        "2 is still lost"
    );
    assert!(arrive(&mut history, 75, 2, false).removed);
    assert_eq!(history.loss_event_rate(), 0.0);
    assert_eq!((history.lost(), history.spurious()), (2, 2));
    // The next first loss again counts as the first.
    for number in [8, 9, 10] {
        arrive(&mut history, number * 10, number, false);
    }
    assert_eq!(lengths(&history), [4.0, FIRST]);
}

#[test]
fn section_5_1_where_an_event_is_no_more_two_intervals_are_one() {
    let mut history = all_but(&[20, 60, 100], 120);
    assert_eq!(lengths(&history), [21.0, 40.0, 40.0, FIRST]);
    assert!(arrive(&mut history, 1210, 60, false).removed);
    assert_eq!(lengths(&history), [21.0, 80.0, FIRST]);
    // The next packet lost within the round trip replaces the one that began the event.
    let mut history = all_but(&[20, 60, 63, 100], 120);
    assert!(!arrive(&mut history, 1210, 60, false).removed);
    assert_eq!(lengths(&history), [21.0, 37.0, 43.0, FIRST]);
}

#[test]
fn section_5_1_a_mark_is_detected_at_once_and_a_missing_packet_before_it_begins_the_event() {
    let mut history = history();
    arrive(&mut history, 0, 0, false);
    assert!(arrive(&mut history, 10, 1, true).begun);
    assert_eq!(lengths(&history), [1.0, FIRST], "a single marked packet");
    // The example of the section: n - 1, n + 1, and n + 2 marked; n = 31.
    for number in 2..=30 {
        arrive(&mut history, number * 10, number, false);
    }
    arrive(&mut history, 320, 32, false);
    assert!(arrive(&mut history, 330, 33, true).begun);
    assert_eq!(lengths(&history), [3.0, 30.0, FIRST]);
}

#[test]
fn section_5_2_losses_within_a_round_trip_are_one_event() {
    // T_old + R >= T_new: 100 ms later is the same event, 110 ms later is not.
    assert_eq!(lengths(&all_but(&[20, 25, 30], 40)), [21.0, FIRST]);
    assert_eq!(lengths(&all_but(&[20, 25, 31], 40)), [10.0, 11.0, FIRST]);
    // An event lasts R from its first packet, not from its last.
    assert_eq!(lengths(&all_but(&[20, 30, 31], 40)), [10.0, 11.0, FIRST]);
}

#[test]
fn section_5_2_arrival_times_of_lost_packets_are_interpolated() {
    let mut history = all_but(&[], 9);
    // 10 to 18 would have arrived at 120, 150, ... 360 ms: 14 is the first after 220 ms, 18 the
    // first after 340 ms.
    for (at, number) in [(390, 19), (400, 20), (410, 21)] {
        arrive(&mut history, at, number, false);
    }
    assert_eq!(lengths(&history), [4.0, 4.0, 4.0, FIRST]);
}

#[test]
fn section_5_2_a_gap_of_a_million_packets_is_many_events_but_only_the_last_count() {
    let mut history = history();
    arrive(&mut history, 0, 0, false);
    for number in 1_000_000..1_000_003 {
        arrive(&mut history, number, number, false);
    }
    let lengths = lengths(&history);
    assert_eq!(lengths[1..], [101.0; 8]);
    assert_eq!(history.lost(), 999_999);
}

/// One event that never ends, because a packet carries a round-trip time of years.
#[test]
fn section_5_2_an_event_without_end_is_not_remembered_in_full() {
    let mut history = history();
    for number in 0..100_000 {
        history.on_arrival(ms(number), number, true, Span::FOREVER, &|_| FIRST);
    }
    assert_eq!(lengths(&history), [100_000.0, FIRST]);
    assert!(history.remembered() <= 70_000);
}

#[test]
fn section_5_3_an_interval_reaches_to_the_next_event_and_the_current_one_to_the_highest_packet() {
    assert_eq!(lengths(&all_but(&[20, 60, 61], 99)), [40.0, 40.0, FIRST]);
}

#[test]
fn section_5_4_weights_of_eight_intervals() {
    // Nine events 20 packets apart, and a current interval of 20: all nine lengths are equal.
    let lost: Vec<u64> = (1..=9).map(|event| event * 20).collect();
    let history = all_but(&lost, 199);
    assert_eq!(lengths(&history), [20.0; 9]);
    close(history.loss_event_rate(), 0.05, 1e-12);
    // One interval longer by 60 raises the mean by 60 w / 6: here with w_7 = 0.2, if the current
    // one does not count.
    let longer: Vec<u64> = std::iter::once(20)
        .chain(lost[1..].iter().map(|number| number + 60))
        .collect();
    let history = all_but(&longer, 244);
    assert_eq!(
        lengths(&history),
        [5.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 80.0]
    );
    close(history.loss_event_rate(), 1.0 / 22.0, 1e-12);
}

#[test]
fn section_5_4_the_current_interval_counts_only_where_it_lowers_the_rate() {
    let lost: Vec<u64> = (1..=9).map(|event| event * 20).collect();
    let mut before = 1.0;
    for last in 183..400 {
        let p = all_but(&lost, last).loss_event_rate();
        assert!(
            p <= before && (last > 199) == (p < 0.05 - 1e-12),
            "{last}: {p}"
        );
        before = p;
    }
}

/// Transcription of the pseudo-code of sections 5.4 and 5.5: arrays, one packet at a time. With
/// fewer than n intervals, k replaces n.
struct Transcribed {
    n: usize,
    threshold: f64,
    i: Vec<f64>,
    df_i: Vec<f64>,
    df: f64,
}

impl Transcribed {
    fn new(weighing: Weighing) -> Self {
        Transcribed {
            n: weighing.intervals,
            threshold: weighing.discount_floor,
            i: Vec::new(),
            df_i: vec![1.0; weighing.intervals + 1],
            df: 1.0,
        }
    }

    fn w(&self, i: usize) -> f64 {
        let (i, n) = (i as f64, self.n as f64);
        if i < n / 2.0 {
            1.0
        } else {
            2.0 * (n - i) / (n + 2.0)
        }
    }

    fn loss_event(&mut self) {
        if self.i.is_empty() {
            self.i = vec![1.0, FIRST];
            return;
        }
        for i in 1..=self.n {
            self.df_i[i] *= self.df;
        }
        for i in (0..self.n).rev() {
            self.df_i[i + 1] = self.df_i[i];
        }
        self.i.insert(0, 1.0);
        self.i.truncate(self.n + 1);
        (self.df_i[0], self.df) = (1.0, 1.0);
    }

    fn packet(&mut self) {
        let k = self.i.len() - 1;
        let (mut total, mut weight) = (0.0, 0.0);
        for i in 1..=k {
            weight += self.w(i - 1) * self.df_i[i];
            total += self.i[i] * self.w(i - 1) * self.df_i[i];
        }
        let mean = total / weight;
        self.df = match self.i[0] > 2.0 * mean {
            true => (2.0 * mean / self.i[0]).max(self.threshold),
            false => 1.0,
        };
    }

    fn p(&self) -> f64 {
        let k = self.i.len() - 1;
        let (mut total_0, mut weight_0) = (self.i[0] * self.w(0), self.w(0));
        for i in 1..k {
            total_0 += self.i[i] * self.w(i) * self.df_i[i] * self.df;
            weight_0 += self.w(i) * self.df_i[i] * self.df;
        }
        let (mut total_1, mut weight_1) = (0.0, 0.0);
        for i in 1..=k {
            total_1 += self.i[i] * self.w(i - 1) * self.df_i[i];
            weight_1 += self.w(i - 1) * self.df_i[i];
        }
        f64::min(weight_0 / total_0, weight_1 / total_1)
    }
}

proptest! {
    #[test]
    fn sections_5_4_and_5_5_are_the_pseudo_code(
        n in 1..12_usize,
        discount_floor in prop::sample::select(vec![0.25, 0.5, 1.0]),
        intervals in prop::collection::vec(1..200_u64, 1..40),
    ) {
        let weighing = Weighing { intervals: n, discount_floor };
        let mut ours = LossIntervals::new(weighing);
        ours.begin_with(FIRST);
        let mut theirs = Transcribed::new(weighing);
        let mut number = 7;
        for interval in intervals {
            ours.begin(number, ms(number));
            theirs.loss_event();
            ours.discount(number);
            theirs.packet();
            for packet in 1..=interval {
                let (p, expected) = (ours.loss_event_rate(number + packet - 1), theirs.p());
                prop_assert!((p / expected - 1.0).abs() < 1e-9, "{p} instead of {expected}");
                if packet < interval {
                    theirs.i[0] += 1.0;
                    theirs.packet();
                    ours.discount(number + packet);
                }
            }
            number += interval;
        }
    }

    #[test]
    fn sections_5_1_to_5_3_any_order_of_arrival_keeps_a_history(
        arrivals in prop::collection::vec(
            (0..400_u64, 0..30_u64, prop::bool::weighted(0.05)),
            1..400,
        ),
    ) {
        let (mut history, mut at, mut seen) = (history(), 0, [false; 400]);
        for (number, pause, marked) in arrivals {
            if std::mem::replace(&mut seen[number as usize], true) {
                continue;
            }
            at += pause;
            arrive(&mut history, at, number, marked);
            let p = history.loss_event_rate();
            prop_assert!((0.0..=1.0).contains(&p));
            let all = history.lengths_and_discounts();
            prop_assert!(all.len() <= 9 && (p > 0.0) != all.is_empty());
            for (i, (length, discount)) in all.iter().enumerate() {
                prop_assert!(
                    *length >= 1.0
                        && (0.0..=1.0).contains(discount)
                        && (i > 0 || *discount == 1.0)
                );
            }
            prop_assert!(history.spurious() <= history.lost());
        }
    }

    /// Checks that late packets leave the history as it would be without the loss, except for
    /// discounts.
    #[test]
    fn section_5_1_a_filled_hole_leaves_no_trace(
        lost in prop::collection::btree_set(1..300_u64, 1..12),
        filled in any::<prop::sample::Index>(),
    ) {
        let lost: Vec<u64> = lost.into_iter().collect();
        let late = *filled.get(&lost);
        let mut with = all_but(&lost, 310);
        // With nine lengths, the last may belong to an event whose predecessors were discarded.
        prop_assume!(lengths(&with).len() < 9);
        arrive(&mut with, 3110, late, false);
        let rest: Vec<u64> = lost.iter().copied().filter(|number| *number != late).collect();
        let without = all_but(&rest, 310);
        prop_assert_eq!(lengths(&with), lengths(&without));
    }
}
