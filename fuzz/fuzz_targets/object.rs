//! Reads any bytes as an object for BPF and runs it. Starts from the corpus in
//! `fuzz/corpus/object`.
#![no_main]

#[path = "../../crates/ackclock-bpf/tests/any_bytes/mod.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::object(data));
