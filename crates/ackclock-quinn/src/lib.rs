//! Congestion controls of ackclock for connections of [quinn](https://docs.rs/quinn).
//!
//! ```
//! use ackclock_quinn::Control;
//! use std::sync::Arc;
//!
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(Control::named("westwood_abse")?));
//! # Ok::<(), ackclock_spec::error::Error>(())
//! ```
//!
//! Loss detection, probes and pacing stay those of quinn. It paces at 1.25 times the window per
//! smoothed round trip, whatever pace a control asks for. So a control that sets its own pace, as
//! BBR does, has only its window here.
//!
//! A control does not learn which packets were lost or how many were marked, and a loss is never
//! taken back. So controls that count marks are refused, and no reduction is undone.
//!
//! A window is kept in datagrams: when quinn has found a larger MTU, it is as many datagrams as
//! before.

use ackclock_core::congestion::facts::EcnUse;
use ackclock_core::congestion::{CongestionControl, ControlContext, ControlKind};
use ackclock_core::endpoint::parameters::EcnFeedback;
use ackclock_spec::error::{Code, Error, Result};
use ackclock_spec::files::{Files, NoFiles};
use ackclock_spec::registry::{Selection, StreamScope, choose};
use ackclock_spec::stated::Stated;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::Bytes;
use adapted::Adapted;
use quinn_proto::congestion::{Controller, ControllerFactory};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

mod adapted;
mod history;
#[cfg(test)]
mod tests;

/// Datagrams of the initial window (RFC 9002 section 7.2).
const INITIAL_WINDOW: u64 = 10;

/// Makes controls of one kind, with the same parameters.
#[derive(Clone, Debug)]
pub struct Control {
    chosen: Selection<ControlKind>,
    streams: Streams,
    /// Place whose streams its controls draw from.
    place: String,
    /// The first reason why a control could not go on.
    fault: Arc<Mutex<Option<String>>>,
}

impl Control {
    /// Returns the control with that name, with the parameters that a scenario has by default.
    ///
    /// # Errors
    /// There is no such control; and those of [`Control::chosen`].
    pub fn named(name: &str) -> Result<Self> {
        Control::read(&json!({ "kind": name }), &NoFiles)
    }

    /// Returns the control of a table as a scenario has it: `{ "kind": "cubic", "beta": 0.8 }`.
    ///
    /// # Errors
    /// A field is missing, unknown or invalid; and those of [`Control::chosen`].
    pub fn read(table: &Value, files: &dyn Files) -> Result<Self> {
        Control::chosen(choose(table, files)?)
    }

    /// Returns a control that has been read.
    ///
    /// # Errors
    /// It cannot run here, or it counts marks, which quinn does not report.
    pub fn chosen(chosen: Selection<ControlKind>) -> Result<Self> {
        if let Some(error) = chosen.refusal() {
            return Err(error);
        }
        if let Stated::Some(EcnUse { feedback, .. }) = chosen.facts.ecn
            && feedback != EcnFeedback::Classic
        {
            let remedy = "counts marks, which quinn does not report; choose another control";
            let error = Error::new("kind", &json!(chosen.name), remedy);
            return Err(error.coded(Code::Unsupported));
        }
        Ok(Control {
            chosen,
            streams: Streams::new(0, 0),
            place: String::new(),
            fault: Arc::default(),
        })
    }

    /// Lets its controls draw from the streams of a place. Otherwise all draw the same.
    #[must_use]
    pub fn drawing_from(mut self, place: StreamScope<'_>) -> Self {
        (self.streams, self.place) = (*place.streams, place.name.into());
        self
    }

    /// Returns the first reason why one of its controls, a program, could not go on. The control
    /// then keeps its window.
    pub fn fault(&self) -> Option<String> {
        self.lock().clone()
    }

    fn note_fault(&self, reason: String) {
        self.lock().get_or_insert(reason);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a control whose full segments have `mss` bytes.
    fn build(&self, mss: u64) -> Box<dyn CongestionControl> {
        self.chosen.build(ControlContext {
            place: StreamScope {
                streams: &self.streams,
                name: &self.place,
            },
            mss: Bytes(mss),
            initial_window: Bytes(INITIAL_WINDOW * mss),
            initial_ssthresh: None,
            ssthresh_in_whole_segments: false,
            paced: true,
            selective_acks: true,
            counts_marks: false,
            keeps_calls: false,
        })
    }
}

impl ControllerFactory for Control {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapted::new(self, now, current_mtu))
    }
}
