//! One run: the event loop that moves packets between flows and hops.
//!
//! Every target has at most one valid wake-up pending. Targets are numbered so that, of things that happen at the same nanosecond,
//! hops come first (in their order), then the sending sides, then the receiving sides, then the sampler.

use crate::events::{EventQueue, Target};
use crate::flow::Flow;
use crate::ledger::Ledger;
use crate::samples::Sampler;
use crate::topology::Topology;
use crate::trace::{Step, Trace};
use ackclock_core::hop::Hop;
use ackclock_core::observe::Context;
use ackclock_core::packet::{PacketId, PacketPool};
use ackclock_core::result::Table;
use ackclock_core::scenario::Scenario;
use ackclock_core::units::Time;

/// Tells a run to stop, and is told how far it is.
pub trait Supervisor {
    /// Called every few thousand events; `false` stops the run.
    fn proceed(&self, now: Time) -> bool;
}

/// Lets a run go on to its end.
#[derive(Debug)]
pub struct Unattended;

impl Supervisor for Unattended {
    fn proceed(&self, _now: Time) -> bool {
        true
    }
}

/// How many events pass between two questions to the supervisor.
const QUESTION_EVERY: u64 = 8192;

/// Counts of a finished run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunStatistics {
    /// Wake-ups handled.
    pub events: u64,
    /// Data packets that arrived at a receiver.
    pub data_packets: u64,
    /// Most packets in flight or queued at once, at the sampling times.
    pub most_packets: usize,
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome<T> {
    /// `flows`, `samples`, `hops`, `events`.
    pub tables: Vec<(&'static str, Table)>,
    /// Whether it reached its end.
    pub complete: bool,
    /// What was listening.
    pub trace: T,
    /// Counts.
    pub statistics: RunStatistics,
}

/// The pending wake-ups of one target: the one that counts, and an obsolete one still in the queue that can serve again.
#[derive(Clone, Copy, Debug)]
struct Armed {
    next: Time,
    spare: Time,
}

/// See the module.
#[derive(Debug)]
pub struct Run<T> {
    hops: Vec<Hop>,
    flows: Vec<Flow>,
    packets: PacketPool,
    events: EventQueue,
    armed: Vec<Armed>,
    ledger: Ledger<T>,
    now: Time,
    statistics: RunStatistics,
}

impl<T: Trace> Run<T> {
    /// A run about to begin.
    pub fn new(topology: Topology, trace: T) -> Self {
        let Topology { hops, flows, .. } = topology;
        let targets = hops.len() + 2 * flows.len() + 1;
        let ledger = Ledger::new(hops.len(), flows.len(), trace);
        let mut run = Run {
            hops,
            flows,
            packets: PacketPool::new(),
            events: EventQueue::default(),
            armed: vec![Armed { next: Time::NEVER, spare: Time::NEVER }; targets],
            ledger,
            now: Time::ZERO,
            statistics: RunStatistics::default(),
        };
        for flow in 0..run.flows.len() {
            run.arm(run.sender_target(flow), run.flows[flow].poll_timeout());
        }
        run
    }

    /// Runs a scenario's replicate to its end.
    pub fn simulate(
        scenario: &Scenario,
        topology: Topology,
        labels: (i64, i64),
        trace: T,
        supervisor: &dyn Supervisor,
    ) -> Outcome<T> {
        let mut sampler = Sampler::new(scenario, topology.shared.clone(), labels);
        let mut run = Run::new(topology, trace);
        let end = Time::ZERO + scenario.duration;
        run.arm(run.sampler_target(), Time::ZERO);
        let complete = run.proceed_until(end, &mut sampler, supervisor);
        let until = if complete { end } else { run.now };
        run.check_conservation();
        let tables = sampler.finish(until, &mut run);
        Outcome { tables, complete, trace: run.ledger.trace, statistics: run.statistics }
    }

    /// Handles events up to `end`; `false` if the supervisor stopped it.
    fn proceed_until(&mut self, end: Time, sampler: &mut Sampler, supervisor: &dyn Supervisor) -> bool {
        let (first_flow, first_receiver) = (self.hops.len(), self.hops.len() + self.flows.len());
        let last = self.sampler_target();
        while let Some((time, target)) = self.events.pop() {
            if time > end {
                break;
            }
            if !self.disarm(time, target) {
                continue;
            }
            debug_assert!(time >= self.now, "time is monotone");
            self.now = time;
            self.statistics.events += 1;
            let index = target as usize;
            if index < first_flow {
                self.wake_hop(index);
            } else if index < first_receiver {
                self.wake_sender(index - first_flow);
            } else if target != last {
                self.wake_receiver(index - first_receiver);
            } else {
                let next = sampler.sample(time, self);
                self.arm(target, next);
            }
            if self.statistics.events.is_multiple_of(QUESTION_EVERY) && !supervisor.proceed(time) {
                return false;
            }
        }
        true
    }

    fn sender_target(&self, flow: usize) -> Target {
        (self.hops.len() + flow) as Target
    }
    fn receiver_target(&self, flow: usize) -> Target {
        (self.hops.len() + self.flows.len() + flow) as Target
    }
    fn sampler_target(&self) -> Target {
        (self.armed.len() - 1) as Target
    }

    /// Makes sure that `target` is woken at `at` or before. Waking early is harmless: the target says again when.
    #[inline]
    fn arm(&mut self, target: Target, at: Time) {
        let armed = &mut self.armed[target as usize];
        if at >= armed.next {
            return;
        }
        // The wake-up that was next stays in the queue and serves later: a sender whose pacing timer goes off a thousand times
        // before its retransmission timer keeps one event for the latter. One more in between would be popped as obsolete.
        if armed.spare.is_never() {
            armed.spare = armed.next;
        }
        armed.next = at;
        self.events.push(at, target);
    }

    /// Takes a popped wake-up off the record; `false` if it is obsolete.
    #[inline]
    fn disarm(&mut self, time: Time, target: Target) -> bool {
        let armed = &mut self.armed[target as usize];
        if time != armed.next {
            return false;
        }
        *armed = Armed { next: armed.spare, spare: Time::NEVER };
        true
    }

    fn wake_hop(&mut self, hop: usize) {
        loop {
            self.ledger.hop = hop;
            let mut context = Context { packets: &mut self.packets, observer: &mut self.ledger };
            let Some(id) = self.hops[hop].poll_transmit(self.now, &mut context) else { break };
            self.forward(id);
        }
        self.arm_hop(hop);
    }

    /// A packet has left a hop: on to the next, or to its endpoint.
    #[inline]
    fn forward(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        packet.position += 1;
        let (flow, position, forward) = (packet.flow.0 as usize, packet.position, packet.is_forward());
        if let Some(&hop) = self.flows[flow].route(forward).get(usize::from(position)) {
            self.enter_hop(hop as usize, id);
            self.arm_hop(hop as usize);
        } else {
            self.deliver(flow, id, forward);
        }
    }

    #[inline]
    fn enter_hop(&mut self, hop: usize, id: PacketId) {
        if T::ON {
            self.ledger.trace.record(self.now, Step::Arrive, Some(hop), &self.packets[id], &[]);
        }
        self.ledger.hop = hop;
        let mut context = Context { packets: &mut self.packets, observer: &mut self.ledger };
        self.hops[hop].handle_packet(self.now, id, &mut context);
    }

    #[inline]
    fn arm_hop(&mut self, hop: usize) {
        let context = Context { packets: &mut self.packets, observer: &mut self.ledger };
        let next = self.hops[hop].poll_timeout(&context);
        self.arm(hop as Target, next);
    }

    fn deliver(&mut self, flow: usize, id: PacketId, forward: bool) {
        if T::ON {
            let sacks = self.packets.sack_blocks(id).as_slice();
            self.ledger.trace.record(self.now, Step::Receive, None, &self.packets[id], sacks);
        }
        if forward {
            self.statistics.data_packets += 1;
            let packet = self.packets[id];
            self.packets.remove(id);
            self.flows[flow].receive_data(self.now, &packet);
            self.pump_receiver(flow);
        } else {
            self.flows[flow].receive_acknowledgement(self.now, id, &self.packets);
            self.packets.remove(id);
            self.pump_sender(flow);
        }
    }

    fn wake_sender(&mut self, flow: usize) {
        self.flows[flow].handle_timeout(self.now);
        self.pump_sender(flow);
    }

    fn wake_receiver(&mut self, flow: usize) {
        self.flows[flow].handle_receiver_timeout(self.now);
        self.pump_receiver(flow);
    }

    /// Lets the sending side send what it may, and asks when it wants to be woken.
    fn pump_sender(&mut self, flow: usize) {
        let mut sent = false;
        while let Some(packet) = self.flows[flow].poll_transmit(self.now) {
            let id = self.packets.insert(packet);
            self.start(flow, true, id);
            sent = true;
        }
        if sent {
            self.arm_hop(self.flows[flow].route(true)[0] as usize);
        }
        self.arm(self.sender_target(flow), self.flows[flow].poll_timeout());
    }

    fn pump_receiver(&mut self, flow: usize) {
        let mut sent = false;
        while let Some(id) = self.flows[flow].poll_acknowledgement(self.now, &mut self.packets) {
            self.start(flow, false, id);
            sent = true;
        }
        if sent {
            self.arm_hop(self.flows[flow].route(false)[0] as usize);
        }
        self.arm(self.receiver_target(flow), self.flows[flow].poll_receiver_timeout());
    }

    #[inline]
    fn start(&mut self, flow: usize, forward: bool, id: PacketId) {
        if T::ON {
            let sacks = self.packets.sack_blocks(id).as_slice();
            self.ledger.trace.record(self.now, Step::Send, None, &self.packets[id], sacks);
        }
        self.enter_hop(self.flows[flow].route(forward)[0] as usize, id);
    }

    /// Lets every hop catch up to `now`, so that it can be read.
    pub(crate) fn catch_up(&mut self, now: Time) {
        for (number, hop) in self.hops.iter_mut().enumerate() {
            self.ledger.hop = number;
            let mut context = Context { packets: &mut self.packets, observer: &mut self.ledger };
            hop.catch_up(now, &mut context);
        }
        self.statistics.most_packets = self.statistics.most_packets.max(self.packets.live());
        if cfg!(debug_assertions) {
            self.check_conservation();
        }
    }

    /// Packets are conserved: arrivals + duplicates = departures + drops + inside, at every hop; and every live packet is inside one.
    pub(crate) fn check_conservation(&self) {
        let mut inside = 0;
        for (hop, losses) in self.hops.iter().zip(&self.ledger.hops) {
            let counters = hop.counters();
            let drops = losses.queue + losses.aqm + losses.impairment;
            assert_eq!(
                counters.arrivals + counters.duplicates,
                counters.departures + drops + hop.inside(),
                "packets are conserved"
            );
            inside += hop.inside();
        }
        assert_eq!(inside, self.packets.live() as u64, "every packet is in a hop");
    }

    /// The hops.
    pub(crate) fn hops(&self) -> &[Hop] {
        &self.hops
    }
    /// The flows.
    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }
    /// The flows, to be asked for their events.
    pub(crate) fn flows_mut(&mut self) -> &mut [Flow] {
        &mut self.flows
    }
    /// Who dropped what.
    pub(crate) fn ledger(&self) -> &Ledger<T> {
        &self.ledger
    }
}
