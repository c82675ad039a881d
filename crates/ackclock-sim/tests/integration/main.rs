//! Tests of what the crate offers, in one program: linking one for each file takes minutes.

mod ahead;
mod bbr;
mod cell;
mod common;
mod control_states;
mod determinism;
mod dialogue;
mod echo;
mod environment;
mod graph;
mod private;
