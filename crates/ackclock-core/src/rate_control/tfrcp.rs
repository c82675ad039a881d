//! TFRCP: the rate of a round is what PFTK says a TCP would send at the share of packets lost in
//! the round before, or twice as much if none was.
//!
//! Padhye, Kurose, Towsley and Koodli, "A Model Based TCP-Friendly Rate Control Protocol", NOSSDAV
//! 1999. What its text leaves open is decided where it is done: the sender (`tfrcp/sender.rs`) and
//! the choice of rounds (`tfrcp/rounds.rs`).

use super::acknowledging::Acknowledging;
use super::facts::{EquationFacts, EquationLoss, EquationTimeout, RateControlFacts};
use super::{Halves, RateContext, RateControlKind, check};
use crate::registry::{Element, Factory};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::scenario::quantity::{OptionalWindow, PacketRate};
use crate::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

mod rounds;
mod sender;

use rounds::SHORTEST;
use sender::TfrcpSender;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tfrcp {
    /// How long rounds are.
    pub strategy: Strategy,
    /// M: the length of each round, for `constant`; 2 s if not given, the shortest of the paper's:
    /// the longer, the later it follows what competes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Span>,
    /// K: the length of a round in round-trip times, as smoothed when it begins, for `round_trips`;
    /// 10 if not given. The first round is measured by the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<f64>,
    /// c: the length of the shortest round, for `random`; 1.5 s if not given, as in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_minimum: Option<Span>,
    /// d: how much longer rounds may be, uniformly from zero on, for `random`; 3 s if not given, as
    /// in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_spread: Option<Span>,
    /// r0: the rate of the first round. A guess: the paper's number is lost, and it says that long
    /// flows do not care.
    pub initial_rate: PacketRate,
    /// b of the equation: packets that one ACK of the competing TCP acknowledges; 2 where it delays
    /// ACKs.
    pub packets_per_ack: f64,
    /// Wmax of the equation: the receiver's window.
    pub receive_window: OptionalWindow,
    /// What bounds the growth from round to round, whether for want of losses or by the equation.
    pub growth_limit: GrowthLimit,
    /// Which round-trip times enter the estimate.
    pub rtt_samples: RttSamples,
    /// The timeout before the first sample: that of TCP when the paper was written (RFC 1122).
    pub rto_initial: Span,
    /// The smallest timeout: that of the competing TCP, 200 ms where it is Linux.
    pub rto_minimum: Span,
    /// Bits of the receiver's vector.
    #[schemars(range(min = 1, max = 64))]
    pub vector: u8,
}

/// How the length of a round is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All rounds are equally long (S1).
    #[default]
    Constant,
    /// A number of round-trip times (S2).
    RoundTrips,
    /// Drawn anew for each round (S3).
    Random,
}

/// What bounds the growth of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrowthLimit {
    /// Twice the rate at which packets were acknowledged in the last round. Not in the paper, but
    /// in TFRC: what has not been seen to arrive is no ground for more.
    #[default]
    Acknowledged,
    /// Nothing but the window and the application, as published.
    None,
}

/// Which round-trip times enter the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSamples {
    /// That of every packet acknowledged: TCP with timestamps. The more packets, the sooner the
    /// variance forgets.
    #[default]
    EveryAck,
    /// One in each round-trip time: TCP without timestamps.
    OncePerRtt,
}

impl Default for Tfrcp {
    fn default() -> Self {
        Tfrcp {
            strategy: Strategy::Constant,
            round: None,
            round_trips: None,
            round_minimum: None,
            round_spread: None,
            initial_rate: PacketRate(40.0),
            packets_per_ack: 1.0,
            receive_window: OptionalWindow::Unlimited,
            growth_limit: GrowthLimit::Acknowledged,
            rtt_samples: RttSamples::EveryAck,
            rto_initial: Span::from_millis(3000),
            rto_minimum: Span::from_millis(1000),
            vector: 8,
        }
    }
}

impl Element<RateControlKind> for Tfrcp {
    const NAME: &'static str = "tfrcp";
    const LABEL: &'static str = "TFRCP";
    const SUMMARY: &'static str = "Sends in rounds of seconds, at the rate PFTK gives for the previous round's loss, or at twice the rate without loss.";
    const REFERENCE: &'static str = "Padhye, Kurose, Towsley, Koodli 1999, NOSSDAV";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        self.check_rounds()?;
        if self.initial_rate.0 == 0.0 {
            let remedy = "is too low; for example \"40 packets/s\"";
            return check::refuse("initial_rate", self.initial_rate, remedy);
        }
        if !(self.packets_per_ack >= 1.0 && self.packets_per_ack.is_finite()) {
            let remedy = "is out of range; choose 1, or 2 for delayed ACKs";
            return check::refuse("packets_per_ack", self.packets_per_ack, remedy);
        }
        if self.receive_window.bytes(Bytes(1)) == Some(Bytes::ZERO) {
            let remedy = "is too small; for example \"20 packets\" or \"unlimited\"";
            return check::refuse("receive_window", self.receive_window, remedy);
        }
        check::time("rto_initial", self.rto_initial, "3 s")?;
        check::time("rto_minimum", self.rto_minimum, "1 s")?;
        check::vector(self.vector)
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
    /// Refuses what belongs to another strategy, and fills in the strategy's own defaults.
    fn check_rounds(&mut self) -> Result<()> {
        let given = [
            ("round", Strategy::Constant, json!(self.round)),
            ("round_trips", Strategy::RoundTrips, json!(self.round_trips)),
            ("round_minimum", Strategy::Random, json!(self.round_minimum)),
            ("round_spread", Strategy::Random, json!(self.round_spread)),
        ];
        for (field, strategy, value) in given {
            if strategy != self.strategy && !value.is_null() {
                let remedy = format!(
                    "does not apply to this strategy; remove it, or set strategy = {}",
                    json!(strategy)
                );
                return Err(Error::contradiction(field, &value, &remedy));
            }
        }
        match self.strategy {
            Strategy::Constant => {
                let round = *self.round.get_or_insert(Span::from_millis(2000));
                if round < SHORTEST {
                    let remedy = "is too short for a round; for example \"2 s\"";
                    return check::refuse("round", round, remedy);
                }
            }
            Strategy::RoundTrips => {
                let number = *self.round_trips.get_or_insert(10.0);
                if !(number > 0.0 && number.is_finite()) {
                    return check::refuse("round_trips", number, "is not positive; for example 10");
                }
            }
            Strategy::Random => {
                let minimum = *self.round_minimum.get_or_insert(Span::from_millis(1500));
                self.round_spread.get_or_insert(Span::from_millis(3000));
                if minimum < SHORTEST {
                    let remedy = "is too short for a round; for example \"1.5 s\"";
                    return check::refuse("round_minimum", minimum, remedy);
                }
            }
        }
        Ok(())
    }
}

impl Factory<RateControlKind> for Tfrcp {
    fn build(&self, context: RateContext<'_>) -> Halves {
        Halves {
            sender: Box::new(TfrcpSender::new(self, &context)),
            receiver: Box::new(Acknowledging::new(self.vector)),
        }
    }
}

#[cfg(test)]
mod tests;
