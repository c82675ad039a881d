use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Pushes and pops as in a run: every push lies `ahead` of the last pop.
fn agrees_with_a_sorted_set(aheads: &[(u64, bool)], scale: u64) {
    let (mut queue, mut model) = (EventQueue::default(), BTreeSet::new());
    let mut now = 0;
    for (serial, &(ahead, pop)) in aheads.iter().enumerate() {
        let event = (
            now + ahead % scale,
            serial as u32 % 7 * 1000 + serial as u32,
        );
        queue.push(Time::from_nanos(event.0), event.1);
        model.insert(event);
        if pop {
            let expected = model.pop_first().unwrap();
            assert_eq!(
                queue.pop(),
                Some((Time::from_nanos(expected.0), expected.1))
            );
            now = expected.0;
        }
        assert_eq!(queue.len(), model.len());
    }
    for (time, target) in model {
        assert_eq!(queue.pop(), Some((Time::from_nanos(time), target)));
    }
    assert!(queue.pop().is_none() && queue.is_empty());
}

proptest! {
    #[test]
    fn any_history_pops_in_order(
        aheads in prop::collection::vec((any::<u64>(), any::<bool>()), 1..400),
        scale in prop::sample::select(vec![1, 10, 10_000, 1 << 22, 1 << 34, 1 << 58]),
    ) {
        agrees_with_a_sorted_set(&aheads, scale);
    }
}

#[test]
fn the_calendar_reshapes_without_losing_order() {
    // Dense, then sparse, then far apart, which covers every branch of the review.
    for scale in [100, 1 << 20, 1 << 30, 1 << 40] {
        let mut state = 1_u64;
        let aheads: Vec<_> = (0..60_000_u64)
            .map(|n| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 20, n > 300)
            })
            .collect();
        agrees_with_a_sorted_set(&aheads, scale);
    }
}

/// With events of other targets between, and some beyond the calendar or in the current day, which
/// may stay.
#[test]
fn what_is_drained_is_gone_and_nothing_else() {
    let mut queue = EventQueue::default();
    let mut left = BTreeSet::new();
    for n in 0..3000_u32 {
        let time = u64::from(n) * 7919 % 4_000_000;
        queue.push(Time::from_nanos(time), n);
        left.insert((time, n));
    }
    for _ in 0..40 {
        let (time, target) = queue.pop().unwrap();
        assert_eq!(left.pop_first(), Some((time.as_nanos(), target)));
    }
    let mut drained = Vec::new();
    let end = Time::from_nanos(1_000_000);
    queue.drain_before(end, |target| (1000..2000).contains(&target), &mut drained);
    assert!(drained.len() > 100, "{}", drained.len());
    for (time, target) in drained {
        assert!(time < end && (1000..2000).contains(&target));
        assert!(left.remove(&(time.as_nanos(), target)));
    }
    assert_eq!(queue.len(), left.len());
    for (time, target) in left {
        let event = (Time::from_nanos(time), target);
        assert_eq!(queue.pop_before(event), None);
        assert_eq!(queue.pop_before((event.0, target + 1)), Some(event));
    }
    assert!(queue.is_empty() && queue.pop_before((Time::NEVER, 0)).is_none());
}

#[test]
fn never_is_not_an_event() {
    let mut queue = EventQueue::default();
    queue.push(Time::NEVER, 1);
    assert!(queue.pop().is_none());
}

#[test]
fn a_century_away_is_found_at_once() {
    let mut queue = EventQueue::default();
    let century = Time::from_seconds(3.156e9);
    queue.push(century, 3);
    queue.push(Time::from_nanos(5), 4);
    assert_eq!(queue.pop(), Some((Time::from_nanos(5), 4)));
    assert_eq!(queue.pop(), Some((century, 3)));
}
