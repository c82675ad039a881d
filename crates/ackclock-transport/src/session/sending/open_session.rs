//! The sending side of a session that has been opened.

use super::{SenderReport, SenderSettings, Source};
use crate::bursts::Bursts;
use crate::capped::Capped;
use crate::cookie::Cookies;
use crate::keys::SessionKeys;
use crate::log::{Nonces, SentLog};
use crate::replay::ReplayWindow;
use crate::session::{Ending, Ignored, KEEP_ALIVE, PUSH_AFTER, micros, on_wire};
use crate::wire::{
    self, Data, Envelope, ErrorCode, FIRST_OF_OTHERS, Malformed, Message, Nonce, Start, StopReason,
};
use ackclock_core::datagram::{Datagram, DatagramParameters, DatagramSender};
use ackclock_core::rate_control::{RateContext, RateControlKind};
use ackclock_spec::registry::{Selection, StreamScope};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use closing::Closing;
use feedback::Answers;
use std::net::SocketAddr;

mod closing;
mod feedback;

/// The sending side of a session that has been opened.
#[derive(Debug)]
pub(super) struct OpenSession {
    /// Destination of the data: the address that last returned a cookie.
    pub peer: SocketAddr,
    pub connection: u64,
    pub opened: Time,
    client: Nonce,
    keys: SessionKeys,
    control: &'static str,
    payload: usize,
    /// Lateness up to which a packet keeps its turn.
    catch_up: Span,
    datagrams: DatagramSender,
    log: SentLog,
    numbers: Numbers,
    /// The latest time passed to the control, whose time must not run backwards.
    shown: Time,
    departures: Departures,
    idle: Idle,
    answers: Answers,
    closing: Closing,
}

/// Packet numbers of both directions.
#[derive(Debug)]
struct Numbers {
    feedback: ReplayWindow,
    others: ReplayWindow,
    next_other: u64,
}

/// Data packets that have left.
#[derive(Debug)]
struct Departures {
    /// Time at which the last packet left.
    last: Time,
    on_wire: Bytes,
    /// Time of the last departure, and the number of packets that left at it.
    together: (Time, usize),
    bursts: Bursts,
}

impl Departures {
    /// Creates an empty record at `now`.
    fn new(now: Time) -> Self {
        Departures {
            last: now,
            on_wire: Bytes::ZERO,
            together: (Time::NEVER, 0),
            bursts: Bursts::default(),
        }
    }

    /// Counts a datagram of `length` bytes.
    fn add(&mut self, now: Time, length: usize) {
        self.last = now;
        self.on_wire += Bytes(length as u64);
        if self.together.0 != now {
            self.bursts.add(self.together.1);
            self.together = (now, 0);
        }
        self.together.1 += 1;
    }

    /// Returns all bursts, including the current one.
    fn bursts(&self) -> Bursts {
        let mut bursts = self.bursts.clone();
        bursts.add(self.together.1);
        bursts
    }
}

/// State of data that does not fill a packet.
#[derive(Clone, Copy, Debug)]
enum Idle {
    /// Data has been waiting since this time.
    Since(Time),
    /// No data waits.
    Empty,
    /// A partly filled packet has been requested.
    Pushed,
}

/// Builds the sender with the requested control, capped at `most`.
fn datagram_sender(
    payload: usize,
    most: BitRate,
    settings: &SenderSettings,
    control: &Selection<RateControlKind>,
) -> DatagramSender {
    let (streams, mss) = (&settings.streams, Bytes(payload as u64));
    let place = StreamScope {
        streams,
        name: &format!("{}/control", settings.place),
    };
    let halves = control.build(RateContext { place, mss });
    let capped = Box::new(Capped::new(halves.sender, most, on_wire(payload)));
    let jitter = streams.stream(&format!("{}/jitter", settings.place));
    let parameters = DatagramParameters {
        mss,
        ..settings.datagrams
    };
    let mut datagrams = DatagramSender::new(capped, &parameters, jitter);
    if settings.finer_ticks {
        datagrams.allow_finer_ticks();
    }
    datagrams
}

impl OpenSession {
    pub fn open(
        now: Time,
        peer: SocketAddr,
        envelope: &Envelope<'_>,
        start: &Start,
        settings: &SenderSettings,
        control: &Selection<RateControlKind>,
        source: &Source,
    ) -> Self {
        let payload = (settings.datagrams.mss.0 as usize).clamp(1, wire::LONGEST_PAYLOAD);
        let most = crate::session::most_to(peer, settings.most)
            .min(BitRate::from_bit_per_s(start.most_bit_per_s));
        let mut datagrams = datagram_sender(payload, most, settings, control);
        datagrams.open(now);
        let (write, is_all) = source.opening();
        datagrams.write(write);
        if is_all {
            datagrams.close();
        }
        // The first packet is also the answer to START, so it leaves even if there is no data.
        datagrams.push();
        let mut others = ReplayWindow::default();
        others.take(envelope.number);
        OpenSession {
            peer,
            connection: envelope.connection,
            opened: now,
            client: start.client,
            keys: settings.key.session(&start.client, &start.server),
            control: control.name,
            payload,
            catch_up: settings.datagrams.granularity + settings.catch_up,
            datagrams,
            log: SentLog::default(),
            numbers: Numbers {
                feedback: ReplayWindow::default(),
                others,
                next_other: FIRST_OF_OTHERS,
            },
            shown: now,
            departures: Departures::new(now),
            idle: Idle::Pushed,
            answers: Answers::new(),
            closing: Closing::default(),
        }
    }

    /// Returns the reason of the end; `None` while the session goes on.
    pub const fn ending(&self) -> Option<Ending> {
        self.closing.ending
    }

    /// Handles a repeated START: the first answer was lost, or the receiver may have a new address.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of it is what the sender knows"
    )]
    pub fn handle_start(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope<'_>,
        start: &Start,
        cookies: &Cookies,
        ignored: &mut Ignored,
        answer: &mut Vec<u8>,
    ) {
        if start.client != self.client || !self.numbers.others.take(envelope.number) {
            ignored.replayed += 1;
        } else if from == self.peer {
        } else if cookies.is_met(now, from, start)
            && from.ip().is_loopback() == self.peer.ip().is_loopback()
        {
            // Does not move between this host and another one: their caps may differ.
            self.peer = from;
        } else {
            self.challenge(now, from, cookies, ignored, answer);
        }
    }

    /// Sends a cookie to an address; nothing else goes there until it comes back.
    fn challenge(
        &mut self,
        now: Time,
        from: SocketAddr,
        cookies: &Cookies,
        ignored: &mut Ignored,
        answer: &mut Vec<u8>,
    ) {
        ignored.elsewhere += 1;
        let challenge = cookies.challenge(now, from, &self.client);
        self.write_other(&Message::Challenge(challenge), answer);
    }

    pub fn handle_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope<'_>,
        cookies: &Cookies,
        ignored: &mut Ignored,
        answer: &mut Vec<u8>,
    ) {
        if !envelope.is_sealed_with(&self.keys.feedback) {
            ignored.unauthenticated += 1;
            return;
        }
        let is_of_stream = envelope.number < FIRST_OF_OTHERS;
        let numbers = if is_of_stream {
            &mut self.numbers.feedback
        } else {
            &mut self.numbers.others
        };
        if !numbers.take(envelope.number) {
            ignored.replayed += 1;
            return;
        }
        match envelope.message() {
            Ok(Message::Ack(_) | Message::Report(_)) if from != self.peer => {
                self.challenge(now, from, cookies, ignored, answer);
            }
            Ok(Message::Ack(ack)) => self.handle_feedback(now, &ack, None, ignored),
            Ok(Message::Report(report)) => {
                self.handle_feedback(now, &report.arrived, Some(&report), ignored);
            }
            Ok(Message::Stop(stop)) => self.handle_stop(now, stop.reason, answer),
            Ok(Message::Error(code)) => self.end(Ending::Refused(code)),
            Err(Malformed::Version) => {
                ignored.malformed += 1;
                self.write_other(&Message::Error(ErrorCode::Version), answer);
            }
            Err(_) => ignored.malformed += 1,
            Ok(_) => ignored.unexpected += 1,
        }
    }

    /// Takes `length` bytes of the application, while `waiting` bytes wait.
    pub fn write(&mut self, now: Time, length: usize, waiting: usize) {
        if waiting < self.payload {
            // A turn that passed for lack of data is lost; it does not count as lateness to catch
            // up.
            self.shown = self.shown.max(now);
        }
        use ackclock_core::traffic::Write;
        self.datagrams.write(Write::Bytes(Bytes(length as u64)));
        if matches!(self.idle, Idle::Empty) {
            self.idle = Idle::Since(now);
        }
    }

    pub fn close(&mut self) {
        self.datagrams.close();
    }

    pub fn poll_transmit(
        &mut self,
        now: Time,
        source: &mut Source,
        nonces: &mut Nonces,
        output: &mut Vec<u8>,
    ) -> bool {
        if let Some(code) = self.closing.farewell.take() {
            self.write_other(&Message::Error(code), output);
            return true;
        }
        if self.closing.ending.is_some() {
            return false;
        }
        if self.silence_ends() <= now {
            self.closing.farewell = Some(ErrorCode::Silence);
            self.end(Ending::Silence(self.answers.patience));
            return self.poll_transmit(now, source, nonces, output);
        }
        if self.push_due(source) <= now {
            self.datagrams.push();
            self.idle = Idle::Pushed;
        }
        if let Some(datagram) = self.poll_datagram(now) {
            self.write_data(now, &datagram, source, nonces, output);
            return true;
        }
        if self.datagrams.is_finished() {
            self.begin_stop(
                now,
                StopReason::Finished,
                Ending::Finished { confirmed: false },
            );
        }
        self.poll_stop(now, output)
    }

    /// Returns the next packet that is due.
    ///
    /// A packet may be late because the system ran another program. The control is then given the
    /// time at which the packet should have left, so that the rate is kept. A packet that is later
    /// than `catch_up` has lost its turn.
    fn poll_datagram(&mut self, now: Time) -> Option<Datagram> {
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(self.catch_up.as_nanos()));
        loop {
            let due = self.datagrams.poll_timeout();
            if due > now {
                return None;
            }
            self.shown = self.shown.max(due).max(earliest);
            self.datagrams.handle_timeout(self.shown);
            if let Some(datagram) = self.datagrams.poll_transmit(self.shown) {
                return Some(datagram);
            }
        }
    }

    fn write_data(
        &mut self,
        now: Time,
        datagram: &Datagram,
        source: &mut Source,
        nonces: &mut Nonces,
        output: &mut Vec<u8>,
    ) {
        debug_assert_eq!(datagram.sequence, self.log.next());
        let length = datagram.length.0 as usize;
        let nonce = nonces.draw();
        let rtt_us = datagram.rtt.map_or(0, |rtt| rtt.as_nanos().div_ceil(1000));
        let data = Message::Data(Data {
            sent_us: micros(now),
            nonce,
            rtt_us: u32::try_from(rtt_us).unwrap_or(u32::MAX),
            payload: source.next(length),
        });
        let begin = output.len();
        wire::write(
            &data,
            self.connection,
            datagram.sequence,
            &self.keys.data,
            output,
        );
        self.log.push(now, nonce, length as u32);
        source.advance(length);
        self.departures.add(now, output.len() - begin);
        self.answers.unanswered_since.get_or_insert(now);
        self.idle = match source.waiting() {
            Some(0) | None => Idle::Empty,
            Some(_) => Idle::Since(now),
        };
    }

    /// Returns the time at which a partly filled packet is to leave.
    fn push_due(&self, source: &Source) -> Time {
        let waits = source.waiting().is_some_and(|bytes| bytes < self.payload);
        match self.idle {
            Idle::Since(since) if waits => {
                (since + PUSH_AFTER).min(self.departures.last + KEEP_ALIVE)
            }
            Idle::Empty if waits => self.departures.last + KEEP_ALIVE,
            _ => Time::NEVER,
        }
    }

    pub fn poll_timeout(&self, source: &Source) -> Time {
        let stop = self.closing.stopping.map_or(Time::NEVER, |stopping| {
            stopping
                .repeated
                .map_or(Time::NEVER, |stop| stop.next)
                .min(stopping.until)
        });
        let end = if self.datagrams.is_finished() && self.closing.stopping.is_none() {
            self.departures.last
        } else {
            Time::NEVER
        };
        let all = [
            self.datagrams.poll_timeout(),
            self.silence_ends(),
            self.push_due(source),
            stop,
            end,
        ];
        all.into_iter().fold(Time::NEVER, Time::min)
    }

    fn write_other(&mut self, message: &Message<'_>, output: &mut Vec<u8>) {
        let number = self.numbers.next_other;
        self.numbers.next_other += 1;
        wire::write(message, self.connection, number, &self.keys.data, output);
    }

    pub fn report(&self) -> SenderReport {
        SenderReport {
            peer: self.peer,
            control: self.control,
            state: self.datagrams.state(),
            statistics: *self.datagrams.statistics(),
            opened: self.opened,
            bursts: self.departures.bursts(),
            sent_on_wire: self.departures.on_wire,
            wrong_echoes: self.answers.wrong_echoes,
            clamped: self.answers.clamped,
            unusable_rtts: self.answers.unusable_rtts,
            marked: self.answers.marked,
            delivered: Bytes(self.answers.delivered),
        }
    }
}
