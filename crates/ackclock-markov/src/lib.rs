//! Stationary distributions of Markov chains of congestion control. This crate computes numbers
//! from numbers and uses no Python, no files and no clock.
//!
//! The chains are:
//!
//! - A window that climbs one step per round and falls by a non-decreasing map ([`chain`]), in
//!   O(N).
//! - A window that climbs by a few states per round and falls anywhere ([`jumps`]), in O(N^2).
//! - The window of [`chain`] with a channel of two states ([`channel`]), in O(N).
//! - A window observed only at losses ([`epochs`]), with sparse rows.
//!
//! None of them subtracts, so every component, however small, is accurate to a few roundings.

pub mod chain;
pub mod channel;
pub mod climb;
pub mod epochs;
pub mod jumps;
