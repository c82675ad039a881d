//! One side of a flow, whatever its protocol.

use crate::endpoint::SenderEvent;
use crate::packet::{Ecn, Options, Packet};
use crate::traffic::Write;
use ackclock_spec::units::{Bytes, Span, Time};
use std::fmt::Debug;

/// One side of a flow: every protocol but the engine's TCP, which has no such border for speed.
///
/// It uses neither a clock nor a socket, and draws only from the streams that it was made with.
/// `now` never decreases. After each call that takes `now`, the driver sends what
/// [`poll_transmit`](Endpoint::poll_transmit) returns until it returns nothing, then asks
/// [`poll_timeout`](Endpoint::poll_timeout). The sending side gets the application's data; the
/// methods that a receiving side needs not do nothing.
pub trait Endpoint: Debug + Send {
    /// Begins to send.
    fn open(&mut self, now: Time) {
        let _ = now;
    }
    /// Adds data from the application.
    fn write(&mut self, now: Time, write: Write) {
        let _ = (now, write);
    }
    /// Ends the data: the application writes no more.
    fn close(&mut self, now: Time) {
        let _ = now;
    }
    /// Stops the flow: nothing more is sent.
    fn stop(&mut self, now: Time) {
        let _ = now;
    }
    /// Handles a packet that has reached this side.
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>);
    /// Handles everything that is due by `now`.
    fn handle_timeout(&mut self, now: Time);
    /// Returns the next packet to send at `now`. Bytes that it carries for the other side go into
    /// `payload`, which is empty before.
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit>;
    /// Returns when to call [`Endpoint::handle_timeout`]; [`Time::NEVER`] if never.
    fn poll_timeout(&self) -> Time;
    /// Returns the payload handed to the application, each byte once.
    fn delivered(&self) -> Bytes {
        Bytes::ZERO
    }
    /// Returns the state and the counts of the sending side.
    fn progress(&self) -> Progress {
        Progress::default()
    }
    /// Returns the reactions of the sending side to congestion since the last call.
    fn take_events(&mut self) -> Vec<SenderEvent> {
        Vec::new()
    }
    /// True if [`Endpoint::fault`] may ever return a reason.
    fn may_fail(&self) -> bool {
        false
    }
    /// Returns the reason why it cannot go on, which ends the run.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// A packet that has reached a side.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Data that few packets carry in addition.
    pub options: Option<&'a Options>,
    /// Bytes that the other side put into it; empty if it put in none.
    pub payload: &'a [u8],
}

/// A packet that a side sends.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// Number of the packet.
    pub number: u64,
    /// Length on the wire, headers included.
    pub size: u16,
    /// Time of sending, or the echo of another.
    pub stamp: Time,
    /// ECN field.
    pub ecn: Ecn,
    /// Data that few packets carry in addition; none beside a payload.
    pub options: Option<Options>,
}

/// State and counts of a sending side. `None` is unknown, and a cell of a table is then empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Packets sent.
    pub sent: u64,
    /// Packets sent again.
    pub retransmitted: Option<u64>,
    /// Packets deemed lost.
    pub lost: Option<u64>,
    /// Packets deemed lost that arrived all the same.
    pub spurious_losses: Option<u64>,
    /// Timeouts that made it send less.
    pub timeouts: Option<u64>,
    /// Congestion window.
    pub cwnd: Option<Bytes>,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Data sent, and neither acknowledged nor deemed lost.
    pub in_flight: Option<Bytes>,
    /// Last round-trip time.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Span>,
    /// Time after which it takes data for lost.
    pub timeout: Option<Span>,
    /// Round-trip times measured so far.
    pub round_trips: RoundTrips,
    /// Rate that it permits itself, in bytes per second.
    pub allowed_rate: Option<f64>,
    /// Loss event rate, from 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// Name of the phase that its control is in; empty if it has none.
    pub mode: &'static str,
}

/// A sum of round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrips {
    /// Number of samples.
    pub samples: u64,
    /// Sum, in seconds.
    pub sum_s: f64,
    /// The smallest and the largest, in seconds; `None` before the first.
    pub range_s: Option<(f64, f64)>,
}
