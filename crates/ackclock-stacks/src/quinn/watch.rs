//! Notes beside a control of quinn: events that it is told of.

use ackclock_core::endpoint::SenderEventKind;
use ackclock_core::transport::endpoint::RoundTrips;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Notes about the control of a connection, which its side reads.
#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Mutex<Notes>>);

/// The notes.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Round-trip times: of the packet sent last among those that one ACK acknowledges (RFC 9002
    /// section 5.1), the receiver's delay included.
    pub round_trips: RoundTrips,
    /// The last of them.
    pub rtt: Option<Duration>,
    /// Times at which it was told of persistent congestion, when all of a long period was lost
    /// (RFC 9002 section 7.6).
    pub persistent_congestions: u64,
    /// Round-trip time of the packet sent last that the ACK in progress acknowledges.
    shortest: Option<Duration>,
    /// Reductions of the window that have not been taken.
    reductions: Vec<Reduction>,
}

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    pub at: Instant,
    /// A loss is a reduction without a reason, since quinn calls all losses the same.
    pub kind: SenderEventKind,
    /// Window before and after, in bytes.
    pub windows: (u64, u64),
    pub ssthresh: Option<u64>,
}

impl Seen {
    /// Returns what has been noted.
    pub fn notes(&self) -> Notes {
        self.lock().clone()
    }

    /// Takes the reductions since the last call.
    pub fn take_reductions(&self) -> Vec<Reduction> {
        std::mem::take(&mut self.lock().reductions)
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes controls that are watched.
pub struct Watching<F>(pub Arc<F>, pub Seen);

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for Watching<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Watched {
            control: Arc::clone(&self.0).build(now, current_mtu),
            seen: self.1.clone(),
        })
    }
}

/// A control that is watched.
struct Watched {
    control: Box<dyn Controller>,
    seen: Seen,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.control.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let trip = now.saturating_duration_since(sent);
        let mut notes = self.seen.lock();
        let shortest = notes.shortest.get_or_insert(trip);
        *shortest = trip.min(*shortest);
        drop(notes);
        self.control.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let mut notes = self.seen.lock();
        if let Some(trip) = notes.shortest.take() {
            let trips = &mut notes.round_trips;
            let seconds = trip.as_secs_f64();
            let (low, high) = trips.range_s.unwrap_or((seconds, seconds));
            *trips = RoundTrips {
                samples: trips.samples + 1,
                sum_s: trips.sum_s + seconds,
                range_s: Some((low.min(seconds), high.max(seconds))),
            };
            notes.rtt = Some(trip);
        }
        drop(notes);
        let largest = largest_packet_num_acked;
        self.control
            .on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (persistent, before) = (is_persistent_congestion, self.control.window());
        self.control
            .on_congestion_event(now, sent, persistent, lost_bytes);
        let mut notes = self.seen.lock();
        notes.persistent_congestions += u64::from(persistent);
        let (after, ssthresh) = (self.control.window(), self.control.metrics().ssthresh);
        if after < before {
            notes.reductions.push(Reduction {
                at: now,
                kind: match (persistent, lost_bytes) {
                    (true, _) => SenderEventKind::Timeout,
                    (false, 0) => SenderEventKind::EcnEcho,
                    (false, _) => SenderEventKind::Reduction,
                },
                windows: (before, after),
                ssthresh: ssthresh.filter(|threshold| *threshold < u64::MAX),
            });
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.control.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.control.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watched {
            control: self.control.clone_box(),
            seen: self.seen.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.control.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.control.into_any()
    }
}
