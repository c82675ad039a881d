//! The notation of quantities: `"45 Mbit/s"`, `"35 ms"`, `"93 packets"`, `"0.5 %"`. Every quantity
//! has its unit.

use super::Range;
use super::error::{Code, with_code};
use super::expression::{Amount, Fault, PATH_UNITS};
use super::unit_spelling::{Dimension, remedy};
use crate::units::{BitRate, Bytes, Probability, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A number of segments or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segments(pub u32);

/// A rate in packets per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PacketRate(pub f64);

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

/// Units: their notation, and their size in the base unit.
type Units = &'static [(&'static str, f64)];

const TIME: Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];
const RATE: Units = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];
const DATA: Units = &[
    ("bytes", 1.0),
    ("byte", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const COUNT: Units = &[
    ("packets", 1.0),
    ("packet", 1.0),
    ("segments", 1.0),
    ("segment", 1.0),
];

const PACKET_RATE: Units = &[("packets/s", 1.0), ("packet/s", 1.0)];

/// Largest value of an integer quantity that a run can hold.
const LARGEST: f64 = 9e18;

/// The error in a quantity. Its sentence begins with the value.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    code: Code,
    sentence: String,
}

/// A quantity, or the error in it.
type Read<T> = Result<T, Problem>;

impl Problem {
    fn new(code: Code, sentence: String) -> Self {
        Problem { code, sentence }
    }

    /// Converts to an error of serde, which [`Error::message`](super::error::Error::message) reads
    /// back.
    fn carried<E: serde::de::Error>(self) -> E {
        E::custom(with_code(self.code, &self.sentence))
    }
}

fn out_of_range(sentence: String) -> Problem {
    Problem::new(Code::OutOfRange, sentence)
}

/// All units, with their dimension.
const UNITS: [(Units, Dimension); 5] = [
    (TIME, Dimension::Time),
    (RATE, Dimension::Rate),
    (DATA, Dimension::Data),
    (COUNT, Dimension::Count),
    (PACKET_RATE, Dimension::PacketRate),
];

/// The longest unit that a text begins with, as a whole word, with its size in the base unit of its
/// dimension; a percentage counts as a share.
pub(super) fn unit_at(text: &str) -> Option<(&'static str, f64, Dimension)> {
    if text.starts_with('%') {
        return Some(("%", 0.01, Dimension::Share));
    }
    let is_whole = |name: &str| {
        let next = text[name.len()..].chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
    };
    let all = UNITS
        .iter()
        .flat_map(|(units, dimension)| units.iter().map(move |unit| (unit, dimension)));
    all.filter(|((name, _), _)| text.starts_with(name) && is_whole(name))
        .max_by_key(|((name, _), _)| name.len())
        .map(|((name, size), dimension)| (*name, *size, *dimension))
}

/// A type of field that holds a quantity, known by the name of its JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Time,
    Rate,
    Data,
    Packets,
    PacketRate,
    Probability,
    Window,
    QueueLimit,
}

impl Quantity {
    /// The quantity with a schema of that name.
    pub(super) fn named(schema: &str) -> Option<Self> {
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
    pub(super) fn example(self) -> &'static str {
        self.expected().example
    }

    /// Formats an amount for such a field, rounded to a whole nanosecond, bit/s, byte or packet.
    pub(super) fn written(self, amount: &Amount) -> Result<String, Fault> {
        let expected = self.expected();
        let found = amount.dimension();
        let Some((dimension, base)) = found.zip(amount.base()) else {
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
            let what = if base < 0.0 {
                "negative"
            } else {
                "out of range"
            };
            let sentence = format!("gives {}, which is {what}", shown(amount));
            return Err(Fault::new(Code::OutOfRange, sentence));
        }
        Ok(match dimension {
            Dimension::PacketRate => format!("{base} packets/s"),
            Dimension::Share => write_probability(Probability::new(base).ok_or_else(|| {
                let sentence = format!("gives {base}, which is not between 0 % and 100 %");
                Fault::new(Code::OutOfRange, sentence)
            })?),
            _ => whole(dimension, libm::round(base) as u64),
        })
    }
}

fn whole(dimension: Dimension, base: u64) -> String {
    match dimension {
        Dimension::Time => write_span(Span::from_nanos(base)),
        Dimension::Rate => write_rate(BitRate::from_bit_per_s(base)),
        Dimension::Data => write_bytes(Bytes(base)),
        _ => write_packets(base),
    }
}

/// Formats an amount for people, in a unit that keeps its number short.
pub(super) fn shown(amount: &Amount) -> String {
    let Some((dimension, base)) = amount.dimension().zip(amount.base()) else {
        return format!("{} of a product of units", amount.number);
    };
    let units: &[(&str, f64)] = match dimension {
        Dimension::Time => &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)],
        Dimension::Rate => &[
            ("Gbit/s", 1e9),
            ("Mbit/s", 1e6),
            ("kbit/s", 1e3),
            ("bit/s", 1.0),
        ],
        Dimension::Data => &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0)],
        Dimension::Count => &[("packets", 1.0)],
        Dimension::PacketRate => &[("packets/s", 1.0)],
        Dimension::Share => &[("", 1.0)],
    };
    let fits = units.iter().find(|(_, size)| base.abs() >= *size);
    let (name, size) = fits.unwrap_or(&units[units.len() - 1]);
    // Six significant digits: a product of decimals shows no rounding error.
    let number = base / size;
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    format!("{rounded} {name}").trim_end().into()
}

/// Returns the digits and the unit in `"45 Mbit/s"`; the space may be missing.
pub(super) fn cut(text: &str) -> (String, &str) {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(at, c)| {
            let exponent_sign =
                (c == '-' || c == '+') && (at == 0 || text[..at].ends_with(['e', 'E']));
            let exponent = (c == 'e' || c == 'E')
                && text[at + 1..]
                    .starts_with(|next: char| next.is_ascii_digit() || next == '-' || next == '+');
            !(c.is_ascii_digit() || c == '.' || c == '_' || exponent || exponent_sign)
        })
        .map_or(text.len(), |(at, _)| at);
    (text[..end].replace('_', ""), text[end..].trim())
}

/// Returns the number and the unit in `"45 Mbit/s"`.
fn split(text: &str) -> Option<(f64, &str)> {
    let (digits, unit) = cut(text);
    Some((digits.parse().ok()?, unit))
}

/// A kind of quantity, for its errors: what it is, what it measures, an example.
struct Expected {
    noun: &'static str,
    dimensions: &'static [Dimension],
    example: &'static str,
}

const A_TIME: Expected = Expected {
    noun: "a time",
    dimensions: &[Dimension::Time],
    example: "35 ms",
};
const A_RATE: Expected = Expected {
    noun: "a rate",
    dimensions: &[Dimension::Rate],
    example: "45 Mbit/s",
};
const AN_AMOUNT: Expected = Expected {
    noun: "an amount of data",
    dimensions: &[Dimension::Data],
    example: "1000 bytes",
};
const A_NUMBER: Expected = Expected {
    noun: "a number of packets",
    dimensions: &[Dimension::Count],
    example: "10 packets",
};
const A_PACKET_RATE: Expected = Expected {
    noun: "a rate in packets per second",
    dimensions: &[Dimension::PacketRate],
    example: "40 packets/s",
};
const A_PROBABILITY: Expected = Expected {
    noun: "a probability",
    dimensions: &[Dimension::Share],
    example: "0.5 %",
};
const A_WINDOW: Expected = Expected {
    noun: "a window in packets or bytes",
    dimensions: &[Dimension::Count, Dimension::Data],
    example: "20 packets",
};
const A_LIMIT: Expected = Expected {
    noun: "a queue limit in packets, bytes or time",
    dimensions: &[Dimension::Count, Dimension::Data, Dimension::Time],
    example: "93 packets",
};

impl Expected {
    /// The example with the number that was written: 45 has no unit, for example "45 packets".
    fn with_number(&self, number: &str) -> String {
        let unit = cut(self.example).1;
        format!("for example \"{number} {unit}\"")
    }

    fn problem(&self, code: Code, what: &str) -> Problem {
        let example = self.example;
        Problem::new(code, format!("{what}; for example \"{example}\""))
    }

    /// `value` has a unit that does not fit: a misspelled one, one of another dimension, none.
    fn wrong_unit(&self, value: &Value, digits: &str, unit: &str) -> Problem {
        if let Some(remedy) = remedy(digits, unit, self.dimensions) {
            let sentence = format!("{value} has an unknown unit; {remedy}");
            return Problem::new(Code::WrongUnit, sentence);
        }
        let spelled = PATH_UNITS
            .iter()
            .find(|name| unit.eq_ignore_ascii_case(name));
        if let Some(name) = spelled {
            let sentence =
                format!("{value} has an unknown unit; did you mean \"{digits} {name}\"?");
            return Problem::new(Code::WrongUnit, sentence);
        }
        let mut all = [TIME, RATE, DATA, COUNT, PACKET_RATE].into_iter().flatten();
        let what = if all.any(|(name, _)| *name == unit) {
            format!("{value} is not {}", self.noun)
        } else {
            format!("{value} has an unknown unit")
        };
        self.problem(Code::WrongUnit, &what)
    }
}

/// Reads a quantity in one of several units and returns a multiple of the base unit.
fn read(value: &Value, units: &[Units], expected: &Expected) -> Read<f64> {
    let not_one = || {
        let what = format!("{value} is not {}", expected.noun);
        expected.problem(Code::WrongType, &what)
    };
    let no_unit = |number: &str| {
        let example = expected.with_number(number);
        Problem::new(Code::NoUnit, format!("{value} has no unit; {example}"))
    };
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => return Err(no_unit(&number.to_string())),
        _ => return Err(not_one()),
    };
    let (digits, unit) = cut(text);
    let Ok(number) = digits.parse::<f64>() else {
        return Err(not_one());
    };
    if unit.is_empty() {
        return Err(no_unit(&digits));
    }
    let mut known = units.iter().flat_map(|list| list.iter());
    let Some((_, size)) = known.find(|(name, _)| *name == unit) else {
        return Err(expected.wrong_unit(value, &digits, unit));
    };
    let amount = number * size;
    if !(0.0..=LARGEST).contains(&amount) {
        let what = if number < 0.0 {
            format!("{value} is negative")
        } else {
            format!("{value} is out of range")
        };
        return Err(expected.problem(Code::OutOfRange, &what));
    }
    Ok(amount)
}

/// Reads a quantity that is stored as a whole number of base units, rounded. A quantity written as
/// a whole number is exact to the last digit, beyond the 53 bits of floating point.
fn read_whole(value: &Value, units: Units, expected: &Expected) -> Read<u64> {
    let amount = read(value, &[units], expected)?;
    let exact = value.as_str().map(cut).and_then(|(digits, unit)| {
        let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
        digits.parse::<u64>().ok()?.checked_mul(*size as u64)
    });
    Ok(exact.unwrap_or(libm::round(amount) as u64))
}

/// Formats an integer amount in the largest unit that keeps it whole.
fn write(amount: u64, units: &[(&str, u64)]) -> String {
    let (name, size) = units
        .iter()
        .find(|(_, size)| amount != 0 && amount.is_multiple_of(*size))
        .unwrap_or(&units[units.len() - 1]);
    format!("{} {name}", amount / size)
}

fn write_span(span: Span) -> String {
    if span.as_nanos() == 0 {
        return "0 s".into();
    }
    write(
        span.as_nanos(),
        &[
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
        ],
    )
}
fn write_rate(rate: BitRate) -> String {
    write(
        rate.as_bit_per_s(),
        &[
            ("Gbit/s", 1_000_000_000),
            ("Mbit/s", 1_000_000),
            ("kbit/s", 1_000),
            ("bit/s", 1),
        ],
    )
}
fn write_packets(count: u64) -> String {
    if count == 1 {
        "1 packet".into()
    } else {
        format!("{count} packets")
    }
}
fn write_bytes(bytes: Bytes) -> String {
    format!("{} bytes", bytes.0)
}

/// Range of a rate that is not zero: 1 kbit/s to 10 Tbit/s.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=10_000_000_000_000;

fn read_span(value: &Value) -> Read<Span> {
    read_whole(value, TIME, &A_TIME).map(Span::from_nanos)
}
fn read_rate(value: &Value) -> Read<BitRate> {
    let rate = read_whole(value, RATE, &A_RATE)?;
    if rate != 0 && !RATES.contains(&rate) {
        return Err(out_of_range(format!(
            "{value} is out of range; choose 1 kbit/s to 10 Tbit/s, or 0 bit/s for a link that is \
            down"
        )));
    }
    Ok(BitRate::from_bit_per_s(rate))
}
fn read_bytes(value: &Value) -> Read<Bytes> {
    read_whole(value, DATA, &AN_AMOUNT).map(Bytes)
}
fn read_segments(value: &Value) -> Read<Segments> {
    let count = read(value, &[COUNT], &A_NUMBER)?;
    if libm::trunc(count) != count || count > f64::from(u32::MAX) {
        return Err(out_of_range(format!(
            "{value} is not a whole number; for example \"10 packets\""
        )));
    }
    Ok(Segments(count as u32))
}
fn read_packet_rate(value: &Value) -> Read<PacketRate> {
    read(value, &[PACKET_RATE], &A_PACKET_RATE).map(PacketRate)
}
fn read_probability(value: &Value) -> Read<Probability> {
    let example = "for example \"0.5 %\" or 0.005";
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match split(text) {
            Some((number, "%")) => Some(number / 100.0),
            Some((number, "")) => Some(number),
            _ => None,
        },
        _ => None,
    };
    let number = number.ok_or_else(|| {
        let meant = value.as_str().map(cut).and_then(|(digits, unit)| {
            digits.parse::<f64>().ok()?;
            remedy(&digits, unit, &[Dimension::Share])
        });
        let remedy = meant.unwrap_or_else(|| example.into());
        Problem::new(
            Code::WrongType,
            format!("{value} is not a probability; {remedy}"),
        )
    })?;
    Probability::new(number)
        .ok_or_else(|| out_of_range(format!("{value} is not between 0 % and 100 %; {example}")))
}
fn read_window(value: &Value) -> Read<OptionalWindow> {
    match value.as_str().and_then(split) {
        _ if value.as_str() == Some("unlimited") => Ok(OptionalWindow::Unlimited),
        Some((_, unit)) if COUNT.iter().any(|(name, _)| *name == unit) => {
            read_segments(value).map(|n| OptionalWindow::Segments(n.0.into()))
        }
        _ => read_whole(value, DATA, &A_WINDOW).map(|bytes| OptionalWindow::Bytes(Bytes(bytes))),
    }
}
fn read_limit(value: &Value) -> Read<QueueLimit> {
    let unit_in = |units: Units| {
        value
            .as_str()
            .and_then(split)
            .is_some_and(|(_, unit)| units.iter().any(|(name, _)| *name == unit))
    };
    if value.as_str() == Some("unlimited") {
        return Ok(QueueLimit::Unlimited);
    }
    if unit_in(TIME) {
        return read_span(value).map(QueueLimit::Time);
    }
    if unit_in(DATA) {
        return read_bytes(value).map(QueueLimit::Bytes);
    }
    let packets = read(value, &[COUNT], &A_LIMIT)?;
    if libm::trunc(packets) != packets {
        return Err(out_of_range(format!(
            "{value} is not a whole number; for example \"93 packets\""
        )));
    }
    Ok(QueueLimit::Packets(read_whole(value, COUNT, &A_LIMIT)?))
}
fn read_range(value: &Value) -> Read<Range> {
    let Value::Array(ends) = value else {
        return read_span(value).map(|span| Range {
            low: span,
            high: span,
        });
    };
    let [low, high] = &ends[..] else {
        return Err(Problem::new(
            Code::WrongType,
            format!("{value} does not have two ends; for example [\"0 s\", \"1 s\"]"),
        ));
    };
    let (low, high) = (read_span(low)?, read_span(high)?);
    if low > high {
        return Err(out_of_range(format!(
            "{value} has the larger time first; swap the two"
        )));
    }
    Ok(Range { low, high })
}

/// Formats in percent if that reads back as the same number, else as the number.
fn write_probability(probability: Probability) -> String {
    let number = probability.get();
    // Moves the decimal point. Multiplying by 100 would round: 0.07 must become 7 %.
    let scientific = format!("{number:e}");
    let percent: f64 = scientific
        .split_once('e')
        .and_then(|(mantissa, exponent)| {
            let exponent: i32 = exponent.parse().ok()?;
            format!("{mantissa}e{}", exponent + 2).parse().ok()
        })
        .unwrap_or(number * 100.0);
    if percent / 100.0 == number {
        format!("{percent} %")
    } else {
        format!("{number}")
    }
}

fn write_window(window: OptionalWindow) -> String {
    match window {
        OptionalWindow::Segments(n) => write_packets(n),
        OptionalWindow::Bytes(bytes) => write_bytes(bytes),
        OptionalWindow::Unlimited => "unlimited".into(),
    }
}
fn write_limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(n) => write_packets(n),
        QueueLimit::Bytes(bytes) => write_bytes(bytes),
        QueueLimit::Time(span) => write_span(span),
        QueueLimit::Unlimited => "unlimited".into(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read_and_written_back() {
        for (text, nanos) in [
            ("35 ms", 35_000_000),
            ("1.5s", 1_500_000_000),
            ("2e-3 s", 2_000_000),
            ("100 years", 0),
        ] {
            let span = read_span(&json!(text));
            if nanos == 0 {
                assert!(span.is_err());
            } else {
                assert_eq!(span, Ok(Span::from_nanos(nanos)));
                assert_eq!(read_span(&json!(write_span(Span::from_nanos(nanos)))), span);
            }
        }
        assert_eq!(
            read_rate(&json!("50 kB/s")),
            Ok(BitRate::from_bit_per_s(400_000))
        );
        assert_eq!(
            read_limit(&json!("20 ms")),
            Ok(QueueLimit::Time(Span::from_millis(20)))
        );
        assert_eq!(
            read_limit(&json!("64 KiB")),
            Ok(QueueLimit::Bytes(Bytes(65_536)))
        );
        assert_eq!(read_probability(&json!("0.5 %")).unwrap().get(), 0.005);
    }

    #[test]
    fn what_is_wrong_with_a_quantity_has_a_code() {
        for (written, code) in [
            (json!("45"), Code::NoUnit),
            (json!(45), Code::NoUnit),
            (json!("45 ms"), Code::WrongUnit),
            (json!("fast"), Code::WrongType),
            (json!(true), Code::WrongType),
            (json!("-1 Mbit/s"), Code::OutOfRange),
            (json!("1 bit/s"), Code::OutOfRange),
        ] {
            let problem = read_rate(&written).unwrap_err();
            assert_eq!(problem.code, code, "{written}");
            assert!(
                problem.sentence.starts_with(&written.to_string()),
                "{written}"
            );
        }
        assert!(read_span(&json!("NaN s")).is_err());
    }

    #[test]
    fn a_range_is_one_time_or_two() {
        let seconds = |low, high| Range {
            low: Span::from_seconds(low),
            high: Span::from_seconds(high),
        };
        assert_eq!(read_range(&json!("2 s")), Ok(seconds(2.0, 2.0)));
        assert_eq!(read_range(&json!(["1 s", "2 s"])), Ok(seconds(1.0, 2.0)));
        assert_eq!(
            serde_json::to_value(seconds(1.0, 2.0)).unwrap(),
            json!(["1 s", "2 s"])
        );
        assert_eq!(
            serde_json::to_value(seconds(2.0, 2.0)).unwrap(),
            json!("2 s")
        );
        let code = |written| read_range(&written).unwrap_err().code;
        assert_eq!(code(json!(["2 s", "1 s"])), Code::OutOfRange);
        assert_eq!(code(json!(["2 s"])), Code::WrongType);
        assert_eq!(code(json!(["0 s", 1])), Code::NoUnit);
    }

    #[test]
    fn a_probability_is_written_as_people_write_it() {
        for (number, text) in [
            (0.005, "0.5 %"),
            (0.07, "7 %"),
            (1.0, "100 %"),
            (0.0, "0 %"),
            (0.001, "0.1 %"),
        ] {
            assert_eq!(write_probability(Probability::new(number).unwrap()), text);
        }
    }

    fn round_trips<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(
        value: T,
    ) {
        let written = serde_json::to_value(&value).unwrap();
        assert_eq!(serde_json::from_value::<T>(written).unwrap(), value);
    }

    proptest! {
        /// Every quantity reads back as it was written, to the last bit.
        #[test]
        fn every_quantity_reads_back(
            amount in 0..9_000_000_000_000_000_000_u64,
            count: u32,
            p in 0.0..=1.0_f64
        ) {
            round_trips(Span::from_nanos(amount));
            round_trips(Bytes(amount));
            round_trips(
                BitRate::from_bit_per_s(RATES.start() + amount % (RATES.end() - RATES.start()))
            );
            round_trips(Segments(count));
            round_trips(OptionalWindow::Segments(count.into()));
            round_trips(OptionalWindow::Bytes(Bytes(amount)));
            round_trips(QueueLimit::Packets(amount));
            round_trips(QueueLimit::Time(Span::from_nanos(amount)));
            round_trips(Probability::new(p).unwrap());
            round_trips(Probability::new(p * 1e-12).unwrap());
        }
    }
}
