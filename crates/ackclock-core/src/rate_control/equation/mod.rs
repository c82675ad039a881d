//! Equations that say what a TCP would send where packets are lost at a given rate.

pub mod pftk;
pub mod tfrc;
