//! Rapid Start (K. Oku, draft-kazuho-ccwg-rapid-start, the working copy after -02 of March 2026): a
//! slow start that triples the window each round trip, and a first recovery that finds the window
//! by what arrives.
//!
//! The text of November 2025 was read again: it has K = 11/18 where the later one has 2/3. The
//! floor of both is a third of what a decrease leaves. So K and the floor are parameters.

use super::Ack;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rounds::RoundCounter;
use super::slow_start::SlowStartExit;
use super::window::Window;
use ackclock_spec::prelude::*;
use ackclock_spec::tree::to_tree;

/// Longest round trip of one that builds no queue: so much, and so many times the smallest.
const TOLERANCE: Span = Span::from_millis(4);
const TOLERANCE_PERCENT: u64 = 10;

parameters! {
    /// Parameters of Rapid Start.
    #[derive(Copy, PartialEq)]
    pub struct RapidStart {
        /// K: share of a decrease that is taken back step by step in the first recovery, by what
        /// arrives. 0 to 1. Revisions of the draft have 2/3, and 11/18 before.
        pub k: f64 = 2.0 / 3.0,
        /// Smallest window of that recovery, as a share of what a decrease would leave. 0 to 1. 1/3
        /// is the share of the data that arrives if two thirds of it are too much.
        pub floor: f64 = 1.0 / 3.0,
    }
}

impl RapidStart {
    /// Refuses shares that are none, and what it does not go with.
    pub fn check(rapid: Option<Self>, exit: SlowStartExit, linux: bool) -> Result<()> {
        let Some(rapid) = rapid else {
            return Ok(());
        };
        let goes = [SlowStartExit::None, SlowStartExit::HyStartPlusPlus].contains(&exit);
        every([
            check_between("rapid_start.k", rapid.k, 0.0..=1.0, "0.667"),
            check_between("rapid_start.floor", rapid.floor, 0.0..=1.0, "0.333"),
            consistent(
                goes && !linux,
                "rapid_start",
                &to_tree(&rapid),
                &["arithmetic", "slow_start_exit"],
                "needs arithmetic = \"exact\", and slow_start_exit = \"none\" or \"hystart++\"",
            ),
        ])
    }
}

/// Growth of the window per round trip while no queue builds up.
pub(super) const GROWTH: f64 = 3.0;

/// The state of one connection, up to the end of its first recovery.
#[derive(Debug)]
pub(super) struct Rapid {
    parameters: RapidStart,
    rounds: RoundCounter,
    /// Smallest round-trip time of this round.
    floor: Span,
    hystart: Option<HyStartPlusPlus>,
    /// Round-trip time by which it is paced.
    rtt: Option<Span>,
    /// Data that the last ACK showed to have arrived and to be lost. An ACK comes before the
    /// congestion that it shows, or after it.
    last: (Time, f64, f64),
    convergence: Option<Convergence>,
}

/// The first recovery.
#[derive(Clone, Copy, Debug)]
struct Convergence {
    /// Share of what arrives and of what is lost by which the window shrinks.
    acked: f64,
    lost: f64,
    /// Smallest window, in bytes.
    least: f64,
    /// First segment not sent at its first ACK. After a mark nothing else tells that it is over.
    end: Option<u64>,
}

impl Convergence {
    fn take(self, window: &mut Window, acked: f64, lost: f64) {
        let cwnd = window.cwnd() - self.acked * acked - self.lost * lost;
        window.lower(cwnd.max(self.least));
    }
}

impl Rapid {
    pub fn new(parameters: RapidStart, hystart: Option<HyStartPlusPlus>) -> Self {
        Rapid {
            parameters,
            rounds: RoundCounter::default(),
            floor: Span::FOREVER,
            hystart,
            rtt: None,
            last: (Time::ZERO, 0.0, 0.0),
            convergence: None,
        }
    }

    /// Takes the round-trip time of the handshake.
    pub const fn open(&mut self, rtt: Option<Span>) {
        self.rtt = rtt;
    }

    /// Returns a rate of a window per round trip; none in recovery.
    pub fn pace(&self, window: &Window) -> Option<BitRate> {
        let seconds = self.rtt?.as_seconds();
        let paces = self.convergence.is_none() && seconds > 0.0;
        paces.then(|| BitRate::from_bit_per_s((window.cwnd() * 8.0 / seconds) as u64))
    }

    /// True if no queue has built up in this round.
    fn is_rapid(&self, min_rtt: Option<Span>) -> bool {
        let Some(least) = min_rtt else {
            return true;
        };
        let tolerance = (least * TOLERANCE_PERCENT / 100).min(TOLERANCE);
        self.floor <= least + tolerance || self.floor == Span::FOREVER
    }

    /// Processes an ACK. Returns the credit that is left at ssthresh.
    pub fn on_ack(&mut self, window: &mut Window, now: Time, ack: &Ack) -> f64 {
        let (acked, lost) = (ack.newly_delivered.as_f64(), ack.newly_lost.as_f64());
        if let Some(convergence) = &mut self.convergence {
            convergence.take(window, acked, lost);
            if ack.first >= *convergence.end.get_or_insert(ack.next) {
                window.end_slow_start();
            }
            return 0.0;
        }
        self.last = (now, acked, lost);
        self.rtt = ack.smoothed_rtt;
        if self.rounds.begins(ack) {
            self.floor = Span::FOREVER;
        }
        if let Some(rtt) = ack.newest_rtt {
            self.floor = self.floor.min(rtt);
        }
        let credit = ack.credit.as_f64();
        match &self.hystart {
            Some(hystart) if hystart.is_conservative() => hystart.grow(window, credit),
            _ if self.is_rapid(ack.min_rtt) => {
                window.grow_in_slow_start(credit, 1.0 / (GROWTH - 1.0))
            }
            _ => window.grow_in_slow_start(credit, 1.0),
        }
    }

    /// True if HyStart++ ends slow start with this ACK.
    pub fn is_over(&mut self, ack: &Ack) -> bool {
        let converges = self.convergence.is_some();
        let hystart = self.hystart.as_mut().filter(|_| !converges);
        hystart.is_some_and(|hystart| hystart.is_over(ack))
    }

    /// Begins the first recovery; a decrease would leave `beta` of the window.
    pub fn converge(&mut self, window: &mut Window, now: Time, beta: f64) {
        let RapidStart { k, floor } = self.parameters;
        let (cwnd, silence) = (window.cwnd(), beta + k * (1.0 - beta));
        let convergence = Convergence {
            acked: k * (1.0 - beta),
            lost: silence,
            least: (floor * beta * cwnd).max(2.0 * window.mss()),
            end: None,
        };
        window.lower((silence * cwnd).max(convergence.least));
        if let (at, acked, lost) = self.last
            && at == now
        {
            convergence.take(window, acked, lost);
        }
        self.convergence = Some(convergence);
    }

    /// True in the first recovery.
    pub const fn converges(&self) -> bool {
        self.convergence.is_some()
    }

    /// Returns the phase.
    pub fn mode(&self) -> &'static str {
        match (&self.convergence, &self.hystart) {
            (Some(_), _) => "rapid_recovery",
            (_, Some(hystart)) if hystart.is_conservative() => "conservative_slow_start",
            _ => "rapid_start",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{AckClock, MSS, context};
    use super::super::{Congestion, CongestionKind, Event};
    use super::*;
    use ackclock_spec::streams::Streams;
    use serde_json::{Value, json};

    const RTT: Span = Span::from_millis(100);

    fn tree(kind: &str, more: Value) -> Value {
        let mut tree = json!({ "kind": kind, "rapid_start": {} });
        for (name, value) in more.as_object().unwrap() {
            tree[name] = value.clone();
        }
        tree
    }

    #[test]
    fn the_window_triples_each_round() {
        for kind in ["reno", "cubic"] {
            let mut clock = AckClock::new(&tree(kind, json!({})), RTT, 20, None);
            for cwnd in [60.0, 180.0, 540.0] {
                clock.round();
                assert_eq!(clock.cwnd(), cwnd, "{kind}");
            }
            assert_eq!(clock.control.state().mode, "rapid_start");
        }
    }

    /// Accelerated up to the smaller of 4 ms and a tenth, of the floor of the round.
    #[test]
    fn a_queue_ends_the_acceleration() {
        for (least, longest) in [(10, 11), (20, 22), (40, 44), (50, 54), (100, 104)] {
            let grows = |rtt: Span| {
                let mut clock = AckClock::new(&tree("reno", json!({})), RTT, 20, None);
                let mut ack = clock.ack_of(MSS);
                ack.min_rtt = Some(Span::from_millis(least));
                ack.newest_rtt = Some(rtt);
                ack.delivered = Bytes(MSS);
                let before = clock.control.cwnd();
                clock.control.on_ack(clock.now, &ack);
                (clock.control.cwnd() - before).0 / MSS
            };
            assert_eq!(grows(Span::from_millis(longest)), 2, "{least} ms");
            let above = Span::from_micros(longest * 1000 + 1);
            assert_eq!(grows(above), 1, "{least} ms");
        }
    }

    /// Loses a share of a window of 1000, and returns the window at the end of recovery.
    fn converged(tree: &Value, lost: u64) -> f64 {
        let mut clock = AckClock::new(tree, RTT, 1000, None);
        let congestion = Congestion {
            kind: CongestionKind::Loss,
            base: Bytes(1000 * MSS),
            in_flight: Bytes(1000 * MSS),
            min_rtt: Some(RTT),
            smoothed_rtt: Some(RTT),
            loss_window: Bytes(MSS),
        };
        clock.control.on_congestion(clock.now, &congestion);
        assert!(clock.control.holds_in_recovery());
        assert_eq!(clock.control.state().mode, "rapid_recovery");
        clock.now = clock.now + Span::from_micros(1);
        for number in 0..1000 {
            let mut ack = clock.ack_of(0);
            (ack.first, ack.next) = (number, 1000);
            match number < lost {
                true => ack.newly_lost = Bytes(MSS),
                false => ack.newly_delivered = Bytes(MSS),
            }
            clock.control.on_ack(clock.now, &ack);
        }
        clock.control.on_event(clock.now, &Event::RecoveryEnd);
        assert!(!clock.control.holds_in_recovery());
        assert_eq!(clock.control.state().ssthresh, Some(clock.control.cwnd()));
        clock.control.cwnd().as_f64() / MSS as f64
    }

    #[test]
    fn the_first_recovery_leaves_a_share_of_what_arrived() {
        let expected = [
            (0, 600.0),
            (250, 450.0),
            (500, 300.0),
            (667, 200.0),
            (800, 200.0),
        ];
        for kind in ["reno", "cubic"] {
            for (lost, cwnd) in expected {
                let tree = tree(kind, json!({ "beta": 0.6 }));
                let ends = converged(&tree, lost);
                assert!((ends - cwnd).abs() < 0.3, "{kind} {lost} {ends}");
            }
        }
    }

    /// The draft prints these factors: with K = 11/18 and β = 0.5 silence 29/36 and 11/36 for each
    /// acknowledged byte, with 0.7 53/60 and 11/60.
    #[test]
    fn the_factors_are_those_of_the_drafts() {
        for (k, beta, silence, acked) in [
            (11.0 / 18.0, 0.5, 29.0 / 36.0, 11.0 / 36.0),
            (11.0 / 18.0, 0.7, 53.0 / 60.0, 11.0 / 60.0),
            (2.0 / 3.0, 0.5, 5.0 / 6.0, 1.0 / 3.0),
            (2.0 / 3.0, 0.7, 0.9, 0.2),
            (2.0 / 3.0, 0.8, 14.0 / 15.0, 2.0 / 15.0),
        ] {
            let streams = Streams::new(1, 0);
            let mut window = Window::new(&context(&streams, 100, None));
            let mut rapid = Rapid::new(RapidStart { k, floor: 0.0 }, None);
            rapid.converge(&mut window, Time::ZERO + RTT, beta);
            assert!((window.cwnd() / MSS as f64 - 100.0 * silence).abs() < 1e-9);
            let convergence = rapid.convergence.unwrap();
            assert!((convergence.acked - acked).abs() < 1e-12);
            assert!((convergence.lost - silence).abs() < 1e-12);
        }
    }

    /// With the floor of another revision, more is taken.
    #[test]
    fn the_floor_is_a_parameter() {
        let tree = tree(
            "reno",
            json!({ "beta": 0.6, "rapid_start": { "floor": 0.1 } }),
        );
        assert!((converged(&tree, 800) - 120.0).abs() < 0.3);
    }

    /// Without a phase of recovery, as after a mark with a window that is cut at once.
    #[test]
    fn it_ends_with_what_was_in_flight() {
        for kind in ["reno", "cubic"] {
            let mut clock = AckClock::new(&tree(kind, json!({})), RTT, 100, None);
            clock.congestion(CongestionKind::Mark);
            assert!(clock.control.holds_in_recovery());
            clock.round();
            clock.round();
            assert!(!clock.control.holds_in_recovery());
            assert!(clock.ssthresh().is_some());
        }
    }

    #[test]
    fn it_paces_a_window_per_round_trip() {
        let mut clock = AckClock::new(&tree("cubic", json!({})), RTT, 20, None);
        assert!(clock.control.needs().paces);
        clock.event(&Event::Open { rtt: Some(RTT) });
        let rate = clock.control.pace().rate.unwrap().as_byte_per_s();
        assert!((rate - 200.0 * MSS as f64).abs() < 1.0);
        clock.congestion(CongestionKind::Loss);
        assert_eq!(clock.control.pace().rate, None);
    }

    #[test]
    fn a_later_recovery_is_the_ordinary_one() {
        let mut clock = AckClock::new(&tree("reno", json!({})), RTT, 100, None);
        clock.congestion(CongestionKind::Timeout);
        assert_eq!(clock.cwnd(), 1.0);
        clock.congestion(CongestionKind::Loss);
        assert!(!clock.control.holds_in_recovery());
    }

    #[test]
    fn a_spurious_loss_is_undone() {
        for kind in ["reno", "cubic"] {
            let mut clock = AckClock::new(&tree(kind, json!({})), RTT, 100, None);
            clock.congestion(CongestionKind::Loss);
            clock.congestion(CongestionKind::SpuriousLoss);
            assert_eq!(clock.cwnd(), 100.0, "{kind}");
            assert!(!clock.control.holds_in_recovery());
        }
    }
}
