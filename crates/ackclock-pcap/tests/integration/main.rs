//! Tests of what the crate offers, in one program: linking one for each file takes minutes.

mod any_bytes;
mod corpus;
mod peer;
mod peers;
mod read;
mod round_trip;
mod samples;
mod tshark;
