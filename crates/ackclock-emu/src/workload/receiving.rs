//! The receiving host: accepts connections and reads from them, receives datagrams, and opens
//! sessions.

mod session;
mod sink;
mod stack;
mod stream;

use super::SampleSink;
use super::counters::Counters;
use super::due::Due;
use super::event_loop::{Ready, Waiting};
use super::plan::{Plan, Refused, TransportPlan};
use super::readings::{DeliveredReading, Readings};
use super::report::{Ending, ReceivedFlow, ReceivingReport};
use super::settings::allow_descriptors;
use ackclock_spec::files::Files;
use ackclock_spec::units::{Bytes, Span, Time};
use session::SessionSink;
use sink::DatagramSink;
use stack::StackSink;
use std::io;
use std::os::fd::BorrowedFd;
use stream::Stream;

/// Bytes of one read from a connection. With MSG_TRUNC the kernel counts and drops them, and writes
/// nothing into the buffer (tcp(7)).
const READING: usize = 256 * 1024;

/// Longest time for which a host reads data that has already arrived when the run is over. It ends
/// earlier when there is no more. The limit is for a host to which packets still come. It is longer
/// than a busy machine delays a process, and shorter than a supervisor waits for the end.
const LAST_READINGS: Span = Span::from_millis(5000);

/// The flows of a run at the receiving host, with all sockets created and listening.
#[derive(Debug)]
pub struct Receiving {
    plan: Plan,
    flows: Vec<Flow>,
}

#[derive(Debug)]
enum Flow {
    Tcp(Box<Stream>),
    Udp(Box<DatagramSink>),
    Controlled(Box<SessionSink>),
    Stack(Box<StackSink>),
}

impl Flow {
    fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        match self {
            Flow::Tcp(stream) => stream.watch(index, waiting),
            Flow::Udp(sink) => sink.watch(index, waiting),
            Flow::Controlled(session) => session.watch(index, waiting),
            Flow::Stack(stack) => stack.watch(index, waiting),
        }
    }
    /// Returns the time of the next [`Flow::handle_timeout`].
    fn poll_timeout(&self) -> Time {
        match self {
            Flow::Tcp(stream) => stream.poll_timeout(),
            Flow::Udp(_) => Time::NEVER,
            Flow::Controlled(session) => session.poll_timeout(),
            Flow::Stack(stack) => stack.poll_timeout(),
        }
    }
    /// Reads or sends everything that is due.
    fn handle_timeout(
        &mut self,
        index: u64,
        waiting: &Waiting,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        match self {
            Flow::Tcp(stream) => stream.handle_timeout(index, waiting, buffer),
            Flow::Udp(_) => Ok(()),
            Flow::Controlled(session) => session.handle_timeout(waiting.now()),
            Flow::Stack(stack) => {
                stack.handle_timeout(waiting.now());
                Ok(())
            }
        }
    }
    fn handle_ready(
        &mut self,
        ready: Ready,
        waiting: &Waiting,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        match self {
            Flow::Tcp(stream) => stream.handle_ready(ready.0, waiting, buffer),
            Flow::Udp(sink) => sink.handle_ready(waiting),
            Flow::Controlled(session) => session.handle_ready(waiting),
            Flow::Stack(stack) => stack.handle_ready(waiting),
        }
    }
    fn has_ended(&self) -> bool {
        match self {
            Flow::Tcp(stream) => stream.has_ended(),
            // Another datagram may always come.
            Flow::Udp(_) | Flow::Stack(_) => false,
            Flow::Controlled(session) => session.has_ended(),
        }
    }
    fn into_report(self, ending: Ending) -> ReceivedFlow {
        match self {
            Flow::Tcp(stream) => stream.into_report(ending),
            Flow::Udp(sink) => sink.into_report(ending),
            Flow::Controlled(session) => session.into_report(ending),
            Flow::Stack(stack) => stack.into_report(ending),
        }
    }
}

/// Counter of payload that arrives.
#[derive(Debug)]
struct Counting {
    warmup: Time,
    end: Time,
    /// Total length of the data, if it ends.
    total: Option<Bytes>,
    report: ReceivedFlow,
}

impl Counting {
    fn add(&mut self, now: Time, bytes: u64) {
        let report = &mut self.report;
        report.received_bytes += bytes;
        if now <= self.warmup {
            report.received_by_warmup_bytes = report.received_bytes;
        }
        if now <= self.end {
            report.received_by_end_bytes = report.received_bytes;
            if self
                .total
                .is_some_and(|total| report.received_bytes >= total.0)
            {
                report.completed_ns.get_or_insert(now.as_nanos());
            }
        }
        report.first_ns.get_or_insert(now.as_nanos());
        report.last_ns = Some(now.as_nanos());
    }
}

impl Receiving {
    /// Creates and configures all sockets, and makes them listen. `files` has the implementations
    /// of transports.
    ///
    /// # Errors
    /// An address or socket that is not available. Socket settings that the kernel refuses are not
    /// errors; they are in the report.
    pub fn prepare(plan: Plan, files: &dyn Files) -> Result<Self, Refused> {
        allow_descriptors();
        let mut flows = Vec::with_capacity(plan.flows.len());
        for flow in &plan.flows {
            let counting = Counting {
                warmup: Time::from_nanos(plan.warmup_ns),
                end: plan.end(),
                total: plan.schedule(flow)?.total(),
                report: ReceivedFlow {
                    number: flow.number,
                    ..ReceivedFlow::default()
                },
            };
            flows.push(match &flow.transport {
                TransportPlan::Tcp { socket, .. } => {
                    Flow::Tcp(Box::new(Stream::prepare(flow, socket, counting)?))
                }
                TransportPlan::Udp { padding_bytes } => {
                    let logged = plan.logged_datagrams;
                    Flow::Udp(Box::new(DatagramSink::prepare(
                        flow,
                        *padding_bytes,
                        counting,
                        logged,
                    )?))
                }
                TransportPlan::Controlled(session) => Flow::Controlled(Box::new(
                    SessionSink::prepare(&plan, flow, session, counting)?,
                )),
                TransportPlan::Stack { transport } => Flow::Stack(Box::new(StackSink::prepare(
                    &plan,
                    flow,
                    (transport, files),
                    counting,
                )?)),
            });
        }
        Ok(Receiving { plan, flows })
    }

    /// Sets the beginning of the run, which a supervisor decides when both hosts are prepared.
    pub fn begin_at(&mut self, begin_ns: u64) {
        self.plan.begin_ns = begin_ns;
    }

    /// Runs until every connection has ended, until the deadline (the end of the run and the
    /// draining after it), or until `stop` is readable or its other end is closed. Data that has
    /// arrived by then still counts. Nobody can know which datagram was the last, so with UDP flows
    /// it runs until the deadline or until told. `take` gets what stacks have delivered meanwhile.
    ///
    /// # Errors
    /// Errors of waiting, and of `take`. Errors of a single flow are in the report.
    pub fn run(
        self,
        stop: Option<BorrowedFd<'_>>,
        take: SampleSink<'_>,
    ) -> io::Result<ReceivingReport> {
        let Receiving { plan, mut flows } = self;
        let mut waiting = Waiting::new(&plan, stop)?;
        let mut due = Due::new(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            flow.watch(index as u64, &waiting)?;
            due.set(index, flow.poll_timeout());
        }
        let deadline = plan.deadline();
        let mut buffer = vec![0; READING];
        waiting.wait_for_begin()?;
        let mut counters = Counters::start(&plan);
        let mut deliveries = Deliveries::of(&plan, &flows);
        let mut running = 0; // the first flow that has not ended
        loop {
            counters.handle_timeout(waiting.now());
            deliveries.handle_timeout(waiting.now(), &flows, take)?;
            for _ in 0..flows.len() {
                let Some(index) = due.pop(waiting.now()) else {
                    break;
                };
                flows[index].handle_timeout(index as u64, &waiting, &mut buffer)?;
                due.set(index, flows[index].poll_timeout());
            }
            running += flows[running..]
                .iter()
                .take_while(|flow| flow.has_ended())
                .count();
            if running == flows.len() || waiting.is_told_to_end() || waiting.now() >= deadline {
                break;
            }
            let next_own = counters.poll_timeout().min(deliveries.due);
            waiting.wait(deadline.min(due.next()).min(next_own))?;
            for ready in waiting.take_ready() {
                let index = ready.0 as usize;
                flows[index].handle_ready(ready, &waiting, &mut buffer)?;
                due.set(index, flows[index].poll_timeout());
            }
        }
        // Data that has arrived counts, although this thread may have had no processor since long
        // before the deadline.
        let last = waiting.now() + LAST_READINGS;
        while waiting.now() < last {
            waiting.wait(Time::ZERO)?;
            let all_ready = waiting.take_ready();
            if all_ready.is_empty() {
                break;
            }
            for ready in all_ready {
                flows[ready.0 as usize].handle_ready(ready, &waiting, &mut buffer)?;
            }
        }
        deliveries.read(waiting.now(), &flows, take)?;
        let ending = if waiting.is_told_to_end() {
            Ending::Told
        } else {
            Ending::EndOfRun
        };
        Ok(ReceivingReport {
            ended_ns: waiting.now().as_nanos(),
            told_to_end: waiting.is_told_to_end(),
            punctuality: waiting.punctuality(),
            counters: counters.finish(),
            flows: flows
                .into_iter()
                .map(|flow| flow.into_report(ending.clone()))
                .collect(),
        })
    }
}

/// Periodic readings of what stacks have delivered.
#[derive(Debug)]
struct Deliveries {
    interval: Span,
    due: Time,
}

impl Deliveries {
    /// Reads at the plan's interval, if there are such flows.
    fn of(plan: &Plan, flows: &[Flow]) -> Self {
        let reads =
            plan.sample_interval_ns > 0 && flows.iter().any(|flow| matches!(flow, Flow::Stack(_)));
        Deliveries {
            interval: Span::from_nanos(plan.sample_interval_ns),
            due: if reads { Time::ZERO } else { Time::NEVER },
        }
    }

    fn handle_timeout(
        &mut self,
        now: Time,
        flows: &[Flow],
        take: SampleSink<'_>,
    ) -> io::Result<()> {
        if self.due > now {
            return Ok(());
        }
        let behind = now.since(self.due).as_nanos() / self.interval.as_nanos();
        self.due = self.due + self.interval * (behind + 1);
        self.read(now, flows, take)
    }

    fn read(&self, now: Time, flows: &[Flow], take: SampleSink<'_>) -> io::Result<()> {
        let readings = flows.iter().filter_map(|flow| match flow {
            Flow::Stack(stack) => stack.read(now),
            Flow::Tcp(_) | Flow::Udp(_) | Flow::Controlled(_) => None,
        });
        let delivered: Vec<DeliveredReading> = readings.collect();
        if delivered.is_empty() {
            return Ok(());
        }
        take(Readings {
            delivered,
            ..Readings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_counts_for_the_warmup_the_run_and_the_transfer() {
        let counted = |total| {
            let mut counting = Counting {
                warmup: Time::from_nanos(100),
                end: Time::from_nanos(200),
                total: Some(Bytes(total)),
                report: ReceivedFlow::default(),
            };
            for (at, bytes) in [(50, 1), (100, 2), (101, 4), (200, 8), (201, 16), (300, 32)] {
                counting.add(Time::from_nanos(at), bytes);
            }
            counting.report
        };
        let report = counted(15);
        assert_eq!(report.received_by_warmup_bytes, 3);
        assert_eq!(report.received_by_end_bytes, 15);
        assert_eq!(report.received_bytes, 63);
        assert_eq!((report.first_ns, report.last_ns), (Some(50), Some(300)));
        assert_eq!(
            report.completed_ns,
            Some(200),
            "of 15 bytes 7 had come before"
        );
        assert_eq!(
            counted(16).completed_ns,
            None,
            "the last byte came after the end"
        );
    }
}
