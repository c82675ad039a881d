//! Any bytes as a packet of any link type. Begins with the corpus that is kept in
//! `fuzz/corpus/packet`.
#![no_main]

#[path = "../../crates/ackclock-pcap/tests/any_bytes/mod.rs"]
#[allow(dead_code)] // of two targets each takes its own
mod any_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::packet(data));
