//! Reading of quantities.

use super::Range;
use super::expected::{
    A_LIMIT, A_NUMBER, A_PACKET_RATE, A_RATE, A_TIME, A_WINDOW, AN_AMOUNT, Expected, Problem, Read,
    out_of_range,
};
use super::{OptionalWindow, PacketRate, QueueLimit, Segments};
use crate::error::Code;
use crate::unit_spelling::{Dimension, remedy};
use crate::unit_table::{COUNT, DATA, LARGEST, PACKET_RATE, RATE, TIME, Units, cut, has, split};
use crate::units::{BitRate, Bytes, Probability, Span};
use serde_json::Value;

/// Reads a quantity in one of several units and returns a multiple of the base unit.
fn read(value: &Value, units: &[Units], expected: &Expected) -> Read<f64> {
    let not_one = || {
        let sentence = format!("{value} is not {}", expected.noun);
        expected.problem(Code::WrongType, &sentence)
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
    let mut listed = units.iter().flat_map(|list| list.iter());
    let Some((_, size)) = listed.find(|(name, _)| *name == unit) else {
        return Err(expected.wrong_unit(value, &digits, unit));
    };
    let amount = number * size;
    if !(0.0..=LARGEST).contains(&amount) {
        let sentence = if number < 0.0 {
            format!("{value} is negative")
        } else {
            format!("{value} is out of range")
        };
        return Err(expected.problem(Code::OutOfRange, &sentence));
    }
    Ok(amount)
}

/// Reads a quantity that is stored as a whole number of base units, rounded. A quantity written as
/// a whole number is exact to the last digit, beyond the 53 bits of floating point.
pub(super) fn read_whole(value: &Value, units: Units, expected: &Expected) -> Read<u64> {
    let amount = read(value, &[units], expected)?;
    let exact = value.as_str().map(cut).and_then(|(digits, unit)| {
        let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
        digits.parse::<u64>().ok()?.checked_mul(*size as u64)
    });
    Ok(exact.unwrap_or(libm::round(amount) as u64))
}

/// Range of a rate that is not zero: 1 kbit/s to 10 Tbit/s.
pub(super) const RATES: std::ops::RangeInclusive<u64> = 1_000..=10_000_000_000_000;

pub(super) fn read_span(value: &Value) -> Read<Span> {
    read_whole(value, TIME, &A_TIME).map(Span::from_nanos)
}
pub(super) fn read_rate(value: &Value) -> Read<BitRate> {
    let rate = read_whole(value, RATE, &A_RATE)?;
    if rate != 0 && !RATES.contains(&rate) {
        return Err(out_of_range(format!(
            "{value} is out of range; choose 1 kbit/s to 10 Tbit/s, or 0 bit/s for a link that is \
            down"
        )));
    }
    Ok(BitRate::from_bit_per_s(rate))
}
pub(super) fn read_bytes(value: &Value) -> Read<Bytes> {
    read_whole(value, DATA, &AN_AMOUNT).map(Bytes)
}
pub(super) fn read_segments(value: &Value) -> Read<Segments> {
    let count = read(value, &[COUNT], &A_NUMBER)?;
    if libm::trunc(count) != count || count > f64::from(u32::MAX) {
        return Err(out_of_range(format!(
            "{value} is not a whole number; for example \"10 packets\""
        )));
    }
    Ok(Segments(count as u32))
}
pub(super) fn read_packet_rate(value: &Value) -> Read<PacketRate> {
    read(value, &[PACKET_RATE], &A_PACKET_RATE).map(PacketRate)
}
pub(super) fn read_probability(value: &Value) -> Read<Probability> {
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
pub(super) fn read_window(value: &Value) -> Read<OptionalWindow> {
    match value.as_str().and_then(split) {
        _ if value.as_str() == Some("unlimited") => Ok(OptionalWindow::Unlimited),
        Some((_, unit)) if has(COUNT, unit) => {
            read_segments(value).map(|n| OptionalWindow::Segments(n.0.into()))
        }
        _ => read_whole(value, DATA, &A_WINDOW).map(|bytes| OptionalWindow::Bytes(Bytes(bytes))),
    }
}
pub(super) fn read_limit(value: &Value) -> Read<QueueLimit> {
    let unit_in = |units: Units| {
        value
            .as_str()
            .and_then(split)
            .is_some_and(|(_, unit)| has(units, unit))
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
pub(super) fn read_range(value: &Value) -> Read<Range> {
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
