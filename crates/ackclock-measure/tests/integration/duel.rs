//! Records of Linux that our sender repeats, ACK by ACK.

use ackclock_measure::duel::{Settings, replay};
use ackclock_spec::units::Span;
use std::path::Path;

/// Each record was made by `tests/peers/duel.py`, on Linux 6.18 with a tick of 4 ms. Its name says
/// what it shows; those of a mended rule differed before.
#[test]
fn the_sender_does_what_the_kernel_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/duels");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let record = std::fs::read_to_string(&path).unwrap();
        assert_eq!(replay(&record), Ok(None), "{}", path.display());
        played += 1;
    }
    assert!(played > 0, "no record was found");
}

/// Records in which the sender differs: tests/peers/README.md has the reasons. A record that no
/// longer differs here shows a rule that has been mended, and moves to the others.
const THAT_DIFFER: [(&str, usize, &str); 3] = [
    ("bbr-at-a-report-of-a-duplicate", 27, "cwnd"),
    ("burst-held-back-in-disorder", 49, "segments"),
    ("sample-beside-a-repeated-segment", 12, "rtt"),
];

#[test]
fn what_differs_still_differs_at_the_same_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/duels-that-differ");
    for (name, line, field) in THAT_DIFFER {
        let record = std::fs::read_to_string(folder.join(format!("{name}.duel"))).unwrap();
        let difference = replay(&record).unwrap().expect(name);
        assert_eq!((difference.line, difference.field), (line, field), "{name}");
    }
    assert_eq!(folder.read_dir().unwrap().count(), THAT_DIFFER.len());
}

const RECORD: &str = r#"{"mss": 1448, "control": "reno", "timestamps": true}
0 syn
40000 synack
40000 write 12 > 0,1,2,3,4,5,6,7,8,9
80000 ack 2 1 - > 10,11 : 12 - 0 10 0 0 0 3 40000
"#;

#[test]
fn a_difference_is_named_with_its_line() {
    assert_eq!(replay(RECORD), Ok(None));
    let differing = |from: &str, to: &str| {
        let difference = replay(&RECORD.replace(from, to)).unwrap().unwrap();
        (
            difference.line,
            difference.field,
            difference.kernel,
            difference.ours,
        )
    };
    let other = |field, kernel: &str, ours: &str| (5, field, kernel.to_owned(), ours.to_owned());
    assert_eq!(
        differing("10,11 :", "10 :"),
        other("segments", "[10]", "[10, 11]")
    );
    assert_eq!(differing(": 12", ": 13"), other("cwnd", "13", "12"));
    assert_eq!(
        differing("0 10 0", "3 10 0"),
        other("ca_state", "Recovery", "Open")
    );
    assert_eq!(
        differing("0 3 40000", "0 4 40000"),
        other("reordering", "Some(4)", "Some(3)")
    );
    assert_eq!(
        differing("3 40000", "3 42000"),
        other("rtt", "42000", "40000")
    );
    let timer = "70000 timer > 0\n80000 ack";
    assert_eq!(differing("80000 ack", timer).1, "timer");
}

/// Both probes are due at a tick, at 128 and at 388 ms. The first has left when the kernel gets an
/// ACK 100 µs later. The second has not 60 µs later: that timer was late.
const PROBES: &str = r#"{"mss": 1448, "control": "reno", "timestamps": true}
0 syn
40000 synack
41000 write 2 > 0,1
128030 timer > 1
128100 ack 1 0 - > - : 10 - 0 1 0 0 0 3 45887
168100 ack 2 2 1-2* > - : 10 - 0 0 0 0 0 3 45887
301000 write 2 > 2,3
388060 ack 4 3 - > - : 10 - 0 0 0 0 0 3 51033
"#;

#[test]
fn a_timer_that_is_due_waits_for_the_kernels() {
    assert_eq!(replay(PROBES), Ok(None));
    let missing = PROBES.replace("128030 timer > 1\n", "");
    let difference = replay(&missing).unwrap().unwrap();
    assert_eq!((difference.line, difference.field), (6, "rtt"), "no probe");
}

#[test]
fn the_settings_of_a_record_are_read() {
    let settings = Settings::read(RECORD).unwrap();
    assert_eq!((settings.mss, &*settings.control), (1448, "reno"));
    let stopped = RECORD.replacen('{', r#"{"stopped_us": 2500, "#, 1);
    let settings = Settings::read(&stopped).unwrap();
    assert_eq!(settings.stopped, Span::from_micros(2500));
}

/// The kernel draws where the cycle of its BBR begins.
#[test]
fn controls_are_found_by_their_names_in_linux() {
    for control in ["reno", "cubic", "bbr"] {
        assert_eq!(
            replay(&RECORD.replace("reno", control)),
            Ok(None),
            "{control}"
        );
    }
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    for (from, to, sentence) in [
        ("{", "", "line 1: "),
        ("1448", "\"\"", "line 1: mss is missing"),
        ("reno", "renault", "line 1: "),
        ("0 syn", "zero syn", "line 2: zero syn"),
        ("10,11", "10;11", "line 5: 80000 ack 2 1 - > 10;11"),
        ("- 0 10 0", "- 0 10", "line 5: "),
    ] {
        let refused = replay(&RECORD.replacen(from, to, 1)).unwrap_err();
        assert!(refused.starts_with(sentence), "{refused}");
    }
}
