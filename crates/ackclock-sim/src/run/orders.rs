//! Orders to the controls that obey them: those of scripts, by time, and those of a program that
//! steers the run.

use super::Run;
use crate::flow::Flow;
use crate::samples::Sampler;
use crate::trace::Trace;
use ackclock_core::congestion::steered::Order;
use ackclock_spec::units::Time;

/// The orders that scripts give, first one last.
#[derive(Debug)]
pub(super) struct Orders(Vec<(Time, usize, Order)>);

impl Orders {
    /// Returns those for flows under a control with a script.
    pub fn of(flows: &mut [Flow]) -> Self {
        let mut orders = Vec::new();
        for (number, flow) in flows.iter_mut().enumerate() {
            let instance = flow.instance;
            let Some(steered) = flow.sender_mut().and_then(|sender| sender.steered()) else {
                continue;
            };
            let script = steered.script();
            let own = script
                .iter()
                .filter(|timed| timed.instance.is_none_or(|number| number == instance));
            orders.extend(own.map(|timed| (timed.at, number, timed.order)));
        }
        orders.sort_by_key(|(at, flow, _)| (*at, *flow));
        orders.reverse();
        Orders(orders)
    }

    /// Returns the time of the next; [`Time::NEVER`] if there is none.
    pub fn next(&self) -> Time {
        self.0.last().map_or(Time::NEVER, |(at, _, _)| *at)
    }

    /// Removes and returns those that are due by `now`, with the numbers of their flows.
    pub fn take_due(&mut self, now: Time) -> impl Iterator<Item = (usize, Order)> + use<> {
        let left = self.0.partition_point(|(at, _, _)| *at > now);
        let due = self.0.split_off(left).into_iter().rev();
        due.map(|(_, flow, order)| (flow, order))
    }
}

impl<T: Trace> Run<T> {
    /// Gives an order to the control of a flow. Nothing is asked of the sender unless its window
    /// grows, so that an order that changes nothing changes no table.
    pub(super) fn order(&mut self, flow: usize, order: &Order, now: Time) {
        self.clock.advance(now);
        let sender = self.flows[flow].sender_mut();
        if sender.is_some_and(|sender| sender.obey(order)) {
            self.pump_sender(flow, now);
            self.work();
        }
    }

    /// Handles events up to `stop`, each at its time, until `enough` is true of the flows after
    /// one. Returns true if it was.
    pub(super) fn step(
        &mut self,
        stop: Time,
        sampler: &mut Sampler,
        mut enough: impl FnMut(&mut [Flow]) -> bool,
    ) -> bool {
        self.clock.keep_in_step();
        while let Some((time, target)) = self.events.pop() {
            if time > stop {
                self.events.push(time, target);
                break;
            }
            self.handle(time, target, stop, sampler);
            if enough(&mut self.flows) {
                return true;
            }
        }
        false
    }
}
