//! The twin: our sender, given what a sender in a capture was given.
//!
//! [`Connection`] turns the packets of one connection into events: ACKs that arrive, and segments
//! that leave. [`Twin`] gives the ACKs to a [`Sender`](ackclock_core::endpoint::Sender) and asks,
//! before each captured segment, what it would send. Where the answers differ it notes a
//! [`Difference`] and follows the capture, so that one difference does not cause all others. The
//! window is never corrected: it is our sender's own from the first ACK to the last. [`Reading`]s
//! of the other stack's window, if there are any, are compared with it.
//!
//! The capture must be taken at the sender and begin with the handshake. Memory grows with its
//! length: 128 bytes per packet of the connection, and [`MOST_EVENTS`] bounds their number.

mod connection;
mod player;
mod report;
mod trajectory;

pub use connection::{Connection, Event, EventKind};
pub use player::{Application, Twin};
pub use report::{Difference, DifferenceKind, Reading, Report, Step};

/// Most events of one connection that a twin plays.
pub const MOST_EVENTS: usize = 20_000_000;
