//! Replay of a record: the recorded arrivals pass through newly built hops, which must take the
//! recorded decisions, to the nanosecond.

use crate::record::{ArrivalDigest, Chunk};
use ackclock_core::packet::PacketId;
use ackclock_scenario::network::Network;
use ackclock_scenario::network::decision::Decision;
use ackclock_scenario::network::graph::{Graph, Listener};
use ackclock_spec::units::{Span, Time};
use std::fmt;
use std::io;

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Number of packets that arrived at the hops.
    pub arrivals: u64,
    /// Number of equal decisions.
    pub decisions: u64,
    /// Time up to which decisions were compared.
    pub until: Time,
    /// True if the record ends in order, at the end of its run or where the run was interrupted.
    /// Else the run was killed, and everything in the record was compared.
    pub complete: bool,
    /// First difference, if there is one.
    pub difference: Option<Difference>,
}

/// A difference between a record and its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// An arrival of a flow that is not in the scenario.
    UnknownFlow {
        /// Number of the arrival.
        packet: u64,
        /// Its flow.
        flow: u32,
    },
    /// An arrival recorded for a time earlier than previous rows.
    OutOfOrder {
        /// Number of the arrival.
        packet: u64,
        /// Recorded time of the arrival.
        at: Time,
    },
    /// A time after the end of the run, or an arrival after the end of its chunk.
    TooLate {
        /// The time.
        at: Time,
    },
    /// Different decisions; `None` if there are no more.
    Decision {
        /// Number of equal decisions before it.
        number: u64,
        /// Recorded decision.
        recorded: Option<Decision>,
        /// Replayed decision.
        replayed: Option<Decision>,
    },
    /// Changed arrivals, although the hops take the same decisions.
    Arrivals {
        /// End of the chunk in which the difference was found.
        until: Time,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let say = |decision: &Option<Decision>| match decision {
            None => "nothing".into(),
            Some(Decision {
                at,
                hop,
                packet,
                outcome,
            }) => {
                let hop = if *hop == Decision::NOWHERE {
                    "no hop".into()
                } else {
                    format!("hop {hop}")
                };
                format!("packet {packet} {outcome:?} at {} ns, {hop}", at.as_nanos())
            }
        };
        match self {
            Difference::UnknownFlow { packet, flow } => {
                write!(
                    f,
                    "packet {packet} belongs to flow {flow}, which the scenario lacks"
                )
            }
            Difference::OutOfOrder { packet, at } => {
                write!(
                    f,
                    "packet {packet} is recorded at {} ns, before an earlier record",
                    at.as_nanos()
                )
            }
            Difference::TooLate { at } => {
                write!(
                    f,
                    "{} ns is recorded, which is after the end",
                    at.as_nanos()
                )
            }
            Difference::Decision {
                number,
                recorded,
                replayed,
            } => {
                write!(
                    f,
                    "decision {number}: recorded {}, replayed {}",
                    say(recorded),
                    say(replayed)
                )
            }
            Difference::Arrivals { until } => {
                write!(
                    f,
                    "the arrivals up to {} ns differ from the recorded ones",
                    until.as_nanos()
                )
            }
        }
    }
}

/// Decisions of the hops since the last comparison.
#[derive(Debug, Default)]
struct Decided(Vec<Decision>);

impl Listener for Decided {
    fn decided(&mut self, decision: Decision) {
        self.0.push(decision);
    }
    fn duplicated(&mut self, _original: PacketId, _copy: PacketId) {}
}

/// Replays the recorded arrivals through `network`, newly built from the run's scenario and
/// replicate. `interval` is the scenario's sampling interval. No record goes beyond `end`, the end
/// of the run, so the work is bounded whatever its times are. Stops at the first difference.
///
/// # Errors
/// Errors of reading the chunks.
pub fn replay(
    network: Network,
    interval: Span,
    end: Time,
    chunks: impl IntoIterator<Item = io::Result<Chunk>>,
) -> io::Result<Replay> {
    let mut run = Run {
        graph: Graph::new(network, interval, (0, 0), Decided::default()),
        end,
        digest: ArrivalDigest::default(),
        outcome: Replay::default(),
    };
    for chunk in chunks {
        let chunk = chunk?;
        run.outcome.difference = run.compare(&chunk).err();
        run.outcome.complete |= chunk.last;
        if run.outcome.difference.is_some() {
            break;
        }
        run.outcome.until = chunk.until;
        if chunk.last {
            break;
        }
    }
    run.outcome.arrivals = run.graph.arrivals();
    Ok(run.outcome)
}

struct Run {
    graph: Graph<Decided>,
    end: Time,
    digest: ArrivalDigest,
    outcome: Replay,
}

impl Run {
    fn compare(&mut self, chunk: &Chunk) -> Result<(), Difference> {
        if chunk.until > self.end {
            return Err(Difference::TooLate { at: chunk.until });
        }
        let arrived = self.push_arrivals(chunk);
        if arrived.is_ok() {
            if chunk.last {
                self.graph.finish(chunk.until);
            } else {
                self.graph.advance(chunk.until);
            }
        }
        while let Some((_, id)) = self.graph.take_departed() {
            self.graph.remove(id);
        }
        self.compare_decisions(chunk, arrived.is_ok())?;
        arrived?;
        if self.digest != chunk.digest {
            return Err(Difference::Arrivals { until: chunk.until });
        }
        Ok(())
    }

    fn push_arrivals(&mut self, chunk: &Chunk) -> Result<(), Difference> {
        for row in chunk.arrivals() {
            let packet = self.graph.arrivals();
            if row.flow.0 as usize >= self.graph.flows() {
                let flow = row.flow.0;
                return Err(Difference::UnknownFlow { packet, flow });
            }
            if row.at < self.graph.now() {
                return Err(Difference::OutOfOrder { packet, at: row.at });
            }
            if row.at > chunk.until {
                return Err(Difference::TooLate { at: row.at });
            }
            self.digest.add(&row);
            self.graph
                .handle_packet(row.at, row.packet(), |_, _, _, _| {});
        }
        Ok(())
    }

    /// Compares recorded and replayed decisions. If `whole` is false, the chunk could not be
    /// replayed completely, and only the decisions that both have are compared.
    fn compare_decisions(&mut self, chunk: &Chunk, whole: bool) -> Result<(), Difference> {
        let mut decided = std::mem::take(&mut self.graph.listener_mut().0);
        let mut recorded = chunk.decisions();
        let mut replayed = decided.drain(..);
        loop {
            let pair = (recorded.next(), replayed.next());
            let over = pair.0.is_none() || pair.1.is_none();
            if pair == (None, None) || (over && !whole) {
                return Ok(());
            }
            if pair.0 != pair.1 {
                return Err(Difference::Decision {
                    number: self.outcome.decisions,
                    recorded: pair.0,
                    replayed: pair.1,
                });
            }
            self.outcome.decisions += 1;
        }
    }
}

#[cfg(test)]
mod tests;
