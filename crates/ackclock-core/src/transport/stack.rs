//! Implementations of transports that come from outside of the engine and run in it as they are.

use super::EndpointContext;
use super::endpoint::Endpoint;
use super::quic::Quic;
use crate::congestion::ControlKind;
use ackclock_spec::error::{Code, Error, Result};
use ackclock_spec::registry::Selection;
use serde_json::json;
use std::fmt::Debug;
use std::io::Write;

/// An implementation of a transport. [`Files::stack`](ackclock_spec::files::Files::stack) returns
/// an `Arc<dyn Stack>`.
pub trait Stack: Debug + Send + Sync {
    /// Returns its name and version.
    fn version(&self) -> String;
    /// Returns the names of its own congestion controls.
    fn controls(&self) -> Vec<&str>;
    /// Refuses a control of the engine that cannot run inside it; none can, unless it says so.
    ///
    /// # Errors
    /// The reason, relative to the control.
    fn check_control(&self, control: &Selection<ControlKind>) -> Result<()> {
        let remedy = format!(
            "is a control of TCP, which this transport cannot take in; choose {}",
            self.controls().join(" or ")
        );
        let error = Error::new("", &json!(control.name), &remedy);
        Err(error.coded(Code::Unsupported))
    }
    /// Returns the bytes of memory that both sides of a connection take at least.
    fn connection_bytes(&self) -> usize;
    /// Returns the reason why it cannot make a connection with these parameters, in one line.
    fn refusal(&self, quic: &Quic) -> Option<String>;
    /// True if it writes qlog files.
    fn writes_qlog(&self) -> bool {
        false
    }
    /// Makes both sides of a connection, the sender first. They draw from streams of the place
    /// alone.
    fn connect(&self, quic: &Quic, context: EndpointContext<'_>) -> [Box<dyn Endpoint>; 2];
}

/// Files that a stack writes about its connections: qlog
/// (draft-ietf-quic-qlog-main-schema).
pub trait Logs: Debug + Sync {
    /// Opens the file of one side of a flow instance (`flow/main/0/sender`). If it cannot be
    /// written, returns `None`, and whoever reads the result learns why.
    fn open(&self, side: &str) -> Option<Box<dyn Write + Send + Sync>>;
}
