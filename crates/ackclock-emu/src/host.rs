//! A host as seen by its supervisor: a process in namespaces of its own, controlled over a pair of
//! sockets.
//!
//! Nothing in a host has a name outside or outlives its processes: killing any of them, or the
//! supervisor, ends the host. The supervisor starts a program, which enters the namespaces and
//! forks once. The child is the first process of the PID namespace, and when it ends the kernel
//! ends all others in it.

use crate::device::Device;
use crate::program::HostProgram;
use crate::protocol::{
    Channel, Configuration, DeviceChoice, DeviceStatistics, HostFacts, Refusal, ReportEntry,
    Request, Response, Step, connected, readable,
};
use crate::settings::KernelAnswer;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fmt, io};

/// Longest silence of a host before it is given up: longer than any machine takes to start a
/// program.
const PATIENCE: Duration = Duration::from_secs(30);

/// The reason why a host did not carry out a request.
#[derive(Debug)]
pub enum HostError {
    /// This machine does not allow it to start.
    Refused(Refusal),
    /// The request failed; the host goes on.
    Failed(String),
    /// The host has ended, or the connection to it is broken.
    Lost(io::Error),
}

impl fmt::Display for HostError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Refused(refusal) => refusal.fmt(formatter),
            HostError::Failed(reason) => reason.fmt(formatter),
            HostError::Lost(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                formatter.write_str("the host has ended")
            }
            HostError::Lost(error) => {
                write!(formatter, "the connection to the host is broken: {error}")
            }
        }
    }
}

impl std::error::Error for HostError {}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> HostError {
        HostError::Lost(error)
    }
}

/// A running host. Dropping it kills it.
#[derive(Debug)]
pub struct Host {
    channel: Channel,
    process: Process,
    first_process: i32,
    facts: HostFacts,
}

impl Host {
    /// Starts a host and returns it with its device.
    ///
    /// The host ends with the calling *thread* (prctl(2), `PR_SET_PDEATHSIG`), so call this from
    /// one that lives on. The host is in a process group of its own, so that Ctrl-C reaches only
    /// the supervisor. It shares the supervisor's standard error.
    ///
    /// # Errors
    /// [`HostError::Refused`] with the step and the remedy, or an error of the program.
    pub fn start(program: &HostProgram, choice: DeviceChoice) -> Result<(Host, Device), HostError> {
        let (channel, theirs) = connected()?;
        let process = Command::new(&program.program)
            .args(&program.arguments)
            .stdin(theirs)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| program_refused(program, &error))?;
        let process = Process(process);
        channel
            .send(&Request::Start(choice), None)
            .map_err(|error| program_refused(program, &error))?;
        let mut first_process = 0;
        loop {
            let (response, descriptor) =
                channel
                    .receive::<Response>(Some(PATIENCE))
                    .map_err(|error| {
                        if first_process == 0 {
                            program_refused(program, &error)
                        } else {
                            HostError::Lost(error)
                        }
                    })?;
            match (response, descriptor) {
                (Response::Started(id), _) => first_process = id,
                (Response::Ready(facts), Some(descriptor)) => {
                    let device = Device::new(descriptor, facts.device.clone());
                    return Ok((
                        Host {
                            channel,
                            process,
                            first_process,
                            facts,
                        },
                        device,
                    ));
                }
                (response, _) => return Err(unexpected(response)),
            }
        }
    }

    /// Returns facts about the host.
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// Returns the id of the started process, outside the PID namespace.
    pub fn process_id(&self) -> u32 {
        self.process.0.id()
    }

    /// Returns the id of the first process of the PID namespace, as seen from outside.
    pub fn first_process_id(&self) -> i32 {
        self.first_process
    }

    fn ask(&mut self, request: &Request, limit: Option<Duration>) -> Result<Response, HostError> {
        // A host that has ended does not take the request; its last message says more than that
        // error.
        let sent = self.channel.send(request, None);
        let (response, _) = self.channel.receive(limit).map_err(|error| match sent {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => error,
            _ => error,
        })?;
        Ok(response)
    }

    /// Sets kernel settings, MTU, addresses and routes. Returns the kernel's answers to them.
    ///
    /// # Errors
    /// The host has ended. Refusals of the kernel are not errors; they are in the report.
    pub fn configure(
        &mut self,
        configuration: Configuration,
    ) -> Result<Vec<ReportEntry>, HostError> {
        match self.ask(&Request::Configure(configuration), Some(PATIENCE))? {
            Response::Report(entries) => Ok(entries),
            response => Err(unexpected(response)),
        }
    }

    /// Returns the kernel's answers to all requests so far.
    ///
    /// # Errors
    /// The host has ended.
    pub fn report(&mut self) -> Result<Vec<ReportEntry>, HostError> {
        match self.ask(&Request::Report, Some(PATIENCE))? {
            Response::Report(entries) => Ok(entries),
            response => Err(unexpected(response)),
        }
    }

    /// Returns the counters of the host's device, and of the other end if it is a pair.
    ///
    /// # Errors
    /// The host has ended, or its device is gone.
    pub fn statistics(&mut self) -> Result<Vec<DeviceStatistics>, HostError> {
        match self.ask(&Request::Statistics, Some(PATIENCE))? {
            Response::Statistics(statistics) => Ok(statistics),
            response => Err(unexpected(response)),
        }
    }

    /// Tests which of these congestion controls a socket in the host may use, with a socket each.
    ///
    /// # Errors
    /// The host has ended.
    pub fn congestion_controls(
        &mut self,
        names: &[String],
    ) -> Result<Vec<(String, KernelAnswer)>, HostError> {
        match self.ask(&Request::CongestionControls(names.to_vec()), Some(PATIENCE))? {
            Response::CongestionControls(outcomes) => Ok(outcomes),
            response => Err(unexpected(response)),
        }
    }

    /// Sends a request that the host's program adds to the protocol, and waits for the answer, at
    /// most for `limit`.
    ///
    /// # Errors
    /// The program refuses, or the host has ended.
    pub fn call(&mut self, request: Value, limit: Option<Duration>) -> Result<Value, HostError> {
        match self.ask(&Request::Extension(request), limit)? {
            Response::Extension(answer) => Ok(answer),
            response => Err(unexpected(response)),
        }
    }

    /// Ends the host and waits until its processes have ended.
    ///
    /// # Errors
    /// It had ended before, or did not end by itself and was killed.
    pub fn exit(mut self) -> Result<(), HostError> {
        match self.ask(&Request::Exit, Some(PATIENCE))? {
            Response::Ending => {}
            response => return Err(unexpected(response)),
        }
        let process = Pid::from_child(&self.process.0);
        let process = pidfd_open(process, PidfdFlags::empty()).map_err(io::Error::from)?;
        match readable([process.as_fd()], Some(PATIENCE))? {
            [true] => Ok(()), // and reaped when dropped
            [false] => Err(HostError::Lost(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Becomes readable when the host has ended for any reason: a host never sends unasked.
impl AsFd for Host {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// A program that was started. Dropping it kills it with its PID namespace, and reaps it.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn unexpected(response: Response) -> HostError {
    match response {
        Response::Refused(refusal) => HostError::Refused(refusal),
        Response::Failed(reason) => HostError::Failed(reason),
        other => HostError::Failed(format!("an answer to another question: {other:?}")),
    }
}

fn program_refused(program: &HostProgram, error: &io::Error) -> HostError {
    let reason = if error.kind() == io::ErrorKind::UnexpectedEof {
        "it ended at once".into()
    } else {
        error.to_string()
    };
    HostError::Refused(Refusal {
        step: Step::Program,
        reason: format!(
            "the host's program {} did not start ({reason})",
            program.program.display()
        ),
        error: error.raw_os_error(),
        remedy: "see its output above, if any; reinstall ackclock".into(),
    })
}
