//! Options of the commands `send` and `receive`. Errors use the names of the command line.

use crate::keys::SharedKey;
use crate::session::{ReceiverSettings, SILENCE, SenderSettings, Source, Written, on_wire};
use crate::wire::LONGEST_PAYLOAD;
use ackclock_core::datagram::DatagramParameters;
use ackclock_core::rate_control::RateControlKind;
use ackclock_spec::error::{Code, Error, Result};
use ackclock_spec::files::NoFiles;
use ackclock_spec::parse::from_tree;
use ackclock_spec::quantity::Segments;
use ackclock_spec::registry::{Kind, Selection, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Options of `ackclock send`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendOptions {
    /// Rate controls that are offered; all with their defaults if there are none.
    #[serde(rename = "--control", default)]
    controls: Vec<Value>,
    /// Highest rate.
    #[serde(rename = "--max-rate", default)]
    most: Option<BitRate>,
    /// Payload of a packet.
    #[serde(rename = "--payload")]
    payload: Bytes,
    /// Tick of the timer.
    #[serde(rename = "--tick")]
    tick: Span,
    /// Number of packets that may leave together.
    #[serde(rename = "--burst")]
    burst: Segments,
    /// Largest random delay of a packet.
    #[serde(rename = "--jitter", default)]
    jitter: Span,
    /// Lateness up to which a packet keeps its turn.
    #[serde(rename = "--catch-up")]
    catch_up: Span,
    /// Length of made-up data; endless if not given.
    #[serde(rename = "--bytes", default)]
    bytes: Option<Bytes>,
    /// True if an application supplies the data.
    #[serde(rename = "DATA", default)]
    is_written: bool,
    /// True if receivers at any address are served, not only near ones.
    anywhere: bool,
}

/// Options of `ackclock receive`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveOptions {
    /// Address of the sender.
    #[serde(rename = "SENDER")]
    sender: String,
    /// The rate control.
    #[serde(rename = "--control")]
    control: Value,
    /// Highest rate.
    #[serde(rename = "--max-rate", default)]
    most: Option<BitRate>,
    /// Payload of a packet.
    #[serde(rename = "--payload")]
    payload: Bytes,
    /// Longest time to try to open the session.
    #[serde(rename = "--wait")]
    wait: Span,
}

impl SendOptions {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// Bad input: option, value, remedy.
    pub fn read(tree: Value) -> Result<Self> {
        let options: SendOptions = from_tree(tree)?;
        check_payload(options.payload)?;
        check_most(options.most, options.payload)?;
        for control in &options.controls {
            chosen(control)?;
        }
        Ok(options)
    }

    /// Returns the settings of a sender and its source of data.
    ///
    /// # Errors
    /// An invalid control.
    pub fn settings(&self, key: SharedKey, seed: u64) -> Result<(SenderSettings, Source)> {
        let default = || {
            RateControlKind::ENTRIES
                .iter()
                .map(|entry| json!({ "kind": entry.name }))
                .collect()
        };
        let controls = if self.controls.is_empty() {
            default()
        } else {
            self.controls.clone()
        };
        let settings = SenderSettings {
            key,
            controls: controls.iter().map(chosen).collect::<Result<_>>()?,
            most: self.most,
            datagrams: DatagramParameters {
                mss: self.payload,
                granularity: self.tick,
                burst: self.burst,
                send_jitter: self.jitter,
                ..DatagramParameters::default()
            },
            catch_up: self.catch_up,
            finer_ticks: true,
            streams: Streams::new(seed, 0),
            place: "flow/0".into(),
            anywhere: self.anywhere,
        };
        let source = if self.is_written {
            Source::Written(Written::default())
        } else {
            Source::Synthetic(self.bytes)
        };
        Ok((settings, source))
    }
}

impl ReceiveOptions {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// Bad input: option, value, remedy.
    pub fn read(tree: Value) -> Result<Self> {
        let options: ReceiveOptions = from_tree(tree)?;
        check_payload(options.payload)?;
        check_most(options.most, options.payload)?;
        chosen(&options.control)?;
        options.sender()?;
        Ok(options)
    }

    /// Returns the address of the sender.
    ///
    /// # Errors
    /// It is not an address.
    pub fn sender(&self) -> Result<SocketAddr> {
        let wrong = |_| {
            let remedy = "is not an address with a port; for example 127.0.0.1:7400 or [::1]:7400";
            Error::new("SENDER", &json!(self.sender), remedy).coded(Code::Syntax)
        };
        self.sender.parse().map_err(wrong)
    }

    /// Returns the registered name of the control.
    ///
    /// # Errors
    /// There is no such control.
    pub fn control(&self) -> Result<&'static str> {
        chosen(&self.control).map(|control| control.name)
    }

    /// Returns the settings of a receiver.
    ///
    /// # Errors
    /// An invalid control.
    pub fn settings(&self, key: SharedKey) -> Result<ReceiverSettings> {
        Ok(ReceiverSettings {
            key,
            sender: self.sender()?,
            control: chosen(&self.control)?,
            payload: self.payload,
            most: self.most,
            wait: self.wait,
        })
    }
}

fn chosen(control: &Value) -> Result<Selection<RateControlKind>> {
    choose(control, &NoFiles).map_err(|error| error.within("--control"))
}

fn check_payload(payload: Bytes) -> Result<()> {
    if (1..=LONGEST_PAYLOAD as u64).contains(&payload.0) {
        return Ok(());
    }
    let remedy = format!("does not fit into a datagram; choose 1 to {LONGEST_PAYLOAD} bytes");
    Err(Error::new("--payload", &json!(payload), &remedy))
}

/// Checks that two packets fit into the longest silence, since one of them may be lost.
fn check_most(most: Option<BitRate>, payload: Bytes) -> Result<()> {
    let Some(most) = most else { return Ok(()) };
    let least = 2.0 * on_wire(payload.0 as usize).as_f64() / SILENCE.as_seconds();
    if most.as_byte_per_s() >= least {
        return Ok(());
    }
    let remedy = format!(
        "is so slow that the other side gives up between two packets; choose at least {:.0} bit/s",
        (8.0 * least).ceil()
    );
    Err(Error::new("--max-rate", &json!(most), &remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(field: &str, value: Value) -> Value {
        let mut tree = json!({
            "--payload": "1000 bytes",
            "--tick": "1 ms",
            "--burst": "2 packets",
            "--catch-up": "10 ms",
            "anywhere": false,
        });
        tree[field] = value;
        tree
    }

    fn refusal(field: &str, value: Value) -> (Code, String) {
        let error = SendOptions::read(with(field, value)).unwrap_err();
        (error.code(), error.field().to_owned())
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_command_line() {
        let of = |code, field: &str| (code, field.to_owned());
        assert_eq!(
            refusal("--max-rate", json!("45")),
            of(Code::NoUnit, "--max-rate")
        );
        assert_eq!(
            refusal("--payload", json!("1500 bytes")),
            of(Code::OutOfRange, "--payload")
        );
        assert_eq!(
            refusal("--control", json!([{ "kind": "tfrcq" }])),
            of(Code::UnknownName, "--control.kind")
        );
        assert_eq!(
            refusal("--control", json!([{ "kind": "rap", "decrease": 2.0 }])),
            of(Code::OutOfRange, "--control.decrease")
        );
    }

    #[test]
    fn two_packets_fit_into_the_silence_that_ends_a_session() {
        // Two packets of 1104 bytes in 10 s.
        assert_eq!(
            refusal("--max-rate", json!("1766 bit/s")).0,
            Code::OutOfRange
        );
        assert!(SendOptions::read(with("--max-rate", json!("1767 bit/s"))).is_ok());
    }

    #[test]
    fn all_controls_are_offered_unless_some_are_named() {
        let offered = |tree| {
            let (settings, _) = SendOptions::read(tree)
                .unwrap()
                .settings(SharedKey::public(), 1)
                .unwrap();
            settings
                .controls
                .iter()
                .map(|control| control.name)
                .collect::<Vec<_>>()
        };
        let all: Vec<_> = RateControlKind::ENTRIES
            .iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(offered(with("--burst", json!("3 packets"))), all);
        assert_eq!(
            offered(with("--control", json!([{ "kind": "rap" }]))),
            ["rap"]
        );
    }
}
