//! A link that follows a trace file.
//!
//! # `format = "mahimahi"`
//!
//! A packet-delivery trace as Mahimahi's `mm-link` reads it (Netravali et al., USENIX ATC 2015; its
//! `link_queue.cc`).
//!
//! Each line holds a whole number of milliseconds, never less than the line before. Each line is an
//! opportunity to deliver 1504 bytes at that moment: an IP packet of 1500 bytes and the 4 bytes of
//! the TUN device's header. Equal lines are several opportunities. The last line is also the
//! period, after which the trace begins again, shifted by that much. With `repeat = false`, the
//! link is down after the last opportunity.
//!
//! - Accounting is by the byte and includes the TUN header of each packet, so a packet of 1500
//!   bytes takes one opportunity. A packet leaves at the opportunity that carries its last byte. It
//!   may take several, and the rest of the last one goes to the packets that wait behind it.
//!   (`mm-link` refuses packets of more than 1500 bytes; here they take several opportunities.)
//! - Unused capacity of an opportunity is lost. A packet that finds the link idle has missed the
//!   opportunities of that very moment. (`mm-link` spends those that are due before it takes in a
//!   packet.)
//! - A packet may arrive at the very moment when the link falls idle. It is served as if it had
//!   been waiting, and may use the rest of that opportunity. (`mm-link` would not let it. Its clock
//!   is in milliseconds, ours in nanoseconds.)
//!
//! A queue limited by time and a time series need the rate at a moment. It is the average over the
//! second around it, at 1500 bytes per opportunity.
//!
//! # `format = "csv"`
//!
//! A rate that changes from row to row. With the first line `time,rate`, every value has its unit
//! (`1.5 s,12 Mbit/s`). With the first line `time_s,rate_bit_per_s`, the values are numbers.
//!
//! The first time is 0, and times increase. Each rate holds until the time of the next row. The
//! trace repeats; with `repeat = false`, the last rate holds for ever. The period is the parameter
//! `period`. Without it, the period is the time of the last row, which then only marks where the
//! trace begins again. So the rate of that row must be that of the first row, or empty. A single
//! row is a constant rate. A change of the rate applies at once, also to the packet in service (see
//! the exact integral in `piecewise.rs`).
//!
//! # `format = "ucc_downlink"`
//!
//! A drive log of the 5G dataset of University College Cork (D. Raca et al., MMSys 2020), as
//! G-NetTrack Pro writes it: a header, then a row a second. `ucc_uplink` reads the other direction.
//! The columns `DL_bitrate` and `UL_bitrate` have what was transferred, in kbit/s. A rate of the
//! downlink is read only where `State` is `D`, so that something was being downloaded. Such rows
//! follow each other. The rate is what a transfer got, which is at most what the link had. After
//! the last row the trace begins again; with `repeat = false`, its rate holds for ever. The files
//! are not shipped: their licence is the GPL.

use super::facts::LinkFacts;
use super::piecewise::{Cycle, Piece, PiecewiseLink, Rates};
use super::{Link, LinkContext, LinkKind};
use ackclock_spec::error::{Code, Error, both};
use ackclock_spec::files::{all_lines, read_checked};
use ackclock_spec::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

mod delivery;
use delivery::{Deliveries, DeliveryLink};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "file": "traces/example.trace", "format": "mahimahi" }))]
#[schemars(example = json!({ "file": "traces/example.csv", "format": "csv", "repeat": false }))]
pub struct Trace {
    /// Name of the trace file.
    pub file: String,
    /// Format of the trace file.
    pub format: Format,
    /// True if the trace begins again after its end.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// Time at which a CSV trace begins again; by default, the time of its last row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Digest of the file's text (FNV-1a, 64 bits), filled in when the file is read. If given, the
    /// file must match it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip)]
    schedule: Schedule,
}

fn yes() -> bool {
    true
}

/// Format of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Mahimahi packet-delivery trace: one millisecond per line, each an opportunity of 1504 bytes.
    Mahimahi,
    /// Rows of `time,rate` with units, or of `time_s,rate_bit_per_s`.
    Csv,
    /// Drive log of the 5G dataset of University College Cork, its downlink.
    UccDownlink,
    /// The same, its uplink.
    UccUplink,
}

/// A trace that has been read.
#[derive(Clone, Debug)]
enum Schedule {
    Deliveries(Deliveries),
    Rates(Rows),
}

/// A trace that has not been read is a link that is down.
impl Default for Schedule {
    fn default() -> Self {
        Schedule::Rates(Rows::new(Vec::new(), None))
    }
}

impl Element<LinkKind> for Trace {
    const NAME: &'static str = "trace";
    const LABEL: &'static str = "trace";
    const SUMMARY: &'static str =
        "Sends as recorded in a file: Mahimahi delivery opportunities, or rows of time and rate.";
    const REFERENCE: &'static str = "Mahimahi, mm-link(1): Netravali et al., USENIX ATC 2015";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let (is_csv, is_given) = (self.format == Format::Csv, self.period.is_some());
        let other = "does not apply to this format, which repeats after its last line; remove it";
        let once = "does not go with repeat = false; remove one of the two";
        let period = every([
            consistent(
                is_csv || !is_given,
                "period",
                &self.period,
                &["format"],
                other,
            ),
            consistent(
                !is_csv || !is_given || self.repeat,
                "period",
                &self.period,
                &["repeat"],
                once,
            ),
        ]);
        let remedy = format!("choose a file of format \"{}\"", self.format.name());
        let text = read_checked(files, &self.file, &mut self.digest, &remedy);
        let schedule = text.and_then(|text| match self.format {
            Format::Mahimahi => Ok(Schedule::Deliveries(self.read_deliveries(&text)?)),
            Format::Csv => Ok(Schedule::Rates(self.read_rows(&text)?)),
            Format::UccDownlink => Ok(Schedule::Rates(self.read_log(&text, "DL_bitrate")?)),
            Format::UccUplink => Ok(Schedule::Rates(self.read_log(&text, "UL_bitrate")?)),
        });
        let (schedule, ()) = both(schedule, period)?;
        self.schedule = schedule;
        Ok(())
    }

    /// A trace has no highest rate: opportunities are moments, and the rate of several together
    /// depends on the interval.
    fn facts(&self) -> LinkFacts {
        LinkFacts {
            mean_bit_per_s: self.mean().map(|rate| rate.as_bit_per_s() as f64),
            ..LinkFacts::own(self.varies())
        }
    }
}

impl Factory<LinkKind> for Trace {
    fn build(&self, _: LinkContext<'_>) -> Box<dyn Link> {
        self.link()
    }
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Format::Mahimahi => "mahimahi",
            Format::Csv => "csv",
            Format::UccDownlink => "ucc_downlink",
            Format::UccUplink => "ucc_uplink",
        }
    }
}

/// A row of a CSV trace: its time in nanoseconds, and its rate if it has one.
type Row = (u64, Option<BitRate>);

/// Reads a row, in the units of the columns or in its own, given the row before it.
fn read_row(
    row: &str,
    before: Option<Row>,
    (time_unit, rate_unit): (&str, &str),
) -> std::result::Result<Row, String> {
    let Some((time, rate)) = row.split_once(',') else {
        let row = json!(row);
        return Err(format!(
            "{row} has no comma; each row holds a time and a rate"
        ));
    };
    let at: Span = read_cell(time.trim(), time_unit)?;
    let remedy = match before {
        None if at != Span::ZERO => "is not 0, where a trace begins; shift all times",
        Some((before, _)) if at.as_nanos() <= before => {
            "is not after the time on a line above; sort the rows and remove duplicates"
        }
        _ => "",
    };
    if !remedy.is_empty() {
        return Err(format!("{} {remedy}", json!(time.trim())));
    }
    let rate = match rate.trim() {
        "" => None,
        rate => Some(read_cell(rate, rate_unit)?),
    };
    Ok((at.as_nanos(), rate))
}

fn read_cell<T: DeserializeOwned>(text: &str, unit: &str) -> std::result::Result<T, String> {
    if !unit.is_empty() && text.parse::<f64>().is_err() {
        let text = json!(text);
        return Err(format!("{text} is not a number; the unit is in the header"));
    }
    serde_json::from_value(Value::String(format!("{text}{unit}")))
        .map_err(|error| error.to_string())
}

const NANOS_PER_S: u64 = 1_000_000_000;
const NANOS_PER_MS: u64 = 1_000_000;
/// The latest time in a Mahimahi trace: about 292 years, so that the time one period later fits in
/// 64 bits.
const LATEST_MS: u64 = u64::MAX / 2 / NANOS_PER_MS;

impl Trace {
    /// Returns the error for a line, counted from 1.
    fn line(&self, line: usize, problem: &str) -> Error {
        Error::message("file", format!("{}:{line}: {problem}", self.file))
            .coded(Code::File)
            .comparing(&["format"])
    }

    /// Returns the length of the recording: until the last opportunity, or until the trace begins
    /// again. For a CSV trace that does not repeat, until its last row. Zero for a single row, and
    /// before the file has been read.
    pub fn length(&self) -> Span {
        match &self.schedule {
            Schedule::Deliveries(deliveries) => Span::from_nanos(deliveries.period()),
            Schedule::Rates(rows) => Span::from_nanos(rows.length),
        }
    }

    /// Returns the mean rates of successive intervals, as many as fit in the recording.
    pub fn mean_rates(&self, interval: Span) -> impl Iterator<Item = BitRate> {
        let link = self.link();
        let moment = move |number| Time::ZERO + interval * number;
        (0..self.length().as_nanos() / interval.as_nanos())
            .map(move |number| link.mean_rate(moment(number), moment(number + 1)))
    }

    /// Returns the mean rate of a period; none without repetition, as the end then lasts for ever.
    fn mean(&self) -> Option<BitRate> {
        let link = self.link();
        match self.length() {
            Span::ZERO => Some(link.rate(Time::ZERO)),
            period => self
                .repeat
                .then(|| link.mean_rate(Time::ZERO, Time::ZERO + period)),
        }
    }

    fn varies(&self) -> bool {
        match &self.schedule {
            Schedule::Deliveries(_) => true,
            Schedule::Rates(rows) => rows.rows.len() > 1,
        }
    }

    fn link(&self) -> Box<dyn Link> {
        match &self.schedule {
            Schedule::Deliveries(deliveries) => Box::new(DeliveryLink::new(deliveries.clone())),
            Schedule::Rates(rows) => Box::new(PiecewiseLink::new(rows.clone())),
        }
    }

    fn read_deliveries(&self, text: &str) -> Result<Deliveries> {
        let mut before = 0;
        let at = all_lines((1..).zip(text.lines()).map(|(line, row)| {
            let number = row.trim();
            let ms = number.parse().ok().filter(|&ms: &u64| ms <= LATEST_MS);
            let ms = ms.ok_or_else(|| {
                let problem = format!(
                    "{} is not a whole number of milliseconds; each line holds one, for example 12",
                    json!(number)
                );
                (line, problem)
            })?;
            if ms < before {
                let problem = format!("{ms} is before {before} on a line above; sort the lines");
                return Err((line, problem));
            }
            before = ms;
            Ok(ms * NANOS_PER_MS)
        }));
        let at = at.map_err(|(line, problem)| self.line(line, &problem))?;
        match at.last() {
            None => Err(self.line(
                1,
                "the trace is empty; it needs at least one line with a number of milliseconds",
            )),
            Some(0) => {
                let problem = "the last time is 0; it is less than 1";
                Err(self.line(at.len(), problem))
            }
            Some(_) => Ok(Deliveries {
                at: at.into(),
                repeat: self.repeat,
            }),
        }
    }

    /// Reads a drive log: a rate for each second, from the column of that name.
    fn read_log(&self, text: &str, column: &str) -> Result<Rows> {
        let mut lines = (1..).zip(text.lines());
        let header = lines.next().map_or("", |(_, line)| line.trim());
        let place = |name| header.split(',').position(|title| title.trim() == name);
        let (Some(rate), Some(state)) = (place(column), place("State")) else {
            let problem =
                format!("the header has no columns {column} and State; choose a drive log");
            return Err(self.line(1, &problem));
        };
        let every_state = column != "DL_bitrate";
        let cell = |row: &str, place| row.split(',').nth(place).unwrap_or("").trim().to_owned();
        let chosen = lines.filter(|(_, row)| every_state || cell(row, state) == "D");
        let rates = all_lines(chosen.map(|(line, row)| {
            let written = cell(row, rate);
            let kilobits = written
                .parse()
                .ok()
                .filter(|rate: &f64| rate.is_finite() && *rate >= 0.0);
            let problem = || {
                let column = json!(column);
                format!(
                    "{} is not a rate in kbit/s, as column {column} has",
                    json!(written)
                )
            };
            let kilobits = kilobits.ok_or_else(|| (line, problem()))?;
            Ok(BitRate::from_bit_per_s((kilobits * 1e3) as u64))
        }));
        let rates = rates.map_err(|(line, problem)| self.line(line, &problem))?;
        if rates.iter().all(|rate| *rate == BitRate::ZERO) {
            let problem = format!("no row has a {column} above 0 to begin with");
            return Err(self.line(1, &problem));
        }
        let length = rates.len() as u64 * NANOS_PER_S;
        let seconds = (0..).map(|second| second * NANOS_PER_S);
        let rows = seconds.zip(rates.into_iter().map(Some)).collect();
        Ok(Rows {
            length,
            ..Rows::new(rows, self.repeat.then_some(length))
        })
    }

    fn read_rows(&self, text: &str) -> Result<Rows> {
        let mut lines = (1..).zip(text.lines());
        let header = lines.next().map_or("", |(_, line)| line.trim());
        let units = match header {
            "time,rate" => None,
            "time_s,rate_bit_per_s" => Some((" s", " bit/s")),
            other => {
                let problem = format!(
                    "unknown header {}; choose from time,rate and time_s,rate_bit_per_s",
                    json!(other)
                );
                return Err(self.line(1, &problem));
            }
        };
        let (time_unit, rate_unit) = units.unwrap_or_default();
        let mut before: Option<Row> = None;
        let rows = all_lines(lines.map(|(line, row)| {
            let row = read_row(row, before, (time_unit, rate_unit));
            let row = row.map_err(|problem| (line, problem))?;
            before = Some(row);
            Ok(row)
        }));
        let rows = rows.map_err(|(line, problem)| self.line(line, &problem))?;
        let without = rows.iter().position(|(_, rate)| rate.is_none());
        if let Some(row) = without.filter(|row| row + 1 < rows.len()) {
            let at = json!(Span::from_nanos(rows[row].0));
            let problem = format!("the row at {at} has no rate; only the last row may omit it");
            return Err(self.line(row + 2, &problem));
        }
        let end = rows.last().map_or(0, |&(at, _)| at);
        let length = self.period.map_or(end, Span::as_nanos);
        Ok(Rows {
            length,
            ..self.close(rows)?
        })
    }

    /// Determines what follows the last row.
    fn close(&self, mut rows: Vec<Row>) -> Result<Rows> {
        let last_line = rows.len() + 1;
        let (Some(&(_, Some(first))), Some(&(end, last))) = (rows.first(), rows.last()) else {
            let problem = "the first row with a rate is missing; for example 0 s,12 Mbit/s under \
                the header time,rate";
            return Err(self.line(2, problem));
        };
        let period = match self.period {
            Some(period) => {
                let last = json!(Span::from_nanos(end));
                let remedy = format!("is not after the last row, at {last}");
                in_range(period.as_nanos() > end, "period", &period, &remedy)?;
                Some(period.as_nanos())
            }
            None if !self.repeat || rows.len() == 1 => None,
            None if last.is_none_or(|last| last == first) => {
                rows.pop();
                return Ok(Rows::new(rows, Some(end)));
            }
            None => {
                let problem = format!(
                    "the last rate, {}, differs from the first, though the trace begins again \
                    here; set period or repeat = false, or leave the last rate empty",
                    json!(last)
                );
                return Err(self.line(last_line, &problem));
            }
        };
        if last.is_none() {
            return Err(self.line(
                last_line,
                "the last row has no rate; add one, or remove period and repeat = false",
            ));
        }
        Ok(Rows::new(rows, period))
    }
}

/// Rates from row to row, read forwards. Times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    rows: Arc<[(u64, BitRate)]>,
    /// Period and work of one round, if the trace repeats.
    cycle: Option<Cycle>,
    /// Length of the recording.
    length: u64,
    /// The row being read, and the beginning of the current round.
    index: usize,
    round: Time,
}

impl Rows {
    /// Makes the rates that hold from the given times on. A missing rate is that of a link that is
    /// down; without rows, the link is down for ever.
    pub fn new(rows: Vec<(u64, Option<BitRate>)>, period: Option<u64>) -> Self {
        let mut rows: Vec<(u64, BitRate)> = rows
            .into_iter()
            .map(|(at, rate)| (at, rate.unwrap_or(BitRate::ZERO)))
            .collect();
        rows.dedup_by_key(|(_, rate)| *rate);
        // One rate for ever, in particular an outage, must be a single piece.
        let period = period.filter(|_| rows.len() > 1);
        let cycle = period.map(|period| {
            let ends = rows.iter().skip(1).map(|(at, _)| *at).chain([period]);
            let work = rows
                .iter()
                .zip(ends)
                .map(|((at, rate), end)| u128::from(rate.as_bit_per_s()) * u128::from(end - at));
            Cycle {
                period: Span::from_nanos(period),
                work: work.sum(),
            }
        });
        Rows {
            rows: rows.into(),
            cycle,
            length: 0,
            index: 0,
            round: Time::ZERO,
        }
    }
}

impl Rates for Rows {
    fn piece(&self) -> Piece {
        let Some(&(at, rate)) = self.rows.get(self.index) else {
            return Piece::for_ever(BitRate::ZERO);
        };
        let until = match (self.rows.get(self.index + 1), self.cycle) {
            (Some(&(next, _)), _) => self.round + Span::from_nanos(next),
            (None, Some(Cycle { period, .. })) => self.round + period,
            (None, None) => Time::NEVER,
        };
        Piece {
            from: self.round + Span::from_nanos(at),
            until,
            rate,
        }
    }

    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.rows.len()
            && let Some(Cycle { period, .. }) = self.cycle
        {
            (self.index, self.round) = (0, self.round + period);
        }
    }

    fn seek(&mut self, at: Time) {
        if at < self.piece().until {
            return;
        }
        if let Some(Cycle { period, .. }) = self.cycle {
            self.round = Time::from_nanos(at.as_nanos() / period.as_nanos() * period.as_nanos());
        }
        let offset = at.since(self.round).as_nanos();
        self.index = self
            .rows
            .partition_point(|&(row, _)| row <= offset)
            .saturating_sub(1);
    }

    fn cycle(&self) -> Option<Cycle> {
        self.cycle
    }
}

#[cfg(test)]
mod tests;
