//! Replay of the fuzzing corpus: runs without the fuzzer's compiler, on every machine.

mod any_bytes;

use proptest::prelude::*;
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
fn datagrams_that_were_kept_are_read_or_refused() {
    assert!(each("datagram", any_bytes::datagram) > 20);
}

#[test]
fn sessions_that_were_kept_end() {
    assert!(each("session", any_bytes::session) > 20);
}

proptest! {
    /// A short version of the fuzz target, without its compiler.
    #[test]
    fn any_bytes_are_a_datagram_or_none(data in prop::collection::vec(any::<u8>(), 0..1500)) {
        any_bytes::datagram(&data);
    }

    /// A session that has been opened, followed by any operations.
    #[test]
    fn any_story_of_a_session_ends(
        control in any::<u8>(),
        story in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let opened = [0, 10, 2, 0].repeat(6);
        any_bytes::session(&[&[control], &opened[..], &[9, 255], &story].concat());
    }
}
