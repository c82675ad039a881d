//! TCP Friendly Rate Control (RFC 5348).
//!
//! The files follow the sections of the RFC. The sender is section 4, the loss history 5.1 and 5.2.
//! Loss intervals are 5.3 to 5.5, the receiver section 6, and the sender-based variant section 7.
//! `docs/notes/tfrc-rfc5348.md` reviews its requirements. The small-packet variant (RFC 4828) is
//! not implemented.

use super::acknowledging::{Acknowledging, MOST};
use super::equation::tfrc::{Equation, TimeoutRule};
use super::facts::{EquationFacts, EquationLoss, EquationTimeout, RateControlFacts};
use super::{Halves, RateContext, RateControlKind, check};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::OptionalWindow;
use loss_intervals::Weighing;

mod limited;
mod loss_history;
mod loss_intervals;
mod measuring;
mod receive_rate;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

parameters! {
    /// Parameters.
    #[derive(PartialEq)]
    pub struct Tfrc {
        /// Side that keeps the loss history.
        pub loss_measured_by: LossMeasured = LossMeasured::Receiver,
        /// b of the equation: packets that one ACK of the equation's TCP acknowledges.
        pub b: f64 = 1.0,
        /// t_RTO of the equation: retransmission timeout of the equation's TCP.
        pub t_rto: TimeoutRule = TimeoutRule::FourRtt,
        /// NDUPACK: number of later packets that must arrive before a missing one is deemed lost.
        #[schemars(range(min = 1, max = 63))]
        pub duplicate_threshold: u8 = 3,
        /// n: number of loss intervals in the mean. The RFC warns against more than 8 in
        /// competition with TCP.
        #[schemars(range(min = 1, max = 64))]
        pub intervals: u8 = 8,
        /// True if older intervals weigh less once the current one is more than twice as long as
        /// their mean (section 5.5).
        pub discounting: bool = true, // optional in the RFC
        /// THRESHOLD: smallest share of their weight that discounting leaves older intervals.
        pub discount_floor: f64 = 0.25,
        /// True if the rate falls as the round-trip time rises above its mean (section 4.5).
        pub damping: bool = true,
        /// q and q2: share of the mean round-trip time, and of the mean of its square root, that
        /// remains after a sample.
        pub rtt_filter: f64 = 0.9,
        /// W_init: data that may be sent in the first measured round trip. By default that of RFC
        /// 3390, two to four segments.
        pub initial_window: Option<Bytes> = None,
        /// s: source of the segment size.
        pub segment_size: SegmentSize = SegmentSize::Mss,
    }
}

/// The side that keeps the loss history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossMeasured {
    /// The receiver, which reports about once per round-trip time (RFC 5348 section 6).
    Receiver,
    /// The sender, from acknowledgements of each packet with 64-bit vectors (section 7).
    Sender,
}

/// Source of the segment size (RFC 5348 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentSize {
    /// The largest payload.
    Mss,
    /// The mean payload of about the last four loss intervals.
    Mean,
}

impl Tfrc {
    const fn equation(&self) -> Equation {
        Equation {
            b: self.b,
            timeout: self.t_rto,
        }
    }

    const fn weighing(&self) -> Weighing {
        Weighing {
            intervals: self.intervals as usize,
            discount_floor: if self.discounting {
                self.discount_floor
            } else {
                1.0
            },
        }
    }
}

impl Element<RateControlKind> for Tfrc {
    const NAME: &'static str = "tfrc";
    const LABEL: &'static str = "TFRC";
    const SUMMARY: &'static str = "Follows TCP's throughput equation with the average of the last \
        loss intervals: smoother and slower than TCP.";
    const REFERENCE: &'static str = "RFC 5348";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_between("b", self.b, 1.0..=1000.0, "1"),
            check::duplicate_threshold(self.duplicate_threshold),
            check_between("intervals", self.intervals, 1..=64, "8"),
            check_weight("discount_floor", self.discount_floor, "0.25"),
            in_range(
                (0.0..1.0).contains(&self.rtt_filter),
                "rtt_filter",
                &self.rtt_filter,
                "is not between 0 and 1 (excluded); for example 0.9",
            ),
            check_above_zero("initial_window", self.initial_window, "4380 bytes"),
        ])
    }

    fn facts(&self) -> RateControlFacts {
        RateControlFacts::by_equation(EquationFacts {
            loss: EquationLoss::LossIntervals,
            packets_per_ack: self.b,
            receive_window: OptionalWindow::Unlimited,
            timeout: EquationTimeout {
                round_trips: 4.0,
                minimum_s: match self.t_rto {
                    TimeoutRule::FourRtt => 0.0,
                    TimeoutRule::FourRttOrASecond => 1.0,
                },
            },
        })
    }
}

impl Factory<RateControlKind> for Tfrc {
    fn build(&self, context: RateContext<'_>) -> Halves {
        let sender = Box::new(sender::TfrcSender::new(self.clone(), context.mss));
        match self.loss_measured_by {
            LossMeasured::Receiver => Halves {
                sender,
                receiver: Box::new(receiver::TfrcReceiver::new(self)),
            },
            LossMeasured::Sender => Halves {
                sender,
                receiver: Box::new(Acknowledging::new(MOST)),
            },
        }
    }
}
