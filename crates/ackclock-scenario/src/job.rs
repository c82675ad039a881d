//! The runs of a scenario, independent of the method that executes them.

use crate::Scenario;
use crate::network::{self, Instance, Network};
use ackclock_spec::streams::Streams;

/// One run: a replicate of a point of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Scenario of the point.
    pub scenario: &'a Scenario,
    /// Number of the point.
    pub point: u32,
    /// Number of the replicate.
    pub replicate: u32,
}

/// Returns every replicate of every point, in order.
pub fn jobs(points: &[Scenario]) -> Vec<Job<'_>> {
    (0..)
        .zip(points)
        .flat_map(|(point, scenario)| {
            (0..scenario.replicates).map(move |replicate| Job {
                scenario,
                point,
                replicate,
            })
        })
        .collect()
}

impl Job<'_> {
    /// Returns the random streams of the replicate.
    pub fn streams(&self) -> Streams {
        Streams::new(self.scenario.seed, self.replicate)
    }

    /// Builds the scenario's network with these streams.
    pub fn network(&self) -> Network {
        network::build(self.scenario, &self.streams())
    }

    /// Returns the instances of the flows with these streams, as the network has them.
    pub fn instances(&self) -> Vec<Instance> {
        network::instances(self.scenario, &self.streams())
    }

    /// Returns the labels of its rows in every table: number of the point and of the replicate.
    pub fn labels(&self) -> (i64, i64) {
        (self.point.into(), self.replicate.into())
    }

    /// Returns the name of the run in file names.
    pub fn name(&self) -> String {
        format!("point-{}-replicate-{}", self.point, self.replicate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;
    use ackclock_spec::files::NoFiles;

    fn point(replicates: u32) -> Scenario {
        let text = format!(
            r#"
schema = 1
name = "jobs"
duration = "1 s"
replicates = {replicates}
[[hops]]
name = "only"
link = {{ kind = "constant", rate = "1 Mbit/s" }}
queue = {{ kind = "droptail", limit = "10 packets" }}
[[flows]]
name = "one"
route = ["only"]
transport = {{ kind = "udp", mss = "1000 bytes" }}
traffic = {{ kind = "cbr", rate = "64 kbit/s" }}
start = ["0 s", "1 s"]
"#
        );
        Scenario::from_tree(&tree::from_toml(&text).unwrap(), &NoFiles).unwrap()
    }

    #[test]
    fn every_replicate_of_every_point_in_order() {
        let points = [point(2), point(1), point(3)];
        let jobs = jobs(&points);
        let labels: Vec<_> = jobs.iter().map(Job::labels).collect();
        assert_eq!(labels, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]);
        assert!(std::ptr::eq(jobs[3].scenario, &points[2]));
        assert_eq!(jobs[4].name(), "point-2-replicate-1");
    }

    #[test]
    fn draws_depend_on_the_replicate_and_not_on_the_point() {
        let points = [point(2), point(1)];
        let starts: Vec<_> = jobs(&points)
            .iter()
            .map(|job| job.network().instances[0].start)
            .collect();
        assert_ne!(starts[0], starts[1]);
        assert_eq!(starts[0], starts[2]);
    }
}
