//! Plays any bytes as operations on a session. Starts from the corpus in `fuzz/corpus/session`.
#![no_main]

#[path = "../../crates/ackclock-transport/tests/any_bytes/mod.rs"]
#[allow(dead_code)] // each of two targets uses its own part
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::session(data));
