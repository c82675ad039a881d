//! One run: the event loop that moves packets between flows and hops.
//!
//! Every target has at most one valid wake-up pending. Targets are numbered so that, of things that happen at the same nanosecond,
//! hops come first (in their order), then the sending sides, then the receiving sides, then the sampler.
//!
//! **Working ahead.** A hop that only one flow uses, and an endpoint behind such hops, can be seen by nobody else until the next sampling
//! time, the *horizon*. What happens there up to the horizon is carried out at once, each step told its own scheduled time. So a
//! dumbbell with access links costs two events per data packet, one at each shared hop, and the tables are the same to the bit; a
//! traced run, which must tell steps in order, does not work ahead.

use crate::events::{EventQueue, Target};
use crate::flow::Flow;
use crate::ledger::Ledger;
use crate::routes::Routes;
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
    routes: Routes,
    /// By hop: whether what leaves it can be followed ahead of time.
    followed: Vec<bool>,
    /// Hops something has entered and whose next departure is to be looked at.
    touched: Vec<u32>,
    now: Time,
    /// Up to when nobody looks at what belongs to a single flow.
    horizon: Time,
    statistics: RunStatistics,
}

impl<T: Trace> Run<T> {
    /// A run about to begin.
    pub fn new(topology: Topology, trace: T) -> Self {
        let Topology {
            hops, flows, routes, ..
        } = topology;
        let targets = hops.len() + 2 * flows.len() + 1;
        let ledger = Ledger::new(hops.len(), flows.len(), trace);
        let private = routes.private_successors(hops.len());
        let followed = hops
            .iter()
            .zip(private)
            .map(|(hop, private)| private && hop.knows_ahead())
            .collect();
        let mut run = Run {
            hops,
            flows,
            packets: PacketPool::new(),
            events: EventQueue::default(),
            armed: vec![
                Armed {
                    next: Time::NEVER,
                    spare: Time::NEVER
                };
                targets
            ],
            ledger,
            routes,
            followed,
            touched: Vec::new(),
            now: Time::ZERO,
            horizon: Time::ZERO,
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
        mut topology: Topology,
        labels: (i64, i64),
        trace: T,
        supervisor: &dyn Supervisor,
    ) -> Outcome<T> {
        let mut sampler = Sampler::new(scenario, &mut topology, labels);
        let mut run = Run::new(topology, trace);
        let end = Time::ZERO + scenario.duration;
        run.arm(run.sampler_target(), Time::ZERO);
        let complete = run.proceed_until(end, &mut sampler, supervisor);
        let until = if complete { end } else { run.now };
        run.check_conservation();
        let tables = sampler.finish(until, &mut run);
        Outcome {
            tables,
            complete,
            trace: run.ledger.trace,
            statistics: run.statistics,
        }
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
                self.horizon = if T::ON { Time::ZERO } else { next.min(end) };
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
        *armed = Armed {
            next: armed.spare,
            spare: Time::NEVER,
        };
        true
    }

    fn wake_hop(&mut self, hop: usize) {
        self.touched.push(hop as u32);
        self.work();
    }

    fn wake_sender(&mut self, flow: usize) {
        // A sender that has worked ahead has nothing due now; it only says again when.
        if self.flows[flow].poll_timeout() <= self.now {
            self.flows[flow].handle_timeout(self.now);
            self.pump_sender(flow, self.now);
            self.work();
        } else {
            self.arm_sender(flow);
        }
    }

    fn wake_receiver(&mut self, flow: usize) {
        if self.flows[flow].poll_receiver_timeout() <= self.now {
            self.flows[flow].handle_receiver_timeout(self.now);
            self.pump_receiver(flow, self.now);
            self.work();
        } else {
            self.arm_receiver(flow);
        }
    }

    /// Takes packets out of the touched hops, as far as they have left or can be followed ahead of time, until nothing moves.
    fn work(&mut self) {
        while let Some(hop) = self.touched.pop() {
            let hop = hop as usize;
            while let Some((at, id)) = self.next_departure(hop) {
                self.move_on(at, id);
            }
            let context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
            let next = self.hops[hop].poll_timeout(&context);
            self.arm(hop as Target, next);
        }
    }

    /// Up to when packets may be taken out of a hop.
    #[inline]
    fn until(&self, hop: usize) -> Time {
        if self.followed[hop] {
            self.now.max(self.horizon)
        } else {
            self.now
        }
    }

    /// The next packet out of a hop that can be moved on, and when it leaves.
    #[inline]
    fn next_departure(&mut self, hop: usize) -> Option<(Time, PacketId)> {
        let until = self.until(hop);
        self.ledger.hop = hop;
        let mut context = Context {
            packets: &mut self.packets,
            observer: &mut self.ledger,
        };
        let id = self.hops[hop].poll_transmit(until, &mut context)?;
        Some((self.packets[id].at, id))
    }

    /// A packet has left a hop at `at`: on to the next, through all that can be followed, or to its endpoint.
    fn move_on(&mut self, mut at: Time, id: PacketId) {
        let (flow, forward) = loop {
            let packet = &mut self.packets[id];
            packet.position += 1;
            match self.routes.at(packet).as_hop() {
                None => break (packet.flow.0 as usize, packet.is_forward()),
                Some(hop) => match self.enter_hop(at, hop, id, self.until(hop)) {
                    Some(left) => at = left,
                    None => return,
                },
            }
        };
        if forward {
            self.deliver_data(at, flow, id);
        } else {
            self.deliver_acknowledgement(at, flow, id);
        }
    }

    /// A packet comes to a hop; when it leaves, if that is settled and by `until`.
    #[inline]
    fn enter_hop(&mut self, at: Time, hop: usize, id: PacketId, until: Time) -> Option<Time> {
        if T::ON {
            self.ledger
                .trace
                .record(at, Step::Arrive, Some(hop), &self.packets[id], &[]);
        }
        self.ledger.hop = hop;
        let mut context = Context {
            packets: &mut self.packets,
            observer: &mut self.ledger,
        };
        let left = self.hops[hop].handle_and_release(at, id, until, &mut context);
        if left.is_none() && self.touched.last() != Some(&(hop as u32)) {
            self.touched.push(hop as u32);
        }
        left
    }

    fn deliver_data(&mut self, at: Time, flow: usize, id: PacketId) {
        self.record_endpoint(at, Step::Receive, id);
        // Timers that go off before the packet arrives come first, also when working ahead.
        while self.flows[flow].poll_receiver_timeout() < at {
            let due = self.flows[flow].poll_receiver_timeout();
            self.flows[flow].handle_receiver_timeout(due);
            self.pump_receiver(flow, due);
        }
        self.statistics.data_packets += 1;
        let packet = self.packets[id];
        self.packets.remove(id);
        self.flows[flow].receive_data(at, &packet);
        self.pump_receiver(flow, at);
    }

    fn deliver_acknowledgement(&mut self, at: Time, flow: usize, id: PacketId) {
        self.record_endpoint(at, Step::Receive, id);
        while self.flows[flow].poll_timeout() < at {
            let due = self.flows[flow].poll_timeout();
            self.flows[flow].handle_timeout(due);
            self.pump_sender(flow, due);
        }
        self.flows[flow].receive_acknowledgement(at, id, &self.packets);
        self.packets.remove(id);
        self.pump_sender(flow, at);
    }

    /// Lets the sending side send what it may at `at`, and asks when it wants to be woken.
    fn pump_sender(&mut self, flow: usize, at: Time) {
        while let Some(packet) = self.flows[flow].poll_transmit(at) {
            let id = self.packets.insert(packet);
            self.start(at, flow, true, id);
        }
        self.arm_sender(flow);
    }

    fn pump_receiver(&mut self, flow: usize, at: Time) {
        while let Some(id) = self.flows[flow].poll_acknowledgement(at, &mut self.packets) {
            self.start(at, flow, false, id);
        }
        self.arm_receiver(flow);
    }

    fn arm_sender(&mut self, flow: usize) {
        self.arm(self.sender_target(flow), self.flows[flow].poll_timeout());
    }

    fn arm_receiver(&mut self, flow: usize) {
        self.arm(
            self.receiver_target(flow),
            self.flows[flow].poll_receiver_timeout(),
        );
    }

    /// Puts a packet on the first hop of its way. An ACK is followed at once; data waits for its turn in [`Run::work`], so that a flow that
    /// is alone on all its hops goes round in a loop and not in a recursion.
    #[inline]
    fn start(&mut self, at: Time, flow: usize, forward: bool, id: PacketId) {
        self.record_endpoint(at, Step::Send, id);
        let Some(hop) = self.routes.first(flow, forward).as_hop() else {
            return;
        };
        let until = if forward { Time::ZERO } else { self.until(hop) };
        if let Some(left) = self.enter_hop(at, hop, id, until) {
            self.move_on(left, id);
        }
    }

    #[inline]
    fn record_endpoint(&mut self, at: Time, step: Step, id: PacketId) {
        if T::ON {
            let sacks = self.packets.sack_blocks(id).as_slice();
            self.ledger.trace.record(at, step, None, &self.packets[id], sacks);
        }
    }

    /// Lets every hop catch up to `now`, so that it can be read.
    pub(crate) fn catch_up(&mut self, now: Time) {
        for (number, hop) in self.hops.iter_mut().enumerate() {
            self.ledger.hop = number;
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
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
