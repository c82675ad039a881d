//! The trace of a run: the `packets` table and two captures, as if taken at the senders and at the
//! receivers.

use ackclock_core::packet::{Content, Packet};
use ackclock_core::result::Table;
use ackclock_core::transport::Tcp;
use ackclock_pcap::capture::DEFAULT_SNAP_LENGTH;
use ackclock_pcap::{Capture, FlowAddresses, Labels, PacketEncoder};
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_sim::flow::Flow;
use ackclock_sim::packet_log::PacketLog;
use ackclock_sim::topology::Topology;
use ackclock_sim::trace::{Step, Trace};
use ackclock_spec::units::Time;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

type FileCapture = Capture<BufWriter<File>>;

/// Rows of a chunk that is handed over while the run goes on: five megabytes.
pub const CHUNK: usize = 65_536;

/// Takes a chunk of the table `packets`.
pub type TakeRows<'a> = Box<dyn Fn(Table) + Send + 'a>;

/// Writes the `packets` table and the captures of a run.
pub struct Listener<'a> {
    log: Option<PacketLog>,
    /// Takes rows as they come; without it they are returned at the end.
    take_rows: Option<TakeRows<'a>>,
    at_senders: Option<FileCapture>,
    at_receivers: Option<FileCapture>,
    /// Labels of each flow, if there are captures.
    labels: Vec<Labels>,
    failure: Option<io::Error>,
}

impl<'a> Listener<'a> {
    /// Makes a listener for one job. Captures go to `folder`, named after point and replicate.
    pub fn new(
        job: &Job<'_>,
        topology: &Topology,
        packets: bool,
        take_rows: Option<TakeRows<'a>>,
        folder: Option<&Path>,
    ) -> Self {
        let log = packets.then(|| PacketLog::new(job, topology));
        let mut listener = Listener {
            log,
            take_rows,
            at_senders: None,
            at_receivers: None,
            labels: Vec::new(),
            failure: None,
        };
        if let Some(folder) = folder
            && let Err(error) = listener.open(job, topology, folder)
        {
            listener.failure = Some(error);
        }
        listener
    }

    fn open(&mut self, job: &Job<'_>, topology: &Topology, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let capture = |place: &str| {
            let name = format!("{}-{place}.pcap", job.name());
            let file = BufWriter::new(File::create(folder.join(name))?);
            Capture::new(file, DEFAULT_SNAP_LENGTH, encoders(job.scenario, topology))
        };
        self.at_senders = Some(capture("senders")?);
        self.at_receivers = Some(capture("receivers")?);
        self.labels.resize(topology.flows.len(), Labels::default());
        Ok(())
    }

    /// Returns the rows that nothing took, if they were requested, or the first error of writing
    /// captures.
    pub fn finish(mut self) -> io::Result<Option<Table>> {
        self.hand_over();
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        for capture in [self.at_senders, self.at_receivers].into_iter().flatten() {
            capture.finish()?;
        }
        let log = self.log.filter(|_| self.take_rows.is_none());
        Ok(log.map(|mut log| log.take()))
    }

    fn hand_over(&mut self) {
        if let (Some(log), Some(take)) = (&mut self.log, &self.take_rows) {
            take(log.take());
        }
    }
}

/// Returns the encoder of each flow. Its addresses follow its position in the scenario.
fn encoders(scenario: &Scenario, topology: &Topology) -> Vec<PacketEncoder> {
    let mut addresses = vec![FlowAddresses::of(0); topology.flows.len()];
    for (position, flow) in (0..).zip(&topology.written) {
        addresses[flow.0 as usize] = FlowAddresses::of(position);
    }
    let encoder = |(flow, addresses): (&Flow, FlowAddresses)| {
        let description = &scenario.flows[flow.group as usize];
        let encoder = match description.transport.parameters() {
            Some(Tcp { parameters, .. }) => PacketEncoder::tcp(addresses, parameters, flow.total()),
            None => PacketEncoder::udp(addresses),
        };
        encoder.with_codepoint(description.dscp)
    };
    topology.flows.iter().zip(addresses).map(encoder).collect()
}

impl Trace for Listener<'_> {
    fn record(
        &mut self,
        at: Time,
        step: Step,
        hop: Option<usize>,
        packet: &Packet,
        content: Content<'_>,
    ) {
        if let Some(log) = &mut self.log {
            log.record(at, step, hop, packet, content);
            if log.rows() == CHUNK {
                self.hand_over();
            }
        }
        let Some(labels) = self.labels.get_mut(packet.flow.0 as usize) else {
            return;
        };
        let label = match step {
            Step::Send => labels.sent(at, packet),
            Step::Receive => labels.received(at, packet),
            Step::Drop => return labels.dropped(packet),
            Step::Arrive | Step::Mark => return,
        };
        let capture = if packet.is_forward() == (step == Step::Send) {
            &mut self.at_senders
        } else {
            &mut self.at_receivers
        };
        if let Some(open) = capture
            && let Err(error) = open.write(at, packet, content, label)
        {
            // The run continues; the error is reported at its end.
            *capture = None;
            self.failure.get_or_insert(error);
        }
    }
}
