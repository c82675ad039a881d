use super::sender::{Round, TfrcpSender};
use super::*;
use crate::rate_control::equation::pftk::Pftk;
use crate::rate_control::testing::{Dialogue, Way};
use crate::rate_control::{DatagramSent, Feedback, RateControl, Received};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::Time;
use proptest::prelude::*;
use proptest::strategy::Strategy as Generate;
use serde_json::Value;

const RTT: f64 = 0.1;

/// A sender with scripted packets, answers and rounds.
struct Script {
    sender: TfrcpSender,
    /// Sending time of each packet.
    sent: Vec<Time>,
    rounds: Vec<Round>,
}

impl Script {
    fn new(tree: Value) -> Self {
        let mut tree = tree;
        tree["kind"] = json!("tfrcp");
        let resolved = choose::<RateControlKind>(&tree, &NoFiles).unwrap().resolved;
        let mut fields = resolved.as_object().unwrap().clone();
        fields.remove("facts");
        fields.remove("kind");
        let parameters: Tfrcp = serde_json::from_value(fields.into()).unwrap();
        let streams = Streams::new(1, 0);
        let context = RateContext {
            place: StreamScope {
                streams: &streams,
                name: "flow/0/control",
            },
            mss: Bytes(1000),
        };
        let mut script = Script {
            sender: TfrcpSender::new(&parameters, &context),
            sent: Vec::new(),
            rounds: Vec::new(),
        };
        script.sender.start(Time::ZERO);
        script
    }

    /// Sends `count` packets at once.
    fn send(&mut self, at: f64, count: u64) {
        for _ in 0..count {
            let sent = DatagramSent {
                sequence: self.sent.len() as u64,
                length: Bytes(1000),
                data_limited: false,
            };
            self.sent.push(Time::from_seconds(at));
            self.sender.on_sent(Time::from_seconds(at), &sent);
        }
    }

    /// Delivers the answer to a packet. The packets at the distances `before` it had also arrived.
    fn answer(&mut self, at: f64, sequence: u64, before: &[u64]) {
        let bits = before.iter().fold(1, |bits, back| bits | 1 << back);
        self.answer_marked(at, sequence, bits, 0);
    }
    fn answer_marked(&mut self, at: f64, sequence: u64, bits: u64, marked: u64) {
        let feedback = Feedback {
            sequence,
            echo: self
                .sent
                .get(sequence as usize)
                .copied()
                .unwrap_or_default(),
            received: Received { bits, width: 8 },
            marked,
            ..Feedback::default()
        };
        self.sender.on_feedback(Time::from_seconds(at), &feedback);
    }
    /// Delivers the answers to `sequences`, each one round-trip time after the packet was sent.
    fn answer_all(&mut self, sequences: std::ops::Range<u64>) {
        for sequence in sequences {
            let at = self.sent[sequence as usize].as_seconds() + RTT;
            self.answer(at, sequence, &[]);
        }
    }

    /// Ends the round on time and returns it.
    fn end(&mut self) -> Round {
        let end = self.sender.poll_timeout();
        self.sender.handle_timeout(end);
        let round = self.sender.last.unwrap();
        assert_eq!(round.end, end);
        self.rounds.push(round);
        round
    }
    fn rate(&self) -> f64 {
        self.sender.clocking().packets_per_s
    }
}

/// A sender with rounds of 2 s, as published.
fn published() -> Script {
    Script::new(json!({ "growth_limit": "none" }))
}

fn counted(round: Round) -> (u64, u64) {
    (round.received, round.lost)
}

mod log {
    use super::*;

    /// Section 8, test 1 (i) and (ii): the vector has eight bits.
    #[test]
    fn seven_lost_answers_cost_nothing_and_eight_one_packet() {
        for (answers_lost, expected) in [(7, (9, 0)), (8, (9, 1))] {
            let mut script = published();
            script.send(0.0, answers_lost + 2);
            script.answer(RTT, 0, &[]);
            script.answer(RTT, answers_lost + 1, &[1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(counted(script.end()), expected);
        }
    }

    /// (iii): the last packets are not overdue, so they count in the next round.
    #[test]
    fn packets_without_news_are_carried_over() {
        let mut script = published();
        script.send(0.0, 5);
        script.send(1.9, 3);
        script.answer_all(0..5);
        assert_eq!(counted(script.end()), (5, 0));
        script.answer(2.1, 6, &[]);
        script.answer(2.1, 7, &[]);
        assert_eq!(
            counted(script.end()),
            (2, 1),
            "5 is lost: 6 and 7 have arrived"
        );
    }

    /// (iv): an overdue packet is lost, even if no later one has been acknowledged.
    #[test]
    fn packets_whose_time_is_over_are_lost() {
        let mut script = published();
        script.send(0.0, 1);
        script.answer_all(0..1);
        // One sample of 100 ms: 3 · 100 ms is below the minimum, so B is 1 s.
        script.send(0.9, 1);
        script.send(1.0, 1);
        assert_eq!(
            counted(script.end()),
            (1, 1),
            "1.9 s is before the end of the round, 2 s is not"
        );
        assert_eq!(script.sender.state().timeouts, 1);
        assert_eq!(counted(script.end()), (0, 1));
        assert_eq!(
            (script.sender.state().lost, script.sender.state().timeouts),
            (Some(2), 2)
        );
    }

    /// A packet has the timeout of its sending time: here 3 s before there is a sample, then 1 s.
    #[test]
    fn a_packet_keeps_the_timeout_it_was_sent_with() {
        let mut script = published();
        script.send(0.0, 2);
        script.answer(RTT, 0, &[]);
        script.send(0.5, 1);
        // Packet 2 times out by the end at 2 s. Packet 1, sent before, does not: it is settled when
        // its own time is over.
        assert_eq!(counted(script.end()), (1, 1));
        assert_eq!(counted(script.end()), (0, 1));
        assert_eq!(counted(script.end()), (0, 0), "each is counted once");
    }

    /// Trap 7: history does not change.
    #[test]
    fn a_late_answer_is_only_noticed() {
        let mut script = published();
        script.send(0.0, 3);
        script.answer_all(0..1);
        script.answer_all(2..3);
        assert_eq!(counted(script.end()), (2, 1));
        let rate = script.rate();
        script.answer(2.5, 1, &[]);
        script.answer(2.6, 1, &[]);
        assert_eq!(script.sender.state().spurious_losses, Some(1));
        assert_eq!((script.rate(), counted(script.end())), (rate, (0, 0)));
    }

    /// Trap 8: reordering is tolerated only if the vector reports the packet before the round ends.
    #[test]
    fn reordering_at_the_end_of_a_round_is_a_loss_unless_the_vector_tells() {
        let mut script = published();
        script.send(1.8, 3);
        script.answer(1.95, 1, &[]);
        assert_eq!(counted(script.end()), (1, 1));
        script.answer(2.0, 0, &[]);
        assert_eq!(script.sender.state().spurious_losses, Some(1));

        let mut script = published();
        script.send(1.8, 3);
        script.answer(1.95, 1, &[]);
        script.answer(1.96, 2, &[1, 2]);
        assert_eq!(counted(script.end()), (3, 0));
    }

    #[test]
    fn an_answer_to_a_packet_never_sent_is_ignored() {
        let mut script = published();
        script.send(0.0, 1);
        script.answer(RTT, 1, &[1]);
        script.answer(RTT, u64::MAX, &[1]);
        assert_eq!(
            (script.sender.state().rtt, script.sender.state().lost),
            (None, Some(0))
        );
        assert_eq!(counted(script.end()), (0, 0));
    }
}

mod rate {
    use super::*;

    /// Section 8, test 2; the values of the equation are tested in its module.
    #[test]
    fn it_doubles_without_loss_and_follows_the_equation_with_it() {
        let mut script = published();
        script.send(0.0, 8);
        script.answer_all(0..8);
        assert_eq!((script.rate(), script.end().loss_rate()), (40.0, Some(0.0)));
        assert_eq!(
            (script.rate(), script.sender.state().mode),
            (80.0, "doubling")
        );
        script.send(2.0, 10);
        script.answer_all(8..13);
        script.answer_all(14..18);
        assert_eq!(script.end().loss_rate(), Some(0.1));
        let state = script.sender.state();
        assert_eq!((state.mode, state.loss_event_rate), ("equation", 0.1));
        let equation = Pftk {
            rtt: 0.1,
            timeout: 1.0,
            window: f64::INFINITY,
            packets_per_ack: 1.0,
        };
        assert_eq!(state.smoothed_rtt, Some(Span::from_millis(100)));
        assert_eq!(script.rate(), equation.full(0.1));
    }

    #[test]
    fn the_equation_is_told_of_b_and_of_the_window() {
        let lossy = |tree: Value| {
            let mut script = Script::new(tree);
            script.send(0.0, 200);
            script.answer_all(0..100);
            script.answer_all(101..200);
            assert_eq!(script.end().loss_rate(), Some(0.005));
            script.rate()
        };
        let equation = Pftk {
            rtt: 0.1,
            timeout: 0.4,
            window: 64.0,
            packets_per_ack: 2.0,
        };
        let tree = json!({
            "packets_per_ack": 2,
            "receive_window": "64 packets",
            "rto_minimum": "400 ms",
        });
        assert_eq!(lossy(tree), equation.full(0.005));
        assert!((equation.full(0.005) - 115.238).abs() < 5e-4);
        let bytes = json!({
            "packets_per_ack": 2,
            "receive_window": "4000 bytes",
            "rto_minimum": "400 ms",
        });
        let window = Pftk {
            window: 4.0,
            ..equation
        };
        assert_eq!(lossy(bytes), window.full(0.005));
    }

    /// Trap 1, its cause: if nothing is acknowledged, overdue packets count.
    #[test]
    fn a_round_without_any_answer_is_no_success() {
        let mut script = published();
        script.send(0.0, 8);
        script.answer_all(0..8);
        script.end();
        script.send(2.0, 160);
        let round = script.end();
        assert_eq!(counted(round), (0, 160), "B is 1 s, and over");
        // Trap 2: p is 1, one packet in 64 s. Trap 3 requires at least one per round.
        assert_eq!((round.loss_rate(), script.rate()), (Some(1.0), 0.5));
        assert_eq!(script.sender.state().loss_event_rate, 1.0);
    }

    /// Traps 3 and 5: a round without information is neither a success nor a loss.
    #[test]
    fn a_round_without_news_leaves_the_rate() {
        let mut script = Script::new(json!({ "round": "100 ms" }));
        script.send(0.0, 4);
        for _ in 0..30 {
            assert_eq!((counted(script.end()), script.rate()), ((0, 0), 40.0));
            assert_eq!(script.sender.state().mode, "unchanged");
        }
        assert_eq!(counted(script.end()), (0, 4), "3 s are over");
    }

    /// Trap 3: a round shorter than the gap between packets is lengthened, at most to the timeout.
    #[test]
    fn every_round_has_a_packet() {
        for (tree, expected) in [
            (
                json!({ "round": "100 ms", "initial_rate": "4 packets/s" }),
                (0.25, 4.0),
            ),
            (
                json!({ "round": "100 ms", "initial_rate": "0.01 packets/s" }),
                (3.0, 1.0 / 3.0),
            ),
            (
                json!({ "round": "5 s", "initial_rate": "0.01 packets/s" }),
                (5.0, 0.2),
            ),
        ] {
            let mut script = Script::new(tree);
            assert_eq!(
                (script.sender.poll_timeout().as_seconds(), script.rate()),
                expected
            );
            script.end();
            assert_eq!(script.rate(), expected.1);
        }
    }

    /// Trap 4, our rule: at most twice the acknowledged rate.
    #[test]
    fn growth_is_bounded_by_what_was_acknowledged() {
        let rate_after = |limit: &str, acknowledged| {
            let mut script = Script::new(json!({ "growth_limit": limit }));
            script.send(0.0, 60);
            script.send(1.95, 20);
            script.answer_all(0..acknowledged);
            script.end();
            script.rate()
        };
        assert_eq!(rate_after("none", 60), 80.0);
        assert_eq!(rate_after("acknowledged", 60), 60.0, "60 in 2 s, twice");
        assert_eq!(
            rate_after("acknowledged", 30),
            40.0,
            "no loss does not lower the rate"
        );
    }

    #[test]
    fn the_equation_is_bounded_likewise() {
        let rate_after = |limit: &str| {
            let mut script =
                Script::new(json!({ "growth_limit": limit, "initial_rate": "5 packets/s" }));
            script.send(0.0, 10);
            script.answer_all(0..5);
            script.answer_all(6..10);
            script.end();
            script.rate()
        };
        assert!(rate_after("none") > 12.0);
        assert_eq!(rate_after("acknowledged"), 9.0);
    }

    /// Trap 4: the rate does not grow beyond a window per round trip, or beyond twice the
    /// application's rate.
    #[test]
    fn window_and_application_bound_the_doubling() {
        let mut script = Script::new(json!({ "receive_window": "6 packets" }));
        script.send(0.0, 80);
        script.answer_all(0..80);
        script.end();
        assert!((script.rate() - 60.0).abs() < 1e-9);

        let mut script = published();
        script.send(0.0, 49);
        let sent = DatagramSent {
            sequence: 49,
            length: Bytes(1000),
            data_limited: true,
        };
        script.sent.push(Time::ZERO);
        script.sender.on_sent(Time::ZERO, &sent);
        script.answer_all(0..50);
        script.end();
        assert_eq!(script.rate(), 50.0, "50 in 2 s, twice");
    }

    #[test]
    fn a_mark_counts_as_a_loss() {
        let mut script = published();
        script.send(0.0, 10);
        for sequence in 0..10 {
            script.answer_marked(RTT, sequence, 1, u64::from(sequence >= 4));
        }
        let round = script.end();
        assert_eq!((counted(round), round.marked), ((10, 0), 1));
        assert_eq!(round.loss_rate(), Some(0.1));
        assert_eq!(
            (script.sender.state().lost, script.sender.state().mode),
            (Some(0), "equation")
        );
        script.send(2.0, 1);
        script.answer_marked(2.0 + RTT, 10, 1, 1);
        assert_eq!(script.end().loss_rate(), Some(0.0), "each mark once");
    }

    #[test]
    fn the_round_trip_time_may_be_sampled_once_in_each() {
        let latest = |samples: &str| {
            let mut script = Script::new(json!({ "rtt_samples": samples }));
            script.send(0.0, 3);
            script.answer(0.1, 0, &[]);
            script.answer(0.15, 1, &[]);
            let early = script.sender.state().rtt;
            script.answer(0.2, 2, &[]);
            (early, script.sender.state().rtt)
        };
        let ms = |millis| Some(Span::from_millis(millis));
        assert_eq!(latest("every_ack"), (ms(150), ms(200)));
        assert_eq!(latest("once_per_rtt"), (ms(100), ms(200)));
    }
}

mod rounds {
    use super::*;

    fn lengths(tree: Value, count: usize) -> Vec<f64> {
        let mut script = Script::new(tree);
        script.send(0.0, 1);
        script.answer_all(0..1);
        let lengths = (0..count).map(|_| {
            let round = script.end();
            round.end.since(round.start).as_seconds()
        });
        lengths.collect()
    }

    #[test]
    fn constant_ones_are_as_long_as_said() {
        assert_eq!(lengths(json!({}), 3), [2.0; 3]);
        assert_eq!(lengths(json!({ "round": "5 s" }), 3), [5.0; 3]);
    }

    #[test]
    fn round_trips_are_those_of_the_first_sample_and_then_of_the_beginning() {
        assert_eq!(
            lengths(json!({ "strategy": "round_trips", "round_trips": 20 }), 3),
            [2.0; 3]
        );
        let mut script = Script::new(json!({ "strategy": "round_trips" }));
        assert_eq!(
            script.sender.poll_timeout(),
            Time::from_seconds(3.0),
            "the timeout"
        );
        script.send(0.0, 2);
        script.answer(0.1, 0, &[]);
        assert_eq!(script.sender.poll_timeout(), Time::from_seconds(1.0));
        script.answer(0.9, 1, &[]);
        assert_eq!(
            script.sender.poll_timeout(),
            Time::from_seconds(1.0),
            "it has begun"
        );
        script.end();
        // 7/8 · 100 ms + 1/8 · 900 ms = 200 ms.
        assert_eq!(script.sender.poll_timeout(), Time::from_seconds(3.0));
    }

    #[test]
    fn a_first_sample_that_comes_late_ends_the_round_at_once() {
        let mut script = Script::new(json!({ "strategy": "round_trips", "round_trips": 0.5 }));
        script.send(0.0, 1);
        script.answer(0.4, 0, &[]);
        assert_eq!(script.sender.poll_timeout(), Time::from_seconds(0.4));
    }

    #[test]
    fn random_ones_are_drawn_from_the_stream_of_their_place() {
        let tree = json!({ "strategy": "random", "round_minimum": "1.5 s", "round_spread": "3 s" });
        let drawn = lengths(tree.clone(), 2000);
        assert_eq!(drawn, lengths(tree, 2000));
        let mean = drawn.iter().sum::<f64>() / 2000.0;
        assert!((mean - 3.0).abs() < 0.08, "{mean}: four standard errors");
        let (least, most) = drawn
            .iter()
            .fold((9.0, 0.0), |(low, high), &m| (m.min(low), m.max(high)));
        assert!((1.5..1.51).contains(&least) && (4.49..=4.5).contains(&most));
    }

    #[test]
    fn a_sender_that_wakes_late_keeps_the_time_unless_whole_rounds_are_over() {
        let mut script = Script::new(json!({}));
        script.sender.handle_timeout(Time::from_seconds(2.5));
        assert_eq!(script.sender.poll_timeout(), Time::from_seconds(4.0));
        script.sender.handle_timeout(Time::from_seconds(9.0));
        assert_eq!(script.sender.poll_timeout(), Time::from_seconds(11.0));
    }
}

#[test]
fn what_belongs_to_another_strategy_is_refused() {
    for (tree, key) in [
        (json!({ "round_trips": 10 }), "contradiction round_trips"),
        (
            json!({ "strategy": "random", "round": "2 s" }),
            "contradiction round",
        ),
        (json!({ "round": "0 s" }), "out-of-range round"),
        (json!({ "initial_rate": 40 }), "no-unit initial_rate"),
        (
            json!({ "packets_per_ack": 0.5 }),
            "out-of-range packets_per_ack",
        ),
        (
            json!({ "receive_window": "0 packets" }),
            "out-of-range receive_window",
        ),
    ] {
        let mut tree = tree;
        tree["kind"] = json!("tfrcp");
        let error = choose::<RateControlKind>(&tree, &NoFiles).unwrap_err();
        assert_eq!(error.key(), key, "{error}");
    }
}

/// Traps 9 and 10: numbers have 64 bits. Packets leave at computed, even intervals, which neither
/// drift nor change at the ends of rounds.
#[test]
fn packets_are_evenly_clocked_through_all_rounds() {
    let tree = json!({
        "kind": "tfrcp",
        "round": "300 ms",
        "initial_rate": "7 packets/s",
        "receive_window": "7 packets",
    });
    for milliseconds in [0, 1, 10, 20] {
        let granularity = Span::from_millis(milliseconds);
        // A window of seven packets and a round trip of one second: the rate stays, 2.1 packets per
        // round.
        let mut dialogue = Dialogue::new(&tree, Span::from_millis(1000), granularity, |_, _| {
            Way::Arrives
        });
        dialogue.run_until(1000.0);
        assert!(
            dialogue.left.len().abs_diff(7001) <= 1,
            "{milliseconds} ms: {}",
            dialogue.left.len()
        );
        if milliseconds == 0 {
            for (number, at) in dialogue.left.iter().enumerate() {
                assert!((at.as_seconds() - number as f64 / 7.0).abs() < 1e-8);
            }
        }
    }
}

/// Section 8, test 3: every tenth packet is lost, and all from 60 s to 90 s.
#[test]
fn a_blackout_slows_it_down_and_it_recovers_within_five_rounds() {
    fn fate(at: Time, sequence: u64) -> Way {
        let dark = (60.0..90.0).contains(&at.as_seconds());
        if dark || sequence % 10 == 9 {
            Way::Lost
        } else {
            Way::Arrives
        }
    }
    for growth_limit in ["none", "acknowledged"] {
        let tree = json!({ "kind": "tfrcp", "growth_limit": growth_limit });
        let mut dialogue = Dialogue::new(&tree, Span::from_millis(100), Span::ZERO, fate);
        dialogue.run_until(60.0);
        let before = dialogue.rate();
        dialogue.run_until(150.0);
        let rates = |from: f64, to: f64| {
            let within = |at: &Time| (from..to).contains(&at.as_seconds());
            let states = dialogue.states.iter().filter(move |(at, _)| within(at));
            states
                .map(|(_, state)| state.rate / 1000.0)
                .collect::<Vec<f64>>()
        };
        let dark = rates(60.1, 91.0);
        assert!(dark.iter().all(|rate| *rate < before), "{before}: {dark:?}");
        assert!(dialogue.count(64.5, 90.0) <= 14, "one packet in 2 s");
        // The usual rates, without the doubling at the start.
        let least = rates(10.0, 60.0).into_iter().fold(f64::INFINITY, f64::min);
        // The first round after the blackout begins at 92 s, and five rounds later it is 102 s.
        let after = rates(90.1, 102.5);
        assert!(
            after.last().is_some_and(|rate| *rate >= least),
            "{least}: {after:?}"
        );
    }
}

/// An event for a sender between two packets.
#[derive(Clone, Debug)]
enum Happening {
    Send(u64),
    Answer { back: u64, bits: u64 },
    End,
}

fn happening() -> impl Generate<Value = Happening> {
    prop_oneof![
        4 => (1..30_u64).prop_map(Happening::Send),
        8 => (0..40_u64, 0..256_u64)
            .prop_map(|(back, bits)| Happening::Answer { back, bits: bits | 1 }),
        2 => Just(Happening::End),
    ]
}

proptest! {
    /// (v): whatever is lost, reordered, late or duplicated on the way back, each packet is settled
    /// once or unknown.
    #[test]
    fn every_packet_is_counted_once(
        happenings in prop::collection::vec((0..700_u64, happening()), 1..300),
    ) {
        let mut script = published();
        let mut now = 0.0;
        let mut news = std::collections::HashSet::new();
        for (millis, happening) in happenings {
            now += millis as f64 / 1000.0;
            while script.sender.poll_timeout() <= Time::from_seconds(now) {
                script.end();
            }
            match happening {
                Happening::Send(count) => script.send(now, count),
                Happening::Answer { back, bits } => {
                    let Some(last) = (script.sent.len() as u64).checked_sub(back + 1) else {
                        continue
                    };
                    script.answer_marked(now, last, bits, 0);
                    news.extend(Received { bits, width: 8 }.numbers(last));
                }
                Happening::End => {
                    script.end();
                    now = now.max(script.rounds.last().unwrap().end.as_seconds());
                }
            }
        }
        let last = script.end();
        let total = |count: fn(&Round) -> u64| script.rounds.iter().map(count).sum::<u64>();
        let (received, lost, sent) = (total(|r| r.received), total(|r| r.lost), total(|r| r.sent));
        prop_assert_eq!(sent, script.sent.len() as u64);
        let state = script.sender.state();
        prop_assert_eq!(Some(lost), state.lost);
        let spurious = state.spurious_losses.unwrap();
        prop_assert_eq!(received + spurious, news.len() as u64, "what has been heard of, once");
        prop_assert!(received + lost <= sent);
        // After two of the longest timeouts and rounds, a minute each, every packet is settled.
        let long_after = last.end.as_seconds() + 240.0;
        while script.sender.poll_timeout() <= Time::from_seconds(long_after) {
            script.end();
        }
        let settled: u64 = script.rounds.iter().map(|round| round.received + round.lost).sum();
        prop_assert_eq!(settled, sent);
    }
}
