//! Many runs that programs steer, side by side on all cores.

use super::{COLUMNS, Clock, Environment};
use ackclock_core::congestion::steered::Order;
use ackclock_scenario::Scenario;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Fewest environments of a thread, so that waking it is worth it.
const FEWEST: usize = 16;

/// A point of a sweep whose runs are environments.
#[derive(Debug)]
pub struct Path {
    /// Its scenario.
    pub scenario: Scenario,
    /// Number of the flow group of the learners.
    pub group: usize,
}

/// Beginning of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Number of the environment.
    pub environment: usize,
    /// Number of its path.
    pub path: usize,
    /// Seed of its random streams.
    pub seed: u64,
}

/// Many environments with the same number of learners. They share no state, so what each observes
/// does not depend on the others or on the number of threads.
#[derive(Debug)]
pub struct Environments {
    paths: Vec<Path>,
    environments: Vec<Option<Environment>>,
    learners: usize,
    clock: Clock,
    threads: Threads,
}

impl Environments {
    /// Makes `count` environments that have not begun. The group of learners of each path has
    /// `learners` instances. With `threads` 0 there is one for each core.
    pub fn new(
        paths: Vec<Path>,
        learners: usize,
        count: usize,
        clock: Clock,
        threads: usize,
    ) -> Self {
        Environments {
            paths,
            environments: (0..count).map(|_| None).collect(),
            learners,
            clock,
            threads: Threads {
                number: threads,
                pool: OnceLock::new(),
            },
        }
    }

    /// Returns the number of environments.
    pub fn count(&self) -> usize {
        self.environments.len()
    }
    /// Returns the number of paths.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }
    /// Returns the number of values that the learners of one environment observe together.
    pub fn width(&self) -> usize {
        self.learners * COLUMNS
    }

    /// Begins environments again, each at most once. Writes what they observe into `observed`, one
    /// after the other.
    pub fn reset(&mut self, beginnings: &[Beginning], observed: &mut [f64]) {
        let (paths, clock, width) = (&self.paths, self.clock, self.width());
        let begin = |(beginning, row): (&Beginning, &mut [f64])| {
            let path = &paths[beginning.path];
            let mut begun = Environment::new(&path.scenario, path.group, beginning.seed, clock);
            begun.begin(row);
            begun
        };
        let begun: Vec<Environment> = match self.threads.pool(beginnings.len()) {
            None => {
                let rows = observed.chunks_mut(width);
                beginnings.iter().zip(rows).map(begin).collect()
            }
            Some(pool) => pool.install(|| {
                let rows = observed.par_chunks_mut(width);
                let parts = beginnings.par_iter().zip(rows).with_min_len(FEWEST);
                parts.map(begin).collect()
            }),
        };
        for (beginning, environment) in beginnings.iter().zip(begun) {
            self.environments[beginning.environment] = Some(environment);
        }
    }

    /// Gives each environment the orders for its learners, goes on to its next decision, and writes
    /// what it observes. One that `stands` does not move, and writes nothing.
    pub fn step(&mut self, orders: &[Order], stands: &[bool], observed: &mut [f64]) {
        let (width, learners, count) = (self.width(), self.learners, self.count());
        let step = |(((environment, stands), orders), row): Part<'_>| {
            if let (Some(environment), false) = (environment, stands) {
                environment.step(orders, row);
            }
        };
        let environments = &mut self.environments;
        match self.threads.pool(count) {
            None => {
                let parts = environments.iter_mut().zip(stands);
                let parts = parts.zip(orders.chunks(learners));
                parts.zip(observed.chunks_mut(width)).for_each(step);
            }
            Some(pool) => pool.install(|| {
                let parts = environments.par_iter_mut().zip(stands);
                let parts = parts.zip(orders.par_chunks(learners));
                let parts = parts.zip(observed.par_chunks_mut(width));
                parts.with_min_len(FEWEST).for_each(step);
            }),
        }
    }

    /// Returns what waits at each hop that flows share, in bytes, of an environment that has begun.
    pub fn backlogs(&mut self, environment: usize) -> Vec<u64> {
        let begun = self.environments[environment].as_mut();
        begun.map_or_else(Vec::new, Environment::backlogs)
    }
}

/// An environment, whether it stands, its orders, and what it observes.
type Part<'a> = (
    ((&'a mut Option<Environment>, &'a bool), &'a [Order]),
    &'a mut [f64],
);

/// Threads that are made when they are first needed: a program may fork before that.
#[derive(Debug)]
struct Threads {
    number: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

impl Threads {
    /// Returns the threads for so many environments, if there is work for several.
    fn pool(&self, environments: usize) -> Option<&ThreadPool> {
        if self.number == 1 || environments < 2 * FEWEST {
            return None;
        }
        let make = || {
            let threads = ThreadPoolBuilder::new().num_threads(self.number);
            threads.build().ok()
        };
        self.pool.get_or_init(make).as_ref()
    }
}
