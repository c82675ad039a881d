//! A control that obeys orders from a file, as `ackclock.gym` records them.
//!
//! The file has a header and a row for each order: `time_s,cwnd_bytes,rate_bit_per_s`, and
//! optionally `instance`. Times are seconds since the run began and do not decrease. An empty cell
//! leaves the window or the rate as it is; a row without an instance is for all of the flow.

use super::facts::ControlFacts;
use super::steered::{Order, Steered, TimedOrder};
use super::{CongestionControl, ControlContext, ControlKind};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::{all_lines, read_checked};
use ackclock_spec::prelude::*;
use serde_json::json;
use std::sync::Arc;

const REMEDY: &str = "name a file of orders, for example actions.csv";

/// Parameters.
///
/// Before its first order it has the transport's initial window and no pacing rate. Its window
/// holds during recovery and after timeouts until an order changes it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "file": "actions.csv" }))]
pub struct Scripted {
    /// File of orders: `time_s,cwnd_bytes,rate_bit_per_s` and optionally `instance`.
    #[schemars(extend("examples" = ["actions.csv"]))]
    pub file: String,
    /// Digest of the file's text, filled in when the file is read. If given, the file must match
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip, default = "nothing")]
    #[schemars(skip)]
    orders: Arc<[TimedOrder]>,
}

fn nothing() -> Arc<[TimedOrder]> {
    Arc::from([])
}

impl Element<ControlKind> for Scripted {
    const NAME: &'static str = "scripted";
    const LABEL: &'static str = "scripted";
    const SUMMARY: &'static str =
        "Sets window and rate at the times in a file, as ackclock.gym records actions.";
    const REFERENCE: &'static str = "none";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let text = read_checked(files, &self.file, &mut self.digest, REMEDY)?;
        self.orders = read(&text).map_err(|(line, problem)| {
            Error::message("file", format!("{}:{line}: {problem}", self.file)).coded(Code::File)
        })?;
        Ok(())
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: None,
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Factory<ControlKind> for Scripted {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(Steered::new(&context, self.orders.clone()))
    }
}

/// A number of a line, from 1, and its problem.
type Problem = (usize, String);

const COLUMNS: [&str; 4] = ["time_s", "cwnd_bytes", "rate_bit_per_s", "instance"];

/// Reads the orders of a file.
fn read(text: &str) -> std::result::Result<Arc<[TimedOrder]>, Problem> {
    let header: Vec<&str> = text.lines().next().unwrap_or("").split(',').collect();
    let header: Vec<&str> = header.into_iter().map(str::trim).collect();
    if header != COLUMNS && header != COLUMNS[..3] {
        let expected = COLUMNS[..3].join(",");
        return Err((
            1,
            format!("the header is not {expected}, or that and instance"),
        ));
    }
    let mut before = Time::ZERO;
    let rows = (1..).zip(text.lines()).skip(1);
    let orders = all_lines(rows.map(|(line, row)| {
        let order = read_row(row, header.len(), before).map_err(|problem| (line, problem))?;
        before = order.at;
        Ok(order)
    }))?;
    Ok(orders.into())
}

fn read_row(row: &str, columns: usize, before: Time) -> std::result::Result<TimedOrder, String> {
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    if cells.len() != columns {
        return Err(format!("the row has {} cells, not {columns}", cells.len()));
    }
    let seconds = cells[0]
        .parse()
        .ok()
        .filter(|seconds: &f64| (0.0..9e9).contains(seconds));
    let Some(seconds) = seconds else {
        return Err(format!(
            "time_s {} is not a number from 0 to 9e9",
            json!(cells[0])
        ));
    };
    let at = Time::from_seconds(seconds);
    if at < before {
        return Err(format!(
            "time_s {} is before that of a line above",
            cells[0]
        ));
    }
    let whole = |column: usize| match cells.get(column) {
        None | Some(&"") => Ok(None),
        Some(cell) => cell
            .parse::<u64>()
            .map(Some)
            .map_err(|_| format!("{} {} is not a whole number", COLUMNS[column], json!(cell))),
    };
    let instance = whole(3)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Ok(TimedOrder {
        at,
        instance,
        order: Order {
            cwnd: whole(1)?.map(Bytes),
            rate: whole(2)?.map(BitRate::from_bit_per_s),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_orders_and_a_mistake_has_its_line() {
        let orders = read("time_s,cwnd_bytes,rate_bit_per_s\n0.1,14480,\n0.123456789,,1000000\n");
        let orders = orders.unwrap();
        assert_eq!(orders[0].order.cwnd, Some(Bytes(14480)));
        assert_eq!(orders[0].order.rate, None);
        assert_eq!(orders[1].at, Time::from_nanos(123_456_789));
        let header = "time_s,cwnd_bytes,rate_bit_per_s,instance\n";
        assert_eq!(
            read(&format!("{header}1,2,3,4")).unwrap()[0].instance,
            Some(4)
        );
        for (text, line, problem) in [
            (
                "time,cwnd\n",
                1,
                "the header is not time_s,cwnd_bytes,rate_bit_per_s",
            ),
            (&format!("{header}1,2,3\n"), 2, "the row has 3 cells, not 4"),
            (
                &format!("{header}1,2,3,\n0.5,,,\n"),
                3,
                "is before that of a line above",
            ),
            (&format!("{header}-1,2,3,\n"), 2, "is not a number from 0"),
            (
                &format!("{header}1,2.5,3,\n"),
                2,
                "cwnd_bytes \"2.5\" is not a whole number",
            ),
        ] {
            let (place, said) = read(text).unwrap_err();
            assert_eq!(place, line);
            assert!(said.contains(problem), "{said}");
        }
    }
}
