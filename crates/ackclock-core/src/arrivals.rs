//! Arrivals: instances of a flow start one after another, at random or at fixed intervals,
//! independent of the progress of earlier instances. A random stream of the flow fixes all arrival
//! times before the run, so every method has the same arrivals.

use ackclock_spec::prelude::*;
use serde_json::json;

/// Arrival process of instances. The number active at a time is not set but follows from Little's
/// law: the mean number is the mean duration of an instance over the mean interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "kind": "poisson", "mean_interval": "200 ms" }))]
pub struct Arrivals {
    /// Distribution of the intervals between arrivals.
    pub kind: Intervals,
    /// Mean interval between two arrivals.
    #[schemars(extend("examples" = ["200 ms"]))]
    pub mean_interval: Span,
}

/// Distribution of the intervals between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Intervals {
    /// Exponential: arrivals are a Poisson process, and the first comes one interval after the
    /// start.
    Poisson,
    /// Constant; the first arrival is at the start.
    Fixed,
}

impl Arrivals {
    /// Returns an error if the mean interval is zero, which would give infinitely many arrivals.
    pub fn check(&self) -> Result<()> {
        check_above_zero("mean_interval", self.mean_interval, "200 ms")
    }

    /// Returns the mean number of arrivals in `time`.
    pub fn expected(&self, time: Span) -> f64 {
        time.as_seconds() / self.mean_interval.as_seconds()
    }

    /// Returns the arrival times, from `start` to before `end`.
    pub fn times(self, start: Time, end: Time, stream: &mut Stream) -> impl Iterator<Item = Time> {
        let mut interval = move || match self.kind {
            Intervals::Poisson => stream.exponential_span(self.mean_interval),
            Intervals::Fixed => self.mean_interval,
        };
        let first = match self.kind {
            Intervals::Poisson => start + interval(),
            Intervals::Fixed => start,
        };
        std::iter::successors(Some(first), move |before| Some(*before + interval()))
            .take_while(move |at| *at < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::streams::Streams;

    fn times(kind: Intervals, start_s: f64, end_s: f64, seed: u64) -> Vec<f64> {
        let arrivals = Arrivals {
            kind,
            mean_interval: Span::from_millis(10),
        };
        let mut stream = Streams::new(seed, 0).stream("arrivals");
        let (start, end) = (Time::from_seconds(start_s), Time::from_seconds(end_s));
        let seconds = |at: Time| at.since(Time::ZERO).as_seconds();
        arrivals
            .times(start, end, &mut stream)
            .map(seconds)
            .collect()
    }

    #[test]
    fn fixed_intervals_are_all_the_same() {
        assert_eq!(
            times(Intervals::Fixed, 1.0, 1.04, 1),
            [1.0, 1.01, 1.02, 1.03]
        );
        assert_eq!(times(Intervals::Fixed, 1.0, 1.0, 1), [0.0; 0]);
    }

    #[test]
    fn a_poisson_process_has_its_rate_its_variance_and_no_memory() {
        let all = times(Intervals::Poisson, 2.0, 1002.0, 1);
        assert!(all.is_sorted() && all.iter().all(|at| (2.0..1002.0).contains(at)));
        // 100 arrivals per second on average: the counts have mean and variance 100. Over 1000 s,
        // the standard error of the mean is 0.3 and that of the variance about 100·√(2/1000).
        let mut counts = vec![0.0_f64; 1000];
        all.iter().for_each(|at| counts[(at - 2.0) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 1000.0;
        let variance = counts
            .iter()
            .map(|count| (count - mean).powi(2))
            .sum::<f64>()
            / 999.0;
        assert!((mean - 100.0).abs() < 4.0 * 0.32, "{mean}");
        assert!((variance - 100.0).abs() < 4.0 * 4.5, "{variance}");
        let gaps: Vec<f64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let longer = |than: f64| gaps.iter().filter(|gap| **gap > than).count() as f64;
        // P(gap > 20 ms | gap > 10 ms) = 1/e, from about 37 000 gaps.
        assert!((longer(0.02) / longer(0.01) - (-1.0_f64).exp()).abs() < 4.0 * 0.0026);
    }

    #[test]
    fn no_interval_at_all_is_refused() {
        let arrivals = Arrivals {
            kind: Intervals::Fixed,
            mean_interval: Span::ZERO,
        };
        let error = arrivals.check().unwrap_err().key();
        assert_eq!(error, "out-of-range mean_interval");
    }
}
