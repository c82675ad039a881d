//! The side that sends data. It waits for a receiver that asks for it.

use super::{Ending, Ignored, is_private};
use crate::bursts::Bursts;
use crate::cookie::Cookies;
use crate::keys::{SharedKey, TagKey};
use crate::log::Nonces;
use crate::wire::{self, Envelope, ErrorCode, FIRST_OF_OTHERS, Kind, Message, Start};
use ackclock_core::datagram::{DatagramParameters, DatagramSenderStatistics};
use ackclock_core::rate_control::{RateControlKind, RateState};
use ackclock_spec::registry::Selection;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use open_session::OpenSession;
use std::net::SocketAddr;

mod open_session;
mod source;

pub use source::{Source, Written};

/// Settings of a sender.
#[derive(Debug)]
pub struct SenderSettings {
    /// Key of those who may ask for data.
    pub key: SharedKey,
    /// Rate controls that are offered; the receiver names one.
    pub controls: Vec<Selection<RateControlKind>>,
    /// Highest rate, all headers counted. The default is [`MOST`](super::MOST) to any other host,
    /// and no limit to this host.
    pub most: Option<BitRate>,
    /// Payload of a full packet, at most [`wire::LONGEST_PAYLOAD`]; timers, bursts and random
    /// delays. Sizes of headers and answers are those of the format.
    pub datagrams: DatagramParameters,
    /// Lateness beyond a tick up to which a packet keeps its turn: the time for which the system
    /// may keep the sender from running.
    pub catch_up: Span,
    /// True if the tick may be halved until two fit into a round trip, for a control that keeps
    /// bursts within one round trip. False if the tick models the timer of another system.
    pub finer_ticks: bool,
    /// Random streams of everything except secrets.
    pub streams: Streams,
    /// Prefix of the names of its streams: `flow/NAME/INSTANCE` of a scenario's flow.
    pub place: String,
    /// True if receivers at any address are served; false for those of this host and of private
    /// networks only.
    pub anywhere: bool,
}

/// The sending side. [`Sender::handle_datagram`] takes a datagram that arrived.
/// [`Sender::poll_transmit`] returns the next one to send, and [`Sender::poll_timeout`] the time to
/// call it again. It has one session in its life.
#[derive(Debug)]
pub struct Sender {
    settings: SenderSettings,
    cookies: Cookies,
    nonces: Nonces,
    source: Source,
    session: Option<Box<OpenSession>>,
    ending: Option<Ending>,
    ignored: Ignored,
}

/// State and counts of a session.
#[derive(Clone, Debug)]
pub struct SenderReport {
    /// Address of the receiver.
    pub peer: SocketAddr,
    /// Registered name of the rate control.
    pub control: &'static str,
    /// State of the rate control.
    pub state: RateState,
    /// Counts of the endpoint.
    pub statistics: DatagramSenderStatistics,
    /// Time at which the session was opened.
    pub opened: Time,
    /// Burst sizes.
    pub bursts: Bursts,
    /// Bytes sent, without IP and UDP headers.
    pub sent_on_wire: Bytes,
    /// Feedback whose echo was not what was sent; the sender's own record was used.
    pub wrong_echoes: u64,
    /// Reports of more data than had been sent, which were reduced to that.
    pub clamped: u64,
    /// Impossible round-trip times.
    pub unusable_rtts: u64,
    /// Packets that arrived with a mark, as reported by the receiver.
    pub marked: u64,
    /// Payload that has arrived, as reported by the receiver; at most what was sent.
    pub delivered: Bytes,
}

impl Sender {
    /// Creates a sender that waits. `secret` is random and unique to this process.
    pub fn new(settings: SenderSettings, source: Source, secret: &[u8; 32]) -> Self {
        let secret = TagKey::new(secret);
        Sender {
            settings,
            cookies: Cookies::new(&secret.digest(&[b"cookies"])),
            nonces: Nonces::new(&secret.digest(&[b"nonces"])),
            source,
            session: None,
            ending: None,
            ignored: Ignored::default(),
        }
    }

    /// Handles a datagram from this address. Replaces the content of `answer` by the answer, if
    /// there is one; it goes to where the datagram came from.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) {
        answer.clear();
        let Ok(envelope) = Envelope::open(datagram) else {
            self.ignored.malformed += 1;
            return;
        };
        let is_served = self.settings.anywhere || is_private(from.ip());
        if self.ending.is_some() || !is_served {
            self.ignored.foreign += 1;
        } else if matches!(envelope.kind(), Some(Kind::Hello | Kind::Start)) {
            self.handle_opening(now, from, &envelope, answer);
        } else if let Some(session) = self
            .session
            .as_mut()
            .filter(|session| session.connection == envelope.connection)
        {
            session.handle_datagram(
                now,
                from,
                &envelope,
                &self.cookies,
                &mut self.ignored,
                answer,
            );
            self.ending = session.ending();
        } else {
            self.ignored.foreign += 1;
        }
    }

    /// Handles HELLO and START, which may come from an unknown receiver.
    fn handle_opening(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope<'_>,
        answer: &mut Vec<u8>,
    ) {
        if !envelope.is_sealed_with(self.settings.key.opening()) {
            self.ignored.unauthenticated += 1;
            return;
        }
        match envelope.message() {
            Ok(Message::Hello(hello)) => {
                let (connection, cookie) = self.cookies.offer(now, from, &hello.client);
                let key = self.settings.key.opening();
                wire::write(
                    &Message::Cookie(cookie),
                    connection,
                    FIRST_OF_OTHERS,
                    key,
                    answer,
                );
            }
            Ok(Message::Start(start)) => self.handle_start(now, from, envelope, &start, answer),
            _ => self.ignored.malformed += 1,
        }
    }

    fn handle_start(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope<'_>,
        start: &Start,
        answer: &mut Vec<u8>,
    ) {
        if let Some(session) = self
            .session
            .as_mut()
            .filter(|session| session.connection == envelope.connection)
        {
            session.handle_start(
                now,
                from,
                envelope,
                start,
                &self.cookies,
                &mut self.ignored,
                answer,
            );
            return;
        }
        if !self.cookies.accepts(now, from, envelope.connection, start) {
            self.ignored.foreign += 1;
            return;
        }
        let refusal = match self.session {
            Some(_) => ErrorCode::Busy,
            None => match self
                .settings
                .controls
                .iter()
                .find(|control| control.name == start.control.as_str())
            {
                Some(control) => {
                    let session = OpenSession::open(
                        now,
                        from,
                        envelope,
                        start,
                        &self.settings,
                        control,
                        &self.source,
                    );
                    self.session = Some(Box::new(session));
                    return;
                }
                None => ErrorCode::Control,
            },
        };
        let keys = self.settings.key.session(&start.client, &start.server);
        wire::write(
            &Message::Error(refusal),
            envelope.connection,
            FIRST_OF_OTHERS,
            &keys.data,
            answer,
        );
    }

    /// Appends the next datagram that is due to `output`, and returns its destination; `None` if
    /// none is due. All datagrams for one `now` leave together.
    pub fn poll_transmit(&mut self, now: Time, output: &mut Vec<u8>) -> Option<SocketAddr> {
        let session = self.session.as_mut()?;
        let is_sent = session.poll_transmit(now, &mut self.source, &mut self.nonces, output);
        self.ending = self.ending.or(session.ending());
        is_sent.then_some(session.peer)
    }

    /// Returns the time at which there may be something to send, or an end.
    pub fn poll_timeout(&self) -> Time {
        match &self.session {
            Some(session) if self.ending.is_none() => session.poll_timeout(&self.source),
            _ => Time::NEVER,
        }
    }

    /// Takes data of the application. Keeps all of it: the caller checks [`Sender::waiting`] first.
    pub fn write(&mut self, now: Time, bytes: &[u8]) {
        let waiting = self.waiting();
        self.source.write(bytes);
        if let Some(session) = &mut self.session {
            session.write(now, bytes.len(), waiting);
        }
    }

    /// Returns the number of bytes written but not sent.
    pub fn waiting(&self) -> usize {
        self.source.waiting().unwrap_or(0)
    }

    /// Marks the end of the application's data: the rest is sent, then the session ends.
    pub fn close(&mut self) {
        self.source.close();
        if let Some(session) = &mut self.session {
            session.close();
        }
    }

    /// Ends the session without sending more data.
    pub fn stop(&mut self, now: Time) {
        match &mut self.session {
            Some(session) => session.stop(now),
            None => self.ending = self.ending.or(Some(Ending::Stopped)),
        }
    }

    /// Returns the reason of the end; `None` while the session goes on.
    pub const fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Returns the time at which the session was opened, if it has been.
    pub fn opened(&self) -> Option<Time> {
        self.session.as_ref().map(|session| session.opened)
    }

    /// Returns state and counts of the session; `None` before there is one.
    pub fn report(&self) -> Option<SenderReport> {
        self.session.as_ref().map(|session| session.report())
    }

    /// Returns the counts of ignored datagrams.
    pub const fn ignored(&self) -> &Ignored {
        &self.ignored
    }
}
