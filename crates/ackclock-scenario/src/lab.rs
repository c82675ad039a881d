//! The table `lab`: what the page of `ackclock lab` shows. It changes no run.

use super::tree;
use ackclock_spec::error::{Code, Error, Result, every};
use ackclock_spec::limits::PATHS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The page of `ackclock lab`: its sliders, its figures and a text.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Lab")]
pub(super) struct LabDocument {
    /// Sliders by the path of their field: a range with its unit and, for a logarithmic scale,
    /// `log`. By default, what is usual to vary: rate, delay and limit of the hops on the routes of
    /// data, losses, number of flows.
    #[schemars(extend("examples" = [{ "hops.bottleneck.queue.limit": "5..500 packets log" }]))]
    pub sliders: BTreeMap<String, String>,
    /// Figures over time, from above. By default all.
    #[schemars(extend("examples" = [["cwnd", "queue"]]))]
    pub figures: Vec<LabFigure>,
    /// Text above the figures: a question, or what to look at.
    #[schemars(length(max = 1000))]
    pub text: String,
}

/// A figure over time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum LabFigure {
    /// Congestion window and slow start threshold.
    Cwnd,
    /// Packets or bytes in the queue.
    Queue,
    /// Round-trip time.
    Rtt,
    /// Goodput.
    Goodput,
}

/// Refuses sliders of fields that do not exist, and ranges that cannot be read.
///
/// # Errors
/// Those of all sliders. What else is wrong with the table, its document says.
pub(super) fn check(scenario: &Value) -> Result<()> {
    let sliders = scenario["lab"]["sliders"].as_object();
    let number = sliders.map_or(0, Map::len) as u64;
    if number > PATHS {
        let message = format!("has {number} entries; the most is {PATHS}");
        return Err(Error::message("lab.sliders", message));
    }
    every(sliders.into_iter().flatten().map(|(path, range)| {
        tree::reach(scenario, path).map_err(|error| error.within("lab.sliders"))?;
        match range.as_str().is_none_or(is_range) {
            true => Ok(()),
            false => {
                let remedy = "is not a range; for example \"5..500 packets log\"";
                let field = format!("lab.sliders.{path}");
                Err(Error::new(&field, range, remedy).coded(Code::Syntax))
            }
        }
    }))
}

/// True for `LOW..HIGH UNIT log`, where unit and `log` may be absent and the low end may have the
/// unit, too. Both ends of a logarithmic scale are positive.
fn is_range(text: &str) -> bool {
    let Some((low, high)) = text.split_once("..") else {
        return false;
    };
    let number = |text: &str| -> Option<f64> { text.split_whitespace().next()?.parse().ok() };
    let log = high.split_whitespace().any(|word| word == "log");
    match (number(low), number(high)) {
        (Some(low), Some(high)) => low < high && (low > 0.0 || !log) && high.is_finite(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges() {
        for right in [
            "5..500 packets log",
            "0..5 %",
            "1 ms..2 ms",
            "1..50",
            "-1 .. 2.5e3 s",
        ] {
            assert!(is_range(right), "{right}");
        }
        for wrong in [
            "",
            "5",
            "5..",
            "..5",
            "5..5 ms",
            "9..1 ms",
            "0..5 % log",
            "a..b",
            "1..inf",
        ] {
            assert!(!is_range(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_slider_has_a_field_and_a_range() {
        let hops = json!([{ "name": "b", "delay": "1 ms" }]);
        let checked = |sliders: Value| {
            check(&json!({ "hops": hops, "lab": { "sliders": sliders } }))
                .map_err(|error| error.key())
        };
        assert_eq!(checked(json!({ "hops.b.delay": "1..5 ms" })), Ok(()));
        assert_eq!(
            checked(json!({ "hops.c.delay": "1..5 ms" })),
            Err("unknown-field lab.sliders.hops.c".into())
        );
        assert_eq!(
            checked(json!({ "hops.b.delay": "5 ms" })),
            Err("syntax lab.sliders.hops.b.delay".into())
        );
    }
}
