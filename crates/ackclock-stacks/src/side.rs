//! An object of a stack as one side of a flow.

use crate::abi::{Number, Statistics, UNKNOWN};
use crate::object::{Call, Object, Outcome};
use ackclock_core::endpoint::{SenderEvent, SenderEventKind};
use ackclock_core::packet::Ecn;
use ackclock_core::traffic::Write;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Progress, RoundTrips, Transmit};
use ackclock_spec::units::{Bytes, Span, Time};
use std::fmt::Debug;

/// Most timeouts in [`PERIOD`] that lead to nothing. A stack that counts in microseconds and does
/// not round up has a thousand of them before each of its timeouts.
const MOST_EMPTY: u32 = 20_000;
/// Time in which they are counted.
const PERIOD: Span = Span::from_millis(1);

/// One side of a flow.
#[derive(Debug)]
pub struct Side<O> {
    object: O,
    outcome: Outcome,
    /// Name of the stack, for reasons.
    name: String,
    /// Bytes of IP and UDP headers.
    header: u16,
    sent: u64,
    trips: RoundTrips,
    /// Reductions of the window since they were last asked for.
    events: Vec<SenderEvent>,
    /// Time of the last call.
    now: Time,
    stopped: bool,
    /// Begin of the period in which empty timeouts are counted, and their number.
    empty: (Time, u32),
}

impl<O: Object> Side<O> {
    /// Makes a side of an object.
    pub fn new(object: O, name: &str, header: u16) -> Self {
        Side {
            object,
            outcome: Outcome::default(),
            name: name.into(),
            header,
            sent: 0,
            trips: RoundTrips::default(),
            events: Vec::new(),
            now: Time::ZERO,
            stopped: false,
            empty: (Time::ZERO, 0),
        }
    }

    fn call(&mut self, now: Time, call: Call<'_>) {
        self.now = now;
        if !self.stopped && self.outcome.fault.is_none() {
            let before = self.outcome.statistics;
            self.object.call(now.as_nanos(), call, &mut self.outcome);
            self.note_reduction(before);
        }
    }

    /// Notes that the window was reduced, if the count of reductions has grown.
    fn note_reduction(&mut self, before: Statistics) {
        let after = self.outcome.statistics;
        let count = |statistics: Statistics| statistics.get(Number::CongestionEvents);
        if count(after).unwrap_or(0) <= count(before).unwrap_or(0) {
            return;
        }
        let (Some(old), Some(new)) = (before.get(Number::Cwnd), after.get(Number::Cwnd)) else {
            return; // a row has both windows
        };
        self.events.push(SenderEvent {
            at: self.now,
            kind: SenderEventKind::Reduction,
            cwnd_before: Bytes(old),
            cwnd_after: Bytes(new),
            ssthresh_after: after.get(Number::Ssthresh).map(Bytes),
            in_flight: after.get(Number::InFlight).map(Bytes),
        });
    }

    /// Counts a timeout that led to nothing.
    fn count_empty(&mut self) {
        let (begin, timeouts) = &mut self.empty;
        if self.now >= *begin + PERIOD {
            (*begin, *timeouts) = (self.now, 0);
        }
        *timeouts += 1;
        if *timeouts > MOST_EMPTY {
            let period = PERIOD.as_nanos() / 1_000_000;
            self.outcome.fail(format!(
                "its timer stands still: {MOST_EMPTY} timeouts within {period} ms led to nothing"
            ));
        }
    }

    fn number(&self, number: Number) -> Option<u64> {
        self.outcome.statistics.get(number)
    }

    /// Counts a round-trip time: the last one, or the smoothed one if only that is known.
    fn count_round_trip(&mut self) {
        let rtt = self.number(Number::LatestRtt);
        let Some(rtt) = rtt.or_else(|| self.number(Number::SmoothedRtt)) else {
            return;
        };
        let (seconds, trips) = (rtt as f64 / 1e9, &mut self.trips);
        let (low, high) = trips.range_s.unwrap_or((seconds, seconds));
        *trips = RoundTrips {
            samples: trips.samples + 1,
            sum_s: trips.sum_s + seconds,
            range_s: Some((low.min(seconds), high.max(seconds))),
        };
    }
}

impl<O: Object> Endpoint for Side<O> {
    fn open(&mut self, now: Time) {
        self.call(now, Call::Open);
    }
    fn write(&mut self, now: Time, write: Write) {
        let bytes = match write {
            Write::Unlimited => UNKNOWN,
            Write::Bytes(bytes) => bytes.0,
        };
        self.call(now, Call::Write(bytes, false));
    }
    fn close(&mut self, now: Time) {
        self.call(now, Call::Write(0, true));
    }
    fn stop(&mut self, now: Time) {
        self.now = now;
        self.stopped = true;
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        let ecn = arrived.packet.ecn().bits();
        self.call(now, Call::Datagram(arrived.payload, ecn));
        self.count_round_trip();
    }
    fn handle_timeout(&mut self, now: Time) {
        self.call(now, Call::Timeout);
        if self.outcome.datagrams.is_empty() {
            self.count_empty();
        }
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        if self.stopped {
            return None;
        }
        let ecn = self.outcome.datagrams.next(payload)?;
        let number = self.sent;
        self.sent += 1;
        Some(Transmit {
            number,
            size: payload.len() as u16 + self.header,
            stamp: now,
            ecn: Ecn::from_bits(ecn),
            options: None,
        })
    }
    /// A timer that is not later than the last call is due a nanosecond after it.
    fn poll_timeout(&self) -> Time {
        match self.outcome.wake {
            _ if self.stopped || self.outcome.fault.is_some() => Time::NEVER,
            UNKNOWN => Time::NEVER,
            wake => Time::from_nanos(wake).max(self.now + Span::from_nanos(1)),
        }
    }
    fn delivered(&self) -> Bytes {
        Bytes(self.outcome.delivered)
    }
    fn progress(&self) -> Progress {
        let bytes = |number| self.number(number).map(Bytes);
        let span = |number| self.number(number).map(Span::from_nanos);
        Progress {
            sent: self.sent,
            lost: self.number(Number::LostPackets),
            timeouts: self.number(Number::Timeouts),
            cwnd: bytes(Number::Cwnd),
            ssthresh: bytes(Number::Ssthresh),
            in_flight: bytes(Number::InFlight),
            rtt: span(Number::LatestRtt),
            smoothed_rtt: span(Number::SmoothedRtt),
            timeout: span(Number::Timeout),
            round_trips: self.trips,
            allowed_rate: self.number(Number::PacingRate).map(|rate| rate as f64),
            ..Progress::default()
        }
    }
    fn take_events(&mut self) -> Vec<SenderEvent> {
        std::mem::take(&mut self.events)
    }
    fn may_fail(&self) -> bool {
        true
    }
    fn fault(&self) -> Option<String> {
        let reason = self.outcome.fault.as_ref()?;
        Some(format!("{}: {reason}", self.name))
    }
}

const _: () = assert!(Statistics::NUMBERS == Number::Timeouts as usize + 1);
