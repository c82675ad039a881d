//! A flow of a transport that others wrote, at its receiver.

use super::Counting;
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Plan, Refused};
use crate::workload::readings::DeliveredReading;
use crate::workload::report::{Ending, ReceivedDatagrams, ReceivedFlow};
use crate::workload::stack::SocketSide;
use ackclock_spec::files::Files;
use ackclock_spec::units::Time;
use serde_json::Value;
use std::io;

/// The side that accepts the connection and reads.
#[derive(Debug)]
pub(super) struct StackSink {
    side: SocketSide,
    counting: Counting,
    arrived: u64,
}

impl StackSink {
    /// Creates the side with a bound socket.
    pub(super) fn prepare(
        plan: &Plan,
        flow: &FlowPlan,
        (transport, files): (&Value, &dyn Files),
        counting: Counting,
    ) -> Result<Self, Refused> {
        let [_, receiver] = plan.sides(flow, transport, files)?;
        Ok(StackSink {
            side: SocketSide::prepare(flow, receiver, (flow.receiver, flow.sender))?,
            counting,
            arrived: 0,
        })
    }

    pub(super) fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        self.side.watch(index, waiting)
    }
    /// Returns the time of the side's next timeout.
    pub(super) fn poll_timeout(&self) -> Time {
        self.side.endpoint().poll_timeout()
    }

    /// Returns what has been delivered, once there is a connection.
    pub(super) fn read(&self, now: Time) -> Option<DeliveredReading> {
        let report = &self.counting.report;
        report.connected_ns.map(|_| DeliveredReading {
            time_ns: now.as_nanos(),
            flow: report.number,
            bytes: report.received_bytes,
        })
    }

    pub(super) fn into_report(self, ending: Ending) -> ReceivedFlow {
        let not_carried = self.side.not_carried();
        let mut report = self.counting.report;
        if report.connected_ns.is_some() {
            let fault = self.side.endpoint().fault();
            report.ending = fault.map_or(ending, Ending::Failed);
        }
        report.datagrams = Some(ReceivedDatagrams {
            unique: self.arrived,
            overflowed: not_carried.overflowed,
            refused: not_carried.refused,
            refusal: not_carried.refusal,
            ..ReceivedDatagrams::default()
        });
        report
    }

    /// Sends everything that is due.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.side.handle_timeout(now);
        self.count(now);
    }

    /// Handles the datagrams that have arrived.
    pub(super) fn handle_ready(&mut self, waiting: &Waiting) -> io::Result<()> {
        let now = waiting.now();
        self.arrived += self.side.receive(now)?;
        if self.arrived > 0 {
            self.counting
                .report
                .connected_ns
                .get_or_insert(now.as_nanos());
        }
        self.count(now);
        Ok(())
    }

    /// Counts what has been delivered since the last call.
    fn count(&mut self, now: Time) {
        let delivered = self.side.endpoint().delivered().0;
        let new = delivered.saturating_sub(self.counting.report.received_bytes);
        if new > 0 {
            self.counting.add(now, new);
        }
    }
}
