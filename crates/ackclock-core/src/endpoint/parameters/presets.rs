//! Presets of the TCP parameters.

use super::{
    AccurateEcn, AfterTimeout, Arithmetic, AvoidMultipleFastRetransmits, ByteCounting,
    ConnectionParameters, DelayedAck, EcnCodepoint, EcnFeedback, EcnParameters, GrowthParameters,
    IdleRestart, LossRecovery, Pacing, PartialAck, ReceiverParameters, RecoveryParameters,
    RecoveryWindow, RepeatedTimeout, RtoFloor, RttSampling, SackEntry, SackPipe, SendingParameters,
    SsthreshFrom, TcpParameters, TimerParameters, WindowRule, WindowValidation,
};
use ackclock_spec::quantity::{OptionalWindow, Segments};
use ackclock_spec::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Named sets of TCP parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Preset {
    /// ns-2 with the one-way TCP agents, as the papers of 2002 used it: an ACK per segment, slow
    /// but steady NewReno, no handshake.
    #[serde(rename = "ns2-2002")]
    Ns2Of2002,
    /// The sender of Jacobson (1988) without fast retransmit, with the coarse timer of BSD at that
    /// time: every loss ends in a timeout.
    #[serde(rename = "jacobson1988")]
    Jacobson1988,
    /// The present RFCs.
    #[serde(rename = "rfc")]
    Rfc,
    /// The present RFCs with RACK, tail loss probes, proportional rate reduction, F-RTO and undo.
    #[serde(rename = "rfc-modern")]
    RfcModern,
    /// Linux as of 2012: SACK recovery of RFC 6675, and Linux's timer and delayed ACKs. For
    /// comparison with older results.
    #[serde(rename = "linux-2012")]
    Linux2012,
    /// Linux 6.18: RACK, tail loss probes, proportional rate reduction, F-RTO, undo, and Reno and
    /// CUBIC in whole segments.
    #[default]
    #[serde(rename = "linux")]
    Linux,
    /// Linux with L4S: accurate ECN with ECT(1) (RFC 9330, RFC 9331), which Linux can switch on
    /// from 7.0 on. The rest is as in `linux`.
    #[serde(rename = "l4s")]
    L4s,
}

impl Preset {
    /// All presets, the default first.
    pub const ALL: [Preset; 7] = [
        Preset::Linux,
        Preset::L4s,
        Preset::Linux2012,
        Preset::RfcModern,
        Preset::Rfc,
        Preset::Ns2Of2002,
        Preset::Jacobson1988,
    ];

    /// Returns the parameters of the preset.
    pub fn parameters(self) -> TcpParameters {
        match self {
            Preset::Rfc => rfc(),
            Preset::Ns2Of2002 => ns2_of_2002(),
            Preset::Jacobson1988 => jacobson_1988(),
            Preset::RfcModern => rfc_modern(),
            Preset::Linux2012 => linux_2012(),
            Preset::Linux => linux(),
            Preset::L4s => l4s(),
        }
    }
}

fn rfc() -> TcpParameters {
    TcpParameters {
        connection: ConnectionParameters {
            mss: Bytes(1460),
            header: Bytes(40),
            handshake: true,
        },
        receiver: ReceiverParameters {
            receive_window: OptionalWindow::Unlimited,
            read_rate: None,
            window_rule: WindowRule::Rfc9293,
            receive_buffer_growth: false,
            delayed_ack: DelayedAck {
                every: Segments(2),
                timeout: Span::from_millis(200),
                quickack_segments: Segments(0),
                beyond_hole: Span::ZERO,
            },
            duplicate_sack: false,
        },
        growth: GrowthParameters {
            initial_window: Segments(10),                // RFC 6928
            tolerated_lost_syns: 0,                      // RFC 5681 section 3.1
            initial_ssthresh: OptionalWindow::Unlimited, // RFC 5681 section 3.1: arbitrarily high
            byte_counting: ByteCounting::AbcL2,          // RFC 3465
            window_validation: WindowValidation::HalfUsed,
            ssthresh_from: SsthreshFrom::FlightSize,
            ssthresh_in_whole_segments: false,
            idle_restart: IdleRestart::InitialWindow,
            arithmetic: Arithmetic::Exact,
            resume: None,
        },
        recovery: RecoveryParameters {
            algorithm: LossRecovery::Sack, // RFC 6675
            sack: true,
            duplicate_threshold: Segments(3),
            limited_transmit: true, // RFC 3042
            avoid_multiple_fast_retransmits: AvoidMultipleFastRetransmits::Always,
            partial_ack: PartialAck::Impatient, // RFC 6582 section 4
            partial_window_deflation: true,
            growth_at_recovery_end: false,
            rescue_retransmission: true,
            sack_pipe: SackPipe::Scoreboard,
            sack_entry: SackEntry::KnownLoss,
            recovery_window: RecoveryWindow::Ssthresh,
            tail_loss_probe: false,
            longest_ack_delay: Span::from_millis(200), // RFC 8985 section 7.2
            forward_rto: false,
            undo: false,
            after_timeout: AfterTimeout::Scoreboard,
            repeated_timeout: RepeatedTimeout::Keep,
        },
        timer: TimerParameters::RFC_6298,
        sending: SendingParameters {
            pacing: Pacing::Control,
            unpaced_segments: Segments(0),
            pacing_credit: false,
            rate_of_outstanding: false,
            send_jitter: Span::ZERO,
            max_burst: Segments(0),
            segmentation_offload: false,
        },
        ecn: EcnParameters {
            enabled: false,
            codepoint: EcnCodepoint::Ect0,
            feedback: EcnFeedback::Classic,
            accurate: AccurateEcn {
                option: false,
                thinning_estimate: false,
            },
            tcp_ecn: None,
        },
    }
}

/// Defaults of ns-2 before the changes of May 2003 and October 2004. The clock is fine and the
/// receive window unlimited where the papers need it. In the `shared` specification of the Westwood
/// experiments, 0.01 s is the tick after the change and 0.1 s the tick before.
fn ns2_of_2002() -> TcpParameters {
    let mut tcp = rfc();
    tcp.connection.mss = Bytes(1000);
    tcp.connection.handshake = false;
    tcp.receiver.delayed_ack.every = Segments(1);
    tcp.receiver.delayed_ack.timeout = Span::from_millis(100);
    tcp.growth.initial_window = Segments(1);
    tcp.growth.byte_counting = ByteCounting::PerAck;
    tcp.growth.window_validation = WindowValidation::Off;
    tcp.growth.ssthresh_from = SsthreshFrom::Window;
    tcp.growth.ssthresh_in_whole_segments = true;
    tcp.recovery.algorithm = LossRecovery::Newreno;
    tcp.recovery.sack = false;
    tcp.recovery.limited_transmit = false;
    tcp.recovery.partial_ack = PartialAck::SlowButSteady;
    tcp.recovery.partial_window_deflation = false;
    tcp.recovery.growth_at_recovery_end = true;
    tcp.recovery.rescue_retransmission = false;
    tcp.recovery.after_timeout = AfterTimeout::GoBackN;
    tcp.recovery.repeated_timeout = RepeatedTimeout::Reduce;
    tcp.timer.rtt_sampling = RttSampling::OncePerRoundTrip;
    tcp.timer.clock_granularity = Span::from_millis(10);
    tcp.timer.rto_initial = Span::from_millis(6000);
    tcp.sending.pacing = Pacing::Off;
    tcp
}

/// Slow start, congestion avoidance and the timer of Jacobson (1988), with the numbers of 4.3BSD's
/// `tcp_timer.h` and `tcp_timer.c`. Ticks are 500 ms, timeouts range from 1 s to 64 s, and the
/// timeout before the first sample is 3 s (also RFC 1122 section 4.2.3.1). ssthresh is in whole
/// segments.
///
/// BSD delayed its ACKs and timed one segment per round trip. Here each segment is acknowledged and
/// timed (unless sent twice, Karn), as in the studies of rate feedback that this preset is for.
/// This gains 2 % goodput if their rate changes every few round trips.
fn jacobson_1988() -> TcpParameters {
    let mut tcp = ns2_of_2002();
    tcp.connection.mss = Bytes(536); // RFC 1122 section 4.2.2.6
    tcp.receiver.receive_window = OptionalWindow::Bytes(Bytes(65_535)); // 16 bits of the header
    tcp.recovery.algorithm = LossRecovery::TimeoutOnly;
    tcp.recovery.sack = false;
    tcp.recovery.growth_at_recovery_end = false;
    tcp.timer.rtt_sampling = RttSampling::EveryAck;
    tcp.timer.clock_granularity = Span::from_millis(500);
    tcp.timer.rto_initial = Span::from_millis(3000);
    tcp.timer.rto_maximum = Span::from_millis(64_000);
    tcp
}

/// Linux of 2012, before RACK: SACK with duplicate ACKs, and no probes.
fn linux_2012() -> TcpParameters {
    let mut tcp = rfc();
    tcp.connection.mss = Bytes(1448);
    tcp.connection.header = Bytes(52); // timestamps
    tcp.receiver.window_rule = WindowRule::Linux;
    tcp.receiver.delayed_ack.timeout = Span::from_millis(40);
    tcp.receiver.delayed_ack.quickack_segments = Segments(16);
    tcp.growth.byte_counting = ByteCounting::All;
    tcp.growth.ssthresh_from = SsthreshFrom::Window; // not data in flight: snd_cwnd is halved
    tcp.growth.idle_restart = IdleRestart::Decay;
    tcp.timer.rtt_sampling = RttSampling::Timestamps;
    tcp.timer.rto_minimum = Span::from_millis(200);
    tcp.timer.rto_floor = RtoFloor::Variance;
    tcp.timer.rto_maximum = Span::from_millis(120_000);
    tcp
}

/// Linux 6.18 with its default settings (`tcp_ipv4.c`, `tcp_input.c`, `tcp_output.c`).
fn linux() -> TcpParameters {
    let mut tcp = linux_2012();
    tcp.receiver.receive_buffer_growth = true; // tcp_moderate_rcvbuf = 1
    tcp.receiver.delayed_ack.beyond_hole = Span::from_millis(1); // tcp_comp_sack_delay_ns
    tcp.receiver.duplicate_sack = true; // tcp_dsack = 1
    tcp.growth.byte_counting = ByteCounting::Delivered;
    tcp.growth.window_validation = WindowValidation::Full;
    tcp.growth.tolerated_lost_syns = 1; // tcp_init_transfer: total_retrans > 1
    tcp.growth.arithmetic = Arithmetic::Linux;
    tcp.recovery.algorithm = LossRecovery::Rack;
    tcp.recovery.recovery_window = RecoveryWindow::ProportionalToWindow;
    tcp.recovery.tail_loss_probe = true; // tcp_early_retrans = 3
    tcp.recovery.longest_ack_delay = tcp.timer.rto_minimum; // tcp_schedule_loss_probe
    tcp.recovery.forward_rto = true; // tcp_frto = 2
    tcp.recovery.undo = true;
    tcp.timer.rto_floor = RtoFloor::PeakVariance;
    tcp.timer.linear_syn_timeouts = 4; // tcp_syn_linear_timeouts
    tcp.timer.timer_tick = Span::from_millis(4); // CONFIG_HZ=250, the kernel's default
    tcp.sending.unpaced_segments = Segments(10); // tcp_update_skb_after_send
    tcp.sending.segmentation_offload = true;
    tcp
}

/// Linux with the settings that L4S asks for. 6.18 has the code of accurate ECN, but refuses
/// `tcp_ecn = 3`; the series that raised that bound also brought the estimate for thinned ACKs.
fn l4s() -> TcpParameters {
    let mut tcp = linux();
    tcp.ecn.enabled = true;
    tcp.ecn.codepoint = EcnCodepoint::Ect1;
    tcp.ecn.feedback = EcnFeedback::Accurate;
    tcp.ecn.accurate.option = true; // tcp_ecn_option = 2
    tcp.ecn.accurate.thinning_estimate = true; // __tcp_accecn_process
    tcp
}

/// The present RFCs with those that Linux follows beside them: RACK and tail loss probes (RFC
/// 8985), proportional rate reduction (RFC 9937), F-RTO (RFC 5682), undo (RFC 4015, RFC 3708).
fn rfc_modern() -> TcpParameters {
    let mut tcp = rfc();
    tcp.connection.mss = Bytes(1448);
    tcp.connection.header = Bytes(52); // undo needs timestamps
    tcp.receiver.duplicate_sack = true;
    tcp.recovery.algorithm = LossRecovery::Rack;
    tcp.recovery.recovery_window = RecoveryWindow::Proportional;
    tcp.recovery.tail_loss_probe = true;
    tcp.recovery.forward_rto = true;
    tcp.recovery.undo = true;
    tcp.timer.rtt_sampling = RttSampling::Timestamps;
    tcp.ecn.feedback = EcnFeedback::Accurate; // if it has ECN
    tcp.ecn.accurate.option = true; // RFC 9768 section 3.2.3: a SHOULD
    tcp
}
