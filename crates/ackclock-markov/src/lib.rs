//! Stationary laws of Markov chains of congestion control. Numbers in, numbers out: no Python, no
//! files, no clock.
//!
//! - [`chain`]: a window that climbs one step per round and falls by a non-decreasing map, in O(N).
//! - [`jumps`]: a window that climbs by a few states per round and falls anywhere, in O(N^2).
//! - [`channel`]: the same with a channel of two states beside the window, in O(N).
//! - [`epochs`]: a window known only at losses, with sparse rows.
//!
//! None of them subtracts, so that every component, however small, is accurate to a few roundings.

pub mod chain;
pub mod channel;
pub mod climb;
pub mod epochs;
pub mod jumps;
