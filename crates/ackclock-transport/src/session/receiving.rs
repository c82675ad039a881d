//! The side that asks for data and opens the session.

use super::{Ending, Ignored, LINGER, LONGEST_RTT, Repeated, SILENCE, STOPS, most_to};
use crate::keys::{SessionKeys, SharedKey};
use crate::log::ArrivedNonces;
use crate::replay::ReplayWindow;
use crate::wire::{
    self, Acknowledgement, ControlName, Cookie, Data, Envelope, FIRST_OF_OTHERS, Hello, Kind,
    Message, Nonce, Report, Start, Stop, StopReason,
};
use ackclock_core::datagram::{DatagramReceiver, DatagramReceiverStatistics};
use ackclock_core::rate_control::{Arrived, Feedback, RateContext, RateControlKind};
use ackclock_spec::registry::{Selection, StreamScope};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use std::net::SocketAddr;

/// Time without data after which the receiver sends START again. Its address may have changed on
/// the path, and the sender has to learn the new one.
const ASK_AGAIN: Span = Span::from_millis(3_000);

/// Settings of a receiver.
#[derive(Debug)]
pub struct ReceiverSettings {
    /// Key of the sender.
    pub key: SharedKey,
    /// Address of the sender.
    pub sender: SocketAddr,
    /// The rate control that it asks for.
    pub control: Selection<RateControlKind>,
    /// Payload of a full packet, as assumed by the receiver's half of the control.
    pub payload: Bytes,
    /// Highest rate, all headers counted. The default is [`MOST`](super::MOST) from any other host,
    /// and no limit from this host.
    pub most: Option<BitRate>,
    /// Longest time to try to open the session.
    pub wait: Span,
}

/// The receiving side. [`Receiver::handle_datagram`] takes a datagram that arrived.
/// [`Receiver::poll_transmit`] returns the next one to send, and [`Receiver::poll_timeout`] the
/// time to call it again. All datagrams go to the sender's address.
#[derive(Debug)]
pub struct Receiver {
    key: SharedKey,
    sender: SocketAddr,
    control: ControlName,
    most_bit_per_s: u64,
    client: Nonce,
    gives_up: Time,
    asking: Repeated,
    session: Option<Session>,
    datagrams: DatagramReceiver,
    next_other: u64,
    stopping: Option<Stopping>,
    ending: Option<Ending>,
    ignored: Ignored,
    arrived: ArrivedCounts,
}

/// State after the sender has answered.
#[derive(Debug)]
struct Session {
    connection: u64,
    server: Nonce,
    /// Cookie to be returned.
    cookie: [u8; 16],
    keys: SessionKeys,
    data_numbers: ReplayWindow,
    other_numbers: ReplayWindow,
    nonces: ArrivedNonces,
    next_feedback: u64,
    /// Time at which the first packet arrived, time at which the last did, and the last two gaps
    /// between packets.
    begun: Option<Time>,
    last: Time,
    gaps: [Span; 2],
    /// True if a confirmation is due.
    confirm: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    ending: Ending,
    /// Repeated STOP; `None` if the sender stops and this side lingers.
    repeated: Option<Repeated>,
    until: Time,
}

/// Counts of data that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivedCounts {
    /// DATA datagrams, duplicates not counted; includes those without payload.
    pub packets: u64,
    /// Their bytes, without IP and UDP headers.
    pub on_wire: Bytes,
    /// Number of them that were marked.
    pub marked: u64,
    /// One more than the highest number that arrived: at least this many had been sent by then.
    pub highest: u64,
}

/// State and counts of a session.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverReport {
    /// Time at which the first packet arrived.
    pub begun: Option<Time>,
    /// Time at which the last packet arrived.
    pub last: Time,
    /// Counts of data that arrived.
    pub arrived: ArrivedCounts,
    /// Counts of the endpoint.
    pub statistics: DatagramReceiverStatistics,
}

impl Receiver {
    /// Creates a receiver that begins to ask at `now`. `client` is random.
    ///
    /// # Panics
    /// If the name of the control does not fit into a packet; a test makes sure that all fit.
    pub fn new(now: Time, settings: ReceiverSettings, client: Nonce) -> Self {
        let control = ControlName::new(settings.control.name).expect("names of controls fit");
        // The receiver's half of a control has no randomness.
        let place = StreamScope {
            streams: &Streams::new(0, 0),
            name: "flow/0/control",
        };
        let mss = settings.payload;
        let half = settings.control.build(RateContext { place, mss }).receiver;
        Receiver {
            key: settings.key,
            sender: settings.sender,
            control,
            most_bit_per_s: most_to(settings.sender, settings.most).as_bit_per_s(),
            client,
            gives_up: now + settings.wait,
            asking: Repeated::from(now),
            session: None,
            datagrams: DatagramReceiver::new(half),
            next_other: FIRST_OF_OTHERS,
            stopping: None,
            ending: None,
            ignored: Ignored::default(),
            arrived: ArrivedCounts::default(),
        }
    }

    /// Handles a datagram; `marked` is true if it arrived with Congestion Experienced. Appends its
    /// payload, if it has any, to `payload`.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        datagram: &[u8],
        marked: bool,
        payload: &mut Vec<u8>,
    ) {
        let Ok(envelope) = Envelope::open(datagram) else {
            self.ignored.malformed += 1;
            return;
        };
        match &mut self.session {
            _ if self.ending.is_some() => self.ignored.foreign += 1,
            None => self.handle_cookie(now, &envelope),
            Some(session) if session.connection != envelope.connection => self.ignored.foreign += 1,
            Some(session) => {
                if !envelope.is_sealed_with(&session.keys.data) {
                    // A duplicate of the COOKIE that opened the session is sealed with another key.
                    self.ignored.unauthenticated += 1;
                    return;
                }
                let is_of_stream = envelope.number < FIRST_OF_OTHERS;
                let numbers = if is_of_stream {
                    &mut session.data_numbers
                } else {
                    &mut session.other_numbers
                };
                if !numbers.take(envelope.number) {
                    self.ignored.replayed += 1;
                    return;
                }
                self.handle_message(now, &envelope, datagram.len(), marked, payload);
            }
        }
    }

    /// Handles the answer to HELLO. Its sender has seen the HELLO and has the key.
    fn handle_cookie(&mut self, now: Time, envelope: &Envelope<'_>) {
        if envelope.kind() != Some(Kind::Cookie) {
            self.ignored.foreign += 1;
        } else if !envelope.is_sealed_with(self.key.opening()) {
            self.ignored.unauthenticated += 1;
        } else if let Ok(Message::Cookie(Cookie {
            client,
            server,
            cookie,
        })) = envelope.message()
            && client == self.client
        {
            self.session = Some(Session {
                connection: envelope.connection,
                server,
                cookie,
                keys: self.key.session(&client, &server),
                data_numbers: ReplayWindow::default(),
                other_numbers: ReplayWindow::default(),
                nonces: ArrivedNonces::default(),
                next_feedback: 0,
                begun: None,
                last: now,
                gaps: [Span::ZERO; 2],
                confirm: false,
            });
            self.asking = Repeated::from(now);
        } else {
            self.ignored.unexpected += 1;
        }
    }

    fn handle_message(
        &mut self,
        now: Time,
        envelope: &Envelope<'_>,
        length: usize,
        marked: bool,
        payload: &mut Vec<u8>,
    ) {
        let Some(session) = &mut self.session else {
            return;
        };
        match envelope.message() {
            Ok(Message::Data(_))
                if self
                    .stopping
                    .is_some_and(|stopping| stopping.repeated.is_some()) =>
            {
                self.ignored.unexpected += 1; // not wanted any more
            }
            Ok(Message::Data(data)) => {
                self.handle_data(now, envelope.number, &data, length, marked, payload)
            }
            Ok(Message::Challenge(challenge)) => {
                session.cookie = challenge.cookie;
                self.asking = Repeated::from(now);
            }
            Ok(Message::Stop(stop)) => self.handle_stop(now, &stop),
            Ok(Message::Error(code)) => self.ending = Some(Ending::Refused(code)),
            Ok(_) => self.ignored.unexpected += 1,
            Err(_) => self.ignored.malformed += 1,
        }
    }

    fn handle_data(
        &mut self,
        now: Time,
        sequence: u64,
        data: &Data<'_>,
        length: usize,
        marked: bool,
        payload: &mut Vec<u8>,
    ) {
        let Some(session) = &mut self.session else {
            return;
        };
        session.nonces.insert(sequence, data.nonce);
        if session.begun.is_some() {
            session.gaps = [session.gaps[1], now - session.last];
        }
        session.begun.get_or_insert(now);
        session.last = now;
        self.asking = Repeated::from(now + ASK_AGAIN);
        self.arrived.packets += 1;
        self.arrived.on_wire += Bytes(length as u64);
        self.arrived.marked += u64::from(marked);
        self.arrived.highest = self.arrived.highest.max(sequence + 1);
        payload.extend_from_slice(data.payload);
        let arrived = Arrived {
            sequence,
            // Used only for differences and as an echo; a value out of range saturates.
            sent_at: Time::from_nanos(data.sent_us.saturating_mul(1000)),
            length: Bytes(data.payload.len() as u64),
            rtt: Some(Span::from_micros(u64::from(data.rtt_us)))
                .filter(|rtt| (Span::from_micros(1)..=LONGEST_RTT).contains(rtt)),
            marked,
        };
        self.datagrams.handle_datagram(now, &arrived);
    }

    fn handle_stop(&mut self, now: Time, stop: &Stop) {
        let asked = self
            .stopping
            .is_some_and(|stopping| stopping.repeated.is_some());
        if stop.reason == StopReason::Confirmed {
            if asked {
                self.ending = self.stopping.map(|stopping| stopping.ending);
            }
            return;
        }
        if let Some(session) = &mut self.session {
            session.confirm = true;
        }
        let ending = match stop.reason {
            _ if asked => Ending::Stopped,
            StopReason::Finished => Ending::Finished { confirmed: true },
            StopReason::Asked | StopReason::Confirmed => Ending::PeerStopped,
        };
        let until = match self.stopping {
            Some(Stopping {
                repeated: None,
                until,
                ..
            }) => until,
            _ => now + LINGER,
        };
        self.stopping = Some(Stopping {
            ending,
            repeated: None,
            until,
        });
    }

    /// Appends the next datagram that is due to `output`, and returns its destination; `None` if
    /// none is due.
    pub fn poll_transmit(&mut self, now: Time, output: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.ending.is_some() {
            return None;
        }
        self.datagrams.handle_timeout(now);
        let is_sent = self.poll_feedback(now, output) || self.poll_other(now, output);
        if !is_sent {
            self.end_if_due(now);
        }
        is_sent.then_some(self.sender)
    }

    fn poll_feedback(&mut self, now: Time, output: &mut Vec<u8>) -> bool {
        let Some(session) = &mut self.session else {
            return false;
        };
        let Some(feedback) = self.datagrams.poll_feedback(now) else {
            return false;
        };
        let delivered = self.datagrams.statistics().delivered;
        let message = session.message(&feedback, delivered);
        let number = session.next_feedback;
        session.next_feedback += 1;
        wire::write(
            &message,
            session.connection,
            number,
            &session.keys.feedback,
            output,
        );
        true
    }

    fn poll_other(&mut self, now: Time, output: &mut Vec<u8>) -> bool {
        let Some(session) = &mut self.session else {
            let is_due = self.stopping.is_none() && self.asking.take(now);
            if is_due {
                let hello = Message::Hello(Hello {
                    client: self.client,
                });
                wire::write(&hello, 0, FIRST_OF_OTHERS, self.key.opening(), output);
            }
            return is_due;
        };
        let repeated = self
            .stopping
            .as_mut()
            .and_then(|stopping| stopping.repeated.as_mut());
        let is_stopping = repeated.is_some();
        let stops = repeated.is_some_and(|stop| stop.said < STOPS && stop.take(now));
        let (message, key) = if std::mem::take(&mut session.confirm) {
            let reason = StopReason::Confirmed;
            (
                Message::Stop(Stop { reason, packets: 0 }),
                &session.keys.feedback,
            )
        } else if stops {
            let reason = StopReason::Asked;
            (
                Message::Stop(Stop { reason, packets: 0 }),
                &session.keys.feedback,
            )
        } else if !is_stopping && self.stopping.is_none() && self.asking.take(now) {
            let start = Start {
                client: self.client,
                server: session.server,
                cookie: session.cookie,
                control: self.control,
                most_bit_per_s: self.most_bit_per_s,
            };
            (Message::Start(start), self.key.opening())
        } else {
            return false;
        };
        wire::write(&message, session.connection, self.next_other, key, output);
        self.next_other += 1;
        true
    }

    fn end_if_due(&mut self, now: Time) {
        if let Some(stopping) = self.stopping {
            let is_unanswered = stopping
                .repeated
                .is_some_and(|stop| stop.said == STOPS && stop.next <= now);
            if is_unanswered || stopping.until <= now {
                self.ending = Some(stopping.ending);
            }
        } else if self.silence_ends() <= now {
            self.ending = Some(match &self.session {
                Some(session) if session.begun.is_some() => Ending::Silence(session.patience()),
                _ => Ending::NoAnswer,
            });
        }
    }

    fn silence_ends(&self) -> Time {
        match &self.session {
            Some(session) if session.begun.is_some() => session.last + session.patience(),
            _ => self.gives_up,
        }
    }

    /// Returns the time at which there may be something to send, or an end.
    pub fn poll_timeout(&self) -> Time {
        if self.ending.is_some() {
            return Time::NEVER;
        }
        let next = match self.stopping {
            Some(stopping) => {
                let stop = stopping.repeated.map_or(Time::NEVER, |stop| stop.next);
                stop.min(stopping.until)
            }
            None => self.asking.next.min(self.silence_ends()),
        };
        next.min(self.datagrams.poll_timeout())
    }

    /// Asks the sender to stop.
    pub fn stop(&mut self, now: Time) {
        if self.session.is_none() {
            self.ending = self.ending.or(Some(Ending::Stopped));
        }
        self.stopping.get_or_insert(Stopping {
            ending: Ending::Stopped,
            repeated: Some(Repeated::from(now)),
            until: Time::NEVER,
        });
    }

    /// Returns the reason of the end; `None` while the session goes on.
    pub const fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Returns state and counts of the session.
    pub fn report(&self) -> ReceiverReport {
        ReceiverReport {
            begun: self.session.as_ref().and_then(|session| session.begun),
            last: self
                .session
                .as_ref()
                .map_or(Time::ZERO, |session| session.last),
            arrived: self.arrived,
            statistics: *self.datagrams.statistics(),
        }
    }

    /// Returns the counts of ignored datagrams.
    pub const fn ignored(&self) -> &Ignored {
        &self.ignored
    }
}

impl Session {
    /// Returns the longest time without data: three times the longer of the last two gaps, but at
    /// least [`SILENCE`].
    fn patience(&self) -> Span {
        SILENCE.max(self.gaps[0].max(self.gaps[1]) * 3)
    }

    /// Builds the message for feedback; it claims only arrivals that can be proved.
    fn message(&self, feedback: &Feedback, Bytes(delivered): Bytes) -> Message<'static> {
        let (vector, nonces) = self
            .nonces
            .claim(feedback.sequence, feedback.received.bits | 1);
        let arrived = Acknowledgement {
            sequence: feedback.sequence,
            echo_us: super::micros(feedback.echo),
            held_us: u32::try_from(feedback.held.as_nanos() / 1000).unwrap_or(u32::MAX),
            nonces,
            marked: feedback.marked as u32,
            width: feedback.received.width,
            vector,
            delivered,
        };
        match feedback.report {
            None => Message::Ack(arrived),
            Some(report) => Message::Report(Report {
                arrived,
                receive_byte_per_s: report.receive_rate as u64,
                loss_event_rate: (report.loss_event_rate * f64::from(u32::MAX)).round() as u32,
            }),
        }
    }
}
