//! A path of constant delay that loses what it is told to, and a flow over it.

use super::super::Tfrc;
use super::{RTT, SEGMENT, ms};
use crate::datagram::{Datagram, DatagramParameters, DatagramReceiver, DatagramSender};
use crate::rate_control::{Feedback, Halves, RateContext};
use crate::registry::{Place, Recipe};
use crate::streams::Streams;
use crate::traffic::Write;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// One flow that always has data, in time that jumps.
pub(super) struct Flow {
    pub sender: DatagramSender,
    pub receiver: DatagramReceiver,
    one_way: Span,
    data: VecDeque<(Time, Datagram)>,
    answers: VecDeque<(Time, Feedback)>,
    pub now: Time,
    marks: bool,
}

impl Flow {
    pub fn new(parameters: &Tfrc) -> Self {
        let streams = Streams::new(1, 0);
        let place = Place {
            streams: &streams,
            name: "flow/0/control",
        };
        let Halves { sender, receiver } = parameters.build(RateContext { place, mss: SEGMENT });
        let mut sender = DatagramSender::new(sender, &DatagramParameters::default(), place.stream());
        sender.open(ms(0));
        sender.write(Write::Unlimited);
        Flow {
            sender,
            receiver: DatagramReceiver::new(receiver),
            one_way: RTT / 2,
            data: VecDeque::new(),
            answers: VecDeque::new(),
            now: ms(0),
            marks: false,
        }
    }

    /// Lets time pass. `loses` says whether a packet, and whether an answer, is lost.
    pub fn run(&mut self, until: Time, mut loses: impl FnMut(Time, bool) -> bool) {
        loop {
            let arrival = |queue: Option<Time>| queue.unwrap_or(Time::NEVER);
            let data = arrival(self.data.front().map(|(at, _)| *at));
            let answer = arrival(self.answers.front().map(|(at, _)| *at));
            let timers = self.sender.poll_timeout().min(self.receiver.poll_timeout());
            let next = data.min(answer).min(timers);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if data == next
                && let Some((_, datagram)) = self.data.pop_front()
            {
                let marked = std::mem::take(&mut self.marks);
                self.receiver.handle_datagram(next, &datagram.arrived(marked));
            }
            if answer == next
                && let Some((_, feedback)) = self.answers.pop_front()
            {
                self.sender.handle_feedback(next, &feedback);
            }
            self.receiver.handle_timeout(next);
            self.sender.handle_timeout(next);
            while let Some(feedback) = self.receiver.poll_feedback(next) {
                if !loses(next, true) {
                    self.answers.push_back((next + self.one_way, feedback));
                }
            }
            while let Some(datagram) = self.sender.poll_transmit(next) {
                if !loses(next, false) {
                    self.data.push_back((next + self.one_way, datagram));
                }
            }
        }
    }

    /// The next packet to arrive is marked.
    pub fn mark_next(&mut self) {
        self.marks = true;
    }

    /// Packets per second that are sent in the next `seconds`.
    pub fn rate_over(&mut self, seconds: f64, loses: impl FnMut(Time, bool) -> bool) -> f64 {
        let before = self.sender.statistics().sent;
        self.run(self.now + Span::from_seconds(seconds), loses);
        (self.sender.statistics().sent - before) as f64 / seconds
    }
}
