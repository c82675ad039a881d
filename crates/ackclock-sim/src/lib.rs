//! The simulation driver: a deterministic packet-level engine in virtual time, which jumps from
//! event to event.
//!
//! [`topology`] builds flows on the network of a scenario. [`run`] moves packets between them, in
//! the order of [`events`]. [`samples`] writes the tables, and [`batch`] executes many runs on all
//! cores. A run depends on (scenario, replicate) alone: the same input gives the same bytes.

pub mod batch;
mod counters;
mod counting_sort;
pub mod environment;
pub mod events;
pub mod floor;
pub mod flow;
pub mod hop_slot;
pub mod ledger;
pub mod media;
pub mod memory;
pub mod packet_log;
mod prefetch;
mod prefetch_pipeline;
pub mod run;
pub mod samples;
pub mod topology;
pub mod trace;
