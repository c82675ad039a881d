//! What every registered congestion control must hold to.

use ackclock_core::congestion::{
    Ack, AckKind, Congestion, CongestionControl, CongestionKind, ControlContext, ControlKind, Limit, Phase,
    Sent,
};
use ackclock_core::registry::{Entry, Kind, Place, choose};
use ackclock_core::scenario::files::NoFiles;
use ackclock_core::streams::Streams;
use ackclock_core::units::{Bytes, Span, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

mod variants;
use variants::variants;

fn entries() -> impl Iterator<Item = &'static Entry<ControlKind>> {
    ControlKind::entries().iter()
}

fn build(tree: &Value, mss: u64, segments: u64, ssthresh: Option<u64>) -> Box<dyn CongestionControl> {
    let streams = Streams::new(1, 0);
    let context = ControlContext {
        place: Place {
            streams: &streams,
            name: "flow/0/control",
        },
        mss: Bytes(mss),
        initial_window: Bytes(mss * segments),
        initial_ssthresh: ssthresh.map(Bytes),
        whole_ssthresh: false,
    };
    choose::<ControlKind>(tree, &NoFiles).unwrap().build(context)
}

#[test]
fn variants_make_every_choice() {
    let reno = entries().find(|entry| entry.name == "reno").unwrap();
    let expected = [
        json!({ "kind": "reno" }),
        json!({ "kind": "reno", "growth": "per_window" }),
        json!({ "kind": "reno", "hystart": true }),
    ];
    assert_eq!(variants(reno), expected);
}

#[test]
fn resolved_parameters_read_back_are_the_same() {
    for entry in entries() {
        for tree in variants(entry) {
            let first = choose::<ControlKind>(&tree, &NoFiles).unwrap();
            let second = choose::<ControlKind>(&first.resolved, &NoFiles).unwrap();
            assert_eq!((first.name, &first.resolved), (entry.name, &second.resolved));
            for (field, value) in tree.as_object().unwrap() {
                assert_eq!(first.resolved[field], *value);
            }
        }
    }
}

fn ack(credit: u64, delivered: u64, rtt: Span, in_flight: u64) -> Ack {
    Ack {
        kind: AckKind::New,
        newly_acked: Bytes(credit),
        newly_delivered: Bytes(credit),
        credit: Bytes(credit),
        delivered: Bytes(delivered),
        rtt: Some(rtt),
        smoothed_rtt: Some(rtt),
        min_rtt: Some(rtt),
        in_flight: Bytes(in_flight),
        rate_sample: None,
        limited: Limit::CongestionWindow,
        phase: Phase::Open,
        marked: Bytes::ZERO,
    }
}

fn congestion(kind: CongestionKind, base: u64, rtt: Option<Span>) -> Congestion {
    Congestion {
        kind,
        base: Bytes(base),
        in_flight: Bytes(base),
        min_rtt: rtt,
        smoothed_rtt: rtt,
    }
}

fn sent(bytes: u64, in_flight: u64) -> Sent {
    Sent {
        bytes: Bytes(bytes),
        in_flight: Bytes(in_flight),
        limited: Limit::CongestionWindow,
    }
}

#[test]
fn the_window_grows_while_nothing_is_wrong() {
    const MSS: u64 = 1000;
    let rtt = Span::from_millis(100);
    for tree in entries().flat_map(variants) {
        for ssthresh in [None, Some(10 * MSS)] {
            let mut control = build(&tree, MSS, 10, ssthresh);
            let (mut now, mut delivered, first) = (Time::ZERO, 0, control.cwnd());
            for _ in 0..12 {
                let before = control.cwnd();
                let segments = before.0 / MSS;
                for n in 1..=segments {
                    now = now + rtt / segments;
                    delivered += MSS;
                    control.on_ack(now, &ack(MSS, delivered, rtt, (segments - n) * MSS));
                    control.on_sent(now, &sent(MSS, segments * MSS));
                    assert!(control.cwnd() >= before, "{tree}");
                }
            }
            assert!(
                control.cwnd().0 >= first.0 + 3 * MSS,
                "{tree}: {:?}",
                control.cwnd()
            );
        }
    }
}

#[test]
fn a_timeout_leaves_one_segment() {
    for tree in entries().flat_map(variants) {
        for mss in [1, 1448, 65_000] {
            let mut control = build(&tree, mss, 17, None);
            control.on_congestion(Time::ZERO, &congestion(CongestionKind::Timeout, 17 * mss, None));
            assert_eq!(control.cwnd(), Bytes(mss), "{tree}");
        }
    }
}

/// Anything a transport could tell a control, sensible or not.
#[derive(Clone, Debug)]
enum Signal {
    Ack {
        credit: u64,
        rtt: Option<Span>,
        limited: Limit,
        phase: Phase,
        kind: AckKind,
    },
    Sent {
        in_flight: u64,
    },
    Congestion {
        kind: CongestionKind,
        base: u64,
        rtt: Option<Span>,
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

/// Mostly sizes that occur, and the extremes.
fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200_000_u64, 1 => Just(u64::MAX), 1 => 0..1_u64 << 50]
}

/// The steps between signals: none, usual, years.
fn any_step() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 8 => 0..200_000_000_u64, 1 => 0..1_u64 << 57]
}

fn any_ack() -> impl Strategy<Value = Signal> {
    use Limit::{Application, CongestionWindow, ReceiveWindow};
    let limits = prop::sample::select(vec![CongestionWindow, ReceiveWindow, Application]);
    let phases = prop::sample::select(vec![Phase::Open, Phase::Recovery, Phase::Loss]);
    let kinds = prop::sample::select(vec![AckKind::New, AckKind::Duplicate]);
    (any_size(), any_rtt(), limits, phases, kinds).prop_map(|(credit, rtt, limited, phase, kind)| {
        Signal::Ack {
            credit,
            rtt,
            limited,
            phase,
            kind,
        }
    })
}

fn any_signal() -> impl Strategy<Value = Signal> {
    use CongestionKind::{Loss, Mark, RepeatedTimeout, SpuriousLoss, Timeout};
    let kinds = prop::sample::select(vec![Loss, Mark, Timeout, RepeatedTimeout, SpuriousLoss]);
    prop_oneof![
        8 => any_ack(),
        2 => any_size().prop_map(|in_flight| Signal::Sent { in_flight }),
        2 => (kinds, any_size(), any_rtt()).prop_map(|(kind, base, rtt)| Signal::Congestion { kind, base, rtt }),
        1 => Just(Signal::RecoveryEnd),
        1 => any_size().prop_map(|limit| Signal::IdleRestart { limit }),
    ]
}

fn tell(control: &mut dyn CongestionControl, now: Time, delivered: &mut u64, mss: u64, signal: &Signal) {
    match *signal {
        Signal::Ack {
            credit,
            rtt,
            limited,
            phase,
            kind,
        } => {
            *delivered = delivered.saturating_add(credit);
            let ack = Ack {
                kind,
                rtt,
                smoothed_rtt: rtt,
                min_rtt: rtt,
                limited,
                phase,
                ..ack(credit, *delivered, Span::ZERO, control.cwnd().0)
            };
            control.on_ack(now, &ack);
        }
        Signal::Sent { in_flight } => control.on_sent(now, &sent(mss, in_flight)),
        Signal::Congestion { kind, base, rtt } => control.on_congestion(now, &congestion(kind, base, rtt)),
        Signal::RecoveryEnd => control.on_recovery_end(now),
        Signal::IdleRestart { limit } => control.on_idle_restart(now, Bytes(limit)),
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
        for tree in entries().flat_map(variants) {
            let mut control = build(&tree, mss, segments, ssthresh);
            let (mut now, mut delivered) = (Time::ZERO, 0);
            for (step, signal) in &signals {
                now = now + Span::from_nanos(*step);
                let before = control.cwnd();
                tell(control.as_mut(), now, &mut delivered, mss, signal);
                let after = control.cwnd();
                // A NaN would read as zero bytes, an infinite window as all 64 bits.
                prop_assert!(after >= Bytes(mss), "{}: below one segment", tree);
                prop_assert!(after.0 < u64::MAX / 4, "{}: without bounds", tree);
                prop_assert!(!control.state().mode.is_empty());
                match signal {
                    Signal::Congestion { kind: CongestionKind::Timeout | CongestionKind::RepeatedTimeout, .. } => {
                        prop_assert_eq!(after, Bytes(mss), "{}", tree);
                    }
                    Signal::Congestion { kind: CongestionKind::Loss | CongestionKind::Mark, .. } => {
                        prop_assert!(after <= before, "{}: raised by congestion", tree);
                    }
                    Signal::IdleRestart { limit } => {
                        prop_assert!(after <= before && after <= Bytes(*limit).max(Bytes(mss)), "{}", tree);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The same signals give the same windows: nothing is drawn, read or remembered outside.
    #[test]
    fn controls_are_deterministic(signals in prop::collection::vec((any_step(), any_signal()), 1..60)) {
        for tree in entries().flat_map(variants) {
            let windows = || {
                let mut control = build(&tree, 1448, 10, None);
                let (mut now, mut delivered) = (Time::ZERO, 0);
                let mut windows = Vec::new();
                for (step, signal) in &signals {
                    now = now + Span::from_nanos(*step);
                    tell(control.as_mut(), now, &mut delivered, 1448, signal);
                    windows.push((control.cwnd(), control.state()));
                }
                windows
            };
            prop_assert_eq!(windows(), windows());
        }
    }
}
