//! Whatever fuzzing has found worth keeping is read as any bytes must be: without its compiler, and on every machine.

mod any_bytes;

use std::fs;
use std::path::Path;

/// Hands every file of a corpus on; how many there are.
fn each(corpus: &str, check: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(corpus);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
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
