//! The sending side of a session that has been opened.

use super::{SenderReport, SenderSettings, Source};
use crate::bursts::Bursts;
use crate::capped::Capped;
use crate::cookie::Cookies;
use crate::keys::SessionKeys;
use crate::log::{Claim, Nonces, SentLog};
use crate::replay::ReplayWindow;
use crate::session::{
    Ending, Ignored, KEEP_ALIVE, LINGER, LONGEST_RTT, PUSH_AFTER, Repeated, SILENCE, STOPS, micros, on_wire,
};
use crate::wire::{
    self, Acknowledgement, Data, Envelope, ErrorCode, FIRST_OF_OTHERS, Malformed, Message, Nonce, Report,
    Start, Stop, StopReason,
};
use ackclock_core::datagram::{Datagram, DatagramParameters, DatagramSender};
use ackclock_core::rate_control::{self, Feedback, RateContext, RateControlKind, Received};
use ackclock_core::registry::{Chosen, Place};
use ackclock_core::units::{BitRate, Bytes, Span, Time};
use std::net::SocketAddr;

/// The sending side of a session.
#[derive(Debug)]
pub(super) struct Flow {
    /// Where the data goes: the address that last brought back a cookie.
    pub peer: SocketAddr,
    pub connection: u64,
    pub ending: Option<Ending>,
    client: Nonce,
    keys: SessionKeys,
    control: &'static str,
    datagrams: DatagramSender,
    payload: usize,
    catch_up: Span,
    log: SentLog,
    feedback_numbers: ReplayWindow,
    other_numbers: ReplayWindow,
    next_other: u64,
    /// When the control was told something last: its time does not run backwards.
    told: Time,
    pub opened: Time,
    /// When a packet left last.
    sent: Time,
    sent_on_wire: Bytes,
    idle: Idle,
    /// Since when there has been no feedback though packets had been sent.
    unanswered_since: Option<Time>,
    /// How long that may last.
    patience: Span,
    /// One more than the highest number there has been feedback on.
    answered: u64,
    marked: u64,
    /// Payload that the receiver says it has.
    delivered: u64,
    /// Packets that have left at that moment.
    together: (Time, usize),
    bursts: Bursts,
    stopping: Option<Stopping>,
    /// A refusal that is still to be sent.
    farewell: Option<ErrorCode>,
    wrong_echoes: u64,
    clamped: u64,
    unusable_rtts: u64,
}

/// What is done about data that does not fill a packet, or about none at all.
#[derive(Clone, Copy, Debug)]
enum Idle {
    /// Since that moment something waits for more.
    Since(Time),
    /// Nothing waits.
    Empty,
    /// A packet that is not full has been asked for.
    Pushed,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    reason: StopReason,
    ending: Ending,
    /// STOP; nothing if it is the other side that stops and this one lingers.
    repeated: Option<Repeated>,
    until: Time,
}

impl Flow {
    pub fn open(
        now: Time,
        peer: SocketAddr,
        envelope: &Envelope<'_>,
        start: &Start,
        settings: &SenderSettings,
        control: &Chosen<RateControlKind>,
        source: &Source,
    ) -> Self {
        let payload = (settings.datagrams.mss.0 as usize).clamp(1, wire::LONGEST_PAYLOAD);
        let most =
            crate::session::most_to(peer, settings.most).min(BitRate::from_bit_per_s(start.most_bit_per_s));
        let (streams, mss) = (&settings.streams, Bytes(payload as u64));
        let place = Place {
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
        datagrams.open(now);
        let (write, is_all) = source.opening();
        datagrams.write(write);
        if is_all {
            datagrams.close();
        }
        let mut other_numbers = ReplayWindow::default();
        other_numbers.take(envelope.number);
        // The first packet is also the answer to START: it leaves whatever there is to be sent.
        datagrams.push();
        Flow {
            peer,
            connection: envelope.connection,
            ending: None,
            client: start.client,
            keys: settings.key.session(&start.client, &start.server),
            control: control.name,
            datagrams,
            payload,
            catch_up: settings.datagrams.granularity + settings.catch_up,
            log: SentLog::default(),
            feedback_numbers: ReplayWindow::default(),
            other_numbers,
            next_other: FIRST_OF_OTHERS,
            told: now,
            opened: now,
            sent: now,
            sent_on_wire: Bytes::ZERO,
            idle: Idle::Pushed,
            unanswered_since: None,
            patience: SILENCE,
            answered: 0,
            marked: 0,
            delivered: 0,
            together: (Time::NEVER, 0),
            bursts: Bursts::default(),
            stopping: None,
            farewell: None,
            wrong_echoes: 0,
            clamped: 0,
            unusable_rtts: 0,
        }
    }

    /// START, again: because the first answer was lost, or from an address that may be the receiver's new one.
    #[expect(clippy::too_many_arguments, reason = "all of it is what the sender knows")]
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
        if start.client != self.client || !self.other_numbers.take(envelope.number) {
            ignored.replayed += 1;
        } else if from == self.peer {
        } else if cookies.is_met(now, from, start) && from.ip().is_loopback() == self.peer.ip().is_loopback()
        {
            // Not from this host to another: the cap may be another one.
            self.peer = from;
        } else {
            self.challenge(now, from, cookies, ignored, answer);
        }
    }

    /// Asks whether an address is real before anything else goes there.
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
            &mut self.feedback_numbers
        } else {
            &mut self.other_numbers
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

    /// Tells the control of what can be; ends the session over what cannot.
    fn handle_feedback(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        report: Option<&Report>,
        ignored: &mut Ignored,
    ) {
        let sent = match self.log.judge(ack) {
            Claim::True(sent) => sent,
            Claim::Forgotten => {
                ignored.forgotten += 1;
                return;
            }
            Claim::False => {
                ignored.dishonest += 1;
                self.farewell = Some(ErrorCode::Dishonest);
                self.end(Ending::Dishonest);
                return;
            }
        };
        self.wrong_echoes += u64::from(ack.echo_us != micros(sent.at));
        let since = now.since(sent.at);
        if since > LONGEST_RTT {
            self.unusable_rtts += 1;
            return;
        }
        let mut held = Span::from_micros(u64::from(ack.held_us));
        if held >= since {
            self.unusable_rtts += 1;
            held = Span::ZERO;
        }
        // Of a count modulo 2^32, which reordering may bring back a little.
        let more = ack.marked.wrapping_sub(self.marked as u32);
        self.marked += u64::from(if more < 1 << 31 { more } else { 0 });
        let feedback = Feedback {
            sequence: ack.sequence,
            echo: sent.at,
            held,
            received: Received {
                bits: if ack.width == 0 { 0 } else { ack.vector },
                width: ack.width,
            },
            marked: self.marked,
            report: report.map(|report| self.believed(ack.sequence, since - held, report)),
        };
        self.delivered = self
            .delivered
            .max(ack.delivered)
            .min(self.datagrams.statistics().sent_bytes.0);
        self.told = now;
        self.datagrams.handle_feedback(now, &feedback);
        self.answered = self.answered.max(ack.sequence + 1);
        self.unanswered_since = (self.answered < self.log.next()).then_some(now);
        self.patience = self.patience_now();
    }

    /// What a report says, but no more than was sent.
    fn believed(&mut self, sequence: u64, rtt: Span, report: &Report) -> rate_control::Report {
        let round_trip = self.datagrams.state().smoothed_rtt.unwrap_or(rtt).max(rtt);
        let most = self.log.most_received(sequence, round_trip);
        let claimed = report.receive_byte_per_s as f64;
        self.clamped += u64::from(claimed > most);
        rate_control::Report {
            receive_rate: claimed.min(most),
            loss_event_rate: f64::from(report.loss_event_rate) / f64::from(u32::MAX),
        }
    }

    /// How long there may be no feedback: three rounds of the control, or three gaps between packets where these are long, but not less than
    /// [`SILENCE`].
    fn patience_now(&self) -> Span {
        let gap = self.payload as f64 / self.datagrams.state().rate;
        let gap = if gap.is_finite() {
            Span::from_seconds(gap)
        } else {
            Span::ZERO
        };
        SILENCE.max(self.datagrams.round() * 3).max(gap * 3)
    }

    fn handle_stop(&mut self, now: Time, reason: StopReason, answer: &mut Vec<u8>) {
        if reason == StopReason::Confirmed {
            if let Some(Stopping {
                ending,
                repeated: Some(_),
                ..
            }) = self.stopping
            {
                self.end(match ending {
                    Ending::Finished { .. } => Ending::Finished { confirmed: true },
                    ending => ending,
                });
            }
            return;
        }
        self.datagrams.stop();
        self.stopping.get_or_insert(Stopping {
            reason: StopReason::Confirmed,
            ending: Ending::PeerStopped,
            repeated: None,
            until: now + LINGER,
        });
        let packets = self.log.next();
        let reason = StopReason::Confirmed;
        self.write_other(&Message::Stop(Stop { reason, packets }), answer);
    }

    fn end(&mut self, ending: Ending) {
        self.datagrams.stop();
        self.ending = self.ending.or(Some(ending));
    }

    pub fn stop(&mut self, now: Time) {
        self.datagrams.stop();
        self.begin_stop(now, StopReason::Asked, Ending::Stopped);
    }

    fn begin_stop(&mut self, now: Time, reason: StopReason, ending: Ending) {
        self.stopping.get_or_insert(Stopping {
            reason,
            ending,
            repeated: Some(Repeated::from(now)),
            until: Time::NEVER,
        });
    }

    /// The application writes, while so many bytes wait.
    pub fn write(&mut self, now: Time, length: usize, waiting: usize) {
        if waiting < self.payload {
            // A turn that there was no data for is lost, and none of what is caught up.
            self.told = self.told.max(now);
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
        if let Some(code) = self.farewell.take() {
            self.write_other(&Message::Error(code), output);
            return true;
        }
        if self.ending.is_some() {
            return false;
        }
        if self.silence_ends() <= now {
            self.farewell = Some(ErrorCode::Silence);
            self.end(Ending::Silence(self.patience));
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
            self.begin_stop(now, StopReason::Finished, Ending::Finished { confirmed: false });
        }
        self.poll_stop(now, output)
    }

    /// The next packet that is due. What should have left a while ago, while the system let somebody else run, is told to the control as
    /// of when it should have left, so that the rate is kept; what should have left longer ago has lost its turn.
    fn poll_datagram(&mut self, now: Time) -> Option<Datagram> {
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(self.catch_up.as_nanos()));
        loop {
            let due = self.datagrams.poll_timeout();
            if due > now {
                return None;
            }
            self.told = self.told.max(due).max(earliest);
            self.datagrams.handle_timeout(self.told);
            if let Some(datagram) = self.datagrams.poll_transmit(self.told) {
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
        wire::write(&data, self.connection, datagram.sequence, &self.keys.data, output);
        self.sent_on_wire += Bytes((output.len() - begin) as u64);
        self.log.push(now, nonce, length as u32);
        source.advance(length);
        self.sent = now;
        self.unanswered_since.get_or_insert(now);
        self.idle = match source.waiting() {
            Some(0) | None => Idle::Empty,
            Some(_) => Idle::Since(now),
        };
        if self.together.0 != now {
            self.bursts.add(self.together.1);
            self.together = (now, 0);
        }
        self.together.1 += 1;
    }

    fn poll_stop(&mut self, now: Time, output: &mut Vec<u8>) -> bool {
        let Some(mut stopping) = self.stopping else {
            return false;
        };
        let is_unanswered = stopping
            .repeated
            .is_some_and(|stop| stop.said == STOPS && stop.next <= now);
        if is_unanswered || stopping.until <= now {
            self.end(stopping.ending);
            return false;
        }
        let is_due = stopping.repeated.as_mut().is_some_and(|stop| stop.take(now));
        self.stopping = Some(stopping);
        if is_due {
            let packets = self.log.next();
            self.write_other(
                &Message::Stop(Stop {
                    reason: stopping.reason,
                    packets,
                }),
                output,
            );
        }
        is_due
    }

    /// When the circuit breaker opens.
    fn silence_ends(&self) -> Time {
        match self.unanswered_since {
            // An end is waited for no longer than it takes to say it.
            Some(since) if self.stopping.is_none() => since + self.patience,
            _ => Time::NEVER,
        }
    }

    /// When a packet is to leave that is not full.
    fn push_due(&self, source: &Source) -> Time {
        let waits = source.waiting().is_some_and(|bytes| bytes < self.payload);
        match self.idle {
            Idle::Since(since) if waits => (since + PUSH_AFTER).min(self.sent + KEEP_ALIVE),
            Idle::Empty if waits => self.sent + KEEP_ALIVE,
            _ => Time::NEVER,
        }
    }

    pub fn poll_timeout(&self, source: &Source) -> Time {
        let stop = self.stopping.map_or(Time::NEVER, |stopping| {
            stopping
                .repeated
                .map_or(Time::NEVER, |stop| stop.next)
                .min(stopping.until)
        });
        let end = if self.datagrams.is_finished() && self.stopping.is_none() {
            self.sent
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
        let number = self.next_other;
        self.next_other += 1;
        wire::write(message, self.connection, number, &self.keys.data, output);
    }

    pub fn report(&self) -> SenderReport {
        let mut bursts = self.bursts.clone();
        bursts.add(self.together.1);
        SenderReport {
            peer: self.peer,
            control: self.control,
            state: self.datagrams.state(),
            statistics: *self.datagrams.statistics(),
            opened: self.opened,
            bursts,
            sent_on_wire: self.sent_on_wire,
            wrong_echoes: self.wrong_echoes,
            clamped: self.clamped,
            unusable_rtts: self.unusable_rtts,
            marked: self.marked,
            delivered: Bytes(self.delivered),
        }
    }
}
