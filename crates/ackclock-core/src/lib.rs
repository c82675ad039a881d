//! The physics of the laboratory: everything that decides what happens to a packet, and when.
//!
//! Nothing here reads a clock, a file, an environment variable or a global. Whoever drives these
//! elements (the simulator in virtual time, the emulator and the transport in real time) passes the
//! time and gets the same decisions. Times, rates and amounts are the types of [`units`].
//!
//! # The life of a packet
//!
//! A [`scenario`] is text that has been parsed, checked and resolved. A [`job`] is one run of it: a
//! replicate of a point of its sweep. [`network`] builds the run's hops, with a random stream of
//! its own for each element ([`streams`]), and [`routes`] through them for each instance of a flow.
//! [`arrivals`] says when instances come that are not there from the beginning.
//!
//! An application ([`traffic`]) writes data into a sender: without end, at its own pace, or an
//! amount that may be drawn ([`size`]). A TCP sender ([`endpoint`]) asks its congestion control
//! ([`congestion`]) how much may be in flight, and some controls ask a bandwidth [`estimator`]. A
//! sender of UDP ([`datagram`]) sends as written, or at the pace of a rate control
//! ([`rate_control`]).
//!
//! The [`packet`] is put into a pool and stays in its slot to the end: queues and links pass on its
//! number. So a packet is in one place at a time, and conservation is structural.
//!
//! It enters the first [`hop`] of its route. Impairments in front of the queue may drop, copy or
//! delay it ([`impairment`]). A discipline lets it wait, marks it or drops it ([`queue`]). The link
//! ([`link`]) sends it, perhaps at the rate that another hop reports as its capacity
//! ([`feedback`]); or the hop contends for a shared medium ([`medium`]), which says when. Then
//! impairments behind the link have their turn, and the propagation delay begins. Drops and marks
//! are reported to an observer ([`observe`]).
//!
//! At the end of the route the receiver ([`endpoint`], [`datagram`]) takes the packet and may
//! answer. The answer travels the return route in the same manner, and what it says about delay and
//! loss lets the sender send again: the ACK clock.
//!
//! # The results
//!
//! Every method fills the same tables ([`result`]). [`sampling`] writes time series of hops,
//! [`activity`] derives goodput and completion times, [`histogram`] counts spans of time.
//!
//! # Adding an element
//!
//! Each kind of element is a folder with one file per element and one list, its [`registry`];
//! [`kinds`] is the list of these lists. Names on the command line, the schema, the reference and
//! the contract tests derive from it. An element states facts about itself, and nobody else reads
//! its parameters.

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
