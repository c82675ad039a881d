//! A simulation in steps: it may be paused between two events and go on later.

use super::Unattended;
use super::orders::Orders;
use super::{Fault, Run, RunStatistics, SimulationOutcome, Supervisor};
use crate::flow::Flow;
use crate::samples::Sampler;
use crate::topology::Topology;
use crate::trace::Trace;
use ackclock_core::congestion::steered::Order;
use ackclock_core::packet::Backlog;
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;

/// A job under execution. Pauses change no row of its tables.
#[derive(Debug)]
pub struct Simulation<T> {
    run: Run<T>,
    sampler: Sampler,
    orders: Orders,
    end: Time,
    complete: bool,
}

impl<T: Trace> Simulation<T> {
    /// Makes a simulation that has not begun, in the topology built from the job.
    pub fn new(job: &Job<'_>, mut topology: Topology, trace: T) -> Self {
        Simulation {
            sampler: Sampler::new(job, &mut topology),
            orders: Orders::of(&mut topology.flows),
            run: Run::new(topology, trace),
            end: Time::ZERO + job.scenario.duration,
            complete: false,
        }
    }

    /// Goes on until the supervisor returns false or the run reaches its end. Returns true at the
    /// end.
    pub fn proceed(&mut self, supervisor: &dyn Supervisor) -> bool {
        while !self.complete {
            let (run, sampler) = (&mut self.run, &mut self.sampler);
            let stop = self.orders.next().min(self.end);
            if !run.proceed_until(stop, sampler, supervisor) {
                return false;
            }
            self.complete = stop == self.end;
            for (flow, order) in self.orders.take_due(stop) {
                run.order(flow, &order, stop);
            }
        }
        true
    }

    /// Goes on to `stop`, or to the end if that is earlier. Returns true at the end.
    pub fn proceed_to(&mut self, stop: Time) -> bool {
        let stop = stop.min(self.end);
        if !self.complete {
            let (run, sampler) = (&mut self.run, &mut self.sampler);
            while !run.proceed_until(stop, sampler, &Unattended) {
                if run.fault().is_some() {
                    return true;
                }
            }
            self.complete = stop == self.end;
        }
        self.complete
    }

    /// Goes on like [`Simulation::proceed_to`], but only until something has happened after which
    /// `enough` is true of the flows. Every step is taken at its time from the first call on.
    pub fn proceed_until(&mut self, stop: Time, enough: impl FnMut(&mut [Flow]) -> bool) -> bool {
        let stop = stop.min(self.end);
        if !self.complete {
            let stopped = self.run.step(stop, &mut self.sampler, enough);
            self.complete = !stopped && stop == self.end;
        }
        self.complete
    }

    /// Gives an order to the control of a flow at `now`, to which the run has gone on. It acts at
    /// once.
    pub fn order(&mut self, flow: usize, order: &Order, now: Time) {
        self.run.order(flow, order, now);
    }

    /// Returns the flows.
    pub fn flows(&mut self) -> &mut [Flow] {
        &mut self.run.flows
    }

    /// Returns what waits at each hop that the scenario names and that is not of one flow alone.
    pub fn backlogs(&mut self, now: Time) -> impl Iterator<Item = Backlog> {
        let hops = self.sampler.sampled_hops();
        let snapshot = self.run.snapshot(now, hops);
        snapshot.hops[..hops].iter().map(|slot| slot.hop.backlog())
    }

    /// Returns the time up to which it has been executed.
    pub fn now(&self) -> Time {
        self.run.clock.now
    }

    /// Returns the reason why a control cannot go on. The simulation then does not either.
    pub fn fault(&mut self) -> Option<Fault> {
        self.run.fault()
    }

    /// Returns the counts up to now.
    pub fn statistics(&self) -> RunStatistics {
        self.run.statistics
    }

    /// Returns the tables. A run that has not reached its end goes on to its horizon first, where
    /// all flows are at the same time.
    pub fn finish(mut self) -> SimulationOutcome<T> {
        let until = if self.complete {
            self.end
        } else {
            self.run.settle(&mut self.sampler)
        };
        let hops = self.run.slots.len();
        let tables = self.sampler.finish(until, self.run.snapshot(until, hops));
        self.run.check_conservation();
        SimulationOutcome {
            tables,
            complete: self.complete,
            fault: self.run.fault(),
            trace: self.run.ledger.trace,
            statistics: self.run.statistics,
        }
    }
}
