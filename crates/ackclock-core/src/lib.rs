//! The physics of the laboratory.
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | [`Time`](units::Time), [`Span`](units::Span), [`Bytes`](units::Bytes), [`BitRate`](units::BitRate), [`Probability`](units::Probability) |
//! | [`streams`] | named random streams |
//! | [`packet`] | the packet, the pool it lives in, FIFO lists of packets |
//! | [`observe`] | who is told of drops and marks |
//! | [`hop`] | impairments, queue, link, propagation delay: one element driven by any clock |
//! | [`link`], [`medium`], [`queue`], [`impairment`], [`traffic`], [`congestion`], [`rate_control`], [`estimator`], [`feedback`], [`size`] | one file per kind of element, one registry per folder |
//! | [`endpoint`] | TCP sender and receiver that know no clock and no socket |
//! | [`datagram`] | UDP's, which may be under rate control, in the same way |
//! | [`arrivals`] | when instances of a flow come that are not all there from the beginning |
//! | [`network`], [`routes`] | from a scenario to hops, and the ways through them |
//! | [`scenario`] | from text to checked, resolved values |
//! | [`job`] | runs to be done: replicates of the points of a sweep |
//! | [`result`], [`sampling`], [`activity`] | the tables every way fills, and how some of it is reckoned |
//! | [`histogram`] | counts of spans of time |
//! | [`registry`] | how an element's parameters become a record, and what it states about itself |
//! | [`kinds`] | the list of kinds, from which command-line choices, schema, docs and tests of contracts derive |
//!
//! Nothing here reads a clock, a file, an environment variable or a global.

// Test benches name the crate, so that unit tests and integration tests share their files.
#[cfg(test)]
extern crate self as ackclock_core;

pub mod activity;
pub mod arrivals;
pub mod congestion;
pub mod datagram;
pub mod endpoint;
pub mod estimator;
pub mod feedback;
pub mod histogram;
pub mod hop;
pub mod impairment;
pub mod job;
pub mod kinds;
pub mod link;
pub mod medium;
pub mod network;
pub mod observe;
pub mod packet;
pub mod queue;
pub mod rate_control;
pub mod registry;
pub mod result;
pub mod routes;
pub mod sampling;
pub mod scenario;
pub mod size;
pub mod streams;
pub mod traffic;
pub mod units;

/// Compiles and runs the worked example of the contributor's guide.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct WorkedExample;
