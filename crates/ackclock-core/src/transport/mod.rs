//! Transports: what carries the data of a flow from one host to the other, one file and one line in
//! the list below each.
//!
//! [`tcp`] is TCP, whose [endpoints](crate::endpoint) have a folder of their own. [`udp`] sends
//! datagrams as the application writes them, or under a [rate control](crate::rate_control).
//! [`quic`] is an implementation from outside, a [`stack`].
//!
//! The engine knows TCP, for speed. Every other transport makes two [`Endpoint`]s, so that it needs
//! no change of the engine. It may come from another crate, chosen by [`Selection::of`].

use crate::endpoint::{Receiver, Sender, TcpParameters};
use ackclock_spec::bounds::check_above_zero;
use ackclock_spec::error::{Result, every, in_range};
use ackclock_spec::registry::{Entry, Kind, Selection, StreamScope};
use ackclock_spec::units::Bytes;
use endpoint::Endpoint;
use facts::TransportFacts;
use stack::Logs;
use std::sync::Arc;

pub mod endpoint;
pub mod facts;
pub mod quic;
pub mod stack;
pub mod tcp;
pub mod udp;

pub use quic::Quic;
pub use tcp::Tcp;
pub use udp::{PlainUdp, Udp};

/// The registry of transports.
#[derive(Debug)]
pub struct TransportKind;

/// Context from which the two sides of a flow instance are built.
#[derive(Clone, Copy, Debug)]
pub struct EndpointContext<'a> {
    /// Place of the flow instance (`flow/main/0`).
    pub place: StreamScope<'a>,
    /// Its records beside the tables of every run.
    pub recording: Recording<'a>,
}

/// Records of a flow instance that are made on request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording<'a> {
    /// True to record the state of its control after each event.
    pub states: bool,
    /// True to record each call of its control's program.
    pub calls: bool,
    /// Files that a [`stack`] writes itself.
    pub logs: Option<&'a dyn Logs>,
}

/// The two sides of a flow instance.
#[derive(Debug)]
pub enum Endpoints {
    /// TCP.
    Tcp {
        /// Sends data.
        sender: Box<Sender>,
        /// Acknowledges data.
        receiver: Receiver,
        /// Parameters of both.
        parameters: Arc<TcpParameters>,
    },
    /// Any other transport.
    Other {
        /// Sends data.
        sender: Box<dyn Endpoint>,
        /// Takes data.
        receiver: Box<dyn Endpoint>,
    },
}

impl Kind for TransportKind {
    type Product = Endpoints;
    type Context<'a> = EndpointContext<'a>;
    type Facts = TransportFacts;
    const NAME: &'static str = "transport";
    const PLURAL: &'static str = "transports";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of_reading::<Tcp>(),
        Entry::of_reading::<Udp>(),
        Entry::of_optional::<Quic>(),
    ];
}

/// Name in tables of the control of a transport; that of the transport if it has no control.
pub fn control_name(transport: &Selection<TransportKind>) -> &str {
    let name = transport.facts.control_name.some();
    name.map_or(transport.name, String::as_str)
}

/// Largest header and payload of a packet: the length field of IP has 16 bits.
const LARGEST_PACKET: u64 = 65_535;

/// Refuses packets of no size, and those too large for IP.
fn check_sizes(mss: Bytes, header: Bytes) -> Result<()> {
    let packet = mss.0.saturating_add(header.0);
    let too_large = format!(
        "makes packets of {packet} bytes with the header; both together may be at most \
        {LARGEST_PACKET} bytes"
    );
    every([
        check_above_zero("mss", mss, "1000 bytes"),
        in_range(packet <= LARGEST_PACKET, "mss", &mss, &too_large),
    ])
}
