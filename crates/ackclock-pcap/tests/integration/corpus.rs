//! Replay of the fuzzing corpus: runs without the fuzzer's compiler, on every machine.

use std::fs;
use std::path::Path;

/// Passes each file of a corpus to `check`; returns how many there are.
fn each(corpus: &str, check: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(corpus);
    let files =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files
        .map(|file| check(&fs::read(file.unwrap().path()).unwrap()))
        .count()
}

#[test]
fn captures_that_were_kept_are_read_as_far_as_they_go() {
    assert!(each("capture", crate::any_bytes::capture) > 100);
}

#[test]
fn packets_that_were_kept_are_decoded_or_skipped() {
    assert!(each("packet", crate::any_bytes::packet) > 100);
}
