//! TCP: a preset with the file's parameters on top.

use super::facts::{DelayedAcks, SentEcn, TimerFacts, TransportFacts, WindowFacts};
use super::{EndpointContext, Endpoints, TransportKind};
use crate::congestion::facts::EcnUse;
use crate::congestion::{ControlContext, ControlKind};
use crate::endpoint::parameters::{
    AfterTimeout, Arithmetic, ByteCounting, EcnFeedback, LARGEST_TCP_ECN, LossRecovery, Pacing,
    Preset, RecoveryWindow,
};
use crate::endpoint::resume::Resuming;
use crate::endpoint::{Receiver, Sender, TcpParameters};
use ackclock_spec::error::{Error, both};
use ackclock_spec::parse;
use ackclock_spec::prelude::*;
use ackclock_spec::quantity::OptionalWindow;
use ackclock_spec::registry::{Kind, ReadParameters, Selection, choose_within};
use ackclock_spec::schema;
use ackclock_spec::tree::to_tree;
use schemars::{Schema, SchemaGenerator};
use serde::Serializer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

mod check;

/// TCP with a congestion control.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// Congestion control.
    pub control: Selection<ControlKind>,
    /// Preset that set the parameters that were not given.
    pub preset: Preset,
    /// All other parameters.
    pub parameters: Arc<TcpParameters>,
}

/// Controls that offer a choice of arithmetic. Their schemas never change.
static WITH_ARITHMETIC: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let offers = |schema: Value| schema["properties"].get("arithmetic").is_some();
    ControlKind::ENTRIES
        .iter()
        .filter(|entry| offers((entry.schema)()))
        .map(|entry| entry.name)
        .collect()
});

/// Fields of a TCP transport in addition to those of [`TcpParameters`].
const MORE_FIELDS: [&str; 3] = ["kind", "control", "preset"];

impl Serialize for Tcp {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            control: &'a Selection<ControlKind>,
            preset: Preset,
            #[serde(flatten)]
            parameters: &'a TcpParameters,
        }
        let (control, parameters) = (&self.control, &*self.parameters);
        Written {
            control,
            preset: self.preset,
            parameters,
        }
        .serialize(serializer)
    }
}

/// All fields but the control may be left out, because a preset has them all.
impl JsonSchema for Tcp {
    fn schema_name() -> Cow<'static, str> {
        "Tcp".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let control = schema::described(
            schema::one_of::<ControlKind>(generator),
            "Congestion control, which limits the data in flight.",
        );
        let preset = generator.subschema_for::<Preset>();
        let mut preset = schema::described(
            preset,
            "Preset that sets the parameters that are not given.",
        );
        preset["default"] = to_tree(&Preset::default());
        let parameters = schema::optional(schema::schema_of::<TcpParameters>());
        let parameters = schema::adopt(generator, Self::NAME, parameters);
        let mut whole = schema::led_by(parameters, [("control", control), ("preset", preset)]);
        whole["required"] = json!(["control"]);
        whole["examples"] = json!([
            { "control": { "kind": "cubic" } },
            { "control": { "kind": "reno" }, "preset": "rfc", "mss": "1000 bytes" },
        ]);
        Schema::try_from(whole).unwrap_or_default()
    }
}

impl Element<TransportKind> for Tcp {
    const NAME: &'static str = "tcp";
    const LABEL: &'static str = "TCP";
    const SUMMARY: &'static str =
        "TCP with a congestion control: the parameters of a preset, and those that are given.";
    const REFERENCE: &'static str = "RFC 9293";

    fn facts(&self) -> TransportFacts {
        let (control, tcp) = (&self.control, &*self.parameters);
        let name = control
            .facts
            .title
            .some()
            .map_or(control.name, String::as_str);
        let segments = |window: OptionalWindow| match window {
            OptionalWindow::Segments(segments) => Stated::Some(segments),
            OptionalWindow::Bytes(Bytes(bytes)) => Stated::Some(bytes / tcp.connection.mss.0),
            OptionalWindow::Unlimited => Stated::None,
        };
        TransportFacts {
            control_name: Stated::Some(name.into()),
            mss_bytes: Some(tcp.connection.mss.0),
            header_bytes: Some(tcp.connection.header.0),
            answer_bytes: Stated::Some(tcp.connection.header.0),
            reliable: Some(true),
            handshake: Some(tcp.connection.handshake),
            bursts: Some(tcp.sending.segmentation_offload),
            sent_ecn: match tcp.ecn.enabled {
                true => Stated::Some(SentEcn {
                    codepoint: tcp.ecn.codepoint,
                    feedback: Stated::Some(tcp.ecn.feedback),
                }),
                false => Stated::None,
            },
            delayed_acks: Stated::Some(DelayedAcks {
                segments: tcp.receiver.delayed_ack.every.0,
                timeout_s: tcp.receiver.delayed_ack.timeout.as_seconds(),
                first_segments: tcp.receiver.delayed_ack.quickack_segments.0,
            }),
            congestion_window: Stated::Some(WindowFacts {
                initial_segments: tcp.growth.initial_window.0,
                initial_threshold_segments: segments(tcp.growth.initial_ssthresh),
                receive_segments: segments(tcp.receiver.receive_window),
                read_bit_per_s: match tcp.receiver.read_rate {
                    Some(rate) => Stated::Some(rate.as_bit_per_s()),
                    None => Stated::None,
                },
                resumes: tcp.growth.resume.map(|_| true),
                segments_per_growth: segments_per_growth(tcp),
                linux_arithmetic: tcp.growth.arithmetic == Arithmetic::Linux,
                whole_threshold: tcp.growth.ssthresh_in_whole_segments,
            }),
            timer: Stated::Some(TimerFacts {
                initial_s: tcp.timer.rto_initial.as_seconds(),
                minimum_s: tcp.timer.rto_minimum.as_seconds(),
                floor: tcp.timer.rto_floor,
                maximum_s: tcp.timer.rto_maximum.as_seconds(),
                tick_s: tcp.timer.clock_granularity.as_seconds(),
            }),
            loss_recovery: Stated::Some(match tcp.recovery.algorithm {
                LossRecovery::Rack if !tcp.recovery.sack => LossRecovery::Newreno,
                algorithm => algorithm,
            }),
        }
    }
}

fn segments_per_growth(tcp: &TcpParameters) -> f64 {
    let acknowledged = f64::from(tcp.receiver.delayed_ack.every.0.max(1));
    let counted = match tcp.growth.byte_counting {
        ByteCounting::PerAck => 1.0,
        ByteCounting::AbcL2 => acknowledged.min(2.0),
        ByteCounting::All | ByteCounting::Delivered => acknowledged,
    };
    acknowledged / counted
}

impl ReadParameters<TransportKind> for Tcp {
    fn read(tree: Value, files: &dyn Files) -> Result<Self> {
        let mut rest = match tree {
            Value::Object(rest) => rest,
            _ => Map::new(),
        };
        let control = rest.shift_remove("control");
        let preset = match rest.shift_remove("preset") {
            Some(name) => parse::from_tree(name).map_err(|error| error.within("preset")),
            None => Ok(Preset::default()),
        };
        let mut says: Vec<String> = rest.keys().cloned().collect();
        if rest.contains_key("tcp_ecn") {
            says.extend(["ecn", "ecn_feedback"].map(String::from));
        }
        let parameters = overlay(preset.clone().unwrap_or_default(), rest);
        let arithmetic = parameters
            .as_ref()
            .map_or(Arithmetic::Exact, |parameters| parameters.growth.arithmetic);
        let control = match control {
            Some(control) => choose_within("control", &with_arithmetic(control, arithmetic), files),
            None => Err(Error::missing(
                "control",
                "for example control = { kind = \"cubic\" }",
            )),
        };
        let ((control, preset), mut parameters): ((Selection<ControlKind>, _), _) =
            both(both(control, preset), parameters)?;
        consistent(
            parameters.growth.resume.is_none() || control.facts.resumes == Some(true),
            "resume",
            &control.name,
            &["control"],
            "does not go with this control; choose reno, cubic or cuback, or remove it",
        )?;
        if let Some(ecn) = control.facts.ecn.some() {
            follow_control(&mut parameters, *ecn, &says);
        }
        Ok(Tcp {
            control,
            preset,
            parameters: Arc::new(parameters),
        })
    }
}

impl Factory<TransportKind> for Tcp {
    fn build(&self, context: EndpointContext<'_>) -> Endpoints {
        Endpoints::Tcp {
            sender: Box::new(self.sender(context)),
            receiver: Receiver::new(&self.parameters),
            parameters: Arc::clone(&self.parameters),
        }
    }

    fn refusal(&self) -> Option<Error> {
        let refusal = self.control.refusal();
        refusal.map(|error| error.within("control"))
    }

    fn draws(&self) -> bool {
        self.parameters.sending.send_jitter > Span::ZERO || self.control.draws()
    }
}

impl Tcp {
    /// Makes the sender of a flow instance.
    pub fn sender(&self, context: EndpointContext<'_>) -> Sender {
        let (parameters, EndpointContext { place, recording }) = (&self.parameters, context);
        let streams = place.streams;
        let own = |part: &str| format!("{}/{part}", place.name);
        let connection = &parameters.connection;
        let context = ControlContext {
            place: StreamScope {
                streams,
                name: &own("control"),
            },
            mss: connection.mss,
            initial_window: connection.mss * u64::from(parameters.growth.initial_window.0),
            initial_ssthresh: parameters.growth.initial_ssthresh.bytes(connection.mss),
            ssthresh_in_whole_segments: parameters.growth.ssthresh_in_whole_segments,
            paced: parameters.sending.pacing == Pacing::Always,
            selective_acks: parameters.recovery.uses_sack(),
            counts_marks: parameters.ecn.enabled && parameters.ecn.feedback != EcnFeedback::Classic,
            keeps_calls: recording.calls,
        };
        let mut control = self.control.build(context);
        if let Some(resume) = parameters.growth.resume {
            control = Box::new(Resuming::new(control, resume, &context));
        }
        let jitter = streams.stream(&own("jitter"));
        let mut sender = Sender::new(Arc::clone(parameters), control, jitter);
        if recording.states {
            sender.record_control();
        }
        sender
    }
}

/// Returns a control that has the transport's arithmetic if it offers a choice and makes none.
fn with_arithmetic(mut control: Value, arithmetic: Arithmetic) -> Value {
    let kind = control.get("kind").and_then(Value::as_str);
    let offers = kind.is_some_and(|kind| WITH_ARITHMETIC.contains(&kind));
    if let Some(control) = control.as_object_mut().filter(|_| offers) {
        control
            .entry("arithmetic")
            .or_insert_with(|| to_tree(&arithmetic));
    }
    control
}

/// Returns a preset's parameters with those in `given` replaced.
fn overlay(preset: Preset, given: Map<String, Value>) -> Result<TcpParameters> {
    let says: Vec<String> = given.keys().cloned().collect();
    let preset = preset.parameters();
    let mut reading = Reading {
        given,
        mistakes: Vec::new(),
    };
    let mut parameters = TcpParameters {
        connection: reading.record(preset.connection),
        receiver: reading.record(preset.receiver),
        growth: reading.record(preset.growth),
        recovery: reading.record(preset.recovery),
        timer: reading.record(preset.timer),
        sending: reading.record(preset.sending),
        ecn: reading.record(preset.ecn),
    };
    let fields = to_tree(&preset);
    let fields = fields.as_object().into_iter().flat_map(Map::keys);
    let fields: Vec<&str> = fields.map(String::as_str).chain(MORE_FIELDS).collect();
    let unknown = reading
        .given
        .keys()
        .map(|name| Err(Error::unknown_field(name, &fields)));
    let mistakes = reading.mistakes.into_iter().map(Err);
    let says = |field: &str| says.iter().any(|name| name == field);
    let negotiated = negotiate_ecn(&mut parameters, says);
    if parameters.growth.resume.is_some() && !says("pacing") {
        parameters.sending.pacing = match parameters.sending.pacing {
            Pacing::Off => Pacing::Control, // a jump is paced whatever the preset
            paces => paces,
        };
    }
    follow_recovery(&mut parameters, says);
    if preset.recovery.longest_ack_delay == preset.timer.rto_minimum && !says("longest_ack_delay") {
        parameters.recovery.longest_ack_delay = parameters.timer.rto_minimum; // as in Linux
    }
    every(
        unknown
            .chain(mistakes)
            .chain([negotiated, check::check(&parameters)]),
    )?;
    Ok(parameters)
}

/// Reads records whose fields share one table. What is left in `given` belongs to none.
struct Reading {
    given: Map<String, Value>,
    mistakes: Vec<Error>,
}

impl Reading {
    /// Returns the record with the fields that are given in the place of its own.
    fn record<T: Serialize + DeserializeOwned + JsonSchema>(&mut self, preset: T) -> T {
        let mut tree = to_tree(&preset);
        for (name, value) in tree.as_object_mut().into_iter().flatten() {
            if let Some(given) = self.given.shift_remove(name) {
                merge(value, given);
            }
        }
        let (record, mistakes) = match parse::leniently(&tree) {
            Ok((record, mistakes)) => (record, mistakes),
            Err(mistakes) => (preset, Some(mistakes)),
        };
        self.mistakes.extend(mistakes);
        record
    }
}

/// Sets what `tcp_ecn` of both hosts leads to. A resolved scenario says both; they then agree.
fn negotiate_ecn(parameters: &mut TcpParameters, says: impl Fn(&str) -> bool) -> Result<()> {
    let Some(hosts) = parameters.ecn.tcp_ecn else {
        return Ok(());
    };
    let negotiated = hosts.negotiated();
    let feedback = negotiated.unwrap_or(parameters.ecn.feedback);
    let agree = [
        (
            "ecn",
            says("ecn") && parameters.ecn.enabled != negotiated.is_some(),
        ),
        (
            "ecn_feedback",
            says("ecn_feedback") && parameters.ecn.feedback != feedback,
        ),
    ]
    .map(|(field, differs)| {
        consistent(
            !differs,
            field,
            &to_tree(&hosts),
            &["tcp_ecn"],
            "is negotiated otherwise by tcp_ecn; remove one of the two",
        )
    });
    let settings = [("client", hosts.client), ("server", hosts.server)].map(|(side, setting)| {
        in_range(
            setting <= LARGEST_TCP_ECN,
            &format!("tcp_ecn.{side}"),
            &setting,
            "is too large; the settings are 0 to 5",
        )
    });
    parameters.ecn.enabled = negotiated.is_some();
    parameters.ecn.feedback = feedback;
    every(agree.into_iter().chain(settings))
}

/// Sets the ECN that a control asks for. What the file `says` stays.
fn follow_control(parameters: &mut TcpParameters, asked: EcnUse, says: &[String]) {
    let is_free = |field: &str| !says.iter().any(|stated| stated == field);
    if is_free("ecn") {
        parameters.ecn.enabled = true;
    }
    if is_free("ecn_codepoint") {
        parameters.ecn.codepoint = asked.codepoint;
    }
    if is_free("ecn_feedback") {
        parameters.ecn.feedback = asked.feedback;
    }
}

/// Turns off the rules of the preset that `parameters.recovery` cannot follow. A file that changes
/// only `recovery` means them too; a rule that it `says` stays.
fn follow_recovery(parameters: &mut TcpParameters, says: impl Fn(&str) -> bool) {
    let scoreboard = parameters.recovery.algorithm.has_scoreboard();
    if !says("sack") {
        parameters.recovery.sack = scoreboard;
    }
    if !scoreboard {
        if !says("after_timeout") {
            parameters.recovery.after_timeout = AfterTimeout::GoBackN;
        }
        if !says("recovery_window") {
            parameters.recovery.recovery_window = RecoveryWindow::Ssthresh;
        }
    }
    if !parameters.recovery.sack {
        parameters.recovery.tail_loss_probe &= says("tail_loss_probe");
    }
    if parameters.recovery.algorithm != LossRecovery::Rack {
        for (field, rule) in [
            ("tail_loss_probe", &mut parameters.recovery.tail_loss_probe),
            ("forward_rto", &mut parameters.recovery.forward_rto),
            ("undo", &mut parameters.recovery.undo),
        ] {
            *rule &= says(field);
        }
    }
}

/// Replaces the values in `tree` by those of the same name in `over`, table by table.
fn merge(tree: &mut Value, over: Value) {
    match (tree, over) {
        (Value::Object(tree), Value::Object(over)) => {
            for (name, value) in over {
                merge(tree.entry(name).or_insert(Value::Null), value);
            }
        }
        (tree, over) => *tree = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::quantity::Segments;
    use serde_json::json;

    fn given(tree: Value) -> Map<String, Value> {
        tree.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_given_takes_the_presets_place_and_nothing_else_moves() {
        let over = json!({ "mss": "1000 bytes", "delayed_ack": { "every": "1 segment" } });
        let parameters = overlay(Preset::Rfc, given(over)).unwrap();
        let mut expected = Preset::Rfc.parameters();
        expected.connection.mss = Bytes(1000);
        expected.receiver.delayed_ack.every = Segments(1);
        assert_eq!(parameters, expected);
        assert_eq!(
            parameters.receiver.delayed_ack.timeout,
            Span::from_millis(200)
        );
    }

    #[test]
    fn recovery_alone_takes_the_scoreboard_along() {
        let parameters = overlay(Preset::Linux, given(json!({ "recovery": "newreno" }))).unwrap();
        assert_eq!(parameters.recovery.after_timeout, AfterTimeout::GoBackN);
        let both = json!({ "recovery": "newreno", "after_timeout": "scoreboard" });
        let error = overlay(Preset::Linux, given(both)).unwrap_err().key();
        assert_eq!(error, "contradiction after_timeout");
        let parameters = overlay(Preset::Linux, Map::new()).unwrap();
        assert_eq!(parameters.recovery.after_timeout, AfterTimeout::Scoreboard);
    }

    /// Linux has one value for both (`tcp_rto_min`), RFC 8985 has WCDelAckT.
    #[test]
    fn the_longest_delay_of_an_ack_follows_the_smallest_timeout_in_linux_only() {
        let rto_minimum = json!({ "rto_minimum": "50 ms" });
        for (preset, millis) in [(Preset::Linux, 50), (Preset::RfcModern, 200)] {
            let parameters = overlay(preset, given(rto_minimum.clone())).unwrap();
            let delay = parameters.recovery.longest_ack_delay;
            assert_eq!(delay, Span::from_millis(millis), "{preset:?}");
        }
        let own = json!({ "rto_minimum": "50 ms", "longest_ack_delay": "30 ms" });
        let parameters = overlay(Preset::Linux, given(own)).unwrap();
        let delay = parameters.recovery.longest_ack_delay;
        assert_eq!(delay, Span::from_millis(30));
    }

    #[test]
    fn unknown_fields_are_answered_with_the_nearest() {
        let error = |over| overlay(Preset::Linux, given(over)).unwrap_err().key();
        assert_eq!(error(json!({ "mms": 1 })), "unknown-field mms");
        assert_eq!(error(json!({ "controll": 1 })), "unknown-field controll");
        assert_eq!(
            error(json!({ "delayed_ack": { "evry": 1 } })),
            "unknown-field delayed_ack.evry"
        );
        assert_eq!(error(json!({ "mss": "1460" })), "no-unit mss");
        assert_eq!(error(json!({ "recovery": "sac" })), "unknown-name recovery");
    }
}
