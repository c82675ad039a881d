//! Sets any values in any scenario, as a link of a lab page holds both. Each answer is a scenario
//! or a line, and no file is read.
#![no_main]

use ackclock_scenario::Scenario;
use ackclock_scenario::tree::{assign, expand};
use ackclock_spec::files::NoFiles;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Points of a sweep that are read; points differ in few values.
const POINTS: usize = 4;

fuzz_target!(|data: &[u8]| {
    let Ok(link) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let mut tree = link.get("scenario").cloned().unwrap_or_default();
    for side in ["set", "b"] {
        let changes = link.get(side).and_then(Value::as_object);
        for (path, value) in changes.into_iter().flatten() {
            if let Err(error) = assign(&mut tree, path, value.clone()) {
                assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
    let points = match expand(&tree) {
        Ok(points) => points,
        Err(error) => return assert_eq!(error.to_string().lines().count(), 1),
    };
    for point in points.iter().take(POINTS) {
        if let Err(error) = Scenario::from_tree(&point.tree, &NoFiles) {
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
});
