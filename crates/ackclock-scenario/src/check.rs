//! Checks of several fields together: values that contradict one another, or for which a run would
//! take too much memory or time.

use super::{FlowDescription, HopDescription, Instances, MediumDescription, Scenario, Scope};
use ackclock_core::queue::QueueKind;
use ackclock_core::traffic::{TrafficContext, TrafficKind, Transports};
use ackclock_core::transport::{Tcp, TransportKind};
use ackclock_spec::bounds::check_above_zero;
use ackclock_spec::error::{Code, Error, Result, consistent, every, in_range};
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::quantity::Range;
use ackclock_spec::registry::{Selection, StreamScope};
use ackclock_spec::stated::Stated;
use ackclock_spec::streams::Streams;
use ackclock_spec::tree::to_tree;
use ackclock_spec::units::{Span, Time};

/// Most hops on a route: a packet counts them in one byte, and an extra delay may be one more.
const LONGEST_ROUTE: usize = 254;
/// Most flow instances of a run.
const MOST_FLOWS: u64 = 10_000_000;
/// Most replicates of a run.
const MOST_REPLICATES: u32 = 1_000_000;
/// Most samples of one time series.
const MOST_SAMPLES: u64 = 10_000_000;

impl Scenario {
    /// Refuses a scenario that cannot be run. [`Scenario::from_tree`] does this; call it again
    /// after changing fields in place.
    ///
    /// # Errors
    /// Every field whose value is out of range or contradicts others.
    pub fn check(&self) -> Result<()> {
        let parts = [
            check_run(&self.name, self.duration, self.warmup, self.replicates),
            check_samples(self.sample_interval, self.duration),
            check_hops(&self.hops, &self.media),
        ];
        let flows = self.flows.iter().map(|flow| {
            flow.check()
                .map_err(|error| error.within(&format!("flows.{}", flow.name)))
        });
        every(
            parts
                .into_iter()
                .chain(flows)
                .chain([self.check_instances()]),
        )
    }

    /// A run holds only so many flows.
    fn check_instances(&self) -> Result<()> {
        let mut instances = 0.0;
        for flow in &self.flows {
            instances += flow.expected_instances(self.duration);
            if let Instances::Arriving(arrivals) = flow.instances
                && instances > MOST_FLOWS as f64
            {
                let field = format!("flows.{}.arrivals.mean_interval", flow.name);
                let remedy = format!("makes more than {MOST_FLOWS} flows arrive; lengthen it");
                return in_range(false, &field, &arrivals.mean_interval, &remedy);
            }
        }
        if instances > MOST_FLOWS as f64 {
            let message = format!("{instances:.0} flow instances in all; the most is {MOST_FLOWS}");
            return Err(Error::message("flows", message));
        }
        Ok(())
    }
}

impl FlowDescription {
    /// Refuses what concerns this flow alone.
    fn check(&self) -> Result<()> {
        every([
            check_instances(self.instances),
            check_route("route", &self.route, true),
            check_times(self.start, self.stop),
            check_route("return", &self.return_route, false),
            check_acknowledged(&self.transport, &self.return_route),
            check_traffic(&self.transport, &self.traffic),
        ])
    }
}

/// Refuses what no scenario can be, whatever its path.
pub(super) fn check_run(name: &str, duration: Span, warmup: Span, replicates: u32) -> Result<()> {
    let named = !name.trim().is_empty();
    let leaves = "leaves no time to average over; it must be shorter than the duration";
    let many = format!("is not between 1 and {MOST_REPLICATES}");
    every([
        in_range(named, "name", name, "is empty; for example \"leaky pipe\""),
        check_above_zero("duration", duration, "100 s"),
        consistent(warmup < duration, "warmup", &warmup, &["duration"], leaves),
        in_range(
            (1..=MOST_REPLICATES).contains(&replicates),
            "replicates",
            &replicates,
            &many,
        ),
    ])
}

/// Refuses time series without end.
pub(super) fn check_samples(interval: Span, duration: Span) -> Result<()> {
    let field = "sample_interval";
    check_above_zero(field, interval, "100 ms")?;
    let samples = duration.as_nanos() / interval.as_nanos();
    let remedy = format!(
        "makes {samples} samples of each series; choose at least a ten-millionth of the duration"
    );
    in_range(samples <= MOST_SAMPLES, field, &interval, &remedy)
}

/// Refuses hops that do not go together, and those that do not fit their medium.
pub(super) fn check_hops(hops: &[HopDescription], media: &[MediumDescription]) -> Result<()> {
    let contenders = hops.iter().map(|hop| {
        check_contender(hop, media).map_err(|error| error.within(&format!("hops.{}", hop.name)))
    });
    every(
        hops.iter()
            .map(|hop| check_sources(hop, hops))
            .chain(contenders)
            .chain(hops.iter().map(check_packet_delays)),
    )
}

/// Checks the hops whose links a hop's link and queue measure.
fn check_sources(hop: &HopDescription, hops: &[HopDescription]) -> Result<()> {
    let (link, queue) = (&hop.link.facts.measures, &hop.queue.facts.measures);
    every([
        check_source(&format!("hops.{}.link.from", hop.name), link, hops),
        check_source(&format!("hops.{}.queue.server.from", hop.name), queue, hops),
    ])
}

/// Checks the hop whose link is measured. It must exist, be shared, and have a link that does not
/// itself measure another, so that there are no cycles.
fn check_source(field: &str, measures: &Stated<String>, hops: &[HopDescription]) -> Result<()> {
    let Some(name) = measures.some() else {
        return Ok(());
    };
    let Some(other) = hops.iter().find(|other| other.name == *name) else {
        let names: Vec<String> = hops.iter().map(|hop| hop.name.clone()).collect();
        return Err(unknown_hop(field, name, &names));
    };
    let remedy = if other.link.facts.measures.is_some() {
        "follows another hop's rate itself; choose a hop with a rate of its own"
    } else if other.link.facts.contends.is_some() {
        "contends for a medium, so its rate cannot be measured; choose a hop with its own rate"
    } else if other.scope == Scope::PerFlow {
        "has scope \"per_flow\"; choose a shared hop"
    } else {
        return Ok(());
    };
    Err(Error::contradiction(field, &to_tree(name), remedy))
}

/// Refuses to record delays where there is no single queue, or where a medium decides.
fn check_packet_delays(hop: &HopDescription) -> Result<()> {
    let field = format!("hops.{}.packet_delays", hop.name);
    let (shared, alone) = (
        hop.scope == Scope::Shared,
        !hop.link.facts.contends.is_some(),
    );
    every([
        consistent(
            !hop.packet_delays || shared,
            &field,
            &hop.packet_delays,
            &["scope"],
            "needs a shared hop; remove it, or choose scope \"shared\"",
        ),
        consistent(
            !hop.packet_delays || alone,
            &field,
            &hop.packet_delays,
            &["link"],
            "needs a link of its own, not one in a shared medium; remove it",
        ),
    ])
}

/// Checks a contender. It needs a medium that accepts it, and a queue that need not know the wait
/// of a packet.
fn check_contender(hop: &HopDescription, media: &[MediumDescription]) -> Result<()> {
    let Some(contention) = hop.link.facts.contends.some() else {
        return Ok(());
    };
    let streams = Streams::new(0, 0);
    let place = StreamScope {
        streams: &streams,
        name: "check",
    };
    let Some(medium) = media.iter().find(|medium| medium.name == contention.medium) else {
        let names = media.iter().map(|medium| medium.name.as_str());
        return Err(unknown_medium("link.medium", &contention.medium, names));
    };
    let mut cell = medium.medium.build(place);
    let added = cell.add(0, contention, place.stream());
    every([
        added.map(drop).map_err(|error| error.within("link")),
        check_untimed(&hop.queue),
        check_unshaped(&hop.queue),
    ])
}

/// Refuses a queue with a rate of its own in front of a medium, which decides who sends.
fn check_unshaped(queue: &Selection<QueueKind>) -> Result<()> {
    let has = match queue.facts.highest_bit_per_s {
        Stated::None => return Ok(()),
        Stated::Some(_) => "has",
        Stated::Unknown => "may have",
    };
    let remedy = format!(
        "{has} a rate of its own, but a shared medium decides when it sends; for example \
        \"droptail\""
    );
    consistent(false, "queue.kind", queue.name, &["link"], &remedy)
}

/// Refuses to record the control of a flow that has none. What is wrong with its transport is said
/// elsewhere.
pub(super) fn check_control_states(
    asked: bool,
    transport: &Result<Selection<TransportKind>>,
) -> Result<()> {
    match transport {
        Ok(transport) if asked && transport.parameters::<Tcp>().is_none() => {
            let remedy = "needs transport.kind = \"tcp\"; remove it";
            Err(Error::contradiction(
                "control_states",
                &asked.into(),
                remedy,
            ))
        }
        _ => Ok(()),
    }
}

/// Refuses to record the calls of a control that is not a program with `ackclock.bpf.h`. What is
/// wrong with its transport is said elsewhere.
pub(super) fn check_control_calls(
    asked: bool,
    transport: &Result<Selection<TransportKind>>,
) -> Result<()> {
    let records = |transport: &Selection<TransportKind>| {
        let linux = transport
            .parameters()
            .and_then(|tcp: &Tcp| tcp.control.facts.linux.some());
        let program = linux.and_then(|linux| linux.program.some());
        program.is_some_and(|program| program.records_calls)
    };
    match transport {
        Ok(transport) if asked && !records(transport) => {
            let remedy = "needs a control of kind kernel by shipped or file, whose source includes \
                ackclock.bpf.h; remove it";
            Err(Error::contradiction("control_calls", &asked.into(), remedy))
        }
        _ => Ok(()),
    }
}

/// Refuses too many instances, none, and arrivals without end.
pub(super) fn check_instances(instances: Instances) -> Result<()> {
    match instances {
        Instances::Count(count) => {
            let remedy = format!("is not between 1 and {MOST_FLOWS}");
            let few = (1..=MOST_FLOWS).contains(&u64::from(count));
            in_range(few, "count", &count, &remedy)
        }
        Instances::Arriving(arrivals) => arrivals.check().map_err(|error| error.within("arrivals")),
    }
}

/// Refuses a stop that is not after the start.
pub(super) fn check_times(start: Range, stop: Time) -> Result<()> {
    let after = stop > Time::ZERO + start.high;
    let remedy = "is not after the start; choose a later time";
    consistent(after, "stop", &stop.since(Time::ZERO), &["start"], remedy)
}

/// Refuses a host without a name.
pub(super) fn check_host(field: &str, name: Option<&str>) -> Result<()> {
    let named = name.is_none_or(|name| !name.trim().is_empty());
    in_range(named, field, &name, "is empty; for example \"server\"")
}

/// Refuses a route that is too long, and one without hops if it needs some.
pub(super) fn check_route<T>(field: &str, route: &[T], needed: bool) -> Result<()> {
    let hops = route.len();
    let remedy = "is empty; for example [\"bottleneck\"]";
    in_range(hops > 0 || !needed, field, &[(); 0], remedy)?;
    if hops > LONGEST_ROUTE {
        let message = format!("{hops} hops are too many; the most is {LONGEST_ROUTE}");
        return Err(Error::message(field, message));
    }
    Ok(())
}

/// Refuses acknowledgements without a route.
pub(super) fn check_acknowledged<T>(
    transport: &Selection<TransportKind>,
    route: &[T],
) -> Result<()> {
    let remedy = "is empty, but ACKs need a route; for example [\"return\"]";
    let has_route = transport.facts.answer_bytes == Stated::None || !route.is_empty();
    consistent(has_route, "return", &[(); 0], &["transport.kind"], remedy)
}

/// Refuses, over a transport without control, a source that only the transport limits: each write
/// would leave at once.
pub(super) fn check_traffic(
    transport: &Selection<TransportKind>,
    traffic: &Selection<TrafficKind>,
) -> Result<()> {
    let streams = Streams::new(0, 0);
    let place = StreamScope {
        streams: &streams,
        name: "check",
    };
    let mss = transport.facts.full_write();
    let transports = traffic.build(TrafficContext { place, mss }).transports();
    if transports == Transports::Tcp {
        return check_asked_for(transport, traffic);
    }
    let controlled = transport.facts.control_name != Stated::None;
    let remedy = "does not work over UDP without a rate control; choose traffic with a rate, add a \
        control, or use transport kind \"tcp\"";
    consistent(
        controlled || transports != Transports::Controlled,
        "traffic.kind",
        traffic.name,
        &["transport.kind"],
        remedy,
    )
}

/// Refuses a source that a client asks for data over another transport than TCP, and beside an
/// application that reads slowly: the client hears of data when they arrive.
fn check_asked_for(
    transport: &Selection<TransportKind>,
    traffic: &Selection<TrafficKind>,
) -> Result<()> {
    let window = transport.facts.congestion_window.some();
    let reads_slowly = window.is_some_and(|window| window.read_bit_per_s.is_some());
    every([
        consistent(
            transport.parameters::<Tcp>().is_some(),
            "traffic.kind",
            traffic.name,
            &["transport.kind"],
            "is asked for by a client, which the engine has for transport kind \"tcp\" alone; \
            choose that, or traffic that nobody asks for",
        ),
        consistent(
            !reads_slowly,
            "traffic.kind",
            traffic.name,
            &["transport.read_rate"],
            "is asked for by a client, which reads at once; remove transport.read_rate",
        ),
    ])
}

/// There is no medium of that name.
fn unknown_medium<'a>(field: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        let message = format!("unknown medium \"{name}\"; describe it under [[shared_media]]");
        return Error::message(field, message)
            .valued(&name.into())
            .coded(Code::UnknownName);
    }
    Error::unknown_name(field, &name.into(), "medium", names.into_iter())
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
    Err(Error::contradiction(&field, &value, remedy))
}

/// Returns the error that there is no hop of that name.
pub(super) fn unknown_hop(field: &str, name: &str, names: &[String]) -> Error {
    let names = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty());
    Error::unknown_name(field, &name.into(), "hop", names)
}
