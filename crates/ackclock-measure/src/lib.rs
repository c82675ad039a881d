//! What a packet capture says of its TCP connections: the tables `flows` and `samples` that every way of answering fills, and `connections`,
//! `limit_periods`, `rtt_histogram`, `rate_estimates` and `segments`, which only captures do.
//!
//! | module | holds |
//! |---|---|
//! | [`measurement`] | packets in, tables out: the connections of a capture |
//! | [`parameters`] | what somebody who measures may choose |
//! | [`limits`] | what keeps a sender from sending more: the rules |
//! | [`retransmission`] | why a packet was sent again: the rules |
//! | [`rate_estimates`] | rate estimators that run along with the ACKs |
//! | [`vantage`] | where on the way a capture was taken |
//!
//! Within: a `connection` is two `direction`s. What a direction has sent is `sending`, which keeps `flight`, `holes` and `recent`; what came back is
//! `acknowledging`, which keeps `ranges`, `resent` and `acks_in_transit`; `rtt` and `timestamp_echoes` measure, `rounds` cuts the time into round trips, `rows` writes.
//!
//! Nothing here reads a file or a clock. Memory grows with the connections that live at a time, not with the capture; of those that are over, twelve bytes
//! for each pair of addresses remain, by which later ones are numbered.

mod acks_in_transit;
mod connection;
mod direction;
mod flight;
mod holes;
pub mod limits;
pub mod measurement;
pub mod parameters;
mod ranges;
pub mod rate_estimates;
mod recent;
mod resent;
pub mod retransmission;
mod rounds;
mod rows;
mod rtt;
mod seen;
mod sequence;
mod time_average;
mod timestamp_echoes;
pub mod vantage;

pub use measurement::Measurement;
pub use parameters::Parameters;
