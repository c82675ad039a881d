//! Checks of several fields together: values that contradict one another, or for which a run would
//! take too much memory or time.

use super::error::{Code, Error, Result, nearest};
use super::parse::to_tree;
use super::quantity::QueueLimit;
use super::resolve::no_hop;
use super::{FlowDescription, Instances, Scenario, Scope, Transport};
use crate::datagram::DatagramParameters;
use crate::endpoint::TcpParameters;
use crate::endpoint::parameters::{AfterTimeout, LossRecovery};
use crate::queue::QueueKind;
use crate::registry::{Selection, StreamScope};
use crate::streams::Streams;
use crate::traffic::{TrafficContext, Transports};
use crate::units::{Bytes, Span, Time};
use serde::Serialize;

/// Most hops on a route: a packet counts them in one byte, and an extra delay may be one more.
const LONGEST_ROUTE: usize = 254;
/// Most flow instances of a run.
const MOST_FLOWS: u64 = 10_000_000;
/// Most replicates of a run.
const MOST_REPLICATES: u32 = 1_000_000;
/// Most samples of one time series.
const MOST_SAMPLES: u64 = 10_000_000;
/// Most segments of an initial window: they all leave at the first moment, and each takes memory.
const LARGEST_INITIAL_WINDOW: u32 = 10_000_000;
/// Largest header and payload of a packet: the length field of IP has 16 bits.
const LARGEST_PACKET: u64 = 65_535;
/// Shortest retransmission timeout: with a timeout of zero, virtual time would stand still.
const SHORTEST_TIMEOUT: Span = Span::from_micros(1);

/// Returns the error that `value` is out of range in `field`.
fn refuse<T>(field: &str, value: &impl Serialize, remedy: &str) -> Result<T> {
    Err(Error::new(field, &to_tree(value), remedy))
}

/// Returns the error that `value` in `field` contradicts another field.
fn contradict<T>(field: &str, value: &impl Serialize, remedy: &str) -> Result<T> {
    Err(Error::contradiction(field, &to_tree(value), remedy))
}

impl Scenario {
    /// Refuses a scenario that cannot be run. [`Scenario::from_tree`] does this; call it again
    /// after changing fields in place.
    ///
    /// # Errors
    /// The first field whose value contradicts the others.
    pub fn check(&self) -> Result<()> {
        if self.name.trim().is_empty() {
            return refuse(
                "name",
                &self.name,
                "is empty; write for example \"leaky pipe\"",
            );
        }
        if self.duration == Span::ZERO {
            return refuse(
                "duration",
                &self.duration,
                "is no time; write for example \"100 s\"",
            );
        }
        if self.warmup >= self.duration {
            return contradict(
                "warmup",
                &self.warmup,
                "leaves nothing to average; write less than the duration",
            );
        }
        if self.replicates == 0 || self.replicates > MOST_REPLICATES {
            let remedy = format!("is no number of runs; write one from 1 to {MOST_REPLICATES}");
            return refuse("replicates", &self.replicates, &remedy);
        }
        self.check_samples()?;
        self.check_measured()?;
        self.check_contenders()?;
        let mut instances = 0.0;
        for flow in &self.flows {
            let within = |error: Error| error.within(&format!("flows.{}", flow.name));
            flow.check().map_err(within)?;
            instances += flow.expected_instances(self.duration);
            if let Instances::Arriving(arrivals) = flow.instances
                && instances > MOST_FLOWS as f64
            {
                let remedy = format!("lets more than {MOST_FLOWS} flows arrive; lengthen it");
                return refuse("arrivals.mean_interval", &arrivals.mean_interval, &remedy)
                    .map_err(within);
            }
        }
        if instances > MOST_FLOWS as f64 {
            let message =
                format!("are {instances:.0} with their counts; write {MOST_FLOWS} at most");
            return Err(Error::message("flows", message));
        }
        Ok(())
    }

    /// Checks the hops whose links others measure. Such a hop must exist, be shared, and have a
    /// link that does not itself measure another, so that there are no cycles.
    fn check_measured(&self) -> Result<()> {
        for hop in &self.hops {
            let Some(name) = &hop.link.facts.measures else {
                continue;
            };
            let other = self.hops.iter().find(|other| other.name == *name);
            let known = other.is_some();
            let remedy = match other {
                Some(other) if other.link.facts.measures.is_some() => {
                    "is a hop whose rate is fed back itself; name one whose rate is its own".into()
                }
                Some(other) if other.link.facts.contends.is_some() => {
                    "is a hop that contends for a medium, which nobody can measure; name one whose \
                     rate is its own"
                        .into()
                }
                Some(other) if other.scope == Scope::PerFlow => {
                    "is a hop that each flow has its own of; name a shared one".into()
                }
                Some(_) => continue,
                None => {
                    let known: Vec<&str> = self.hops.iter().map(|hop| hop.name.as_str()).collect();
                    no_hop(name, &known)
                }
            };
            let code = if known {
                Code::Contradiction
            } else {
                Code::UnknownName
            };
            let field = format!("hops.{}.link.from", hop.name);
            return Err(Error::new(&field, &name.as_str().into(), &remedy).coded(code));
        }
        Ok(())
    }

    /// Checks the contenders. Each needs a medium that accepts it, and a queue that need not know
    /// the wait of a packet.
    fn check_contenders(&self) -> Result<()> {
        let streams = Streams::new(0, 0);
        let place = StreamScope {
            streams: &streams,
            name: "check",
        };
        for hop in &self.hops {
            let Some(contention) = &hop.link.facts.contends else {
                continue;
            };
            let within = |error: Error| error.within(&format!("hops.{}", hop.name));
            let Some(medium) = self
                .media
                .iter()
                .find(|medium| medium.name == contention.medium)
            else {
                let known = self.media.iter().map(|medium| medium.name.as_str());
                let remedy = no_medium(&contention.medium, known);
                let error = Error::new("link.medium", &contention.medium.as_str().into(), &remedy);
                return Err(within(error.coded(Code::UnknownName)));
            };
            let added = medium
                .medium
                .build(place)
                .add(0, contention, place.stream());
            added.map_err(|error| within(error.within("link")))?;
            check_untimed(&hop.queue).map_err(within)?;
        }
        Ok(())
    }

    fn check_samples(&self) -> Result<()> {
        if self.sample_interval == Span::ZERO {
            return refuse(
                "sample_interval",
                &self.sample_interval,
                "is no time; write for example \"100 ms\"",
            );
        }
        let samples = self.duration.as_nanos() / self.sample_interval.as_nanos();
        if samples > MOST_SAMPLES {
            let remedy = format!(
                "makes {samples} samples of each series; write a ten-millionth of the duration at \
                 least"
            );
            return refuse("sample_interval", &self.sample_interval, &remedy);
        }
        Ok(())
    }
}

impl FlowDescription {
    fn check(&self) -> Result<()> {
        match self.instances {
            Instances::Count(count) if count == 0 || u64::from(count) > MOST_FLOWS => {
                let remedy = format!("is no number of flows; write one from 1 to {MOST_FLOWS}");
                return refuse("count", &count, &remedy);
            }
            Instances::Count(_) => {}
            Instances::Arriving(arrivals) => {
                arrivals.check().map_err(|error| error.within("arrivals"))?
            }
        }
        for (field, route) in [("route", &self.route), ("return", &self.return_route)] {
            if route.len() > LONGEST_ROUTE {
                let message = format!("has {} hops; write {LONGEST_ROUTE} at most", route.len());
                return Err(Error::message(field, message));
            }
        }
        if self.route.is_empty() {
            return refuse(
                "route",
                &self.route,
                "has no hop; write for example [\"bottleneck\"]",
            );
        }
        if self.stop <= Time::ZERO + self.start.high {
            return contradict(
                "stop",
                &self.stop.since(Time::ZERO),
                "is not after the start; write a later time",
            );
        }
        if !matches!(self.transport, Transport::Udp { .. }) && self.return_route.is_empty() {
            return contradict(
                "return",
                &self.return_route,
                "has no hop for the ACKs; write for example [\"return\"]",
            );
        }
        match &self.transport {
            Transport::Tcp { parameters, .. } => check_tcp(parameters),
            Transport::Udp { mss, header } => check_sizes(*mss, *header),
            Transport::Controlled { parameters, .. } => check_datagrams(parameters),
        }
        .map_err(|error| error.within("transport"))?;
        self.check_traffic()
    }

    /// Refuses, over UDP without control, a source that only the transport limits: UDP would send
    /// each write at once.
    fn check_traffic(&self) -> Result<()> {
        let Transport::Udp { mss, .. } = self.transport else {
            return Ok(());
        };
        let streams = Streams::new(0, 0);
        let place = StreamScope {
            streams: &streams,
            name: "check",
        };
        let source = self.traffic.build(TrafficContext { place, mss });
        if source.transports() == Transports::Controlled {
            let remedy = "cannot go over UDP without control; write one with a rate, give the \
                transport a control, or write transport kind \"tcp\"";
            return contradict("traffic.kind", &self.traffic.name, remedy);
        }
        Ok(())
    }
}

/// Returns the remedy for a name that no medium has.
fn no_medium<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match (nearest(name, &known), &known[..]) {
        (Some(name), _) => format!("names no medium; did you mean \"{name}\"?"),
        (None, []) => {
            "names no medium, and there are none; describe it under [[shared_media]]".into()
        }
        (None, known) => format!("names no medium; write one of {}", known.join(", ")),
    }
}

/// Refuses limits and thresholds in time: the wait of a packet in front of a medium is not known at
/// arrival.
fn check_untimed(queue: &Selection<QueueKind>) -> Result<()> {
    let Some(timed) = queue
        .facts
        .limits()
        .find(|limit| matches!(limit, QueueLimit::Time(_)))
    else {
        return Ok(());
    };
    let (value, fields) = (to_tree(&timed), queue.resolved.as_object());
    let field = fields.and_then(|fields| fields.iter().find(|(_, other)| **other == value));
    let field = field.map_or("queue".into(), |(name, _)| format!("queue.{name}"));
    let remedy =
        "is a time, and nobody knows how long a contender will wait; write packets or bytes";
    contradict(&field, &value, remedy)
}

fn check_sizes(mss: Bytes, header: Bytes) -> Result<()> {
    if mss == Bytes::ZERO {
        return refuse(
            "mss",
            &mss,
            "carries nothing; write for example \"1000 bytes\"",
        );
    }
    let packet = mss.0.saturating_add(header.0);
    if packet > LARGEST_PACKET {
        let remedy = format!(
            "makes packets of {packet} bytes with the header; write {LARGEST_PACKET} bytes at most \
             for both"
        );
        return refuse("mss", &mss, &remedy);
    }
    Ok(())
}

fn check_datagrams(parameters: &DatagramParameters) -> Result<()> {
    check_sizes(parameters.mss, parameters.header)?;
    let size = parameters.feedback_size;
    if size == Bytes::ZERO || size.0 > LARGEST_PACKET {
        let remedy =
            format!("is no packet; write 1 to {LARGEST_PACKET} bytes, for example \"40 bytes\"");
        return refuse("feedback_size", &size, &remedy);
    }
    if parameters.burst.0 == 0 {
        return refuse(
            "burst",
            &parameters.burst,
            "lets nothing leave; write \"1 packets\" or more",
        );
    }
    Ok(())
}

/// Refuses parameters with which the endpoints cannot work: a scoreboard without SACK, windows in
/// which nothing fits, timers that expire at once.
fn check_tcp(tcp: &TcpParameters) -> Result<()> {
    check_sizes(tcp.mss, tcp.header)?;
    if tcp.after_timeout == AfterTimeout::Scoreboard && tcp.recovery != LossRecovery::Sack {
        return contradict(
            "after_timeout",
            &tcp.after_timeout,
            "needs recovery = \"sack\"; write \"go_back_n\"",
        );
    }
    for (field, count) in [
        ("initial_window", tcp.initial_window),
        ("duplicate_threshold", tcp.duplicate_threshold),
        ("delayed_ack.every", tcp.delayed_ack.every),
    ] {
        if count.0 == 0 {
            return refuse(field, &count, "is too few; write \"1 packets\" or more");
        }
    }
    if tcp.initial_window.0 > LARGEST_INITIAL_WINDOW {
        let remedy = format!(
            "is more than a run can hold; write \"{LARGEST_INITIAL_WINDOW} packets\" at most"
        );
        return refuse("initial_window", &tcp.initial_window, &remedy);
    }
    if tcp
        .receive_window
        .bytes(tcp.mss)
        .is_some_and(|window| window < tcp.mss)
    {
        let remedy = "holds no full segment; write \"1 packets\" or more";
        return contradict("receive_window", &tcp.receive_window, remedy);
    }
    for (field, span) in [
        ("rto_minimum", tcp.rto_minimum),
        ("rto_initial", tcp.rto_initial),
        ("rto_maximum", tcp.rto_maximum),
    ] {
        if span < SHORTEST_TIMEOUT {
            return refuse(
                field,
                &span,
                "goes off before anything can happen; write \"1 us\" or more",
            );
        }
    }
    if tcp.rto_minimum > tcp.rto_maximum {
        return contradict(
            "rto_minimum",
            &tcp.rto_minimum,
            "is more than rto_maximum; write less",
        );
    }
    Ok(())
}
