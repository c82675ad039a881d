//! Traffic: the data that the application hands to the transport, and the times at which it does.
//! The same source feeds TCP (which sends as much as the window allows) and UDP (where each write
//! leaves at once).

use self::dialogue::{Client, Request};
use self::facts::TrafficFacts;
use ackclock_spec::registry::{Entry, Kind, StreamScope};
use ackclock_spec::units::{Bytes, Time};
use std::fmt::Debug;

pub mod bulk;
pub mod cbr;
pub mod chunks;
pub mod dialogue;
pub mod facts;
pub mod on_off;
pub mod pages;
pub mod rpc;
pub mod scheduled;
pub mod short_tcp;
pub mod transfer;
pub mod voip;

/// The transports that a source can feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transports {
    /// Transports with congestion or rate control: without it, UDP has no rate at which to send the
    /// data.
    Controlled,
    /// TCP, whose return route takes the requests of a client ([`dialogue`]).
    Tcp,
    /// All transports.
    Any,
}

/// One write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// A number of bytes.
    Bytes(Bytes),
    /// More bytes than will ever be sent.
    Unlimited,
}

/// A source. Times count from the start of the flow.
pub trait Traffic: Debug + Send {
    /// Returns the transports that it can feed. The check of a scenario builds a source and asks
    /// it.
    fn transports(&self) -> Transports;
    /// Returns the time of the next write; [`Time::NEVER`] after the last. It does not change until
    /// the write is taken or a request arrives.
    fn poll_timeout(&self) -> Time;
    /// Takes the write due at [`Traffic::poll_timeout`], `None` after the last.
    fn poll_write(&mut self) -> Option<Write>;
    /// Returns the total number of bytes that it will write, if it ends.
    fn total(&self) -> Option<Bytes>;
    /// Returns the client at the receiver that asks for the data, once; `None` for a source that
    /// writes unasked.
    fn take_client(&mut self) -> Option<Box<Client>> {
        None
    }
    /// Hears that a request of its client has arrived, each once. The next write may be earlier
    /// then.
    fn on_request(&mut self, now: Time, request: &Request) {
        let _ = (now, request);
    }
}

/// The registry of traffic.
#[derive(Debug)]
pub struct TrafficKind;

/// Context from which a source is built.
#[derive(Clone, Copy, Debug)]
pub struct TrafficContext<'a> {
    /// Place of the source (`flow/3/traffic`).
    pub place: StreamScope<'a>,
    /// Payload of a full packet.
    pub mss: Bytes,
}

impl Kind for TrafficKind {
    type Product = Box<dyn Traffic>;
    type Context<'a> = TrafficContext<'a>;
    type Facts = TrafficFacts;
    const NAME: &'static str = "traffic";
    const PLURAL: &'static str = "traffic";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry::of::<bulk::Bulk>(),
        Entry::of::<transfer::Transfer>(),
        Entry::of::<cbr::Cbr>(),
        Entry::of::<on_off::OnOff>(),
        Entry::of::<scheduled::Scheduled>(),
        Entry::of::<voip::Voip>(),
        Entry::of::<rpc::Rpc>(),
        Entry::of::<chunks::Chunks>(),
        Entry::of::<pages::Pages>(),
        Entry::of::<short_tcp::ShortTcp>(),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::error::Result;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::{self, Selection};
    use ackclock_spec::streams::Streams;
    use serde_json::Value;

    pub(super) const MSS: Bytes = Bytes(1448);

    pub(super) fn choose(tree: Value) -> Result<Selection<TrafficKind>> {
        registry::choose::<TrafficKind>(&tree, &NoFiles)
    }

    pub(super) fn build(tree: Value) -> Box<dyn Traffic> {
        choose(tree).unwrap().build(TrafficContext {
            place: StreamScope {
                streams: &Streams::new(1, 0),
                name: "flow/test/traffic",
            },
            mss: MSS,
        })
    }
}
