//! The two hosts of a run, configured with addresses, routes and settings, and the emulator's ends
//! of their devices.

use super::description::Description;
use super::{Failure, Options};
use crate::device::{Device, DeviceKind};
use crate::host::{Host, HostError};
use crate::netlink::Counters;
use crate::protocol::ReportEntry;
use crate::settings::KernelAnswer;
use crate::workload::{
    Plan, Readings, Refused, Role, WorkloadAnswer, WorkloadReport, WorkloadRequest,
};
use serde_json::Value;
use std::time::Duration;

/// Longest time that a host may take to answer: longer than any machine takes to create a few
/// thousand sockets.
const PATIENCE: Duration = Duration::from_secs(30);

/// One host with its role.
#[derive(Debug)]
pub(super) struct Worker {
    role: Role,
    host: Host,
    /// Requested configuration and its outcome.
    pub(super) report: Vec<ReportEntry>,
}

/// Both hosts, and the emulator's ends of their devices.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) senders: Worker,
    pub(super) receivers: Worker,
    /// Devices of the senders and of the receivers.
    pub(super) devices: [Device; 2],
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Failure {
        match error {
            HostError::Refused(refusal) => Failure::Lacking(refusal.to_string()),
            other => Failure::Broken(other.to_string()),
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::Lacking(refused.to_string())
    }
}

impl Worker {
    fn ask(&mut self, request: &WorkloadRequest) -> Result<WorkloadAnswer, Failure> {
        let request =
            serde_json::to_value(request).map_err(|error| Failure::Broken(error.to_string()))?;
        let answer: Value = self.host.call(request, Some(PATIENCE))?;
        serde_json::from_value(answer).map_err(|error| Failure::Broken(error.to_string()))
    }

    /// Creates the sockets of its part of a plan.
    pub(super) fn prepare(&mut self, plan: &Plan) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::Prepare(self.role, plan.clone()))? {
            WorkloadAnswer::Prepared => Ok(()),
            WorkloadAnswer::Refused(refused) => Err(refused.into()),
            other => Err(unexpected(&other)),
        }
    }

    /// Begins at this time of CLOCK_MONOTONIC.
    pub(super) fn begin(&mut self, begin_ns: u64) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::Begin(begin_ns))? {
            WorkloadAnswer::Begun => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns its readings since the last call, and its report if it is done.
    pub(super) fn poll(&mut self) -> Result<(Readings, Option<WorkloadReport>), Failure> {
        match self.ask(&WorkloadRequest::Poll)? {
            WorkloadAnswer::Running(samples) => Ok((samples, None)),
            WorkloadAnswer::Done(samples, report) => Ok((samples, Some(report))),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends its work.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::End)? {
            WorkloadAnswer::Ending => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the packets lost by its interfaces since they were created.
    fn lost(&mut self) -> Result<u64, Failure> {
        let of = |counters: &Counters| {
            counters.send_drops
                + counters.receive_drops
                + counters.send_errors
                + counters.receive_errors
        };
        let interfaces = self.host.statistics()?;
        Ok(interfaces
            .iter()
            .map(|interface| of(&interface.counters))
            .sum())
    }
}

fn unexpected(answer: &WorkloadAnswer) -> Failure {
    Failure::Broken(format!("an answer to another question: {answer:?}"))
}

impl Pair {
    /// Starts two hosts without configuration. They end with the calling thread.
    pub(super) fn start(options: &Options) -> Result<Pair, Failure> {
        let start = |role| -> Result<_, Failure> {
            let (host, device) = Host::start(&options.program, options.device)?;
            let report = Vec::new();
            Ok((Worker { role, host, report }, device))
        };
        let (senders, device) = start(Role::Senders)?;
        let (receivers, other) = start(Role::Receivers)?;
        Ok(Pair {
            senders,
            receivers,
            devices: [device, other],
        })
    }

    /// Sets addresses, routes and settings. Fails if an address or a route is refused; other
    /// refusals are in the reports.
    pub(super) fn configure(&mut self, description: &Description) -> Result<(), Failure> {
        let workers = [
            (&mut self.senders, &description.senders),
            (&mut self.receivers, &description.receivers),
        ];
        for (worker, configuration) in workers {
            worker.host.configure(configuration.clone())?;
            worker.report = worker.host.report()?;
            let missing = worker
                .report
                .iter()
                .find(|entry| is_needed(entry) && !entry.is_as_asked());
            if let Some(ReportEntry {
                name,
                asked,
                outcome,
            }) = missing
            {
                let reason = outcome.reason();
                let text =
                    format!("the kernel refuses {name} = {asked} ({reason}); use another kernel");
                return Err(Failure::Lacking(text));
            }
        }
        Ok(())
    }

    /// Returns the packets lost so far by the devices and by the readers of the devices.
    pub(super) fn lost(&mut self) -> Result<u64, Failure> {
        let mut lost = self.senders.lost()? + self.receivers.lost()?;
        for device in &mut self.devices {
            lost += device
                .lost()
                .map_err(|error| Failure::Broken(format!("the device says nothing: {error}")))?;
        }
        Ok(lost)
    }

    /// Returns the device that carries the packets.
    pub(super) fn device(&self) -> DeviceKind {
        self.devices[0].facts().kind
    }

    /// Returns the reason why the device is not a TUN interface although one was tried.
    pub(super) fn tun_refused(&self) -> Option<&str> {
        self.senders.host.facts().tun_refused.as_deref()
    }

    /// Returns those of these congestion controls that are not available, with the reason.
    pub(super) fn missing_controls(
        &mut self,
        names: &[String],
    ) -> Result<Vec<(String, KernelAnswer)>, Failure> {
        let mut outcomes = self.senders.host.congestion_controls(names)?;
        outcomes.retain(|(_, outcome)| !matches!(outcome, KernelAnswer::Accepted { .. }));
        Ok(outcomes)
    }

    /// Ends both hosts, and waits until all their processes have ended.
    pub(super) fn exit(self) -> Result<(), Failure> {
        drop(self.devices); // removes the interfaces too
        self.senders.host.exit()?;
        Ok(self.receivers.host.exit()?)
    }
}

fn is_needed(entry: &ReportEntry) -> bool {
    let words: Vec<&str> = entry.name.split_whitespace().collect();
    matches!(words[..], ["mtu_bytes"] | ["address" | "route", _])
}
