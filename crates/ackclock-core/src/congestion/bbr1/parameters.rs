//! Parameters of BBR version 1, with the values of Linux.

use super::super::cubic_linux::{LONGEST_TICK, USUAL_TICK};
use super::super::facts::{
    ControlFacts, Draws, GrowthLaw, KeptShare, LinuxControl, PathModelFacts,
};
use super::super::{CongestionControl, ControlContext, ControlKind};
use super::Control;
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. The defaults are the constants of `tcp_bbr.c` in Linux 6, named in brackets.
    /// Gains and shares are in 256ths, as there.
    #[derive(PartialEq)]
    pub struct Bbr1 {
        /// Gain of rate and window in startup: 2/ln 2, in 256ths (`bbr_high_gain`).
        pub startup_gain: u64 = 256 * 2885 / 1000 + 1,
        /// Gain of the rate in drain: the inverse, in 256ths (`bbr_drain_gain`).
        pub drain_gain: u64 = 256 * 1000 / 2885,
        /// Gain of the window when probing for bandwidth, in 256ths (`bbr_cwnd_gain`).
        pub cwnd_gain: u64 = 512,
        /// Gains of the rate in the phases of a cycle that probes for bandwidth, in 256ths
        /// (`bbr_pacing_gain`).
        pub cycle_gains: [u64; 8] = [320, 192, 256, 256, 256, 256, 256, 256],
        /// Phases at which the cycle begins, one for each time that it does. Linux draws them, and
        /// so does this control after the last (`bbr_reset_probe_bw_mode`).
        pub cycle_starts: Vec<usize> = Vec::new(),
        /// Rounds for which the largest bandwidth is kept (`bbr_bw_rtts`).
        pub bandwidth_rounds: u64 = 10,
        /// Tick of the kernel's clock, in which the next two times count: 4 ms if the kernel was
        /// built with `CONFIG_HZ=250`, the default there, and 1 ms with 1000. At most 30 ms.
        pub tick: Span = USUAL_TICK,
        /// Time for which the smallest round-trip time is kept (`bbr_min_rtt_win_sec`).
        pub min_rtt_window: Span = Span::from_millis(10_000),
        /// Time for which the window stays small to measure it again (`bbr_probe_rtt_mode_ms`).
        pub probe_rtt_time: Span = Span::from_millis(200),
        /// Smallest window, in segments, and the one in that time (`bbr_cwnd_min_target`).
        pub least_window: u64 = 4,
        /// Growth of the bandwidth that keeps startup going, in 256ths (`bbr_full_bw_thresh`).
        pub full_growth: u64 = 320,
        /// Rounds without such growth that end startup (`bbr_full_bw_cnt`).
        pub full_rounds: u64 = 3,
        /// Part of the estimated rate that is not used, in percent (`bbr_pacing_margin_percent`).
        pub pacing_margin: u64 = 1,
        /// Rate below which a burst is one segment instead of two (`bbr_min_tso_rate`).
        pub least_burst_rate: BitRate = BitRate::from_bit_per_s(1_200_000),
        /// Least rounds of an interval of policer detection (`bbr_lt_intvl_min_rtts`). It is given
        /// up after four times as many.
        pub policer_rounds: u64 = 4,
        /// Loss over delivery that indicates a policer, in 256ths (`bbr_lt_loss_thresh`).
        pub policer_loss: u64 = 50,
        /// Relative difference of two intervals that agree, in 256ths (`bbr_lt_bw_ratio`).
        pub policer_ratio: u64 = 32,
        /// Difference of two intervals that agree (`bbr_lt_bw_diff`).
        pub policer_difference: BitRate = BitRate::from_bit_per_s(4000),
        /// Rounds for which the rate of a policer is used (`bbr_lt_bw_max_rtts`).
        pub policer_use_rounds: u64 = 48,
        /// Gain of the excess by ACK aggregation, in 256ths; 0 for none (`bbr_extra_acked_gain`).
        pub aggregation_gain: u64 = 256,
        /// Rounds for which the largest excess is kept at least (`bbr_extra_acked_win_rtts`).
        pub aggregation_rounds: u64 = 5,
        /// Longest time for which the excess may provide (`bbr_extra_acked_max_us`).
        pub aggregation_limit: Span = Span::from_millis(100),
    }
}

/// Checks that a gain or a count is usable: sums and products of a few still fit in 64 bits.
fn check_count(name: &str, value: u64, least: u64) -> Result<()> {
    let remedy = format!("is not from {least} to 10000");
    in_range((least..=10_000).contains(&value), name, &value, &remedy)
}

impl Element<ControlKind> for Bbr1 {
    const NAME: &'static str = "bbr1";
    const LABEL: &'static str = "BBRv1";
    const SUMMARY: &'static str =
        "Sends at the largest measured delivery rate, with two bandwidth-delay products in flight.";
    const REFERENCE: &'static str = "Cardwell and others (2016), BBR: Congestion-Based Congestion \
        Control; tcp_bbr.c of Linux 6";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let gains = self
            .cycle_gains
            .map(|gain| check_count("cycle_gains", gain, 1));
        let phases = self.cycle_gains.len();
        let starts = self
            .cycle_starts
            .iter()
            .map(|start| in_range(*start < phases, "cycle_starts", start, "is not from 0 to 7"));
        every(
            [
                check_count("startup_gain", self.startup_gain, 1),
                check_count("drain_gain", self.drain_gain, 1),
                check_count("cwnd_gain", self.cwnd_gain, 1),
                check_count("bandwidth_rounds", self.bandwidth_rounds, 1),
                check_count("least_window", self.least_window, 1),
                check_count("full_growth", self.full_growth, 1),
                check_count("full_rounds", self.full_rounds, 1),
                in_range(
                    self.pacing_margin < 100,
                    "pacing_margin",
                    &self.pacing_margin,
                    "is not below 100",
                ),
                in_range(
                    Span::ZERO < self.tick && self.tick <= LONGEST_TICK,
                    "tick",
                    &self.tick,
                    "is not above 0 and at most 30 ms",
                ),
                check_count("policer_rounds", self.policer_rounds, 1),
                check_count("policer_loss", self.policer_loss, 0),
                check_count("policer_ratio", self.policer_ratio, 0),
                check_count("policer_use_rounds", self.policer_use_rounds, 1),
                check_count("aggregation_gain", self.aggregation_gain, 0),
                check_count("aggregation_rounds", self.aggregation_rounds, 1),
            ]
            .into_iter()
            .chain(gains)
            .chain(starts),
        )
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            growth: Some(GrowthLaw::ByPathModel {
                gains: Some(self.path_model()),
            }),
            kept_after_loss: Some(KeptShare::All),
            kept_after_mark: Some(KeptShare::All),
            reacts_to_loss: Some(false),
            reacts_to_delay: Some(false),
            paces: Some(true),
            slow_start_ends_early: Some(false),
            draws: Stated::Some(Draws {
                parameter: "cycle_starts".into(),
                outcomes: self.cycle_gains.len(),
            }),
            linux: Stated::Some(LinuxControl::new("bbr", self, &Bbr1::default())),
            ..ControlFacts::of_the_engine()
        }
    }
}

impl Bbr1 {
    fn path_model(&self) -> PathModelFacts {
        let gain = |of_256: u64| of_256 as f64 / 256.0;
        let most = self.cycle_gains.iter().copied().max();
        PathModelFacts {
            startup_rate_gain: gain(self.startup_gain),
            startup_window_gain: gain(self.startup_gain),
            startup_full_rounds: u32::try_from(self.full_rounds).unwrap_or(u32::MAX),
            drain_rate_gain: gain(self.drain_gain),
            window_gain: gain(self.cwnd_gain),
            probe_rate_gain: gain(most.unwrap_or_default()),
            probe_window_gain: gain(self.cwnd_gain),
            probe_rounds: 1, // a phase of the cycle lasts a round trip
            used_share: (100 - self.pacing_margin) as f64 / 100.0,
            rtt_probe_interval_s: self.min_rtt_window.as_seconds(),
            rtt_probe_time_s: self.probe_rtt_time.as_seconds(),
            rtt_probe_share: 0.0,
            rtt_probe_segments: self.least_window as f64,
        }
    }
}

impl Factory<ControlKind> for Bbr1 {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        Box::new(Control::new(self.clone(), &context))
    }

    fn draws(&self) -> bool {
        true
    }
}
