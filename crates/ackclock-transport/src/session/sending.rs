//! The side that sends the data, and waits for somebody who wants it.

use super::{Ending, Ignored, is_private};
use crate::bursts::Bursts;
use crate::cookie::Cookies;
use crate::keys::{SharedKey, TagKey};
use crate::log::Nonces;
use crate::wire::{self, Envelope, ErrorCode, FIRST_OF_OTHERS, Kind, Message, Start};
use ackclock_core::datagram::{DatagramParameters, DatagramSenderStatistics};
use ackclock_core::rate_control::{RateControlKind, RateState};
use ackclock_core::registry::Selection;
use ackclock_core::streams::Streams;
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use open_session::OpenSession;
use std::net::SocketAddr;

mod open_session;
mod source;

pub use source::{Source, Written};

/// What a sender is told before it waits.
#[derive(Debug)]
pub struct SenderSettings {
    /// Who may ask for data.
    pub key: SharedKey,
    /// The rate controls that are offered; the receiver names one.
    pub controls: Vec<Selection<RateControlKind>>,
    /// Never faster, all headers counted; by default [`MOST`](super::MOST) to anywhere but this
    /// host.
    pub most: Option<BitRate>,
    /// Payload of a full packet, at most [`wire::LONGEST_PAYLOAD`]; timers, bursts and chance
    /// delays. Sizes of headers and answers are those of the format.
    pub datagrams: DatagramParameters,
    /// How late a packet may leave without losing its turn, beyond a tick: how long the system may
    /// keep the sender from running.
    pub catch_up: Span,
    /// Whether the tick is a choice, and is halved until two fit into a round trip where a control
    /// keeps bursts within one; not where it stands for the timer of another system.
    pub finer_ticks: bool,
    /// All randomness but that of secrets.
    pub streams: Streams,
    /// What the names of its streams begin with: `flow/NAME/INSTANCE` of a scenario's flow.
    pub place: String,
    /// Whether receivers with any address are served; otherwise those of this host and of private
    /// networks.
    pub anywhere: bool,
}

/// The sending side. [`Sender::handle_datagram`] takes what comes, [`Sender::poll_transmit`] gives
/// what is to be sent, [`Sender::poll_timeout`] says when to ask it again. It has one session in
/// its life.
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

/// What a session has come to, so far.
#[derive(Clone, Debug)]
pub struct SenderReport {
    /// Who receives.
    pub peer: SocketAddr,
    /// The control's registered name.
    pub control: &'static str,
    /// What the control shows.
    pub state: RateState,
    /// Counts.
    pub statistics: DatagramSenderStatistics,
    /// When the session was opened.
    pub opened: Time,
    /// How many packets left together, how often.
    pub bursts: Bursts,
    /// Bytes put on the wire, IP and UDP headers not counted.
    pub sent_on_wire: Bytes,
    /// Feedback that did not echo what was sent; our own record was used.
    pub wrong_echoes: u64,
    /// Reports of more than had been sent, cut down to that.
    pub clamped: u64,
    /// Round-trip times that cannot be.
    pub unusable_rtts: u64,
    /// Packets that arrived marked, as the receiver says.
    pub marked: u64,
    /// Payload that has arrived, as the receiver says; no more than was sent.
    pub delivered: Bytes,
}

impl Sender {
    /// A sender that waits. `secret` is random and of this process alone.
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

    /// A datagram has come from that address. If there is an answer to it, puts that into `answer`,
    /// whose content is replaced: it goes to where the datagram came from.
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

    /// HELLO and START, of which nobody need have heard before.
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

    /// Appends the next datagram that is due to `output`, and says where it goes; `None` if none
    /// is. All that is given for one `now` leaves together.
    pub fn poll_transmit(&mut self, now: Time, output: &mut Vec<u8>) -> Option<SocketAddr> {
        let session = self.session.as_mut()?;
        let is_sent = session.poll_transmit(now, &mut self.source, &mut self.nonces, output);
        self.ending = self.ending.or(session.ending());
        is_sent.then_some(session.peer)
    }

    /// When there may be something to be sent, or an end.
    pub fn poll_timeout(&self) -> Time {
        match &self.session {
            Some(session) if self.ending.is_none() => session.poll_timeout(&self.source),
            _ => Time::NEVER,
        }
    }

    /// The application writes. Keeps all of it: who writes looks at [`Sender::waiting`] first.
    pub fn write(&mut self, now: Time, bytes: &[u8]) {
        let waiting = self.waiting();
        self.source.write(bytes);
        if let Some(session) = &mut self.session {
            session.write(now, bytes.len(), waiting);
        }
    }

    /// Bytes written that have not been sent.
    pub fn waiting(&self) -> usize {
        self.source.waiting().unwrap_or(0)
    }

    /// The application will write no more: what remains is sent, then the session ends.
    pub fn close(&mut self) {
        self.source.close();
        if let Some(session) = &mut self.session {
            session.close();
        }
    }

    /// Nothing more is sent: the session ends.
    pub fn stop(&mut self, now: Time) {
        match &mut self.session {
            Some(session) => session.stop(now),
            None => self.ending = self.ending.or(Some(Ending::Stopped)),
        }
    }

    /// How the session has ended; `None` while it goes on.
    pub const fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// When the session was opened, if it has been.
    pub fn opened(&self) -> Option<Time> {
        self.session.as_ref().map(|session| session.opened)
    }

    /// What the session has come to; `None` before there is one.
    pub fn report(&self) -> Option<SenderReport> {
        self.session.as_ref().map(|session| session.report())
    }

    /// Datagrams without influence.
    pub const fn ignored(&self) -> &Ignored {
        &self.ignored
    }
}
