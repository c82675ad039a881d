//! The numbers are packets, of a connection with an initial window of 10 on a path of 600 ms whose
//! saved window is 200.

use super::*;
use crate::congestion::testing::{MSS, context};
use crate::congestion::{ControlKind, RecoveryPhase};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::streams::Streams;
use serde_json::{Value, json};

const RTT: Span = Span::from_millis(600);

/// A connection whose events are made by hand.
struct Bench {
    resuming: Resuming,
    now: Time,
    rtt: Span,
    /// Segments acknowledged and sent, and those that were lost.
    first: u64,
    next: u64,
    lost: u64,
}

impl Bench {
    fn new(control: &str, more: Value) -> Bench {
        let mut tree = json!({ "cwnd": format!("{} bytes", 200 * MSS), "rtt": "600 ms" });
        for (name, value) in more.as_object().unwrap() {
            tree[name] = value.clone();
        }
        let parameters = serde_json::from_value(tree).unwrap();
        let streams = Streams::new(1, 0);
        let context = context(&streams, 10, None);
        let tree = json!({ "kind": control });
        let control = choose::<ControlKind>(&tree, &NoFiles).unwrap();
        let mut resuming = Resuming::new(control.build(context), parameters, &context);
        resuming.on_event(Time::ZERO, &Event::Open { rtt: Some(RTT) });
        Bench {
            resuming,
            now: Time::ZERO,
            rtt: RTT,
            first: 0,
            next: 0,
            lost: 0,
        }
    }

    fn flight(&self) -> u64 {
        self.next - self.first - self.lost
    }
    fn cwnd(&self) -> u64 {
        self.resuming.cwnd().0 / MSS
    }
    fn pipe(&self) -> u64 {
        self.resuming.pipe / MSS
    }
    fn phase(&self) -> &'static str {
        self.resuming.model().phase
    }

    /// Sends a segment, with more to send or without.
    fn send(&mut self, limited: SendLimit) {
        self.next += 1;
        let sent = SegmentSent {
            bytes: Bytes(MSS),
            in_flight: Bytes(self.flight() * MSS),
            next: self.next,
            limited,
        };
        self.resuming.on_event(self.now, &Event::Sent(sent));
    }

    fn send_many(&mut self, number: u64) {
        (0..number).for_each(|_| self.send(SendLimit::CongestionWindow));
    }

    /// Sends while the window has room and the phase is that.
    fn fill(&mut self, phase: &str) {
        while self.phase() == phase && self.flight() < self.cwnd() {
            self.send(SendLimit::CongestionWindow);
        }
    }

    fn ack(&mut self) {
        self.first += 1;
        let ack = Ack {
            newly_acked: Bytes(MSS),
            newly_delivered: Bytes(MSS),
            credit: Bytes(MSS),
            delivered: Bytes(self.first * MSS),
            rtt: Some(self.rtt),
            newest_rtt: Some(self.rtt),
            smoothed_rtt: Some(self.rtt),
            min_rtt: Some(self.rtt),
            in_flight: Bytes(self.flight() * MSS),
            rate: None,
            socket: None,
            limited: SendLimit::CongestionWindow,
            phase: RecoveryPhase::Open,
            newly_lost: Bytes::ZERO,
            round_start: false,
            first: self.first,
            next: self.next,
            window: None,
            marked: Bytes::ZERO,
        };
        self.resuming.on_ack(self.now, &ack);
    }

    fn ack_many(&mut self, number: u64) {
        (0..number).for_each(|_| self.ack());
    }

    fn congestion(&mut self, kind: CongestionKind) {
        let congestion = Congestion {
            kind,
            base: Bytes(self.flight() * MSS),
            in_flight: Bytes(self.flight() * MSS),
            min_rtt: Some(RTT),
            smoothed_rtt: Some(RTT),
            loss_window: Bytes(MSS),
        };
        self.resuming.on_congestion(self.now, &congestion);
    }

    /// Sends the initial window and has it acknowledged; each ACK lets two segments leave.
    fn reconnoitre(&mut self) {
        self.send_many(10);
        self.now = self.now + self.rtt;
        for _ in 0..10 {
            self.ack();
            self.fill("reconnaissance");
        }
    }

    /// Jumps with 20 segments in flight, of which `acked` are acknowledged after `sent` more.
    fn jumped(control: &str, more: Value, sent: u64, acked: u64) -> Bench {
        let mut bench = Bench::new(control, more);
        bench.reconnoitre();
        assert_eq!((bench.phase(), bench.flight()), ("unvalidated", 20));
        bench.send_many(sent);
        bench.ack_many(acked);
        bench
    }
}

/// Those whose window can be set.
const CONTROLS: [&str; 3] = ["reno", "cubic", "cuback"];

#[test]
fn the_window_jumps_to_half_of_the_saved_one_and_is_paced() {
    for control in CONTROLS {
        let mut bench = Bench::jumped(control, json!({}), 0, 0);
        assert_eq!((bench.cwnd(), bench.pipe()), (100, 20));
        let rate = bench.resuming.pace().rate.unwrap().as_byte_per_s();
        assert!((MSS as f64 / rate - 0.006).abs() < 1e-6);
        assert_eq!(bench.resuming.pace().burst, Some(Bytes(MSS)));
        bench.ack_many(20);
        assert_eq!((bench.cwnd(), bench.pipe()), (100, 40));
        assert_eq!(bench.phase(), "unvalidated");
    }
}

#[test]
fn what_the_jump_allowed_is_validated() {
    for control in CONTROLS {
        let mut bench = Bench::jumped(control, json!({}), 80 - 1, 20);
        bench.send(SendLimit::Application);
        bench.ack();
        assert_eq!((bench.phase(), bench.cwnd()), ("validating", 79));
        assert_eq!(bench.resuming.pace().rate, None);
        bench.ack_many(78);
        assert_eq!(bench.phase(), "validating");
        bench.ack();
        assert_eq!((bench.phase(), bench.pipe()), ("normal", 120));
        assert_eq!(bench.cwnd(), 158);
    }
}

/// The last packet that fits ends the phase, too.
#[test]
fn a_full_window_ends_the_jump() {
    let mut bench = Bench::jumped("reno", json!({}), 79, 0);
    assert_eq!(bench.phase(), "unvalidated");
    bench.send_many(1);
    assert_eq!((bench.phase(), bench.cwnd()), ("validating", 100));
}

#[test]
fn a_round_trip_ends_the_jump() {
    let mut bench = Bench::jumped("reno", json!({}), 60, 0);
    bench.now = bench.now + RTT;
    bench.send_many(1);
    assert_eq!(bench.phase(), "unvalidated");
    bench.now = bench.now + Span::from_millis(1);
    bench.send_many(1);
    assert_eq!((bench.phase(), bench.cwnd()), ("validating", 82));
}

#[test]
fn a_jump_that_was_not_used_leaves_what_arrived() {
    for control in CONTROLS {
        let mut bench = Bench::jumped(control, json!({}), 15, 20);
        bench.ack();
        assert_eq!((bench.phase(), bench.flight()), ("normal", 14));
        assert_eq!((bench.cwnd(), bench.pipe()), (41, 41));
    }
}

#[test]
fn a_loss_while_validating_retreats() {
    for (control, beta, ssthresh) in [("reno", 0.5, 59), ("cubic", 0.7, 83), ("cuback", 0.7, 83)] {
        let mut bench = Bench::jumped(control, json!({ "beta": beta }), 80, 20);
        bench.ack_many(29);
        assert_eq!(bench.pipe(), 69);
        bench.lost = 1;
        bench.congestion(CongestionKind::Loss);
        assert_eq!((bench.phase(), bench.cwnd()), ("safe_retreat", 34));
        assert!(bench.resuming.holds_in_recovery() && !bench.resuming.keeps());
        // Another loss does not cut again, and nothing opens the window.
        bench.congestion(CongestionKind::Loss);
        bench.ack_many(49);
        assert_eq!((bench.phase(), bench.cwnd()), ("safe_retreat", 34));
        // The retransmission, with which the last of them is acknowledged cumulatively.
        bench.first += 1;
        bench.lost = 0;
        bench.ack();
        assert_eq!((bench.phase(), bench.pipe()), ("normal", 119));
        let threshold = bench.resuming.state().ssthresh.unwrap();
        assert_eq!(
            (threshold.0 / MSS, bench.cwnd()),
            (ssthresh, 34),
            "{control}"
        );
        assert_eq!(bench.resuming.observed(), None);
    }
}

#[test]
fn congestion_right_after_the_jump_retreats() {
    for kind in [CongestionKind::Loss, CongestionKind::Mark] {
        let mut bench = Bench::jumped("reno", json!({}), 25, 12);
        bench.congestion(kind);
        assert_eq!(
            (bench.phase(), bench.pipe(), bench.cwnd()),
            ("safe_retreat", 32, 16)
        );
        bench.ack_many(8 + 25);
        assert_eq!(bench.phase(), "normal");
    }
}

#[test]
fn the_floor_of_a_retreat_is_a_parameter() {
    let floor = json!({ "retreat_floor": "18 packets" });
    let mut bench = Bench::jumped("reno", floor, 25, 12);
    bench.congestion(CongestionKind::Loss);
    assert_eq!(bench.cwnd(), 18);
}

#[test]
fn a_timeout_ends_the_resumption_at_once() {
    let mut bench = Bench::jumped("reno", json!({}), 80, 20);
    bench.ack_many(2);
    bench.congestion(CongestionKind::Loss);
    bench.congestion(CongestionKind::Timeout);
    assert_eq!((bench.phase(), bench.cwnd()), ("normal", 1));
}

#[test]
fn another_path_an_expired_set_or_a_small_one_is_not_used() {
    let enters = |more: Value, rtt_ms: u64| {
        let mut bench = Bench::new("reno", more);
        bench.rtt = Span::from_millis(rtt_ms);
        bench.reconnoitre();
        bench.fill("normal");
        bench.phase() == "unvalidated"
    };
    assert!(enters(json!({}), 600));
    assert!(enters(json!({}), 301) && !enters(json!({}), 300));
    assert!(enters(json!({}), 6000) && !enters(json!({}), 6100));
    let saved = |packets: u64| json!({ "cwnd": format!("{} bytes", packets * MSS) });
    assert!(enters(saved(42), 600) && !enters(saved(40), 600) && !enters(saved(39), 600));
    let most = |packets: u64| json!({ "max_jump": format!("{} bytes", packets * MSS) });
    assert!(enters(most(21), 600) && !enters(most(20), 600));
    let old = |age: &str| json!({ "age": age, "lifetime": "10 min" });
    assert!(enters(old("9 min"), 600) && !enters(old("10 min"), 600));
}

#[test]
fn congestion_in_the_reconnaissance_is_the_controls() {
    let mut bench = Bench::new("reno", json!({}));
    bench.send_many(10);
    bench.ack_many(3);
    bench.congestion(CongestionKind::Loss);
    assert_eq!((bench.phase(), bench.cwnd()), ("normal", 3)); // half of the flight of seven
    assert!(bench.resuming.keeps());
}

/// A request and answer that never have more to send than the window do not jump.
#[test]
fn a_sender_without_enough_data_stays_in_the_reconnaissance() {
    let mut bench = Bench::new("reno", json!({}));
    bench.send_many(10);
    bench.ack_many(10);
    (0..20).for_each(|_| bench.send(SendLimit::Application));
    assert_eq!(bench.phase(), "reconnaissance");
    bench.ack();
    bench.ack();
    bench.fill("reconnaissance");
    assert_eq!(bench.phase(), "unvalidated");
}
