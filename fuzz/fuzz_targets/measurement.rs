//! Measures any bytes as a capture. Starts from the corpora in `fuzz/corpus/measurement` and
//! `fuzz/corpus/capture`.
#![no_main]

#[path = "../../crates/ackclock-measure/tests/integration/any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::measurement(data));
