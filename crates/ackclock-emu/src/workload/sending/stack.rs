//! A flow of a transport that others wrote, at its sender.

use super::Context;
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Plan, Refused};
use crate::workload::readings::{EventReading, RateReading};
use crate::workload::report::{Ending, SentDatagrams, SentFlow, SentSession};
use crate::workload::schedule::Schedule;
use crate::workload::stack::SocketSide;
use ackclock_spec::files::Files;
use ackclock_spec::units::Time;
use serde_json::Value;
use std::io;

/// The side that opens the connection, with the application's data for it.
#[derive(Debug)]
pub(super) struct StackSource {
    /// Number of its socket in the loop.
    index: u64,
    side: SocketSide,
    schedule: Schedule,
    is_closed: bool,
    has_ended: bool,
    report: SentFlow,
}

impl StackSource {
    /// Creates the side with a bound socket.
    pub(super) fn prepare(
        index: u64,
        plan: &Plan,
        flow: &FlowPlan,
        (transport, files): (&Value, &dyn Files),
        schedule: Schedule,
    ) -> Result<Self, Refused> {
        let [sender, _] = plan.sides(flow, transport, files)?;
        Ok(StackSource {
            index,
            side: SocketSide::prepare(flow, sender, (flow.sender, flow.receiver))?,
            schedule,
            is_closed: false,
            has_ended: false,
            report: SentFlow {
                number: flow.number,
                ..SentFlow::default()
            },
        })
    }

    pub(super) fn watch(&self, waiting: &Waiting) -> io::Result<()> {
        self.side.watch(self.index, waiting)
    }
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }
    pub(super) fn into_report(self) -> SentFlow {
        self.report
    }

    /// Returns the time at which it next starts, writes, stops or is woken.
    pub(super) fn poll_timeout(&self) -> Time {
        if self.has_ended {
            return Time::NEVER;
        }
        if self.report.started_ns.is_none() {
            return self.schedule.start();
        }
        let own = self.schedule.poll_timeout().min(self.schedule.stop());
        own.min(self.side.endpoint().poll_timeout())
    }

    /// Returns what the side says of itself, while it runs.
    pub(super) fn read(&self, now: Time) -> Option<RateReading> {
        if self.has_ended || self.report.started_ns.is_none() {
            return None;
        }
        let progress = self.side.endpoint().progress();
        Some(RateReading::of_stack(now, self.report.number, &progress))
    }

    /// Starts, lets the application write, sends, and stops, as due.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        let (now, endpoint) = (context.now, self.side.endpoint_mut());
        if self.report.started_ns.is_none() && self.schedule.start() <= now {
            self.report.started_ns = Some(now.as_nanos());
            endpoint.open(now);
        }
        if self.schedule.stop() <= now {
            let ending = match self.schedule.stops_early() {
                true => Ending::Stopped,
                false => Ending::EndOfRun,
            };
            return self.end(ending, context);
        }
        while let Some((_, write)) = self.schedule.poll_write(now) {
            endpoint.write(now, write);
        }
        if self.schedule.is_complete() && !self.is_closed {
            self.is_closed = true;
            endpoint.close(now);
        }
        self.side.handle_timeout(now);
        self.look(context)
    }

    /// Handles the datagrams that have arrived, and sends what they allow.
    pub(super) fn handle_ready(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        self.side.receive(context.now)?;
        self.look(context)
    }

    /// Takes the events of the side, and ends the flow if it cannot go on.
    fn look(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        if self.has_ended {
            return Ok(());
        }
        let (endpoint, flow) = (self.side.endpoint_mut(), self.report.number);
        for event in endpoint.take_events() {
            let reading = EventReading::of(flow, &event);
            context.samples.push_event(context.now, reading)?;
        }
        match endpoint.fault() {
            Some(reason) => self.end(Ending::Failed(reason), context),
            None => Ok(()),
        }
    }

    /// Takes the last reading and silences the side. Its socket stays, so that the kernel does not
    /// answer what still arrives.
    pub(super) fn end(&mut self, ending: Ending, context: &mut Context<'_, '_>) -> io::Result<()> {
        if self.has_ended {
            return Ok(());
        }
        if let Some(reading) = self.read(context.now) {
            context.samples.push_rate(context.now, reading)?;
            self.report.session = Some(SentSession::of_stack(&self.side.endpoint().progress()));
            self.report.ending = ending;
            self.report.ended_ns = Some(context.now.as_nanos());
        }
        self.has_ended = true;
        self.side.endpoint_mut().stop(context.now);
        let not_carried = self.side.not_carried();
        self.report.datagrams = Some(SentDatagrams {
            sent: self.side.sent(),
            refused: not_carried.refused,
            refusal: not_carried.refusal,
            ..SentDatagrams::default()
        });
        Ok(())
    }
}
