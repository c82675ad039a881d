//! A plan carried out: both hosts do their part while the loop carries their packets through the
//! hops, each on a thread of its own, and this one watches.

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
use ackclock_core::units::{Span, Time};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// From the moment when both hosts are ready to the beginning: they have to be told, and the loop
/// has to run.
const LEAD_NS: u64 = 50_000_000;
/// How often the hosts are asked and progress is told.
const WATCH: Span = Span::from_millis(100);
/// How often they are asked when they are about to end.
const ENDING_WATCH: Span = Span::from_millis(5);
/// For how long hosts may take to end once they are told.
const ENDING_NS: u64 = 10_000_000_000;

/// Who takes what a run gives while it lasts, and may end it.
pub(super) trait Supervisor {
    /// What flows say of themselves, as it comes.
    ///
    /// # Errors
    /// Whoever takes them cannot; the run ends.
    fn take_readings(&mut self, readings: Readings) -> io::Result<()>;
    /// How far the run is, and how many bytes the receivers were given; `false` ends it.
    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool;
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Driven {
    pub(super) report: Report,
    pub(super) sending: SendingReport,
    pub(super) receiving: ReceivingReport,
    /// Packets lost by the devices meanwhile.
    pub(super) lost: u64,
    /// How long the kernel's threads for softirqs waited for a processor meanwhile, if that can be
    /// seen.
    pub(super) softirqs_waited: Option<Span>,
    /// How long somebody on this machine waited for one, if the kernel says.
    pub(super) pressure: Option<Span>,
    /// Why the loop has no real-time priority, if it has none.
    pub(super) ordinary: Option<String>,
    /// Why processors may have entered idle states, if they may.
    pub(super) drowsy: Option<String>,
}

/// Carries out `plan` between the hosts of `pair`, its packets through `driver`, until the plan's
/// end or until `supervisor` has seen enough.
pub(super) fn drive(
    pair: &mut Pair,
    mut plan: Plan,
    driver: Driver,
    outputs: Outputs,
    supervisor: &mut dyn Supervisor,
) -> Result<Driven, Failure> {
    // The receiving one first: it has to listen before the other speaks.
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

/// Tells that a thread has ended, however it does.
struct GiveAtEnd<'a>(&'a Stop);

impl Drop for GiveAtEnd<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The two hosts at work, and their reports once they are done.
struct Work<'a> {
    senders: (&'a mut Worker, Option<WorkloadReport>),
    receivers: (&'a mut Worker, Option<WorkloadReport>),
}

impl Work<'_> {
    /// Watches until the loop is `over`, or enough has been seen.
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

    /// Takes what the hosts have read, and their reports if they are done.
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

    /// Lets both end: nothing carries their packets any more.
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
