//! Both halves together, with loss measured on either side.

use super::super::{LossMeasured, Tfrc};
use super::path::Flow;
use super::{close, ms};
use crate::streams::{Stream, Streams};
use crate::units::{Span, Time};

fn parameters(loss_measured_by: LossMeasured) -> Tfrc {
    Tfrc {
        loss_measured_by,
        ..Tfrc::default()
    }
}

const BOTH: [LossMeasured; 2] = [LossMeasured::Receiver, LossMeasured::Sender];

fn chance() -> Stream {
    Streams::new(7, 0).stream("loss")
}

/// Each packet is lost with probability p, no answer is.
fn independent(p: f64) -> impl FnMut(Time, bool) -> bool {
    let mut stream = chance();
    move |_, is_answer| !is_answer && stream.uniform() < p
}

#[test]
fn section_4_3_slow_start_fills_an_endless_path() {
    for side in BOTH {
        let mut flow = Flow::new(&parameters(side));
        flow.run(ms(2000), |_, _| false);
        assert!(
            flow.sender.state().rate > 1e7,
            "{side:?}: {:?}",
            flow.sender.state()
        );
        assert_eq!(flow.sender.state().mode, "slow_start");
    }
}

/// Losses are far apart compared with a round trip, so that the loss event rate is the loss rate.
#[test]
fn section_3_1_the_rate_is_the_equation_s() {
    for side in BOTH {
        for p in [0.001, 0.005] {
            let mut flow = Flow::new(&parameters(side));
            flow.run(ms(60_000), independent(p));
            let rate = flow.rate_over(600.0, independent(p));
            let expected = parameters(side).equation().packets_per_s(0.1, p);
            assert!(
                (0.9..1.1).contains(&(rate / expected)),
                "{side:?}, {p}: {rate} of {expected}"
            );
        }
    }
}

#[test]
fn section_7_the_sender_finds_the_same_losses() {
    let rates = BOTH.map(|side| {
        let mut flow = Flow::new(&parameters(side));
        flow.rate_over(300.0, independent(0.01))
    });
    close(rates[1], rates[0], 0.05);
}

#[test]
fn section_7_a_mark_is_one_loss_event() {
    for side in BOTH {
        let mut flow = Flow::new(&parameters(side));
        flow.run(ms(1000), |_, _| false);
        assert_eq!(flow.sender.state().mode, "slow_start");
        flow.mark_next();
        flow.run(ms(1300), |_, _| false);
        let state = flow.sender.state();
        assert!(
            state.loss_event_rate > 0.0 && state.lost == 0,
            "{side:?}: {state:?}"
        );
    }
}

/// Section 7 asks for reliable delivery of what the sender must know. A vector of 64 bits bears the loss of 63 answers in a row.
#[test]
fn section_7_lost_answers_are_no_losses_as_long_as_one_in_a_vector_comes_through() {
    let mut count = 0;
    let one_in_32 = move |_, is_answer: bool| {
        count += u64::from(is_answer);
        is_answer && count % 32 != 0
    };
    let mut flow = Flow::new(&parameters(LossMeasured::Sender));
    flow.run(ms(1500), |_, _| false);
    flow.run(ms(4000), one_in_32);
    assert_eq!(flow.sender.state().lost, 0);
    let mut count = 0;
    let one_in_100 = move |_, is_answer: bool| {
        count += u64::from(is_answer);
        is_answer && count % 100 != 0
    };
    flow.run(ms(8000), one_in_100);
    assert!(flow.sender.state().lost > 0);
}

#[test]
fn section_4_4_a_blackout_of_30_seconds() {
    for side in BOTH {
        let mut flow = Flow::new(&parameters(side));
        flow.run(ms(60_000), independent(0.002));
        let before = flow.rate_over(30.0, independent(0.002));
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            flow.run(flow.now + Span::from_millis(5000), |_, _| true);
            let rate = flow.sender.state().rate;
            assert!(rate <= last.min(before * 1000.0 * 1.5), "{side:?}: {rate}");
            last = rate;
        }
        // 4 R = 0.4 s: halved until two packets take longer.
        assert!(last < 2000.0, "{side:?}: {last}");
        // It goes on as fast as the equation lets it, from a history in which the blackout is many loss events.
        let mut loses = independent(0.002);
        flow.run(flow.now + Span::from_millis(120_000), &mut loses);
        let after = flow.rate_over(60.0, &mut loses);
        assert!(
            (0.7..1.4).contains(&(after / before)),
            "{side:?}: {after} of {before}"
        );
    }
}

/// The figures of Floyd, Handley, Padhye, Widmer 2000 (appendix A.2 of their report, which appendix C.4 of the RFC cites): about five round trips of loss halve the rate.
#[test]
fn appendix_c_4_the_rate_is_halved_after_about_five_round_trips_of_loss() {
    let mut flow = Flow::new(&parameters(LossMeasured::Receiver));
    let mut count = 0_u64;
    // Every hundredth packet is lost.
    flow.run(ms(120_000), move |_, is_answer| {
        count += u64::from(!is_answer);
        !is_answer && count.is_multiple_of(100)
    });
    let before = flow.sender.state().rate;
    let start = flow.now;
    let mut count = 0_u64;
    // Every second one, from now on: a loss event in each round trip.
    let mut loses = move |_: Time, is_answer: bool| {
        count += u64::from(!is_answer);
        !is_answer && count.is_multiple_of(2)
    };
    while flow.sender.state().rate > before / 2.0 {
        flow.run(flow.now + Span::from_millis(10), &mut loses);
    }
    let round_trips = flow.now.since(start).as_seconds() / 0.1;
    assert!((3.0..8.0).contains(&round_trips), "{round_trips}");
}
