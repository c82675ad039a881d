//! Plays the events of a connection to our sender.

use super::connection::{Answer, Event, EventKind};
use super::report::{Difference, DifferenceKind, Reading, Report, Step};
use super::trajectory::{Trajectory, Window};
use ackclock_core::endpoint::parameters::Pacing;
use ackclock_core::endpoint::{Acknowledgement, AcknowledgementKind, Sender};
use ackclock_core::packet::SackBlocks;
use ackclock_core::traffic::Write;
use ackclock_spec::units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Longest time from an ACK in the capture to the segments that it releases. An emulation's capture
/// has the ACK when it leaves the path; the host gets it later.
const REACTION: Span = Span::from_millis(2);

/// Longest time by which the other stack may be later: a timer of a kernel with ticks of 10 ms,
/// which rounds up and adds a tick, or a host that the machine lets wait.
const LATE: Span = Span::from_millis(20);

/// Linux rounds a long timeout up by at most this fraction of it (its timer wheel).
const WHEEL: u64 = 8;

/// Longest time by which a timer of ours may be later. Our round-trip times end when the ACK is in
/// the capture, those of the kernel when it is processed.
const TIMER_EARLY: Span = Span::from_millis(5);

/// Steps before the first difference that are kept.
const STEPS_BEFORE: usize = 10;

/// Knowledge of the application's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// It always had data to send.
    Bulk,
    /// Nothing: each segment is written just before it leaves.
    AsSent,
}

/// Plays the events of a connection to a sender that has not been opened.
#[derive(Debug)]
pub struct Twin {
    sender: Sender,
    application: Application,
    mss: u64,
    events: VecDeque<Event>,
    step: usize,
    /// First segment that the application has not written, if that is as sent.
    written: u64,
    /// First segment beyond the advertised window.
    edge: u64,
    /// Since when our sender has had more to send than the capture; never if it has not.
    ahead_since: Time,
    /// True if that has been counted as a difference.
    judged: bool,
    missed_timer: Time,
    last_sent: Time,
    last_played: Time,
    /// Steps that the report shows.
    shown: Range<usize>,
    trajectory: Trajectory,
    report: Report,
}

impl Twin {
    /// Compares a sender with a connection. `make` makes the sender for segments of a size. The
    /// report has the steps that are `shown`; by default, those before the first difference.
    ///
    /// `on_the_way` is the time that an ACK takes from the capture to the other stack. By default
    /// it is as much as the least round trip is longer there than in the capture.
    pub fn compare(
        events: &[Event],
        mss: u64,
        application: Application,
        readings: &[Reading],
        on_the_way: Option<Span>,
        shown: Option<Range<usize>>,
        make: impl Fn(Bytes) -> Sender,
    ) -> Report {
        let start = |events: &[Event]| Twin::new(events, mss, application, make(Bytes(mss)));
        let on_the_way = on_the_way.unwrap_or_else(|| {
            let theirs = readings.iter().rev().find_map(|reading| reading.least_rtt);
            theirs.map_or(Span::ZERO, |theirs| {
                theirs - start(events).least_rtt().unwrap_or(theirs)
            })
        });
        let events = &delayed(events, on_the_way);
        let play = |shown: Range<usize>| {
            let mut twin = start(events);
            twin.report.on_the_way = on_the_way;
            twin.shown = shown;
            twin.play(readings)
        };
        let report = play(shown.clone().unwrap_or_default());
        match report.differences.first() {
            Some(first) if shown.is_none() => {
                play(first.step.saturating_sub(STEPS_BEFORE)..first.step + 1)
            }
            _ => report,
        }
    }

    fn new(events: &[Event], mss: u64, application: Application, sender: Sender) -> Self {
        let sent = |event: &&Event| matches!(event.kind, EventKind::Sent { .. });
        Twin {
            sender,
            application,
            mss,
            events: events.iter().copied().collect(),
            step: 0,
            written: 0,
            edge: u64::MAX,
            ahead_since: Time::NEVER,
            judged: false,
            missed_timer: Time::NEVER,
            last_played: Time::ZERO,
            last_sent: events.iter().rfind(sent).map_or(Time::ZERO, |last| last.at),
            shown: 0..0,
            trajectory: Trajectory::default(),
            report: Report::default(),
        }
    }

    /// Plays everything; returns the least round-trip time measured.
    fn least_rtt(mut self) -> Option<Span> {
        self.play_events();
        self.sender.rtt().minimum()
    }

    fn play(mut self, readings: &[Reading]) -> Report {
        self.play_events();
        self.report.steps = self.step;
        let ended = self.report.ended.is_some();
        for reading in readings {
            if !ended || reading.at <= self.last_played {
                self.trajectory.judge(reading, &mut self.report);
            }
        }
        let Report { differences, .. } = &mut self.report;
        differences.sort_by_key(|difference| difference.step);
        self.report
    }

    fn play_events(&mut self) {
        loop {
            self.bring_answer_forward();
            let Some(event) = self.events.pop_front() else {
                break;
            };
            self.judge_silence(event.at);
            self.judge_timer(event.at);
            let own = match self.handle(&event) {
                Ok(own) => own,
                Err(reason) => {
                    self.report.ended = Some(reason);
                    break;
                }
            };
            self.note_step(&event, own);
            self.note_ahead(event.at);
            self.sender.take_events().for_each(drop);
            self.last_played = event.at;
            self.step += 1;
        }
    }

    /// Moves a segment that our sender would send before the next ACK if the capture has it right
    /// after that ACK: the ACK was still on its way to the host.
    fn bring_answer_forward(&mut self) {
        let Some(Event {
            at,
            kind: EventKind::Ack(_),
        }) = self.events.front().copied()
        else {
            return;
        };
        if self.ahead_since.is_never() {
            return;
        }
        let sent = self
            .events
            .iter()
            .take_while(|event| event.at.since(at) <= REACTION)
            .position(|event| matches!(event.kind, EventKind::Sent { .. }));
        let Some(place) = sent else { return };
        let own = matches!(
            self.events[place].kind,
            EventKind::Sent { segment } if Some(segment) == self.sender.would_send()
        );
        if own && let Some(mut answer) = self.events.remove(place) {
            answer.at = at;
            self.events.push_front(answer);
        }
    }

    /// True if what our sender would send now is new data and does not fill a burst.
    fn may_be_held_back(&mut self) -> bool {
        self.sender.would_send_new_data() && self.sender.room() < self.sender.burst_length()
    }

    fn note(&mut self, at: Time, kind: DifferenceKind) {
        let step = self.step;
        self.report.note(Difference { step, at, kind });
    }

    /// Counts a difference if our sender has long had more to send than the capture.
    fn judge_silence(&mut self, now: Time) {
        let ahead = !self.ahead_since.is_never() && now.since(self.ahead_since) > LATE;
        if !ahead || self.judged || now > self.last_sent {
            return;
        }
        let Some(ours) = self.sender.would_send() else {
            return;
        };
        self.judged = true;
        self.report.silences += 1;
        self.note(now, DifferenceKind::Silence { ours });
    }

    /// Lets the reordering timer expire if it is due long before `now`. Any other timer would have
    /// sent a segment, which the capture does not have.
    fn judge_timer(&mut self, now: Time) {
        let due = self.sender.poll_timeout();
        let late = LATE + self.sender.rtt().rto() / WHEEL;
        if due.is_never() || now.since(due) <= late || now > self.last_sent {
            return;
        }
        if !self.sender.timer_sends() {
            self.sender.expire(due);
        } else if self.missed_timer != due {
            self.missed_timer = due;
            self.report.timers += 1;
            self.note(now, DifferenceKind::Timer);
        }
    }

    /// Gives an event to the sender. Returns the segment that it would have sent in its place.
    fn handle(&mut self, event: &Event) -> Result<Option<u64>, String> {
        let now = event.at;
        match event.kind {
            EventKind::Syn => {
                self.sender.open(now);
                self.sender.expire(now);
                self.sender.poll_transmit(now);
            }
            EventKind::SynAck { echo } => {
                self.acknowledge(now, AcknowledgementKind::SynAck, &Answer::of_syn(echo));
            }
            EventKind::Ack(answer) => {
                self.report.acks += 1;
                self.edge = self.edge.max(answer.edge);
                self.acknowledge(now, AcknowledgementKind::Ack, &answer);
            }
            EventKind::Sent { segment } => return self.follow(now, segment),
        }
        Ok(None)
    }

    fn acknowledge(&mut self, now: Time, kind: AcknowledgementKind, answer: &Answer) {
        let acknowledgement = Acknowledgement {
            kind,
            cumulative: answer.cumulative,
            echo: answer.echo,
            sacks: (!answer.sacks.is_empty()).then_some(&answer.sacks),
            ace: answer.ecn_echo.into(),
            options: None,
        };
        if kind == AcknowledgementKind::SynAck {
            self.edge = u64::MAX;
        }
        self.sender.handle_acknowledgement(now, &acknowledgement);
    }

    /// Asks the sender what it would send in place of a captured segment, and sends that one.
    fn follow(&mut self, now: Time, segment: u64) -> Result<Option<u64>, String> {
        match self.application {
            Application::Bulk if self.report.segments == 0 => self.sender.write(Write::Unlimited),
            Application::AsSent if segment >= self.written => {
                self.written = segment + 1;
                self.sender.write(Write::Bytes(Bytes(self.mss)));
            }
            _ => {}
        }
        let mut own = self.sender.would_send();
        let due = self.sender.poll_timeout();
        if own != Some(segment) && !due.is_never() && due.since(now) <= TIMER_EARLY {
            self.sender.expire(now);
            own = self.sender.would_send();
        }
        self.report.segments += 1;
        // A window that is smaller by one segment is equal.
        let next = self.sender.first_not_sent();
        let nearly = own.is_none() && segment == next && self.sender.lacks_one_segment();
        if own == Some(segment) || nearly {
            self.report.equal_segments += 1;
        } else {
            let (theirs, ours) = (segment, own);
            self.note(now, DifferenceKind::Segment { theirs, ours });
        }
        let first = self.sender.first_in_flight();
        if self.sender.send_as(now, segment).is_none() && segment >= first {
            return Err(format!(
                "segment {segment} leaves although one before it has not; the capture lacks packets"
            ));
        }
        Ok(own)
    }

    fn note_step(&mut self, event: &Event, own: Option<u64>) {
        let window = Window::of(&self.sender, self.mss);
        self.trajectory.note(event.at, self.step, window);
        if !self.shown.contains(&self.step) {
            return;
        }
        self.report.shown.push(Step {
            number: self.step,
            at: event.at,
            kind: event.kind,
            own,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: self.sender.in_flight().0 / self.mss,
            rto: self.sender.rtt().rto(),
        });
    }

    /// Records whether our sender has more to send than the capture. What Linux may hold back does
    /// not count, nor what a control that paces sends later.
    fn note_ahead(&mut self, now: Time) {
        let paced = self.sender.parameters().sending.pacing != Pacing::Off
            && self.sender.control().pace().rate.is_some();
        let own = self.sender.would_send();
        let wants = own.is_some_and(|own| own < self.edge) && !paced;
        if !wants || self.may_be_held_back() {
            self.ahead_since = Time::NEVER;
            self.judged = false;
        } else {
            self.ahead_since = self.ahead_since.min(now);
        }
    }
}

/// Returns the events with each ACK later by that time, but not later than the next segment sent,
/// which it may have released.
fn delayed(events: &[Event], on_the_way: Span) -> Vec<Event> {
    let mut events = events.to_vec();
    let mut next_sent = Time::NEVER;
    for event in events.iter_mut().rev() {
        match event.kind {
            EventKind::Sent { .. } => next_sent = event.at,
            EventKind::Ack(_) | EventKind::SynAck { .. } => {
                event.at = (event.at + on_the_way).min(next_sent);
            }
            EventKind::Syn => {}
        }
    }
    events
}

impl Answer {
    fn of_syn(echo: Time) -> Self {
        Answer {
            cumulative: 0,
            echo,
            sacks: SackBlocks::default(),
            ecn_echo: false,
            edge: u64::MAX,
        }
    }
}
