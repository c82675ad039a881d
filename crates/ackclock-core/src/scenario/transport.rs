//! The transport of a flow: for TCP a preset with the file's parameters on top, for UDP its sizes.

use super::Transport;
use super::check::{check_datagrams, check_sizes, check_tcp};
use super::document::UdpDocument;
use crate::congestion::ControlKind;
use crate::congestion::facts::EcnUse;
use crate::datagram::DatagramParameters;
use crate::endpoint::TcpParameters;
use crate::endpoint::parameters::{AfterTimeout, Arithmetic, LossRecovery, Preset, RecoveryWindow};
use ackclock_spec::error::{Code, Error, Result, both, every};
use ackclock_spec::files::Files;
use ackclock_spec::parse;
use ackclock_spec::registry::{Kind, Selection, choose_within};
use ackclock_spec::tree::{to_tree, with_kind};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// Transports, as written in `kind`.
pub(super) const TRANSPORTS: [&str; 2] = ["tcp", "udp"];

/// Fields of UDP without rate control.
const OF_UDP: [&str; 2] = ["mss", "header"];

/// Controls that offer a choice of arithmetic. Their schemas never change.
static WITH_ARITHMETIC: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let offers = |schema: Value| schema["properties"].get("arithmetic").is_some();
    ControlKind::entries()
        .iter()
        .filter(|entry| offers((entry.schema)()))
        .map(|entry| entry.name)
        .collect()
});

/// Fields of a TCP transport in addition to those of [`TcpParameters`].
const OF_TCP: [&str; 3] = ["kind", "control", "preset"];

/// Reads `{ kind = "tcp", … }`. Returns the transport and its tree with all defaults. Errors name
/// fields relative to `tree`.
pub(super) fn read(tree: &Value, files: &dyn Files) -> Result<(Transport, Value)> {
    let Value::Object(map) = tree else {
        return Err(Error::new(
            "",
            tree,
            "is not a table; for example { kind = \"tcp\", control = { kind = \"cubic\" } }",
        )
        .coded(Code::WrongType));
    };
    let mut rest = map.clone();
    let kind = rest
        .shift_remove("kind")
        .ok_or_else(|| Error::missing("kind", "for example kind = \"tcp\""))?;
    match kind.as_str() {
        Some("tcp") => tcp(rest, files),
        Some("udp") if rest.contains_key("control") => controlled(rest, files),
        Some("udp") => udp(rest),
        _ => Err(Error::unknown_name(
            "kind",
            &kind,
            "transport",
            TRANSPORTS.into_iter(),
        )),
    }
}

/// True if the transport of this tree has acknowledgements, whatever else may be wrong with it.
pub(super) fn acknowledges(tree: &Value) -> bool {
    let is_udp = tree.get("kind").is_some_and(|kind| kind == "udp");
    tree.get("kind").is_some_and(|kind| kind == "tcp") || is_udp && tree.get("control").is_some()
}

fn udp(rest: Map<String, Value>) -> Result<(Transport, Value)> {
    let under_control = to_tree(&DatagramParameters::default());
    let of_control = |name: &str| !OF_UDP.contains(&name) && under_control.get(name).is_some();
    if let Some((name, value)) = rest.iter().find(|(name, _)| of_control(name)) {
        let remedy = "needs UDP with a rate control; add for example control = { kind = \"tfrc\" \
            }, or remove it";
        return Err(Error::contradiction(name, value, remedy));
    }
    let check = |udp: &mut UdpDocument| check_sizes(udp.mss, udp.header);
    let udp = parse::checked(Value::Object(rest), check)?;
    let written = with_kind("udp", to_tree(&udp));
    Ok((
        Transport::Udp {
            mss: udp.mss,
            header: udp.header,
        },
        written,
    ))
}

fn controlled(mut rest: Map<String, Value>, files: &dyn Files) -> Result<(Transport, Value)> {
    let control = rest.shift_remove("control").unwrap_or_default();
    let control = choose_within("control", &control, files);
    let parameters = parse::checked(Value::Object(rest), |read| check_datagrams(read));
    let (control, parameters) = both(control, parameters)?;
    let mut written = Map::new();
    written.insert("control".into(), control.resolved.clone());
    if let Value::Object(parameters) = to_tree(&parameters) {
        written.extend(parameters);
    }
    Ok((
        Transport::Controlled {
            control,
            parameters,
        },
        with_kind("udp", Value::Object(written)),
    ))
}

fn tcp(mut rest: Map<String, Value>, files: &dyn Files) -> Result<(Transport, Value)> {
    let control = rest.shift_remove("control");
    let preset = match rest.shift_remove("preset") {
        Some(name) => parse::from_tree(name).map_err(|error| error.within("preset")),
        None => Ok(Preset::default()),
    };
    let says: Vec<String> = rest.keys().cloned().collect();
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
    if let Some(ecn) = control.facts.ecn.some() {
        follow_control(&mut parameters, *ecn, &says);
    }
    let mut written = Map::new();
    written.insert("control".into(), control.resolved.clone());
    written.insert("preset".into(), to_tree(&preset));
    if let Value::Object(parameters) = to_tree(&parameters) {
        written.extend(parameters);
    }
    Ok((
        Transport::Tcp {
            control,
            parameters: Arc::new(parameters),
        },
        with_kind("tcp", Value::Object(written)),
    ))
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
    let fields: Vec<&str> = fields.map(String::as_str).chain(OF_TCP).collect();
    let unknown = reading
        .given
        .keys()
        .map(|name| Err(Error::unknown_field(name, &fields)));
    let mistakes = reading.mistakes.into_iter().map(Err);
    follow_recovery(&mut parameters, |field| {
        says.iter().any(|name| name == field)
    });
    every(unknown.chain(mistakes).chain([check_tcp(&parameters)]))?;
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

/// Sets the ECN that a control asks for. What the file `says` stays.
fn follow_control(parameters: &mut TcpParameters, asked: EcnUse, says: &[String]) {
    let is_free = |field: &str| !says.iter().any(|said| said == field);
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
    if !parameters.recovery.algorithm.uses_sack() {
        if !says("after_timeout") {
            parameters.recovery.after_timeout = AfterTimeout::GoBackN;
        }
        if !says("recovery_window") {
            parameters.recovery.recovery_window = RecoveryWindow::Ssthresh;
        }
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
    use ackclock_spec::units::{Bytes, Span};
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

    #[test]
    fn udp_has_defaults_of_its_own() {
        let (_, written) = read(&json!({ "kind": "udp" }), &ackclock_spec::files::NoFiles).unwrap();
        assert_eq!(
            written,
            json!({ "kind": "udp", "mss": "1000 bytes", "header": "28 bytes" })
        );
    }
}
