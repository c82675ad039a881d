//! Closed loops: a client at the flow's receiver asks, and a server at its sender answers.
//!
//! A source that a client asks is the server. It hands its [`Client`] to the driver
//! ([`Traffic::take_client`](super::Traffic::take_client)), which takes each request to the server
//! as a packet of the return route, and tells the client what has arrived. The server answers
//! requests in the order of their numbers. The engine sends whole segments
//! (`docs/decisions/0003-segments.md`), so that the end of an answer is padded to one.
//!
//! A client is made of two parts. [`Client`] keeps the requests and what became of them; a
//! `Habit` decides when to ask for how much. Its times count from the moment at which the
//! connection is open to it, as a SYN arrives; those of the server from the start of the flow.

use ackclock_spec::prelude::*;
use std::fmt::Debug;

mod pause;
mod server;

pub(super) use pause::Pause;
pub use pause::Pauses;
pub(super) use server::Server;

/// Largest request: one packet of Ethernet, with room for headers and options.
const LARGEST_REQUEST: Bytes = Bytes(1400);

/// A request on its way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number among those of the flow, from 0.
    pub number: u64,
    /// Payload of the packet that carries it.
    pub size: Bytes,
    /// Bytes of the response.
    pub response: Bytes,
}

/// A request and what became of it. Times are the client's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// Kind of the response: `response`, `chunk`, `main_object` or `embedded_object`.
    pub kind: &'static str,
    /// Number of its page, from 0.
    pub page: Option<u64>,
    /// Time of the request.
    pub asked: Time,
    /// Time at which the first byte of the response had arrived.
    pub begun: Option<Time>,
    /// Time at which the response had arrived.
    pub answered: Option<Time>,
    /// Times that the request was sent again.
    pub sent_again: u32,
    /// Rate of the video in a chunk.
    pub rate: Option<BitRate>,
    /// Video in the buffer once the chunk had arrived.
    pub buffer: Option<Span>,
    /// Time without video before the chunk arrived.
    pub stall: Option<Span>,
    /// Time from the first request of a page to the arrival of its last object, which this is.
    pub page_time: Option<Span>,
    /// End of the response in all bytes that the server sends.
    end: u64,
}

/// A response that a client wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub kind: &'static str,
    pub size: Bytes,
    pub page: Option<u64>,
    pub rate: Option<BitRate>,
}

impl Wish {
    pub const fn of(kind: &'static str, size: Bytes) -> Self {
        Wish {
            kind,
            size,
            page: None,
            rate: None,
        }
    }
}

/// The law by which a client asks.
pub(super) trait Habit: Debug + Send {
    /// Returns the time of the next request; [`Time::NEVER`] while it waits for a response, and
    /// after the last. It changes only with a request or a response.
    fn due(&self) -> Time;
    /// Makes the request that is due.
    fn ask(&mut self, now: Time) -> Wish;
    /// Hears that a response has arrived, and adds what it tells to its record.
    fn on_answer(&mut self, now: Time, exchange: &mut Exchange);
    /// True if there will be no further request, whatever arrives.
    fn has_asked_all(&self) -> bool;
}

/// The client of a flow.
#[derive(Debug)]
pub struct Client {
    habit: Box<dyn Habit>,
    /// Payload of each request.
    request: Bytes,
    /// Payload of a full segment.
    mss: Bytes,
    exchanges: Vec<Exchange>,
    /// Number of the first request that has not been answered.
    open: usize,
    /// Bytes that the server sends for all requests so far.
    asked: u64,
}

/// Refuses a request that is empty or more than a packet.
pub(super) fn check_request(size: Bytes) -> Result<()> {
    let remedy = "does not fit into one packet; choose 1 to 1400 bytes, for example \"328 bytes\"";
    in_range(
        size != Bytes::ZERO && size <= LARGEST_REQUEST,
        "request",
        &size,
        remedy,
    )
}

/// Rounds a response up to whole segments.
fn in_segments(Bytes(size): Bytes, Bytes(mss): Bytes) -> u64 {
    size.max(1).div_ceil(mss.max(1)).saturating_mul(mss.max(1))
}

impl Client {
    pub(super) fn new(habit: Box<dyn Habit>, request: Bytes, mss: Bytes) -> Self {
        Client {
            habit,
            request,
            mss,
            exchanges: Vec::new(),
            open: 0,
            asked: 0,
        }
    }

    /// Returns the time of the next request; [`Time::NEVER`] while it waits for a response.
    pub fn poll_timeout(&self) -> Time {
        self.habit.due()
    }

    /// Returns the next request, if one is due by `now`.
    pub fn poll_request(&mut self, now: Time) -> Option<Request> {
        if self.habit.due() > now {
            return None;
        }
        let wish = self.habit.ask(now);
        let request = Request {
            number: self.exchanges.len() as u64,
            size: self.request,
            response: wish.size,
        };
        self.asked = self.asked.saturating_add(in_segments(wish.size, self.mss));
        self.exchanges.push(Exchange {
            request,
            kind: wish.kind,
            page: wish.page,
            asked: now,
            begun: None,
            answered: None,
            sent_again: 0,
            rate: wish.rate,
            buffer: None,
            stall: None,
            page_time: None,
            end: self.asked,
        });
        Some(request)
    }

    /// Notes that a request is sent again.
    pub fn on_sent_again(&mut self, number: u64) {
        if let Some(exchange) = self.exchanges.get_mut(number as usize) {
            exchange.sent_again += 1;
        }
    }

    /// Hears that so many bytes have arrived in order since the start of the flow.
    pub fn on_received(&mut self, now: Time, Bytes(bytes): Bytes) {
        while let Some(exchange) = self.exchanges.get_mut(self.open) {
            if bytes > exchange.end - in_segments(exchange.request.response, self.mss) {
                exchange.begun.get_or_insert(now);
            }
            if bytes < exchange.end {
                return;
            }
            exchange.answered = Some(now);
            self.habit.on_answer(now, exchange);
            self.open += 1;
        }
    }

    /// Returns how many bytes must have arrived for it to hear of something new: the first byte of
    /// a response, or its last.
    pub fn next_mark(&self) -> Bytes {
        let Some(exchange) = self.exchanges.get(self.open) else {
            return Bytes(u64::MAX);
        };
        Bytes(match exchange.begun {
            None => exchange.end - in_segments(exchange.request.response, self.mss) + 1,
            Some(_) => exchange.end,
        })
    }

    /// True if it has the response to its last request.
    pub fn is_over(&self) -> bool {
        self.habit.has_asked_all() && self.open == self.exchanges.len()
    }

    /// Returns the requests so far, in their order.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }
}

#[cfg(test)]
pub(super) mod testing;
