//! A sender and a receiver under a rate control, and a path between them, in simulated time.

use super::{Feedback, Halves, RateContext, RateControlKind, RateState};
use crate::datagram::{Datagram, DatagramParameters, DatagramReceiver, DatagramSender};
use crate::traffic::Write;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use serde_json::Value;
use std::collections::VecDeque;

/// Builds both halves of the control `tree`, with packets of 1000 bytes.
pub(super) fn halves(tree: &Value) -> Halves {
    let context = RateContext {
        place: StreamScope {
            streams: &Streams::new(1, 0),
            name: "flow/0/control",
        },
        mss: Bytes(1000),
    };
    choose::<RateControlKind>(tree, &NoFiles)
        .unwrap()
        .build(context)
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Arrives,
    Marked,
    Lost,
}

/// An endless transfer over a path with a constant delay and scripted losses and marks.
pub(super) struct Dialogue {
    pub sender: DatagramSender,
    pub receiver: DatagramReceiver,
    pub now: Time,
    one_way: Span,
    /// Returns the fate of a packet, by its sending time and number.
    fate: Box<dyn FnMut(Time, u64) -> Way>,
    /// Returns true if an answer is lost, by its sending time.
    pub loses_answer: Box<dyn FnMut(Time) -> bool>,
    data: VecDeque<(Time, Datagram, Way)>,
    answers: VecDeque<(Time, Feedback)>,
    /// Times at which the allowed rate changed, with the state of the control from then on.
    pub states: Vec<(Time, RateState)>,
    /// Sending times of the packets.
    pub left: Vec<Time>,
}

impl Dialogue {
    pub fn new(
        tree: &Value,
        rtt: Span,
        granularity: Span,
        fate: impl FnMut(Time, u64) -> Way + 'static,
    ) -> Self {
        let Halves { sender, receiver } = halves(tree);
        let parameters = DatagramParameters {
            granularity,
            ..DatagramParameters::default()
        };
        let jitter = Streams::new(1, 0).stream("jitter");
        let mut dialogue = Dialogue {
            sender: DatagramSender::new(sender, &parameters, jitter),
            receiver: DatagramReceiver::new(receiver),
            now: Time::ZERO,
            one_way: rtt / 2,
            fate: Box::new(fate),
            loses_answer: Box::new(|_| false),
            data: VecDeque::new(),
            answers: VecDeque::new(),
            states: Vec::new(),
            left: Vec::new(),
        };
        dialogue.sender.open(Time::ZERO);
        dialogue.sender.write(Write::Unlimited);
        dialogue.settle();
        dialogue
    }

    /// Handles everything due now.
    fn settle(&mut self) {
        let now = self.now;
        while self.data.front().is_some_and(|packet| packet.0 <= now) {
            let (_, data, way) = self.data.pop_front().unwrap();
            if way != Way::Lost {
                self.receiver
                    .handle_datagram(now, &data.arrived(way == Way::Marked));
                self.answer();
            }
        }
        self.receiver.handle_timeout(now);
        self.answer();
        while self.answers.front().is_some_and(|answer| answer.0 <= now) {
            let (_, feedback) = self.answers.pop_front().unwrap();
            self.sender.handle_feedback(now, &feedback);
        }
        self.sender.handle_timeout(now);
        while let Some(data) = self.sender.poll_transmit(now) {
            let way = (self.fate)(now, data.sequence);
            self.data.push_back((now + self.one_way, data, way));
            self.left.push(now);
        }
        let state = self.sender.state();
        if self
            .states
            .last()
            .is_none_or(|(_, last)| last.rate != state.rate)
        {
            self.states.push((now, state));
        }
    }

    fn answer(&mut self) {
        while let Some(feedback) = self.receiver.poll_feedback(self.now) {
            if !(self.loses_answer)(self.now) {
                self.answers.push_back((self.now + self.one_way, feedback));
            }
        }
    }

    /// Runs until that moment, and handles everything due at it.
    pub fn run_until(&mut self, until: f64) {
        let until = Time::from_seconds(until);
        loop {
            let data = self.data.front().map_or(Time::NEVER, |packet| packet.0);
            let answer = self.answers.front().map_or(Time::NEVER, |answer| answer.0);
            let timers = self.sender.poll_timeout().min(self.receiver.poll_timeout());
            let next = data.min(answer).min(timers);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(self.now);
            self.settle();
        }
    }

    /// Returns the allowed rate now, in packets per second.
    pub fn rate(&self) -> f64 {
        self.sender.state().rate / 1000.0
    }
    /// Returns the largest allowed rate in the interval, in packets per second.
    pub fn largest_rate(&self, from: f64, to: f64) -> f64 {
        let (from, to) = (Time::from_seconds(from), Time::from_seconds(to));
        let before = self.states.iter().rev().find(|(at, _)| *at <= from);
        let within = self
            .states
            .iter()
            .filter(|(at, _)| (from..=to).contains(at));
        before
            .into_iter()
            .chain(within)
            .map(|(_, state)| state.rate / 1000.0)
            .fold(0.0, f64::max)
    }
    /// Returns the number of packets sent in `from`..`to`.
    pub fn count(&self, from: f64, to: f64) -> usize {
        let (from, to) = (Time::from_seconds(from), Time::from_seconds(to));
        self.left
            .iter()
            .filter(|at| (from..to).contains(at))
            .count()
    }
}
