//! A UDP flow under rate control at its receiver: a session of ackclock's transport, which the
//! receiver opens.

use super::Counting;
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Plan, Refused, Session};
use crate::workload::report::{Ending, ReceivedDatagrams, ReceivedFlow};
use crate::workload::settings::{overflowed, socket_refused};
use ackclock_core::packet::Ecn;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Time};
use ackclock_transport::driver::Port;
use ackclock_transport::keys::SharedKey;
use ackclock_transport::session::{Receiver, ReceiverSettings};
use rustix::event::epoll::EventFlags;
use std::io;
use std::net::SocketAddr;

#[derive(Debug)]
pub(super) struct SessionSink {
    port: Port,
    receiver: Receiver,
    payload: Vec<u8>,
    counting: Counting,
}

impl SessionSink {
    /// Creates a receiver with a bound socket. It asks for the data when the flow starts.
    pub(super) fn prepare(
        plan: &Plan,
        flow: &FlowPlan,
        session: &Session,
        counting: Counting,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            let attempt = format!("cannot receive at {}", flow.receiver);
            socket_refused(flow.number, &attempt, &error)
        };
        let port = Port::bind(SocketAddr::V4(flow.receiver), None).map_err(refused)?;
        let start = Time::from_nanos(flow.start_ns);
        let settings = ReceiverSettings {
            key: SharedKey::public(),
            sender: SocketAddr::V4(flow.sender),
            control: session.control(flow)?,
            payload: session.parameters.mss,
            most: Some(BitRate::from_bit_per_s(u64::MAX)),
            wait: plan.deadline().since(start),
        };
        let secret = session.secret(flow, &Streams::new(plan.seed, plan.replicate), "receiver");
        let client = *secret.first_chunk().expect("32 bytes are more than 16");
        Ok(SessionSink {
            port,
            receiver: Receiver::new(start, settings, client),
            payload: Vec::new(),
            counting,
        })
    }

    pub(super) fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        waiting.add(&self.port, index, EventFlags::IN)
    }
    pub(super) const fn has_ended(&self) -> bool {
        self.receiver.ending().is_some()
    }
    /// Returns the time of the session's next timeout.
    pub(super) fn poll_timeout(&self) -> Time {
        self.receiver.poll_timeout()
    }

    pub(super) fn into_report(self, ending: Ending) -> ReceivedFlow {
        let arrived = self.receiver.report().arrived;
        let overflowed = overflowed(&self.port).ok();
        // Without a capture nothing can fail here.
        let (refused, refusal) = self.port.finish().unwrap_or_default();
        let mut report = self.counting.report;
        report.datagrams = Some(ReceivedDatagrams {
            unique: arrived.packets,
            duplicate: self.receiver.ignored().replayed,
            overflowed,
            refused,
            refusal: refusal.map(|error| error.to_string()),
            ..ReceivedDatagrams::default()
        });
        if report.connected_ns.is_some() {
            report.ending = self.receiver.ending().map_or(ending, Ending::from);
        }
        report
    }

    /// Sends everything that is due.
    pub(super) fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        let receiver = &mut self.receiver;
        self.port
            .send_all(now, false, |output| receiver.poll_transmit(now, output))
    }

    /// Handles the datagrams that have arrived, and answers each at its own time.
    pub(super) fn handle_ready(&mut self, waiting: &Waiting) -> io::Result<()> {
        let (receiver, payload, counting) =
            (&mut self.receiver, &mut self.payload, &mut self.counting);
        self.port.receive(
            || waiting.now(),
            |port, _from, ecn, datagram| {
                let now = waiting.now();
                receiver.handle_datagram(now, datagram, ecn == Ecn::Marked, payload);
                if !payload.is_empty() {
                    counting.add(now, payload.len() as u64);
                    payload.clear();
                }
                port.gather(now, false, |output| receiver.poll_transmit(now, output))
            },
        )?;
        self.counting.report.connected_ns = self.receiver.report().begun.map(Time::as_nanos);
        self.handle_timeout(waiting.now())
    }
}
