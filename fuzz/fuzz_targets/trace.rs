//! Reads any text as the trace of a link or a delay, in each format, and as a file of sizes.
#![no_main]

use ackclock_core::impairment::ImpairmentKind;
use ackclock_core::link::LinkKind;
use ackclock_core::size::SizeKind;
use ackclock_spec::registry::choose;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use std::collections::BTreeMap;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let files = BTreeMap::from([("file".to_owned(), text.to_owned())]);
    let mut mistakes = Vec::new();
    for format in ["mahimahi", "csv", "ucc_downlink", "ucc_uplink"] {
        let link = json!({ "kind": "trace", "file": "file", "format": format });
        mistakes.extend(choose::<LinkKind>(&link, &files).err());
    }
    for format in ["lens_irtt", "lens_ping"] {
        let delay = json!({ "kind": "measured_delay", "file": "file", "format": format });
        mistakes.extend(choose::<ImpairmentKind>(&delay, &files).err());
    }
    let sizes = json!({ "kind": "empirical", "file": "file" });
    mistakes.extend(choose::<SizeKind>(&sizes, &files).err());
    for mistake in mistakes {
        assert_eq!(mistake.to_string().lines().count(), 1);
    }
});
