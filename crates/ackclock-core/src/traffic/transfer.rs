//! Transfer: one amount of data, written at once.

use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use crate::size::Size;
use ackclock_spec::prelude::*;
use serde_json::{Value, json};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "size": "20 kB" }))]
#[schemars(example = json!({
    "size": { "kind": "pareto", "mean": "20 kB", "shape": 1.2, "maximum": "10 MB" }
}))]
pub struct Transfer {
    /// Size of the payload: an amount, or a distribution from which each instance of the flow draws
    /// its own.
    #[schemars(schema_with = "crate::size::schema", extend("examples" = ["20 kB"]))]
    pub size: Value,
    #[serde(skip)]
    chosen: Option<Size>,
}

impl Element<TrafficKind> for Transfer {
    const NAME: &'static str = "transfer";
    const LABEL: &'static str = "transfer";
    const SUMMARY: &'static str = "Sends one file as fast as the transport allows, then ends; not \
        over UDP without a rate control.";
    const REFERENCE: &'static str = "flow completion time: Dukkipati, McKeown 2006, ACM CCR 36(1)";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.chosen = Some(Size::check("size", &mut self.size, files)?);
        Ok(())
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts {
            size_bytes: match self.chosen {
                Some(Size::Plain(size)) => Stated::Some(size.0),
                Some(Size::Law(_)) | None => Stated::None,
            },
            ..TrafficFacts::at_any_pace(false, true)
        }
    }
}

impl Factory<TrafficKind> for Transfer {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let Some(size) = &self.chosen else {
            unreachable!("the check reads the size");
        };
        let size = size.draw(&mut context.place.stream());
        Box::new(SingleWrite::of(Write::Bytes(size)))
    }

    fn draws(&self) -> bool {
        self.chosen.as_ref().is_some_and(Size::draws)
    }
}

/// A source that writes once, at its start.
#[derive(Debug)]
pub(super) struct SingleWrite {
    write: Write,
    written: bool,
}

impl SingleWrite {
    pub const fn of(write: Write) -> Self {
        SingleWrite {
            write,
            written: false,
        }
    }
}

impl Traffic for SingleWrite {
    fn transports(&self) -> Transports {
        Transports::Controlled
    }
    fn poll_timeout(&self) -> Time {
        if self.written {
            Time::NEVER
        } else {
            Time::ZERO
        }
    }
    fn poll_write(&mut self) -> Option<Write> {
        let first = !self.written;
        self.written = true;
        first.then_some(self.write)
    }
    fn total(&self) -> Option<Bytes> {
        match self.write {
            Write::Bytes(size) => Some(size),
            Write::Unlimited => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{TrafficContext, Write, tests};
    use ackclock_spec::registry::StreamScope;
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::Bytes;
    use serde_json::json;

    #[test]
    fn it_writes_its_size_once() {
        let mut transfer = tests::build(json!({ "kind": "transfer", "size": "3 MB" }));
        assert_eq!(transfer.total(), Some(Bytes(3_000_000)));
        assert_eq!(transfer.poll_write(), Some(Write::Bytes(Bytes(3_000_000))));
        assert!(transfer.poll_timeout().is_never() && transfer.poll_write().is_none());
    }

    #[test]
    fn each_instance_draws_a_size_of_its_own_and_keeps_it() {
        let law = json!({ "kind": "uniform", "low": "1 kB", "high": "1 MB" });
        let chosen = tests::choose(json!({ "kind": "transfer", "size": law })).unwrap();
        let size = |replicate, name| {
            let streams = Streams::new(1, replicate);
            let place = StreamScope {
                streams: &streams,
                name,
            };
            let mut transfer = chosen.build(TrafficContext {
                place,
                mss: tests::MSS,
            });
            let size = transfer.total().unwrap();
            assert_eq!(transfer.poll_write(), Some(Write::Bytes(size)));
            size
        };
        assert_eq!(size(0, "flow/a/0/traffic"), size(0, "flow/a/0/traffic"));
        assert_ne!(size(0, "flow/a/0/traffic"), size(0, "flow/a/1/traffic"));
        assert_ne!(size(0, "flow/a/0/traffic"), size(1, "flow/a/0/traffic"));
    }

    #[test]
    fn what_is_no_size_is_refused_where_it_stands() {
        let refused = |size| {
            let error = tests::choose(json!({ "kind": "transfer", "size": size })).unwrap_err();
            error.key()
        };
        assert_eq!(refused(json!("5")), "no-unit size");
        assert_eq!(
            refused(json!({ "kind": "unifrom" })),
            "unknown-name size.kind"
        );
        assert_eq!(
            refused(json!({ "kind": "uniform", "low": "2 kB", "high": "1 kB" })),
            "contradiction size.high"
        );
        let missing = tests::choose(json!({ "kind": "transfer" })).unwrap_err();
        assert_eq!(missing.key(), "missing size");
    }

    #[test]
    fn nothing_is_refused() {
        let error = tests::choose(json!({ "kind": "transfer", "size": "0 bytes" })).unwrap_err();
        assert_eq!(error.key(), "out-of-range size");
    }
}
