//! Cases of transports that others wrote: their two sides in two hosts. Like the others, they end
//! by events, not by the clock.

use crate::cases::{BULK, MILLISECOND, plan, run_with, scenario};
use ackclock_core::packet::Ecn;
use ackclock_core::traffic::Write;
use ackclock_core::transport::EndpointContext;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Transmit};
use ackclock_core::transport::quic::Quic;
use ackclock_core::transport::stack::Stack;
use ackclock_emu::workload::{Ending, Plan, RateReading, Sending};
use ackclock_spec::files::{Files, NoFiles};
use ackclock_spec::units::{Bytes, Time};
use ackclock_stacks::Bringing;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// All cases by name.
pub const CASES: &[(&str, fn())] = &[
    ("quinn_delivers_a_transfer_to_the_byte", a_transfer),
    ("what_quinn_says_of_itself_is_so", readings),
    ("a_control_of_ours_runs_inside_quinn", a_control_of_ours),
    ("a_stop_silences_a_stack", a_stop),
    ("a_source_over_quinn_delivers_what_it_writes", a_source),
    ("a_stack_that_is_not_here_is_refused", not_here),
    ("the_ecn_field_arrives_as_it_was_sent", ecn_fields),
    ("a_fault_ends_its_flow_alone", a_fault),
];

fn quic(stack: &str, control: &str, more: &str) -> String {
    format!(
        r#"
[[flows]]
name = "{stack}"
route = ["wire"]
return = ["wire"]
transport = {{ kind = "quic", stack = "{stack}", control = {control} }}
{more}
"#
    )
}

fn of_quinn(duration: &str, control: &str, more: &str) -> Plan {
    plan(&scenario(duration, &quic("quinn", control, more)))
}

const TRANSFER: &str = r#"traffic = { kind = "transfer", size = "300500 bytes" }"#;

fn a_transfer() {
    let plan = of_quinn("4 s", r#""cubic""#, TRANSFER);
    let (sent, received, _) = run_with(&plan, true, &Bringing(NoFiles));
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(
        sent.ending,
        Ending::EndOfRun,
        "a stack does not say when it is done"
    );
    assert_eq!(received.received_bytes, 300_500);
    assert!(received.completed_ns > sent.started_ns);
    let (there, back) = (
        sent.datagrams.as_ref().unwrap(),
        received.datagrams.as_ref().unwrap(),
    );
    assert_eq!((there.refused, back.refused), (0, 0), "{there:?} {back:?}");
    assert!(
        there.sent > 300_500 / 1452,
        "the largest datagrams of quinn"
    );
    assert!(back.unique > 0 && back.unique <= there.sent);
}

fn readings() {
    let mut plan = of_quinn("4 s", r#""cubic""#, TRANSFER);
    plan.sample_interval_ns = 100_000;
    let (sent, received, readings) = run_with(&plan, true, &Bringing(NoFiles));
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    let rates = &readings.rates;
    assert!(readings.tcp_info.is_empty() && !rates.is_empty());
    assert!(rates.is_sorted_by_key(|reading| reading.time_ns));
    assert!(rates.is_sorted_by_key(|reading: &RateReading| reading.sent_packets));
    let last = rates.last().unwrap();
    assert_eq!(Some(last.time_ns), sent.ended_ns, "the last row is the end");
    assert_eq!(last.sent_packets, sent.datagrams.as_ref().unwrap().sent);
    assert_eq!(last.delivered_bytes, None, "its receiver knows");
    assert!(last.cwnd_bytes > Some(10_000) && last.smoothed_rtt_ns.is_some());
    let session = sent.session.as_ref().unwrap();
    let (least, greatest) = (session.rtt_min_ns.unwrap(), session.rtt_max_ns.unwrap());
    let trips = rates.iter().filter_map(|reading| reading.rtt_ns);
    assert!(
        trips
            .into_iter()
            .all(|rtt| (least..=greatest).contains(&rtt))
    );
    let delivered = &readings.delivered;
    assert!(delivered.is_sorted_by_key(|reading| (reading.time_ns, reading.bytes)));
    assert_eq!(delivered.last().unwrap().bytes, received.received_bytes);
}

fn a_control_of_ours() {
    let plan = of_quinn("4 s", r#"{ kind = "westwood_abse" }"#, TRANSFER);
    let (_, received, readings) = run_with(&plan, true, &Bringing(NoFiles));
    assert_eq!(received.flows[0].received_bytes, 300_500);
    assert!(readings.rates.last().unwrap().cwnd_bytes > Some(10_000));
}

fn a_stop() {
    let more = format!("stop = \"500 ms\"\ntraffic = {BULK}");
    let plan = of_quinn("1 s", r#""cubic""#, &more);
    let (sent, received, readings) = run_with(&plan, true, &Bringing(NoFiles));
    let (sent, received) = (&sent.flows[0], &received.flows[0]);
    assert_eq!(sent.ending, Ending::Stopped);
    assert!(sent.ended_ns >= Some(500 * MILLISECOND));
    assert!(received.received_bytes > 0);
    let last = readings.rates.last().unwrap();
    assert_eq!(Some(last.time_ns), sent.ended_ns);
}

fn a_source() {
    let more = "stop = \"1 s\"\ntraffic = { kind = \"cbr\", rate = \"2 Mbit/s\" }";
    let plan = of_quinn("2 s", r#""cubic""#, more);
    let (_, received, _) = run_with(&plan, true, &Bringing(NoFiles));
    // The first write of 1200 bytes is at the start; the last may not have left at the stop.
    let (written, bytes) = (2_000_000 / 8 + 1_200, received.flows[0].received_bytes);
    assert!(bytes <= written && bytes > 0, "{bytes} of {written}");
}

fn not_here() {
    let plan = of_quinn("1 s", r#""cubic""#, TRANSFER);
    let refused = Sending::prepare(plan, &NoFiles).unwrap_err().to_string();
    let begin = "flow/quinn/0: transport.stack: \"quinn\" does not run here";
    assert!(refused.starts_with(begin), "{refused}");
}

/// A transport whose sender sends a datagram with each ECN field, and whose receiver notes what
/// arrives.
#[derive(Debug, Default)]
struct Fields {
    arrived: Mutex<Vec<(Ecn, Vec<u8>)>>,
    faulty: bool,
}

const FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::CapableL4s, Ecn::Capable, Ecn::Marked];

#[derive(Debug)]
struct FieldsSender {
    waiting: VecDeque<Ecn>,
    faulty: bool,
}

#[derive(Debug)]
struct FieldsReceiver(Arc<Fields>);

impl Endpoint for FieldsSender {
    fn write(&mut self, _: Time, _: Write) {
        self.waiting = FIELDS.into();
    }
    fn handle_packet(&mut self, _: Time, _: &Arrived<'_>) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let ecn = self.waiting.pop_front()?;
        payload.extend([7, ecn.bits()]);
        Some(Transmit {
            number: 0,
            size: 30,
            stamp: now,
            ecn,
            options: None,
        })
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn fault(&self) -> Option<String> {
        self.faulty.then(|| "it does not feel like it".into())
    }
}

impl Endpoint for FieldsReceiver {
    fn handle_packet(&mut self, _: Time, arrived: &Arrived<'_>) {
        let noted = (arrived.packet.ecn(), arrived.payload.to_vec());
        self.0.arrived.lock().unwrap().push(noted);
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn delivered(&self) -> Bytes {
        Bytes(2 * self.0.arrived.lock().unwrap().len() as u64)
    }
}

#[derive(Debug)]
struct Brought(Arc<Fields>);

impl Stack for Brought {
    fn version(&self) -> String {
        "fields 1".into()
    }
    fn controls(&self) -> Vec<&str> {
        vec!["none"]
    }
    fn connection_bytes(&self) -> usize {
        0
    }
    fn refusal(&self, _: &Quic) -> Option<String> {
        None
    }
    fn connect(&self, _: &Quic, _: EndpointContext<'_>) -> [Box<dyn Endpoint>; 2] {
        let faulty = self.0.faulty;
        let waiting = VecDeque::new();
        [
            Box::new(FieldsSender { waiting, faulty }),
            Box::new(FieldsReceiver(Arc::clone(&self.0))),
        ]
    }
}

/// Files with that stack alone.
struct OfFields(Arc<Fields>);

impl Files for OfFields {
    fn read(&self, name: &str) -> Result<String, String> {
        NoFiles.read(name)
    }
    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        match name {
            "fields" => Some(Box::new(
                Arc::new(Brought(Arc::clone(&self.0))) as Arc<dyn Stack>
            )),
            other => Bringing(NoFiles).stack(other),
        }
    }
}

fn ecn_fields() {
    let more = format!("dscp = \"EF\"\ntraffic = {BULK}");
    let plan = plan(&scenario("300 ms", &quic("fields", r#""none""#, &more)));
    let fields = Arc::new(Fields::default());
    let (sent, received, _) = run_with(&plan, true, &OfFields(Arc::clone(&fields)));
    let arrived = fields.arrived.lock().unwrap();
    let expected = FIELDS.map(|ecn| (ecn, vec![7, ecn.bits()]));
    assert_eq!(*arrived, expected);
    assert_eq!(sent.flows[0].datagrams.as_ref().unwrap().sent, 4);
    assert_eq!(received.flows[0].received_bytes, 8);
}

fn a_fault() {
    let flows = [
        quic("fields", r#""none""#, &format!("traffic = {BULK}")),
        quic("quinn", r#""cubic""#, TRANSFER),
    ];
    let plan = plan(&scenario("2 s", &flows.concat()));
    let fields = Arc::new(Fields {
        faulty: true,
        ..Fields::default()
    });
    let (sent, received, _) = run_with(&plan, true, &OfFields(fields));
    let reason = Ending::Failed("it does not feel like it".into());
    assert_eq!(sent.flows[0].ending, reason);
    assert_eq!(received.flows[1].received_bytes, 300_500);
}
