use super::*;
use crate::refusal::written;
use ackclock_sim::run::Unattended;
use ackclock_spec::files::NoFiles;

fn first() -> Value {
    read(include_str!("../../../../examples/first.toml")).unwrap()
}

fn ended(lab: &mut Laboratory, request: &Value) -> (u32, u32) {
    let run = lab.begin(request).unwrap()["run"].as_u64().unwrap() as u32;
    for steps in 1.. {
        if lab.proceed(run).unwrap()["done"] == true {
            return (run, steps);
        }
    }
    unreachable!()
}

#[test]
fn a_run_in_steps_has_the_tables_of_a_whole_one() {
    let request = json!({ "scenario": first(), "set": { "duration": "60 s" }, "replicate": 2 });
    let mut lab = Laboratory::default();
    let (run, steps) = ended(&mut lab, &request);
    assert!(steps > 1, "{steps} steps");
    let mut tree = first();
    tree::assign(&mut tree, "duration", "60 s".into()).unwrap();
    let scenario = Scenario::from_tree(&tree, &NoFiles).unwrap();
    let job = Job {
        scenario: &scenario,
        point: 0,
        replicate: 2,
    };
    let whole =
        ackclock_sim::run::Run::simulate(&job, topology::build(&job), NoTrace, &Unattended).tables;
    let names: Vec<&str> = whole.iter().map(|(name, _)| *name).collect();
    assert_eq!(lab.tables(run).unwrap(), json!(names));
    for (name, table) in &whole {
        assert_eq!(lab.table(run, name), Some(table), "{name}");
    }
}

#[test]
fn a_cancelled_run_is_gone() {
    let mut lab = Laboratory::default();
    let (run, _) = ended(
        &mut lab,
        &json!({ "scenario": first(), "set": { "duration": "6 s" } }),
    );
    lab.cancel(run);
    assert!(lab.table(run, "flows").is_none());
    assert!(lab.tables(run).is_err() && lab.proceed(run).is_err());
    assert!(lab.runs.is_empty());
}

#[test]
fn the_first_point_of_a_sweep_runs_with_its_files() {
    let scenario = read(include_str!("../../../../examples/trace-link.toml")).unwrap();
    let files = json!({
        "../traces/swinging-downlink.mahimahi":
            include_str!("../../../../traces/swinging-downlink.mahimahi"),
        "../traces/swinging-downlink.csv": include_str!("../../../../traces/swinging-downlink.csv"),
    });
    let checked = check(&json!({ "scenario": scenario, "files": files })).unwrap();
    assert_eq!(
        checked["assignments"],
        json!([["flows.download.transport.control.kind", "reno"]])
    );
    assert_eq!(checked["points"], 2);
    assert!(checked["scenario"]["sweep"].is_object() && checked["point"]["sweep"].is_null());
    let error = check(&json!({ "scenario": scenario })).unwrap_err();
    assert_eq!(error.key(), "file hops.downlink.link.file");
}

#[test]
fn mistakes_have_their_line() {
    let text = "schema = 1\nduration = \"10 x\"\nhops = []\nflows = []\n";
    let errors = written(check(
        &json!({ "scenario": read(text).unwrap(), "text": text }),
    ))["errors"]
        .take();
    assert_eq!(errors[0]["field"], "duration");
    assert_eq!(errors[0]["place"], json!([2, 12]));
    let errors = written(read("schema = \n"))["errors"].take();
    assert_eq!(errors[0]["code"], "syntax");
    assert_eq!(errors[0]["place"][0], 1);
}

#[test]
fn what_is_too_large_for_a_page_is_refused() {
    let mut lab = Laboratory::default();
    let flows = json!({ "scenario": first(), "set": { "flows.download.count": 10_000_000 } });
    let error = lab.begin(&flows).unwrap_err();
    assert!(error.sentence().contains("ackclock simulate"), "{error}");
    assert!(lab.runs.is_empty());
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(written(read(&deep))["errors"][0]["code"], "syntax");
}

#[test]
fn the_page_of_a_scenario_changes_no_run() {
    let mut tree = first();
    let before = check(&json!({ "scenario": tree })).unwrap();
    tree["lab"] = json!({
        "sliders": { "hops.bottleneck.queue.limit": "5..500 packets log" },
        "figures": ["cwnd", "queue"],
        "text": "How large should a buffer be?",
    });
    let after = check(&json!({ "scenario": tree })).unwrap();
    assert_eq!(before["resolved"], after["resolved"]);
    tree["lab"]["sliders"] = json!({ "hops.bottelneck.delay": "5..500 ms" });
    let error = check(&json!({ "scenario": tree })).unwrap_err();
    assert_eq!(error.field(), "lab.sliders.hops.bottelneck");
    tree["lab"]["sliders"] = json!({});
    tree["lab"]["figures"] = json!(["cwmd"]);
    let error = check(&json!({ "scenario": tree })).unwrap_err();
    assert_eq!(error.field(), "lab.figures.0");
}

#[test]
fn the_page_knows_the_schema_and_the_controls_left_out() {
    let description = describe();
    assert_eq!(
        description["controls_left_out"],
        json!(["external", "scripted", "kernel", "python"])
    );
    assert!(description["schema"]["properties"]["lab"].is_object());
    assert_eq!(description["version"], env!("CARGO_PKG_VERSION"));
}
