//! Measurement of the TCP connections in a packet capture; of UDP, what an encrypted flow tells.
//!
//! It fills the tables `flows` and `samples`, as every method does. It also fills `connections`,
//! `limit_periods`, `rtt_histogram`, `datagrams`, `rate_estimates` and `segments`, which only
//! captures have.
//!
//! * [`measurement`]: packets in, tables out; the connections of a capture.
//! * [`clock`]: correction of wrong timestamps.
//! * [`parameters`]: parameters of a measurement.
//! * [`pauses`]: what a sender leaves unsent, and what ends its pauses.
//! * [`limits`]: rules for the factor that limits a sender.
//! * [`retransmission`]: rules for the cause of a retransmission.
//! * [`rate_estimates`]: rate estimators driven by the captured ACKs.
//! * [`twin`]: our sender beside the one in a capture.
//! * [`duel`]: our sender beside the kernel, ACK by ACK.
//! * [`vantage`]: position of the capture point on the path.
//!
//! Inside, a `connection` has two `direction`s. Data sent in a direction is in `sending`, which
//! uses `flight`, `holes` and `recent`. Its ACKs are in `acknowledging`, which uses `ranges`,
//! `resent`, `accurate_ecn` and `acks_in_transit`. The modules `rtt` and `timestamp_echoes` measure
//! round-trip times, `queueing` each way of them, `rounds` cuts time into round trips, and `rows`
//! fills the tables. `datagrams` follows the flows of UDP, at most 65,536 of them.
//!
//! Nothing here reads a file or a clock. Memory grows with the number of concurrent connections,
//! not with the length of the capture, and [`parameters`] bounds it:
//!
//! * At most `most_live` connections and `most_empty` empty ones are followed at a time. Each takes
//!   about four kilobytes.
//! * At most 65,536 packets in flight are remembered per connection, and at most a few thousand of
//!   all other entries.
//! * Rows are handed out as they come. Between two packets of a connection there are at most 33
//!   samples of each direction, however long it was silent. After 32,768 samples the interval
//!   doubles.
//! * Of a connection that is over, some sixteen bytes per pair of addresses remain, to number later
//!   connections.
//!
//! Everything that a bound excludes is counted ([`measurement::Measurement::surplus`]).

mod accurate_ecn;
mod acks_in_transit;
pub mod clock;
mod connection;
mod datagrams;
mod direction;
pub mod duel;
mod flight;
mod holes;
pub mod limits;
pub mod measurement;
pub mod parameters;
pub mod pauses;
mod queueing;
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
pub mod twin;
mod undecided;
pub mod vantage;

pub use measurement::Measurement;
pub use parameters::Parameters;
