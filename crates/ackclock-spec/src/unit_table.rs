//! Units, and how a text is cut into a number and a unit.

use crate::unit_spelling::Dimension;

/// Units: their notation, and their size in the base unit.
pub type Units = &'static [(&'static str, f64)];

/// Units of time, in nanoseconds.
pub const TIME: Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];
/// Units of rate, in bit/s.
pub const RATE: Units = &[
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
/// Units of data, in bytes.
pub const DATA: Units = &[
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
/// Units of packets and segments.
pub const COUNT: Units = &[
    ("packets", 1.0),
    ("packet", 1.0),
    ("segments", 1.0),
    ("segment", 1.0),
];

/// Units of packets per second.
pub const PACKET_RATE: Units = &[("packets/s", 1.0), ("packet/s", 1.0)];

/// All units, with their dimension.
const UNITS: [(Units, Dimension); 5] = [
    (TIME, Dimension::Time),
    (RATE, Dimension::Rate),
    (DATA, Dimension::Data),
    (COUNT, Dimension::Count),
    (PACKET_RATE, Dimension::PacketRate),
];

/// Largest value of an integer quantity that a run can hold.
pub const LARGEST: f64 = 9e18;

/// Returns whether one of these units has that notation.
pub fn has(units: Units, notation: &str) -> bool {
    units.iter().any(|(name, _)| *name == notation)
}

/// Returns whether a unit of any dimension has that notation.
pub fn is_unit(notation: &str) -> bool {
    UNITS.iter().any(|(units, _)| has(units, notation))
}

/// The longest unit that a text begins with, as a whole word, with its size in the base unit of its
/// dimension; a percentage counts as a share.
pub fn unit_at(text: &str) -> Option<(&'static str, f64, Dimension)> {
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

/// Returns the digits and the unit in `"45 Mbit/s"`; the space may be missing.
pub fn cut(text: &str) -> (String, &str) {
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
pub fn split(text: &str) -> Option<(f64, &str)> {
    let (digits, unit) = cut(text);
    Some((digits.parse().ok()?, unit))
}
