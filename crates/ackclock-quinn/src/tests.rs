//! Controls that are called as quinn calls them.

use super::*;
use quinn_proto::congestion::Controller;
use std::time::Duration;

const MTU: u64 = 1200;

/// A sender whose packets are acknowledged one by one.
struct Caller {
    control: Adapted,
    start: Instant,
    in_flight: u64,
}

fn control(name: &str) -> Arc<Control> {
    Arc::new(Control::named(name).unwrap())
}

impl Caller {
    #[expect(
        clippy::disallowed_methods,
        reason = "quinn's times are instants; only differences from this are used"
    )]
    fn new(name: &str) -> Self {
        let start = Instant::now();
        Caller {
            control: Adapted::new(control(name), start, MTU as u16),
            start,
            in_flight: 0,
        }
    }

    fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }

    /// Sends packets at a time.
    fn send(&mut self, millis: u64, packets: u64) {
        for number in 0..packets {
            self.control.on_sent(self.at(millis), MTU, number);
            self.in_flight += MTU;
        }
    }

    /// Acknowledges packets that were sent at a time.
    fn acknowledge(&mut self, millis: u64, sent: u64, packets: u64, app_limited: bool) {
        for _ in 0..packets {
            self.control.add_to_ack(self.at(sent), MTU);
            self.in_flight -= MTU;
        }
        let (now, in_flight) = (self.at(millis), self.in_flight);
        self.control.on_end_acks(now, in_flight, app_limited, None);
    }

    /// Loses packets, the last of which was sent at a time.
    fn lose(&mut self, millis: u64, sent: u64, packets: u64, persistent: bool) {
        self.in_flight -= packets * MTU;
        let (now, sent) = (self.at(millis), self.at(sent));
        self.control
            .on_congestion_event(now, sent, persistent, packets * MTU);
    }

    fn window(&self) -> u64 {
        self.control.window() / MTU
    }
}

#[test]
fn slow_start_opens_the_window_by_what_is_acknowledged() {
    let mut reno = Caller::new("reno");
    assert_eq!(reno.window(), INITIAL_WINDOW);
    reno.send(0, 10);
    reno.acknowledge(40, 0, 4, false);
    assert_eq!(reno.window(), 14);
    reno.acknowledge(41, 0, 6, true); // the application had nothing to send
    assert_eq!(reno.window(), 14);
}

/// A recovery goes on until a packet sent after its start is acknowledged. Its start outlasts it:
/// what was sent before may be found lost later.
#[test]
fn one_overshoot_is_one_reduction() {
    let mut reno = Caller::new("reno");
    reno.send(0, 20);
    reno.acknowledge(40, 0, 10, false);
    assert_eq!(reno.window(), 20);
    reno.lose(41, 0, 1, false);
    assert_eq!(reno.window(), 10);
    reno.lose(42, 0, 1, false);
    reno.acknowledge(43, 0, 4, false); // sent before it: they open nothing
    assert_eq!(reno.window(), 10);
    reno.send(50, 5);
    reno.acknowledge(90, 50, 5, false);
    let after = reno.window();
    reno.lose(91, 0, 1, false); // a straggler
    assert_eq!(reno.window(), after);
    reno.send(95, 5);
    reno.lose(140, 95, 1, false);
    assert_eq!(reno.window(), after / 2);
}

#[test]
fn a_mark_reduces_once_in_a_round_trip() {
    let mut cubic = Caller::new("cubic");
    cubic.send(0, 10);
    cubic.acknowledge(40, 0, 5, false);
    let now = cubic.at(40);
    for _ in 0..2 {
        cubic
            .control
            .on_congestion_event(now, cubic.start, false, 0);
        assert_eq!(cubic.control.window(), 15 * MTU * 7 / 10);
    }
}

#[test]
fn persistent_congestion_leaves_two_datagrams() {
    let mut reno = Caller::new("reno");
    reno.send(0, 10);
    reno.lose(500, 0, 10, true);
    assert_eq!(reno.window(), 2);
    // Reno has one datagram in its window, with which quinn would never send again.
    for round in 0..3 {
        reno.send(1000 + 1000 * round, 2);
        reno.lose(1500 + 1000 * round, 1000 + 1000 * round, 2, true);
        assert_eq!(reno.window(), 2);
    }
}

#[test]
fn a_window_is_as_many_datagrams_when_they_become_larger() {
    let mut reno = Caller::new("reno");
    reno.control.on_mtu_update(1452);
    assert_eq!(reno.control.window(), 10 * 1452);
    assert_eq!(reno.control.initial_window(), 10 * 1452);
    let (now, sent) = (reno.at(40), reno.start);
    for number in 0..10 {
        reno.control.on_sent(sent, 1452, number);
    }
    for _ in 0..4 {
        reno.control.add_to_ack(sent, 1452);
    }
    reno.control.on_end_acks(now, 6 * 1452, false, None);
    assert_eq!(reno.control.window(), 14 * 1452);
}

/// Packets every 1.2 ms, each acknowledged after 24 ms: 8 Mbit/s.
#[test]
fn bandwidth_is_measured_by_the_times_of_packets() {
    for name in ["bbr1", "bbr3"] {
        let mut bbr = Caller::new(name);
        let at = |bbr: &Caller, packet: u64| bbr.start + Duration::from_micros(1200 * packet);
        for packet in 0..400 {
            let now = at(&bbr, packet);
            if let Some(sent) = packet.checked_sub(20) {
                bbr.control.add_to_ack(at(&bbr, sent), MTU);
                bbr.control.on_end_acks(now, 19 * MTU, false, None);
            }
            bbr.control.on_sent(now, MTU, packet);
        }
        let rate = bbr.control.metrics().pacing_rate.unwrap() as f64;
        let gain = rate / 8e6;
        // BBR probes with 1.25 or 0.9 and 0.75 times of what it has measured, or 0.99 of it.
        assert!((0.74..1.27).contains(&gain), "{name}: {gain}");
    }
}

#[test]
fn a_new_path_begins_anew() {
    let mut cubic = Caller::new("cubic");
    cubic.send(0, 10);
    cubic.lose(40, 0, 1, false);
    assert!(cubic.window() < 10);
    assert_eq!(cubic.control.clone_box().window(), 10 * MTU);
}

/// Entries are forgotten, so that memory is bounded by what is in flight.
#[test]
fn the_history_is_bounded() {
    let mut reno = Caller::new("reno");
    for millis in 0..10_000 {
        reno.send(millis, 1);
        if let Some(sent) = millis.checked_sub(20) {
            reno.acknowledge(millis, sent, 1, true);
        }
    }
    assert!(reno.control.entries() < 70, "{}", reno.control.entries());
}

#[test]
fn a_control_that_counts_marks_is_refused() {
    for (name, reason) in [
        ("dctcp", "counts marks"),
        ("prague", "counts marks"),
        ("kubic", "cubic"),
    ] {
        let error = Control::named(name).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}
