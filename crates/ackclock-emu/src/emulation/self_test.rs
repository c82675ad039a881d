//! Self-test before a run: a few datagrams along the path of the first flow check that packets take
//! as long as the scenario says.

use super::Failure;
use super::drive::{Driven, Supervisor, drive};
use super::host_pair::Pair;
use crate::addresses;
use crate::background::Output;
use crate::driver::Driver;
use crate::real_time::Outputs;
use crate::record::Chunks;
use crate::workload::{FlowPlan, Plan, Readings, ReceivedDatagram, TransportPlan};
use ackclock_core::packet::{Dscp, PacketKind};
use ackclock_scenario::job::Job;
use ackclock_scenario::network::decision::Fate;
use ackclock_spec::units::{Span, Time};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of datagrams.
const PROBES: u64 = 20;
/// Time between datagrams, which gives 160 kbit/s. On a slower path a queue builds up, as the
/// scenario says.
const SPACING: Span = Span::from_millis(5);
/// Payload of a datagram in bytes.
const PROBE_BYTES: u64 = 100;
/// Time to wait for the slowest datagram after the last one was sent, beyond the delays of the
/// path.
const PATIENCE: Span = Span::from_millis(200);
/// Longest path delay for which to wait for the probes.
const LONGEST_PATH: Span = Span::from_millis(10_000);
const PORT: u16 = 5001;

/// Results of the probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SelfTest {
    pub(super) sent: u64,
    /// Excess delay over the model of each probe that arrived, in increasing order.
    pub(super) extras: Vec<Span>,
    /// Number of probes lost outside the model.
    pub(super) lost: u64,
}

impl SelfTest {
    /// Returns the median excess delay; `None` if no probe arrived.
    pub(super) fn median(&self) -> Option<Span> {
        self.extras
            .get(self.extras.len().checked_sub(1)? / 2)
            .copied()
    }
}

struct Nobody;

impl Supervisor for Nobody {
    fn take_readings(&mut self, _readings: Readings) -> io::Result<()> {
        Ok(())
    }
    fn proceed(&mut self, _elapsed: Time, _delivered_bytes: u64) -> bool {
        true
    }
}

/// A buffer that can be read after it was written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Kept {}

/// Sends the probes through a network of their own, so that the run's network begins untouched.
/// Sends none if there is no flow.
pub(super) fn self_test(pair: &mut Pair, job: &Job<'_>) -> Result<SelfTest, Failure> {
    let scenario = job.scenario;
    let Some(flow) = scenario.flows.first() else {
        return Ok(SelfTest::default());
    };
    let path = flow.route.iter().fold(flow.access_delay.low, |sum, hop| {
        sum + scenario.hops[*hop].delay
    });
    let sending = SPACING * PROBES;
    let mut plan = Plan::of(scenario, job.replicate, 0);
    plan.duration_ns = (sending + path.min(LONGEST_PATH) + PATIENCE).as_nanos();
    plan.warmup_ns = 0;
    plan.sample_interval_ns = 0;
    plan.logged_datagrams = PROBES as u32;
    let rate = PROBE_BYTES * 8 * 1_000_000_000 / SPACING.as_nanos();
    plan.flows.push(FlowPlan {
        number: 0,
        place: "self-test".into(),
        sender: SocketAddrV4::new(addresses::sender(0), 0),
        receiver: SocketAddrV4::new(addresses::receiver(0), PORT),
        transport: TransportPlan::Udp { padding_bytes: 0 },
        dscp: Dscp::default(),
        traffic: json!({
            "kind": "cbr",
            "rate": format!("{rate} bit/s"),
            "packet_size": format!("{PROBE_BYTES} bytes"),
        }),
        mss_bytes: PROBE_BYTES,
        start_ns: 0,
        stop_ns: Some(sending.as_nanos()),
    });
    let driver = Driver::new(job.network(), scenario.sample_interval, (0, 0));
    let record = Kept::default();
    let outputs = Outputs {
        record: Some(Box::new(record.clone())),
        ..Outputs::default()
    };
    let driven = drive(pair, plan, driver, outputs, &mut Nobody)?;
    let record = record
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    Ok(compare(&driven, &Delays::read(&record)?))
}

/// Times at which probes arrived at the hops and left them, by their number.
#[derive(Debug, Default)]
struct Delays {
    arrived: Vec<Time>,
    departed: BTreeMap<u64, Time>,
}

impl Delays {
    fn read(record: &[u8]) -> io::Result<Self> {
        let mut delays = Delays::default();
        // Number of the probe for each packet in order of arrival; `None` for other packets.
        let mut probe_of = Vec::new();
        for chunk in Chunks::new(record)? {
            let chunk = chunk?;
            for row in chunk.arrivals() {
                let is_probe = row.kind == PacketKind::Datagram;
                probe_of.push(is_probe.then_some(delays.arrived.len() as u64));
                delays.arrived.extend(is_probe.then_some(row.at));
            }
            for decision in chunk
                .decisions()
                .filter(|decision| decision.outcome == Fate::Departed)
            {
                if let Some(Some(probe)) = probe_of.get(decision.packet as usize) {
                    delays.departed.entry(*probe).or_insert(decision.at);
                }
            }
        }
        Ok(delays)
    }
}

fn compare(driven: &Driven, delays: &Delays) -> SelfTest {
    let sent = driven
        .sending
        .flows
        .iter()
        .filter_map(|flow| flow.datagrams.as_ref());
    let sent: u64 = sent.map(|datagrams| datagrams.sent).sum();
    let received = driven
        .receiving
        .flows
        .iter()
        .filter_map(|flow| flow.datagrams.as_ref());
    let (mut unique, mut extras) = (0, Vec::new());
    for datagrams in received {
        unique += datagrams.unique;
        extras.extend(
            datagrams
                .log
                .iter()
                .filter_map(|datagram| extra(datagram, delays)),
        );
    }
    extras.sort_unstable();
    let came = delays.arrived.len() as u64;
    let left = delays.departed.len() as u64;
    SelfTest {
        sent,
        extras,
        lost: sent.saturating_sub(came) + left.saturating_sub(unique),
    }
}

/// Returns the excess of a probe's delay over its time inside the hops.
fn extra(received: &ReceivedDatagram, delays: &Delays) -> Option<Span> {
    let arrived = delays.arrived.get(usize::try_from(received.number).ok()?)?;
    let inside = delays.departed.get(&received.number)?.since(*arrived);
    let took = Span::from_nanos(received.received_ns.saturating_sub(received.sent_ns?));
    Some(took - inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_what_half_did_not_exceed() {
        let of = |micros: &[u64]| SelfTest {
            extras: micros.iter().copied().map(Span::from_micros).collect(),
            ..SelfTest::default()
        };
        assert_eq!(of(&[]).median(), None);
        assert_eq!(of(&[7]).median(), Some(Span::from_micros(7)));
        assert_eq!(of(&[1, 2, 30, 40]).median(), Some(Span::from_micros(2)));
    }

    #[test]
    fn the_time_inside_is_not_extra() {
        let delays = Delays {
            arrived: vec![Time::from_nanos(100), Time::from_nanos(200)],
            departed: BTreeMap::from([(1, Time::from_nanos(5200))]),
        };
        let probe = |number, sent_ns, received_ns| ReceivedDatagram {
            number,
            sent_ns,
            received_ns,
        };
        assert_eq!(
            extra(&probe(1, Some(190), 5240), &delays),
            Some(Span::from_nanos(50))
        );
        assert_eq!(
            extra(&probe(0, Some(90), 5240), &delays),
            None,
            "still inside"
        );
        assert_eq!(
            extra(&probe(2, Some(90), 5240), &delays),
            None,
            "it never came to the hops"
        );
        assert_eq!(extra(&probe(1, None, 5240), &delays), None);
    }
}
