//! Tests of what the crate offers, in one program: linking one for each file takes minutes.

mod any_bytes;
mod cases;
mod common;
mod corpus;
mod duel;
mod robust;
mod truth;
