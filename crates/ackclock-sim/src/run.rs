//! One run: the event loop that moves packets between flows and hops.
//!
//! Every target has at most one valid wake-up pending. Targets are numbered so that, of things that happen at the same nanosecond,
//! hops come first (in their order), then the sending sides, then the receiving sides, then the sampler, then media.
//!
//! **Working ahead.** A hop that only one flow uses, and an endpoint behind such hops, can be seen by nobody else until the next sampling
//! time, the *horizon*. What happens there up to the horizon is carried out at once, each step told its own scheduled time. So a
//! dumbbell with access links costs two events per data packet, one at each shared hop, and the tables are the same to the bit; a
//! traced run, which must tell steps in order, does not work ahead. With many flows, what happens to a single one is put off and done flow by flow, see
//! `windows`.

use crate::events::{Alarm, EventQueue, Target};
use crate::flow::Flow;
use crate::hop_slot::HopSlot;
use crate::ledger::Ledger;
use crate::media::{Channel, Media};
use crate::samples::Sampler;
use crate::topology::Topology;
use crate::trace::{Step, Trace};
use ackclock_core::hop::{Arrival, Hop};
use ackclock_core::job::Job;
use ackclock_core::medium::Over;
use ackclock_core::observe::Context;
use ackclock_core::packet::{Packet, PacketId, PacketPool, SackBlocks};
use ackclock_core::result::Table;
use ackclock_core::routes::Routes;
use ackclock_core::units::Time;
use windows::Windows;

mod windows;

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

/// Where a packet is going: what the run has to know of it at every hop, in one register.
#[derive(Clone, Copy, Debug)]
struct Leg {
    flow: u32,
    size: u16,
    /// The stop of its way that it is at or comes to.
    position: u8,
    forward: bool,
}

impl Leg {
    /// Where a packet is.
    #[inline(always)]
    const fn of(packet: &Packet) -> Self {
        Leg {
            flow: packet.flow.0,
            size: packet.size,
            position: packet.position,
            forward: packet.is_forward(),
        }
    }
    /// One stop further on.
    #[inline(always)]
    const fn next(mut self) -> Self {
        self.position += 1;
        self
    }
    const fn flow(self) -> usize {
        self.flow as usize
    }
}

/// See the module.
#[derive(Debug)]
pub struct Run<T> {
    slots: Vec<HopSlot>,
    flows: Vec<Flow>,
    packets: PacketPool,
    events: EventQueue,
    /// When the sampler comes.
    sampling: Alarm,
    ledger: Ledger<T>,
    routes: Routes,
    /// Followed hops something has entered that may leave at once.
    ready: Vec<u32>,
    now: Time,
    /// Up to when nobody looks at what belongs to a single flow.
    horizon: Time,
    /// Up to when what can be followed is followed: the horizon, or now if that is later.
    ahead: Time,
    /// When the window ends; never if the run is not cut into windows.
    window_end: Time,
    statistics: RunStatistics,
    /// In boxes, so that what every packet needs of the run stays together.
    windows: Box<Windows>,
    media: Box<Media>,
}

impl<T: Trace> Run<T> {
    /// A run about to begin.
    pub fn new(topology: Topology, trace: T) -> Self {
        let Topology {
            hops,
            flows,
            routes,
            media,
            ..
        } = topology;
        let ledger = Ledger::new(hops.len(), flows.len(), trace);
        let private = routes.private_successors(hops.len());
        let slots: Vec<HopSlot> = hops
            .into_iter()
            .zip(private)
            .map(|(mut hop, private)| {
                if private {
                    hop.mark_private();
                }
                HopSlot::new(hop)
            })
            .collect();
        let windows = Box::new(Windows::new(&routes, &slots, T::ON));
        let mut run = Run {
            window_end: if windows.are_any() {
                Time::ZERO
            } else {
                Time::NEVER
            },
            windows,
            media: Box::new(Media::new(media)),
            slots,
            flows,
            packets: PacketPool::new(),
            events: EventQueue::default(),
            sampling: Alarm::default(),
            ledger,
            routes,
            ready: Vec::new(),
            now: Time::ZERO,
            horizon: Time::ZERO,
            ahead: Time::ZERO,
            statistics: RunStatistics::default(),
        };
        run.events.keep_reach(run.windows.reach());
        for flow in 0..run.flows.len() {
            run.arm_sender(flow);
        }
        run.sampling
            .set(Time::ZERO, run.sampler_target(), &mut run.events);
        run
    }

    /// Does a job to its end, in the topology that was built of it.
    pub fn simulate(
        job: &Job<'_>,
        mut topology: Topology,
        trace: T,
        supervisor: &dyn Supervisor,
    ) -> Outcome<T> {
        let mut sampler = Sampler::new(job, &mut topology);
        let mut run = Run::new(topology, trace);
        let end = Time::ZERO + job.scenario.duration;
        let complete = run.proceed_until(end, &mut sampler, supervisor);
        let until = if complete { end } else { run.now };
        let tables = sampler.finish(until, &mut run);
        run.check_conservation();
        Outcome {
            tables,
            complete,
            trace: run.ledger.trace,
            statistics: run.statistics,
        }
    }

    /// Handles events up to `end`; `false` if the supervisor stopped it.
    fn proceed_until(&mut self, end: Time, sampler: &mut Sampler, supervisor: &dyn Supervisor) -> bool {
        if self.windows.are_any() {
            return self.proceed_by_windows(end, sampler, supervisor);
        }
        while let Some((time, target)) = self.events.pop() {
            if time > end {
                break;
            }
            self.handle(time, target, end, sampler);
            if self.statistics.events.is_multiple_of(QUESTION_EVERY) && !supervisor.proceed(time) {
                return false;
            }
        }
        true
    }

    /// It is `time` now.
    #[inline(always)]
    fn advance(&mut self, time: Time) {
        debug_assert!(time >= self.now, "time is monotone");
        self.now = time;
        self.ahead = time.max(self.horizon);
    }

    /// Handles a wake-up.
    #[inline(always)]
    fn handle(&mut self, time: Time, target: Target, end: Time, sampler: &mut Sampler) {
        self.advance(time);
        let (first_flow, first_receiver) = (self.slots.len(), self.slots.len() + self.flows.len());
        let index = target as usize;
        if index < first_flow {
            if !self.slots[index].wake.take(time) {
                return;
            }
            self.empty(index);
            self.work();
        } else if index < first_receiver {
            self.wake_sender(index - first_flow);
        } else if target < self.sampler_target() {
            self.wake_receiver(index - first_receiver);
        } else if target > self.sampler_target() {
            self.wake_medium((target - self.sampler_target()) as usize - 1);
        } else if self.sampling.take(time) {
            let next = sampler.sample(time, self);
            self.sampling.set(next, target, &mut self.events);
            self.horizon = if T::ON { Time::ZERO } else { next.min(end) };
        }
        self.statistics.events += 1;
    }

    fn sampler_target(&self) -> Target {
        (self.slots.len() + 2 * self.flows.len()) as Target
    }

    fn medium_target(&self, medium: usize) -> Target {
        self.sampler_target() + 1 + medium as Target
    }

    /// Does what is due at a medium; what is over there leaves its hop.
    #[inline(never)]
    fn wake_medium(&mut self, number: usize) {
        let (now, target) = (self.now, self.medium_target(number));
        let Media { channels, over } = &mut *self.media;
        let Channel { shared, wake } = &mut channels[number];
        if !wake.take(now) {
            return;
        }
        shared.medium.proceed(now, over);
        for Over { contender, sent } in over.drain(..) {
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

    /// A packet has come to a hop, and nothing follows from it by itself: it has been dropped, or the hop contends and its medium must know.
    #[cold]
    #[inline(never)]
    fn request_access(&mut self, hop: usize) {
        let Some((seat, size)) = self.slots[hop].hop.request_access() else {
            return;
        };
        let (number, now) = (seat.medium as usize, self.now);
        let target = self.medium_target(number);
        let Channel { shared, wake } = &mut self.media.channels[number];
        shared.medium.join(now, seat.contender as usize, size);
        wake.set(shared.medium.next(), target, &mut self.events);
    }

    fn wake_sender(&mut self, flow: usize) {
        if !self.flows[flow].sending.take(self.now) {
            return;
        }
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
        if !self.flows[flow].acknowledging.take(self.now) {
            return;
        }
        if self.flows[flow].poll_receiver_timeout() <= self.now {
            self.flows[flow].handle_receiver_timeout(self.now);
            self.pump_receiver(flow, self.now);
            self.work();
        } else {
            self.arm_receiver(flow);
        }
    }

    /// Takes packets out of the ready hops, as far as they have left or can be followed ahead of time, until nothing moves.
    #[inline]
    fn work(&mut self) {
        if !self.ready.is_empty() {
            self.work_off();
        }
    }

    #[inline(never)]
    fn work_off(&mut self) {
        while let Some(hop) = self.ready.pop() {
            self.empty(hop as usize);
        }
    }

    /// Moves on what leaves a hop, as far as it has left or can be followed ahead of time.
    #[inline(always)]
    fn empty(&mut self, hop: usize) {
        loop {
            let slot = &mut self.slots[hop];
            let until = slot.until(self.now, self.ahead);
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

    /// A packet comes to a stop of its way at `at`: on through all hops that can be followed, to its endpoint, and on with the packet that answers it, if
    /// there is one.
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

    /// A packet comes to a hop; when it leaves, if that is settled and it can be followed.
    #[inline(always)]
    fn enter_hop(&mut self, at: Time, hop: usize, id: PacketId, leg: Leg, follow: bool) -> Option<Time> {
        if T::ON {
            self.ledger
                .trace
                .record(at, Step::Arrive, Some(hop), &self.packets[id], &[]);
        }
        let slot = &mut self.slots[hop];
        let until = slot.until(self.now, self.ahead);
        let release = follow.then_some(until);
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
                at == self.now || slot.hop.seat().is_none(),
                "media are in sight of all"
            );
            self.request_access(hop);
            return None;
        }
        self.packets[id].position = leg.position; // it has not been dropped
        if next <= until && slot.hop.is_private() {
            if self.ready.last() != Some(&(hop as u32)) {
                self.ready.push(hop as u32);
            }
        } else {
            // Even if it is now: what others can see happens in the order of events, or who arrives first of two at the same
            // nanosecond would depend on how far somebody has worked ahead.
            slot.wake.set(next, hop as Target, &mut self.events);
        }
        None
    }

    /// Data has come to its receiver; the ACK that answers it at once, in the packet's place.
    #[inline(always)]
    fn deliver_data(&mut self, at: Time, flow: usize, id: PacketId) -> Option<PacketId> {
        self.record_endpoint(at, Step::Receive, id);
        // Timers that go off before the packet arrives come first, also when working ahead.
        while let due = self.flows[flow].poll_receiver_timeout()
            && due < at
        {
            self.flows[flow].handle_receiver_timeout(due);
            self.pump_receiver(flow, due);
        }
        self.statistics.data_packets += 1;
        let (target, packets) = (self.receiver_target(flow), &mut self.packets);
        let flow = &mut self.flows[flow];
        flow.receive_data(at, id, packets);
        let answered = flow.poll_acknowledgement(at, Some(id), packets).is_some();
        flow.arm_receiver(target, &mut self.events);
        if answered {
            self.record_endpoint(at, Step::Send, id);
            return Some(id);
        }
        packets.remove(id);
        None
    }

    /// An ACK has come to its sender; the only packet that it lets go, if it is one.
    #[inline(always)]
    fn deliver_acknowledgement(&mut self, at: Time, flow: usize, id: PacketId) -> Option<PacketId> {
        self.record_endpoint(at, Step::Receive, id);
        while let due = self.flows[flow].poll_timeout()
            && due < at
        {
            self.flows[flow].handle_timeout(due);
            self.pump_sender(flow, due);
        }
        self.flows[flow].receive_acknowledgement(at, id, &self.packets);
        self.packets.remove(id);
        let only = self.send(flow, at);
        if let Some(id) = only {
            self.record_endpoint(at, Step::Send, id);
        }
        only
    }

    /// See [`Run::send`].
    #[inline(never)]
    fn pump_sender(&mut self, flow: usize, at: Time) {
        if let Some(id) = self.send(flow, at) {
            self.begin_way(flow, at, id);
        }
    }

    /// Lets the sending side send what it may at `at`, and asks when it wants to be woken. If that is one packet, it is yet to begin its way.
    #[inline(always)]
    fn send(&mut self, flow: usize, at: Time) -> Option<PacketId> {
        let (mut last, mut several) = (None, false);
        while let Some(id) = self.flows[flow].poll_transmit(at, &mut self.packets) {
            if let Some(before) = last.replace(id) {
                self.begin_way(flow, at, before);
                several = true;
            }
        }
        self.arm_sender(flow);
        if several && let Some(id) = last.take() {
            self.begin_way(flow, at, id);
        }
        last
    }

    /// A packet is sent at `at`. It waits for its turn in [`Run::work`]: those sent with it enter the first hop before it leaves.
    #[inline(never)]
    fn begin_way(&mut self, flow: usize, at: Time, id: PacketId) {
        self.record_endpoint(at, Step::Send, id);
        if let Some(hop) = self.routes.first(flow, true).as_hop() {
            let leg = Leg::of(&self.packets[id]);
            self.enter_hop(at, hop, id, leg, false);
        }
    }

    /// Lets the receiving side say what it has to at `at`, and asks when it wants to be woken.
    fn pump_receiver(&mut self, flow: usize, at: Time) {
        if let Some(id) = self.flows[flow].poll_acknowledgement(at, None, &mut self.packets) {
            self.record_endpoint(at, Step::Send, id);
            self.travel(at, id, Leg::of(&self.packets[id]));
        }
        self.arm_receiver(flow);
    }

    fn sender_target(&self, flow: usize) -> Target {
        (self.slots.len() + flow) as Target
    }
    fn receiver_target(&self, flow: usize) -> Target {
        (self.slots.len() + self.flows.len() + flow) as Target
    }

    #[inline(always)]
    fn arm_sender(&mut self, flow: usize) {
        let target = self.sender_target(flow);
        self.flows[flow].arm_sender(target, &mut self.events);
    }

    #[inline(always)]
    fn arm_receiver(&mut self, flow: usize) {
        let target = self.receiver_target(flow);
        self.flows[flow].arm_receiver(target, &mut self.events);
    }

    #[inline]
    fn record_endpoint(&mut self, at: Time, step: Step, id: PacketId) {
        if T::ON {
            let sacks = self.packets.sack_blocks(id).map_or(&[][..], SackBlocks::as_slice);
            self.ledger.trace.record(at, step, None, &self.packets[id], sacks);
        }
    }

    /// Lets every hop catch up to `now`, so that it can be read.
    pub(crate) fn catch_up(&mut self, now: Time) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
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
    }

    /// Packets are conserved: arrivals + duplicates = departures + drops + inside, at every hop; and every live packet is inside one.
    pub(crate) fn check_conservation(&self) {
        let mut inside = 0;
        for (HopSlot { hop, .. }, losses) in self.slots.iter().zip(&self.ledger.hops) {
            let counters = hop.counters();
            assert_eq!(
                counters.arrivals + counters.duplicates,
                counters.departures + losses.drops() + hop.inside(&self.packets),
                "packets are conserved"
            );
            inside += hop.inside(&self.packets);
        }
        assert_eq!(inside, self.packets.live() as u64, "every packet is in a hop");
    }

    /// A hop.
    pub(crate) fn hop(&self, number: usize) -> &Hop {
        &self.slots[number].hop
    }
    /// The media.
    pub(crate) fn media(&self) -> &Media {
        &self.media
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
