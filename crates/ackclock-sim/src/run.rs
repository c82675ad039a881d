//! One run: the event loop that moves packets between flows and hops.
//!
//! An event is a wake-up of a target: a hop, a sender, a receiver, the sampler or a medium. A
//! packet that leaves a hop enters the next one and, at the end of its route, reaches an endpoint,
//! which may answer. Every target has at most one valid wake-up pending. The numbers of targets
//! order events at the same nanosecond: hops come first, then senders, receivers, the sampler,
//! media and clients, each in the order of the network.
//!
//! The file `run/ahead.rs` executes in advance what only one flow can observe, so that many steps
//! need no event. The file `run/windows.rs` does so flow by flow when there are many flows. Neither
//! changes a table.

use crate::events::{Alarm, EventQueue, Target};
use crate::flow::Flow;
use crate::hop_slot::HopSlot;
use crate::ledger::Ledger;
use crate::media::{Channel, Media};
use crate::samples::{Sampler, Snapshot};
use crate::topology::Topology;
use crate::trace::{Step, Trace};
use ackclock_core::hop::{Arrival, Hop};
use ackclock_core::medium::Completion;
use ackclock_core::observe::Context;
use ackclock_core::packet::{Content, PacketId, PacketPool};
use ackclock_core::result::Table;
use ackclock_core::routes::Routes;
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;
use ahead::Clock;
use heirs::Heirs;
use leg::Leg;
use windows::Windows;

mod ahead;
mod endpoints;
mod heirs;
mod leg;
mod orders;
mod simulation;
mod windows;

pub use simulation::Simulation;

/// Observes the progress of a run and may pause or stop it.
pub trait Supervisor {
    /// Called every few thousand events. Returns false to return from the run, which may go on.
    fn proceed(&self, now: Time) -> bool;
}

/// Never stops a run.
#[derive(Debug)]
pub struct Unattended;

impl Supervisor for Unattended {
    fn proceed(&self, _now: Time) -> bool {
        true
    }
}

/// Events between two calls of the supervisor; or data packets, if a flow that has the network for
/// itself needs hardly any event.
const QUESTION_EVERY: u64 = 8192;

/// Counts of a finished run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunStatistics {
    /// Wake-ups handled.
    pub events: u64,
    /// Data packets that arrived at a receiver.
    pub data_packets: u64,
    /// Most packets in flight or queued at the same time, over the sampling times.
    pub most_packets: usize,
}

/// Returns the slots of hops that know who can observe them.
fn slots_of(hops: Vec<Hop>, routes: &Routes) -> Vec<HopSlot> {
    let (alone, followed) = (
        routes.private(hops.len()),
        routes.private_successors(hops.len()),
    );
    let mut slots: Vec<HopSlot> = hops.into_iter().map(HopSlot::new).collect();
    for (number, slot) in slots.iter_mut().enumerate() {
        if followed[number] {
            slot.hop.mark_private(alone[number]);
        }
    }
    slots
}

/// The results of a run.
#[derive(Debug)]
pub struct SimulationOutcome<T> {
    /// `flows`, `samples`, `hops`, `events` and `counters`; `media` and `contenders` if there are
    /// media.
    pub tables: Vec<(&'static str, Table)>,
    /// True if the run reached its end.
    pub complete: bool,
    /// The reason why a control could not go on, which ended the run.
    pub fault: Option<Fault>,
    /// Trace of the run.
    pub trace: T,
    /// Counts of the run.
    pub statistics: RunStatistics,
}

/// A control or a transport that could not go on.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Index of its group in the scenario's flows.
    pub group: u32,
    /// The reason.
    pub reason: String,
}

/// A run: the state of the network and of its flows, and the pending events.
#[derive(Debug)]
pub struct Run<T> {
    slots: Vec<HopSlot>,
    flows: Vec<Flow>,
    packets: PacketPool,
    events: EventQueue,
    /// Wake-up of the sampler.
    sampling: Alarm,
    ledger: Ledger<T>,
    routes: Routes,
    clock: Clock,
    /// Private hops from which a packet may leave at once.
    ready: Vec<u32>,
    /// Packets that a sender sends at one time, while it sends them; empty in between.
    leaving: Vec<PacketId>,
    statistics: RunStatistics,
    /// Number of events at which to call the supervisor.
    question_at: u64,
    /// Data packets at its last call.
    asked_packets: u64,
    /// Flows that may fail.
    fallible: Vec<usize>,
    /// In boxes, so that the parts of the run that every packet needs stay together.
    windows: Box<Windows>,
    media: Box<Media>,
    /// Parameters that instances leave to later ones, if any may resume.
    heirs: Option<Box<Heirs>>,
}

impl<T: Trace> Run<T> {
    /// Makes a run that has not begun.
    pub fn new(topology: Topology, trace: T) -> Self {
        let Topology {
            hops,
            flows,
            routes,
            media,
            ..
        } = topology;
        let ledger = Ledger::new(hops.len(), flows.len(), trace);
        let slots = slots_of(hops, &routes);
        let fallible = (0..flows.len()).filter(|&flow| flows[flow].may_fail());
        let fallible = fallible.collect();
        let asks = flows.iter().any(|flow| flow.dialogue.is_some());
        let heirs = Heirs::of(&flows);
        let in_step = T::ON || asks || heirs.is_some();
        let windows = Box::new(Windows::new(&routes, &slots, in_step));
        let mut run = Run {
            clock: Clock::new(windows.are_any(), in_step),
            ready: Vec::new(),
            leaving: Vec::new(),
            windows,
            media: Box::new(Media::new(media)),
            slots,
            flows,
            packets: PacketPool::new(),
            events: EventQueue::default(),
            sampling: Alarm::default(),
            ledger,
            routes,
            statistics: RunStatistics::default(),
            question_at: QUESTION_EVERY,
            asked_packets: 0,
            fallible,
            heirs,
        };
        run.events.keep_reach(run.windows.reach());
        for flow in 0..run.flows.len() {
            run.arm_sender(flow);
            run.arm_client(flow);
        }
        run.sampling
            .set(Time::ZERO, run.sampler_target(), &mut run.events);
        run
    }

    /// Executes a job to its end, in the topology built from it.
    pub fn simulate(
        job: &Job<'_>,
        topology: Topology,
        trace: T,
        supervisor: &dyn Supervisor,
    ) -> SimulationOutcome<T> {
        let mut simulation = Simulation::new(job, topology, trace);
        simulation.proceed(supervisor);
        simulation.finish()
    }

    /// Handles events up to `end`, after which the run may go on. Returns false if the supervisor
    /// stopped it.
    fn proceed_until(
        &mut self,
        end: Time,
        sampler: &mut Sampler,
        supervisor: &dyn Supervisor,
    ) -> bool {
        self.clock.stop_at(end);
        if self.windows.are_any() {
            return self.proceed_by_windows(end, sampler, supervisor);
        }
        while let Some((time, target)) = self.events.pop() {
            if time > end {
                self.events.push(time, target);
                break;
            }
            self.handle(time, target, end, sampler);
            if self.statistics.events >= self.question_at && !self.may_go_on(time, supervisor) {
                return false;
            }
        }
        true
    }

    /// True if neither the supervisor stops the run nor a control has failed.
    #[cold] // and not inlined: the loop's registers are for packets
    fn may_go_on(&mut self, time: Time, supervisor: &dyn Supervisor) -> bool {
        self.question_at = self.statistics.events + QUESTION_EVERY;
        self.asked_packets = self.statistics.data_packets;
        supervisor.proceed(time) && self.fault().is_none()
    }

    /// Returns the first fault of a control.
    fn fault(&mut self) -> Option<Fault> {
        self.fallible.iter().find_map(|number| {
            let flow = &mut self.flows[*number];
            let group = flow.group;
            flow.fault().map(|reason| Fault { group, reason })
        })
    }

    /// Handles a wake-up.
    #[inline(always)]
    fn handle(&mut self, time: Time, target: Target, end: Time, sampler: &mut Sampler) {
        self.clock.advance(time);
        let (first_flow, first_receiver) = (self.slots.len(), self.slots.len() + self.flows.len());
        let index = target as usize;
        if index < first_flow {
            if !self.slots[index].wake.take(time) {
                return;
            }
            self.drain(index);
            self.work();
        } else if index < first_receiver {
            self.wake_sender(index - first_flow);
        } else if target < self.sampler_target() {
            self.wake_receiver(index - first_receiver);
        } else if target > self.sampler_target() {
            self.wake_rare((target - self.sampler_target()) as usize - 1);
        } else if self.sampling.take(time) {
            self.sample(time, end, sampler);
        }
        self.statistics.events += 1;
    }

    /// Records a sample if one is due, and sets the next horizon.
    fn sample(&mut self, time: Time, end: Time, sampler: &mut Sampler) {
        let next = sampler.sample(time, self.snapshot(time, sampler.sampled_hops()));
        let next = self.clock.next_horizon(next, self.statistics.data_packets);
        self.sampling
            .set(next, self.sampler_target(), &mut self.events);
        self.clock.work_until(next, end);
        if self.statistics.data_packets - self.asked_packets >= QUESTION_EVERY {
            self.question_at = self.statistics.events;
        }
    }

    fn sender_target(&self, flow: usize) -> Target {
        (self.slots.len() + flow) as Target
    }
    fn receiver_target(&self, flow: usize) -> Target {
        (self.slots.len() + self.flows.len() + flow) as Target
    }
    fn sampler_target(&self) -> Target {
        (self.slots.len() + 2 * self.flows.len()) as Target
    }
    fn medium_target(&self, medium: usize) -> Target {
        self.sampler_target() + 1 + medium as Target
    }
    fn client_target(&self, flow: usize) -> Target {
        self.medium_target(self.media.channels.len() + flow)
    }

    /// Wakes what few runs have, by its number behind the sampler: a medium, or a client.
    #[cold]
    #[inline(never)]
    fn wake_rare(&mut self, number: usize) {
        match number.checked_sub(self.media.channels.len()) {
            None => self.wake_medium(number),
            Some(flow) => self.wake_client(flow),
        }
    }

    /// Moves on all packets that leave a hop by now, or by the time up to which it is worked ahead.
    #[inline(always)]
    fn drain(&mut self, hop: usize) {
        loop {
            let slot = &mut self.slots[hop];
            let until = self.clock.until(&slot.hop);
            let departure = if slot.hop.knows_ahead() {
                slot.hop.poll_ahead(until, &mut self.packets)
            } else {
                self.ledger.hop = hop;
                let mut context = Context {
                    packets: &mut self.packets,
                    observer: &mut self.ledger,
                };
                slot.hop.poll_transmit(until, &mut context)
            };
            let done = departure.not_before > until;
            if done {
                slot.wake
                    .set(departure.not_before, hop as Target, &mut self.events);
            }
            match departure.packet {
                Some((at, id)) => {
                    let leg = Leg::of(&self.packets[id]);
                    if !self.defer(at, hop, id, leg) {
                        self.travel(at, id, leg.next());
                    }
                }
                None => return,
            }
            if done {
                return;
            }
        }
    }

    /// Moves a packet from a stop of its route at `at` through all hops that release it at once, to
    /// its endpoint. Continues with the packet that answers it, if there is one.
    #[inline(always)]
    fn travel(&mut self, mut at: Time, mut id: PacketId, mut leg: Leg) {
        loop {
            let begin = self.routes.begin(leg.flow(), leg.forward);
            while let Some(hop) = self.routes.stop(begin + usize::from(leg.position)).as_hop() {
                match self.enter_hop(at, hop, id, leg, true) {
                    Some(left) => at = left,
                    None => return,
                }
                if self.defer(at, hop, id, leg) {
                    return;
                }
                leg = leg.next();
            }
            let next = if leg.forward {
                self.deliver_data(at, leg.flow(), id)
            } else {
                self.deliver_acknowledgement(at, leg.flow(), id)
            };
            match next {
                Some(next) => (id, leg) = (next, Leg::of(&self.packets[next])),
                None => return,
            }
        }
    }

    /// Puts a packet into a hop. Returns its departure time if the hop releases it at once, which
    /// it does only if `release` is set.
    #[inline(always)]
    fn enter_hop(
        &mut self,
        at: Time,
        hop: usize,
        id: PacketId,
        leg: Leg,
        release: bool,
    ) -> Option<Time> {
        if T::ON {
            self.ledger.trace.record(
                at,
                Step::Arrive,
                Some(hop),
                &self.packets[id],
                Content::Nothing,
            );
        }
        let slot = &mut self.slots[hop];
        let until = self.clock.until(&slot.hop);
        let release = release.then_some(until);
        let packet = (id, leg.size);
        let arrival = match slot.hop.pass_idle(at, packet, release, &mut self.packets) {
            Some(Arrival::Released(left)) => return Some(left),
            Some(kept) => kept,
            None => {
                if slot.hop.looks_at_packets() {
                    self.packets[id].position = leg.position;
                }
                self.ledger.hop = hop;
                let mut context = Context {
                    packets: &mut self.packets,
                    observer: &mut self.ledger,
                };
                slot.hop.handle_packet(at, packet, release, &mut context)
            }
        };
        let next = match arrival {
            Arrival::Released(left) => return Some(left),
            Arrival::Kept(next) => next,
        };
        if next.is_never() {
            debug_assert!(
                at == self.clock.now || slot.hop.contender().is_none(),
                "media are in sight of all"
            );
            self.request_access(hop);
            return None;
        }
        self.packets[id].position = leg.position; // the packet has not been dropped
        if next <= until && slot.hop.is_private() {
            self.note_ready(hop);
        } else {
            // Even if it is now: events that other flows can observe happen in the order of events.
            // Otherwise the order of two arrivals at the same nanosecond would depend on how far a
            // flow has worked ahead.
            slot.wake.set(next, hop as Target, &mut self.events);
        }
        None
    }

    /// Requests access to the medium for which a hop contends, if its queue was empty before a
    /// packet came. Otherwise does nothing: a packet that a hop keeps for ever has been dropped.
    #[cold]
    #[inline(never)]
    fn request_access(&mut self, hop: usize) {
        let Some((contender, size)) = self.slots[hop].hop.request_access() else {
            return;
        };
        let (number, now) = (contender.medium as usize, self.clock.now);
        let target = self.medium_target(number);
        let Channel { shared, wake } = &mut self.media.channels[number];
        shared.medium.join(now, contender.contender as usize, size);
        wake.set(shared.medium.next(), target, &mut self.events);
    }

    /// Does everything due at a medium. The packets whose exchange is complete leave their hops.
    #[inline(never)]
    fn wake_medium(&mut self, number: usize) {
        let (now, target) = (self.clock.now, self.medium_target(number));
        let Media {
            channels,
            completions,
        } = &mut *self.media;
        let Channel { shared, wake } = &mut channels[number];
        if !wake.take(now) {
            return;
        }
        shared.medium.proceed(now, completions);
        for Completion { contender, sent } in completions.drain(..) {
            let hop = shared.contenders[contender].hop;
            self.ledger.hop = hop as usize;
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
            let slot = &mut self.slots[hop as usize];
            let (next, following) = slot.hop.complete_exchange(now, sent, &mut context);
            if let Some(size) = following {
                shared.medium.follow(now, contender, size);
            }
            slot.wake.set(next, hop, &mut self.events);
        }
        wake.set(shared.medium.next(), target, &mut self.events);
    }

    #[inline]
    fn record_endpoint(&mut self, at: Time, step: Step, id: PacketId) {
        if T::ON {
            let (packet, content) = (&self.packets[id], self.packets.content(id));
            self.ledger.trace.record(at, step, None, packet, content);
        }
    }

    /// Lets hops catch up to `now`, and returns the state for the sampler. The first `sampled` hops
    /// are enough: no decision of another depends on when it catches up.
    fn snapshot(&mut self, now: Time, sampled: usize) -> Snapshot<'_> {
        for (number, slot) in self.slots.iter_mut().enumerate().take(sampled) {
            self.ledger.hop = number;
            let mut context = Context {
                packets: &mut self.packets,
                observer: &mut self.ledger,
            };
            slot.hop.catch_up(now, &mut context);
        }
        self.statistics.most_packets = self.statistics.most_packets.max(self.packets.live());
        if cfg!(debug_assertions) {
            self.check_conservation();
        }
        Snapshot {
            hops: &self.slots,
            flows: &mut self.flows,
            losses: &self.ledger.losses,
            media: &self.media,
        }
    }

    /// Asserts that packets are conserved at every hop, and every live packet is inside one.
    fn check_conservation(&self) {
        let hops = self.slots.iter().zip(&self.ledger.losses.hops);
        let inside: u64 = hops
            .map(|(slot, losses)| slot.hop.check_conservation(losses.drops(), &self.packets))
            .sum();
        assert_eq!(
            inside,
            self.packets.live() as u64,
            "every packet is in a hop"
        );
    }
}
