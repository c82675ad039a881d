//! A delay that was measured: probes of a satellite path, as published.

use super::facts::ImpairmentFacts;
use super::{Applies, Impairment, ImpairmentKind, Overtaking, Side, Verdict};
use crate::packet::Packet;
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::{all_lines, read_checked};
use ackclock_spec::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// Parameters. The extra delay is added to the hop's delay, after the link. It is what a probe took
/// beyond the smallest of the file, since the clocks of both ends may differ; the hop's delay is
/// the rest. Each holds until the next probe.
///
/// The files are those that the scripts of LENS, a dataset of Starlink, make of its recordings. The
/// first line names the columns. `lens_irtt` has `timestamp,rtt,uplink,downlink`, in nanoseconds
/// and milliseconds. There, −1 is a probe that was lost in the direction of its column. In `rtt` it
/// was lost in one that is not known. `lens_ping` has `timestamp,rtt`, in seconds and milliseconds,
/// without lost probes. A direction has half of the round trip. The files are not shipped: their
/// licence is the GPL.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "file": "traces/irtt.csv", "format": "lens_irtt" }))]
#[schemars(example = json!({
    "file": "traces/irtt.csv", "format": "lens_irtt", "direction": "down", "drops": true
}))]
pub struct MeasuredDelay {
    /// Name of the file.
    pub file: String,
    /// Format of the file.
    pub format: Format,
    /// Direction of the probes that is taken.
    #[serde(default)]
    pub direction: Direction,
    /// True if packets are lost while probes of the direction were. One lost in a direction that is
    /// not known was lost upwards.
    #[serde(default)]
    pub drops: bool,
    /// True if the recording begins again after its end; otherwise its last delay holds for ever.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// Permission for a packet to overtake another when the delay falls.
    #[serde(default = "forbidden")]
    pub reordering: Overtaking,
    /// Packets to which it applies.
    #[serde(default = "Applies::data")]
    pub applies: Applies,
    /// Digest of the file's text (FNV-1a, 64 bits), filled in when the file is read. If given, the
    /// file must match it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip)]
    recording: Recording,
}

const fn yes() -> bool {
    true
}
const fn forbidden() -> Overtaking {
    Overtaking::Forbidden
}

/// Format of a file of measured delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Probes of IRTT in the dataset LENS: both directions.
    LensIrtt,
    /// Pings in the dataset LENS: round trips.
    LensPing,
}

/// Direction of probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the terminal.
    #[default]
    Up,
    /// To the terminal.
    Down,
}

/// A recording that has been read.
#[derive(Clone, Debug, Default)]
struct Recording {
    /// Empty before it is read.
    rows: Arc<[Row]>,
    /// Time after which it begins again.
    length: Span,
}

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    /// Time since the first one.
    at: Span,
    /// Extra delay; that of the probe before if this one has none.
    by: Span,
    lost: bool,
}

/// The outcome of a probe in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// Delay in milliseconds.
    Delay(f64),
    Lost,
    /// Lost in the other direction.
    Unknown,
}

/// A line as it was read: the time in nanoseconds.
type Probe = (i64, Outcome);

impl Element<ImpairmentKind> for MeasuredDelay {
    const NAME: &'static str = "measured_delay";
    const LABEL: &'static str = "measured delay";
    const SUMMARY: &'static str = "Delays packets as the probes of a recording were delayed.";
    const REFERENCE: &'static str =
        "the recordings of Starlink in the dataset LENS, as its scripts convert them";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let remedy = "choose a file of that format";
        let text = read_checked(files, &self.file, &mut self.digest, remedy)?;
        self.recording = self.read(&text)?;
        Ok(())
    }

    fn facts(&self) -> ImpairmentFacts {
        ImpairmentFacts {
            mean_loss: match self.drops {
                true => Stated::None,
                false => Stated::Some(0.0),
            },
            delays: Some(true),
            changes: Some(true),
            reorders: Some(self.reordering == Overtaking::Allowed),
            ..ImpairmentFacts::of(self.applies, Side::AfterLink)
        }
    }
}

impl Factory<ImpairmentKind> for MeasuredDelay {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Impairment> {
        Box::new(MeasuredImpairment {
            recording: self.recording.clone(),
            repeat: self.repeat,
            drops: self.drops,
            reordering: self.reordering,
            applies: self.applies,
            begun: Time::ZERO,
            index: 0,
        })
    }
}

impl MeasuredDelay {
    fn line(&self, line: usize, problem: &str) -> Error {
        Error::message("file", format!("{}:{line}: {problem}", self.file))
            .coded(Code::File)
            .comparing(&["format"])
    }

    fn read(&self, text: &str) -> Result<Recording> {
        let mut lines = (1..).zip(text.lines());
        let header = lines.next().map_or("", |(_, line)| line.trim());
        let expected = match self.format {
            Format::LensIrtt => "timestamp,rtt,uplink,downlink",
            Format::LensPing => "timestamp,rtt",
        };
        if header != expected {
            let problem = format!("the header is {}, not {expected}", json!(header));
            return Err(self.line(1, &problem));
        }
        let mut before = i64::MIN;
        let probes = all_lines(lines.map(|(line, row)| {
            let (at, outcome) = self.read_probe(row).map_err(|problem| (line, problem))?;
            if at <= before {
                return Err((line, "is not after the line above; sort the lines".into()));
            }
            before = at;
            Ok((at, outcome))
        }));
        let probes = probes.map_err(|(line, problem)| self.line(line, &problem))?;
        Recording::of(&probes)
            .ok_or_else(|| self.line(2, "two probes at least are needed, and one that arrived"))
    }

    fn read_probe(&self, row: &str) -> std::result::Result<Probe, String> {
        let mut cells = Vec::new();
        for cell in row.split(',') {
            match cell.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => cells.push(number),
                _ => return Err(format!("{} is not a row of finite numbers", json!(row))),
            }
        }
        // Nanoseconds since 1970 do not fit into a double.
        let first = row.split(',').next().unwrap_or("").trim();
        let nanos = first.parse::<i64>().unwrap_or(cells[0] as i64);
        let arrived = |ms: f64| ms != -1.0;
        match (self.format, cells.as_slice()) {
            (Format::LensPing, &[at, rtt]) => {
                let micros = libm::round(at * 1e6) as i64;
                Ok((micros.saturating_mul(1000), Outcome::Delay(rtt / 2.0)))
            }
            (Format::LensIrtt, &[_, rtt, up, down]) => {
                let (own, other) = match self.direction {
                    Direction::Up => (up, down),
                    Direction::Down => (down, up),
                };
                let is_up = self.direction == Direction::Up;
                let outcome = match (arrived(rtt), arrived(own), arrived(other)) {
                    (true, true, true) => Outcome::Delay(own),
                    (_, false, _) => Outcome::Lost,
                    (false, _, _) if is_up => Outcome::Lost,
                    _ => Outcome::Unknown,
                };
                Ok((nanos, outcome))
            }
            _ => Err(format!("{} has another number of columns", json!(row))),
        }
    }
}

impl Recording {
    /// Makes it of probes; none if none arrived, or if there is only one.
    fn of(probes: &[Probe]) -> Option<Self> {
        let delays = probes.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Delay(ms) => Some(*ms),
            _ => None,
        });
        let (least, first) = (delays.clone().reduce(f64::min)?, delays.clone().next()?);
        let (begin, end) = (probes.first()?.0, probes.last()?.0);
        let length = end.abs_diff(begin);
        let gaps = probes.len().checked_sub(1).filter(|&gaps| gaps > 0)?;
        let mut before = first;
        let rows = probes.iter().map(|&(at, outcome)| {
            if let Outcome::Delay(ms) = outcome {
                before = ms;
            }
            Row {
                at: Span::from_nanos(at.abs_diff(begin)),
                by: Span::from_seconds((before - least) / 1e3),
                lost: outcome == Outcome::Lost,
            }
        });
        Some(Recording {
            rows: rows.collect(),
            length: Span::from_nanos(length + length / gaps as u64),
        })
    }
}

#[derive(Debug)]
struct MeasuredImpairment {
    recording: Recording,
    repeat: bool,
    drops: bool,
    reordering: Overtaking,
    applies: Applies,
    /// Time at which the recording began, the last time.
    begun: Time,
    index: usize,
}

impl MeasuredImpairment {
    /// Returns the probe that holds now.
    fn at(&mut self, now: Time) -> Option<Row> {
        let Recording { rows, length } = &self.recording;
        let since = now.since(self.begun);
        if self.repeat && since >= *length {
            let whole = since.as_nanos() / length.as_nanos();
            (self.begun, self.index) = (self.begun + *length * whole, 0);
        }
        while let Some(next) = rows.get(self.index + 1)
            && now >= self.begun + next.at
        {
            self.index += 1;
        }
        rows.get(self.index).copied()
    }
}

impl Impairment for MeasuredImpairment {
    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.applies.to(packet) {
            return Verdict::Pass;
        }
        match self.at(now) {
            Some(row) if row.lost && self.drops => Verdict::Drop,
            Some(row) => Verdict::Delay {
                by: row.by,
                overtaken: self.reordering,
            },
            None => Verdict::Pass,
        }
    }
    fn side(&self) -> Side {
        Side::AfterLink
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::tests::packet;
    use ackclock_spec::registry::choose;
    use ackclock_spec::streams::Streams;
    use serde_json::Value;

    #[derive(Debug)]
    struct Text(&'static str);

    impl Files for Text {
        fn read(&self, _: &str) -> std::result::Result<String, String> {
            Ok(self.0.into())
        }
    }

    /// A probe every 20 ms. The clocks differ by a second. The third is lost on its way up, the
    /// fourth on its way down, the fifth somewhere.
    const IRTT: &str = "timestamp,rtt,uplink,downlink\n\
        1703980800000000000,30.0,-990.0,1020.0\n\
        1703980800020000000,42.5,-985.5,1028.0\n\
        1703980800040000000,0,-1,0\n\
        1703980800060000000,0,0,-1\n\
        1703980800080000000,-1,0,0\n\
        1703980800100000000,35.0,-992.0,1027.0\n";
    const PING: &str = "timestamp,rtt\n1703980800.10,40.0\n1703980800.20,50.0\n";

    fn build(text: &'static str, more: Value) -> Result<Box<dyn Impairment>> {
        let mut tree = json!({ "kind": "measured_delay", "file": "x", "format": "lens_irtt" });
        for (name, value) in more.as_object().unwrap() {
            tree[name] = value.clone();
        }
        let chosen = choose::<ImpairmentKind>(&tree, &Text(text))?;
        Ok(chosen.build(StreamScope {
            streams: &Streams::new(1, 0),
            name: "hop/test",
        }))
    }

    /// Returns the extra delays at these times, in milliseconds; none where a packet is lost.
    fn delays<const N: usize>(
        text: &'static str,
        more: Value,
        times: [u64; N],
    ) -> [Option<f64>; N] {
        let mut measured = build(text, more).unwrap();
        times.map(
            |ms| match measured.judge(Time::ZERO + Span::from_millis(ms), &packet()) {
                Verdict::Delay { by, .. } => Some(libm::round(by.as_seconds() * 1e6) / 1e3),
                Verdict::Drop => None,
                other => panic!("{other:?}"),
            },
        )
    }

    #[test]
    fn a_delay_is_what_a_probe_took_beyond_the_smallest() {
        let times = [0, 19, 20, 40, 60, 80, 100, 119, 120, 140];
        let up = [2.0, 2.0, 6.5, 6.5, 6.5, 6.5, 0.0, 0.0, 2.0, 6.5];
        assert_eq!(delays(IRTT, json!({}), times), up.map(Some));
        let down = delays(IRTT, json!({ "direction": "down" }), [0, 20, 40, 100]);
        assert_eq!(down, [0.0, 8.0, 8.0, 7.0].map(Some));
        let once = delays(IRTT, json!({ "repeat": false }), [100, 120, 10_000]);
        assert_eq!(once, [0.0, 0.0, 0.0].map(Some));
    }

    #[test]
    fn packets_are_lost_where_probes_were() {
        let lost = |direction: &str| {
            let more = json!({ "direction": direction, "drops": true });
            delays(IRTT, more, [20, 40, 60, 80, 100]).map(|delay| delay.is_none())
        };
        assert_eq!(lost("up"), [false, true, false, true, false]);
        assert_eq!(lost("down"), [false, false, true, false, false]);
    }

    #[test]
    fn a_ping_gives_each_direction_half() {
        let more = json!({ "format": "lens_ping" });
        let delays = delays(PING, more, [0, 99, 100, 199, 200]);
        assert_eq!(delays, [0.0, 0.0, 5.0, 5.0, 0.0].map(Some));
    }

    #[test]
    fn other_files_are_refused() {
        for (text, problem) in [
            (PING, "the header is"),
            ("timestamp,rtt,uplink,downlink\n1,2,3,4\n", "two probes"),
            (
                "timestamp,rtt,uplink,downlink\n1,2,3\n5,2,3,4\n",
                "number of columns",
            ),
            (
                "timestamp,rtt,uplink,downlink\n1,2,3,x\n5,2,3,4\n",
                "row of finite numbers",
            ),
            (
                "timestamp,rtt,uplink,downlink\n5,2,3,4\n5,2,3,4\n",
                "not after",
            ),
        ] {
            let error = build(text, json!({})).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
