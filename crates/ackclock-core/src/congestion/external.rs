//! A control that a program outside steers while the run goes on: a learner in `ackclock.gym`.

use super::facts::ControlFacts;
use super::steered::Steered;
use super::{CongestionControl, ControlContext, ControlKind};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters: it has none. It begins with the transport's initial window. Its window holds
    /// during recovery and after timeouts until an order changes it.
    pub struct External {}
}

impl Element<ControlKind> for External {
    const NAME: &'static str = "external";
    const LABEL: &'static str = "external";
    const SUMMARY: &'static str =
        "Obeys a program that observes the sender and orders window and rate, by ackclock.gym.";
    const REFERENCE: &'static str = "none";

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: None,
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Factory<ControlKind> for External {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(Steered::new(&context, [].into()))
    }

    fn refusal(&self) -> Option<Error> {
        let remedy = "needs a program that steers it; use ackclock.gym, or replay recorded \
            actions with { kind = \"scripted\", file = \"actions.csv\" }";
        Some(Error::new("kind", &Self::NAME.into(), remedy).coded(Code::Unsupported))
    }
}
