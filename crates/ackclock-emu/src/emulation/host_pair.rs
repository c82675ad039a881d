//! The two hosts of a run, ready: addresses, routes and settings in place, the emulator's ends of
//! their devices at hand.

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

/// How long a host may take for an answer: longer than any machine takes to make some thousand
/// sockets.
const PATIENCE: Duration = Duration::from_secs(30);

/// One host and its part of the work.
#[derive(Debug)]
pub(super) struct Worker {
    role: Role,
    host: Host,
    /// What it was asked to be, and what became of it.
    pub(super) report: Vec<ReportEntry>,
}

/// Both, and the emulator's ends of their devices.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) senders: Worker,
    pub(super) receivers: Worker,
    /// Of the senders, of the receivers.
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

    /// Makes the sockets of its part of a plan.
    pub(super) fn prepare(&mut self, plan: &Plan) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::Prepare(self.role, plan.clone()))? {
            WorkloadAnswer::Prepared => Ok(()),
            WorkloadAnswer::Refused(refused) => Err(refused.into()),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets it begin at that instant.
    pub(super) fn begin(&mut self, begin_ns: u64) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::Begin(begin_ns))? {
            WorkloadAnswer::Begun => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// What it has read since the last time, and its report if it is over.
    pub(super) fn poll(&mut self) -> Result<(Readings, Option<WorkloadReport>), Failure> {
        match self.ask(&WorkloadRequest::Poll)? {
            WorkloadAnswer::Running(samples) => Ok((samples, None)),
            WorkloadAnswer::Done(samples, report) => Ok((samples, Some(report))),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets it end.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        match self.ask(&WorkloadRequest::End)? {
            WorkloadAnswer::Ending => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Packets lost by its interfaces since they were made.
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
    /// Starts two hosts that are nothing yet. They live no longer than the calling thread.
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

    /// Gives them addresses, routes and settings. Without an address or a route there is no run;
    /// what else the kernel does not take is in the reports.
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

    /// Packets lost by the devices so far, and by what reads them.
    pub(super) fn lost(&mut self) -> Result<u64, Failure> {
        let mut lost = self.senders.lost()? + self.receivers.lost()?;
        for device in &mut self.devices {
            lost += device
                .lost()
                .map_err(|error| Failure::Broken(format!("the device says nothing: {error}")))?;
        }
        Ok(lost)
    }

    /// What carries the packets.
    pub(super) fn device(&self) -> DeviceKind {
        self.devices[0].facts().kind
    }

    /// Why its device is no TUN interface although one was tried.
    pub(super) fn tun_refused(&self) -> Option<&str> {
        self.senders.host.facts().tun_refused.as_deref()
    }

    /// Which of these congestion controls are not to be had, and why.
    pub(super) fn missing_controls(
        &mut self,
        names: &[String],
    ) -> Result<Vec<(String, KernelAnswer)>, Failure> {
        let mut outcomes = self.senders.host.congestion_controls(names)?;
        outcomes.retain(|(_, outcome)| !matches!(outcome, KernelAnswer::Accepted { .. }));
        Ok(outcomes)
    }

    /// Ends both, and waits until nothing of them is left.
    pub(super) fn exit(self) -> Result<(), Failure> {
        drop(self.devices); // the interfaces go with them
        self.senders.host.exit()?;
        Ok(self.receivers.host.exit()?)
    }
}

fn is_needed(entry: &ReportEntry) -> bool {
    let words: Vec<&str> = entry.name.split_whitespace().collect();
    matches!(words[..], ["mtu_bytes"] | ["address" | "route", _])
}
