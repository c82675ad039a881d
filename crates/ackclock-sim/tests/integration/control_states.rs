//! The table `control_states`.

use crate::common::{DUMBBELL, scenario};
use ackclock_core::result::{Column, Table};
use ackclock_scenario::job::Job;
use ackclock_sim::run::{Run, Unattended};
use ackclock_sim::topology;
use ackclock_sim::trace::NoTrace;

fn tables(control: &str, records: bool) -> Vec<(&'static str, Table)> {
    let control = format!("flows.bulk.transport.control={{ kind = \"{control}\" }}");
    let records = format!("flows.bulk.control_states={records}");
    let changes = [
        control.as_str(),
        records.as_str(),
        "flows.bulk.transport.preset=\"linux\"",
        "flows.bulk.count=2",
        "duration=\"8 s\"",
    ];
    let scenario = scenario(DUMBBELL, &changes);
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 0,
    };
    Run::simulate(&job, topology::build(&job), NoTrace, &Unattended).tables
}

fn column<'a>(tables: &'a [(&str, Table)], table: &str, name: &str) -> &'a Column {
    let (_, Table(columns)) = tables.iter().find(|(known, _)| *known == table).unwrap();
    &columns.iter().find(|(known, _)| *known == name).unwrap().1
}

fn numbers<'a>(tables: &'a [(&str, Table)], name: &str) -> &'a [f64] {
    match column(tables, "control_states", name) {
        Column::Number(values) => values,
        _ => unreachable!("{name} is a number"),
    }
}

#[test]
fn recording_a_control_changes_nothing_else() {
    for control in ["bbr1", "cubic", "reno"] {
        let (plain, mut recorded) = (tables(control, false), tables(control, true));
        let at = recorded
            .iter()
            .position(|(name, _)| *name == "control_states");
        recorded.remove(at.unwrap());
        assert_eq!(plain, recorded, "{control}");
    }
}

/// The sender's window at a sampling time is that of the last record before it: 80 times for each
/// of two flows.
#[test]
fn records_agree_with_samples() {
    let tables = tables("bbr1", true);
    let (times, windows) = (numbers(&tables, "time_s"), numbers(&tables, "cwnd_bytes"));
    let Column::Integer(instances) = column(&tables, "control_states", "instance") else {
        unreachable!("a whole number")
    };
    let samples = |name| match column(&tables, "samples", name) {
        Column::Number(values) => values,
        _ => unreachable!("a number"),
    };
    let Column::Integer(owners) = column(&tables, "samples", "instance") else {
        unreachable!("a whole number")
    };
    let mut compared = 0;
    for (row, (at, window)) in samples("time_s")
        .iter()
        .zip(samples("cwnd_bytes"))
        .enumerate()
    {
        let mut of_flow = (0..times.len()).filter(|record| instances[*record] == owners[row]);
        if let Some(last) = of_flow.rfind(|record| times[*record] < *at) {
            assert_eq!(windows[last], *window, "at {at}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// BBR states its model; CUBIC has none.
#[test]
fn what_a_control_does_not_have_is_unknown() {
    let count_known = |control: &str, name: &str| {
        let tables = tables(control, true);
        let values = numbers(&tables, name);
        values.iter().filter(|value| !value.is_nan()).count()
    };
    assert!(count_known("bbr1", "max_bw_bit_per_s") > 1000);
    assert_eq!(count_known("cubic", "max_bw_bit_per_s"), 0);
    assert!(count_known("cubic", "ssthresh_bytes") > 1000);
}
