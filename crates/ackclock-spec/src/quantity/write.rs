//! Writing of quantities.

use super::{OptionalWindow, QueueLimit};
use crate::expression::Amount;
use crate::unit_spelling::Dimension;
use crate::units::{BitRate, Bytes, Probability, Span};

/// Formats an integer amount in the largest unit that keeps it whole.
fn write(amount: u64, units: &[(&str, u64)]) -> String {
    let (name, size) = units
        .iter()
        .find(|(_, size)| amount != 0 && amount.is_multiple_of(*size))
        .unwrap_or(&units[units.len() - 1]);
    format!("{} {name}", amount / size)
}

pub(super) fn write_span(span: Span) -> String {
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
pub(super) fn write_rate(rate: BitRate) -> String {
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
pub(super) fn write_packets(count: u64) -> String {
    if count == 1 {
        "1 packet".into()
    } else {
        format!("{count} packets")
    }
}
pub(super) fn write_bytes(bytes: Bytes) -> String {
    format!("{} bytes", bytes.0)
}

/// Formats in percent if that reads back as the same number, else as the number.
pub(super) fn write_probability(probability: Probability) -> String {
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

pub(super) fn write_window(window: OptionalWindow) -> String {
    match window {
        OptionalWindow::Segments(n) => write_packets(n),
        OptionalWindow::Bytes(bytes) => write_bytes(bytes),
        OptionalWindow::Unlimited => "unlimited".into(),
    }
}
pub(super) fn write_limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(n) => write_packets(n),
        QueueLimit::Bytes(bytes) => write_bytes(bytes),
        QueueLimit::Time(span) => write_span(span),
        QueueLimit::Unlimited => "unlimited".into(),
    }
}

/// Formats a whole number of base units: nanoseconds, bit/s, bytes or packets.
pub(super) fn write_whole(dimension: Dimension, base: u64) -> String {
    match dimension {
        Dimension::Time => write_span(Span::from_nanos(base)),
        Dimension::Rate => write_rate(BitRate::from_bit_per_s(base)),
        Dimension::Data => write_bytes(Bytes(base)),
        _ => write_packets(base),
    }
}

/// Formats an amount for people, in a unit that keeps its number short.
pub fn shown(amount: &Amount) -> String {
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
