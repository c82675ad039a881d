//! BBR version 1 as in Linux (`tcp_bbr.c`): whole segments, microseconds, and gains in 256ths.
//!
//! The control sends at the largest delivery rate of the last rounds. It keeps two
//! bandwidth-delay products in flight, whatever is lost. A cycle of eight phases probes for more
//! bandwidth, and every ten seconds the window falls to four segments to measure the path alone.
//! Names of Linux are in brackets. docs/deviations.md lists the differences.

use self::aggregation::Aggregation;
use self::parameters::Bbr1;
use self::policer::{Policer, Verdict};
use super::windowed_maximum::WindowedMaximum;
use super::{
    Ack, Congestion, CongestionControl, CongestionKind, ControlContext, ControlState, Event, Needs,
    Pace, PathModel, RateInfo, RecoveryPhase, SendLimit,
};
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

mod aggregation;
pub mod parameters;
mod policer;
#[cfg(test)]
mod tests;

/// Fractional bits of a bandwidth in segments per microsecond (`BW_SCALE`).
const BANDWIDTH_BITS: u32 = 24;
/// A gain of one (`BBR_UNIT`).
const GAIN_ONE: u64 = 256;
/// Largest bandwidth: that of 32 bits in Linux.
const MOST_BANDWIDTH: u64 = u32::MAX as u64;
/// Largest window, in segments: sums and products of a few windows still fit in 64 bits.
const LARGEST: u64 = 1 << 30;
/// Window without a round-trip time, in segments (`TCP_INIT_CWND`).
const INITIAL: u64 = 10;
/// Largest burst in bytes and in segments (`GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, `0x7F`).
const LARGEST_BURST: u64 = 65_536 - 1 - 320;
const MOST_SEGMENTS: u64 = 127;
/// Round-trip time assumed before the first is known, in microseconds.
const ASSUMED_RTT: u64 = 1000;

/// The state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Content of an ACK or a timeout, for the parts of the model.
#[derive(Clone, Copy, Debug)]
struct Sampled {
    at: Time,
    delivered: Bytes,
    lost: Bytes,
    has_losses: bool,
    application_limited: bool,
    round_start: bool,
    mss: u64,
    /// Percent of a rate that is used.
    used: u64,
}

impl Sampled {
    /// Returns bytes in segments, rounded up, at most the largest window.
    fn segments(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss).min(LARGEST)
    }
    /// Returns a bandwidth in bytes per second.
    fn byte_per_s(&self, bandwidth: u64) -> u64 {
        byte_per_s(bandwidth, GAIN_ONE, self.mss, self.used)
    }
}

/// Returns a bandwidth with a gain in bytes per second (`bbr_rate_bytes_per_sec`).
fn byte_per_s(bandwidth: u64, gain: u64, mss: u64, used: u64) -> u64 {
    let scaled = (u128::from(bandwidth) * u128::from(mss) * u128::from(gain)) >> 8;
    let rate = (scaled * 10_000 * u128::from(used)) >> BANDWIDTH_BITS;
    u64::try_from(rate)
        .unwrap_or(u64::MAX / 16)
        .min(u64::MAX / 16)
}

/// Returns a time in microseconds, at most an hour.
fn micros(span: Span) -> u64 {
    (span.as_nanos() / 1000).min(3_600_000_000)
}

/// Detection of the full pipe.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bandwidth: u64,
    rounds: u64,
    reached: bool,
}

/// The smallest round-trip time and the mode that measures it again.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    /// In microseconds; `None` before the first (`min_rtt_us`).
    value: Option<u64>,
    /// Tick at which it was measured (`min_rtt_stamp`).
    at: u64,
    /// Tick after which the probe may end, once little is in flight (`probe_rtt_done_stamp`).
    done_at: Option<u64>,
    round_done: bool,
}

/// The control.
#[derive(Debug)]
struct Control {
    parameters: Bbr1,
    mss: u64,
    stream: Stream,
    mode: Mode,
    /// cwnd, and the one to return to (`prior_cwnd`), in segments.
    cwnd: u64,
    prior: u64,
    /// In bytes per second.
    pacing: u64,
    pacing_gain: u64,
    cwnd_gain: u64,
    has_seen_rtt: bool,
    bandwidth: WindowedMaximum,
    full: FullPipe,
    min_rtt: MinRtt,
    policer: Policer,
    aggregation: Aggregation,
    /// Segments that were to be in flight when drain began; for display alone.
    ssthresh: Option<u64>,
    /// Number of times that the cycle began.
    cycles: usize,
    /// Index into the cycle of gains, and the start of the phase.
    phase: usize,
    phase_start: Time,
    /// Count of rounds, and the delivered data that ends the present one.
    rounds: u64,
    round_end: Bytes,
    round_start: bool,
    delivered: Bytes,
    /// Time of the last delivery (`delivered_mstamp`).
    delivered_at: Time,
    lost: Bytes,
    recovery: RecoveryPhase,
    conserves: bool,
    idle_restart: bool,
}

impl Control {
    fn new(parameters: Bbr1, context: &ControlContext<'_>) -> Self {
        let mss = context.mss.0.max(1);
        let mut control = Control {
            mss,
            stream: context.place.stream(),
            mode: Mode::Startup,
            cwnd: (context.initial_window.0 / mss).clamp(1, LARGEST),
            prior: 0,
            pacing: 0,
            pacing_gain: parameters.startup_gain,
            cwnd_gain: parameters.startup_gain,
            has_seen_rtt: false,
            bandwidth: WindowedMaximum::default(),
            full: FullPipe::default(),
            min_rtt: MinRtt {
                value: None,
                at: 0,
                done_at: None,
                round_done: false,
            },
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            ssthresh: None,
            cycles: 0,
            phase: 0,
            phase_start: Time::ZERO,
            rounds: 0,
            round_end: Bytes::ZERO,
            round_start: false,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            lost: Bytes::ZERO,
            recovery: RecoveryPhase::Open,
            conserves: false,
            idle_restart: false,
            parameters,
        };
        control.pace_initially(ASSUMED_RTT);
        control
    }

    fn rate(&self, bandwidth: u64, gain: u64) -> u64 {
        byte_per_s(
            bandwidth,
            gain,
            self.mss,
            100 - self.parameters.pacing_margin,
        )
    }
    /// Paces the window over a round trip (`bbr_init_pacing_rate_from_rtt`).
    fn pace_initially(&mut self, rtt: u64) {
        let bandwidth = ((self.cwnd << BANDWIDTH_BITS) / rtt.max(1)).min(MOST_BANDWIDTH);
        self.pacing = self.rate(bandwidth, self.parameters.startup_gain);
    }
    fn set_pacing(&mut self, gain: u64, smoothed_rtt: Option<Span>) {
        let rate = self.rate(self.bandwidth(), gain);
        if let Some(rtt) = smoothed_rtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pace_initially(micros(rtt));
        }
        if self.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Returns the bandwidth in use (`bbr_bw`).
    fn bandwidth(&self) -> u64 {
        self.policer.bandwidth().unwrap_or(self.bandwidth.get())
    }
    fn bit_rate(&self, bandwidth: u64) -> BitRate {
        BitRate::from_bit_per_s(byte_per_s(bandwidth, GAIN_ONE, self.mss, 100) * 8)
    }
    /// Returns the segments of a burst (`bbr_tso_segs_goal`).
    fn burst(&self) -> u64 {
        let slow = self.pacing < self.parameters.least_burst_rate.as_bit_per_s() / 8;
        let least = if slow { 1 } else { 2 };
        let bytes = (self.pacing >> 10).min(LARGEST_BURST);
        (bytes / self.mss).max(least).min(MOST_SEGMENTS)
    }
    /// Returns how many of the segments in flight will be in the network when the next burst
    /// leaves, with that burst if the rate probes for more (`bbr_packets_in_net_at_edt`). The gain
    /// is still that of the last ACK.
    fn in_network(&self, now: Time, rate: &RateInfo, in_flight: u64) -> u64 {
        let wait = u128::from(micros(rate.next_departure.since(now)));
        let arrive = (u128::from(self.bandwidth()) * wait) >> BANDWIDTH_BITS;
        let burst = if self.pacing_gain > GAIN_ONE {
            self.burst()
        } else {
            0
        };
        (in_flight + burst).saturating_sub(u64::try_from(arrive).unwrap_or(u64::MAX))
    }
    /// Returns bandwidth times smallest round-trip time times gain (`bbr_bdp`).
    fn product(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt.value else {
            return INITIAL;
        };
        let scaled = (u128::from(bandwidth) * u128::from(rtt) * u128::from(gain)) >> 8;
        let segments = scaled.div_ceil(1 << BANDWIDTH_BITS);
        u64::try_from(segments).unwrap_or(LARGEST).min(LARGEST)
    }
    /// Adds what bursts at both ends need (`bbr_quantization_budget`).
    fn with_bursts(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.burst()).next_multiple_of(2);
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even + if probes { 2 } else { 0 }
    }
    /// Returns the data to have in flight (`bbr_inflight`).
    fn target(&self, gain: u64) -> u64 {
        self.with_bursts(self.product(self.bandwidth.get(), gain))
    }
    /// Returns the excess by ACK aggregation (`bbr_ack_aggregation_cwnd`).
    fn excess(&self) -> u64 {
        if !self.full.reached {
            return 0;
        }
        let limit = u128::from(micros(self.parameters.aggregation_limit));
        let most = (u128::from(self.bandwidth()) * limit) >> BANDWIDTH_BITS;
        let excess = (self.parameters.aggregation_gain * self.aggregation.most()) >> 8;
        u128::from(excess).min(most) as u64
    }
    fn segments(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss).min(LARGEST)
    }
    /// Returns a time on the coarse clock (`tcp_jiffies32`), and how many ticks cover a span.
    fn ticks(&self, now: Time) -> u64 {
        now.as_nanos() / self.parameters.tick.as_nanos()
    }
    fn ticks_of(&self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.parameters.tick.as_nanos())
    }

    fn sampled(&self, has_losses: bool, application_limited: bool) -> Sampled {
        Sampled {
            at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            has_losses,
            application_limited,
            round_start: self.round_start,
            mss: self.mss,
            used: 100 - self.parameters.pacing_margin,
        }
    }

    /// Takes in a rate sample (`bbr_update_bw`).
    fn learn_bandwidth(&mut self, ack: &Ack) {
        self.round_start = false;
        let Some(sample) = ack.rate_sample() else {
            return;
        };
        let elapsed = sample.interval.as_nanos() / 1000;
        if elapsed == 0 {
            return;
        }
        if sample.prior_delivered >= self.round_end {
            self.round_end = ack.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        let limited = sample.limited == SendLimit::Application;
        let sampled = self.sampled(ack.newly_lost > Bytes::ZERO, limited);
        self.sample_policer(&sampled);
        let delivered = self.segments(sample.delivered);
        let bandwidth = ((delivered << BANDWIDTH_BITS) / elapsed).min(MOST_BANDWIDTH);
        if !limited || bandwidth >= self.bandwidth.get() {
            let rounds = self.parameters.bandwidth_rounds;
            self.bandwidth.update(rounds, self.rounds, bandwidth);
        }
        if self.parameters.aggregation_gain > 0 && ack.newly_delivered > Bytes::ZERO {
            let acked = self.segments(ack.newly_delivered);
            let model = (self.bandwidth(), self.cwnd);
            let (start, now) = (self.round_start, self.delivered_at);
            self.aggregation
                .update(&self.parameters, now, acked, start, model);
        }
    }

    fn sample_policer(&mut self, sampled: &Sampled) {
        let probing = self.mode == Mode::ProbeBandwidth;
        match self.policer.sample(&self.parameters, sampled, probing) {
            Verdict::Continue => {}
            Verdict::Found => self.pacing_gain = GAIN_ONE,
            Verdict::Expired => self.probe_bandwidth(),
        }
    }

    /// Enters the cycle at a random phase, but not at the one that drains
    /// (`bbr_reset_probe_bw_mode`).
    fn probe_bandwidth(&mut self) {
        let phases = self.parameters.cycle_gains.len();
        self.mode = Mode::ProbeBandwidth;
        let drawn = (self.stream.uniform() * (phases - 1) as f64) as usize;
        let random = (phases - drawn.min(phases - 2)) % phases;
        let given = self.parameters.cycle_starts.get(self.cycles);
        self.phase = given.copied().unwrap_or(random);
        self.cycles += 1;
        self.phase_start = self.delivered_at;
    }

    /// Moves to the next phase of the cycle when it is due (`bbr_update_cycle_phase`).
    fn follow_cycle(&mut self, now: Time, ack: &Ack, rate: &RateInfo) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let elapsed = micros(self.delivered_at.since(self.phase_start));
        let full = elapsed > self.min_rtt.value.unwrap_or(u64::MAX);
        let before = self.in_network(now, rate, self.segments(rate.prior_in_flight));
        let is_over = if self.pacing_gain == GAIN_ONE {
            full
        } else if self.pacing_gain > GAIN_ONE {
            let reached = before >= self.target(self.pacing_gain);
            full && (ack.newly_lost > Bytes::ZERO || reached)
        } else {
            full || before <= self.target(GAIN_ONE)
        };
        if is_over {
            self.phase = (self.phase + 1) % self.parameters.cycle_gains.len();
            self.phase_start = self.delivered_at;
        }
    }

    /// Ends startup when the bandwidth has stopped growing (`bbr_check_full_bw_reached`).
    fn check_full(&mut self, ack: &Ack) {
        let limited = ack
            .rate_sample()
            .is_some_and(|sample| sample.limited == SendLimit::Application);
        if self.full.reached || !self.round_start || limited {
            return;
        }
        let most = self.bandwidth.get();
        if most >= (self.full.bandwidth * self.parameters.full_growth) >> 8 {
            (self.full.bandwidth, self.full.rounds) = (most, 0);
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= self.parameters.full_rounds;
    }

    /// Drains the queue of startup, and then begins the cycle (`bbr_check_drain`).
    fn check_drain(&mut self, now: Time, ack: &Ack, rate: &RateInfo) {
        if !matches!(self.mode, Mode::Startup | Mode::Drain) {
            return;
        }
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.ssthresh = Some(self.target(GAIN_ONE));
        }
        let in_flight = self.in_network(now, rate, self.segments(ack.in_flight));
        if self.mode == Mode::Drain && in_flight <= self.target(GAIN_ONE) {
            self.probe_bandwidth();
        }
    }

    /// Keeps the smallest round-trip time, and measures it again when it is old
    /// (`bbr_update_min_rtt`).
    fn learn_min_rtt(&mut self, now: Time, ack: &Ack, rate: &RateInfo) {
        let tick = self.ticks(now);
        let old = tick > self.min_rtt.at + self.ticks_of(self.parameters.min_rtt_window);
        if let Some(rtt) = ack.newest_rtt.map(micros)
            && (old && !rate.delayed || self.min_rtt.value.is_none_or(|least| rtt < least))
        {
            (self.min_rtt.value, self.min_rtt.at) = (Some(rtt), tick);
        }
        let probes = self.parameters.probe_rtt_time > Span::ZERO;
        if probes && old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd_for_probe();
            self.min_rtt.done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            let in_flight = self.segments(ack.in_flight);
            if self.min_rtt.done_at.is_none() {
                if in_flight <= self.parameters.least_window {
                    let lasts = self.ticks_of(self.parameters.probe_rtt_time);
                    self.min_rtt.done_at = Some(tick + lasts);
                    self.min_rtt.round_done = false;
                    self.round_end = ack.delivered;
                }
            } else {
                self.min_rtt.round_done |= self.round_start;
                if self.min_rtt.round_done {
                    self.end_probe_rtt(now);
                }
            }
        }
        if ack.newly_delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// Leaves the probe if it has lasted long enough (`bbr_check_probe_rtt_done`).
    fn end_probe_rtt(&mut self, now: Time) {
        let tick = self.ticks(now);
        if self.min_rtt.done_at.is_none_or(|at| tick <= at) {
            return;
        }
        self.min_rtt.at = tick;
        self.cwnd = self.cwnd.max(self.prior);
        if self.full.reached {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Notes the window to return to (`bbr_save_cwnd`).
    fn save_cwnd(&mut self) {
        let good = !is_recovering(self.recovery) && self.mode != Mode::ProbeRtt;
        self.prior = if good {
            self.cwnd
        } else {
            self.prior.max(self.cwnd)
        };
    }
    /// The same when the probe begins: Linux has changed the mode before.
    fn save_cwnd_for_probe(&mut self) {
        self.prior = self.prior.max(self.cwnd);
    }

    fn set_gains(&mut self) {
        let parameters = &self.parameters;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (parameters.startup_gain, parameters.startup_gain),
            Mode::Drain => (parameters.drain_gain, parameters.startup_gain),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => {
                (GAIN_ONE, parameters.cwnd_gain)
            }
            Mode::ProbeBandwidth => (parameters.cycle_gains[self.phase], parameters.cwnd_gain),
            Mode::ProbeRtt => (GAIN_ONE, GAIN_ONE),
        };
    }

    /// Sets cwnd (`bbr_set_cwnd`).
    fn set_cwnd(&mut self, ack: &Ack) {
        let acked = self.segments(ack.newly_delivered);
        if acked > 0 && !self.recover_or_restore(ack, acked) {
            let target = self.product(self.bandwidth(), self.cwnd_gain) + self.excess();
            let target = self.with_bursts(target);
            if self.full.reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.segments(ack.delivered) < INITIAL {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(self.parameters.least_window);
        }
        self.cwnd = self.cwnd.min(LARGEST);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.parameters.least_window);
        }
    }

    /// Sends one segment for each that arrives in the first round of recovery, and restores cwnd
    /// after it (`bbr_set_cwnd_to_recover_or_restore`). Returns true if cwnd is to stay.
    fn recover_or_restore(&mut self, ack: &Ack, acked: u64) -> bool {
        let in_flight = self.segments(ack.in_flight);
        let lost = self.segments(ack.newly_lost);
        self.cwnd = self.cwnd.saturating_sub(lost).max(1);
        if ack.phase == RecoveryPhase::Recovery && self.recovery != RecoveryPhase::Recovery {
            self.conserves = true;
            self.round_end = ack.delivered;
            self.cwnd = in_flight + acked;
        } else if is_recovering(self.recovery) && !is_recovering(ack.phase) {
            self.cwnd = self.cwnd.max(self.prior);
            self.conserves = false;
        }
        self.recovery = ack.phase;
        if self.conserves {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserves
    }

    fn open(&mut self, now: Time, rtt: Option<Span>) {
        self.min_rtt.at = self.ticks(now);
        self.delivered_at = now;
        self.aggregation.restart(now);
        if let Some(rtt) = rtt.map(micros) {
            self.min_rtt.value = Some(rtt);
            self.has_seen_rtt = true;
            self.pace_initially(rtt);
        }
    }

    /// Restarts after idling at the estimated rate, without a gain (`bbr_cwnd_event`).
    fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing(GAIN_ONE, None),
            Mode::ProbeRtt => self.end_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
        self.delivered_at = now; // of the next sample, as in Linux
    }

    /// Forgets what startup and policer detection have learned.
    fn reset_policer(&mut self) {
        let sampled = self.sampled(false, false);
        self.policer.reset(&sampled);
    }
}

const fn is_recovering(phase: RecoveryPhase) -> bool {
    matches!(phase, RecoveryPhase::Recovery | RecoveryPhase::Loss)
}

impl CongestionControl for Control {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            paces: true,
            replaces_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(rate) = &ack.rate else {
            return; // it is asked for
        };
        self.delivered = ack.delivered;
        if ack.newly_delivered > Bytes::ZERO {
            self.delivered_at = now;
        }
        self.learn_bandwidth(ack);
        self.follow_cycle(now, ack, rate);
        self.check_full(ack);
        self.check_drain(now, ack, rate);
        self.learn_min_rtt(now, ack, rate);
        self.set_gains();
        self.set_pacing(self.pacing_gain, ack.smoothed_rtt);
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, _: Time, congestion: &Congestion) {
        match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => self.save_cwnd(),
            CongestionKind::SpuriousLoss => {
                (self.full.bandwidth, self.full.rounds) = (0, 0);
                self.reset_policer();
            }
            CongestionKind::Timeout | CongestionKind::RepeatedTimeout => {
                if congestion.kind == CongestionKind::Timeout {
                    self.save_cwnd();
                }
                self.cwnd = (congestion.loss_window.0 / self.mss).clamp(1, LARGEST);
                self.recovery = RecoveryPhase::Loss;
                self.full.bandwidth = 0;
                self.round_start = true; // as if a round had ended
                let sampled = self.sampled(true, false);
                self.sample_policer(&sampled);
            }
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Open { rtt } => self.open(now, *rtt),
            Event::SentAfterIdle => self.restart_from_idle(now),
            Event::Lost(lost) => self.lost = Bytes(self.lost.0.saturating_add(lost.bytes.0)),
            Event::IdleRestart { limit } => {
                self.cwnd = self.cwnd.min(limit.0 / self.mss).max(1);
            }
            _ => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd * self.mss)
    }
    fn pace(&self) -> Pace {
        Pace {
            rate: Some(BitRate::from_bit_per_s(self.pacing * 8)),
            burst: None,
        }
    }
    fn limits_rate_samples(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: self.ssthresh.map(|segments| Bytes(segments * self.mss)),
            mode: match self.mode {
                Mode::Startup => "startup",
                Mode::Drain => "drain",
                Mode::ProbeBandwidth => "probe_bw",
                Mode::ProbeRtt => "probe_rtt",
            },
            rate_estimate: Some(self.bit_rate(self.bandwidth())),
        }
    }

    fn model(&self) -> PathModel {
        const PHASES: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
        let probing = self.mode == Mode::ProbeBandwidth;
        PathModel {
            phase: if probing { PHASES[self.phase % 8] } else { "" },
            max_bw: Some(self.bit_rate(self.bandwidth.get())),
            bw: Some(self.bit_rate(self.bandwidth())),
            min_rtt: self.min_rtt.value.map(Span::from_micros),
            extra_acked: Some(Bytes(self.aggregation.most() * self.mss)),
            pacing_gain: Some(self.pacing_gain as f64 / GAIN_ONE as f64),
            cwnd_gain: Some(self.cwnd_gain as f64 / GAIN_ONE as f64),
            round_count: Some(self.rounds),
            full_bw: Some(self.bit_rate(self.full.bandwidth)),
            full_bw_count: Some(self.full.rounds),
            full_bw_reached: Some(self.full.reached),
            idle_restart: Some(self.idle_restart),
            ..PathModel::default()
        }
    }
}
