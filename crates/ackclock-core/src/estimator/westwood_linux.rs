//! Westwood+ as Linux reckons it, in whole bytes and jiffies.

use super::observation::AckedCount;
use super::{AckSample, EstimatorContext, EstimatorKind, RateEstimator};
use crate::registry::{Element, Recipe};
use crate::scenario::error::{Error, Result};
use crate::scenario::files::Files;
use crate::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodLinux {
    /// Jiffies per second, HZ: that of the kernel to be compared with (`CONFIG_HZ`). What is cut off in whole bytes per jiffy makes the
    /// estimate stay below the truth by up to 14 HZ bytes per second.
    pub hz: u32,
}

impl Default for WestwoodLinux {
    fn default() -> Self {
        WestwoodLinux { hz: 1000 }
    }
}

impl Element<EstimatorKind> for WestwoodLinux {
    const NAME: &'static str = "westwood_linux";
    const LABEL: &'static str = "Westwood+ of Linux";
    const SUMMARY: &'static str =
        "Westwood+ in the integer arithmetic of Linux: two filters of gain 1/8 in a row, bytes per jiffy.";
    const REFERENCE: &'static str = "Linux, net/ipv4/tcp_westwood.c";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        if !(1..=1_000_000).contains(&self.hz) {
            return Err(Error::new(
                "hz",
                &self.hz.into(),
                "is not between 1 and 1000000; write for example 250 or 1000",
            ));
        }
        Ok(())
    }
}

impl Recipe<EstimatorKind> for WestwoodLinux {
    fn build(&self, context: EstimatorContext) -> Box<dyn RateEstimator> {
        Box::new(self.start(&context))
    }
}

impl WestwoodLinux {
    /// One for a connection.
    pub fn start(&self, context: &EstimatorContext) -> LinuxEstimate {
        LinuxEstimate {
            hz: self.hz.into(),
            mss: context.mss.0,
            window_start: None,
            bytes: 0,
            counter: AckedCount::new(context.mss),
            first_stage: 0,
            rate: 0,
            rtt: INITIAL_RTT_S * u64::from(self.hz),
            rtt_min: INITIAL_RTT_S * u64::from(self.hz),
            relearn_rtt_min: true,
        }
    }
}

/// What the round-trip time is taken for before it is known.
const INITIAL_RTT_S: u64 = 20;
/// A sample takes 1/20 s at least.
const SHORTEST_SAMPLE_PER_S: u64 = 20;

/// The module's state for one connection. Rates in bytes per jiffy, times in jiffies.
#[derive(Debug)]
pub struct LinuxEstimate {
    hz: u64,
    mss: u64,
    /// When the present sample began.
    window_start: Option<u64>,
    /// Counted since.
    bytes: u64,
    /// The slow path of the module, which a trace cannot tell from the fast one.
    counter: AckedCount,
    first_stage: u64,
    rate: u64,
    rtt: u64,
    rtt_min: u64,
    /// At the beginning and after a timeout: the next ACK's round-trip time is the smallest, whatever it is.
    relearn_rtt_min: bool,
}

impl LinuxEstimate {
    fn filter(&mut self, elapsed: u64) {
        let sample = self.bytes / elapsed;
        if self.first_stage == 0 && self.rate == 0 {
            (self.first_stage, self.rate) = (sample, sample);
        } else {
            self.first_stage = smoothed(self.first_stage, sample);
            self.rate = smoothed(self.rate, self.first_stage);
        }
    }

    /// Before the ACK's own round-trip time is stored.
    fn update_window(&mut self, jiffies: u64) {
        let Some(start) = self.window_start else {
            return;
        };
        let elapsed = jiffies.saturating_sub(start);
        if elapsed > self.rtt.max(self.hz / SHORTEST_SAMPLE_PER_S) {
            self.filter(elapsed);
            self.bytes = 0;
            self.window_start = Some(jiffies);
        }
    }
}

impl RateEstimator for LinuxEstimate {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        let jiffies = (u128::from(now.as_nanos()) * u128::from(self.hz) / 1_000_000_000) as u64;
        self.update_window(jiffies);
        if self.window_start.is_none() {
            self.window_start = Some(jiffies); // the first ACK counts nothing
        } else {
            let counted = self.counter.count(ack.newly_acked.0);
            self.bytes = self.bytes.saturating_add(counted);
        }
        self.rtt_min = if self.relearn_rtt_min {
            self.rtt
        } else {
            self.rtt_min.min(self.rtt)
        };
        self.relearn_rtt_min = false;
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Span::ZERO) {
            self.rtt = (u128::from(rtt.as_nanos()) * u128::from(self.hz)).div_ceil(1_000_000_000) as u64;
        }
    }

    fn on_timeout(&mut self, _now: Time) {
        self.relearn_rtt_min = true;
    }

    fn rate(&self) -> f64 {
        self.rate as f64 * self.hz as f64
    }

    fn rtt_min(&self) -> Option<f64> {
        (self.rtt_min < INITIAL_RTT_S * self.hz).then_some(self.rtt_min as f64 / self.hz as f64)
    }

    /// In whole segments, two at least.
    fn window(&self) -> Option<f64> {
        let segments = self.rate.saturating_mul(self.rtt_min) / self.mss.max(1);
        Some(segments.max(2).saturating_mul(self.mss) as f64)
    }
}

/// A gain of 1/8, what is left of the division cut off.
const fn smoothed(value: u64, sample: u64) -> u64 {
    value.saturating_mul(7).saturating_add(sample) >> 3
}
