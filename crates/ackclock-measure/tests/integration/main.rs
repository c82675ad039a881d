//! Tests of what the crate offers, in one program: linking one for each file takes minutes.

mod cases;
mod common;
mod robust;
mod truth;
