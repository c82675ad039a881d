//! Single cases with their expected results.

use super::*;

/// More packets than [`Hop`] can count on the fast path at a time.
#[test]
fn many_packets_past_an_idle_link_are_all_counted() {
    let hop = || {
        Description::new(
            constant("12 Mbit/s"),
            droptail("9 packets", false),
            vec![],
            Span::ZERO,
        )
    };
    for ahead in [None, Some(Span::from_millis(1))] {
        let n = 70_000;
        let arrivals: Arrivals = (0..n)
            .map(|n| (Time::from_nanos(2_000_000 * n), 1500))
            .collect();
        let mut bench = Bench::new(hop().build());
        (bench.every, bench.ahead) = (u64::MAX, ahead);
        let bench = drive_bench(bench, &arrivals, &[], |_, _| {});
        assert_eq!(bench.hop.counters().departures, n);
        assert_eq!(bench.hop.busy(Time::NEVER), Span::from_millis(n));
    }
}

/// A packet of 1500 bytes at 7 Mbit/s takes 1714285 nanoseconds and 5/7. Each packet comes when the
/// previous one has been sent.
#[test]
fn fractions_of_a_nanosecond_are_carried_past_an_idle_link() {
    let hop = Description::new(
        constant("7 Mbit/s"),
        droptail("9 packets", false),
        vec![],
        Span::ZERO,
    );
    let mut link = hop.link();
    let mut at = Time::ZERO;
    let arrivals: Arrivals = (0..700)
        .map(|_| {
            let came = at;
            at = link.finish(came, Bytes(1500));
            (came, 1500)
        })
        .collect();
    let mut bench = Bench::new(hop.build());
    bench.every = u64::MAX;
    let bench = drive_bench(bench, &arrivals, &[], |_, _| {});
    assert_eq!(bench.hop.busy(Time::NEVER), Span::from_millis(1200));
    assert_eq!(
        bench.departures[699].0,
        Time::ZERO + Span::from_millis(1200)
    );
}

#[test]
fn a_link_that_goes_down_for_good_has_been_busy_until_then() {
    let steps =
        json!([{ "from": "0 s", "rate": "12 Mbit/s" }, { "from": "10 ms", "rate": "0 bit/s" }]);
    let codel = json!({ "kind": "codel", "limit": "100 packets" });
    for queue in [droptail("unlimited", false), codel] {
        let link = json!({ "kind": "scheduled", "steps": steps });
        let mut bench = Bench::new(Description::new(link, queue, vec![], Span::ZERO).build());
        (0..30).for_each(|n| bench.arrive(Time::ZERO, n, 1500));
        for (ms, busy_ms) in [(0, 0), (4, 4), (10, 10), (3600, 10)] {
            let now = Time::from_nanos(ms * 1_000_000);
            bench.take(now);
            let mut context = Bench::context(&mut bench.pool, &mut bench.drops);
            bench.hop.catch_up(now, &mut context);
            assert_eq!(
                bench.hop.busy(now),
                Span::from_millis(busy_ms),
                "after {ms} ms"
            );
        }
        assert_eq!(bench.hop.counters().served, 10);
    }
}

#[test]
fn a_link_that_is_down_for_ever_fills_the_queue_and_stays() {
    let hop = Description::new(
        constant("0 bit/s"),
        droptail("5 packets", false),
        vec![],
        Span::ZERO,
    );
    let mut bench = jump(&hop, &burst(10));
    assert!(bench.wake().is_never());
    assert_eq!((bench.hop.inside(&bench.pool), bench.drops.0.len()), (6, 4));
    bench.take(Time::from_seconds(3e9));
    assert!(bench.departures.is_empty());
}

#[test]
fn a_queue_of_nothing_leaves_the_packet_in_service_or_nobody() {
    for (counts, served) in [(false, 1), (true, 0)] {
        let hop = Description::new(
            constant("1 Mbit/s"),
            droptail("0 packets", counts),
            vec![],
            Span::ZERO,
        );
        let bench = jump(&hop, &burst(5));
        assert_eq!(
            (bench.departures.len(), bench.drops.0.len()),
            (served, 5 - served)
        );
        assert!(
            bench
                .drops
                .0
                .iter()
                .all(|(.., reason)| *reason == DropReason::QueueFull)
        );
    }
}

#[test]
fn without_delay_a_packet_leaves_when_it_has_been_sent() {
    let hop = Description::new(
        constant("12 Mbit/s"),
        droptail("9 packets", false),
        vec![],
        Span::ZERO,
    );
    let bench = jump(&hop, &burst(3));
    let expected = [1, 2, 3].map(|ms| Time::ZERO + Span::from_millis(ms));
    assert_eq!(
        bench
            .departures
            .iter()
            .map(|(at, _)| *at)
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn what_is_lost_behind_the_link_has_used_it_and_before_the_queue_not() {
    for (side, served) in [("after_link", 3), ("before_queue", 0)] {
        let loss = json!({ "kind": "iid_loss", "probability": "100 %", "side": side });
        let hop = Description::new(
            constant("12 Mbit/s"),
            droptail("9 packets", false),
            vec![loss],
            Span::ZERO,
        );
        let bench = jump(&hop, &burst(3));
        assert_eq!(
            (bench.departures.len(), bench.hop.counters().served),
            (0, served)
        );
        assert_eq!(bench.hop.busy(Time::NEVER), Span::from_millis(served));
        let reasons: Vec<DropReason> = bench.drops.0.iter().map(|(.., reason)| *reason).collect();
        assert_eq!(reasons, [DropReason::Impairment; 3]);
    }
}

#[test]
fn a_copy_follows_its_original_and_uses_the_link_if_made_before_it() {
    for (side, last) in [("before_queue", 4), ("after_link", 2)] {
        let copies = json!({ "kind": "duplicate", "probability": "100 %", "side": side });
        let hop = Description::new(
            constant("12 Mbit/s"),
            droptail("9 packets", false),
            vec![copies],
            Span::ZERO,
        );
        let bench = jump(&hop, &burst(2));
        assert_eq!(
            bench.departures.iter().map(|(_, n)| *n).collect::<Vec<_>>(),
            [0, 0, 1, 1]
        );
        assert_eq!(bench.departures[3].0, Time::ZERO + Span::from_millis(last));
        assert_eq!(bench.hop.counters().duplicates, 2);
    }
}

#[test]
fn jitter_reorders_only_where_it_may() {
    let order = |reordering: &str| {
        let jitter = json!({ "kind": "jitter", "reordering": reordering,
            "distribution": { "kind": "exponential", "mean": "20 ms" } });
        let queue = droptail("unlimited", false);
        let hop = Description::new(
            constant("12 Mbit/s"),
            queue,
            vec![jitter],
            Span::from_millis(5),
        );
        let bench = jump(&hop, &burst(100));
        assert!(bench.departures.is_sorted_by_key(|(at, _)| *at));
        bench.departures.iter().map(|(_, n)| *n).collect::<Vec<_>>()
    };
    assert!(order("forbidden").is_sorted());
    let mut allowed = order("allowed");
    assert!(!allowed.is_sorted());
    allowed.sort_unstable();
    assert!(allowed.into_iter().eq(0..100), "each once");
}

/// Packets of 1000 bytes at 8 Mbit/s take 1 ms. From 3 s on, the link has half the rate.
#[test]
fn the_limit_by_service_times_follows_a_link_that_slows_down_and_not_the_queue() {
    let steps =
        json!([{ "from": "0 s", "rate": "8 Mbit/s" }, { "from": "3 s", "rate": "4 Mbit/s" }]);
    let link = json!({ "kind": "scheduled", "steps": steps });
    let queue = json!({ "kind": "ebdp", "over_provision": "0 packets" });
    let hop = Description::new(link, queue, vec![], Span::ZERO);
    // Three packets come for each that can be sent. So the queue is always full, and each packet
    // waits 200 ms and more for a service of 1 or 2 ms.
    let arrivals: Arrivals = (0..45_000_u64)
        .map(|n| (Time::from_nanos(n * 333_333), 1000))
        .collect();
    let bench = drive(&hop, &arrivals, &[], |bench, now| {
        let limit = bench.hop.limit(now).unwrap();
        // The average of 1 ms and, for the packets sent since, 2 ms.
        let slow = bench.hop.counters().served.saturating_sub(3000);
        let average = 2.0 - libm::pow(0.999, slow as f64);
        let expected = if bench.hop.counters().served == 0 {
            400.0
        } else {
            200.0 / average
        };
        assert!(
            (limit / expected - 1.0).abs() < 1e-9,
            "{limit} after {slow}"
        );
    });
    assert!(bench.hop.limit(Time::from_seconds(15.0)).unwrap() < 101.0);
    assert!(bench.drops.0.len() > 20_000, "the queue was full");
}

#[test]
fn what_is_there_stays_when_the_limit_falls() {
    // The limit is 20 until the first second of work is over; in that second it falls to 5.
    let queue = json!({ "kind": "alt", "initial": "20 packets", "decrease": "100 packets/s" });
    // 10 packets of 1000 bytes per second.
    let hop = Description::new(constant("80 kbit/s"), queue, vec![], Span::ZERO);
    let mut arrivals: Arrivals = vec![(Time::ZERO, 1000); 25];
    arrivals.push((Time::from_seconds(1.05), 1000)); // finds 10
    arrivals.push((Time::from_seconds(1.55), 1000)); // finds 5
    arrivals.push((Time::from_seconds(1.65), 1000)); // finds 4
    let bench = jump(&hop, &arrivals);
    let dropped: Vec<u64> = bench.drops.0.iter().map(|(_, n, _)| *n).collect();
    assert_eq!(dropped, [20, 21, 22, 23, 24, 25, 26]);
    assert_eq!(bench.departures.len(), 21, "all that had been let in");
}
