//! Any bytes as the story of a session. Begins with the corpus that is kept in
//! `fuzz/corpus/session`.
#![no_main]

#[path = "../../crates/ackclock-transport/tests/any_bytes/mod.rs"]
#[allow(dead_code)] // of two targets each takes its own
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::session(data));
