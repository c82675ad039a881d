//! The endpoints' part of the event loop: packets delivered to them, packets that they send, and
//! their wake-ups.

use super::Run;
use super::leg::Leg;
use crate::trace::{Step, Trace};
use ackclock_core::packet::PacketId;
use ackclock_spec::units::Time;

impl<T: Trace> Run<T> {
    /// Delivers data to its receiver. Returns the ACK if it answers at once, in the packet's slot.
    #[inline(always)]
    pub(super) fn deliver_data(&mut self, at: Time, flow: usize, id: PacketId) -> Option<PacketId> {
        self.record_endpoint(at, Step::Receive, id);
        self.catch_up_receiver(flow, at);
        self.statistics.data_packets += 1;
        let target = self.receiver_target(flow);
        let receiving = &mut self.flows[flow];
        if receiving.receive_data(at, id, &self.packets) {
            return self.answer_apart(at, flow, id);
        }
        let answer = receiving.poll_acknowledgement(at, Some(id), &mut self.packets);
        receiving.arm_receiver(target, &mut self.events);
        self.end_data(at, id, answer)
    }

    /// Removes delivered data whose slot holds no answer. Returns the answer.
    #[inline(always)]
    fn end_data(&mut self, at: Time, id: PacketId, answer: Option<PacketId>) -> Option<PacketId> {
        match answer {
            Some(answer) => self.record_endpoint(at, Step::Send, answer),
            None => self.packets.remove(id),
        }
        answer
    }

    /// Sends all answers to a packet but the last, which is returned: the two ACKs that a TCP
    /// receiver owes, or whatever another transport's receiver sends. The first is in the packet's
    /// slot.
    #[cold]
    #[inline(never)]
    fn answer_apart(&mut self, at: Time, flow: usize, id: PacketId) -> Option<PacketId> {
        let mut last = self.flows[flow].poll_acknowledgement(at, Some(id), &mut self.packets);
        while let Some(answer) = last
            && let Some(next) = self.flows[flow].poll_acknowledgement(at, None, &mut self.packets)
        {
            self.begin_route(at, answer);
            last = Some(next);
            if self.flows[flow].sender().is_some() {
                break;
            }
        }
        self.arm_receiver(flow);
        self.arm_client(flow);
        self.end_data(at, id, last)
    }

    /// Delivers an ACK to its sender. Returns the packet that the sender then sends, if it sends
    /// exactly one.
    #[inline(always)]
    pub(super) fn deliver_acknowledgement(
        &mut self,
        at: Time,
        flow: usize,
        id: PacketId,
    ) -> Option<PacketId> {
        self.record_endpoint(at, Step::Receive, id);
        self.catch_up_sender(flow, at);
        self.flows[flow].receive_acknowledgement(at, id, &self.packets);
        self.packets.remove(id);
        let only = self.send(flow, at);
        if let Some(id) = only {
            self.record_endpoint(at, Step::Send, id);
        }
        only
    }

    pub(super) fn wake_sender(&mut self, flow: usize) {
        if !self.flows[flow].sending.take(self.clock.now) {
            return;
        }
        // A sender that has worked ahead has nothing due now; it only sets its next wake-up.
        if self.flows[flow].poll_timeout() <= self.clock.now {
            if let Some(heirs) = &mut self.heirs {
                heirs.before_opening(flow, self.clock.now, &mut self.flows);
            }
            self.flows[flow].handle_timeout(self.clock.now);
            self.pump_sender(flow, self.clock.now);
            self.work();
        } else {
            self.arm_sender(flow);
        }
    }

    pub(super) fn wake_receiver(&mut self, flow: usize) {
        if !self.flows[flow].acknowledging.take(self.clock.now) {
            return;
        }
        if self.flows[flow].poll_receiver_timeout() <= self.clock.now {
            self.flows[flow].handle_receiver_timeout(self.clock.now);
            self.pump_receiver(flow, self.clock.now);
            self.work();
        } else {
            self.arm_receiver(flow);
        }
    }

    /// Lets the client of a flow ask for what it wants now.
    pub(super) fn wake_client(&mut self, flow: usize) {
        let now = self.clock.now;
        let asking = &mut self.flows[flow];
        let dialogue = asking.dialogue.as_mut();
        if !dialogue.is_some_and(|dialogue| dialogue.wake.take(now)) {
            return;
        }
        if asking.poll_client_timeout() <= now {
            asking.handle_client_timeout(now);
            while let Some(id) = self.flows[flow].poll_request(&mut self.packets) {
                self.begin_route(now, id);
            }
            self.work();
        }
        self.arm_client(flow);
    }

    /// Sends all packets that the sending side may send at `at`, and sets its next wake-up.
    #[inline(never)]
    pub(super) fn pump_sender(&mut self, flow: usize, at: Time) {
        if let Some(id) = self.send(flow, at) {
            self.begin_route(at, id);
        }
    }

    /// Sends like [`Run::pump_sender`], but returns a single packet, which has yet to begin its
    /// route.
    #[inline(always)]
    fn send(&mut self, flow: usize, at: Time) -> Option<PacketId> {
        let (mut last, target) = (None, self.sender_target(flow));
        let sending = &mut self.flows[flow];
        while let Some(id) = sending.poll_transmit(at, &mut self.packets) {
            if let Some(before) = last.replace(id) {
                self.leaving.push(before);
            }
        }
        sending.arm_sender(target, &mut self.events);
        if self.leaving.is_empty() {
            return last;
        }
        self.leaving.extend(last);
        self.begin_routes(at);
        None
    }

    /// Puts all packets that a sender has just sent into their first hop.
    #[inline(never)]
    fn begin_routes(&mut self, at: Time) {
        let mut leaving = std::mem::take(&mut self.leaving);
        for id in leaving.drain(..) {
            self.begin_route(at, id);
        }
        self.leaving = leaving;
    }

    /// Puts a packet sent at `at` into its first hop, where it waits for [`Run::work`]: packets
    /// sent with it enter the hop before it leaves.
    #[inline]
    fn begin_route(&mut self, at: Time, id: PacketId) {
        self.record_endpoint(at, Step::Send, id);
        let leg = Leg::of(&self.packets[id]);
        if let Some(hop) = self.routes.first(leg.flow(), leg.forward).as_hop() {
            self.enter_hop(at, hop, id, leg, false);
        }
    }

    /// Sends what the receiving side has due at `at`, one ACK for TCP, and sets its next wake-up.
    /// No packet travels on: its consequences may be handled after later events of the receiver.
    pub(super) fn pump_receiver(&mut self, flow: usize, at: Time) {
        while let Some(id) = self.flows[flow].poll_acknowledgement(at, None, &mut self.packets) {
            self.begin_route(at, id);
            if self.flows[flow].sender().is_some() {
                break;
            }
        }
        self.arm_receiver(flow);
    }

    #[inline(always)]
    pub(super) fn arm_sender(&mut self, flow: usize) {
        let target = self.sender_target(flow);
        self.flows[flow].arm_sender(target, &mut self.events);
    }

    #[inline(never)] // few flows have a client
    pub(super) fn arm_client(&mut self, flow: usize) {
        let target = self.client_target(flow);
        self.flows[flow].arm_client(target, &mut self.events);
    }

    #[inline(always)]
    fn arm_receiver(&mut self, flow: usize) {
        let target = self.receiver_target(flow);
        self.flows[flow].arm_receiver(target, &mut self.events);
    }
}
