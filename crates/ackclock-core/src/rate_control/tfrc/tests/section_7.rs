//! Both halves together, with loss measured on either side.

use super::super::Tfrc;
use super::{RTT, close};
use crate::rate_control::testing::{Dialogue, Way};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Span, Time};
use serde_json::json;

const BOTH: [&str; 2] = ["receiver", "sender"];

fn flow(side: &str, fate: impl FnMut(Time, u64) -> Way + 'static) -> Dialogue {
    let tree = json!({ "kind": "tfrc", "loss_measured_by": side });
    Dialogue::new(&tree, RTT, Span::ZERO, fate)
}

/// Loses each packet with probability p, and all packets during `dark`.
fn losing(p: f64, dark: std::ops::Range<f64>) -> impl FnMut(Time, u64) -> Way {
    let mut chance = Streams::new(7, 0).stream("loss");
    move |now, _| {
        if chance.uniform() < p || dark.contains(&now.as_seconds()) {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
}

fn losing_at_random(p: f64) -> impl FnMut(Time, u64) -> Way {
    losing(p, 0.0..0.0)
}

#[test]
fn section_4_3_slow_start_fills_an_endless_path() {
    for side in BOTH {
        let mut flow = flow(side, |_, _| Way::Arrives);
        flow.run_until(2.0);
        let state = flow.sender.state();
        assert!(
            state.rate > 1e7 && state.mode == "slow_start",
            "{side}: {state:?}"
        );
    }
}

/// Losses are far apart compared with a round trip, so that the loss event rate is the loss rate.
#[test]
fn section_3_1_the_rate_is_the_equation_s() {
    for side in BOTH {
        for p in [0.001, 0.005] {
            let mut flow = flow(side, losing_at_random(p));
            flow.run_until(660.0);
            let rate = flow.count(60.0, 660.0) as f64 / 600.0;
            let expected = Tfrc::default().equation().packets_per_s(0.1, p);
            assert!(
                (0.9..1.1).contains(&(rate / expected)),
                "{side}, {p}: {rate} of {expected}"
            );
        }
    }
}

#[test]
fn section_7_the_sender_finds_the_same_losses() {
    let [receiver, sender] = BOTH.map(|side| {
        let mut flow = flow(side, losing_at_random(0.01));
        flow.run_until(300.0);
        flow.left.len() as f64
    });
    close(sender, receiver, 0.05);
}

#[test]
fn section_7_a_mark_is_one_loss_event() {
    for side in BOTH {
        let fate = |_, number| {
            if number == 100 {
                Way::Marked
            } else {
                Way::Arrives
            }
        };
        let mut flow = flow(side, fate);
        flow.run_until(1.5);
        let state = flow.sender.state();
        assert!(flow.left.len() > 100, "{side}: {state:?}");
        // The sender does not know if the receiver measures.
        assert_eq!(state.lost, (side == "sender").then_some(0));
        assert!(state.loss_event_rate > 0.0, "{side}: {state:?}");
    }
}

/// Section 7 requires reliable delivery of the data the sender needs. A vector of 64 bits tolerates
/// the loss of 63 answers in a row.
#[test]
fn section_7_lost_answers_are_no_losses_as_long_as_one_in_a_vector_comes_through() {
    for (one_in, is_borne) in [(64, true), (65, false)] {
        let mut flow = flow("sender", |_, _| Way::Arrives);
        let mut count = 0_u64;
        flow.loses_answer = Box::new(move |now| {
            count += 1;
            now > Time::from_seconds(1.5) && !count.is_multiple_of(one_in)
        });
        flow.run_until(2.5);
        assert_eq!(
            flow.sender.state().lost == Some(0),
            is_borne,
            "one answer in {one_in}"
        );
    }
}

#[test]
fn section_4_4_a_blackout_of_30_seconds() {
    for side in BOTH {
        let mut flow = flow(side, losing(0.002, 90.0..120.0));
        flow.run_until(300.0);
        let before = flow.count(60.0, 90.0) as f64 / 30.0;
        let mut last = 1.5 * before;
        for from in [91, 96, 101, 106, 111] {
            let largest = flow.largest_rate(f64::from(from), f64::from(from + 5));
            assert!(largest <= last, "{side}: {largest} after {last}");
            last = largest;
        }
        // 4 R = 0.4 s: halved until two packets take longer.
        assert!(last < 2.0, "{side}: {last}");
        // It continues at the rate of the equation, from a history in which the blackout is many
        // loss events.
        let after = flow.count(240.0, 300.0) as f64 / 60.0;
        assert!(
            (0.7..1.4).contains(&(after / before)),
            "{side}: {after} of {before}"
        );
    }
}

/// The report that appendix C.4 cites (Floyd, Handley, Padhye, Widmer 2000, appendix A.2): about
/// five round trips of loss halve the rate.
#[test]
fn appendix_c_4_the_rate_is_halved_after_about_five_round_trips_of_loss() {
    // Every hundredth packet is lost; later every second one, so that each round trip has a loss
    // event.
    let fate = |now: Time, number: u64| {
        let each = if now < Time::from_seconds(120.0) {
            100
        } else {
            2
        };
        if number.is_multiple_of(each) && number > 0 {
            Way::Lost
        } else {
            Way::Arrives
        }
    };
    let mut flow = flow("receiver", fate);
    flow.run_until(130.0);
    let rate_at = |until: f64| flow.largest_rate(until, until);
    let mut steps = (0..1000).map(|step| f64::from(step) / 100.0);
    let halved = steps.find(|after| rate_at(120.0 + after) <= rate_at(120.0) / 2.0);
    assert!(
        halved.is_some_and(|after| (0.3..0.8).contains(&after)),
        "{halved:?} seconds"
    );
}

/// After the last loss only the current interval I_0 grows, by X R packets per round trip. Its
/// weight in the mean is 1 of 1 + 5 DF (w_1 to w_7 sum to 5). X R is the square root of 3/2 times
/// the mean, so d(X R) = 3/4 / (1 + 5 DF). This is 1/8 without discounting, and 1/3 with the
/// smallest DF of section 5.5.
#[test]
fn section_5_5_without_loss_the_rate_grows_by_a_fraction_of_a_packet_per_round_trip() {
    for (discounting, floor) in [(false, 1.0), (true, 0.5), (true, 0.25)] {
        let tree = json!({ "kind": "tfrc", "discounting": discounting, "discount_floor": floor });
        let mut flow = Dialogue::new(&tree, RTT, Span::ZERO, |now, number| {
            if number % 100 == 99 && now < Time::from_seconds(120.0) {
                Way::Lost
            } else {
                Way::Arrives
            }
        });
        flow.run_until(150.0);
        let early = flow.rate();
        flow.run_until(180.0);
        let growth = (flow.rate() - early) * 0.1 / 300.0;
        close(growth, 0.75 / (1.0 + 5.0 * floor), 0.1);
    }
}
