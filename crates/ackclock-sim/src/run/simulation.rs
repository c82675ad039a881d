//! A simulation in steps: it may be paused between two events and go on later.

use super::{Fault, Run, RunStatistics, SimulationOutcome, Supervisor};
use crate::samples::Sampler;
use crate::topology::Topology;
use crate::trace::Trace;
use ackclock_scenario::job::Job;
use ackclock_spec::units::Time;

/// A job under execution. Pauses change no row of its tables.
#[derive(Debug)]
pub struct Simulation<T> {
    run: Run<T>,
    sampler: Sampler,
    end: Time,
    complete: bool,
}

impl<T: Trace> Simulation<T> {
    /// Makes a simulation that has not begun, in the topology built from the job.
    pub fn new(job: &Job<'_>, mut topology: Topology, trace: T) -> Self {
        Simulation {
            sampler: Sampler::new(job, &mut topology),
            run: Run::new(topology, trace),
            end: Time::ZERO + job.scenario.duration,
            complete: false,
        }
    }

    /// Goes on until the supervisor returns false or the run reaches its end. Returns true at the
    /// end.
    pub fn proceed(&mut self, supervisor: &dyn Supervisor) -> bool {
        if !self.complete {
            let (run, sampler) = (&mut self.run, &mut self.sampler);
            self.complete = run.proceed_until(self.end, sampler, supervisor);
        }
        self.complete
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
