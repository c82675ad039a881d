//! The contract of every registered rate control.

use ackclock_core::rate_control::{
    Arrived, DatagramSent, Feedback, Halves, RateContext, RateControl, RateControlKind,
    RateReceiver, Received, Report, SHORTEST_RTT,
};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Entry, Kind, StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

use crate::variants::variants;

fn entries() -> impl Iterator<Item = &'static Entry<RateControlKind>> {
    RateControlKind::ENTRIES.iter()
}

/// Returns the variants of every control. They come from the schemas, which takes longer than to
/// drive a control.
fn trees() -> &'static [Value] {
    static TREES: LazyLock<Vec<Value>> = LazyLock::new(|| entries().flat_map(variants).collect());
    &TREES
}

fn build(tree: &Value, mss: u64) -> Halves {
    let streams = Streams::new(1, 0);
    let context = RateContext {
        place: StreamScope {
            streams: &streams,
            name: "flow/0/control",
        },
        mss: Bytes(mss),
    };
    choose::<RateControlKind>(tree, &NoFiles)
        .unwrap()
        .build(context)
}

#[test]
fn resolved_parameters_read_back_are_the_same() {
    for entry in entries() {
        for tree in variants(entry) {
            let first = choose::<RateControlKind>(&tree, &NoFiles).unwrap();
            let second = choose::<RateControlKind>(&first.resolved, &NoFiles).unwrap();
            assert_eq!(
                (first.name, &first.resolved),
                (entry.name, &second.resolved)
            );
            for (field, value) in tree.as_object().unwrap() {
                assert_eq!(first.resolved[field], *value);
            }
        }
    }
}

/// Any input of one half or the other, sensible or not.
#[derive(Clone, Debug)]
enum Signal {
    /// A packet leaves.
    Sent { data_limited: bool },
    /// The receiver, or an impostor, answers a packet that many before the next.
    Feedback {
        back: i64,
        echo: Option<u64>,
        held: u64,
        received: Received,
        marked: u64,
        report: Option<Report>,
    },
    /// A packet that many before the next arrives.
    Arrived {
        back: u64,
        rtt: Option<Span>,
        marked: bool,
    },
    /// Every timer that is due expires.
    Timers,
    /// The next timer expires, however far away it is.
    Expire,
}

/// Time between signals: none, usual, years.
fn any_step() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(0),
        16 => 0..200_000_000_u64,
        4 => 0..10_000_000_000_u64,
        1 => 0..1_u64 << 56
    ]
}

fn any_report() -> impl Strategy<Value = Report> {
    let rate = prop_oneof![Just(0.0), 0.0..1e9_f64, Just(f64::INFINITY), Just(f64::NAN)];
    let loss = prop_oneof![
        3 => Just(0.0),
        6 => 0.0..1.0_f64,
        1 => Just(1.0),
        1 => Just(2.0),
        1 => Just(f64::NAN)
    ];
    (rate, loss).prop_map(|(receive_rate, loss_event_rate)| Report {
        receive_rate,
        loss_event_rate,
    })
}

fn any_feedback() -> impl Strategy<Value = Signal> {
    let back =
        prop_oneof![12 => 0..40_i64, 1 => -3..0_i64, 1 => Just(i64::MIN), 1 => 0..1_i64 << 40];
    let echo = prop_oneof![4 => Just(None), 1 => any::<u64>().prop_map(Some)];
    let held = prop_oneof![4 => Just(0), 2 => 0..300_000_000_u64, 1 => Just(u64::MAX)];
    let received = (any::<u64>(), 0..=64_u8).prop_map(|(bits, width)| Received { bits, width });
    let marked = prop_oneof![6 => Just(0), 2 => 0..50_u64, 1 => Just(u64::MAX)];
    let report = prop::option::of(any_report());
    (back, echo, held, received, marked, report).prop_map(
        |(back, echo, held, received, marked, report)| Signal::Feedback {
            back,
            echo,
            held,
            received,
            marked,
            report,
        },
    )
}

fn any_signal() -> impl Strategy<Value = Signal> {
    let rtt = prop::option::of(prop_oneof![
        8 => (0..2_000_000_000_u64).prop_map(Span::from_nanos), 1 => Just(Span::FOREVER)
    ]);
    prop_oneof![
        8 => any::<bool>().prop_map(|data_limited| Signal::Sent { data_limited }),
        8 => any_feedback(),
        6 => (0..40_u64, rtt, any::<bool>()).prop_map(
            |(back, rtt, marked)| Signal::Arrived { back, rtt, marked }
        ),
        4 => Just(Signal::Timers),
        2 => Just(Signal::Expire),
    ]
}

/// Both halves under a given clock, and the packets sent so far.
struct DrivenControl {
    sender: Box<dyn RateControl>,
    receiver: Box<dyn RateReceiver>,
    mss: u64,
    now: Time,
    sent: Vec<Time>,
}

impl DrivenControl {
    fn new(tree: &Value, mss: u64) -> Self {
        let Halves { sender, receiver } = build(tree, mss);
        let mut driven = DrivenControl {
            sender,
            receiver,
            mss,
            now: Time::ZERO,
            sent: Vec::new(),
        };
        driven.sender.start(driven.now);
        driven
    }

    fn stamp(&self, sequence: u64) -> Time {
        let index = usize::try_from(sequence).unwrap_or(usize::MAX);
        self.sent.get(index).copied().unwrap_or(self.now)
    }

    fn tell(&mut self, signal: &Signal) {
        match *signal {
            Signal::Sent { data_limited } => {
                let sent = DatagramSent {
                    sequence: self.sent.len() as u64,
                    length: Bytes(self.mss),
                    data_limited,
                };
                self.sent.push(self.now);
                self.sender.on_sent(self.now, &sent);
            }
            Signal::Feedback {
                back,
                echo,
                held,
                received,
                marked,
                report,
            } => {
                let sequence = (self.sent.len() as u64)
                    .wrapping_sub(back as u64)
                    .wrapping_sub(1);
                let feedback = Feedback {
                    sequence,
                    echo: echo.map_or(self.stamp(sequence), |nanos| {
                        Time::from_nanos(nanos).min(self.now)
                    }),
                    held: Span::from_nanos(held),
                    received,
                    marked,
                    report,
                };
                self.sender.on_feedback(self.now, &feedback);
            }
            Signal::Arrived { back, rtt, marked } => {
                let Some(sequence) = (self.sent.len() as u64).checked_sub(back + 1) else {
                    return;
                };
                let data = Arrived {
                    sequence,
                    sent_at: self.stamp(sequence),
                    length: Bytes(self.mss),
                    rtt,
                    marked,
                };
                self.receiver.on_data(self.now, &data);
            }
            Signal::Timers => self.timers(),
            Signal::Expire => {
                let next = self.sender.poll_timeout().min(self.receiver.poll_timeout());
                if next < Time::from_nanos(1 << 61) {
                    self.now = self.now.max(next);
                }
                self.timers();
            }
        }
    }

    fn timers(&mut self) {
        self.sender.handle_timeout(self.now);
        self.receiver.handle_timeout(self.now);
    }

    /// Returns how often timers expire up to `until`, at most `most` times.
    fn expirations(&mut self, until: Time, most: u64) -> u64 {
        for count in 0..most {
            let next = self.sender.poll_timeout().min(self.receiver.poll_timeout());
            if next > until {
                self.now = until;
                return count;
            }
            self.now = self.now.max(next);
            self.timers();
        }
        most
    }

    /// Sends a packet that arrives and is answered at the same moment, over a path without delay.
    fn packet_at_once(&mut self) {
        let sequence = self.sent.len() as u64;
        self.tell(&Signal::Sent {
            data_limited: false,
        });
        let data = Arrived {
            sequence,
            sent_at: self.now,
            length: Bytes(self.mss),
            rtt: Some(Span::ZERO),
            marked: false,
        };
        self.receiver.on_data(self.now, &data);
        while let Some(feedback) = self.receiver.poll_feedback(self.now) {
            self.sender.on_feedback(self.now, &feedback);
        }
    }
}

/// Controls have timers with the length of a round trip. If that were zero, time would stand still.
#[test]
fn a_round_trip_of_no_time_leaves_timers_that_end() {
    let while_sending = Span::from_millis(1);
    for tree in trees() {
        let mut driven = DrivenControl::new(tree, 1000);
        for _ in 0..20 {
            driven.packet_at_once();
            let until = driven.now + while_sending;
            let most = 2 * while_sending.as_nanos() / SHORTEST_RTT.as_nanos();
            let count = driven.expirations(until, most + 1);
            assert!(
                count <= most,
                "{tree}: {count} times within {while_sending:?}"
            );
            let rate = driven.sender.state().rate;
            assert!(rate.is_finite() && rate > 0.0, "{tree}: {rate}");
        }
    }
}

/// An answer to a packet that was never sent is ignored.
#[test]
fn an_answer_to_nothing_changes_nothing() {
    for tree in trees() {
        let mut driven = DrivenControl::new(tree, 1000);
        (0..10).for_each(|_| driven.packet_at_once());
        let shown = |driven: &DrivenControl| {
            let sender = &driven.sender;
            format!(
                "{:?} {:?} {:?}",
                sender.state(),
                sender.clocking(),
                sender.poll_timeout()
            )
        };
        let before = shown(&driven);
        driven.now = driven.now + Span::from_millis(1);
        for back in [-1, -100, i64::MIN] {
            driven.tell(&Signal::Feedback {
                back,
                echo: None,
                held: 0,
                received: Received {
                    bits: u64::MAX,
                    width: 64,
                },
                marked: 5,
                report: Some(Report {
                    receive_rate: 1.0,
                    loss_event_rate: 0.5,
                }),
            });
            assert_eq!(shown(&driven), before, "{tree}");
        }
    }
}

/// With nothing more to answer, a receiver has nothing more to wait for.
#[test]
fn a_receiver_falls_silent_with_its_sender() {
    for tree in trees() {
        let mut driven = DrivenControl::new(tree, 1000);
        (0..10).for_each(|_| driven.packet_at_once());
        for _ in 0..10 {
            let next = driven.receiver.poll_timeout();
            if next.is_never() {
                break;
            }
            driven.now = next;
            driven.receiver.handle_timeout(next);
            let _ = driven.receiver.poll_feedback(next);
        }
        assert!(driven.receiver.poll_timeout().is_never(), "{tree}");
    }
}

/// A timer or a round-trip time of zero gives no rate.
#[test]
fn times_of_nothing_are_refused() {
    for entry in entries() {
        let resolved = choose::<RateControlKind>(&json!({ "kind": entry.name }), &NoFiles)
            .unwrap()
            .resolved;
        let fields = resolved.as_object().unwrap().iter();
        let is_time = |text: &str| text.ends_with(" s") || text.ends_with(" ms");
        let times = fields.filter(|(_, value)| value.as_str().is_some_and(is_time));
        for (field, _) in times {
            for short in ["0 s", "1 ns"] {
                let mut tree = json!({ "kind": entry.name });
                tree[field] = json!(short);
                let error = choose::<RateControlKind>(&tree, &NoFiles).unwrap_err();
                assert_eq!(error.field(), field, "{error}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_sequence_of_signals_breaks_a_control(
        signals in prop::collection::vec((any_step(), any_signal()), 1..120),
        mss in 1..=65_000_u64,
    ) {
        for tree in trees() {
            let mut driven = DrivenControl::new(tree, mss);
            for (step, signal) in &signals {
                driven.now = driven.now + Span::from_nanos(*step);
                driven.tell(signal);
                let state = driven.sender.state();
                prop_assert!(state.rate.is_finite() && state.rate > 0.0, "{}: {:?}", tree, state);
                prop_assert!(!state.mode.is_empty());
                let p = state.loss_event_rate;
                prop_assert!(p.is_nan() || (0.0..=1.0).contains(&p), "{}: p = {}", tree, p);
                let clocking = driven.sender.clocking();
                prop_assert!(clocking.packets_per_s.is_finite() && clocking.packets_per_s >= 0.0);
                prop_assert!(clocking.origin <= driven.now, "{}: packets never leave", tree);
                if matches!(signal, Signal::Timers | Signal::Expire) {
                    prop_assert!(
                        driven.sender.poll_timeout() > driven.now,
                        "{}: a timer that stays due",
                        tree
                    );
                    prop_assert!(
                        driven.receiver.poll_timeout() > driven.now,
                        "{}: a timer that stays due",
                        tree
                    );
                }
                let answers = std::iter::from_fn(|| driven.receiver.poll_feedback(driven.now))
                    .take(100)
                    .collect::<Vec<_>>();
                prop_assert!(
                    answers.len() < 100,
                    "{}: a receiver that never stops answering",
                    tree
                );
                for answer in answers {
                    prop_assert!(
                        answer.sequence < driven.sent.len() as u64,
                        "{}: of a packet that was never sent",
                        tree
                    );
                    prop_assert!(
                        answer
                            .received
                            .numbers(answer.sequence)
                            .all(|number| number <= answer.sequence)
                    );
                    if let Some(report) = answer.report {
                        prop_assert!(
                            report.receive_rate.is_finite() && report.receive_rate >= 0.0,
                            "{}",
                            tree
                        );
                        prop_assert!((0.0..=1.0).contains(&report.loss_event_rate), "{}", tree);
                    }
                }
            }
        }
    }

    /// The same signals give the same rates: nothing is drawn, read or remembered outside.
    #[test]
    fn controls_are_deterministic(
        signals in prop::collection::vec((any_step(), any_signal()), 1..60)
    ) {
        for tree in trees() {
            let shown = || {
                let mut driven = DrivenControl::new(tree, 1000);
                let mut shown = Vec::new();
                for (step, signal) in &signals {
                    driven.now = driven.now + Span::from_nanos(*step);
                    driven.tell(signal);
                    let answer = driven.receiver.poll_feedback(driven.now);
                    // NaN is not equal to itself.
                    shown.push(format!(
                        "{:?} {:?} {answer:?}",
                        driven.sender.state(),
                        driven.sender.poll_timeout()
                    ));
                }
                shown
            };
            prop_assert_eq!(shown(), shown());
        }
    }
}
