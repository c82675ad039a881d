use ackclock_core::congestion::facts::{ControlFacts, GrowthLaw, KeptShare};
use ackclock_core::congestion::*;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters.
    pub struct Gentle {
        /// Share of the window that is kept after a loss or a mark.
        pub kept: f64 = 0.75,
    }
}

impl Element<ControlKind> for Gentle {
    const NAME: &'static str = "gentle";
    const LABEL: &'static str = "gentle decrease";
    const SUMMARY: &'static str = "Adds a segment per round trip, gives up a quarter at a loss.";
    const REFERENCE: &'static str = "the worked example of CONTRIBUTING.md";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        check_factor("kept", self.kept, "0.75")
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::linear(1.0)),
            ..ControlFacts::loss_based(KeptShare::Constant { share: self.kept })
        }
    }
}

impl Factory<ControlKind> for Gentle {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let mss = context.mss.as_f64();
        let cwnd = context.initial_window.as_f64().max(mss);
        let kept = self.kept;
        Box::new(GentleControl { mss, kept, cwnd })
    }
}

#[derive(Debug)]
struct GentleControl {
    mss: f64, // bytes
    kept: f64,
    cwnd: f64, // bytes
}

impl CongestionControl for GentleControl {
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        self.cwnd += self.mss * (ack.credit.as_f64() / self.cwnd).min(1.0);
    }
    fn on_congestion(&mut self, _now: Time, congestion: &Congestion) {
        let cwnd = match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => self.kept * self.cwnd,
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => self.mss,
            CongestionKind::SpuriousLoss => self.cwnd / self.kept,
        };
        self.cwnd = cwnd.max(self.mss);
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
            mode: "congestion_avoidance",
            ..ControlState::default()
        }
    }
}
