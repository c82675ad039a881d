use super::exact::{Choice, Controller, tuning};
use super::*;
use crate::packet::Ecn;
use crate::queue::testing::{Bench, assert_refused};
use ackclock_spec::streams::Streams;

fn stream() -> Stream {
    Streams::new(7, 0).stream("hop/test/queue")
}

fn bench(parameters: &Pie, service_ms: u64) -> Bench<PieQueue<Exact>> {
    Bench::new(PieQueue::new(parameters, stream()), service_ms)
}

fn unlimited() -> Pie {
    Pie {
        limit: QueueLimit::Unlimited,
        ..Pie::default()
    }
}

fn controller(probability: f64, delay_ms: f64) -> Controller {
    let mut controller = Controller::new(&Pie::default());
    controller.state.probability = probability;
    controller.state.delay = delay_ms / 1e3;
    controller
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{found} is not {expected}"
    );
}

/// The steps that RFC 8033 section 4.2 gives for a series of delays, computed by hand.
#[test]
fn the_probability_takes_the_steps_of_the_control_law() {
    let mut controller = controller(0.0, 0.0);
    let delays_ms = [20.0, 30.0, 30.0, 20.0, 10.0];
    let expected = [1.251_22e-5, 1.248_17e-4, 1.834_11e-4, 0.0, 0.0];
    for (delay, expected) in delays_ms.iter().zip(expected) {
        controller.update(delay / 1e3);
        near(controller.state.probability, expected, 1e-5);
    }
}

/// (drop probability, delay before, delay, new drop probability), delays in ms.
const STEPS: [(f64, f64, f64, f64); 8] = [
    // α 5 ms + β 0 ms over the divisor 8
    (0.005, 20.0, 20.0, 0.005 + 0.125 * 0.005 / 8.0),
    // α 5 ms + β 10 ms, undivided
    (
        0.3,
        10.0,
        20.0,
        0.3 + 0.02_f64.min(0.125 * 0.005 + 1.25 * 0.01),
    ),
    // The step would be 0.0731; from 10 % on it is at most 0.02.
    (0.2, 50.0, 100.0, 0.22),
    // Beyond 250 ms there is the same again on top.
    (0.2, 50.0, 300.0, 0.24),
    // Below 10 % the step is not capped.
    (0.09, 0.0, 100.0, 0.09 + (0.125 * 0.085 + 1.25 * 0.1) / 2.0),
    // Without delay it falls by 2 % besides.
    (0.2, 0.0, 0.0, (0.2 - 0.125 * 0.015) * 0.98),
    // At the target, nothing changes.
    (0.03, 15.0, 15.0, 0.03),
    // It stays within 0 and 1.
    (0.995, 100.0, 300.0, 1.0),
];

#[test]
fn steps_are_tuned_capped_and_decayed() {
    for (before, old, delay, expected) in STEPS {
        let mut controller = controller(before, old);
        controller.update(delay / 1e3);
        near(controller.state.probability, expected, 1e-12);
    }
    for (probability, divisor) in [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_01, 128.0),
        (0.000_1, 32.0),
        (0.001, 8.0),
        (0.01, 2.0),
        (0.1, 1.0),
        (1.0, 1.0),
    ] {
        assert_eq!(tuning(probability), divisor, "{probability}");
    }
}

#[test]
fn the_burst_allowance_counts_down_and_returns_when_congestion_is_over() {
    let mut controller = controller(0.0, 0.0);
    for left_ms in (0..10_u64).rev().map(|updates| updates * 15) {
        controller.update(0.02);
        assert_eq!(controller.state.burst, Span::from_millis(left_ms));
    }
    controller.state.probability = 0.0;
    controller.update(0.007);
    assert_eq!(controller.state.burst, Span::ZERO, "one short delay");
    controller.update(0.007);
    assert_eq!(controller.state.burst, Span::from_millis(150), "two");
}

/// A packet every half millisecond, served in one: the queue grows by a packet per millisecond,
/// as if nothing were dropped while the allowance lasts.
#[test]
fn nothing_is_dropped_during_the_burst_allowance() {
    let mut bench = bench(&unlimited(), 1);
    bench.load(0.0, 1.0, 0.000_5);
    let first = bench.early()[0];
    // The allowance does not count down before the delay reaches half the target, at 15 ms: the
    // first update finds 7 ms, the next one 14 ms.
    assert!((0.150..0.4).contains(&first), "{first}");
    let mut bench = self::bench(
        &Pie {
            burst_allowance: Span::ZERO,
            ..unlimited()
        },
        1,
    );
    bench.load(0.0, 1.0, 0.000_5);
    assert!(bench.early()[0] < first);
}

/// With a constant drop probability, gaps follow from the sum: none below 0.85/p, none above
/// 8.5/p, and in between each packet is dropped with probability p.
#[test]
fn drops_are_spaced() {
    let p = 0.062_5; // exact in binary, so that sums are
    for derandomise in [true, false] {
        let mut stream = stream();
        let mut choice = Choice {
            derandomise,
            accumulated: 0.0,
        };
        let (mut gap, mut gaps) = (0, Vec::new());
        for _ in 0..400_000 {
            gap += 1;
            if choice.strikes(p, &mut stream) {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        // The 14th packet is the first with a sum of 0.85. So 13 pass, then the gap is geometric.
        let expected = if derandomise { 13.0 + 16.0 } else { 16.0 };
        // Four standard errors of a geometric law.
        near(
            mean,
            expected,
            4.0 * 16.0 / expected / (gaps.len() as f64).sqrt(),
        );
        let least = *gaps.iter().min().unwrap();
        assert_eq!(least, if derandomise { 14 } else { 1 });
        assert!(!derandomise || gaps.iter().all(|gap| *gap <= 136));
    }
    let mut certain = Choice {
        derandomise: true,
        accumulated: 8.49,
    };
    assert!(
        certain.strikes(0.02, &mut stream()),
        "a sum of 8.5 is enough"
    );
    assert_eq!(certain.accumulated, 0.0);
}

/// A load that slows down by a third at each signal, and speeds up gradually. The controller
/// integrates the distance from the target, so the mean delay meets it.
#[test]
fn the_mean_delay_meets_the_target_under_a_load_that_reacts() {
    for (ecn, delay_measure) in [
        (false, DelayMeasure::Timestamps),
        (false, DelayMeasure::DepartureRate),
        (true, DelayMeasure::Timestamps),
    ] {
        let mut bench = bench(
            &Pie {
                ecn,
                delay_measure,
                ..Pie::default()
            },
            1,
        );
        bench.ecn = Ecn::Capable;
        bench.load_that_reacts(120.0);
        let mean = bench.mean_wait_after(20.0);
        // Half the target to twice it: the load reacts within a millisecond, which no TCP does.
        assert!((0.0075..0.030).contains(&mean), "{delay_measure:?}: {mean}");
        // From two thirds of its rate back to it, the load takes 0.8 s: 144 signals.
        let signals = bench.signals();
        assert!(signals > 100, "{delay_measure:?}: {signals} signals");
        assert_eq!(bench.log.marks.is_empty(), !ecn);
    }
}

/// In the integers of Linux the law is the same, and so is the mean delay.
#[test]
fn the_mean_delay_meets_the_target_in_the_integers_of_linux() {
    for ecn in [false, true] {
        let parameters = Pie {
            ecn,
            arithmetic: Arithmetic::Linux,
            ..Pie::default()
        };
        let mut bench = Bench::new(PieQueue::<Linux>::new(&parameters, stream()), 1);
        bench.ecn = Ecn::Capable;
        bench.load_that_reacts(120.0);
        let mean = bench.mean_wait_after(20.0);
        assert!((0.0075..0.030).contains(&mean), "{mean}");
        assert_eq!(bench.log.marks.is_empty(), !ecn);
        assert!(bench.signals() > 100, "{}", bench.signals());
    }
}

#[test]
fn a_short_queue_and_a_short_delay_are_spared() {
    let always = |probability: f64, delay: f64, packets: usize| {
        let mut bench = bench(&unlimited(), 1000);
        (0..=packets).for_each(|_| bench.arrive(0.0));
        let line = bench.queue.line();
        let state = &mut bench.queue.control.controller.state;
        (state.probability, state.delay, state.burst) = (probability, delay, Span::ZERO);
        let PieQueue {
            control, stream, ..
        } = &mut bench.queue;
        (0..40).any(|_| control.strikes(line, stream))
    };
    assert!(always(1.0, 0.1, 3));
    assert!(!always(1.0, 0.1, 2), "two usual packets");
    assert!(always(0.199, 0.0075, 9) && always(0.2, 0.007, 9));
    assert!(!always(0.199, 0.007, 9), "below half the target");
}

#[test]
fn capable_packets_are_marked_up_to_the_threshold_and_dropped_above() {
    let outcome = |ecn, packets, mark_up_to| {
        let parameters = Pie {
            ecn,
            mark_up_to: Probability::new(mark_up_to).unwrap(),
            ..unlimited()
        };
        let mut bench = bench(&parameters, 1);
        bench.ecn = packets;
        bench.load(0.0, 3.0, 0.000_9);
        (bench.early().len(), bench.log.marks.len())
    };
    for (ecn, packets) in [(false, Ecn::Capable), (true, Ecn::NotCapable)] {
        let (drops, marks) = outcome(ecn, packets, 0.1);
        assert!(drops > 10 && marks == 0, "{packets:?}: {drops} {marks}");
    }
    for packets in [Ecn::Capable, Ecn::CapableL4s] {
        let (drops, marks) = outcome(true, packets, 1.0);
        assert!(drops == 0 && marks > 10, "{packets:?}: {drops} {marks}");
        let (drops, marks) = outcome(true, packets, 0.1);
        assert!(drops > 10 && marks > 0, "{packets:?}: {drops} {marks}");
    }
}

/// Bursts with pauses between them; the updates of a pause happen before the next packet.
#[test]
fn updates_left_out_in_a_pause_would_have_changed_nothing() {
    let until = Time::from_seconds(3600.0);
    let end = |each: bool, backlog: u64, by_rate: bool| {
        let parameters = Pie {
            delay_measure: if by_rate {
                DelayMeasure::DepartureRate
            } else {
                DelayMeasure::Timestamps
            },
            ..unlimited()
        };
        let mut bench = bench(&parameters, 10_000_000);
        (0..=backlog).for_each(|_| bench.arrive(0.0));
        let (line, queue) = (bench.queue.line(), &mut bench.queue.control);
        if let Some(rate) = &mut queue.departures {
            rate.average = Some(0.01);
        }
        queue.controller.state.probability = 0.3;
        if each {
            let interval = queue.controller.update_interval;
            while queue.next_update <= until {
                let delay = queue.delay(queue.next_update, line);
                queue.controller.update(delay);
                queue.next_update = queue.next_update + interval;
            }
        } else {
            queue.catch_up(until, line);
        }
        (queue.controller.state, queue.next_update)
    };
    for by_rate in [false, true] {
        for backlog in [0, 2, 100] {
            assert_eq!(
                end(true, backlog, by_rate),
                end(false, backlog, by_rate),
                "{backlog} {by_rate}"
            );
        }
    }
}

#[test]
fn a_century_of_silence_takes_no_time() {
    let century = Time::from_seconds(100.0 * 365.0 * 86_400.0);
    for backlog in [0, 5] {
        let mut bench = bench(&unlimited(), 10_000_000_000);
        (0..=backlog).for_each(|_| bench.arrive(0.0));
        let line = bench.queue.line();
        bench.queue.control.catch_up(century, line);
        assert!(bench.queue.control.next_update > century);
    }
}

/// 12 Mbit/s: a sample of 16,384 bytes takes eleven packets, 11 ms of 16,500 bytes.
#[test]
fn the_departure_rate_is_that_of_the_link() {
    let parameters = Pie {
        delay_measure: DelayMeasure::DepartureRate,
        ..unlimited()
    };
    let mut bench = bench(&parameters, 1);
    (0..100).for_each(|_| bench.arrive(0.0));
    bench.serve_until(Time::from_seconds(0.05));
    let delay = bench
        .queue
        .control
        .delay(Time::from_seconds(0.05), bench.queue.line());
    let waiting = bench.queue.backlog().bytes.as_f64();
    // A sample ends with the packet that reaches it, as in RFC 8033; its excess is not counted.
    near(delay, waiting * 0.011 / 16_384.0, 1e-9);
}

#[test]
fn what_does_not_fit_is_dropped_at_the_tail() {
    let limit = QueueLimit::Packets(10);
    let mut bench = bench(
        &Pie {
            limit,
            ..Pie::default()
        },
        1,
    );
    (0..50).for_each(|_| bench.arrive(0.0));
    assert_eq!(bench.queue.backlog().packets, 10);
    assert_eq!(bench.log.drops, [(0.0, DropReason::QueueFull); 39]);
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    // The last four are possible with exact arithmetic.
    let linux = json!({ "kind": "pie", "arithmetic": "linux" });
    assert_refused(
        &linux,
        [
            ("target", json!("0 ms")),
            ("update_interval", json!("999 us")),
            ("alpha", json!(0)),
            ("beta", json!(-1)),
            ("limit", json!("0 packets")),
            ("limit", json!("20 ms")),
            ("mean_packet", json!("0 bytes")),
            ("rate_sample", json!("0 bytes")),
            ("alpha", json!(0.1)),
            ("beta", json!(2.5)),
            ("derandomise", json!(false)),
            ("delay_measure", json!("departure_rate")),
        ],
    );
}
