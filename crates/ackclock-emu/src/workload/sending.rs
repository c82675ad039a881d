//! The sending host: opens connections, writes to them and stops them, sends datagrams, and serves
//! sessions.

mod connection;
mod samples;
mod session;
mod source;
mod stack;

use super::SampleSink;
use super::counters::Counters;
use super::due::Due;
use super::event_loop::{Ready, Waiting};
use super::plan::{Plan, Refused, TransportPlan};
use super::report::{Ending, SendingReport, SentFlow};
use super::settings::{allow_descriptors, check_controls};
use ackclock_spec::files::Files;
use ackclock_spec::units::Time;
use connection::Connection;
use samples::{Sampler, Samples};
use session::SessionSource;
use source::DatagramSource;
use stack::StackSource;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

/// Data of connections; its length is the most written at once.
static ZEROS: [u8; 256 * 1024] = [0; 256 * 1024];

/// The flows of a run at the sending host, with all sockets created and configured, but nothing
/// sent.
#[derive(Debug)]
pub struct Sending {
    plan: Plan,
    flows: Vec<Flow>,
}

#[derive(Debug)]
enum Flow {
    Tcp(Box<Connection>),
    Udp(Box<DatagramSource>),
    Controlled(Box<SessionSource>),
    Stack(Box<StackSource>),
}

/// Context of a flow's actions.
struct Context<'a, 'b> {
    now: Time,
    waiting: &'a Waiting,
    samples: &'a mut Samples<'b>,
}

impl Flow {
    /// Watches for events that may come before the flow has started.
    fn watch(&self, waiting: &Waiting) -> io::Result<()> {
        match self {
            Flow::Controlled(session) => session.watch(waiting),
            Flow::Stack(stack) => stack.watch(waiting),
            Flow::Tcp(_) | Flow::Udp(_) => Ok(()),
        }
    }
    /// Returns the time of the next [`Flow::handle_timeout`].
    fn poll_timeout(&self) -> Time {
        match self {
            Flow::Tcp(connection) => connection.poll_timeout(),
            Flow::Udp(source) => source.poll_timeout(),
            Flow::Controlled(session) => session.poll_timeout(),
            Flow::Stack(stack) => stack.poll_timeout(),
        }
    }
    /// Starts, writes and stops as due.
    fn handle_timeout(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        match self {
            Flow::Tcp(connection) => connection.handle_timeout(context),
            Flow::Udp(source) => {
                source.handle_timeout(context.now, context.waiting);
                Ok(())
            }
            Flow::Controlled(session) => session.handle_timeout(context),
            Flow::Stack(stack) => stack.handle_timeout(context),
        }
    }
    /// Handles a ready socket.
    fn handle_ready(&mut self, ready: Ready, context: &mut Context<'_, '_>) -> io::Result<()> {
        match self {
            Flow::Tcp(connection) => connection.handle_ready(ready.1, context),
            Flow::Udp(_) => Ok(()),
            Flow::Controlled(session) => session.handle_ready(context),
            Flow::Stack(stack) => stack.handle_ready(context),
        }
    }
    /// Ends the flow; unsent data is dropped.
    fn end(&mut self, ending: Ending, context: &mut Context<'_, '_>) -> io::Result<()> {
        match self {
            Flow::Tcp(connection) => connection.end(ending, context),
            Flow::Udp(source) => {
                source.end(ending, context.now);
                Ok(())
            }
            Flow::Controlled(session) => session.end(ending, context),
            Flow::Stack(stack) => stack.end(ending, context),
        }
    }
    fn has_ended(&self) -> bool {
        match self {
            Flow::Tcp(connection) => connection.has_ended(),
            Flow::Udp(source) => source.has_ended(),
            Flow::Controlled(session) => session.has_ended(),
            Flow::Stack(stack) => stack.has_ended(),
        }
    }
    /// Takes a reading; returns false if there is none to take.
    fn take_reading(&self, now: Time, samples: &mut Samples<'_>) -> io::Result<bool> {
        let taken = match self {
            Flow::Tcp(connection) => {
                let info = connection.read_info();
                info.map(|info| samples.push(now, connection.number(), &info))
            }
            Flow::Controlled(session) => {
                let reading = session.read(now);
                reading.map(|reading| samples.push_rate(now, reading))
            }
            Flow::Stack(stack) => {
                let reading = stack.read(now);
                reading.map(|reading| samples.push_rate(now, reading))
            }
            Flow::Udp(_) => None,
        };
        taken.transpose().map(|taken| taken.is_some())
    }
    fn into_report(self) -> SentFlow {
        match self {
            Flow::Tcp(connection) => connection.into_report(),
            Flow::Udp(source) => source.into_report(),
            Flow::Controlled(session) => session.into_report(),
            Flow::Stack(stack) => stack.into_report(),
        }
    }
}

impl Sending {
    /// Creates and configures all sockets. `files` has the implementations of transports.
    ///
    /// # Errors
    /// A congestion control, address or socket that is not available. Socket settings that the
    /// kernel refuses are not errors; they are in the report.
    pub fn prepare(plan: Plan, files: &dyn Files) -> Result<Self, Refused> {
        allow_descriptors();
        let mut controls = BTreeMap::new();
        for flow in &plan.flows {
            if let TransportPlan::Tcp { control, .. } = &flow.transport {
                controls.entry(control.as_str()).or_insert(flow.number);
            }
        }
        check_controls(&controls)?;
        let mut flows = Vec::with_capacity(plan.flows.len());
        for (index, flow) in (0..).zip(&plan.flows) {
            let schedule = plan.schedule(flow)?;
            flows.push(match &flow.transport {
                TransportPlan::Tcp { control, socket } => Flow::Tcp(Box::new(Connection::prepare(
                    index, flow, control, socket, schedule,
                )?)),
                TransportPlan::Udp { padding_bytes } => {
                    let logged = plan.logged_datagrams;
                    Flow::Udp(Box::new(DatagramSource::prepare(
                        flow,
                        *padding_bytes,
                        schedule,
                        logged,
                    )?))
                }
                TransportPlan::Controlled(session) => Flow::Controlled(Box::new(
                    SessionSource::prepare(index, &plan, flow, session, schedule)?,
                )),
                TransportPlan::Stack { transport } => Flow::Stack(Box::new(StackSource::prepare(
                    index,
                    &plan,
                    flow,
                    (transport, files),
                    schedule,
                )?)),
            });
        }
        Ok(Sending { plan, flows })
    }

    /// Sets the beginning of the run, which a supervisor decides when both hosts are prepared.
    pub fn begin_at(&mut self, begin_ns: u64) {
        self.plan.begin_ns = begin_ns;
    }

    /// Runs until every flow has ended, at the latest until the end of the run, or until `stop` is
    /// readable or its other end is closed. Unsent data is then dropped.
    ///
    /// # Errors
    /// Errors of waiting, and of `take`. Errors of a single flow are in the report.
    pub fn run(
        self,
        stop: Option<BorrowedFd<'_>>,
        take: SampleSink<'_>,
    ) -> io::Result<SendingReport> {
        let Sending { plan, mut flows } = self;
        let mut waiting = Waiting::new(&plan, stop)?;
        let mut samples = Samples::new(take);
        let mut sampler = Sampler::new(plan.sample_interval_ns);
        let mut due = Due::new(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            flow.watch(&waiting)?;
            due.set(index, flow.poll_timeout());
        }
        let mut running = 0; // the first flow that has not ended
        waiting.wait_for_begin()?;
        let mut counters = Counters::start(&plan);
        loop {
            let now = waiting.now();
            counters.handle_timeout(now);
            let mut context = Context {
                now,
                waiting: &waiting,
                samples: &mut samples,
            };
            handle_timeouts(&mut flows, &mut due, &mut context)?;
            if now >= plan.end() || waiting.is_told_to_end() {
                let ending = if now >= plan.end() {
                    Ending::EndOfRun
                } else {
                    Ending::Told
                };
                end_all(&mut flows, &ending, &mut context)?;
            }
            running += flows[running..]
                .iter()
                .take_while(|flow| flow.has_ended())
                .count();
            if running == flows.len() {
                break;
            }
            let next_sample = sampler.poll(now, &flows, &mut samples)?;
            let next_own = next_sample.min(counters.poll_timeout());
            waiting.wait(due.next().min(next_own).min(plan.end()))?;
            if waiting.is_told_to_end() {
                // The receiving host may have been told as well: that it closes is not a failure of
                // a flow.
                continue;
            }
            for ready in waiting.take_ready() {
                let mut context = Context {
                    now: waiting.now(),
                    waiting: &waiting,
                    samples: &mut samples,
                };
                let index = ready.0 as usize;
                flows[index].handle_ready(ready, &mut context)?;
                due.set(index, flows[index].poll_timeout());
            }
        }
        samples.flush()?;
        Ok(SendingReport {
            ended_ns: waiting.now().as_nanos(),
            told_to_end: waiting.is_told_to_end(),
            punctuality: waiting.punctuality(),
            missed_samples: sampler.missed(),
            counters: counters.finish(),
            flows: flows.into_iter().map(Flow::into_report).collect(),
        })
    }
}

/// Lets flows do what is due, in the order of their times.
fn handle_timeouts(
    flows: &mut [Flow],
    due: &mut Due,
    context: &mut Context<'_, '_>,
) -> io::Result<()> {
    // Each flow at most once: one that is far behind must not delay the others.
    for _ in 0..flows.len() {
        let Some(index) = due.pop(context.now) else {
            return Ok(());
        };
        flows[index].handle_timeout(context)?;
        due.set(index, flows[index].poll_timeout());
    }
    Ok(())
}

/// Ends every flow that has not ended; datagrams that are due by now are still sent.
fn end_all(flows: &mut [Flow], ending: &Ending, context: &mut Context<'_, '_>) -> io::Result<()> {
    for flow in flows {
        while matches!(flow, Flow::Udp(_)) && flow.poll_timeout() <= context.now {
            flow.handle_timeout(context)?;
        }
        flow.end(ending.clone(), context)?;
    }
    Ok(())
}
