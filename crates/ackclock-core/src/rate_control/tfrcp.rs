//! TFRCP: PFTK sets the rate of a round from the share of packets lost in the previous round. The
//! rate doubles if none was lost.
//!
//! Padhye, Kurose, Towsley and Koodli, "A Model Based TCP-Friendly Rate Control Protocol", NOSSDAV
//! 1999. The text leaves some choices open. They are explained in the code of the sender
//! (`tfrcp/sender.rs`) and of the rounds (`tfrcp/rounds.rs`).

use super::acknowledging::Acknowledging;
use super::facts::{EquationFacts, EquationLoss, EquationTimeout, RateControlFacts};
use super::{Halves, RateContext, RateControlKind, check};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::{OptionalWindow, PacketRate};
use serde_json::json;

mod rounds;
mod sender;

use rounds::SHORTEST;
use sender::TfrcpSender;

parameters! {
    /// Parameters.
    #[derive(PartialEq)]
    pub struct Tfrcp {
        /// Rule for the length of a round.
        pub strategy: Strategy = Strategy::Constant,
        /// M: length of each round, for `constant`. By default 2 s, the shortest in the paper:
        /// longer rounds follow competing traffic later.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub round: Option<Span> = None,
        /// K: length of a round in smoothed round-trip times at its start, for `round_trips`; 10 by
        /// default. The first round waits for the first sample.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub round_trips: Option<f64> = None,
        /// c: length of the shortest round, for `random`; 1.5 s by default, as in the paper.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub round_minimum: Option<Span> = None,
        /// d: largest random addition to the length of a round (uniform from zero), for `random`; 3
        /// s by default, as in the paper.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub round_spread: Option<Span> = None,
        /// r0: rate of the first round. The default is a guess: the paper's value is lost, and it
        /// says that long flows are insensitive to it.
        pub initial_rate: PacketRate = PacketRate(40.0),
        /// b of the equation: packets that one ACK of the competing TCP acknowledges; 2 if it
        /// delays ACKs.
        pub packets_per_ack: f64 = 1.0,
        /// Wmax of the equation: receive window of the competing TCP.
        pub receive_window: OptionalWindow = OptionalWindow::Unlimited,
        /// Limit on the growth from round to round, after a round without loss and by the equation.
        pub growth_limit: GrowthLimit = GrowthLimit::Acknowledged,
        /// Round-trip times used for the estimate.
        pub rtt_samples: RttSamples = RttSamples::EveryAck,
        /// Timeout before the first sample; by default that of TCP when the paper was written (RFC
        /// 1122).
        pub rto_initial: Span = Span::from_millis(3000),
        /// Minimum timeout: that of the competing TCP, 200 ms for Linux.
        pub rto_minimum: Span = Span::from_millis(1000),
        /// Number of bits of the receiver's vector.
        #[schemars(range(min = 1, max = 64))]
        pub vector: u8 = 8,
    }
}

/// Rule for the length of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All rounds have the same length (S1).
    #[default]
    Constant,
    /// A multiple of the round-trip time (S2).
    RoundTrips,
    /// Random for each round (S3).
    Random,
}

/// Limit on the growth of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrowthLimit {
    /// Twice the acknowledged rate of the last round. This is from TFRC, not from the paper: only
    /// arrivals justify a higher rate.
    #[default]
    Acknowledged,
    /// Only the window and the application, as published.
    None,
}

/// Round-trip times used for the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSamples {
    /// One per acknowledged packet, as TCP with timestamps. With more packets, the variance decays
    /// sooner.
    #[default]
    EveryAck,
    /// One per round-trip time, as TCP without timestamps.
    OncePerRtt,
}

impl Element<RateControlKind> for Tfrcp {
    const NAME: &'static str = "tfrcp";
    const LABEL: &'static str = "TFRCP";
    const SUMMARY: &'static str = "Sends in rounds of seconds, at the rate PFTK gives for the \
        previous round's loss, or at twice the rate without loss.";
    const REFERENCE: &'static str = "Padhye, Kurose, Towsley, Koodli 1999, NOSSDAV";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let acks = self.packets_per_ack;
        every([
            self.check_rounds(),
            check_above_zero("initial_rate", self.initial_rate, "40 packets/s"),
            in_range(
                acks >= 1.0 && acks.is_finite(),
                "packets_per_ack",
                &acks,
                "is out of range; choose 1, or 2 for delayed ACKs",
            ),
            in_range(
                self.receive_window.bytes(Bytes(1)) != Some(Bytes::ZERO),
                "receive_window",
                &self.receive_window,
                "is too small; for example \"20 packets\" or \"unlimited\"",
            ),
            check::time("rto_initial", self.rto_initial, "3 s"),
            check::time("rto_minimum", self.rto_minimum, "1 s"),
            check::vector(self.vector),
        ])
    }

    fn facts(&self) -> RateControlFacts {
        RateControlFacts::by_equation(EquationFacts {
            loss: EquationLoss::LastRound,
            packets_per_ack: self.packets_per_ack,
            receive_window: self.receive_window,
            timeout: EquationTimeout {
                round_trips: 1.0,
                minimum_s: self.rto_minimum.as_seconds(),
            },
        })
    }
}

impl Tfrcp {
    /// Rejects fields of another strategy, and fills in the defaults of this one.
    fn check_rounds(&mut self) -> Result<()> {
        let of_strategies = [
            ("round", Strategy::Constant, json!(self.round)),
            ("round_trips", Strategy::RoundTrips, json!(self.round_trips)),
            ("round_minimum", Strategy::Random, json!(self.round_minimum)),
            ("round_spread", Strategy::Random, json!(self.round_spread)),
        ];
        let of_others = of_strategies.map(|(field, strategy, value)| {
            let applies = strategy == self.strategy || value.is_null();
            let remedy = format!(
                "does not apply to this strategy; remove it, or set strategy = {}",
                json!(strategy)
            );
            consistent(applies, field, &value, &["strategy"], &remedy)
        });
        let own = match self.strategy {
            Strategy::Constant => {
                let round = *self.round.get_or_insert(Span::from_millis(2000));
                let remedy = "is too short for a round; for example \"2 s\"";
                in_range(round >= SHORTEST, "round", &round, remedy)
            }
            Strategy::RoundTrips => {
                let number = *self.round_trips.get_or_insert(10.0);
                check_positive("round_trips", number, "10")
            }
            Strategy::Random => {
                let minimum = *self.round_minimum.get_or_insert(Span::from_millis(1500));
                self.round_spread.get_or_insert(Span::from_millis(3000));
                let remedy = "is too short for a round; for example \"1.5 s\"";
                in_range(minimum >= SHORTEST, "round_minimum", &minimum, remedy)
            }
        };
        every(of_others.into_iter().chain([own]))
    }
}

impl Factory<RateControlKind> for Tfrcp {
    fn build(&self, context: RateContext<'_>) -> Halves {
        Halves {
            sender: Box::new(TfrcpSender::new(self, &context)),
            receiver: Box::new(Acknowledging::new(self.vector)),
        }
    }

    fn draws(&self) -> bool {
        self.strategy == Strategy::Random
    }
}

#[cfg(test)]
mod tests;
