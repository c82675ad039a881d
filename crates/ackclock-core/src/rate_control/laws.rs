//! Requirements on every registered rate control, tested on a path.

use super::RateControlKind;
use super::testing::{Dialogue, Way};
use ackclock_spec::registry::Kind;
use ackclock_spec::units::{Span, Time};
use serde_json::{Value, json};

fn controls() -> impl Iterator<Item = Value> {
    RateControlKind::ENTRIES
        .iter()
        .map(|entry| json!({ "kind": entry.name }))
}

fn dialogue(tree: &Value, fate: fn(Time, u64) -> Way) -> Dialogue {
    Dialogue::new(tree, Span::from_millis(100), Span::ZERO, fate)
}

#[test]
fn a_path_that_loses_nothing_is_used_more_and_more() {
    for tree in controls() {
        let mut path = dialogue(&tree, |_, _| Way::Arrives);
        path.run_until(1.5);
        let early = path.rate();
        // Ends as soon as the rate has grown: a rate that doubles every round trip has no bound.
        while path.rate() <= 1.5 * early && path.now < Time::from_seconds(10.0) {
            path.run_until(path.now.as_seconds() + 0.1);
        }
        assert!(
            path.rate() > 1.5 * early,
            "{tree}: {early} and then {}",
            path.rate()
        );
        let state = path.sender.state();
        assert_eq!(
            (
                state.lost.unwrap_or(0),
                state.spurious_losses.unwrap_or(0),
                state.timeouts
            ),
            (0, 0, 0),
            "{tree}"
        );
        assert_eq!(state.smoothed_rtt, Some(Span::from_millis(100)), "{tree}");
    }
}

#[test]
fn throughput_falls_as_loss_rises() {
    fn hundredth(_: Time, sequence: u64) -> Way {
        if sequence % 100 == 99 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    fn twentieth(_: Time, sequence: u64) -> Way {
        if sequence % 20 == 19 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    fn fifth(_: Time, sequence: u64) -> Way {
        if sequence % 5 == 4 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    for tree in controls() {
        let sent = [hundredth, twentieth, fifth].map(|fate| {
            let mut path = dialogue(&tree, fate);
            path.run_until(200.0);
            path.count(50.0, 200.0)
        });
        assert!(sent[0] > sent[1] && sent[1] > sent[2], "{tree}: {sent:?}");
    }
}

#[test]
fn marks_count_like_losses() {
    fn lost(_: Time, sequence: u64) -> Way {
        if sequence % 100 == 99 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    fn marked(_: Time, sequence: u64) -> Way {
        if sequence % 100 == 99 {
            Way::Marked
        } else {
            Way::Arrives
        }
    }
    for tree in controls() {
        let [lost, marked] = [lost, marked].map(|fate| {
            let mut path = dialogue(&tree, fate);
            path.run_until(200.0);
            path.count(50.0, 200.0) as f64
        });
        assert!(
            (0.9..1.1).contains(&(marked / lost)),
            "{tree}: {marked}, {lost}"
        );
    }
}

#[test]
fn a_blackout_slows_down_and_is_got_over() {
    fn fate(at: Time, sequence: u64) -> Way {
        let dark = (60.0..90.0).contains(&at.as_seconds());
        if dark || sequence % 50 == 49 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    for tree in controls() {
        let mut path = dialogue(&tree, fate);
        path.run_until(180.0);
        let (before, within) = (path.largest_rate(30.0, 60.0), path.largest_rate(65.0, 90.0));
        assert!(
            within <= before / 4.0,
            "{tree}: {before} before, {within} in the dark"
        );
        let late = path.largest_rate(85.0, 90.0);
        assert!(
            late <= 2.0,
            "{tree}: {late} packets/s after 25 s of darkness"
        );
        let after = path.largest_rate(90.0, 180.0);
        assert!(
            after >= 0.7 * before,
            "{tree}: {before} before, {after} after"
        );
    }
}
