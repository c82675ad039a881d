//! What a packet capture says of its TCP connections: the tables `flows` and `samples` that every
//! way of answering fills, and `connections`, `limit_periods`, `rtt_histogram`, `rate_estimates`
//! and `segments`, which only captures do.
//!
//! | module | holds |
//! |---|---|
//! | [`measurement`] | packets in, tables out: the connections of a capture |
//! | [`clock`] | times put right |
//! | [`parameters`] | what somebody who measures may choose |
//! | [`limits`] | what keeps a sender from sending more: the rules |
//! | [`retransmission`] | why a packet was sent again: the rules |
//! | [`rate_estimates`] | rate estimators that run along with the ACKs |
//! | [`vantage`] | where on the way a capture was taken |
//!
//! Within: a `connection` is two `direction`s. What a direction has sent is `sending`, which keeps
//! `flight`, `holes` and `recent`; what came back is `acknowledging`, which keeps `ranges`,
//! `resent` and `acks_in_transit`; `rtt` and `timestamp_echoes` measure, `rounds` cuts the time
//! into round trips, `rows` writes.
//!
//! Nothing here reads a file or a clock. Memory grows with the connections that live at a time, not
//! with the time that the capture covers, and of these there are bounds ([`parameters`]): at most
//! `most_live` are followed at a time and `most_empty` of those that carried nothing, about four
//! kilobytes each; what is outstanding is remembered up to 65,536 packets of a connection, all else
//! up to some thousand entries. Rows are handed out as they come, and between two packets of a
//! connection lie at most 33 samples of each direction, however long it was silent; after 32,768 of
//! them samples are taken half as often. Of connections that are over, some sixteen bytes for each
//! pair of addresses remain, by which later ones are numbered. What is left out because of a bound
//! is counted ([`measurement::Measurement::surplus`]).

mod acks_in_transit;
pub mod clock;
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
