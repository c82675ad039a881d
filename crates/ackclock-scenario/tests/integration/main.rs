//! Tests of what the crate offers, in one program: linking one for each file takes minutes.

mod controls;
mod elements;
mod estimators;
mod facts;
mod laws;
mod media;
mod rate_controls;
mod scenario;
mod station;
mod steep_growth;
mod variants;
mod worked_example;
