//! The scenario as it is written. The structs here are the fields of the file, their doc comments
//! its reference, and their derived JSON schema is what editors and the Python side check against.
//!
//! Elements (links, queues, …) stay trees here; their registries read them.

use super::lab::LabDocument;
use super::{Scope, Vary};
use ackclock_core::arrivals::Arrivals;
use ackclock_core::link::LinkKind;
use ackclock_core::packet::Dscp;
use ackclock_core::queue::QueueKind;
use ackclock_core::traffic::TrafficKind;
use ackclock_core::transport::TransportKind;
use ackclock_spec::error::{Code, Error, Result};
use ackclock_spec::limits::GROUPS;
use ackclock_spec::parse;
use ackclock_spec::quantity::Range;
use ackclock_spec::schema::one_of;
use ackclock_spec::units::{Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Version of the format that this crate reads and writes.
pub(super) const VERSION: u32 = 1;

/// Default number of replicates: enough for a confidence interval.
const REPLICATES: u32 = 5;

/// A network path and its traffic.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "ackclock scenario")]
pub(super) struct Document {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1), extend("examples" = [1]))]
    pub schema: u32,
    /// Name for titles and folders.
    #[serde(default = "unnamed")]
    pub name: String,
    /// The question that the scenario answers, as the heading of its pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("examples" = ["How much of the link does CUBIC use?"]))]
    pub question: Option<String>,
    /// Length of the run.
    #[schemars(extend("examples" = ["100 s"]))]
    pub duration: Span,
    /// Time from which on means are taken; shorter than the duration.
    #[serde(default)]
    pub warmup: Span,
    /// Root of all random numbers: a whole number from 0 to 2^64 - 1. Written as text where numbers
    /// have only 53 bits.
    #[serde(default)]
    pub seed: Seed,
    /// Number of runs of each point, each with its own random numbers.
    #[serde(default = "replicates")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub replicates: u32,
    /// Differences of the second and later replicates besides their random numbers. With `phase`,
    /// each flow starts later by up to its base round-trip time, and each hop's delay is longer by
    /// up to the time in which its link sends a packet. By default `phase` if nothing in the
    /// scenario draws random numbers, otherwise `nothing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vary")]
    pub vary: Option<Vary>,
    /// Spacing of the time series. By default a thousandth of the duration. With more than 1000
    /// flows it is longer, so that all flows together have at most a million samples, but at most a
    /// tenth of the duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["100 ms"]))]
    pub sample_interval: Option<Span>,
    /// Media for which hops contend: a hop whose link is a contender names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::schema::media")]
    pub shared_media: Vec<Value>,
    /// The hops. A packet passes through the impairments before the queue, the queue, the link, the
    /// impairments after the link, and the propagation delay.
    #[serde(default)]
    #[schemars(with = "Vec<HopDocument>")]
    pub hops: Vec<Value>,
    /// The flow groups.
    #[serde(default)]
    #[schemars(with = "Vec<FlowDocument>")]
    pub flows: Vec<Value>,
    /// Quantities by name, for expressions in other fields: `limit = "0.5 * rate * rtt"`. A value
    /// may be an expression of others. Names have letters, digits and `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "values")]
    pub values: Option<Value>,
    /// The grid of the sweep. Each key is a path into this document ("hops.wireless.delay") with
    /// the list of its values. Every combination is a point; the first path varies slowest. Paths
    /// joined by a comma vary together: each of their values is a list with one value for each
    /// path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "sweep")]
    pub sweep: Option<Value>,
    /// The page of `ackclock lab`. It changes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LabDocument")]
    pub lab: Option<LabDocument>,
}

/// One hop.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Hop")]
pub(super) struct HopDocument {
    /// Unique name; not a number, and without `.`, `/`, `,` and `=`. It seeds the random numbers of
    /// the hop, so another name means other numbers.
    #[schemars(extend("examples" = ["bottleneck"]))]
    pub name: String,
    /// Sharing of the hop: by all flows, or one hop for each flow instance (an access link).
    #[serde(default)]
    pub scope: Scope,
    /// Service process.
    #[schemars(
        schema_with = "one_of::<LinkKind>",
        extend("examples" = [{ "kind": "constant", "rate": "45 Mbit/s" }])
    )]
    pub link: Value,
    /// Queue in front of the link.
    #[schemars(
        schema_with = "one_of::<QueueKind>",
        extend("examples" = [{ "kind": "droptail", "limit": "93 packets" }])
    )]
    pub queue: Value,
    /// Propagation delay, after the link.
    #[serde(default)]
    pub delay: Span,
    /// Loss, jitter and other impairments, in the order in which packets meet them.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::impairments")]
    pub impairments: Vec<Value>,
    /// True if the queueing delay of each packet is recorded, in the table `delays`: histograms by
    /// flow and by class of the queue. For shared hops with links of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packet_delays: bool,
}

/// A group of flows with the same parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Flow")]
pub(super) struct FlowDocument {
    /// Unique name; not a number, and without `.`, `/`, `,` and `=`. By default "flow-1", "flow-2",
    /// … by position. It seeds the random numbers of the instances, so another name means other
    /// numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// Number of instances; 1, unless there are `arrivals`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 10_000_000), extend("default" = 1))]
    pub count: Option<u32>,
    /// Instances that arrive one after the other, from `start` until `stop`; instead of a `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Arrivals")]
    pub arrivals: Option<Arrivals>,
    /// Names of the hops on the data's route, in order; the same hop may appear twice.
    #[schemars(length(min = 1, max = 255), extend("examples" = [["bottleneck"]]))]
    pub route: Vec<String>,
    /// Names of the hops on the ACKs' route. UDP needs none.
    #[serde(default, rename = "return")]
    #[schemars(length(max = 255), extend("examples" = [["return"]]))]
    pub return_route: Vec<String>,
    /// Transport protocol.
    #[schemars(
        schema_with = "one_of::<TransportKind>",
        extend("examples" = [{ "kind": "tcp", "control": { "kind": "cubic" } }])
    )]
    pub transport: Value,
    /// Source of the data.
    #[serde(default = "bulk")]
    #[schemars(schema_with = "one_of::<TrafficKind>")]
    pub traffic: Value,
    /// Start of the instances: a time, or two times between which each instance draws its own. With
    /// `arrivals`, start of the arrivals: a time, or two times between which one is drawn.
    #[serde(default)]
    pub start: Range,
    /// Time at which instances stop sending; there are no arrivals after it.
    #[serde(default)]
    pub stop: Stop,
    /// One-way delay of each instance before its first hop: a time, or two times between which
    /// instances are spread evenly. Instances that arrive draw their own between the two.
    #[serde(default)]
    pub access_delay: Range,
    /// True if simulations write the state of the congestion control to the table `control_states`:
    /// a row per ACK and per change. TCP only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_states: bool,
    /// True if simulations write each call of a control's program to the table `control_calls`.
    /// Only for a control of kind `kernel` by `shipped` or `file`; emulations record its calls
    /// always.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_calls: bool,
    /// Name of the host that sends the data; flows with the same name share it. By default each
    /// instance has its own. It matters to queues that give hosts equal shares (`cake`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub source: Option<String>,
    /// Name of the host that receives the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub destination: Option<String>,
    /// Differentiated services codepoint of its packets, ACKs included: a name such as `"CS1"` or
    /// `"EF"`, or a number from 0 to 63. It matters to queues with classes of service (`cake`).
    /// In an emulation datagrams under rate control do not carry it.
    #[serde(default, skip_serializing_if = "Dscp::is_default")]
    pub dscp: Dscp,
}

fn unnamed() -> String {
    "scenario".into()
}
fn replicates() -> u32 {
    REPLICATES
}
fn bulk() -> Value {
    json!({ "kind": "bulk" })
}
fn values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": ["string", "number"] },
        "examples": [{ "rate": "10 Mbit/s", "rtt": "40 ms" }],
    })
}
fn sweep(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": ["array", "object"] },
        "examples": [{ "hops.wireless.delay": ["10 ms", "20 ms"] }],
    })
}

impl Document {
    /// Reads the outermost level, with the mistakes in it; hops and flows are still trees.
    pub(super) fn read(tree: &Value) -> Result<(Self, Option<Error>)> {
        for field in ["shared_media", "hops", "flows"] {
            let groups = tree
                .get(field)
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            if groups as u64 > GROUPS {
                let message = format!("has {groups} entries; the most is {GROUPS}");
                return Err(Error::message(field, message));
            }
        }
        let (document, mistakes): (Document, _) = parse::leniently(tree)?;
        if document.schema != VERSION {
            return Err(Error::new(
                "schema",
                &document.schema.into(),
                &format!(
                    "is an unknown version of the format; this program reads version {VERSION}"
                ),
            )
            .coded(Code::Unsupported));
        }
        Ok((document, mistakes))
    }
}

/// The root of all random numbers. It may be text, since numbers in JSON and TOML do not hold 64
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed(pub u64);

/// The largest whole number up to which floating-point numbers are exact.
const EXACT: u64 = 1 << 53;

impl Default for Seed {
    fn default() -> Self {
        Seed(1)
    }
}
impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.0 <= EXACT {
            serializer.serialize_u64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}
impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = match &value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64(),
        };
        number.map(Seed).ok_or_else(|| {
            D::Error::custom(format!(
                "{value} is not a seed; choose a whole number from 0 to 2^64 - 1"
            ))
        })
    }
}
impl JsonSchema for Seed {
    fn schema_name() -> Cow<'static, str> {
        "Seed".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": u64::MAX },
                { "type": "string", "pattern": r"^\s*\+?[0-9]+\s*$" }
            ],
        })
    }
}

/// Time at which a flow stops sending: a time, or `"end"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop(pub Time);

impl Default for Stop {
    fn default() -> Self {
        Stop(Time::NEVER)
    }
}
impl Serialize for Stop {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.0.is_never() {
            serializer.serialize_str("end")
        } else {
            self.0.since(Time::ZERO).serialize(serializer)
        }
    }
}
impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == "end" {
            return Ok(Stop::default());
        }
        let span: Span = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(Stop(Time::ZERO + span))
    }
}
impl JsonSchema for Stop {
    fn schema_name() -> Cow<'static, str> {
        "Stop".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Span>();
        json_schema!({
            "description": "A time, or \"end\" for the end of the run.",
            "examples": ["20 s"],
            "anyOf": [{ "const": "end" }, time],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_keeps_all_its_bits() {
        for seed in [0, 1, EXACT, EXACT + 1, u64::MAX] {
            let written = serde_json::to_value(Seed(seed)).unwrap();
            assert_eq!(serde_json::from_value::<Seed>(written).unwrap(), Seed(seed));
        }
        assert_eq!(
            serde_json::to_value(Seed(u64::MAX)).unwrap(),
            u64::MAX.to_string()
        );
        for wrong in [
            json!(-1),
            json!(1.5),
            json!("x"),
            json!("18446744073709551616"),
        ] {
            assert!(serde_json::from_value::<Seed>(wrong).is_err());
        }
    }

    #[test]
    fn a_stop_is_a_time_or_the_end() {
        let read = |value| serde_json::from_value::<Stop>(value);
        assert!(read(json!("end")).unwrap().0.is_never());
        assert_eq!(read(json!("2 s")).unwrap().0, Time::from_seconds(2.0));
        assert_eq!(
            serde_json::to_value(Stop(Time::from_seconds(2.0))).unwrap(),
            "2 s"
        );
        assert_eq!(serde_json::to_value(Stop::default()).unwrap(), "end");
        assert!(read(json!("never")).is_err());
    }
}
