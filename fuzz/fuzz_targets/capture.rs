//! Reads any bytes as a capture. Starts from the corpus in `fuzz/corpus/capture`.
#![no_main]

#[path = "../../crates/ackclock-pcap/tests/integration/any_bytes.rs"]
#[allow(dead_code)] // each of two targets uses its own part
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::capture(data));
