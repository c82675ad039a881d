//! A connection of quinn and its endpoint, driven by calls with the time of the run.

use crate::object::Datagrams;
use ackclock_core::packet::Ecn;
use ackclock_core::transport::endpoint::{Arrived, Transmit};
use ackclock_core::transport::quic::Quic;
use ackclock_spec::units::Time;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Address of the other side, the same for both (TEST-NET-1, RFC 5737).
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// The part that both sides have in common.
pub struct Machine {
    base: Instant,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams that leave next: beside a connection, or the rest of a train.
    waiting: Datagrams,
    most_datagrams: usize,
    header: u16,
    sent: u64,
    wake: Time,
    /// The reason why it cannot go on.
    pub fault: Option<String>,
}

impl Machine {
    pub fn new(base: Instant, endpoint: Endpoint, quic: &Quic) -> Self {
        Machine {
            base,
            endpoint,
            connection: None,
            waiting: Datagrams::default(),
            most_datagrams: quic.trains.0 as usize,
            header: quic.header.0 as u16,
            sent: 0,
            wake: Time::NEVER,
            fault: None,
        }
    }

    fn instant(&self, now: Time) -> Instant {
        self.base + Duration::from_nanos(now.as_nanos())
    }

    /// Returns the time of the run at an instant.
    pub fn time(&self, instant: Instant) -> Time {
        let nanos = instant.saturating_duration_since(self.base).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Begins a connection.
    pub fn connect(&mut self, now: Time, client: ClientConfig) {
        let (now, name) = (self.instant(now), super::tls::SERVER_NAME);
        match self.endpoint.connect(now, client, PEER, name) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    pub fn fail(&mut self, reason: &str) {
        self.fault.get_or_insert_with(|| format!("quinn: {reason}"));
    }

    /// Returns the connection, once there is one.
    pub fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Returns the connection to read from.
    pub fn state(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Returns the datagrams that were sent.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    pub const fn poll_timeout(&self) -> Time {
        self.wake
    }

    pub fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        let (now, mut answer) = (self.instant(now), Vec::new());
        let ecn = EcnCodepoint::from_bits(arrived.packet.ecn().bits());
        let datagram = BytesMut::from(arrived.payload);
        let event = self
            .endpoint
            .handle(now, PEER, None, ecn, datagram, &mut answer);
        match (event, &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => {
                connection.handle_event(event);
            }
            (Some(DatagramEvent::NewConnection(incoming)), None) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        if error.response.is_some() {
                            self.waiting.push(&answer, answer.len(), 0);
                        }
                        self.fail(&error.cause.to_string());
                    }
                }
            }
            (Some(DatagramEvent::NewConnection(incoming)), Some(_)) => {
                self.endpoint.ignore(incoming); // a copy of the packet that opened it
            }
            (Some(DatagramEvent::Response(_)), _) => {
                self.waiting.push(&answer, answer.len(), 0);
            }
            (Some(DatagramEvent::ConnectionEvent(..)) | None, _) => {}
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some(connection) = self.connection() {
            connection.handle_timeout(now);
        }
    }

    /// Returns the next event for the application. What connection and endpoint have to say to each
    /// other, they say before.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.exchange();
        let event = self.connection()?.poll()?;
        if let Event::ConnectionLost { reason } = &event {
            self.fail(&format!("the connection was lost: {reason}"));
        }
        Some(event)
    }

    /// Hands events from the connection to the endpoint, and answers back. Returns true if there
    /// was an answer, which may have to be sent.
    fn exchange(&mut self) -> bool {
        let Some((handle, connection)) = &mut self.connection else {
            return false;
        };
        let mut answered = false;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
                answered = true;
            }
        }
        answered
    }

    pub fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let ecn = self.poll_datagram(self.instant(now), payload)?;
        let number = self.sent;
        self.sent += 1;
        Some(Transmit {
            number,
            size: payload.len() as u16 + self.header,
            stamp: now,
            ecn: Ecn::from_bits(ecn),
            options: None,
        })
    }

    /// Puts the next datagram into `payload` and returns its ECN field. Without one, notes when to
    /// be woken: the timer of the pacer is set by the last call.
    fn poll_datagram(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<u8> {
        if let Some(ecn) = self.waiting.next(payload) {
            return Some(ecn);
        }
        loop {
            let (_, connection) = self.connection.as_mut()?;
            if let Some(transmit) = connection.poll_transmit(now, self.most_datagrams, payload) {
                let ecn = transmit.ecn.map_or(0, |codepoint| codepoint as u8);
                let segment = transmit.segment_size.unwrap_or(payload.len());
                if payload.len() > segment {
                    self.waiting.push(&payload[segment..], segment, ecn);
                    payload.truncate(segment);
                }
                return Some(ecn);
            }
            if !self.exchange() {
                break;
            }
        }
        let wake = self.connection()?.poll_timeout();
        self.wake = wake.map_or(Time::NEVER, |wake| self.time(wake));
        None
    }
}
