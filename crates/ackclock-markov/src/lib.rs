//! Stationary distributions of Markov chains of congestion control. This crate computes numbers
//! from numbers and uses no Python, no files and no clock.
//!
//! [`chain`] solves a window that climbs one step per round and falls by a non-decreasing map, in
//! O(N). [`channel`] does the same for such a window with a channel of two states. [`jumps`] solves
//! a window that climbs by a few states per round and falls anywhere, in O(N^2). [`epochs`] solves
//! a window observed only at losses, with sparse rows.
//!
//! None of them subtracts, so every component, however small, is accurate to a few roundings.

pub mod chain;
pub mod channel;
pub mod climb;
pub mod epochs;
pub mod jumps;
