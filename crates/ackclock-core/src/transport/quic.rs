//! QUIC: an implementation that others wrote, which runs as it is.

use super::facts::TransportFacts;
use super::stack::Stack;
use super::{EndpointContext, Endpoints, LARGEST_PACKET, TransportKind};
use crate::congestion::ControlKind;
use ackclock_spec::error::{Code, Error};
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::Segments;
use ackclock_spec::registry::{FACTS, Selection, choose_within};
use ackclock_spec::schema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Parameters.
///
/// The implementation decides everything else: when it sends, what it takes for lost, when it
/// acknowledges. The sender opens the connection and sends on one unidirectional stream. No side
/// closes an idle connection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quic {
    /// Implementation: `quinn`, or one that the command brings (`--stack NAME=LIBRARY`).
    #[schemars(extend("examples" = ["quinn"]))]
    pub stack: String,
    /// Congestion control: a word for one of the implementation's own, which are `cubic`,
    /// `new_reno` and `bbr` for quinn; or a table for a control of TCP inside it.
    #[schemars(
        schema_with = "control_schema",
        extend("examples" = ["cubic", { "kind": "westwood_abse" }])
    )]
    pub control: Value,
    /// Protection of packets.
    #[serde(default)]
    pub crypto: Crypto,
    /// True if it looks for larger packets than the first ones (RFC 8899).
    #[serde(default = "yes")]
    pub mtu_discovery: bool,
    /// Most packets that it may hand over at once, as for segmentation offload. They enter the
    /// first hop together.
    #[serde(default = "single")]
    pub trains: Segments,
    /// Most data that the receiver permits to be on its way; by default that of quinn.
    #[serde(default = "window")]
    pub receive_window: Bytes,
    /// IP and UDP headers on the wire, per packet.
    #[serde(default = "header")]
    pub header: Bytes,
    /// Options of the implementation. quinn has none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Version of the implementation, which is filled in. If given, it must be that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The control of a table.
    #[serde(skip)]
    #[schemars(skip)]
    pub ours: Option<Selection<ControlKind>>,
    /// None in a build without implementations, which runs none.
    #[serde(skip)]
    #[schemars(skip)]
    implementation: Option<Arc<dyn Stack>>,
    /// Names of the implementations that are here.
    #[serde(skip)]
    #[schemars(skip)]
    here: Vec<String>,
}

/// Protection of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Crypto {
    /// TLS 1.3. Its keys come from the system, so that bytes differ from run to run. Sizes and
    /// times do not.
    #[default]
    Tls,
    /// None. Packets are as long and not encrypted, the handshake is about as long. Runs are
    /// faster, and their bytes repeat.
    Null,
}

fn control_schema(generator: &mut SchemaGenerator) -> Schema {
    let own = generator.subschema_for::<String>();
    let ours = schema::one_of::<ControlKind>(generator);
    json_schema!({ "anyOf": [own, ours] })
}

const fn yes() -> bool {
    true
}
const fn single() -> Segments {
    Segments(1)
}
const fn window() -> Bytes {
    Bytes(1_250_000)
}
const fn header() -> Bytes {
    Bytes(28) // IPv4 20, UDP 8
}

/// Prefix of a name in tables: the control is one of the engine's.
const OURS: &str = "ackclock:";
/// Most packets in a train: what Linux accepts in one call (`UDP_MAX_SEGMENTS`).
const LONGEST_TRAIN: u32 = 64;
/// The largest number that QUIC writes (RFC 9000 section 16).
const LARGEST_NUMBER: u64 = (1 << 62) - 1;
/// The longest datagram of QUIC here: no implementation finds a larger one by itself.
pub const LONGEST_DATAGRAM: u64 = 1500;

impl Element<TransportKind> for Quic {
    const NAME: &'static str = "quic";
    const LABEL: &'static str = "QUIC";
    const SUMMARY: &'static str =
        "Is an implementation of QUIC that others wrote, with a control of its own.";
    const REFERENCE: &'static str = "RFC 9000";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let trains = format!("is not between 1 and {LONGEST_TRAIN} packets");
        let window = "is not between \"1 byte\" and 2^62 − 1 bytes; for example \"10 MB\"";
        let most = LARGEST_PACKET - LONGEST_DATAGRAM;
        let header = format!("is not at most {most} bytes; for example \"28 bytes\"");
        every([
            self.choose_control(files),
            self.find(files),
            in_range(
                (1..=LONGEST_TRAIN).contains(&self.trains.0),
                "trains",
                &self.trains,
                &trains,
            ),
            in_range(
                (1..=LARGEST_NUMBER).contains(&self.receive_window.0),
                "receive_window",
                &self.receive_window,
                window,
            ),
            in_range(self.header.0 <= most, "header", &self.header, &header),
        ])
    }

    /// They do not depend on whether the implementation is there.
    fn facts(&self) -> TransportFacts {
        let name = match &self.ours {
            Some(ours) => format!(
                "{OURS}{}",
                ours.facts.title.some().map_or(ours.name, |title| title)
            ),
            None => self.own_control().into(),
        };
        TransportFacts {
            control_name: Stated::Some(format!("{}/{name}", self.stack)),
            reliable: Some(true),
            handshake: Some(true),
            ..TransportFacts::default() // unknown
        }
    }
}

impl Factory<TransportKind> for Quic {
    fn build(&self, context: EndpointContext<'_>) -> Endpoints {
        let Some(stack) = &self.implementation else {
            unreachable!("the simulator refuses what the engine cannot make");
        };
        let [sender, receiver] = stack.connect(self, context);
        Endpoints::Other { sender, receiver }
    }

    fn refusal(&self) -> Option<Error> {
        if self.implementation.is_some() {
            return None;
        }
        let remedy = match self.here.as_slice() {
            [] => "does not run here; use ackclock simulate".into(),
            names => format!(
                "is not here; choose {}, or bring your own with --stack NAME=LIBRARY",
                names.join(" or ")
            ),
        };
        Some(Error::new("stack", &json!(self.stack), &remedy).coded(Code::Unsupported))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl Quic {
    /// Returns the word for a control of the implementation's own; empty if it is given as a table.
    pub fn own_control(&self) -> &str {
        self.control.as_str().unwrap_or_default()
    }

    /// Reads the control of a table. Its facts are left out, since they hold under TCP.
    fn choose_control(&mut self, files: &dyn Files) -> Result<()> {
        if self.control.is_string() {
            return Ok(());
        }
        let chosen = choose_within::<ControlKind>("control", &self.control, files)?;
        self.control = chosen.resolved.clone();
        if let Some(fields) = self.control.as_object_mut() {
            fields.shift_remove(FACTS);
        }
        self.ours = Some(chosen);
        Ok(())
    }

    /// Finds the implementation. Refuses a control that it lacks, another version than its own, and
    /// parameters with which it cannot make a connection. One that is not here is refused only when
    /// a connection is to be made, so that results with it can be read anywhere.
    fn find(&mut self, files: &dyn Files) -> Result<()> {
        self.here = files.stacks();
        let stack = files.stack(&self.stack);
        let Some(stack) = stack.and_then(|stack| stack.downcast::<Arc<dyn Stack>>().ok()) else {
            return Ok(());
        };
        let controls = stack.controls();
        if self.control.is_string() && !controls.contains(&self.own_control()) {
            let noun = format!("control of {}", self.stack);
            let names = controls.into_iter();
            return Err(Error::unknown_name("control", &self.control, &noun, names));
        }
        if let Some(ours) = &self.ours {
            stack
                .check_control(ours)
                .map_err(|error| error.within("control"))?;
        }
        if let Some(reason) = stack.refusal(self) {
            let remedy = format!("makes no connection with these parameters: {reason}");
            return Err(Error::new("stack", &json!(self.stack), &remedy).coded(Code::Unsupported));
        }
        let actual = stack.version();
        if let Some(expected) = &self.version
            && *expected != actual
        {
            let remedy = format!(
                "differs from the version here, \"{actual}\"; remove it to accept that one"
            );
            return Err(Error::new("version", &json!(expected), &remedy).coded(Code::File));
        }
        self.version = Some(actual);
        self.implementation = Some(*stack);
        Ok(())
    }

    /// True if the implementation is here and writes qlog files.
    pub fn writes_qlog(&self) -> bool {
        let stack = self.implementation.as_ref();
        stack.is_some_and(|stack| stack.writes_qlog())
    }

    /// Returns the bytes of memory that both sides of a connection take at least; 0 if nothing here
    /// can make them.
    pub fn connection_bytes(&self) -> usize {
        let stack = self.implementation.as_ref();
        stack.map_or(0, |stack| stack.connection_bytes())
    }
}
