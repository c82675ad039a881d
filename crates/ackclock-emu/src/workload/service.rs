//! Service of a host's program that runs a workload: it is prepared, begun, polled and ended. The
//! flows run in a thread of their own, so that the host can answer meanwhile.

use super::plan::{Plan, Refused};
use super::readings::Readings;
use super::receiving::Receiving;
use super::report::{ReceivingReport, SendingReport};
use super::sending::Sending;
use ackclock_spec::files::Files;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Role of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The sending host.
    Senders,
    /// The receiving host.
    Receivers,
}

/// Request of a supervisor to a host's workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadRequest {
    /// Creates and configures all sockets. Answered by `Prepared` or `Refused`. Drops anything
    /// prepared before.
    Prepare(Role, Plan),
    /// Begins the run at this time of CLOCK_MONOTONIC, in nanoseconds. Answered by `Begun`.
    Begin(u64),
    /// Asks for readings. Answered by `Running`, or once by `Done`.
    Poll,
    /// Ends the run soon. Answered by `Ending`; the report comes with `Poll`.
    End,
}

/// Answer of a host's workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadAnswer {
    /// All sockets are ready.
    Prepared,
    /// The plan is impossible here.
    Refused(Refused),
    /// It waits for the beginning, or has begun.
    Begun,
    /// It runs; readings since the last time.
    Running(Readings),
    /// It is over; the last readings, and the report.
    Done(Readings, WorkloadReport),
    /// It will end.
    Ending,
}

/// Report of a host's part of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadReport {
    /// Report of the sending host.
    Sending(SendingReport),
    /// Report of the receiving host.
    Receiving(ReceivingReport),
}

/// Runs a workload on request.
#[derive(Debug, Default)]
pub struct WorkloadService {
    prepared: Option<Prepared>,
    running: Option<Running>,
}

#[derive(Debug)]
enum Prepared {
    Sending(Sending),
    Receiving(Receiving),
}

#[derive(Debug)]
struct Running {
    thread: JoinHandle<io::Result<WorkloadReport>>,
    /// Closed to end the run.
    stop: Option<PipeWriter>,
    samples: Samples,
}

type Samples = Arc<Mutex<Readings>>;

impl WorkloadService {
    /// Answers a request. `files` has the implementations of transports.
    ///
    /// # Errors
    /// An invalid request, a request out of turn, or a failed run: one sentence.
    pub fn answer(&mut self, request: Value, files: &dyn Files) -> Result<Value, String> {
        let request = serde_json::from_value(request)
            .map_err(|error| format!("is not a request: {error}"))?;
        let answer = match request {
            WorkloadRequest::Prepare(role, plan) => self.prepare(role, plan, files)?,
            WorkloadRequest::Begin(begin_ns) => self.begin(begin_ns)?,
            WorkloadRequest::Poll => self.poll()?,
            WorkloadRequest::End => {
                self.running()?.stop = None;
                WorkloadAnswer::Ending
            }
        };
        serde_json::to_value(answer).map_err(|error| error.to_string())
    }

    fn prepare(
        &mut self,
        role: Role,
        plan: Plan,
        files: &dyn Files,
    ) -> Result<WorkloadAnswer, String> {
        if self.running.is_some() {
            return Err("a workload is running".into());
        }
        self.prepared = None; // its sockets may block the new ones
        let prepared = match role {
            Role::Senders => Sending::prepare(plan, files).map(Prepared::Sending),
            Role::Receivers => Receiving::prepare(plan, files).map(Prepared::Receiving),
        };
        Ok(match prepared {
            Ok(prepared) => {
                self.prepared = Some(prepared);
                WorkloadAnswer::Prepared
            }
            Err(refused) => WorkloadAnswer::Refused(refused),
        })
    }

    fn begin(&mut self, begin_ns: u64) -> Result<WorkloadAnswer, String> {
        let prepared = self.prepared.take().ok_or("nothing is prepared")?;
        let failed = |error: io::Error| format!("the workload cannot start: {error}");
        let (until, stop) = io::pipe().map_err(failed)?;
        let samples = Samples::default();
        let taken = Arc::clone(&samples);
        let thread = std::thread::Builder::new()
            .name("ackclock-workload".into())
            .spawn(move || prepared.run(begin_ns, &until, &taken))
            .map_err(failed)?;
        self.running = Some(Running {
            thread,
            stop: Some(stop),
            samples,
        });
        Ok(WorkloadAnswer::Begun)
    }

    fn poll(&mut self) -> Result<WorkloadAnswer, String> {
        let take = |samples: &Samples| {
            std::mem::take(&mut *samples.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let running = self.running()?;
        if !running.thread.is_finished() {
            return Ok(WorkloadAnswer::Running(take(&running.samples)));
        }
        let Some(Running {
            thread, samples, ..
        }) = self.running.take()
        else {
            return Err("nothing runs".into());
        };
        let report = thread
            .join()
            .map_err(|_| "the workload has panicked")?
            .map_err(|error| format!("the workload has failed: {error}"))?;
        Ok(WorkloadAnswer::Done(take(&samples), report))
    }

    fn running(&mut self) -> Result<&mut Running, String> {
        self.running.as_mut().ok_or_else(|| "nothing runs".into())
    }
}

impl Prepared {
    fn run(
        self,
        begin_ns: u64,
        until: &PipeReader,
        samples: &Samples,
    ) -> io::Result<WorkloadReport> {
        let stop = Some(until.as_fd());
        let mut take = |block: Readings| {
            samples
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(block);
            Ok(())
        };
        match self {
            Prepared::Sending(mut sending) => {
                sending.begin_at(begin_ns);
                sending.run(stop, &mut take).map(WorkloadReport::Sending)
            }
            Prepared::Receiving(mut receiving) => {
                receiving.begin_at(begin_ns);
                receiving
                    .run(stop, &mut take)
                    .map(WorkloadReport::Receiving)
            }
        }
    }
}
