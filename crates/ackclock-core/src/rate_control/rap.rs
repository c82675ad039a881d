//! General AIMD of a rate: TCP's additive increase and multiplicative decrease without its window,
//! after the Rate Adaptation Protocol (RAP).

use super::acknowledging::Acknowledging;
use super::facts::RateControlFacts;
use super::log::{Log, News};
use super::{
    Clocking, DatagramSent, Feedback, Halves, RateContext, RateControl, RateControlKind, RateState,
    SLOWEST, check,
};
use crate::congestion::facts::{GrowthLaw, KeptShare};
use crate::endpoint::RttEstimator;
use crate::endpoint::parameters::TimerParameters;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    #[derive(PartialEq)]
    pub struct Rap {
        /// Additive increase: growth of the rate per round-trip time, in packets per round-trip
        /// time; 1 in TCP and RAP.
        pub increase: f64 = 1.0,
        /// Multiplicative decrease: share of the rate that is kept after a loss; 1/2 in TCP and
        /// RAP.
        pub decrease: f64 = 0.5,
        /// Number of later packets that must arrive before a missing one is deemed lost.
        #[schemars(range(min = 1, max = 63))]
        pub duplicate_threshold: u8 = 3,
        /// Round-trip time assumed before the first sample: the first rate is one packet in this
        /// time. The default is our choice.
        pub initial_rtt: Span = Span::from_millis(500),
        /// Minimum timeout of an unacknowledged packet.
        pub rto_minimum: Span = Span::from_millis(200),
        /// Number of bits of the receiver's vector.
        #[schemars(range(min = 1, max = 64))]
        pub vector: u8 = 8,
    }
}

impl Element<RateControlKind> for Rap {
    const NAME: &'static str = "rap";
    const LABEL: &'static str = "AIMD rate";
    const SUMMARY: &'static str = "Additive increase and multiplicative decrease of the rate, once \
        per round trip (RAP without fine-grain adaptation).";
    const REFERENCE: &'static str = "Rejaie, Handley, Estrin 1999, INFOCOM; Yang, Lam 2000, ICNP";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_positive("increase", self.increase, "1"),
            check_factor("decrease", self.decrease, "0.5"),
            check::duplicate_threshold(self.duplicate_threshold),
            check::vector(self.vector),
            check::time("initial_rtt", self.initial_rtt, "500 ms"),
            check::time("rto_minimum", self.rto_minimum, "200 ms"),
        ])
    }

    fn facts(&self) -> RateControlFacts {
        let kept = KeptShare::Constant {
            share: self.decrease,
        };
        RateControlFacts {
            growth: Some(GrowthLaw::linear(self.increase)),
            kept_after_loss: Some(kept),
            kept_after_mark: Some(kept),
            reacts_to_loss: Some(true),
            reacts_to_delay: Some(false),
            equation: Stated::None,
        }
    }
}

impl Factory<RateControlKind> for Rap {
    fn build(&self, context: RateContext<'_>) -> Halves {
        Halves {
            sender: Box::new(GaimdSender::new(self.clone(), context.mss)),
            receiver: Box::new(Acknowledging::new(self.vector)),
        }
    }
}

#[derive(Debug)]
struct GaimdSender {
    parameters: Rap,
    mss: Bytes,
    rtt: RttEstimator,
    /// Rate, in packets per second.
    rate: f64,
    origin: Time,
    /// Time of the next growth step.
    step_end: Time,
    log: Log,
    /// One more than the highest number known to have arrived.
    arrived: u64,
    /// Losses before this number have already reduced the rate.
    reacted_before: u64,
    /// True if the application, not the rate, limited the last packet.
    data_limited: bool,
    marked: u64,
    lost: u64,
    spurious: u64,
    timeouts: u64,
}

impl GaimdSender {
    fn new(parameters: Rap, mss: Bytes) -> Self {
        let timer = TimerParameters {
            rto_initial: parameters.initial_rtt.max(parameters.rto_minimum),
            rto_minimum: parameters.rto_minimum,
            ..TimerParameters::RFC_6298
        };
        GaimdSender {
            rtt: RttEstimator::new(&timer),
            rate: 1.0 / parameters.initial_rtt.as_seconds(),
            origin: Time::NEVER,
            step_end: Time::NEVER,
            log: Log::default(),
            arrived: 0,
            reacted_before: 0,
            data_limited: false,
            marked: 0,
            lost: 0,
            spurious: 0,
            timeouts: 0,
            parameters,
            mss,
        }
    }

    fn round_trip(&self) -> Span {
        self.rtt.smoothed().unwrap_or(self.parameters.initial_rtt)
    }

    /// Reduces the rate, unless that happened after the packet was sent. The next growth step is
    /// one round trip later.
    fn react(&mut self, now: Time, sequence: u64) {
        if sequence < self.reacted_before {
            return;
        }
        self.reacted_before = self.log.next();
        self.rate = (self.rate * self.parameters.decrease).max(SLOWEST);
        self.step_end = now + self.round_trip();
    }

    /// Deems all unknown packets up to `sequence` lost.
    fn lose_up_to(&mut self, now: Time, sequence: u64) {
        for number in self.log.unknown()..=sequence {
            if self.log.lose(number) {
                self.lost += 1;
                self.react(now, number);
            }
        }
    }
}

impl RateControl for GaimdSender {
    fn start(&mut self, now: Time) {
        self.origin = now;
        self.step_end = now + self.round_trip();
    }

    fn on_sent(&mut self, now: Time, sent: &DatagramSent) {
        self.log.push(now + self.rtt.rto());
        self.data_limited = sent.data_limited;
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        if feedback.sequence >= self.log.next() {
            return; // feedback on a packet that was never sent
        }
        self.rtt.sample(feedback.rtt(now));
        for number in feedback.received.numbers(feedback.sequence) {
            self.spurious += u64::from(self.log.receive(number) == News::SpuriousLoss);
        }
        self.arrived = self.arrived.max(feedback.sequence + 1);
        if feedback.marked > self.marked {
            self.marked = feedback.marked;
            self.react(now, feedback.sequence);
        }
        // A packet is lost once a number higher by the threshold has arrived. With reordering,
        // fewer later packets than that may have arrived: RAP's own approximation.
        if let Some(before) = self
            .arrived
            .checked_sub(u64::from(self.parameters.duplicate_threshold) + 1)
        {
            self.lose_up_to(now, before);
        }
    }

    fn poll_timeout(&self) -> Time {
        let oldest = self.log.limit(self.log.unknown()).unwrap_or(Time::NEVER);
        self.step_end.min(oldest)
    }

    fn handle_timeout(&mut self, now: Time) {
        while self
            .log
            .limit(self.log.unknown())
            .is_some_and(|limit| limit <= now)
        {
            let number = self.log.unknown();
            self.timeouts += u64::from(number >= self.reacted_before);
            self.lose_up_to(now, number);
        }
        if self.step_end <= now {
            let rtt = self.round_trip();
            // The rate grows only if new packets arrive and the application uses the rate.
            if self.arrived > self.reacted_before && !self.data_limited {
                self.rate += self.parameters.increase / rtt.as_seconds();
            }
            self.step_end = now + rtt;
        }
    }

    fn clocking(&self) -> Clocking {
        Clocking {
            origin: self.origin,
            packets_per_s: self.rate,
        }
    }

    fn state(&self) -> RateState {
        RateState {
            rate: self.rate * self.mss.as_f64(),
            loss_event_rate: f64::NAN,
            mode: "aimd",
            lost: Some(self.lost),
            spurious_losses: Some(self.spurious),
            timeouts: self.timeouts,
            rtt: self.rtt.latest(),
            smoothed_rtt: self.rtt.smoothed(),
            timeout: Some(self.rtt.rto()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_control::Received;
    use crate::rate_control::testing::{Dialogue, Way};
    use serde_json::{Value, json};

    const RTT: f64 = 0.1;

    fn dialogue(tree: &Value, fate: fn(Time, u64) -> Way) -> Dialogue {
        Dialogue::new(tree, Span::from_millis(100), Span::ZERO, fate)
    }
    fn rates(dialogue: &Dialogue) -> Vec<f64> {
        let states = dialogue.states.iter();
        states.map(|(_, state)| state.rate / 1000.0).collect()
    }

    #[test]
    fn it_begins_with_a_packet_in_the_assumed_round_trip() {
        let tree = json!({ "kind": "rap", "initial_rtt": "250 ms" });
        let mut path = dialogue(&tree, |_, _| Way::Lost);
        assert_eq!(path.rate(), 4.0);
        path.run_until(0.2);
        assert_eq!(path.rate(), 4.0, "without news there is no growth");
    }

    #[test]
    fn it_grows_by_a_packet_per_round_trip_in_each() {
        for increase in [1.0, 0.31] {
            let tree = json!({ "kind": "rap", "increase": increase });
            let mut path = dialogue(&tree, |_, _| Way::Arrives);
            path.run_until(1.0);
            let (early, when) = (path.rate(), path.now.as_seconds());
            path.run_until(11.0);
            let expected = increase / RTT * (path.now.as_seconds() - when) / RTT;
            let grown = path.rate() - early;
            assert!(
                (grown - expected).abs() <= 1.01 * increase / RTT,
                "{grown}, {expected}"
            );
            for pair in rates(&path).windows(2) {
                assert!(
                    (pair[1] - pair[0] - increase / RTT).abs() < 1e-9,
                    "{pair:?}"
                );
            }
        }
    }

    /// Four packets in a row, and one slightly later: sent within a round-trip time, they cause one
    /// decrease.
    #[test]
    fn it_decreases_once_in_a_round_trip_whatever_is_lost_in_it() {
        fn fate(at: Time, _: u64) -> Way {
            let at = at.as_seconds();
            let lost = (5.0..5.02).contains(&at) || (5.06..5.08).contains(&at);
            if lost { Way::Lost } else { Way::Arrives }
        }
        for decrease in [0.5, 0.875] {
            let tree = json!({ "kind": "rap", "decrease": decrease });
            let mut path = dialogue(&tree, fate);
            path.run_until(8.0);
            let all = rates(&path);
            let falls: Vec<_> = all.windows(2).filter(|pair| pair[1] < pair[0]).collect();
            assert_eq!(falls.len(), 1, "{falls:?}");
            assert!((falls[0][1] / falls[0][0] - decrease).abs() < 1e-9);
            let state = path.sender.state();
            assert!(state.lost >= Some(10) && state.timeouts == 0, "{state:?}");
        }
    }

    /// RAP always has data. A rate that is not used reveals nothing about the path, and would take
    /// long to decrease.
    #[test]
    fn it_does_not_grow_while_the_application_limits_it() {
        let mut sender = GaimdSender::new(Rap::default(), Bytes(1000));
        sender.start(Time::ZERO);
        let mut rates = Vec::new();
        for sequence in 0..100 {
            let now = Time::ZERO + Span::from_millis(100) * sequence;
            sender.handle_timeout(now);
            let data_limited = sequence >= 50;
            let length = Bytes(1000);
            sender.on_sent(
                now,
                &DatagramSent {
                    sequence,
                    length,
                    data_limited,
                },
            );
            let feedback = Feedback {
                sequence,
                echo: now,
                received: Received { bits: 1, width: 1 },
                ..Feedback::default()
            };
            sender.on_feedback(now + Span::from_millis(99), &feedback);
            rates.push(sender.clocking().packets_per_s);
        }
        assert!(rates[49] > rates[1] + 40.0 / RTT, "{rates:?}");
        assert_eq!(rates[99], rates[50], "{rates:?}");
    }

    /// A sawtooth between w and w/2 packets per round trip loses one packet in 3/8 w² (Mathis
    /// 1997).
    #[test]
    fn its_saw_tooth_is_that_of_the_square_root_law() {
        fn fate(_: Time, sequence: u64) -> Way {
            if sequence % 400 == 399 {
                Way::Lost
            } else {
                Way::Arrives
            }
        }
        let mut path = dialogue(&json!({ "kind": "rap" }), fate);
        path.run_until(120.0);
        let expected = libm::sqrt(1.5 * 400.0) / RTT;
        let rate = path.count(20.0, 120.0) as f64 / 100.0;
        assert!((rate / expected - 1.0).abs() < 0.1, "{rate}, {expected}");
    }

    #[test]
    fn it_never_stops_asking_in_a_blackout() {
        fn fate(at: Time, _: u64) -> Way {
            let dark = (10.0..400.0).contains(&at.as_seconds());
            if dark { Way::Lost } else { Way::Arrives }
        }
        let mut path = dialogue(&json!({ "kind": "rap" }), fate);
        path.run_until(400.0);
        assert!((1.0 / 64.0..0.1).contains(&path.rate()), "{}", path.rate());
        path.run_until(480.0);
        assert!(path.rate() > 10.0, "{}", path.rate());
    }
}
