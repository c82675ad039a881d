//! Measurements of the sender: round-trip times, delivered data, delivery rate, rounds and limits.

use super::super::delivery_rate::{Counts, DeliveryRate};
use super::super::parameters::{RttSampling, TcpParameters};
use super::super::scoreboard::{Advance, Scoreboard};
use super::super::{Acknowledgement, RttEstimator, SenderStatistics};
use crate::congestion::SendLimit;
use ackclock_spec::units::{Span, Time};

/// Measurements of a sender.
#[derive(Debug)]
pub(super) struct Meter {
    pub rtt: RttEstimator,
    /// The segment whose round trip is measured, and its sending time; never if there is none.
    timed: (u64, Time),
    /// Present if the control wants rate samples.
    pub rate: Option<Box<DeliveryRate>>,
    /// Bytes that have been delivered, each byte once.
    pub delivered: u64,
    /// Bytes counted as delivered by duplicate ACKs, or by SACKs discarded at a timeout, and not
    /// acknowledged yet.
    pub counted_ahead: u64,
    pub round: Round,
    pub usage: Usage,
    pub statistics: SenderStatistics,
}

/// The limit of the sender and its peak data in flight, per round trip (RFC 7661).
#[derive(Debug)]
pub(super) struct Round {
    /// First segment after the round: the round ends when all segments before it are acknowledged.
    pub end: u64,
    /// Most bytes in flight in this round, and in the previous one.
    pub peak: u64,
    last_peak: u64,
    /// Limit of the sender in this round, and in the previous one.
    pub limited: SendLimit,
    last_limited: SendLimit,
}

impl Round {
    /// Begins the next round, which ends with the segment before `end`.
    pub fn begin(&mut self, end: u64, in_flight: u64) {
        self.end = end;
        self.last_peak = self.peak;
        self.peak = in_flight;
        self.last_limited = self.limited;
        self.limited = SendLimit::Application;
    }
    /// Returns the most bytes in flight in this round and the one before.
    pub fn most(&self) -> u64 {
        self.peak.max(self.last_peak)
    }
    /// Returns the stronger limit of this round and the one before.
    pub const fn limit(&self) -> SendLimit {
        stronger(self.limited, self.last_limited)
    }
    /// Records a limit, unless a stronger one was met in this round.
    pub fn note(&mut self, limit: SendLimit) {
        self.limited = stronger(self.limited, limit);
    }
}

/// Use of the window, for a rule on its growth: that of the last window for Linux
/// (`tcp_cwnd_validate`), that since the last reduction for rate-limited increase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// True if the window was full.
    pub limited: bool,
    /// Most bytes in flight; for Linux if the window was not full.
    pub most: u64,
    /// When this was recorded: the first segment not sent for Linux, the window in bytes for
    /// rate-limited increase.
    recorded: u64,
}

impl Usage {
    /// Takes the data in flight before an ACK that may open the window, and returns the most since
    /// the last reduction (maxFS of draft-ietf-ccwg-ratelimited-increase-10 section 3). The flight
    /// at the reduction itself does not count, nor any in recovery. At first, the window counts.
    pub fn raise(&mut self, window: u64, flight: u64) -> u64 {
        self.most = match self.recorded {
            0 => window.max(flight),
            recorded if window < recorded => flight,
            _ => self.most.max(flight),
        };
        self.recorded = window;
        self.most
    }

    /// Records how the window is used after something was sent (`tcp_cwnd_validate` of Linux).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn note(&mut self, limited: bool, scoreboard: &Scoreboard) {
        let flight = scoreboard.flight();
        if limited || scoreboard.first() >= self.recorded || (!self.limited && flight > self.most) {
            *self = Usage {
                limited,
                most: flight,
                recorded: scoreboard.next(),
            };
        }
    }
}

/// Returns the stronger limit: a window that was full once in a round trip was used.
const fn stronger(a: SendLimit, b: SendLimit) -> SendLimit {
    match (a, b) {
        (SendLimit::CongestionWindow, _) | (_, SendLimit::CongestionWindow) => {
            SendLimit::CongestionWindow
        }
        (SendLimit::ReceiveWindow, _) | (_, SendLimit::ReceiveWindow) => SendLimit::ReceiveWindow,
        _ => SendLimit::Application,
    }
}

impl Meter {
    pub fn new(parameters: &TcpParameters, rated: bool) -> Self {
        Meter {
            rtt: RttEstimator::new(&parameters.timer),
            timed: (0, Time::NEVER),
            rate: rated.then(|| Box::new(DeliveryRate::default())),
            delivered: 0,
            counted_ahead: 0,
            round: Round {
                end: 0,
                peak: 0,
                last_peak: 0,
                limited: SendLimit::Application,
                last_limited: SendLimit::Application,
            },
            usage: Usage::default(),
            statistics: SenderStatistics {
                rtt_min_s: f64::INFINITY,
                ..SenderStatistics::default()
            },
        }
    }

    /// Takes a round-trip sample if this ACK of new data allows one.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn measure(
        &mut self,
        now: Time,
        sampling: RttSampling,
        ack: &Acknowledgement<'_>,
        advance: &Advance,
    ) -> Option<Span> {
        let rtt = match sampling {
            RttSampling::Timestamps => {
                (!ack.echo.is_never() && ack.echo <= now).then(|| now.since(ack.echo))
            }
            RttSampling::EveryAck => (!advance.ambiguous && !advance.oldest.is_never())
                .then(|| now.since(advance.oldest)),
            RttSampling::OncePerRoundTrip => {
                let (sequence, sent_at) = self.timed;
                if sent_at.is_never() || sequence >= ack.cumulative {
                    return None;
                }
                self.stop_timing();
                Some(now.since(sent_at))
            }
        };
        if let Some(rtt) = rtt {
            self.sample(rtt);
        }
        rtt
    }

    /// Takes a round-trip sample.
    #[inline(never)] // called from several places, with most settings once per round trip
    pub fn sample(&mut self, rtt: Span) {
        self.rtt.sample(rtt);
        let seconds = rtt.as_seconds();
        let statistics = &mut self.statistics;
        statistics.rtt_samples += 1;
        statistics.rtt_sum_s += seconds;
        statistics.rtt_min_s = statistics.rtt_min_s.min(seconds);
        statistics.rtt_max_s = statistics.rtt_max_s.max(seconds);
    }

    /// Times a new segment if none is timed and the parameters ask for one per round trip.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn time(&mut self, now: Time, sampling: RttSampling, sequence: u64) {
        if sampling == RttSampling::OncePerRoundTrip && self.timed.1.is_never() {
            self.timed = (sequence, now);
        }
    }
    /// Gives up the segment that is timed: its sample would be ambiguous (Karn).
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn stop_timing(&mut self) {
        self.timed.1 = Time::NEVER;
    }

    /// Returns the counts that rate samples need.
    pub fn counts(&self, mss: u64) -> Counts {
        Counts {
            delivered: self.delivered,
            lost: self.statistics.lost_segments,
            mss,
        }
    }

    /// Marks the samples of what is in flight: the application, not the path, limits the sender.
    /// `used` bytes count against the congestion window.
    #[inline(never)] // few controls ask for it
    pub fn mark_application_limited(&mut self, used: u64) {
        if let Some(rate) = &mut self.rate {
            rate.mark_application_limited(self.delivered, used);
        }
    }
}
