//! A link whose rate is a Markov chain with any number of states, each with a rate.
//!
//! **The realisation is a function of the link's stream and of time, whatever the packets do.**
//! Time is divided into blocks of about 64 changes of state each. A block depends on the state at
//! its beginning and on its own stream, keyed by the link's seed, the block's number and that
//! state. A sojourn that reaches into the next block is drawn again there, which is correct because
//! sojourns are memoryless. So a block can be walked without the earlier ones, given its initial
//! state.
//!
//! **A long idle gap need not be walked.** To find the initial state of a far block, a few blocks
//! before it are walked from *every* state that is possible there. Paths that meet stay together.
//! Once all have met, the state is known, and it is the one that a walk through the whole gap would
//! have found (coupling from the past: Propp, Wilson 1996, Random Structures & Algorithms 9). The
//! number of blocks depends on how soon the chain forgets its past, not on the gap. If the chain
//! remembers longer than the gap, the gap is walked.

use super::facts::{LinkFacts, LinkStates};
use super::piecewise::{Piece, PiecewiseLink, Rates};
use super::{Link, LinkContext, LinkKind};
use ackclock_spec::error::both;
use ackclock_spec::prelude::*;
use ackclock_spec::streams::Streams;
use serde::{Deserializer, de::Error as _};
use serde_json::{Value, json};
use std::sync::Arc;

mod chain;
use chain::Chain;

/// Parameters.
///
/// The chain is defined by one of three methods. With `mean_sojourn` alone, all other states are
/// equally likely after a sojourn in one state. With `mean_sojourn` and `transition_matrix`, rows
/// give the next state, and the diagonal is zero. With `transition_matrix` and `step`, rows are the
/// probabilities of one step, staying included.
///
/// Sojourns are exponential, or with `step` geometric: a whole number of steps, at least one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "rates": ["100 kB/s", "50 kB/s"],
    "mean_sojourn": "2 s",
    "step": "30 ms"
}))]
#[schemars(example = json!({
    "rates": ["10 Mbit/s", "0 bit/s"],
    "transition_matrix": [["99 %", "1 %"], ["10 %", "90 %"]],
    "step": "10 ms"
}))]
pub struct Markov {
    /// Rate of each state, at least one; `"0 bit/s"` is an outage.
    pub rates: Vec<BitRate>,
    /// Mean time in a state: one value for all states, or a list with one for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_sojourn: Option<Sojourns>,
    /// Probabilities of the next state, one row per state. Rows add up to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition_matrix: Option<Vec<Vec<Probability>>>,
    /// The state changes only at multiples of this; without it, at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
    /// Initial state: `"stationary"` draws it from the stationary distribution, a number names it,
    /// counting from 0.
    #[serde(default)]
    pub initial: Initial,
    #[serde(skip)]
    chain: Arc<Chain>,
}

/// Mean sojourns: one for all states, or one for each.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Sojourns {
    /// The same in all states.
    Equal(Span),
    /// One for each state, in the order of the rates.
    PerState(Vec<Span>),
}

impl<'de> Deserialize<'de> for Sojourns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::Array(_) => serde_json::from_value(value).map(Sojourns::PerState),
            one => serde_json::from_value(one).map(Sojourns::Equal),
        }
        .map_err(D::Error::custom)
    }
}

/// The initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Initial {
    /// Drawn from a distribution.
    Drawn(Law),
    /// Given by its number, counting from 0.
    State(usize),
}

/// Distribution from which the initial state is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Stationary distribution: the long-run shares of time.
    Stationary,
}

impl Default for Initial {
    fn default() -> Self {
        Initial::Drawn(Law::Stationary)
    }
}

impl<'de> Deserialize<'de> for Initial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == "stationary" {
            return Ok(Initial::default());
        }
        let index = value.as_u64().and_then(|index| usize::try_from(index).ok());
        index.map(Initial::State).ok_or_else(|| {
            D::Error::custom(format!(
                "{value} is not a state; choose \"stationary\" or the number of a state, from 0"
            ))
        })
    }
}

impl Element<LinkKind> for Markov {
    const NAME: &'static str = "markov";
    const LABEL: &'static str = "Markov rate";
    const SUMMARY: &'static str =
        "Sends at a rate set by a Markov chain, in continuous time or in steps.";
    const REFERENCE: &'static str =
        "sojourns without memory; skips idle time by coupling from the past (Propp, Wilson 1996)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let states = self.rates.len();
        let last = states.saturating_sub(1);
        let remedy = format!("is not a state; the {states} states are numbered from 0 to {last}");
        let is_state =
            |index: usize| consistent(index <= last, "initial", &index, &["rates"], &remedy);
        let initial = match self.initial {
            Initial::State(index) => is_state(index),
            Initial::Drawn(_) => Ok(()),
        };
        let (chain, ()) = both(Chain::new(self), initial)?;
        self.chain = Arc::new(chain);
        Ok(())
    }

    fn facts(&self) -> LinkFacts {
        let rates: Vec<u64> = self.rates.iter().map(|rate| rate.as_bit_per_s()).collect();
        let varies = rates.iter().any(|rate| *rate != rates[0]);
        LinkFacts {
            mean_bit_per_s: Some(self.chain.mean_bit_per_s()),
            highest_bit_per_s: rates.iter().copied().max(),
            states: Stated::Some(LinkStates {
                bit_per_s: rates,
                sojourns_s: self.sojourns_s().into_iter().map(Stated::from).collect(),
                step_s: self.step.map_or(0.0, Span::as_seconds),
            }),
            ..LinkFacts::own(varies)
        }
    }
}

impl Markov {
    /// Returns the mean time in each state, `None` for a state that is never left.
    fn sojourns_s(&self) -> Vec<Option<f64>> {
        let states = 0..self.rates.len();
        match (&self.mean_sojourn, &self.transition_matrix, self.step) {
            (Some(Sojourns::Equal(mean)), ..) => states.map(|_| Some(mean.as_seconds())).collect(),
            (Some(Sojourns::PerState(means)), ..) => {
                means.iter().map(|mean| Some(mean.as_seconds())).collect()
            }
            (None, Some(matrix), Some(step)) => {
                let stays = states.map(|state| matrix[state][state].get());
                let mean = |stay: f64| (stay < 1.0).then(|| step.as_seconds() / (1.0 - stay));
                stays.map(mean).collect()
            }
            _ => states.map(|_| None).collect(),
        }
    }
}

impl Factory<LinkKind> for Markov {
    fn build(&self, context: LinkContext<'_>) -> Box<dyn Link> {
        let mut stream = context.place.stream();
        Box::new(PiecewiseLink::new(Walk::new(
            Arc::clone(&self.chain),
            self.initial,
            &mut stream,
        )))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// Gaps of at most this many blocks are walked.
const NEAR: u64 = 16;

/// Reads one realisation forwards.
#[derive(Clone, Debug)]
struct Walk {
    chain: Arc<Chain>,
    seed: u64,
    /// Number of the block, and its stream.
    block: u64,
    stream: Stream,
    state: usize,
    from: Time,
    until: Time,
    /// True if the state is left at `until`; false if only the block ends.
    leaves: bool,
}

impl Walk {
    fn new(chain: Arc<Chain>, initial: Initial, stream: &mut Stream) -> Self {
        let seed = stream.uniform().to_bits();
        let drawn = stream.uniform();
        let state = match initial {
            Initial::State(index) => index,
            Initial::Drawn(Law::Stationary) => {
                let mut sum = 0.0;
                let last = chain
                    .stationary
                    .iter()
                    .rposition(|&share| share > 0.0)
                    .unwrap_or(0);
                let passed = chain.stationary[..last].iter().take_while(|&&share| {
                    sum += share;
                    sum <= drawn
                });
                passed.count()
            }
        };
        Walk::enter(chain, seed, 0, state)
    }

    /// Begins a block in a state.
    fn enter(chain: Arc<Chain>, seed: u64, block: u64, state: usize) -> Self {
        let from = Time::from_nanos(chain.block.saturating_mul(block));
        let mut walk = Walk {
            stream: Walk::stream(seed, block, state),
            chain,
            seed,
            block,
            state,
            from,
            until: from,
            leaves: false,
        };
        walk.stay();
        walk
    }

    fn stream(seed: u64, block: u64, state: usize) -> Stream {
        Streams::new(seed.wrapping_add(block), state as u32).stream("")
    }

    fn block_end(&self) -> Time {
        Time::from_nanos(
            self.chain
                .block
                .saturating_mul(self.block.saturating_add(1)),
        )
    }

    /// Draws the sojourn in the state that begins at `from`.
    fn stay(&mut self) {
        let Some(&scale) = self.chain.scale.get(self.state) else {
            self.until = Time::NEVER; // a chain without states is a link that is down
            return;
        };
        if scale == f64::NEG_INFINITY
            || (self.chain.settled && self.chain.class[self.state].is_some())
        {
            self.until = Time::NEVER;
            return;
        }
        // ln U / ln p rounded up is geometric, −mean · ln U exponential; U = 1 − uniform() is in
        // (0, 1].
        let drawn = libm::log(1.0 - self.stream.uniform()) * scale;
        let nanos = match self.chain.step {
            0 => libm::round(drawn) as u64,
            step => (libm::floor(drawn) as u64)
                .saturating_add(1)
                .saturating_mul(step),
        };
        let end = self.block_end();
        let left = self.from + Span::from_nanos(nanos);
        self.leaves = left <= end && !left.is_never();
        self.until = left.min(end);
    }

    /// Returns the state at the beginning of block `target` if the paths from all states possible
    /// at the beginning of block `target - back` have met by then.
    fn meet(&self, target: u64, back: u64) -> Option<usize> {
        let chain = &self.chain;
        let now = chain.class[self.state]?;
        // Steps taken in this block so far. The length of a block is a multiple of the period.
        let begun = Time::from_nanos(chain.block.saturating_mul(self.block));
        let steps = self
            .from
            .since(begun)
            .as_nanos()
            .checked_div(chain.step)
            .unwrap_or(0);
        let at_start = (now + chain.period - steps % chain.period) % chain.period;
        let mut states: Vec<usize> = (0..chain.class.len())
            .filter(|&state| chain.class[state] == Some(at_start))
            .collect();
        for block in target - back..target {
            for state in &mut states {
                let mut walk = Walk::enter(Arc::clone(chain), self.seed, block, *state);
                while walk.block == block {
                    walk.advance();
                }
                *state = walk.state;
            }
            states.sort_unstable();
            states.dedup();
        }
        (states.len() == 1).then(|| states[0])
    }

    /// Moves to the beginning of block `target` if that needs less than a walk through the whole
    /// gap.
    fn leap(&mut self, target: u64) -> bool {
        let mut back = 1;
        while back < target - self.block {
            if let Some(state) = self.meet(target, back) {
                *self = Walk::enter(Arc::clone(&self.chain), self.seed, target, state);
                return true;
            }
            back *= 2;
        }
        false
    }
}

impl Rates for Walk {
    fn piece(&self) -> Piece {
        Piece {
            from: self.from,
            until: self.until,
            rate: self
                .chain
                .rates
                .get(self.state)
                .copied()
                .unwrap_or(BitRate::ZERO),
        }
    }

    fn advance(&mut self) {
        self.from = self.until;
        if self.leaves {
            let n = self.chain.rates.len();
            let row = &self.chain.next[self.state * n..(self.state + 1) * n];
            let drawn = self.stream.uniform();
            self.state = row.partition_point(|&sum| sum <= drawn);
        }
        if self.from >= self.block_end() {
            self.block += 1;
            self.stream = Walk::stream(self.seed, self.block, self.state);
        }
        self.stay();
    }

    fn seek(&mut self, at: Time) {
        let mut may_leap = true;
        while at >= self.until && !self.until.is_never() {
            let target = at.as_nanos() / self.chain.block;
            if may_leap && target - self.block > NEAR && self.chain.class[self.state].is_some() {
                may_leap = false;
                if self.leap(target) {
                    continue;
                }
            }
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry;
    use proptest::prelude::*;

    const YEAR: f64 = 365.25 * 86_400.0;

    fn parameters(tree: Value) -> Markov {
        let mut parameters: Markov = ackclock_spec::parse::from_tree(tree).unwrap();
        parameters.check(&NoFiles).unwrap();
        parameters
    }
    fn walk(tree: Value, seed: u64) -> Walk {
        let parameters = parameters(tree);
        let mut stream = Streams::new(seed, 0).stream("hop/test/link");
        Walk::new(
            Arc::clone(&parameters.chain),
            parameters.initial,
            &mut stream,
        )
    }
    fn link(tree: Value, seed: u64) -> Box<dyn Link> {
        let streams = Streams::new(seed, 0);
        parameters(tree).build(LinkContext::alone(StreamScope {
            streams: &streams,
            name: "hop/test/link",
        }))
    }
    fn refusal(mut tree: Value) -> String {
        tree["kind"] = "markov".into();
        registry::choose::<LinkKind>(&tree, &NoFiles)
            .unwrap_err()
            .key()
    }

    /// Sojourns (state, seconds) until `seconds`, the last one left out.
    fn sojourns(mut walk: Walk, seconds: f64) -> Vec<(usize, f64)> {
        let mut all = Vec::new();
        let mut began = walk.from;
        while walk.until < Time::from_seconds(seconds) {
            let state = walk.state;
            walk.advance();
            if walk.state != state {
                all.push((state, walk.from.since(began).as_seconds()));
                began = walk.from;
            }
        }
        all
    }

    fn chains() -> Vec<Value> {
        vec![
            json!({ "rates": ["100 kB/s", "50 kB/s"], "mean_sojourn": "20 ms" }),
            json!({ "rates": ["100 kB/s", "50 kB/s"], "mean_sojourn": "2 s", "step": "30 ms" }),
            json!({
                "rates": ["1 Mbit/s", "2 Mbit/s", "0 bit/s"],
                "mean_sojourn": ["1 ms", "1 s", "20 ms"]
            }),
            // Each state lasts one step: two cyclic classes.
            json!({ "rates": ["1 Mbit/s", "2 Mbit/s"], "mean_sojourn": "10 ms", "step": "10 ms" }),
            // Three cyclic classes, one of two states.
            json!({ "rates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s", "4 Mbit/s"], "step": "1 ms",
                "transition_matrix": [
                    [0, 0.5, 0.5, 0],
                    [0, 0, 0, 1],
                    [0, 0, 0, 1],
                    [1, 0, 0, 0]
                ] }),
            // State 0 is left for good.
            json!({ "rates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"], "step": "1 ms", "initial": 0,
                "transition_matrix": [[0.999, 0.001, 0], [0, 0.5, 0.5], [0, 0.25, 0.75]] }),
            json!({ "rates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"], "mean_sojourn": "5 ms",
                "transition_matrix": [[0, 1, 0], ["10 %", 0, "90 %"], [1, 0, 0]] }),
        ]
    }

    #[test]
    fn shares_of_time_sojourns_and_mean_rate_are_the_given_ones() {
        let tree = json!({ "rates": ["12 Mbit/s", "3 Mbit/s"], "mean_sojourn": ["2 s", "500 ms"] });
        let seconds = 50_000.0;
        let all = sojourns(walk(tree.clone(), 5), seconds);
        for (state, mean) in [(0, 2.0), (1, 0.5)] {
            let of_state = all.iter().filter(|(s, _)| *s == state);
            let lengths: Vec<f64> = of_state.map(|(_, length)| *length).collect();
            let n = lengths.len() as f64;
            let observed = lengths.iter().sum::<f64>() / n;
            assert!(
                (observed - mean).abs() < 4.0 * mean / libm::sqrt(n),
                "state {state}: {observed}"
            );
            // Exponential: e⁻¹ of the sojourns exceed the mean.
            let longer = lengths.iter().filter(|&&length| length > mean).count() as f64 / n;
            let share = libm::exp(-1.0);
            assert!(
                (longer - share).abs() < 4.0 * libm::sqrt(share * (1.0 - share) / n),
                "{longer}"
            );
        }
        // Mean rate 10.2 Mbit/s. The variance of the share of time is 2 π₀π₁ τ / t with 1/τ = 1/2 +
        // 1/0.5.
        let sigma = 9e6 * libm::sqrt(2.0 * 0.8 * 0.2 * 0.4 / seconds);
        let mut link = link(tree, 5);
        let mut now = Time::ZERO;
        let packets = 4_000_000_u32;
        for _ in 0..packets {
            now = link.finish(now, Bytes(15_000));
        }
        let observed = f64::from(packets) * 120_000.0 / now.as_seconds();
        assert!(
            (observed - 10.2e6).abs() < 4.0 * sigma,
            "{observed}, sigma {sigma}"
        );
    }

    #[test]
    fn sojourns_in_steps_are_geometric() {
        let tree =
            json!({ "rates": ["100 kB/s", "50 kB/s"], "mean_sojourn": "90 ms", "step": "30 ms" });
        let all = sojourns(walk(tree, 2), 5_000.0);
        let steps: Vec<f64> = all.iter().map(|(_, length)| length / 0.03).collect();
        assert!(
            steps
                .iter()
                .all(|n| (n - libm::round(*n)).abs() < 1e-6 && *n > 0.5)
        );
        let n = steps.len() as f64;
        let mean = steps.iter().sum::<f64>() / n;
        // Probability 1/3 to leave: mean 3, variance 6.
        assert!((mean - 3.0).abs() < 4.0 * libm::sqrt(6.0 / n), "{mean}");
        let ones = steps.iter().filter(|&&steps| steps < 1.5).count() as f64 / n;
        assert!(
            (ones - 1.0 / 3.0).abs() < 4.0 * libm::sqrt(2.0 / 9.0 / n),
            "{ones}"
        );
    }

    #[test]
    fn a_matrix_says_where_to_and_how_often() {
        let tree = json!({ "rates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"], "step": "1 ms",
            "transition_matrix": [[0.5, 0.4, 0.1], [0.2, 0.8, 0], [0, 0.5, 0.5]] });
        let chain = Arc::clone(&parameters(tree.clone()).chain);
        // π = π P, by hand: π₀ ∝ 10, π₁ ∝ 25, π₂ ∝ 2.
        for (share, expected) in chain.stationary.iter().zip([10.0, 25.0, 2.0]) {
            assert!((share - expected / 37.0).abs() < 1e-14);
        }
        let all = sojourns(walk(tree, 3), 200.0);
        let after = |from, to| {
            all.windows(2)
                .filter(|w| w[0].0 == from && w[1].0 == to)
                .count() as f64
        };
        let (n, to_1) = (after(0, 1) + after(0, 2), after(0, 1));
        assert!(
            (to_1 / n - 0.8).abs() < 4.0 * libm::sqrt(0.16 / n),
            "{to_1} of {n}"
        );
        assert_eq!((after(1, 2), after(2, 0)), (0.0, 0.0));
    }

    #[test]
    fn shares_are_right_however_far_apart_the_sojourns() {
        let sojourns = ["1 us", "100 d", "1 s"];
        let tree =
            json!({ "rates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"], "mean_sojourn": sojourns });
        let chain = Arc::clone(&parameters(tree).chain);
        let means = [1e-6, 100.0 * 86_400.0, 1.0];
        let total: f64 = means.iter().sum();
        for (share, mean) in chain.stationary.iter().zip(means) {
            assert!((share / (mean / total) - 1.0).abs() < 1e-12, "{share}");
        }
    }

    #[test]
    fn the_first_state_is_drawn_with_its_share_or_given() {
        let n = 20_000_u32;
        let firsts = |initial: Value| {
            let tree = json!({
                "rates": ["1 Mbit/s", "2 Mbit/s"],
                "mean_sojourn": ["3 s", "1 s"],
                "initial": initial
            });
            let parameters = parameters(tree);
            let count = (0..n).filter(|&seed| {
                let mut stream = Streams::new(seed.into(), 0).stream("hop/test/link");
                Walk::new(
                    Arc::clone(&parameters.chain),
                    parameters.initial,
                    &mut stream,
                )
                .state
                    == 1
            });
            count.count() as f64
        };
        let drawn = firsts(json!("stationary"));
        let (n, none) = (f64::from(n), 0.0);
        assert!(
            (drawn - n / 4.0).abs() < 4.0 * libm::sqrt(n * 0.25 * 0.75),
            "{drawn}"
        );
        assert_eq!((firsts(json!(0)), firsts(json!(1))), (none, n));
    }

    #[test]
    fn a_leap_ends_where_a_walk_does() {
        for tree in chains() {
            for seed in 0..10 {
                let mut start = walk(tree.clone(), seed);
                (0..seed).for_each(|_| start.advance()); // from within a block
                let block = start.chain.block;
                let at = Time::from_nanos(block * (300 + 37 * seed) + block / 3);
                let (mut leaping, mut walking) = (start.clone(), start);
                leaping.seek(at);
                while walking.until <= at {
                    walking.advance();
                }
                assert_eq!(
                    (leaping.state, leaping.from, leaping.until),
                    (walking.state, walking.from, walking.until),
                    "{tree} seed {seed}"
                );
            }
        }
    }

    #[test]
    fn a_century_is_no_wait() {
        for tree in chains() {
            let mut walk = walk(tree.clone(), 1);
            let far = Time::from_seconds(100.0 * YEAR);
            walk.seek(far);
            assert!(walk.from <= far && far < walk.until, "{tree}");
            let mut link = link(tree, 1);
            let first = link.finish(Time::ZERO, Bytes(1500));
            let later = link.finish(far, Bytes(1500));
            assert!(first < far && far < later && !later.is_never());
        }
    }

    #[test]
    fn a_link_that_is_or_falls_down_for_good_never_finishes() {
        for tree in [
            json!({ "rates": ["0 bit/s"] }),
            json!({ "rates": ["0 bit/s", "0 bit/s"], "mean_sojourn": "1 us" }),
            json!({
                "rates": ["0 bit/s", "1 Mbit/s"],
                "step": "1 ms",
                "transition_matrix": [[1, 0], [0.001, 0.999]]
            }),
        ] {
            assert!(link(tree, 1).finish(Time::ZERO, Bytes(1500)).is_never());
        }
        let failing = json!({ "rates": ["1 Mbit/s", "0 bit/s"], "step": "1 ms", "initial": 0,
            "transition_matrix": [[0.999, 0.001], [0, 1]] });
        let mut link = link(failing, 1);
        let mut now = Time::ZERO;
        while !now.is_never() {
            assert!(
                now < Time::from_seconds(1000.0),
                "down after 1 s on average"
            );
            now = link.finish(now, Bytes(1500));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let both = |mut tree: Value| {
            tree["rates"] = json!(["1 Mbit/s", "2 Mbit/s"]);
            tree
        };
        for (tree, key) in [
            (json!({ "rates": [] }), "out-of-range rates"),
            (both(json!({})), "missing mean_sojourn"),
            (both(json!({ "mean_sojourn": "5" })), "no-unit mean_sojourn"),
            (
                both(json!({ "mean_sojourn": ["1 s"] })),
                "out-of-range mean_sojourn",
            ),
            (
                both(json!({ "mean_sojourn": ["1 s", "0 s"] })),
                "out-of-range mean_sojourn.1",
            ),
            (
                both(json!({ "mean_sojourn": "1 ms", "step": "2 ms" })),
                "out-of-range mean_sojourn",
            ),
            (
                both(json!({ "mean_sojourn": "1 s", "step": "0 s" })),
                "out-of-range step",
            ),
            (
                both(json!({ "transition_matrix": [[1, 0], [0, 1]] })),
                "missing step",
            ),
            (
                both(json!({ "step": "1 s", "transition_matrix": [[1, 0]] })),
                "out-of-range transition_matrix",
            ),
            (
                both(json!({ "step": "1 s", "transition_matrix": [[0.5, 0.4], [0, 1]] })),
                "out-of-range transition_matrix.0",
            ),
            (
                both(json!({ "step": "1 s", "transition_matrix": [[1, 0], [0, 1]] })),
                "out-of-range transition_matrix",
            ),
            (
                both(json!({ "mean_sojourn": "1 s", "transition_matrix": [[1, 0], [1, 0]] })),
                "out-of-range transition_matrix.0",
            ),
            (
                both(json!({ "mean_sojourn": "1 s", "initial": 2 })),
                "contradiction initial",
            ),
            (
                both(json!({ "mean_sojourn": "1 s", "initial": "first" })),
                "out-of-range initial",
            ),
            (
                json!({ "rates": ["1 kbit/s", "0 bit/s"], "mean_sojourn": "1 us" }),
                "out-of-range rates",
            ),
        ] {
            assert_eq!(refusal(tree), key);
        }
    }

    proptest! {
        /// The realisation is a function of time: whatever the packets do, the rate at every moment
        /// is that of a plain walk.
        #[test]
        fn the_rate_does_not_depend_on_the_packets(
            chain in 0..7_usize,
            seed in 0..100_u64,
            packets in prop::collection::vec((0_u64..3_000_000_000, 1_u64..20_000), 1..40),
        ) {
            let tree = chains()[chain].clone();
            let mut plain = walk(tree.clone(), seed);
            let mut link = link(tree, seed);
            let (mut now, mut seen) = (Time::ZERO, Vec::new());
            for (gap, size) in packets {
                // Every second packet is back to back.
                let start = if gap % 2 == 0 { now } else { now + Span::from_nanos(gap) };
                let finish = link.finish(start, Bytes(size));
                prop_assert!(finish > start);
                let middle = start + finish.since(start) / 2;
                seen.extend([start, middle].map(|at| (at, link.rate(at))));
                // Looking ahead changes nothing.
                link.rate(finish + Span::from_nanos(gap * 7));
                now = finish;
            }
            for (at, rate) in seen {
                while plain.until <= at {
                    plain.advance();
                }
                prop_assert_eq!(rate, plain.piece().rate);
            }
        }
    }
}
