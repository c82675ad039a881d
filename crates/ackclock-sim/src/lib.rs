//! The driver that jumps: a deterministic packet-level engine in virtual time.
//!
//! [`topology`] builds flows on the network of a scenario, [`run`] moves packets between them,
//! [`events`] says who is next, [`samples`] writes the tables, [`batch`] does many runs on all
//! cores. A run is a function of (scenario, replicate): same input, same bytes.

pub mod batch;
mod counting_sort;
pub mod events;
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
