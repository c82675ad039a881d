//! Replay of the fuzzing corpora of captures: runs without the fuzzer's compiler, on every machine.

use std::fs;
use std::path::Path;

#[test]
fn captures_that_were_kept_have_bounded_rows() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (corpus, least) in [("capture", 100), ("measurement", 10)] {
        let files = fs::read_dir(corpora.join(corpus)).unwrap();
        let count = files
            .map(|file| crate::any_bytes::measurement(&fs::read(file.unwrap().path()).unwrap()))
            .count();
        assert!(count >= least, "{corpus}: {count}");
    }
}
