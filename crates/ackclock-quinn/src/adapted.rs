//! A control as quinn calls it. It hears of an ACK when quinn has told of all packets of it.

use super::Control;
use super::history::History;
use ackclock_core::congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, Event, Needs, RateInfo, RecoveryPhase,
    SegmentSent, SendLimit, SocketState,
};
use ackclock_core::endpoint::RttEstimator;
use ackclock_core::endpoint::delivery_rate::{Counts, Sending};
use ackclock_core::endpoint::parameters::Preset;
use ackclock_spec::units::{Bytes, Span, Time};
use quinn_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Smallest window, in datagrams (RFC 9002 section 7.2). quinn sends nothing with less.
const LEAST_WINDOW: u64 = 2;
/// Time for which an entry of the history is kept, in round trips before the last packet that was
/// acknowledged. quinn takes for lost what is 9/8 of a round trip older.
const REMEMBERED: u64 = 2;

/// A control for one path. Its counts are in segments of `mss` bytes, one for each datagram of the
/// present MTU.
pub struct Adapted {
    control: Arc<Control>,
    /// quinn wants to share it between threads, and asks for its state by a shared reference.
    running: Mutex<Box<dyn CongestionControl>>,
    needs: Needs,
    opened: Instant,
    /// Time of the last call that told one.
    now: Instant,
    mss: u64,
    mtu: u64,
    history: History,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    /// Losses of which the next ACK tells.
    newly_lost: u64,
    /// Packets of the ACK in progress.
    acked: Acked,
    round_trips: RttEstimator,
    /// Start of the present round trip.
    round: Time,
    phase: RecoveryPhase,
    /// Start of the last recovery, which outlasts it: the loss of what was sent before does not
    /// count again (RFC 9002 section 7.3.2).
    recovery: Option<Time>,
}

/// Packets of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    bytes: u64,
    /// Bytes of those sent after the last recovery began.
    after_recovery: u64,
    /// When the last of them was sent.
    sent_at: Option<Time>,
}

impl Adapted {
    pub fn new(control: Arc<Control>, now: Instant, mtu: u16) -> Self {
        let mss = u64::from(mtu);
        let mut running = control.build(mss);
        running.on_event(Time::ZERO, &Event::Open { rtt: None });
        Adapted {
            needs: running.needs(),
            running: Mutex::new(running),
            control,
            opened: now,
            now,
            mss,
            mtu: mss,
            history: History::default(),
            delivered: 0,
            lost: 0,
            in_flight: 0,
            newly_lost: 0,
            acked: Acked::default(),
            round_trips: RttEstimator::new(&Preset::Rfc.parameters().timer),
            round: Time::ZERO,
            phase: RecoveryPhase::Open,
            recovery: None,
        }
    }

    fn time(&self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.opened);
        Time::ZERO + span(since)
    }

    /// Returns the bytes that the control counts for bytes of datagrams.
    fn counted(&self, bytes: u64) -> u64 {
        bytes * self.mss / self.mtu
    }

    /// Returns the bytes of datagrams for bytes that the control counts.
    fn of_datagrams(&self, counted: u64) -> u64 {
        (u128::from(counted) * u128::from(self.mtu) / u128::from(self.mss)) as u64
    }

    fn counts(&self) -> Counts {
        Counts {
            delivered: self.delivered,
            lost: self.lost,
            mss: 1, // all counts are in bytes
        }
    }

    fn running(&mut self) -> &mut dyn CongestionControl {
        &mut **self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the control, and notes the reason if it can go on no more.
    fn tell(&mut self, call: impl FnOnce(&mut dyn CongestionControl)) {
        let running = self.running();
        call(running);
        let reason = running.foreign().and_then(|program| program.fault());
        if let Some(reason) = reason {
            self.control.note_fault(reason);
        }
    }

    fn read<T>(&self, value: impl FnOnce(&dyn CongestionControl) -> T) -> T {
        let running = self.running.lock();
        value(&**running.unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a packet to the ACK in progress.
    pub(super) fn add_to_ack(&mut self, sent: Instant, bytes: u64) {
        let (sent_at, bytes) = (self.time(sent), self.counted(bytes));
        self.delivered += bytes;
        self.history.on_delivered(sent_at);
        let is_new = self.is_new(sent_at);
        let acked = &mut self.acked;
        acked.bytes += bytes;
        acked.after_recovery += if is_new { bytes } else { 0 };
        acked.sent_at = acked.sent_at.max(Some(sent_at));
    }

    /// True if what was sent then belongs to no recovery so far.
    fn is_new(&self, sent_at: Time) -> bool {
        self.recovery.is_none_or(|start| sent_at > start)
    }

    /// Returns the number of entries of the history.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.history.len()
    }

    /// Ends a recovery if a packet sent after its start has been acknowledged.
    fn end_recovery(&mut self, now: Time, acknowledged: Time) {
        if self.phase != RecoveryPhase::Open && self.is_new(acknowledged) {
            self.phase = RecoveryPhase::Open;
            self.tell(|running| running.on_event(now, &Event::RecoveryEnd));
        }
    }

    /// Tells of congestion that needs a new recovery.
    fn reduce(&mut self, now: Time, kind: CongestionKind) {
        self.recovery = Some(now);
        self.phase = match kind {
            CongestionKind::Mark => RecoveryPhase::Cwr,
            CongestionKind::Timeout => RecoveryPhase::Loss,
            _ => RecoveryPhase::Recovery,
        };
        let congestion = Congestion {
            kind,
            base: self.running().cwnd(),
            in_flight: Bytes(self.in_flight),
            min_rtt: self.round_trips.minimum(),
            smoothed_rtt: self.round_trips.smoothed(),
            loss_window: Bytes(LEAST_WINDOW * self.mss),
        };
        self.tell(|running| running.on_congestion(now, &congestion));
    }

    /// Returns what the control is told of the ACK in progress, which ends now.
    fn ack(&mut self, now: Time, sent_at: Time, limited: SendLimit) -> Ack {
        let acked = self.acked;
        let trip = now.since(sent_at);
        let round_start = sent_at >= self.round;
        if round_start {
            self.round = now;
        }
        let needs = self.needs;
        let counts = self.counts();
        let sample = self
            .history
            .sample(now, &counts, self.round_trips.minimum());
        Ack {
            newly_acked: Bytes(acked.bytes),
            newly_delivered: Bytes(acked.bytes),
            credit: match limited {
                SendLimit::Application => Bytes::ZERO,
                _ => Bytes(acked.after_recovery),
            },
            delivered: Bytes(self.delivered),
            rtt: Some(trip),
            newest_rtt: Some(trip),
            smoothed_rtt: self.round_trips.smoothed(),
            min_rtt: self.round_trips.minimum(),
            in_flight: Bytes(self.in_flight),
            rate: needs.rate_samples.then_some(RateInfo {
                sample,
                prior_in_flight: Bytes(self.in_flight + acked.bytes),
                delayed: false,
                next_departure: now,
            }),
            socket: needs.socket.then_some(SocketState {
                outstanding: Bytes(self.in_flight),
                opens: self.phase == RecoveryPhase::Open,
                ..SocketState::default()
            }),
            limited,
            phase: self.phase,
            newly_lost: Bytes(std::mem::take(&mut self.newly_lost)),
            round_start,
            first: self.history.after(sent_at),
            next: self.history.next(),
            window: None,
            marked: Bytes::ZERO,
        }
    }
}

impl Controller for Adapted {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.now = now;
        let (now, bytes) = (self.time(now), self.counted(bytes));
        let idle = self.in_flight == 0;
        if idle && self.needs.rate_samples {
            self.tell(|running| running.on_event(now, &Event::SentAfterIdle));
        }
        self.in_flight += bytes;
        self.history.on_sent(&Sending {
            now,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: self.in_flight,
            idle,
        });
        if self.needs.sent {
            let sent = SegmentSent {
                bytes: Bytes(bytes),
                in_flight: Bytes(self.in_flight),
                next: 0,
                limited: SendLimit::CongestionWindow,
            };
            self.tell(|running| running.on_event(now, &Event::Sent(sent)));
        }
    }

    fn on_ack(
        &mut self,
        _: Instant,
        sent: Instant,
        bytes: u64,
        _: bool,
        _: &quinn_proto::RttEstimator,
    ) {
        self.add_to_ack(sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.in_flight = self.counted(in_flight);
        let Some(sent_at) = self.acked.sent_at else {
            return;
        };
        let now = self.time(now);
        self.round_trips.sample(now.since(sent_at));
        let limited = match app_limited {
            true => SendLimit::Application,
            false => SendLimit::CongestionWindow,
        };
        self.end_recovery(now, sent_at);
        let ack = self.ack(now, sent_at, limited);
        self.acked = Acked::default();
        self.tell(|running| running.on_ack(now, &ack));
        let marks = self.needs.rate_samples && self.running().limits_rate_samples();
        if app_limited || marks {
            let (delivered, in_flight) = (self.delivered, self.in_flight);
            self.history.mark_application_limited(delivered, in_flight);
        }
        let past = self.round_trips.smoothed().unwrap_or_default() * REMEMBERED;
        self.history
            .forget(Time::ZERO + sent_at.since(Time::ZERO + past));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, sent_at) = (self.time(now), self.time(sent));
        let lost = self.counted(lost_bytes);
        self.lost += lost;
        self.newly_lost += lost;
        self.in_flight = self.in_flight.saturating_sub(lost);
        if self.needs.rate_samples
            && lost > 0
            && let Some(loss) = self.history.loss(sent_at, Bytes(lost), &self.counts())
        {
            self.tell(|running| running.on_event(now, &Event::Lost(loss)));
        }
        if self.is_new(sent_at) {
            let kind = match lost_bytes {
                0 => CongestionKind::Mark,
                _ => CongestionKind::Loss,
            };
            self.reduce(now, kind);
        }
        if is_persistent_congestion {
            self.reduce(now, CongestionKind::Timeout);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mtu = u64::from(new_mtu.max(1));
        self.in_flight = self.in_flight * self.mtu / mtu;
        self.mtu = mtu;
    }

    fn window(&self) -> u64 {
        let Bytes(window) = self.read(|running| running.cwnd());
        self.of_datagrams(window).max(LEAST_WINDOW * self.mtu)
    }

    fn metrics(&self) -> ControllerMetrics {
        let (state, pace) = self.read(|running| (running.state(), running.pace()));
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = state
            .ssthresh
            .map(|Bytes(threshold)| self.of_datagrams(threshold));
        metrics.pacing_rate = pace.rate.map(|rate| self.of_datagrams(rate.as_bit_per_s()));
        metrics
    }

    /// Returns a new control: another path has another capacity (RFC 9000 section 9.4).
    fn clone_box(&self) -> Box<dyn Controller> {
        let mtu = u16::try_from(self.mtu).unwrap_or(u16::MAX);
        Box::new(Adapted::new(Arc::clone(&self.control), self.now, mtu))
    }

    fn initial_window(&self) -> u64 {
        super::INITIAL_WINDOW * self.mtu
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
