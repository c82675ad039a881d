//! Units as people write them: what somebody who wrote `10 Mbps` or `1 KB` may have meant.
//!
//! Nothing here is accepted; an error suggests it. Bits and bytes are never taken for each other:
//! where the spelling leaves open which is meant, both are suggested, and told apart.

/// A kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// `35 ms`
    Time,
    /// `45 Mbit/s`
    Rate,
    /// `1500 bytes`
    Data,
    /// `93 packets`
    Count,
    /// `40 packets/s`
    PacketRate,
    /// `0.5 %`
    Share,
}

/// Spellings in lower case without spaces, and the unit.
type Spellings = &'static [(&'static [&'static str], &'static str)];

const TIMES: Spellings = &[
    (
        &["ns", "nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"],
        "ns",
    ),
    (
        &[
            "us",
            "μs",
            "µs",
            "usec",
            "usecs",
            "µsec",
            "μsec",
            "microsecond",
            "microseconds",
            "micros",
        ],
        "us",
    ),
    (
        &[
            "ms",
            "msec",
            "msecs",
            "millisecond",
            "milliseconds",
            "millis",
        ],
        "ms",
    ),
    (&["s", "sec", "secs", "second", "seconds"], "s"),
    (&["m", "min", "mins", "minute", "minutes"], "min"),
    (&["h", "hr", "hrs", "hour", "hours"], "h"),
    (&["d", "day", "days"], "d"),
];
const COUNTS: Spellings = &[
    (
        &[
            "p", "pkt", "pkts", "pckt", "pckts", "pack", "packs", "packet", "packets", "frame",
            "frames",
        ],
        "packets",
    ),
    (&["seg", "segs", "segment", "segments", "mss"], "segments"),
];
const PACKET_RATES: Spellings = &[(
    &[
        "pps",
        "p/s",
        "pkt/s",
        "pkts/s",
        "pkt/sec",
        "pkts/sec",
        "packet/s",
        "packets/s",
        "packet/sec",
        "packets/sec",
        "packets/second",
        "packetspersecond",
        "segment/s",
        "segments/s",
    ],
    "packets/s",
)];
const SHARES: Spellings = &[(
    &["%", "percent", "pct", "percentage", "percents", "p.c."],
    "%",
)];

/// Endings of a rate, the longest first.
const PER_SECOND: [&str; 7] = [
    "persecond",
    "persec",
    "/second",
    "/secs",
    "/sec",
    "/s",
    "ps",
];
/// Prefixes with the one that is written.
const PREFIXES: [(&str, &str); 8] = [
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
    ("k", "k"),
    ("m", "M"),
    ("g", "G"),
    ("t", "T"),
];

/// Bits or bytes, as far as a spelling tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Bits,
    Bytes,
    Either,
    Unsaid,
}

/// A unit of data or of a rate, taken apart.
#[derive(Clone, Copy, Debug)]
struct Data {
    prefix: &'static str,
    /// `KB`: a thousand bytes to some, 1024 to others.
    capital_k: bool,
    /// `KiB`
    binary: bool,
    amount: Amount,
    per_second: bool,
}

/// A remedy for a quantity whose unit is unknown: `did you mean "10 Mbit/s"?`. None if nothing of
/// these dimensions is near.
pub fn remedy(number: &str, unit: &str, dimensions: &[Dimension]) -> Option<String> {
    let meant: Vec<String> = dimensions
        .iter()
        .flat_map(|dimension| candidates(number, unit, *dimension))
        .collect();
    match &meant[..] {
        [] => None,
        meant => Some(format!("did you mean {}?", meant.join(" or "))),
    }
}

fn candidates(number: &str, unit: &str, dimension: Dimension) -> Vec<String> {
    let plain: String = unit.split_whitespace().collect();
    match dimension {
        Dimension::Time => named(number, &plain, TIMES),
        Dimension::Count => named(number, &plain, COUNTS),
        Dimension::PacketRate => named(number, &plain, PACKET_RATES),
        Dimension::Share => named(number, &plain, SHARES),
        Dimension::Rate => rates(number, &plain),
        Dimension::Data => data(number, &plain),
    }
}

fn named(number: &str, unit: &str, spellings: Spellings) -> Vec<String> {
    let unit = unit.to_lowercase();
    spellings
        .iter()
        .filter(|(spelled, _)| spelled.contains(&unit.as_str()))
        .map(|(_, unit)| format!("\"{number} {unit}\""))
        .collect()
}

fn rates(number: &str, unit: &str) -> Vec<String> {
    let Some(data) = taken_apart(unit).filter(|data| !data.binary) else {
        return Vec::new();
    };
    let bits = format!("\"{number} {}bit/s\"", data.prefix);
    let bytes = format!("\"{number} {}B/s\"", data.prefix);
    match data.amount {
        Amount::Bits | Amount::Unsaid => vec![bits],
        Amount::Bytes if data.per_second => vec![bytes],
        Amount::Bytes | Amount::Either => {
            vec![format!("{bits} (bits)"), format!("{bytes} (bytes)")]
        }
    }
}

fn data(number: &str, unit: &str) -> Vec<String> {
    let Some(data) = taken_apart(unit).filter(|data| !data.per_second) else {
        return Vec::new();
    };
    let written = |number: &str| match (data.prefix, data.binary) {
        ("", _) => format!("\"{number} bytes\""),
        ("k", true) => format!("\"{number} KiB\""),
        (prefix, true) => format!("\"{number} {prefix}iB\""),
        (prefix, false) => format!("\"{number} {prefix}B\""),
    };
    let bytes = written(number);
    let eighth = || {
        written(
            &number
                .parse::<f64>()
                .map_or("…".into(), |bits| format!("{}", bits / 8.0)),
        )
    };
    match data.amount {
        Amount::Bits => vec![eighth()],
        Amount::Either => vec![format!("{bytes} (bytes)"), format!("{} (bits)", eighth())],
        Amount::Bytes | Amount::Unsaid if data.capital_k && !data.binary => vec![
            format!("{bytes} (1000 bytes each)"),
            format!("\"{number} KiB\" (1024 bytes each)"),
        ],
        Amount::Bytes | Amount::Unsaid => vec![bytes],
    }
}

/// The parts of `Mbps`, `KB`, `mbit/sec`, `megabytes`.
fn taken_apart(unit: &str) -> Option<Data> {
    let lower = unit.to_lowercase();
    let ending = PER_SECOND.iter().find(|ending| lower.ends_with(**ending));
    let body = &lower[..lower.len() - ending.map_or(0, |ending| ending.len())];
    if !body.is_ascii() {
        return None;
    }
    let (prefix, spelled) = PREFIXES
        .iter()
        .find(|(spelled, _)| body.starts_with(spelled))
        .map_or(("", ""), |(spelled, prefix)| (*prefix, *spelled));
    let noun = &body[spelled.len()..];
    let binary = noun.starts_with('i') && spelled.len() == 1;
    let noun = if binary { &noun[1..] } else { noun };
    let amount = match noun {
        "" if prefix.is_empty() => return None,
        "" => Amount::Unsaid,
        "bit" | "bits" => Amount::Bits,
        "byte" | "bytes" | "octet" | "octets" => Amount::Bytes,
        "b" if binary => Amount::Bytes,
        "b" => {
            let shouted = unit.chars().all(|c| !c.is_lowercase());
            match unit.chars().nth(body.len() - 1) {
                Some('B') if ending == Some(&"ps") && shouted => Amount::Either,
                Some('B') => Amount::Bytes,
                _ if ending.is_some() => Amount::Bits,
                _ => Amount::Either,
            }
        }
        _ => return None,
    };
    Some(Data {
        prefix,
        capital_k: unit.starts_with('K') && spelled.len() == 1,
        binary,
        amount,
        per_second: ending.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood_as_people_write_them() {
        use Dimension::{Count, Data, PacketRate, Rate, Share, Time};
        for (dimension, number, unit, meant) in [
            (Rate, "10", "Mbps", r#"did you mean "10 Mbit/s"?"#),
            (Rate, "10", "Mb/s", r#"did you mean "10 Mbit/s"?"#),
            (Rate, "10", "mbps", r#"did you mean "10 Mbit/s"?"#),
            (Rate, "10", "Mbits/sec", r#"did you mean "10 Mbit/s"?"#),
            (Rate, "10", "Mbit", r#"did you mean "10 Mbit/s"?"#),
            (Rate, "10", "M", r#"did you mean "10 Mbit/s"?"#),
            (
                Rate,
                "1.5",
                "gigabits per second",
                r#"did you mean "1.5 Gbit/s"?"#,
            ),
            (Rate, "10", "MBps", r#"did you mean "10 MB/s"?"#),
            (Rate, "10", "KB/s", r#"did you mean "10 kB/s"?"#),
            (
                Rate,
                "10",
                "MBPS",
                r#"did you mean "10 Mbit/s" (bits) or "10 MB/s" (bytes)?"#,
            ),
            (
                Rate,
                "10",
                "MB",
                r#"did you mean "10 Mbit/s" (bits) or "10 MB/s" (bytes)?"#,
            ),
            (Time, "5", "secs", r#"did you mean "5 s"?"#),
            (Time, "5", "Minutes", r#"did you mean "5 min"?"#),
            (Time, "5", "μs", r#"did you mean "5 us"?"#),
            (
                Data,
                "1",
                "KB",
                r#"did you mean "1 kB" (1000 bytes each) or "1 KiB" (1024 bytes each)?"#,
            ),
            (Data, "64", "kib", r#"did you mean "64 KiB"?"#),
            (Data, "3", "mbytes", r#"did you mean "3 MB"?"#),
            (
                Data,
                "64",
                "Mb",
                r#"did you mean "64 MB" (bytes) or "8 MB" (bits)?"#,
            ),
            (Data, "64", "kbit", r#"did you mean "8 kB"?"#),
            (Count, "100", "pkts", r#"did you mean "100 packets"?"#),
            (PacketRate, "100", "pps", r#"did you mean "100 packets/s"?"#),
            (Share, "5", "percent", r#"did you mean "5 %"?"#),
        ] {
            assert_eq!(
                remedy(number, unit, &[dimension]).as_deref(),
                Some(meant),
                "{number} {unit}"
            );
        }
        for (unit, dimension) in [
            ("ms", Rate),
            ("furlongs", Time),
            ("Mbit/s", Data),
            ("", Rate),
            ("é", Data),
            ("Mibit/s", Rate),
        ] {
            assert_eq!(remedy("1", unit, &[dimension]), None, "{unit}");
        }
    }
}
