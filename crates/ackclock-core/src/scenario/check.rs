//! Checks of several fields together: values that contradict one another, or for which a run would
//! take too much memory or time.

use super::error::{Code, Error, Result, all, both};
use super::parse::to_tree;
use super::quantity::QueueLimit;
use super::resolve::unknown_hop;
use super::{
    FlowDescription, HopDescription, Instances, MediumDescription, Scenario, Scope, Transport,
};
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
        let run = check_run(&self.name, self.duration, self.warmup, self.replicates);
        let flows = self.flows.iter().map(|flow| {
            flow.check()
                .map_err(|error| error.within(&format!("flows.{}", flow.name)))
        });
        let parts = [
            run,
            self.check_samples(),
            self.check_measured(),
            self.check_contenders(),
        ];
        all(parts
            .into_iter()
            .chain(flows)
            .chain([self.check_instances()]))
        .map(drop)
    }

    /// A run holds only so many flows.
    fn check_instances(&self) -> Result<()> {
        let mut instances = 0.0;
        for flow in &self.flows {
            instances += flow.expected_instances(self.duration);
            if let Instances::Arriving(arrivals) = flow.instances
                && instances > MOST_FLOWS as f64
            {
                let remedy = format!("makes more than {MOST_FLOWS} flows arrive; lengthen it");
                return refuse("arrivals.mean_interval", &arrivals.mean_interval, &remedy)
                    .map_err(|error| error.within(&format!("flows.{}", flow.name)));
            }
        }
        if instances > MOST_FLOWS as f64 {
            let message = format!("{instances:.0} flow instances in all; the most is {MOST_FLOWS}");
            return Err(Error::message("flows", message));
        }
        Ok(())
    }

    /// Checks the hops whose links others measure. Such a hop must exist, be shared, and have a
    /// link that does not itself measure another, so that there are no cycles.
    fn check_measured(&self) -> Result<()> {
        all(self.hops.iter().map(|hop| self.check_source(hop))).map(drop)
    }

    fn check_source(&self, hop: &HopDescription) -> Result<()> {
        let Some(name) = &hop.link.facts.measures else {
            return Ok(());
        };
        let field = format!("hops.{}.link.from", hop.name);
        let Some(other) = self.hops.iter().find(|other| other.name == *name) else {
            let known: Vec<String> = self.hops.iter().map(|hop| hop.name.clone()).collect();
            return Err(unknown_hop(&field, name, &known));
        };
        let remedy = if other.link.facts.measures.is_some() {
            "follows another hop's rate itself; choose a hop with a rate of its own"
        } else if other.link.facts.contends.is_some() {
            "contends for a medium, so its rate cannot be measured; choose a hop with its own \
            rate"
        } else if other.scope == Scope::PerFlow {
            "has scope \"per_flow\"; choose a shared hop"
        } else {
            return Ok(());
        };
        contradict(&field, name, remedy)
    }

    /// Checks the contenders. Each needs a medium that accepts it, and a queue that need not know
    /// the wait of a packet.
    fn check_contenders(&self) -> Result<()> {
        let check = |hop: &HopDescription| {
            self.check_contender(hop)
                .map_err(|error| error.within(&format!("hops.{}", hop.name)))
        };
        all(self.hops.iter().map(check)).map(drop)
    }

    fn check_contender(&self, hop: &HopDescription) -> Result<()> {
        let Some(contention) = &hop.link.facts.contends else {
            return Ok(());
        };
        let streams = Streams::new(0, 0);
        let place = StreamScope {
            streams: &streams,
            name: "check",
        };
        let of_that_name = |medium: &&MediumDescription| medium.name == contention.medium;
        let Some(medium) = self.media.iter().find(of_that_name) else {
            let known = self.media.iter().map(|medium| medium.name.as_str());
            return Err(unknown_medium("link.medium", &contention.medium, known));
        };
        let added = medium
            .medium
            .build(place)
            .add(0, contention, place.stream())
            .map_err(|error| error.within("link"));
        both(added, check_untimed(&hop.queue)).map(drop)
    }

    fn check_samples(&self) -> Result<()> {
        if self.sample_interval == Span::ZERO {
            return refuse(
                "sample_interval",
                &self.sample_interval,
                "is too short; for example \"100 ms\"",
            );
        }
        let samples = self.duration.as_nanos() / self.sample_interval.as_nanos();
        if samples > MOST_SAMPLES {
            let remedy = format!(
                "makes {samples} samples of each series; choose at least a ten-millionth of the \
                duration"
            );
            return refuse("sample_interval", &self.sample_interval, &remedy);
        }
        Ok(())
    }
}

impl FlowDescription {
    /// Refuses what concerns this flow alone.
    pub(super) fn check(&self) -> Result<()> {
        let instances = match self.instances {
            Instances::Count(count) if count == 0 || u64::from(count) > MOST_FLOWS => refuse(
                "count",
                &count,
                &format!("is not between 1 and {MOST_FLOWS}"),
            ),
            Instances::Count(_) => Ok(()),
            Instances::Arriving(arrivals) => {
                arrivals.check().map_err(|error| error.within("arrivals"))
            }
        };
        let transport = match &self.transport {
            Transport::Tcp { parameters, .. } => check_tcp(parameters),
            Transport::Udp { mss, header } => check_sizes(*mss, *header),
            Transport::Controlled { parameters, .. } => check_datagrams(parameters),
        }
        .map_err(|error| error.within("transport"));
        let stop = if self.stop <= Time::ZERO + self.start.high {
            let stop = self.stop.since(Time::ZERO);
            contradict("stop", &stop, "is not after the start; choose a later time")
        } else {
            Ok(())
        };
        let [route, return_route] = self.check_routes();
        let parts = [instances, route, stop, return_route, transport];
        all(parts)?;
        self.check_traffic()
    }

    /// The two routes, each by itself.
    fn check_routes(&self) -> [Result<()>; 2] {
        let length = |field: &str, route: &[usize]| match route.len() {
            0..=LONGEST_ROUTE => Ok(()),
            hops => {
                let message = format!("{hops} hops are too many; the most is {LONGEST_ROUTE}");
                Err(Error::message(field, message))
            }
        };
        let route = if self.route.is_empty() {
            refuse(
                "route",
                &self.route,
                "is empty; for example [\"bottleneck\"]",
            )
        } else {
            length("route", &self.route)
        };
        let acknowledges = !matches!(self.transport, Transport::Udp { .. });
        let return_route = if acknowledges && self.return_route.is_empty() {
            let remedy = "is empty, but ACKs need a route; for example [\"return\"]";
            contradict("return", &self.return_route, remedy)
        } else {
            length("return", &self.return_route)
        };
        [route, return_route]
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
            let remedy = "does not work over UDP without a rate control; choose traffic with a \
                rate, add a control, or use transport kind \"tcp\"";
            return contradict("traffic.kind", &self.traffic.name, remedy);
        }
        Ok(())
    }
}

/// Refuses what no scenario can be, whatever its path.
pub(super) fn check_run(name: &str, duration: Span, warmup: Span, replicates: u32) -> Result<()> {
    let named = match name.trim() {
        "" => refuse("name", &name, "is empty; for example \"leaky pipe\""),
        _ => Ok(()),
    };
    let lasting = if duration == Span::ZERO {
        let remedy = "is too short; for example \"100 s\"";
        refuse("duration", &duration, remedy)
    } else if warmup >= duration {
        let remedy = "leaves no time to average over; it must be shorter than the duration";
        contradict("warmup", &warmup, remedy)
    } else {
        Ok(())
    };
    let repeated = if (1..=MOST_REPLICATES).contains(&replicates) {
        Ok(())
    } else {
        let remedy = format!("is not between 1 and {MOST_REPLICATES}");
        refuse("replicates", &replicates, &remedy)
    };
    all([named, lasting, repeated]).map(drop)
}

/// There is no medium of that name.
fn unknown_medium<'a>(field: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    if known.is_empty() {
        let message = format!("unknown medium \"{name}\"; describe it under [[shared_media]]");
        return Error::message(field, message)
            .valued(&name.into())
            .coded(Code::UnknownName);
    }
    Error::unknown_name(field, &name.into(), "medium", known.into_iter())
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
        "is a time, but the wait for a shared medium is unknown on arrival; give packets or bytes";
    contradict(&field, &value, remedy)
}

fn check_sizes(mss: Bytes, header: Bytes) -> Result<()> {
    if mss == Bytes::ZERO {
        return refuse("mss", &mss, "is too small; for example \"1000 bytes\"");
    }
    let packet = mss.0.saturating_add(header.0);
    if packet > LARGEST_PACKET {
        let remedy = format!(
            "makes packets of {packet} bytes with the header; both together may be at most \
            {LARGEST_PACKET} bytes"
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
            format!("is not between 1 and {LARGEST_PACKET} bytes; for example \"40 bytes\"");
        return refuse("feedback_size", &size, &remedy);
    }
    if parameters.burst.0 == 0 {
        return refuse(
            "burst",
            &parameters.burst,
            "is too small; choose at least \"1 packet\"",
        );
    }
    Ok(())
}

/// Refuses parameters with which the endpoints cannot work: a scoreboard without SACK, windows in
/// which nothing fits, timers that expire at once.
fn check_tcp(tcp: &TcpParameters) -> Result<()> {
    let counts = [
        ("initial_window", tcp.initial_window),
        ("duplicate_threshold", tcp.duplicate_threshold),
        ("delayed_ack.every", tcp.delayed_ack.every),
    ]
    .map(|(field, count)| match count.0 {
        0 => refuse(field, &count, "is too small; choose at least \"1 packet\""),
        _ => Ok(()),
    });
    let window = if tcp.initial_window.0 > LARGEST_INITIAL_WINDOW {
        let remedy = format!("is too large; the most is \"{LARGEST_INITIAL_WINDOW} packets\"");
        refuse("initial_window", &tcp.initial_window, &remedy)
    } else {
        Ok(())
    };
    let timeouts = [
        ("rto_minimum", tcp.rto_minimum),
        ("rto_initial", tcp.rto_initial),
        ("rto_maximum", tcp.rto_maximum),
    ]
    .map(|(field, span)| {
        if span < SHORTEST_TIMEOUT {
            return refuse(field, &span, "is too short; choose at least \"1 us\"");
        }
        Ok(())
    });
    let values = [check_sizes(tcp.mss, tcp.header)]
        .into_iter()
        .chain(counts)
        .chain([window])
        .chain(timeouts);
    all(values.chain([check_recovery(tcp)]))?;
    check_pairs(tcp)
}

/// A scoreboard needs SACK.
fn check_recovery(tcp: &TcpParameters) -> Result<()> {
    if tcp.after_timeout == AfterTimeout::Scoreboard && tcp.recovery != LossRecovery::Sack {
        let remedy = "needs recovery = \"sack\"; choose \"go_back_n\" or set recovery = \"sack\"";
        return contradict("after_timeout", &tcp.after_timeout, remedy);
    }
    Ok(())
}

/// Values that are good in themselves and do not go together.
fn check_pairs(tcp: &TcpParameters) -> Result<()> {
    let window = tcp.receive_window;
    let window = if window.bytes(tcp.mss).is_some_and(|bytes| bytes < tcp.mss) {
        let remedy = "is less than one full segment; choose at least \"1 packet\"";
        contradict("receive_window", &window, remedy)
    } else {
        Ok(())
    };
    let timeouts = if tcp.rto_minimum > tcp.rto_maximum {
        let remedy = "is more than rto_maximum; lower it or raise rto_maximum";
        contradict("rto_minimum", &tcp.rto_minimum, remedy)
    } else {
        Ok(())
    };
    both(window, timeouts).map(drop)
}
