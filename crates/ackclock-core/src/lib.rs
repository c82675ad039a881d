//! The physics of the laboratory: everything that decides when a packet moves and what happens to
//! it.
//!
//! Nothing here reads a clock, a file, an environment variable or a global. The driver (the
//! simulator in virtual time, the emulator and the transport in real time) passes the time in and
//! gets the same decisions. Times, rates and amounts have the types of [`ackclock_spec::units`],
//! the floor.
//!
//! # The life of a packet
//!
//! A scenario is read by a crate above this one, and built into hops and [`routes`]. Each element
//! gets its own random stream ([`ackclock_spec::streams`]). [`arrivals`] sets when later instances
//! start.
//!
//! An application ([`traffic`]) writes data into a sender: without end, at its own pace, or a fixed
//! or random amount ([`size`]). A TCP sender ([`endpoint`]) asks its congestion control
//! ([`congestion`]) how much may be in flight, and some controls use a bandwidth [`estimator`]. A
//! UDP sender ([`datagram`]) sends data as it is written, or at the rate of a rate control
//! ([`rate_control`]).
//!
//! The [`packet`] is stored in a slot of a pool until it leaves the network. Queues and links pass
//! only its number on. A packet is therefore in one place at a time, and packets are conserved by
//! construction.
//!
//! The packet enters the first [`hop`] of its route:
//!
//! * Impairments before the queue may drop, copy or delay it ([`impairment`]).
//! * A queue discipline lets it wait, marks it or drops it ([`queue`]).
//! * The link ([`link`]) sends it, perhaps at the rate that another hop reports as its capacity
//!   ([`feedback`]). A hop on a shared medium ([`medium`]) contends for it instead.
//! * Impairments after the link follow, then the propagation delay.
//!
//! Drops and marks are reported to an observer ([`observe`]).
//!
//! At the end of the route, the receiver ([`endpoint`], [`datagram`]) takes the packet and may
//! answer. The answer travels the return route in the same manner. The delay and the losses that it
//! reveals let the sender send again: the ACK clock.
//!
//! # The results
//!
//! Every method fills the same tables ([`result`]). [`sampling`] writes time series of hops.
//! [`activity`] derives goodput and completion times. [`histogram`] counts durations.
//!
//! # Adding an element
//!
//! Each kind of element is a folder with one file per element and one list, its
//! [registry](ackclock_spec::registry). Names on the command line, the schema, the reference and
//! the contract tests derive from these lists. An element states facts about itself, and no other
//! code reads its parameters.

// Test benches refer to the crate by name: the contract tests in the crate above share them.
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
pub mod link;
pub mod medium;
pub mod observe;
pub mod packet;
pub mod programs;
pub mod queue;
pub mod rate_control;
mod reallocation;
pub mod result;
pub mod routes;
pub mod sampling;
pub mod size;
mod token_bucket;
pub mod traffic;
pub mod transport;
