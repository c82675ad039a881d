//! The low-pass filters of TCP Westwood, which smooth samples of a rate.

use super::seconds;
use ackclock_spec::prelude::*;

parameters! {
    /// Smoothing of rate samples.
    pub struct LowPass {
        /// Type of filter.
        pub filter: Filter = Filter::Tustin,
        /// τ: time constant of `tustin`; its cut-off frequency is 1/τ. The early papers have 0.5 s
        /// (from memory), the constructor of the ns-2 module 1 s.
        pub tau: Span = Span::from_millis(500),
        /// m: `tustin` takes a sample of zero whenever τ/m has passed without an ACK. At least 2,
        /// since a step of 2τ would remove all weight.
        pub virtual_samples: u32 = 2,
        /// Shortest step of a sample after virtual samples. A shorter remainder of the silence is
        /// dropped: the sample then replaces the last virtual one, with a step of τ/m (as in the
        /// ns-2 module, with 10 ms).
        pub shortest_step: Span = Span::from_millis(10),
        /// True if a retransmission timeout adds the zeros of the silence at once, not only the
        /// next ACK. The ns-2 module waits for the ACK, so that ssthresh comes from the rate before
        /// the silence.
        pub zeros_at_timeout: bool = false,
    }
}

/// Type of low-pass filter. b is the sample, b⁻ the one before, b̂ the estimate, and Δ the time
/// between the two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// b̂ ← ((2τ − Δ) b̂ + Δ (b + b⁻))/(2τ + Δ): first order, discretized by the bilinear rule
    /// (Tustin) with a variable step, and with zeros in silence. The filter that the papers
    /// describe; type 3 of the ns-2 module.
    #[default]
    Tustin,
    /// b̂ ← 0.9 b̂ + 0.1 b: type 0 of the ns-2 module.
    #[serde(rename = "ns2_type_0")]
    Ns2Type0,
    /// b̂ ← (19 b̂ + b + b⁻)/21, which is `tustin` with Δ = τ/10: type 1 of the ns-2 module, its
    /// default.
    #[serde(rename = "ns2_type_1")]
    Ns2Type1,
    /// b̂ ← (29 b̂ + b + b⁻)/31, which is `tustin` with Δ = τ/15: type 2 of the ns-2 module.
    #[serde(rename = "ns2_type_2")]
    Ns2Type2,
}

impl LowPass {
    pub(super) fn check(&self) -> Result<()> {
        every([
            check_above_zero("low_pass.tau", self.tau, "0.5 s"),
            in_range(
                self.virtual_samples >= 2,
                "low_pass.virtual_samples",
                &self.virtual_samples,
                "is less than 2",
            ),
            check_above_zero("low_pass.shortest_step", self.shortest_step, "10 ms"),
        ])
    }
}

/// The state of a [`LowPass`]. Steps and silences are in seconds.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    filter: Filter,
    tau: f64,
    /// τ/m: step of a virtual sample.
    longest_step: f64,
    shortest_step: f64,
    /// b̂: estimate.
    value: f64,
    /// b⁻: previous sample.
    last: f64,
}

impl Smoothed {
    fn new(parameters: &LowPass) -> Self {
        let tau = seconds(parameters.tau);
        Smoothed {
            filter: parameters.filter,
            tau,
            longest_step: tau / f64::from(parameters.virtual_samples),
            shortest_step: seconds(parameters.shortest_step),
            value: 0.0,
            last: 0.0,
        }
    }

    /// Adds the zeros of a `silence` since the last sample. Returns the remainder, which is the
    /// step of the next sample.
    fn pass_silence(&mut self, silence: f64) -> f64 {
        if self.filter != Filter::Tustin {
            return silence;
        }
        let mut zeros = libm::floor(silence / self.longest_step);
        let mut rest = silence - zeros * self.longest_step;
        if zeros > 0.0 && rest < self.shortest_step {
            zeros -= 1.0;
            rest = self.longest_step;
        }
        if zeros > 0.0 {
            self.feed(0.0, self.longest_step);
            // Each further zero keeps the same share, since the sample before it is zero.
            let (tau, step) = (self.tau, self.longest_step);
            self.value *= libm::pow((2.0 * tau - step) / (2.0 * tau + step), zeros - 1.0);
        }
        rest
    }

    /// Adds a sample with its step.
    fn feed(&mut self, sample: f64, step: f64) {
        let sum = sample + self.last;
        self.value = match self.filter {
            Filter::Tustin => {
                ((2.0 * self.tau - step) * self.value + step * sum) / (2.0 * self.tau + step)
            }
            Filter::Ns2Type0 => 0.9 * self.value + 0.1 * sample,
            Filter::Ns2Type1 => (19.0 * self.value + sum) / 21.0,
            Filter::Ns2Type2 => (29.0 * self.value + sum) / 31.0,
        };
        self.last = sample;
    }
}

/// A [`LowPass`] fed by ACKs, with a step from one time with ACKs to the next. ACKs at the same
/// time are one sample, which each of them updates.
#[derive(Clone, Debug)]
pub(super) struct FedByAcks {
    now: Smoothed,
    /// State at the start of the present step.
    before: Smoothed,
    /// Start and end of the present step. The first ACK has a step of zero: the time in which its
    /// data was delivered is unknown.
    step: Option<(Time, Time)>,
    zeros_at_timeout: bool,
}

impl FedByAcks {
    /// A filter before the first ACK.
    pub fn new(parameters: &LowPass) -> Self {
        let smoothed = Smoothed::new(parameters);
        FedByAcks {
            now: smoothed,
            before: smoothed,
            step: None,
            zeros_at_timeout: parameters.zeros_at_timeout,
        }
    }

    /// Returns the estimate.
    pub const fn value(&self) -> f64 {
        self.now.value
    }

    /// Processes the time of an ACK. Returns true if it ends a step, which an ACK at the same time
    /// as the previous one does not.
    pub fn advance(&mut self, now: Time) -> bool {
        let (_, ended) = *self.step.get_or_insert((now, now));
        let later = now > ended;
        if later {
            self.before = self.now;
            self.step = Some((ended, now));
        }
        later
    }

    /// Sets the sample of the present step; `sample` gets its duration in seconds.
    pub fn sample(&mut self, sample: impl FnOnce(f64) -> f64) {
        if let Some((began, ended)) = self.step
            && ended > began
        {
            self.now = self.before;
            let rest = self.now.pass_silence(seconds(ended.since(began)));
            self.now.feed(sample(rest), rest);
        }
    }

    /// Handles expiry of the retransmission timer: adds the zeros of the silence before it, if
    /// configured.
    pub fn time_out(&mut self, now: Time) {
        if let Some((_, ended)) = self.step
            && self.zeros_at_timeout
            && now > ended
        {
            let silence = seconds(now.since(ended));
            let passed = silence - self.now.pass_silence(silence);
            self.before = self.now;
            let at = ended + Span::from_seconds(passed);
            self.step = Some((at, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smoothed(filter: Filter) -> Smoothed {
        Smoothed::new(&LowPass {
            filter,
            tau: Span::from_millis(1000),
            ..LowPass::default()
        })
    }

    const ALL: [Filter; 4] = [
        Filter::Tustin,
        Filter::Ns2Type0,
        Filter::Ns2Type1,
        Filter::Ns2Type2,
    ];

    #[test]
    fn a_constant_rate_is_found() {
        for filter in ALL {
            let mut smoothed = smoothed(filter);
            (0..2000).for_each(|_| smoothed.feed(7.0, 0.1));
            assert!((smoothed.value - 7.0).abs() < 1e-9, "{filter:?}");
        }
    }

    #[test]
    fn the_constant_filters_are_tustin_at_one_spacing() {
        for (filter, step) in [(Filter::Ns2Type1, 0.1), (Filter::Ns2Type2, 1.0 / 15.0)] {
            let (mut constant, mut tustin) = (smoothed(filter), smoothed(Filter::Tustin));
            for sample in [3.0, 1.0, 4.0, 1.0, 5.0, 9.0] {
                constant.feed(sample, step);
                tustin.feed(sample, step);
                assert!((constant.value - tustin.value).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_step_is_followed_with_the_time_constant() {
        let mut smoothed = smoothed(Filter::Tustin);
        smoothed.last = 1.0; // so that the step is at time zero
        (0..1000).for_each(|_| smoothed.feed(1.0, 0.001));
        assert!((smoothed.value - (1.0 - libm::exp(-1.0))).abs() < 1e-6);
    }

    #[test]
    fn silence_keeps_three_fifths_and_one_fifth_of_the_sample() {
        let mut smoothed = smoothed(Filter::Tustin);
        (smoothed.value, smoothed.last) = (5.0, 10.0);
        assert_eq!(smoothed.pass_silence(0.6), 0.6 - 0.5); // one zero, m = 2
        assert!((smoothed.value - (0.6 * 5.0 + 0.2 * 10.0)).abs() < 1e-12);
        let after = smoothed.value;
        // Two more zeros; no sample is remembered.
        assert!((smoothed.pass_silence(1.1) - 0.1).abs() < 1e-12);
        assert!((smoothed.value - 0.36 * after).abs() < 1e-12);
    }

    #[test]
    fn a_short_rest_gives_way_to_the_step_before() {
        let mut smoothed = smoothed(Filter::Tustin);
        smoothed.value = 1.0;
        assert_eq!(smoothed.pass_silence(0.505), 0.5);
        assert_eq!(smoothed.value, 1.0);
        // Exactly two steps: the second is the sample's.
        assert!((smoothed.pass_silence(1.0) - 0.5).abs() < 1e-12);
        assert!((smoothed.value - 0.6).abs() < 1e-12);
    }

    #[test]
    fn many_virtual_samples_are_one_after_the_other() {
        for m in [2, 3, 1000] {
            let mut at_once = Smoothed::new(&LowPass {
                virtual_samples: m,
                shortest_step: Span::from_nanos(1),
                ..LowPass::default()
            });
            (at_once.value, at_once.last) = (5.0, 10.0);
            let mut one_by_one = at_once;
            let rest = at_once.pass_silence(3.3001);
            let zeros = libm::round((3.3001 - rest) / at_once.longest_step) as u32;
            (0..zeros).for_each(|_| one_by_one.feed(0.0, one_by_one.longest_step));
            assert!(
                zeros > 10 && (at_once.value / one_by_one.value - 1.0).abs() < 1e-9,
                "{m}"
            );
            assert_eq!(at_once.last, 0.0);
        }
    }

    #[test]
    fn a_century_of_silence_takes_no_time_and_leaves_nothing() {
        let mut smoothed = smoothed(Filter::Tustin);
        smoothed.value = 1e9;
        let rest = smoothed.pass_silence(3.2e9);
        assert!((0.0..=0.51).contains(&rest) && smoothed.value < 1e-200);
    }
}
