//! A UDP flow under rate control at its sender: a session of ackclock's transport, for which the
//! sender waits.

use super::{Context, ZEROS};
use crate::workload::event_loop::Waiting;
use crate::workload::offered::Offered;
use crate::workload::plan::{FlowPlan, Plan, Refused, Session};
use crate::workload::readings::RateReading;
use crate::workload::report::{Ending, SentDatagrams, SentFlow, SentSession};
use crate::workload::schedule::Schedule;
use crate::workload::settings::socket_refused;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Span, Time};
use ackclock_transport::driver::Port;
use ackclock_transport::keys::SharedKey;
use ackclock_transport::session::{Sender, SenderSettings, Source, Written};
use rustix::event::epoll::EventFlags;
use std::io;
use std::net::SocketAddr;

/// Lateness up to which a packet keeps its turn: the default of `ackclock send`.
const CATCH_UP: Span = Span::from_millis(10);

/// A session with the application's data for it.
#[derive(Debug)]
pub(super) struct SessionSource {
    /// Number of its socket in the loop.
    index: u64,
    port: Option<Port>,
    sender: Sender,
    /// True if datagrams are ECN-capable.
    ecn: bool,
    schedule: Schedule,
    offered: Offered,
    is_stopped: bool,
    answer: Vec<u8>,
    report: SentFlow,
}

impl SessionSource {
    /// Creates a sender with a bound socket, which waits for the flow's receiver.
    pub(super) fn prepare(
        index: u64,
        plan: &Plan,
        flow: &FlowPlan,
        session: &Session,
        schedule: Schedule,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            socket_refused(
                flow.number,
                &format!("cannot send from {}", flow.sender),
                &error,
            )
        };
        let port = Port::bind(SocketAddr::V4(flow.sender), None).map_err(refused)?;
        let streams = Streams::new(plan.seed, plan.replicate);
        let settings = SenderSettings {
            // No other hosts are in these namespaces.
            key: SharedKey::public(),
            controls: vec![session.control(flow)?],
            most: Some(BitRate::from_bit_per_s(u64::MAX)),
            datagrams: session.parameters,
            catch_up: CATCH_UP,
            finer_ticks: false,
            streams,
            place: flow.place.clone(),
            anywhere: false,
        };
        let secret = session.secret(flow, &streams, "sender");
        Ok(SessionSource {
            index,
            port: Some(port),
            sender: Sender::new(settings, Source::Written(Written::default()), &secret),
            ecn: session.parameters.ecn,
            schedule,
            offered: Offered::new(flow.mss_bytes),
            is_stopped: false,
            answer: Vec::new(),
            report: SentFlow {
                number: flow.number,
                ..SentFlow::default()
            },
        })
    }

    pub(super) fn watch(&self, waiting: &Waiting) -> io::Result<()> {
        let Some(port) = &self.port else {
            return Ok(());
        };
        waiting.add(port, self.index, EventFlags::IN)
    }
    pub(super) const fn has_ended(&self) -> bool {
        self.port.is_none()
    }
    pub(super) fn into_report(self) -> SentFlow {
        self.report
    }

    /// Returns the time at which the application next starts, writes or stops, or the session has a
    /// timeout.
    pub(super) fn poll_timeout(&self) -> Time {
        if self.port.is_none() {
            return Time::NEVER;
        }
        let own = if self.is_stopped {
            Time::NEVER
        } else if self.report.started_ns.is_none() {
            self.schedule.start()
        } else {
            self.schedule.poll_timeout().min(self.schedule.stop())
        };
        own.min(self.sender.poll_timeout())
    }

    /// Returns the state of the control, while there is a session.
    pub(super) fn read(&self, now: Time) -> Option<RateReading> {
        self.port.as_ref()?;
        let report = self.sender.report()?;
        Some(RateReading::of(now, self.report.number, &report))
    }

    /// Starts, lets the application write, sends, and stops, as due.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        let now = context.now;
        if self.report.started_ns.is_none() && self.schedule.start() <= now {
            self.report.started_ns = Some(now.as_nanos());
        }
        if self.schedule.stop() <= now && !self.is_stopped {
            if !self.schedule.stops_early() {
                return self.end(Ending::EndOfRun, context);
            }
            self.is_stopped = true;
            self.sender.stop(now);
        }
        while let Some((_, write)) = self.schedule.poll_write(now) {
            self.offered.write(write);
        }
        if self.schedule.is_complete() {
            self.offered.close();
        }
        self.transmit(context)
    }

    /// Handles the datagrams that have arrived, and sends what they allow.
    pub(super) fn handle_ready(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        self.transmit(context)?; // due packets leave before the answers count
        let (now, sender, answer) = (context.now, &mut self.sender, &mut self.answer);
        if let Some(port) = &mut self.port {
            port.receive(
                || now,
                |port, from, _ecn, datagram| {
                    sender.handle_datagram(now, from, datagram, answer);
                    if answer.is_empty() {
                        Ok(())
                    } else {
                        port.send(now, from, false, answer)
                    }
                },
            )?;
        }
        self.transmit(context)
    }

    fn transmit(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        self.hand_over(context.now);
        let (now, sender) = (context.now, &mut self.sender);
        let Some(port) = &mut self.port else {
            return Ok(());
        };
        port.send_all(now, self.ecn, |output| sender.poll_transmit(now, output))?;
        if self.report.connected_ns.is_none() {
            self.report.connected_ns = sender.opened().map(Time::as_nanos);
        }
        match sender.ending() {
            Some(ending) => self.end(ending.into(), context),
            None => Ok(()),
        }
    }

    /// Keeps some of the application's data ready in the session, as a socket's buffer would.
    fn hand_over(&mut self, now: Time) {
        if self.is_stopped {
            return;
        }
        while self.offered.ready() > 0 && self.sender.waiting() < ZEROS.len() {
            let bytes = self.offered.ready().min(ZEROS.len() as u64);
            self.sender.write(now, &ZEROS[..bytes as usize]);
            self.offered.take(bytes);
        }
        if self.offered.is_finished() {
            self.sender.close();
        }
    }

    /// Takes the last reading and closes the socket; unsent data is dropped.
    pub(super) fn end(&mut self, ending: Ending, context: &mut Context<'_, '_>) -> io::Result<()> {
        let reading = self.read(context.now);
        let Some(port) = self.port.take() else {
            return Ok(());
        };
        if let Some(reading) = reading {
            context.samples.push_rate(context.now, reading)?;
        }
        let (refused, refusal) = port.finish()?;
        if let Some(report) = self.sender.report() {
            self.report.control = Some(report.control.into());
            self.report.written_bytes = report.statistics.sent_bytes.0;
            self.report.acknowledged_bytes = Some(report.delivered.0);
            self.report.datagrams = Some(SentDatagrams {
                sent: report.statistics.sent,
                refused,
                refusal: refusal.map(|error| error.to_string()),
                ..SentDatagrams::default()
            });
            self.report.session = Some(SentSession::of(&report));
        }
        if self.report.started_ns.is_some() {
            self.report.ending = ending;
            self.report.ended_ns = Some(context.now.as_nanos());
        }
        Ok(())
    }
}
