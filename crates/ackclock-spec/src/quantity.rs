//! The notation of quantities: `"45 Mbit/s"`, `"35 ms"`, `"93 packets"`, `"0.5 %"`. Every quantity
//! has its unit.

mod expected;
mod read;
mod write;

#[cfg(test)]
mod tests;

use crate::bounds::HasZero;
use crate::error::Code;
use crate::expression::{Amount, Fault};
use crate::unit_spelling::Dimension;
use crate::units::{BitRate, Bytes, Probability, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

use crate::unit_table::{COUNT, DATA, LARGEST, PACKET_RATE, RATE, TIME, Units};
use expected::{
    A_LIMIT, A_NUMBER, A_PACKET_RATE, A_PROBABILITY, A_RATE, A_TIME, A_WINDOW, AN_AMOUNT, Expected,
    Problem,
};
use read::{
    read_bytes, read_limit, read_packet_rate, read_probability, read_range, read_rate,
    read_segments, read_span, read_window,
};
use write::{
    write_bytes, write_limit, write_packets, write_probability, write_rate, write_span,
    write_whole, write_window,
};

pub use crate::unit_table::{cut, unit_at};
pub use write::shown;

/// A number of segments or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segments(pub u32);

/// A rate in packets per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PacketRate(pub f64);

impl HasZero for PacketRate {
    const TOO_SMALL: &'static str = "low";
    fn is_zero(&self) -> bool {
        self.0 <= 0.0
    }
}

/// A window: segments, bytes, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionalWindow {
    /// A number of segments.
    Segments(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// No limit.
    Unlimited,
}

impl OptionalWindow {
    /// Returns bytes, `None` for unlimited.
    pub fn bytes(self, mss: Bytes) -> Option<Bytes> {
        match self {
            OptionalWindow::Segments(n) => Some(Bytes(n.saturating_mul(mss.0))),
            OptionalWindow::Bytes(bytes) => Some(bytes),
            OptionalWindow::Unlimited => None,
        }
    }
}

/// A queue's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// The amount that the link sends in that time.
    Time(Span),
    /// No limit.
    Unlimited,
}

/// A range from `low` to `high`; equal for a fixed value. A start is drawn uniformly; an extra
/// delay is spread evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Lower end.
    pub low: Span,
    /// Upper end.
    pub high: Span,
}

/// The pattern of an expression: a name, a number in a unit of the path, or text with a sign.
/// Editors check no more of it; the engine computes it.
const EXPRESSION: &str = concat!(
    r"|^\s*[0-9._]*\s*(BDP|RTT)\s*$|^\s*[A-Za-z_][A-Za-z0-9_]*\s*$",
    r"|^[^+*×÷−(]+[+*×÷−(].+$|^.*\s[-/]\s.*$|^\s*\(.*$|[A-Za-z_)]\s*[-/]\s*[0-9(]"
);

/// Returns the JSON schema of a text with a unit.
fn with_unit(units: &[Units], word: Option<&str>) -> Value {
    let names: Vec<&str> = units
        .iter()
        .flat_map(|list| list.iter())
        .map(|(name, _)| *name)
        .collect();
    let word = word.map(|word| format!("|^{word}$")).unwrap_or_default();
    let pattern = format!(
        r"^\s*[0-9._eE+-]+\s*({})\s*${word}{EXPRESSION}",
        names.join("|")
    );
    json!({ "type": "string", "pattern": pattern })
}

/// Implements serde and schema for a quantity: one reader, one writer, one example.
macro_rules! quantity {
    (
        $type:ty,
        $name:literal,
        $read:expr,
        $write:expr,
        $schema:expr,
        $description:literal,
        $example:literal
    ) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn($type) -> String = $write;
                serializer.serialize_str(&write(*self))
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $read(&Value::deserialize(deserializer)?).map_err(Problem::carried)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({
                    "description": $description,
                    "examples": [$example]
                });
                if let Value::Object(constraints) = $schema {
                    schema.ensure_object().extend(constraints);
                }
                schema
            }
        }
    };
}

quantity!(
    Span,
    "Time",
    read_span,
    write_span,
    with_unit(&[TIME], None),
    "A time with its unit: ns, us, ms, s, min, h, d.",
    "35 ms"
);
quantity!(
    BitRate,
    "Rate",
    read_rate,
    write_rate,
    with_unit(&[RATE], None),
    "A rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s.",
    "45 Mbit/s"
);
quantity!(
    Bytes,
    "Data",
    read_bytes,
    write_bytes,
    with_unit(&[DATA], None),
    "An amount of data with its unit: bytes, kB, MB, GB, KiB, MiB, GiB.",
    "1000 bytes"
);
quantity!(
    Segments,
    "Packets",
    read_segments,
    |n| write_packets(n.0.into()),
    with_unit(&[COUNT], None),
    "A number of packets (or segments).",
    "10 packets"
);
quantity!(
    PacketRate,
    "PacketRate",
    read_packet_rate,
    |rate| format!("{} packets/s", rate.0),
    with_unit(&[PACKET_RATE], None),
    "A rate in packets per second.",
    "40 packets/s"
);
quantity!(
    Probability,
    "Probability",
    read_probability,
    write_probability,
    json!({
        "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": format!(r"^\s*[0-9._eE+-]+\s*%?\s*${EXPRESSION}") }
        ]
    }),
    "A probability: \"0.5 %\" or 0.005.",
    "0.5 %"
);
quantity!(
    OptionalWindow,
    "Window",
    read_window,
    write_window,
    with_unit(&[COUNT, DATA], Some("unlimited")),
    "A window in packets or bytes, or \"unlimited\".",
    "20 packets"
);
quantity!(
    QueueLimit,
    "QueueLimit",
    read_limit,
    write_limit,
    with_unit(&[COUNT, DATA, TIME], Some("unlimited")),
    "A queue limit in packets, bytes or time at the link's rate, or \"unlimited\".",
    "93 packets"
);

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.low == self.high {
            self.low.serialize(serializer)
        } else {
            [self.low, self.high].serialize(serializer)
        }
    }
}
impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_range(&Value::deserialize(deserializer)?).map_err(Problem::carried)
    }
}
impl JsonSchema for Range {
    fn schema_name() -> Cow<'static, str> {
        "TimeRange".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Span>();
        json_schema!({
            "description": "A time, or the smallest and the largest of several.",
            "examples": [["0 s", "1 s"]],
            "anyOf": [time, { "type": "array", "items": time, "minItems": 2, "maxItems": 2 }],
        })
    }
}

/// A type of field that holds a quantity, known by the name of its JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time.
    Time,
    /// A rate.
    Rate,
    /// An amount of data.
    Data,
    /// A number of packets or segments.
    Packets,
    /// A rate in packets per second.
    PacketRate,
    /// A probability.
    Probability,
    /// A window.
    Window,
    /// A queue's limit.
    QueueLimit,
}

impl Quantity {
    /// The quantity with a schema of that name.
    pub fn named(schema: &str) -> Option<Self> {
        Some(match schema {
            "Time" | "TimeRange" | "Stop" => Quantity::Time,
            "Rate" => Quantity::Rate,
            "Data" => Quantity::Data,
            "Packets" => Quantity::Packets,
            "PacketRate" => Quantity::PacketRate,
            "Probability" => Quantity::Probability,
            "Window" => Quantity::Window,
            "QueueLimit" => Quantity::QueueLimit,
            _ => return None,
        })
    }

    fn expected(self) -> &'static Expected {
        match self {
            Quantity::Time => &A_TIME,
            Quantity::Rate => &A_RATE,
            Quantity::Data => &AN_AMOUNT,
            Quantity::Packets => &A_NUMBER,
            Quantity::PacketRate => &A_PACKET_RATE,
            Quantity::Probability => &A_PROBABILITY,
            Quantity::Window => &A_WINDOW,
            Quantity::QueueLimit => &A_LIMIT,
        }
    }

    /// A text that such a field accepts.
    pub fn example(self) -> &'static str {
        self.expected().example
    }

    /// Formats an amount for such a field, rounded to a whole nanosecond, bit/s, byte or packet.
    pub fn written(self, amount: &Amount) -> Result<String, Fault> {
        let expected = self.expected();
        let dimensions = amount.dimension();
        let Some((dimension, base)) = dimensions.zip(amount.base()) else {
            let sentence = format!("is not {}, but a product of units", expected.noun);
            return Err(Fault::new(Code::WrongUnit, sentence));
        };
        if !expected.dimensions.contains(&dimension) {
            let (code, sentence) = match dimension {
                Dimension::Share => (Code::NoUnit, format!("gives {base}, which has no unit")),
                _ => {
                    let gives = shown(amount);
                    (
                        Code::WrongUnit,
                        format!("gives {gives}, which is not {}", expected.noun),
                    )
                }
            };
            let sentence = format!("{sentence}; for example \"{}\"", expected.example);
            return Err(Fault::new(code, sentence));
        }
        if !(0.0..=LARGEST).contains(&base) {
            let flaw = if base < 0.0 {
                "negative"
            } else {
                "out of range"
            };
            let sentence = format!("gives {}, which is {flaw}", shown(amount));
            return Err(Fault::new(Code::OutOfRange, sentence));
        }
        Ok(match dimension {
            Dimension::PacketRate => format!("{base} packets/s"),
            Dimension::Share => write_probability(Probability::new(base).ok_or_else(|| {
                let sentence = format!("gives {base}, which is not between 0 % and 100 %");
                Fault::new(Code::OutOfRange, sentence)
            })?),
            _ => write_whole(dimension, libm::round(base) as u64),
        })
    }
}
