//! The server of a closed loop: it answers requests in the order of their numbers.

use super::super::{Traffic, TrafficContext, Transports, Write};
use super::pause::Pause;
use super::{Client, Habit, Request, in_segments};
use ackclock_spec::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// A source that writes what a client asks for.
#[derive(Debug)]
pub(in super::super) struct Server {
    client: Option<Box<Client>>,
    think: Pause,
    stream: Stream,
    mss: Bytes,
    /// Number of the next request to answer, and those that have overtaken it.
    next: u64,
    early: BTreeMap<u64, Bytes>,
    /// Responses with the times at which they are written.
    due: VecDeque<(Time, Bytes)>,
    last: Time,
}

impl Server {
    /// Makes a server, and the client with that habit. The server thinks so long about each
    /// request; it thinks about several at a time.
    pub fn new(
        habit: Box<dyn Habit>,
        request: Bytes,
        think: Pause,
        context: &TrafficContext<'_>,
    ) -> Self {
        let place = format!("{}/think", context.place.name);
        Server {
            client: Some(Box::new(Client::new(habit, request, context.mss))),
            think,
            stream: Pause::stream_of(context.place.streams, &place, think.draws()),
            mss: context.mss,
            next: 0,
            early: BTreeMap::new(),
            due: VecDeque::new(),
            last: Time::ZERO,
        }
    }
}

impl Traffic for Server {
    fn transports(&self) -> Transports {
        Transports::Tcp
    }
    fn poll_timeout(&self) -> Time {
        self.due.front().map_or(Time::NEVER, |(at, _)| *at)
    }
    fn poll_write(&mut self) -> Option<Write> {
        let (_, response) = self.due.pop_front()?;
        Some(Write::Bytes(response))
    }
    fn total(&self) -> Option<Bytes> {
        None
    }
    fn take_client(&mut self) -> Option<Box<Client>> {
        self.client.take()
    }
    fn on_request(&mut self, now: Time, request: &Request) {
        if request.number >= self.next {
            self.early.insert(request.number, request.response);
        }
        while let Some(response) = self.early.remove(&self.next) {
            self.next += 1;
            self.last = self.last.max(now + self.think.draw(&mut self.stream));
            let padded = Bytes(in_segments(response, self.mss));
            self.due.push_back((self.last, padded));
        }
    }
}
