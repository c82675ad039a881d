//! The client's side of a closed loop: requests as packets of the return route, sent again if they
//! are lost.

use crate::events::Alarm;
use ackclock_core::packet::{FlowId, Packet, PacketId, PacketKind, PacketPool};
use ackclock_core::traffic::dialogue::{Client, Request};
use ackclock_spec::units::{Span, Time};
use std::collections::VecDeque;

/// Time after which a lost request is sent again, the first time; it doubles up to the longest.
/// Both are guesses, of the size of a retransmission timeout without a measurement (RFC 6298).
const FIRST_WAIT: Span = Span::from_millis(1000);
const LONGEST_WAIT: Span = Span::from_millis(60_000);

/// A request that has not reached the server.
#[derive(Clone, Copy, Debug)]
struct Sent {
    request: Request,
    /// Time at which it is sent again.
    again: Time,
    wait: Span,
}

/// The client of a flow and its requests on their way.
#[derive(Debug)]
pub struct Dialogue {
    /// The client.
    pub client: Box<Client>,
    /// Wake-up of the client.
    pub wake: Alarm,
    /// Time from which the client's times count: that at which the connection is open to it.
    pub start: Time,
    sent: Vec<Sent>,
    /// Requests to send now.
    ready: VecDeque<Request>,
}

impl Dialogue {
    /// Makes the dialogue of a client that begins then; [`Time::NEVER`] if it waits for a SYN.
    pub fn new(client: Box<Client>, start: Time) -> Self {
        Dialogue {
            client,
            wake: Alarm::default(),
            start,
            sent: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// Lets a client that waits for a SYN begin. True if it has not begun before.
    pub fn open(&mut self, now: Time) -> bool {
        let opens = self.start.is_never();
        self.start = self.start.min(now);
        opens
    }

    /// Returns a time as the client counts it.
    pub fn offset(&self, now: Time) -> Time {
        Time::ZERO + now.since(self.start)
    }

    /// Returns when to call [`Dialogue::handle_timeout`]; [`Time::NEVER`] for not at all.
    pub fn poll_timeout(&self) -> Time {
        let offset = self.client.poll_timeout();
        let asks = match offset.is_never() || self.start.is_never() {
            true => Time::NEVER,
            false => self.start + offset.since(Time::ZERO),
        };
        let again = self.sent.iter().map(|sent| sent.again).min();
        asks.min(again.unwrap_or(Time::NEVER))
    }

    /// Makes the requests that are due by `now`, and sends lost ones again. The client knows that a
    /// request is lost when its time is over, and never takes one for lost that has arrived: TCP
    /// would know from ACKs, which the engine does not send for requests.
    pub fn handle_timeout(&mut self, now: Time) {
        for sent in self.sent.iter_mut().filter(|sent| sent.again <= now) {
            sent.wait = (sent.wait * 2).min(LONGEST_WAIT);
            sent.again = now + sent.wait;
            self.client.on_sent_again(sent.request.number);
            self.ready.push_back(sent.request);
        }
        let offset = self.offset(now);
        while let Some(request) = self.client.poll_request(offset) {
            self.sent.push(Sent {
                request,
                again: now + FIRST_WAIT,
                wait: FIRST_WAIT,
            });
            self.ready.push_back(request);
        }
    }

    /// Returns the next packet of the return route. A request has the header of an ACK before it.
    pub fn poll_transmit(
        &mut self,
        flow: FlowId,
        header: u16,
        packets: &mut PacketPool,
    ) -> Option<PacketId> {
        let request = self.ready.pop_front()?;
        let size = header.saturating_add(request.size.0 as u16);
        let number = request.number;
        let packet = Packet::new(PacketKind::Request, flow, number, size, Time::NEVER);
        Some(packets.insert(packet))
    }

    /// Takes a request that has reached the server off the record; `None` if it is a copy of one
    /// that was there before.
    pub fn take_arrived(&mut self, number: u64) -> Option<Request> {
        let at = self
            .sent
            .iter()
            .position(|sent| sent.request.number == number)?;
        Some(self.sent.remove(at).request)
    }
}
