//! A run that programs steer: each learner is a flow whose control obeys orders. It decides when
//! its interval ends, and the run waits for it.
//!
//! [`Environment`] is one run. [`Environments`](many::Environments) are many, on all cores.

use crate::run::{Simulation, SimulationOutcome};
use crate::topology;
use crate::trace::NoTrace;
use ackclock_core::congestion::steered::{Observation, Order, Steered};
use ackclock_core::endpoint::Sender;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};

pub mod many;

/// Rule by which an interval ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// After a multiple of the smoothed round-trip time.
    RoundTrips(f64),
    /// After a fixed time.
    Fixed(Span),
    /// After so many ACKs, or 200 ms without enough of them.
    Acks(u32),
    /// At a loss, a mark or a timeout; at the latest after a round-trip time.
    Congestion,
}

/// Time between two looks for the first ACK of a learner.
const LOOK: Span = Span::from_millis(1);
/// Time after its start at which a learner decides even if no ACK has come: the initial timeout of
/// RFC 6298.
const PATIENCE: Span = Span::from_millis(1000);
/// Interval while no round trip is known, and the longest wait for ACKs.
const UNKNOWN: Span = Span::from_millis(200);
/// Shortest interval.
const SHORTEST: Span = Span::from_micros(100);
/// Several learners decide at multiples of this, so that they stop the run together.
const TOGETHER: u64 = 1_000_000;

/// Number of columns of an observation.
pub const COLUMNS: usize = 22;

/// Names of the columns, with units.
pub const NAMES: [&str; COLUMNS] = [
    "decides",
    "state",
    "time_s",
    "interval_s",
    "sent_bytes",
    "delivered_bytes",
    "lost_bytes",
    "marked_bytes",
    "acks",
    "timeouts",
    "rtts",
    "rtt_mean_s",
    "rtt_min_s",
    "rtt_last_s",
    "rtt_gradient",
    "least_rtt_s",
    "smoothed_rtt_s",
    "in_flight_bytes",
    "cwnd_bytes",
    "rate_bit_per_s",
    "mss_bytes",
    "time_ns",
];

/// The state of a learner, or of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The run goes on.
    Running,
    /// The run is at the scenario's end.
    AtEnd,
    /// The learner's transfer is complete, or its flow has stopped.
    Finished,
    /// A control of the run has failed.
    Failed,
}

/// A flow that a program steers.
#[derive(Debug)]
struct Learner {
    flow: usize,
    mss: Bytes,
    /// Beginning of its interval.
    since: Time,
    /// End of its interval; the next look while no ACK has come.
    next: Time,
    /// Time of its first decision at the latest; never once it has decided.
    first: Time,
    finished: bool,
}

/// A run with learners.
#[derive(Debug)]
pub struct Environment {
    simulation: Simulation<NoTrace>,
    learners: Vec<Learner>,
    clock: Clock,
    now: Time,
    end: Time,
    state: State,
}

impl Environment {
    /// Begins a run of a scenario with streams of `seed`, which stands before the first decision.
    /// The learners are all instances of the flow group `group`, in their order.
    pub fn new(scenario: &Scenario, group: usize, seed: u64, clock: Clock) -> Self {
        let topology = topology::build_drawing(scenario, Streams::new(seed, 0), None);
        let learner = |id: &ackclock_core::packet::FlowId| {
            let number = id.0 as usize;
            let flow = &topology.flows[number];
            let start = flow.activity.start;
            (flow.group as usize == group).then(|| Learner {
                flow: number,
                mss: flow.sender().map_or(Bytes::ZERO, |sender| {
                    Bytes(sender.parameters().connection.mss.0)
                }),
                since: start,
                next: start + LOOK,
                first: start + PATIENCE,
                finished: false,
            })
        };
        let learners = topology.written.iter().filter_map(learner).collect();
        let job = Job {
            scenario,
            point: 0,
            replicate: 0,
        };
        Environment {
            simulation: Simulation::new(&job, topology, NoTrace),
            learners,
            clock,
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            state: State::Running,
        }
    }

    /// Returns the number of learners.
    pub fn learners(&self) -> usize {
        self.learners.len()
    }

    /// Gives orders to the learners that decide now, goes on to the next decision, and writes what
    /// each learner observes: [`COLUMNS`] values each. A learner that does not decide then has
    /// values of no meaning but for the first two columns.
    pub fn step(&mut self, orders: &[Order], observed: &mut [f64]) {
        for (learner, order) in self.learners.iter_mut().zip(orders) {
            if learner.next == self.now && !learner.finished {
                self.simulation.order(learner.flow, order, self.now);
                learner.since = self.now;
                learner.first = Time::NEVER;
            }
        }
        self.plan();
        self.proceed(observed);
    }

    /// Goes on to the first decision, and writes what each learner observes.
    pub fn begin(&mut self, observed: &mut [f64]) {
        self.proceed(observed);
    }

    /// Returns the tables of the run, of a run that has reached its end.
    pub fn finish(self) -> SimulationOutcome<NoTrace> {
        self.simulation.finish()
    }

    /// Returns what waits at each hop that flows share, which no sender can know.
    pub fn backlogs(&mut self) -> Vec<u64> {
        let backlogs = self.simulation.backlogs(self.now);
        backlogs.map(|backlog| backlog.bytes.0).collect()
    }

    /// Sets when the learners that have just decided decide next.
    fn plan(&mut self) {
        let together = self.learners.len() > 1;
        for learner in &mut self.learners {
            if learner.next != self.now || learner.finished {
                continue;
            }
            let sender = self.simulation.flows()[learner.flow].sender();
            let smoothed = sender.and_then(|sender| sender.rtt().smoothed());
            let round_trips = |multiple: f64| {
                smoothed.map_or(UNKNOWN, |rtt| {
                    Span::from_nanos((rtt.as_nanos() as f64 * multiple) as u64)
                })
            };
            let span = match self.clock {
                Clock::RoundTrips(multiple) => round_trips(multiple),
                Clock::Fixed(span) => span,
                Clock::Acks(_) => UNKNOWN,
                Clock::Congestion => round_trips(1.0),
            };
            let next = self.now + span.max(SHORTEST);
            learner.next = match together {
                true => Time::from_nanos(next.as_nanos().div_ceil(TOGETHER) * TOGETHER),
                false => next,
            };
        }
    }

    /// Goes on until a learner decides.
    fn proceed(&mut self, observed: &mut [f64]) {
        while self.state == State::Running {
            let ends = self.learners.iter().filter(|learner| !learner.finished);
            let Some(stop) = ends.map(|learner| learner.next).min() else {
                self.state = State::Finished;
                break;
            };
            self.proceed_to(stop);
            if self.note_who_decides() {
                break;
            }
        }
        for (learner, row) in self.learners.iter_mut().zip(observed.chunks_mut(COLUMNS)) {
            let decides = learner.next == self.now && self.state == State::Running;
            let ends = self.state != State::Running || learner.finished;
            row[0] = f64::from(u8::from(decides && !learner.finished));
            row[1] = match (self.state, learner.finished) {
                (State::Failed, _) => 3.0,
                (_, true) | (State::Finished, _) => 2.0,
                (State::AtEnd, _) => 1.0,
                (State::Running, false) => 0.0,
            };
            if decides || ends {
                let flow = &mut self.simulation.flows()[learner.flow];
                if let Some(sender) = flow.sender_mut() {
                    drop(sender.take_events());
                    if let Some(steered) = sender.steered() {
                        let observation = steered.observe(self.now);
                        write(row, &observation, learner, self.now);
                    }
                }
            }
        }
    }

    fn proceed_to(&mut self, stop: Time) {
        let watched = |steered: &Steered| match self.clock {
            Clock::Acks(acks) => steered.acks() >= acks,
            _ => steered.has_heard_of_congestion(),
        };
        let at_end = match self.clock {
            Clock::Acks(_) | Clock::Congestion => {
                let numbers: Vec<usize> =
                    self.learners.iter().map(|learner| learner.flow).collect();
                let mut heard = None;
                let at_end = self.simulation.proceed_until(stop, |flows| {
                    heard = numbers.iter().position(|&number| {
                        let steered = flows[number].sender_mut().and_then(Sender::steered);
                        steered.is_some_and(|steered| watched(steered))
                    });
                    heard.is_some()
                });
                self.now = match heard {
                    Some(learner) => {
                        let now = self.simulation.now();
                        self.learners[learner].next = now;
                        now
                    }
                    None => stop.min(self.end),
                };
                at_end
            }
            Clock::RoundTrips(_) | Clock::Fixed(_) => {
                let at_end = self.simulation.proceed_to(stop);
                self.now = stop.min(self.end);
                at_end
            }
        };
        if self.simulation.fault().is_some() {
            self.state = State::Failed;
        } else if at_end {
            self.state = State::AtEnd;
        }
    }

    /// Notes whose flow has ended, and lets learners look again that have not heard anything yet.
    /// Returns true if one decides now, or if there is nothing more to decide.
    fn note_who_decides(&mut self) -> bool {
        let mut decides = self.state != State::Running;
        for learner in &mut self.learners {
            let flow = &mut self.simulation.flows()[learner.flow];
            if flow.ended().is_some() && !learner.finished {
                learner.finished = true;
                decides = true;
            }
            if learner.next != self.now || learner.finished {
                continue;
            }
            let heard = flow
                .sender_mut()
                .and_then(|sender| sender.steered())
                .is_some_and(|steered| steered.acks() > 0);
            if learner.first.is_never() || heard || self.now >= learner.first {
                decides = true;
            } else {
                learner.next = self.now + LOOK;
            }
        }
        decides
    }
}

/// Writes an observation in the order of [`NAMES`].
fn write(row: &mut [f64], observation: &Observation, learner: &Learner, now: Time) {
    let values = [
        now.as_seconds(),
        now.since(learner.since.min(now)).as_seconds(),
        observation.sent.as_f64(),
        observation.delivered.as_f64(),
        observation.lost.as_f64(),
        observation.marked.as_f64(),
        f64::from(observation.acks),
        f64::from(observation.timeouts),
        f64::from(observation.rtts),
        observation.rtt_mean,
        observation.rtt_min,
        observation.rtt_last,
        observation.rtt_gradient,
        observation.least_rtt,
        observation.smoothed_rtt,
        observation.in_flight.as_f64(),
        observation.cwnd.as_f64(),
        observation
            .rate
            .map_or(f64::NAN, |rate| rate.as_bit_per_s() as f64),
        learner.mss.as_f64(),
        now.as_nanos() as f64,
    ];
    row[2..].copy_from_slice(&values);
}
