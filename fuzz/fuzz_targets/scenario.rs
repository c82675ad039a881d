//! Reads any text as a scenario. The result is a scenario or a one-line error, and a resolved
//! scenario reads back as itself.
#![no_main]

use ackclock_scenario::Scenario;
use ackclock_spec::files::NoFiles;
use ackclock_scenario::tree::{expand, from_toml};
use libfuzzer_sys::fuzz_target;

/// Points of a sweep that are read; points differ in few values.
const POINTS: usize = 4;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let points = match from_toml(text).and_then(|tree| expand(&tree)) {
        Ok(points) => points,
        Err(error) => return assert_eq!(error.to_string().lines().count(), 1),
    };
    for point in points.iter().take(POINTS) {
        match Scenario::from_tree(&point.tree, &NoFiles) {
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
            Ok(scenario) => {
                let again =
                    Scenario::from_tree(&scenario.resolved, &NoFiles).expect("resolved is valid");
                assert_eq!(again.resolved, scenario.resolved);
                assert_eq!(format!("{again:?}"), format!("{scenario:?}"));
            }
        }
    }
});
