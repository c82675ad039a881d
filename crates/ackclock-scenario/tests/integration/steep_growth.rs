//! A control that grows faster than any registered one. The laws of controls must not refuse it.

use ackclock_core::congestion::facts::{ControlFacts, KeptShare};
use ackclock_core::congestion::*;
use ackclock_spec::registry::{Element, Factory};
use ackclock_spec::units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Round-trip time at which it grows as Reno does, in seconds.
const REFERENCE_RTT_S: f64 = 0.025;
/// Largest ratio of a round-trip time to that.
const LARGEST_RATIO: f64 = 16.0;
/// Largest window, in bytes.
const LARGEST: f64 = 1e15;

/// Hybla without its slow start: the growth per round trip is the square of the ratio of the
/// round-trip time to 25 ms.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Steep {}

impl Element<ControlKind> for Steep {
    const NAME: &'static str = "steep";
    const LABEL: &'static str = "steep growth";
    const SUMMARY: &'static str = "Grows by the square of the round-trip time.";
    const REFERENCE: &'static str = "Caini and Firrincieli (2004), TCP Hybla, equation 5";

    fn facts(&self) -> ControlFacts {
        let kept = Some(KeptShare::Constant { share: 0.5 });
        ControlFacts {
            kept_after_loss: kept,
            kept_after_mark: kept,
            reacts_to_loss: Some(true),
            ..ControlFacts::default()
        }
    }
}

impl Factory<ControlKind> for Steep {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let mss = context.mss.as_f64();
        let cwnd = context.initial_window.as_f64().max(mss);
        let ssthresh = context.initial_ssthresh.map_or(LARGEST, Bytes::as_f64);
        let before = cwnd;
        Box::new(SteepControl {
            mss,
            cwnd,
            ssthresh,
            before,
        })
    }
}

#[derive(Debug)]
struct SteepControl {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    /// The window before the last reduction.
    before: f64,
}

impl CongestionControl for SteepControl {
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        let credit = ack.credit.as_f64();
        let rtt = ack.smoothed_rtt.map_or(0.0, Span::as_seconds);
        let ratio = (rtt / REFERENCE_RTT_S).clamp(1.0, LARGEST_RATIO);
        self.cwnd += if self.cwnd < self.ssthresh {
            credit
        } else {
            ratio * ratio * self.mss * (credit / self.cwnd).min(1.0)
        };
        self.cwnd = self.cwnd.min(LARGEST);
    }

    fn on_congestion(&mut self, _now: Time, congestion: &Congestion) {
        if congestion.kind == CongestionKind::SpuriousLoss {
            self.cwnd = self.cwnd.max(self.before);
            return;
        }
        self.before = self.cwnd;
        self.ssthresh = (self.cwnd / 2.0).max(self.mss);
        self.cwnd = match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => self.ssthresh,
            _ => self.mss,
        };
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        if let Event::IdleRestart { limit } = event {
            self.cwnd = self.cwnd.min(limit.as_f64()).max(self.mss);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: Some(Bytes(self.ssthresh as u64)),
            mode: "steep",
            rate_estimate: None,
        }
    }
}
