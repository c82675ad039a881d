//! Measured sizes: a list of them with weights, in the scenario or in a file.
//!
//! With the first line `size,weight`, every size has its unit (`20 kB,3`). With the first line
//! `size_bytes,weight`, sizes are numbers. Without `,weight`, all sizes have the same weight: one
//! line per size, as measured.

use super::{SizeKind, check_size};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::{WrongLine, all_lines, read_checked};
use ackclock_spec::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Parameters. Give either `values` or `file`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "values": [["10 kB", 3], ["1 MB", 1]] }))]
#[schemars(example = json!({ "file": "traces/sizes.csv" }))]
pub struct Empirical {
    /// Sizes with their weights, which are relative frequencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [[["10 kB", 3], ["1 MB", 1]]]))]
    pub values: Option<Vec<(Bytes, f64)>>,
    /// Name of a file of sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Digest of the file's text (FNV-1a, 64 bits), filled in when the file is read. If given, the
    /// file must match it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Each size with the sum of the weights up to it.
    #[serde(skip)]
    cumulative: Arc<[(Bytes, f64)]>,
}

impl Element<SizeKind> for Empirical {
    const NAME: &'static str = "empirical";
    const LABEL: &'static str = "empirical";
    const SUMMARY: &'static str = "Sizes from a list or a file, drawn by weight.";
    const REFERENCE: &'static str =
        "Danzig, Jamin (1991), tcplib: traffic from tables of measurements";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let (field, values) = match (&self.values, &self.file) {
            (Some(values), None) => {
                every(values.iter().enumerate().map(|(at, (size, weight))| {
                    check(*size, *weight).map_err(|error| error.within(&format!("values.{at}")))
                }))?;
                ("values", values.clone())
            }
            (None, Some(file)) => {
                let text = read_checked(files, file, &mut self.digest, "choose a file of sizes")?;
                let values = read(&text).map_err(|(line, problem)| {
                    Error::message("file", format!("{file}:{line}: {problem}")).coded(Code::File)
                })?;
                ("file", values)
            }
            (None, None) => {
                let remedy =
                    "for example values = [[\"10 kB\", 3], [\"1 MB\", 1]], or file = \"sizes.csv\"";
                return Err(Error::missing("values", remedy));
            }
            (Some(_), file) => {
                let remedy = "does not go with values; remove one of the two";
                return consistent(false, "file", file, &["values"], remedy);
            }
        };
        let mut sum = 0.0;
        let cumulative = values.into_iter().map(|(size, weight)| {
            sum += weight;
            (size, sum)
        });
        self.cumulative = cumulative.collect();
        if sum > 0.0 && sum.is_finite() {
            return Ok(());
        }
        let problem = "at least one size needs a weight above 0; for example [\"10 kB\", 1]";
        Err(Error::message(field, problem))
    }
}

/// Refuses an invalid size or weight.
fn check(size: Bytes, weight: f64) -> Result<()> {
    let remedy = "is not a weight; choose 0 or more, for example 1";
    every([
        check_size("", size),
        in_range(weight >= 0.0 && weight.is_finite(), "", &weight, remedy),
    ])
}

/// Returns the sizes and weights of a file.
fn read(text: &str) -> std::result::Result<Vec<(Bytes, f64)>, WrongLine> {
    let mut lines = (1..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line.trim());
    let (unit, weighed) = match header {
        "size" => ("", false),
        "size,weight" => ("", true),
        "size_bytes" => (" bytes", false),
        "size_bytes,weight" => (" bytes", true),
        other => {
            let other = json!(other);
            let problem = format!(
                "unknown header {other}; choose from size, size,weight, size_bytes and \
                size_bytes,weight"
            );
            return Err((1, problem));
        }
    };
    let row = |(line, row): (usize, &str)| {
        let (size, weight) = match row.split_once(',') {
            Some((size, weight)) if weighed => (size, weight.trim()),
            None if !weighed => (row, "1"),
            _ => {
                return Err((
                    line,
                    format!(
                        "{} does not match the columns of the header, {header}",
                        json!(row)
                    ),
                ));
            }
        };
        let size: Bytes = serde_json::from_value(Value::String(format!("{}{unit}", size.trim())))
            .map_err(|error| (line, error.to_string()))?;
        let number = weight
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let weight = number.ok_or_else(|| {
            (
                line,
                format!("{} is not a weight; for example 1", json!(weight)),
            )
        })?;
        check(size, weight).map_err(|error| (line, error.to_string()))?;
        Ok((size, weight))
    };
    all_lines(lines.map(row))
}

impl Factory<SizeKind> for Empirical {
    fn build(&self, stream: &mut Stream) -> Bytes {
        let [.., (last, sum)] = &*self.cumulative else {
            unreachable!("the check wants one");
        };
        let drawn = stream.uniform() * sum;
        let at = self.cumulative.partition_point(|(_, sum)| *sum <= drawn);
        self.cumulative.get(at).map_or(*last, |(size, _)| *size)
    }
}
