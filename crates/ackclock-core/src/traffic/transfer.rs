//! Transfer: one amount of data, handed over at once.

use super::{Suits, Traffic, TrafficContext, TrafficKind, Write};
use crate::registry::{Element, Recipe};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// How much payload.
    pub size: Bytes,
}

impl Element<TrafficKind> for Transfer {
    const NAME: &'static str = "transfer";
    const LABEL: &'static str = "transfer";
    const SUMMARY: &'static str = "Sends one file as fast as the transport takes it, then ends. TCP only.";
    const REFERENCE: &'static str = "flow completion time: Dukkipati, McKeown 2006, ACM CCR 36(1)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        if self.size == Bytes::ZERO {
            let remedy = "is nothing to transfer; write at least \"1 byte\"";
            return Err(Error::new("size", &json!(self.size), remedy));
        }
        Ok(())
    }
}

impl Recipe<TrafficKind> for Transfer {
    fn build(&self, _: TrafficContext<'_>) -> Box<dyn Traffic> {
        Box::new(TransferTraffic {
            size: self.size,
            written: false,
        })
    }
}

#[derive(Debug)]
struct TransferTraffic {
    size: Bytes,
    written: bool,
}

impl Traffic for TransferTraffic {
    fn suits(&self) -> Suits {
        Suits::Controlled
    }
    fn poll_timeout(&self) -> Time {
        if self.written { Time::NEVER } else { Time::ZERO }
    }
    fn poll_write(&mut self) -> Option<Write> {
        let first = !self.written;
        self.written = true;
        first.then_some(Write::Bytes(self.size))
    }
    fn total(&self) -> Option<Bytes> {
        Some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{Write, tests};
    use crate::units::Bytes;
    use serde_json::json;

    #[test]
    fn it_writes_its_size_once() {
        let mut transfer = tests::build(json!({ "kind": "transfer", "size": "3 MB" }));
        assert_eq!(transfer.total(), Some(Bytes(3_000_000)));
        assert_eq!(transfer.poll_write(), Some(Write::Bytes(Bytes(3_000_000))));
        assert!(transfer.poll_timeout().is_never() && transfer.poll_write().is_none());
    }

    #[test]
    fn nothing_is_refused() {
        let error = tests::choose(json!({ "kind": "transfer", "size": "0 bytes" })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "size: \"0 bytes\" is nothing to transfer; write at least \"1 byte\""
        );
    }
}
