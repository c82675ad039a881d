//! Scenarios as JSON in, runs in steps, tables out.

use crate::refusal::{Answer, unknown};
use ackclock_core::congestion::ControlKind;
use ackclock_core::result::Table;
use ackclock_scenario::job::Job;
use ackclock_scenario::source::Source;
use ackclock_scenario::{Scenario, schema, text, tree};
use ackclock_sim::memory::Need;
use ackclock_sim::run::{Simulation, Supervisor};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;
use ackclock_spec::error::{Code, Error};
use ackclock_spec::registry::Kind;
use ackclock_spec::units::Time;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most data packets of a run in a page.
pub const MOST_PACKETS: u64 = 10_000_000;

/// Most bytes that a run in a page may need.
pub const MOST_BYTES: f64 = 512e6;

/// Pauses whenever it is asked, which is every few thousand events.
struct Pausing;

impl Supervisor for Pausing {
    fn proceed(&self, _now: Time) -> bool {
        false
    }
}

/// A run of the page.
#[derive(Debug)]
enum Run {
    Going(Box<Simulation<NoTrace>>),
    Ended(Vec<(&'static str, Table)>),
}

/// The runs of a page, by number.
#[derive(Debug, Default)]
pub struct Laboratory {
    runs: BTreeMap<u32, Run>,
    last: u32,
}

impl Laboratory {
    /// Begins a run of the first point of a scenario.
    ///
    /// The request has `scenario` (a tree), `set` (values by path), `files` (texts by name) and
    /// `replicate`. The answer has the number of the `run` and its `duration_s`.
    ///
    /// # Errors
    /// What is wrong with the scenario, or a run that is too large for a page.
    pub fn begin(&mut self, request: &Value) -> Answer {
        let (_, scenario) = checked(request)?;
        fits(&scenario)?;
        let job = Job {
            scenario: &scenario,
            point: 0,
            replicate: request["replicate"].as_u64().unwrap_or(0) as u32,
        };
        let simulation = Simulation::new(&job, topology::build(&job), NoTrace);
        self.last += 1;
        self.runs
            .insert(self.last, Run::Going(Box::new(simulation)));
        Ok(json!({ "run": self.last, "duration_s": scenario.duration.as_seconds() }))
    }

    /// Goes on with a run for a few thousand events. The answer says whether it is `done`, the time
    /// up to which it is, and its data `packets`.
    ///
    /// # Errors
    /// An unknown run, or one with too many packets, which is dropped.
    pub fn proceed(&mut self, number: u32) -> Answer {
        let Some(Run::Going(simulation)) = self.runs.get_mut(&number) else {
            return Err(unknown("a run"));
        };
        let done = simulation.proceed(&Pausing);
        if let Some(fault) = simulation.fault() {
            self.runs.remove(&number);
            let reason = format!("failed in {}", fault.reason);
            return Err(Error::message("flows", reason).coded(Code::Failed));
        }
        let (now, packets) = (simulation.now(), simulation.statistics().data_packets);
        if packets > MOST_PACKETS {
            self.runs.remove(&number);
            return Err(too_large(&format!(
                "sends more than {MOST_PACKETS} packets"
            )));
        }
        if done && let Some(Run::Going(simulation)) = self.runs.remove(&number) {
            self.runs
                .insert(number, Run::Ended(simulation.finish().tables));
        }
        let time_s = now.since(Time::ZERO).as_seconds();
        Ok(json!({ "done": done, "time_s": time_s, "packets": packets }))
    }

    /// Returns the names of the tables of an ended run.
    ///
    /// # Errors
    /// There is no such run, or it has not ended.
    pub fn tables(&self, number: u32) -> Answer {
        let Some(Run::Ended(tables)) = self.runs.get(&number) else {
            return Err(unknown("the tables of a run"));
        };
        Ok(tables.iter().map(|(name, _)| *name).collect())
    }

    /// Returns a table of an ended run, if there is one of that name.
    pub fn table(&self, number: u32, name: &str) -> Option<&Table> {
        let Some(Run::Ended(tables)) = self.runs.get(&number) else {
            return None;
        };
        tables
            .iter()
            .find_map(|(known, table)| (*known == name).then_some(table))
    }

    /// Drops a run.
    pub fn cancel(&mut self, number: u32) {
        self.runs.remove(&number);
    }
}

/// Returns the version of the engine, the JSON schema of scenarios, and the names of the congestion
/// controls that a page does not offer, as they need a kernel or a program.
pub fn describe() -> Value {
    let controls = ControlKind::ENTRIES.iter();
    let left_out = controls.filter(|entry| !entry.simulated);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schema": schema::schema(),
        "controls_left_out": left_out.map(|entry| entry.name).collect::<Vec<_>>(),
    })
}

/// Reads the text of a scenario, TOML or JSON; the answer is its tree.
///
/// # Errors
/// What cannot be read, with line and column.
pub fn read(scenario: &str) -> Answer {
    text::read(scenario)
}

/// Returns a tree as TOML.
pub fn write(tree: &Value) -> Value {
    json!(text::to_toml(tree))
}

/// Returns the changed tree (`scenario`), its first `point` as written and with all defaults
/// (`resolved`), the values that its sweep gives that point (`assignments`), and how many `points`
/// there are.
///
/// The request is that of [`Laboratory::begin`]; with the `text` that the scenario was read from,
/// mistakes have their line and column.
///
/// # Errors
/// What is wrong with the scenario.
pub fn check(request: &Value) -> Answer {
    let (changed, scenario) = checked(request).map_err(|error| match request["text"].as_str() {
        Some(text) => Source::read(text).map_or(error.clone(), |source| source.place_in(error)),
        None => error,
    })?;
    let mut points = tree::expand(&changed)?;
    let count = points.len();
    let first = points.swap_remove(0);
    Ok(json!({
        "scenario": changed,
        "point": first.tree,
        "resolved": scenario.resolved,
        "assignments": first.assignments,
        "points": count,
    }))
}

/// Returns the tree of a request with its changes, and the scenario of its first point.
fn checked(request: &Value) -> Result<(Value, Scenario), Error> {
    let mut changed = request["scenario"].clone();
    for (path, value) in request["set"].as_object().into_iter().flatten() {
        tree::assign(&mut changed, path, value.clone())?;
    }
    let first = tree::expand(&changed)?.swap_remove(0);
    let files: BTreeMap<String, String> = request["files"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
        .collect();
    let scenario = Scenario::from_tree(&first.tree, &files)?;
    topology::check(&scenario)?;
    Ok((changed, scenario))
}

/// Refuses a run that needs more memory than a page has.
fn fits(scenario: &Scenario) -> Result<(), Error> {
    let bytes = Need::of([(scenario, 1)], 1).bytes();
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(too_large(&format!(
            "needs at least {:.1} GB of memory",
            bytes / 1e9
        ))),
    }
}

fn too_large(why: &str) -> Error {
    let sentence = format!("the run {why}, too much for a page; run it with ackclock simulate");
    Error::message("", sentence).coded(Code::Unsupported)
}

#[cfg(test)]
mod tests;
