//! Execution of a plan: each host works in a thread of its own, and so does the loop that carries
//! their packets through the hops. The calling thread watches.

use super::Failure;
use super::host_pair::{Pair, Worker};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::machine_load::{Softirqs, pressure};
use crate::real_time::{Outputs, RealTime, Report};
use crate::schedule::{Wakefulness, become_real_time};
use crate::wait::{Stop, wait};
use crate::workload::{
    Plan, Readings, ReceivingReport, SendingReport, WorkloadReport, monotonic_ns,
};
use ackclock_spec::units::{Span, Time};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Time from both hosts being ready to the beginning of the run: they have to be told, and the loop
/// has to start.
const LEAD_NS: u64 = 50_000_000;
/// Interval between queries of the hosts and progress reports.
const WATCH: Span = Span::from_millis(100);
/// Interval between queries of the hosts when they are about to end.
const ENDING_WATCH: Span = Span::from_millis(5);
/// Longest time that hosts may take to end once they are told.
const ENDING_NS: u64 = 10_000_000_000;

/// Takes the results of a run while it lasts, and may end it.
pub(super) trait Supervisor {
    /// Takes readings of flows as they come.
    ///
    /// # Errors
    /// They cannot be taken; the run ends.
    fn take_readings(&mut self, readings: Readings) -> io::Result<()>;
    /// Takes the progress of the run and the bytes delivered to the receivers. Returns `false` to
    /// end the run.
    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool;
}

/// The outcome of a plan.
#[derive(Debug)]
pub(super) struct Driven {
    /// Beginning of the run, a time of CLOCK_MONOTONIC in nanoseconds.
    pub(super) begin_ns: u64,
    pub(super) report: Report,
    pub(super) sending: SendingReport,
    pub(super) receiving: ReceivingReport,
    /// Packets lost by the devices during the run.
    pub(super) lost: u64,
    /// Time for which the kernel's softirq threads waited for a processor during the run, if known.
    pub(super) softirqs_waited: Option<Span>,
    /// Time for which some process on this machine waited for a processor, if known.
    pub(super) pressure: Option<Span>,
    /// The reason why the loop has no real-time priority; `None` if it has.
    pub(super) ordinary: Option<String>,
    /// The reason why processors may have entered idle states; `None` if they may not.
    pub(super) drowsy: Option<String>,
}

/// Carries out `plan` between the hosts of `pair`, with their packets passing through `driver`,
/// until the plan's end or until `supervisor` ends it.
pub(super) fn drive(
    pair: &mut Pair,
    mut plan: Plan,
    driver: Driver,
    outputs: Outputs,
    supervisor: &mut dyn Supervisor,
) -> Result<Driven, Failure> {
    // The receiving host first: it must listen before the other one sends.
    pair.receivers.prepare(&plan)?;
    pair.senders.prepare(&plan)?;
    let lost_before = pair.lost()?;
    let softirqs = Softirqs::find();
    plan.begin_ns = monotonic_ns() + LEAD_NS;
    pair.receivers.begin(plan.begin_ns)?;
    pair.senders.begin(plan.begin_ns)?;

    let delivered = Arc::clone(&outputs.delivered);
    let [first, second] = &mut pair.devices;
    let real_time = RealTime::new(driver, (first, second), outputs)?;
    let clock = Clock::since(Span::from_nanos(plan.begin_ns));
    let end = Time::from_nanos(plan.duration_ns);
    let wakefulness = Wakefulness::request();
    let (stop, over) = (Stop::new()?, Stop::new()?);
    let mut work = Work {
        senders: (&mut pair.senders, None),
        receivers: (&mut pair.receivers, None),
    };
    let before = (softirqs.waited(), pressure());
    let (watched, looped) = std::thread::scope(|scope| -> io::Result<_> {
        let running = std::thread::Builder::new()
            .name("ackclock-loop".into())
            .spawn_scoped(scope, || {
                let _given_at_end = GiveAtEnd(&over);
                let ordinary = become_real_time().err().map(|error| error.to_string());
                real_time
                    .run(&clock, end, &stop)
                    .map(|report| (report, ordinary))
            })?;
        let progress = || (clock.now().min(end), delivered.load(Ordering::Relaxed));
        let watched = work.watch(&over, supervisor, progress);
        stop.give();
        Ok((watched, running.join()))
    })?;
    let since = |after: Option<Span>, before: Option<Span>| Some(after? - before?);
    let softirqs_waited = since(softirqs.waited(), before.0);
    let pressure = since(pressure(), before.1);
    watched?;
    let (report, ordinary) =
        looped.map_err(|_| Failure::Broken("the emulator has panicked".into()))??;
    let (sending, receiving) = work.finish(supervisor)?;
    Ok(Driven {
        begin_ns: plan.begin_ns,
        report,
        sending,
        receiving,
        lost: pair.lost()? - lost_before,
        softirqs_waited,
        pressure,
        ordinary,
        drowsy: wakefulness.err().map(|error| error.to_string()),
    })
}

/// Signals that a thread has ended, even by a panic.
struct GiveAtEnd<'a>(&'a Stop);

impl Drop for GiveAtEnd<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The two hosts at work, with their reports once they are done.
struct Work<'a> {
    senders: (&'a mut Worker, Option<WorkloadReport>),
    receivers: (&'a mut Worker, Option<WorkloadReport>),
}

impl Work<'_> {
    /// Watches until the loop is `over` or the supervisor ends the run.
    fn watch(
        &mut self,
        over: &Stop,
        supervisor: &mut dyn Supervisor,
        progress: impl Fn() -> (Time, u64),
    ) -> Result<(), Failure> {
        while !over.is_given() {
            wait([over.as_fd()], WATCH)?;
            self.poll(supervisor)?;
            let (elapsed, delivered_bytes) = progress();
            if !supervisor.proceed(elapsed, delivered_bytes) {
                break;
            }
        }
        Ok(())
    }

    /// Takes the hosts' readings, and their reports if they are done.
    fn poll(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), Failure> {
        for (worker, report) in [&mut self.senders, &mut self.receivers] {
            if report.is_none() {
                let (readings, done) = worker.poll()?;
                *report = done;
                supervisor.take_readings(readings)?;
            }
        }
        Ok(())
    }

    /// Ends both hosts; nothing carries their packets any more.
    fn finish(
        mut self,
        supervisor: &mut dyn Supervisor,
    ) -> Result<(SendingReport, ReceivingReport), Failure> {
        for (worker, report) in [&mut self.senders, &mut self.receivers] {
            if report.is_none() {
                worker.end()?;
            }
        }
        let until = monotonic_ns() + ENDING_NS;
        let never = Stop::new()?;
        loop {
            self.poll(supervisor)?;
            match (self.senders.1.take(), self.receivers.1.take()) {
                (
                    Some(WorkloadReport::Sending(sending)),
                    Some(WorkloadReport::Receiving(receiving)),
                ) => {
                    return Ok((sending, receiving));
                }
                (sending, receiving) => (self.senders.1, self.receivers.1) = (sending, receiving),
            }
            if monotonic_ns() > until {
                return Err(Failure::Broken("a host does not finish".into()));
            }
            wait([never.as_fd()], ENDING_WATCH)?;
        }
    }
}
