use super::super::testing::{CONTEXT, MSS, Stream, ack, assert_near, rate_at};
use super::*;

const RTT_MIN: Span = Span::from_millis(70);
const GAP: Span = Span::from_micros(3_200);

fn stream(estimate: &mut AdaptiveEstimate, queued: Span) -> Stream<'_> {
    let rtt = RTT_MIN + queued;
    let window = libm::round(rtt.as_seconds() / GAP.as_seconds()) as u64;
    estimate.on_ack(Time::ZERO, &ack(1, RTT_MIN, window)); // the path was empty at first
    let mut stream = Stream::new(estimate, rtt, window);
    stream.cwnd = window;
    stream
}

/// Returns the relative estimate for one flow that fills a path and queues `queued`, with even
/// ACKs.
fn steady(parameters: &Abse, queued: Span) -> f64 {
    let mut estimate = parameters.start(&CONTEXT);
    stream(&mut estimate, queued).steady(GAP, 5000) / rate_at(GAP)
}

#[test]
fn a_steady_rate_is_found() {
    for queued in [0, 16, 70] {
        assert_near(
            steady(&Abse::default(), Span::from_millis(queued)),
            1.0,
            1e-6,
        );
    }
}

/// Checks equation 2 with the true rate and a window of rate times round-trip time: T is the
/// queueing delay.
#[test]
fn the_sampling_interval_is_the_queueing_delay() {
    for queued_ms in [10, 35, 70, 140] {
        let queued = Span::from_millis(queued_ms);
        let mut estimate = Abse::default().start(&CONTEXT);
        estimate.on_ack(Time::ZERO, &ack(1, RTT_MIN, 1));
        let rate = 312_500.0;
        estimate.now.throughput = rate;
        let rtt = RTT_MIN + queued;
        let sample = AckSample {
            cwnd: Bytes((rate * rtt.as_seconds()) as u64),
            ..ack(1, rtt, 1)
        };
        let interval = estimate.sampling_interval(&sample, GAP, rtt).as_seconds();
        // The window is whole bytes.
        let near = |interval: f64| (interval - queued.as_seconds()).abs() < 5e-6;
        assert!(near(interval), "{interval} {queued_ms}");
        // In the printed interpretation, the estimate before this ACK is compared.
        estimate.parameters.compared = Compared::Estimate;
        assert_eq!(
            estimate.sampling_interval(&sample, GAP, rtt),
            rtt,
            "it has none"
        );
        estimate.before.estimate = rate;
        let interval = estimate.sampling_interval(&sample, GAP, rtt).as_seconds();
        assert!(near(interval));
    }
}

#[test]
fn the_sampling_interval_stays_between_two_acks_and_a_round_trip() {
    let mut estimate = Abse::default().start(&CONTEXT);
    estimate.on_ack(Time::ZERO, &ack(1, RTT_MIN, 1));
    let mut interval = |throughput: f64, cwnd: u64, gap: Span| {
        estimate.now.throughput = throughput;
        estimate.sampling_interval(&ack(1, RTT_MIN, cwnd), gap, RTT_MIN)
    };
    assert_eq!(
        interval(0.0, 20, GAP),
        RTT_MIN,
        "nothing is known to fit the path"
    );
    assert_eq!(
        interval(1e9, 20, GAP),
        GAP,
        "more fits the path than the window"
    );
    assert_eq!(interval(1e9, 0, GAP), GAP, "no window");
    let slow = Span::from_millis(300);
    assert_eq!(
        interval(0.0, 20, slow),
        slow,
        "the last pair is there at least"
    );
    estimate.parameters.sampling = Sampling::AckPair;
    assert_eq!(
        estimate.sampling_interval(&ack(1, RTT_MIN, 20), GAP, RTT_MIN),
        GAP
    );
}

#[test]
fn samples_that_never_vary_leave_the_shortest_time_constant() {
    let mut estimate = Abse::default().start(&CONTEXT);
    assert_eq!(estimate.time_constant(0.07), 0.07, "no U yet");
    estimate.variations.extend([0.0; 10]);
    assert_eq!(estimate.time_constant(0.07), 0.07, "U_max = 0");
    estimate.variations.extend([4.0, 1.0]);
    estimate.now.variation = 1.0;
    assert_near(
        estimate.time_constant(0.07),
        0.07 + 10.0 * 0.07 / 4.0,
        1e-12,
    );
    estimate.now.variation = 4.0;
    assert_near(estimate.time_constant(0.07), 11.0 * 0.07, 1e-12);
}

#[test]
fn after_a_long_silence_nothing_is_kept() {
    let mut estimate = Abse::default().start(&CONTEXT);
    let mut stream = stream(&mut estimate, Span::from_millis(35));
    stream.steady(GAP, 1000);
    let silence = Span::from_millis(10_000); // far more than twice 11 round trips
    stream.ack(silence, 1);
    assert_near(
        stream.estimator.rate(),
        MSS as f64 / silence.as_seconds(),
        1e-12,
    );
}

#[test]
fn acks_of_one_moment_are_one_sample() {
    let (mut pairs, mut doubles) = (
        Abse::default().start(&CONTEXT),
        Abse::default().start(&CONTEXT),
    );
    let mut of_pairs = stream(&mut pairs, Span::from_millis(35));
    let mut of_doubles = stream(&mut doubles, Span::from_millis(35));
    for n in 0..500 {
        let gap = GAP * (1 + n % 3);
        of_pairs.ack(gap, 1);
        of_pairs.ack(Span::ZERO, 1);
        of_doubles.ack(gap, 2);
        assert_near(
            of_pairs.estimator.rate(),
            of_doubles.estimator.rate(),
            1e-12,
        );
    }
}

/// Interpretation B: the printed interval ends before the ACK that it starts with.
#[test]
fn the_literal_edge_reads_high_by_up_to_a_gap() {
    let literal = Abse {
        edge: Edge::Literal,
        ..Abse::default()
    };
    let mut worst = 0.0_f64;
    for queued_ms in 8..60 {
        let queued = Span::from_millis(queued_ms);
        let (aligned, read) = (steady(&Abse::default(), queued), steady(&literal, queued));
        assert_near(aligned, 1.0, 1e-6);
        let gap = GAP.as_seconds() / queued.as_seconds();
        assert!(
            read > 1.0 - 1e-6 && read < 1.0 + gap + 1e-6,
            "{read} at {queued_ms} ms"
        );
        worst = worst.max(read);
    }
    assert!(worst > 1.05, "{worst}");
}

/// Trains of sixteen and of four segments, whose mean spacing is that of evenly sent segments.
fn in_trains(parameters: &Abse, queued: Span) -> f64 {
    let mut estimate = parameters.start(&CONTEXT);
    let mut stream = stream(&mut estimate, queued);
    let mut sum = 0.0;
    for n in 0..1000 {
        let train = if n % 2 == 0 { 16 } else { 4 };
        for ack in 1..=train {
            let gap = if ack == train {
                GAP * train - GAP / 26 * (train - 1)
            } else {
                GAP / 26
            };
            stream.ack(gap, 1);
            sum += if n < 500 {
                0.0
            } else {
                stream.estimator.rate()
            };
        }
    }
    sum / 5000.0 / rate_at(GAP)
}

/// Checks that interpretations A to E, and the adaptation of T, differ on trains of ACKs.
#[test]
fn every_reading_says_something_of_its_own() {
    let queued = Span::from_millis(60);
    let of = |change: fn(&mut Abse)| {
        let mut parameters = Abse::default();
        change(&mut parameters);
        in_trains(&parameters, queued)
    };
    let default = of(|_| {});
    for (reading, found) in [
        ("A", of(|abse| abse.compared = Compared::Estimate)),
        ("B", of(|abse| abse.edge = Edge::Literal)),
        ("C", of(|abse| abse.horizon = 1000)),
        ("D", of(|abse| abse.step = Step::SamplingInterval)),
        ("pair", of(|abse| abse.sampling = Sampling::AckPair)),
        ("tau", of(|abse| abse.tau = Some(Span::from_millis(500)))),
    ] {
        assert!(
            (found / default - 1.0).abs() > 1e-3,
            "{reading}: {found} {default}"
        );
    }
    assert!(
        of(|abse| abse.sampling = Sampling::AckPair) > 1.5,
        "pairs within a train read far too much"
    );
}

/// Interpretation E: the last round trip instead of the smoothed one.
#[test]
fn the_round_trip_may_be_the_last_one() {
    let of = |round_trip: RoundTrip| {
        let parameters = Abse {
            round_trip,
            ..Abse::default()
        };
        let mut estimate = parameters.start(&CONTEXT);
        for n in 0..200_u64 {
            let now = Time::ZERO + GAP * n + GAP / 4 * (n % 3);
            let sample = AckSample {
                rtt: Some(Span::from_millis(70 + 40 * (n % 2))),
                smoothed_rtt: Some(Span::from_millis(90)),
                ..ack(1, RTT_MIN, 30)
            };
            estimate.on_ack(now, &sample);
        }
        estimate.rate()
    };
    assert!((of(RoundTrip::Latest) / of(RoundTrip::Smoothed) - 1.0).abs() > 1e-3);
}

/// Interpretation A as printed, with the estimate itself compared. Once the estimate implies that
/// the window fits the path, T stays at the last pair.
#[test]
fn the_printed_comparison_stays_where_it_is() {
    let read = |first: f64| {
        let literal = AbseLiteral::default();
        let mut estimate = literal.start(&CONTEXT);
        let mut stream = stream(&mut estimate, Span::from_millis(20));
        stream.steady(GAP, 100);
        estimate.now.estimate *= first;
        let mut stream = Stream {
            now: Time::ZERO + GAP * 100,
            rtt: Span::from_millis(90),
            cwnd: 28,
            estimator: &mut estimate,
        };
        let mut reached = 0;
        for _ in 0..500 {
            (0..7).for_each(|_| stream.ack(GAP / 26, 1));
            stream.ack(GAP * 8 - GAP / 26 * 7, 1);
            reached += usize::from(stream.estimator.rate() * 0.07 >= 28_000.0);
        }
        reached as f64 / 500.0
    };
    assert!(read(4.0) > 0.5, "{}", read(4.0));
}

#[test]
fn an_ack_without_a_round_trip_time_is_no_sample() {
    let mut estimate = Abse::default().start(&CONTEXT);
    let mut stream = stream(&mut estimate, Span::from_millis(35));
    let before = stream.steady(GAP, 1000);
    let now = stream.now + GAP;
    let mut blind = ack(1, RTT_MIN, 30);
    (blind.rtt, blind.smoothed_rtt) = (None, None);
    estimate.on_ack(now, &blind);
    assert_eq!((estimate.rate(), estimate.variations.len()), (before, 10));
}
