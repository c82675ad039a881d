//! The laws of congestion controls ([`crate::laws`]), checked on every registered one: with any
//! signals, and over a bottleneck.

use ackclock_core::congestion::facts::{GrowthLaw, KeptShare};
use ackclock_core::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, Event,
    RateInfo, RateSample, RecoveryPhase, SegmentLost, SegmentSent, SendLimit, SocketState,
};
use ackclock_core::programs::kernel::{SHIPPED, Shipped};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Entry, Kind, Selection, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

#[path = "../../../ackclock-core/src/congestion/testing.rs"]
#[expect(dead_code, reason = "unit tests use the rest")]
mod testing;
use crate::laws::controls as laws;
use crate::steep_growth::Steep;
use crate::variants::variants;
use crate::worked_example::Gentle;
use testing::{AckClock, Bottleneck, MSS, context};

fn entries() -> impl Iterator<Item = &'static Entry<ControlKind>> {
    ControlKind::ENTRIES.iter().filter(|entry| entry.simulated)
}

/// The worked example of CONTRIBUTING.md.
pub const EXAMPLE: Entry<ControlKind> = Entry::of::<Gentle>();

#[test]
fn the_worked_example_is_that_of_the_guide() {
    let guide = include_str!("../../../../CONTRIBUTING.md");
    let (_, rest) = guide.split_once("```rust\n").unwrap();
    let (example, _) = rest.split_once("```\n").unwrap();
    assert_eq!(example, include_str!("worked_example.rs"));
}

/// A control as a scenario chooses it.
struct Choice {
    tree: Value,
    chosen: Selection<ControlKind>,
}

/// Returns the variants of every control that the engine makes, programs for the kernel included
/// that call none of its functions, the worked example, and a control of steep growth. They are
/// read once, as a scenario is for all of its flows: to read a program takes longer than most of
/// what it is then asked.
fn choices() -> &'static [Choice] {
    static CHOICES: LazyLock<Vec<Choice>> = LazyLock::new(|| {
        const STEEP: Entry<ControlKind> = Entry::of::<Steep>();
        let program = |shipped: &Shipped| json!({ "kind": "kernel", "shipped": shipped.name });
        entries()
            .flat_map(variants)
            .chain(SHIPPED.iter().map(program))
            .chain(["reno", "cubic"].map(|kind| json!({ "kind": kind, "rapid_start": {} })))
            .map(|tree| {
                let chosen = choose::<ControlKind>(&tree, &NoFiles).unwrap();
                Choice { tree, chosen }
            })
            .filter(|choice| choice.chosen.is_simulated())
            .chain([EXAMPLE, STEEP].map(|entry| Choice {
                tree: json!({ "kind": entry.name }),
                chosen: entry.read(json!({}), &NoFiles).unwrap(),
            }))
            .collect()
    });
    &CHOICES
}

fn build(
    chosen: &Selection<ControlKind>,
    mss: u64,
    segments: u64,
    ssthresh: Option<u64>,
) -> Box<dyn CongestionControl> {
    let streams = Streams::new(1, 0);
    let context = ControlContext {
        mss: Bytes(mss),
        initial_window: Bytes(mss * segments),
        initial_ssthresh: ssthresh.map(Bytes),
        ..context(&streams, 0, None)
    };
    chosen.build(context)
}

#[test]
fn variants_make_every_choice() {
    let reno = entries().find(|entry| entry.name == "reno").unwrap();
    let expected = [
        json!({ "kind": "reno" }),
        json!({ "kind": "reno", "growth": "per_window" }),
        json!({ "kind": "reno", "slow_start_exit": "hystart" }),
        json!({ "kind": "reno", "slow_start_exit": "hystart++" }),
        json!({ "kind": "reno", "slow_start_exit": "search" }),
        json!({ "kind": "reno", "slow_start_exit": "search-drain" }),
        json!({ "kind": "reno", "slow_start_exit": "hoe" }),
        json!({ "kind": "reno", "arithmetic": "linux" }),
    ];
    assert_eq!(variants(reno), expected);
}

#[test]
fn resolved_parameters_read_back_are_the_same() {
    for entry in entries() {
        for tree in variants(entry) {
            let first = choose::<ControlKind>(&tree, &NoFiles).unwrap();
            let second = choose::<ControlKind>(&first.resolved, &NoFiles).unwrap();
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

const RTT: Span = Span::from_millis(100);
/// The bandwidth-delay product of 4 Mbit/s and [`RTT`], in segments.
const PRODUCT: f64 = 50.0;

/// Returns a bottleneck of 4 Mbit/s with a buffer of that many bandwidth-delay products.
fn bottleneck(products: u64, overflow: CongestionKind) -> Bottleneck {
    Bottleneck {
        rate: BitRate::from_mbit_per_s(4.0),
        buffer: Bytes(products * PRODUCT as u64 * MSS),
        overflow,
    }
}

/// Returns a flow over an empty path; the windows are in segments.
fn without_bottleneck(
    chosen: &Selection<ControlKind>,
    window: u64,
    ssthresh: Option<u64>,
) -> AckClock {
    let control = chosen.build(context(&Streams::new(1, 0), window, ssthresh));
    AckClock::of(control, RTT)
}

/// Returns a flow that starts over a buffer of one bandwidth-delay product.
fn clock(chosen: &Selection<ControlKind>, overflow: CongestionKind) -> AckClock {
    let mut clock = without_bottleneck(chosen, 10, None);
    clock.bottleneck = Some(bottleneck(1, overflow));
    clock
}

/// Checks the bench itself: queueing delay grows with the window, and the smallest round-trip time
/// is that of the empty path.
#[test]
fn round_trips_grow_with_the_window_and_never_fall_below_the_minimum() {
    let reno = choose(&json!({ "kind": "reno" }), &NoFiles).unwrap();
    let mut clock = clock(&reno, CongestionKind::Loss);
    let product = PRODUCT as u64 * MSS;
    for _ in 0..300 {
        let rtt = clock.round_trip();
        let ack = clock.ack_of(MSS);
        assert!(ack.min_rtt <= ack.rtt && ack.min_rtt >= Some(RTT));
        assert_eq!(rtt > RTT, clock.control.cwnd().0 > product + 1);
        assert!(rtt <= RTT * 2, "no more waits than the buffer holds");
        clock.round();
    }
    assert_eq!(clock.ack_of(MSS).min_rtt, Some(RTT));
    assert!(clock.overflows > 1 && clock.now.as_seconds() > 30.0);
}

#[test]
fn the_window_grows_while_nothing_is_wrong() {
    for Choice { tree, chosen } in choices() {
        for ssthresh in [None, Some(10)] {
            let mut clock = without_bottleneck(chosen, 10, ssthresh);
            for _ in 0..12 {
                let before = clock.cwnd();
                if before > 2000.0 {
                    break; // each round doubles the number of ACKs
                }
                for _ in 0..before as u64 {
                    clock.ack(MSS);
                    let cwnd = clock.cwnd();
                    laws::NEVER_FALLS.check(tree, cwnd >= before, || {
                        format!("{cwnd} after an ACK, {before} when the round trip began")
                    });
                }
            }
            let cwnd = clock.cwnd();
            laws::GROWS.check(tree, cwnd >= 13.0, || format!("{cwnd}"));
        }
    }
}

/// Every control keeps the link busy and bounds its window, whatever signal it reacts to.
#[test]
fn a_bottleneck_is_filled_and_the_window_stays_bounded() {
    for overflow in [CongestionKind::Loss, CongestionKind::Mark] {
        for Choice { tree, chosen } in choices() {
            let mut clock = clock(chosen, overflow);
            (0..100).for_each(|_| clock.round());
            let (start, delivered) = (clock.now, clock.delivered);
            for _ in 0..100 {
                clock.round();
                let cwnd = clock.cwnd();
                laws::IS_BOUNDED.check(tree, cwnd <= 4.0 * PRODUCT, || {
                    format!("{cwnd}, of products of {PRODUCT}; overflows are {overflow:?}")
                });
            }
            let rate = BitRate::average(clock.delivered - delivered, clock.now - start);
            laws::FILLS.check(tree, rate.as_bit_per_s() >= 3_600_000, || {
                format!("{rate:?} of 4 Mbit/s; overflows are {overflow:?}")
            });
        }
    }
}

/// Runs twelve round trips, less than the 5 s after which BBR empties the path. Ends before if the
/// window has three products: one that grows steeply may not fill the buffer.
fn stand(clock: &mut AckClock) {
    for _ in 0..12 {
        for _ in 0..clock.cwnd() as u64 {
            if clock.cwnd() >= 3.0 * PRODUCT {
                return;
            }
            clock.ack(MSS);
        }
    }
}

/// With a queue at the bottleneck, congestion is real: without a queue, some controls keep the
/// window at a loss.
#[test]
fn with_a_queue_losses_marks_and_timeouts_reduce_the_window() {
    use CongestionKind::{Loss, Mark, Timeout};
    for Choice { tree, chosen } in choices() {
        let facts = &chosen.facts;
        // What is unknown may be nothing.
        let ignored = |kept: Option<KeptShare>| matches!(kept, None | Some(KeptShare::All));
        let ignored = [
            (Loss, ignored(facts.kept_after_loss)),
            (Mark, ignored(facts.kept_after_mark)),
            (Timeout, false),
        ];
        if let (Some(reacts), Some(kept)) = (facts.reacts_to_loss, facts.kept_after_loss) {
            laws::LOSS_FACTS_AGREE.check(tree, reacts != (kept == KeptShare::All), || {
                format!("reacts_to_loss is {reacts}, kept_after_loss {kept:?}")
            });
        }
        for (kind, _) in ignored.into_iter().filter(|(_, ignored)| !ignored) {
            let mut clock = without_bottleneck(chosen, 2 * PRODUCT as u64, Some(1));
            clock.bottleneck = Some(bottleneck(8, Loss));
            stand(&mut clock);
            let before = clock.cwnd();
            laws::STANDS.check(tree, before >= 1.5 * PRODUCT, || {
                let overflows = clock.overflows;
                format!("{before}, of products of {PRODUCT}, after {overflows} overflows")
            });
            clock.react(kind);
            // Some controls lower it by a segment for each ACK.
            let falls = (0..before as u32).any(|_| {
                clock.ack(MSS);
                clock.cwnd() <= 0.9 * before
            });
            laws::REACTS.check(tree, falls, || {
                format!(
                    "{kind:?}: {before} before, {} after as many ACKs",
                    clock.cwnd()
                )
            });
        }
    }
}

/// The windows of controls that state a constant growth grow by it in each round trip.
#[test]
fn windows_grow_by_what_is_stated() {
    const ROUNDS: u32 = 20;
    for Choice { tree, chosen } in choices() {
        let Some(GrowthLaw::Linear {
            segments_per_rtt: Some(stated),
            least_rtt_s,
        }) = chosen.facts.growth
        else {
            continue;
        };
        let shortest = least_rtt_s.some().copied().unwrap_or(0.0);
        laws::STATED_LEAST_RTT.check(tree, RTT.as_seconds() >= shortest, || {
            format!("{shortest} s, the bench has {RTT:?}")
        });
        let mut clock = without_bottleneck(chosen, PRODUCT as u64, Some(1));
        (0..ROUNDS).for_each(|_| clock.round());
        // Each ACK adds its share of the window, which grows by up to 2 % within a round trip.
        let growth = (clock.cwnd() - PRODUCT) / f64::from(ROUNDS);
        laws::STATED_GROWTH.check(tree, (growth / stated - 1.0).abs() < 0.1, || {
            format!("{growth} segments per round trip, stated {stated}")
        });
    }
}

/// The facts on delay are right: the window falls while round trips are longer, or grows until the
/// buffer overflows.
#[test]
fn delay_reduces_the_window_of_those_that_react_to_it_and_of_no_others() {
    for Choice { tree, chosen } in choices() {
        let facts = &chosen.facts;
        let mut clock = without_bottleneck(chosen, PRODUCT as u64, Some(1));
        clock.round();
        let before = clock.cwnd();
        clock.rtt = RTT * 3; // a queue of 200 ms, longer than any target
        for _ in 0..20 {
            if clock.cwnd() > 16.0 * before {
                break; // enough to know, and each round doubles the number of ACKs
            }
            clock.round();
        }
        let cwnd = clock.cwnd();
        let holds = match facts.reacts_to_delay {
            Some(true) => cwnd < before,
            Some(false) => cwnd > before,
            None => true,
        };
        laws::STATED_DELAY.check(tree, holds, || {
            format!(
                "{before} before, {cwnd} after; stated {:?}",
                facts.reacts_to_delay
            )
        });
    }
}

/// If segments were late and not lost, the window returns to its former value, and the control
/// continues.
#[test]
fn what_reordering_has_cost_is_given_back() {
    for Choice { tree, chosen } in choices() {
        let mut clock = clock(chosen, CongestionKind::Loss);
        (0..100).for_each(|_| clock.round());
        let before = clock.cwnd();
        clock.react(CongestionKind::Loss);
        let reduced = clock.cwnd();
        clock.ack(MSS);
        // A control that ignores the loss goes on, and may follow the delay either way.
        let (before, reduced) = (before.max(clock.cwnd()), reduced.min(clock.cwnd()));
        clock.react(CongestionKind::SpuriousLoss);
        let cwnd = clock.cwnd();
        laws::UNDO_RAISES.check(tree, cwnd >= reduced, || {
            format!("{cwnd}, {reduced} before the undo")
        });
        laws::RESTORES.check(tree, (0.9 * before..=before).contains(&cwnd), || {
            format!("{cwnd}, {before} before the loss")
        });
        (0..100).for_each(|_| clock.round());
        let cwnd = clock.cwnd();
        laws::FILLS_AFTER_UNDO.check(tree, cwnd >= 0.9 * PRODUCT, || {
            format!("{cwnd}, of a product of {PRODUCT}")
        });
    }
}

#[test]
fn a_link_is_filled_again_after_a_timeout() {
    for Choice { tree, chosen } in choices() {
        let mut clock = clock(chosen, CongestionKind::Loss);
        (0..100).for_each(|_| clock.round());
        clock.react(CongestionKind::Timeout);
        let cwnd = clock.cwnd();
        laws::TIMEOUT_LEAVES_LOSS_WINDOW.check(tree, cwnd == 1.0, || format!("{cwnd}"));
        let rounds = (0..200).take_while(|_| {
            clock.round();
            clock.cwnd() < 0.9 * PRODUCT
        });
        let rounds = rounds.count();
        laws::FILLS_AFTER_TIMEOUT.check(tree, rounds < 100, || {
            format!(
                "{} after {rounds} round trips, of a product of {PRODUCT}",
                clock.cwnd()
            )
        });
    }
}

#[test]
fn an_application_that_sends_little_does_not_open_the_window() {
    for Choice { tree, chosen } in choices() {
        for application in [4, 25] {
            let mut clock = clock(chosen, CongestionKind::Loss);
            clock.application = Bytes(application * MSS);
            (0..500).for_each(|_| clock.round());
            // The window counts as used up to twice the amount sent (RFC 7661), and then grows once
            // more.
            // One that paces adds three bursts of at most two segments, made even (BBR).
            let bursts = if chosen.facts.paces == Some(true) {
                8.0
            } else {
                0.0
            };
            let most = 10.0_f64.max(3.0 * application as f64 + bursts);
            let cwnd = clock.cwnd();
            laws::UNUSED_STAYS.check(tree, cwnd <= most, || {
                format!("{cwnd} of {most}; the application sends {application}")
            });
        }
    }
}

#[test]
fn a_timeout_leaves_one_segment() {
    for Choice { tree, chosen } in choices() {
        for mss in [1, 1448, 65_000] {
            let mut control = build(chosen, mss, 17, None);
            let timeout = Congestion {
                kind: CongestionKind::Timeout,
                base: Bytes(17 * mss),
                in_flight: Bytes(17 * mss),
                min_rtt: None,
                smoothed_rtt: None,
                loss_window: Bytes(mss),
            };
            control.on_congestion(Time::ZERO, &timeout);
            let cwnd = control.cwnd();
            laws::TIMEOUT_LEAVES_LOSS_WINDOW.check(tree, cwnd == Bytes(mss), || {
                format!("{cwnd:?}, with segments of {mss} bytes")
            });
        }
    }
}

/// Any signal of a transport to a control, sensible or not.
#[derive(Clone, Debug)]
enum Signal {
    Ack {
        credit: u64,
        rtt: Option<Span>,
        limited: SendLimit,
        phase: RecoveryPhase,
        marked: bool,
    },
    Sent {
        in_flight: u64,
        limited: SendLimit,
    },
    Lost {
        tx_in_flight: u64,
        lost: u64,
        limited: SendLimit,
    },
    Congestion {
        kind: CongestionKind,
        base: u64,
    },
    RecoveryEnd,
    IdleRestart {
        limit: u64,
    },
}

fn any_rtt() -> impl Strategy<Value = Option<Span>> {
    prop_oneof![
        Just(None),
        Just(Some(Span::ZERO)),
        Just(Some(Span::FOREVER)),
        (1..2_000_000_000_u64).prop_map(|nanos| Some(Span::from_nanos(nanos))),
    ]
}

/// Mostly realistic sizes, and the extremes.
fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200_000_u64, 1 => Just(u64::MAX), 1 => 0..1_u64 << 50]
}

/// Time between signals: none, usual, years.
fn any_step() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 8 => 0..200_000_000_u64, 1 => 0..1_u64 << 57]
}

fn any_limit() -> impl Strategy<Value = SendLimit> {
    use SendLimit::{Application, CongestionWindow, ReceiveWindow};
    prop::sample::select(vec![CongestionWindow, ReceiveWindow, Application])
}

fn any_ack() -> impl Strategy<Value = Signal> {
    let phases = prop::sample::select(vec![
        RecoveryPhase::Open,
        RecoveryPhase::Recovery,
        RecoveryPhase::Loss,
    ]);
    (any_size(), any_rtt(), any_limit(), phases, any::<bool>()).prop_map(
        |(credit, rtt, limited, phase, marked)| Signal::Ack {
            credit,
            rtt,
            limited,
            phase,
            marked,
        },
    )
}

fn any_signal() -> impl Strategy<Value = Signal> {
    use CongestionKind::{Loss, Mark, RepeatedTimeout, SpuriousLoss, Timeout};
    let kinds = prop::sample::select(vec![Loss, Mark, Timeout, RepeatedTimeout, SpuriousLoss]);
    prop_oneof![
        8 => any_ack(),
        2 => (any_size(), any_limit()).prop_map(
            |(in_flight, limited)| Signal::Sent { in_flight, limited }
        ),
        2 => (any_size(), any_size(), any_limit()).prop_map(
            |(tx_in_flight, lost, limited)| Signal::Lost { tx_in_flight, lost, limited }
        ),
        2 => (kinds, any_size()).prop_map(|(kind, base)| Signal::Congestion { kind, base }),
        1 => Just(Signal::RecoveryEnd),
        1 => any_size().prop_map(|limit| Signal::IdleRestart { limit }),
    ]
}

/// State of a transport between signals.
#[derive(Debug, Default)]
struct Driver {
    delivered: u64,
    min_rtt: Option<Span>,
    smoothed_rtt: Option<Span>,
}

impl Driver {
    /// Takes in a round-trip time. The smoothed one lies between the smallest and the last.
    fn measure(&mut self, rtt: Option<Span>) {
        let Some(rtt) = rtt else { return };
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        (self.min_rtt, self.smoothed_rtt) = (Some(least), Some(least + (rtt - least) / 2));
    }

    /// Returns the sample of a flight of `bytes`.
    fn sample(&self, bytes: u64, rtt: Option<Span>, limited: SendLimit) -> Option<RateSample> {
        let interval = rtt.filter(|rtt| *rtt > Span::ZERO)?;
        Some(RateSample {
            delivered: Bytes(bytes),
            interval,
            send_elapsed: interval,
            ack_elapsed: interval,
            tx_in_flight: Bytes(bytes),
            lost: Bytes(bytes / 7),
            prior_delivered: Bytes(self.delivered.saturating_sub(bytes)),
            limited,
        })
    }

    fn tell(&mut self, control: &mut dyn CongestionControl, now: Time, mss: u64, signal: &Signal) {
        match *signal {
            Signal::Ack {
                credit,
                rtt,
                limited,
                phase,
                marked,
            } => {
                self.delivered = self.delivered.saturating_add(credit);
                self.measure(rtt);
                let ack = Ack {
                    newly_acked: Bytes(credit),
                    newly_delivered: Bytes(credit),
                    credit: Bytes(credit),
                    delivered: Bytes(self.delivered),
                    rtt,
                    newest_rtt: rtt,
                    smoothed_rtt: self.smoothed_rtt,
                    min_rtt: self.min_rtt,
                    in_flight: control.cwnd(),
                    rate: Some(RateInfo {
                        sample: self.sample(credit, rtt, limited),
                        prior_in_flight: Bytes(control.cwnd().0.saturating_add(credit)),
                        delayed: false,
                        next_departure: now,
                    }),
                    socket: Some(SocketState {
                        outstanding: control.cwnd(),
                        opens: phase != RecoveryPhase::Recovery,
                        ..SocketState::default()
                    }),
                    limited,
                    phase,
                    newly_lost: Bytes::ZERO,
                    round_start: false,
                    first: self.delivered / mss,
                    next: self.delivered / mss + 10,
                    window: None,
                    marked: Bytes(if marked { credit } else { 0 }),
                };
                control.on_ack(now, &ack);
            }
            Signal::Sent { in_flight, limited } => {
                let sent = SegmentSent {
                    bytes: Bytes(mss),
                    in_flight: Bytes(in_flight),
                    next: 0,
                    limited,
                };
                control.on_event(now, &Event::Sent(sent));
                if in_flight <= mss && limited == SendLimit::Application {
                    control.on_event(now, &Event::SentAfterIdle);
                }
            }
            Signal::Lost {
                tx_in_flight,
                lost,
                limited,
            } => {
                let lost = SegmentLost {
                    sequence: lost,
                    bytes: Bytes(mss),
                    tx_in_flight: Bytes(tx_in_flight),
                    lost: Bytes(lost),
                    delivered: Bytes(self.delivered),
                    limited,
                };
                control.on_event(now, &Event::Lost(lost));
            }
            Signal::Congestion { kind, base } => {
                let congestion = Congestion {
                    kind,
                    base: Bytes(base),
                    in_flight: Bytes(base),
                    min_rtt: self.min_rtt,
                    smoothed_rtt: self.smoothed_rtt,
                    loss_window: Bytes(mss),
                };
                control.on_congestion(now, &congestion);
            }
            Signal::RecoveryEnd => control.on_event(now, &Event::RecoveryEnd),
            Signal::IdleRestart { limit } => {
                let limit = Bytes(limit);
                control.on_event(now, &Event::IdleRestart { limit });
            }
        }
    }
}

proptest! {
    #[test]
    fn no_sequence_of_signals_breaks_a_control(
        signals in prop::collection::vec((any_step(), any_signal()), 1..120),
        mss in 1..=65_000_u64,
        segments in 0..50_u64,
        ssthresh in prop::option::of(any_size()),
    ) {
        for Choice { tree, chosen } in choices() {
            let mut control = build(chosen, mss, segments, ssthresh);
            let (mut now, mut driver) = (Time::ZERO, Driver::default());
            for (step, signal) in &signals {
                now = now + Span::from_nanos(*step);
                let before = control.cwnd();
                driver.tell(control.as_mut(), now, mss, signal);
                let after = control.cwnd();
                // A NaN would read as zero bytes, an infinite window as all 64 bits.
                let numbers = || {
                    format!("{after:?}, {before:?} before; segments of {mss} bytes; {signal:?}")
                };
                laws::ONE_SEGMENT.test(tree, after >= Bytes(mss), numbers)?;
                laws::IS_FINITE.test(tree, after.0 < u64::MAX / 4, numbers)?;
                laws::HAS_MODE.test(tree, !control.state().mode.is_empty(), numbers)?;
                match signal {
                    Signal::Congestion {
                        kind: CongestionKind::Timeout | CongestionKind::RepeatedTimeout,
                        ..
                    } => {
                        let leaves = after == Bytes(mss);
                        laws::TIMEOUT_LEAVES_LOSS_WINDOW.test(tree, leaves, numbers)?;
                    }
                    Signal::Congestion {
                        kind: CongestionKind::Loss | CongestionKind::Mark,
                        ..
                    } => laws::CONGESTION_LOWERS.test(tree, after <= before, numbers)?,
                    Signal::IdleRestart { limit } => {
                        let lowers = after <= before && after <= Bytes(*limit).max(Bytes(mss));
                        laws::IDLE_LOWERS.test(tree, lowers, numbers)?;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Nothing is drawn, read or remembered outside.
    #[test]
    fn controls_are_deterministic(
        signals in prop::collection::vec((any_step(), any_signal()), 1..60)
    ) {
        for Choice { tree, chosen } in choices() {
            let windows = || {
                let mut control = build(chosen, 1448, 10, None);
                let (mut now, mut driver) = (Time::ZERO, Driver::default());
                let mut windows = Vec::new();
                for (step, signal) in &signals {
                    now = now + Span::from_nanos(*step);
                    driver.tell(control.as_mut(), now, 1448, signal);
                    windows.push((control.cwnd(), control.state()));
                }
                windows
            };
            let (first, second) = (windows(), windows());
            laws::IS_DETERMINISTIC.test(tree, first == second, || {
                let differs = first.iter().zip(&second).position(|(one, other)| one != other);
                format!("another state after signal {differs:?}")
            })?;
        }
    }
}
