//! Replays any bytes as the record of an emulation. Starts from the corpus in `fuzz/corpus/record`.
#![no_main]

#[path = "../../crates/ackclock-emu/tests/any_bytes/mod.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::record(data));
