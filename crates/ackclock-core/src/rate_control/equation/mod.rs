//! Throughput equations of TCP for a given loss rate.

pub mod pftk;
pub mod tfrc;
