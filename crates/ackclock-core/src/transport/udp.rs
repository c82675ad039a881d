//! UDP: datagrams that leave as the application writes them, or under a rate control.

use super::facts::{SentEcn, TransportFacts};
use super::{EndpointContext, Endpoints, LARGEST_PACKET, TransportKind, check_sizes};
use crate::datagram::{DatagramParameters, DatagramReceiver, DatagramSender};
use crate::endpoint::parameters::EcnCodepoint;
use crate::packet::Ecn;
use crate::rate_control::{RateContext, RateControlKind};
use ackclock_spec::error::{Error, both};
use ackclock_spec::parse;
use ackclock_spec::prelude::*;
use ackclock_spec::registry::{ReadParameters, Selection, choose_within};
use ackclock_spec::schema;
use ackclock_spec::tree::to_tree;
use controlled::{ControlledReceiver, ControlledSender};
use plain::{PlainReceiver, PlainSender};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod controlled;
mod plain;

/// UDP, with or without a rate control.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "one for each group of flows")]
pub enum Udp {
    /// Each write of the application leaves at once.
    Plain(PlainUdp),
    /// A rate control says when datagrams leave.
    Controlled {
        /// Rate control.
        control: Selection<RateControlKind>,
        /// All other parameters.
        #[serde(flatten)]
        parameters: DatagramParameters,
    },
}

parameters! {
    /// Parameters without a rate control.
    #[derive(Copy)]
    pub struct PlainUdp {
        /// Payload of a full datagram.
        pub mss: Bytes = DatagramParameters::default().mss,
        /// IP and UDP headers on the wire, per datagram.
        pub header: Bytes = DatagramParameters::default().header,
    }
}

/// Returns the names of the parameters that need a rate control.
fn only_controlled() -> Vec<String> {
    let plain = to_tree(&PlainUdp::default());
    match to_tree(&DatagramParameters::default()) {
        Value::Object(all) => {
            let names = all.into_iter().map(|(name, _)| name);
            names.filter(|name| plain.get(name).is_none()).collect()
        }
        _ => Vec::new(),
    }
}

impl JsonSchema for Udp {
    fn schema_name() -> Cow<'static, str> {
        "Udp".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let control = schema::described(
            schema::one_of::<RateControlKind>(generator),
            "Rate control, which sets the rate at which datagrams leave. Without one, each write \
            leaves at once, and only `mss` and `header` may be given.",
        );
        let parameters = schema::schema_of::<DatagramParameters>();
        let parameters = schema::adopt(generator, Self::NAME, parameters);
        let mut whole = schema::led_by(parameters, [("control", control)]);
        let needs_control = only_controlled().into_iter();
        whole["dependentRequired"] = needs_control
            .map(|name| (name, json!(["control"])))
            .collect();
        whole["examples"] = json!([{}, { "control": { "kind": "tfrc" }, "ecn": true }]);
        Schema::try_from(whole).unwrap_or_default()
    }
}

impl Element<TransportKind> for Udp {
    const NAME: &'static str = "udp";
    const LABEL: &'static str = "UDP";
    const SUMMARY: &'static str = "Datagrams that are sent once, as the application writes them or \
        under a rate control.";
    const REFERENCE: &'static str = "RFC 768";

    fn facts(&self) -> TransportFacts {
        let datagrams = |mss: Bytes, header: Bytes| TransportFacts {
            control_name: Stated::None,
            mss_bytes: Some(mss.0),
            header_bytes: Some(header.0),
            answer_bytes: Stated::None,
            reliable: Some(false),
            handshake: Some(false),
            bursts: Some(false),
            sent_ecn: Stated::None,
            delayed_acks: Stated::None,
            congestion_window: Stated::None,
            timer: Stated::None,
            loss_recovery: Stated::None,
        };
        match self {
            Udp::Plain(plain) => datagrams(plain.mss, plain.header),
            Udp::Controlled {
                control,
                parameters,
            } => TransportFacts {
                control_name: Stated::Some(control.name.into()),
                answer_bytes: Stated::Some(parameters.feedback_size.0),
                sent_ecn: match parameters.ecn {
                    true => Stated::Some(SentEcn {
                        codepoint: EcnCodepoint::Ect0,
                        feedback: Stated::None,
                    }),
                    false => Stated::None,
                },
                ..datagrams(parameters.mss, parameters.header)
            },
        }
    }
}

impl ReadParameters<TransportKind> for Udp {
    fn read(tree: Value, files: &dyn Files) -> Result<Self> {
        match tree {
            Value::Object(rest) if rest.contains_key("control") => controlled(rest, files),
            tree => plain(tree),
        }
    }
}

fn plain(tree: Value) -> Result<Udp> {
    let needs_control = only_controlled();
    let fields = tree.as_object().into_iter().flatten();
    if let Some((name, value)) = fields
        .into_iter()
        .find(|(name, _)| needs_control.contains(name))
    {
        let remedy = "needs UDP with a rate control; add for example control = { kind = \"tfrc\" \
            }, or remove it";
        return Err(Error::contradiction(name, value, remedy));
    }
    parse::checked(tree, |udp: &mut PlainUdp| check_sizes(udp.mss, udp.header)).map(Udp::Plain)
}

fn controlled(mut rest: Map<String, Value>, files: &dyn Files) -> Result<Udp> {
    let control = rest.shift_remove("control").unwrap_or_default();
    let control = choose_within("control", &control, files);
    let parameters = parse::checked(Value::Object(rest), |read| check(read));
    let (control, parameters) = both(control, parameters)?;
    Ok(Udp::Controlled {
        control,
        parameters,
    })
}

/// Refuses packets that cannot be sent, and bursts of none.
fn check(parameters: &DatagramParameters) -> Result<()> {
    let (size, burst) = (parameters.feedback_size, parameters.burst);
    let sized = format!("is not between 1 and {LARGEST_PACKET} bytes; for example \"40 bytes\"");
    every([
        check_sizes(parameters.mss, parameters.header),
        in_range(
            (1..=LARGEST_PACKET).contains(&size.0),
            "feedback_size",
            &size,
            &sized,
        ),
        in_range(
            burst.0 > 0,
            "burst",
            &burst,
            "is too small; choose at least \"1 packet\"",
        ),
    ])
}

impl Factory<TransportKind> for Udp {
    fn build(&self, context: EndpointContext<'_>) -> Endpoints {
        let (control, parameters) = match self {
            Udp::Plain(plain) => {
                let header = plain.header.0 as u16;
                return Endpoints::Other {
                    sender: Box::new(PlainSender::new(header)),
                    receiver: Box::new(PlainReceiver::new(header)),
                };
            }
            Udp::Controlled {
                control,
                parameters,
            } => (control, parameters),
        };
        let StreamScope { streams, name } = context.place;
        let halves = control.build(RateContext {
            place: StreamScope {
                streams,
                name: &format!("{name}/control"),
            },
            mss: parameters.mss,
        });
        let jitter = streams.stream(&format!("{name}/jitter"));
        let header = parameters.header.0 as u16;
        let sender = ControlledSender {
            sender: DatagramSender::new(halves.sender, parameters, jitter),
            header,
            ecn: match parameters.ecn {
                true => Ecn::Capable,
                false => Ecn::NotCapable,
            },
        };
        let receiver = ControlledReceiver {
            receiver: DatagramReceiver::new(halves.receiver),
            header,
            feedback_size: parameters.feedback_size.0 as u16,
        };
        Endpoints::Other {
            sender: Box::new(sender),
            receiver: Box::new(receiver),
        }
    }

    fn draws(&self) -> bool {
        match self {
            Udp::Plain(_) => false,
            Udp::Controlled {
                control,
                parameters,
            } => parameters.send_jitter > Span::ZERO || control.draws(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;

    #[test]
    fn udp_has_defaults_of_its_own() {
        let udp = choose::<TransportKind>(&json!({ "kind": "udp" }), &NoFiles).unwrap();
        let mut written = udp.resolved;
        written.as_object_mut().unwrap().remove("facts");
        assert_eq!(
            written,
            json!({ "kind": "udp", "mss": "1000 bytes", "header": "28 bytes" })
        );
    }
}
