//! Keeps an implementation that panics, or that never comes to an end, from taking the run with it.

use ackclock_core::endpoint::SenderEvent;
use ackclock_core::traffic::Write;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Progress, Transmit};
use ackclock_spec::units::{Bytes, Span, Time};
use std::any::Any;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(test)]
mod tests;

/// Most calls of one side in [`PERIOD`]. A side that is busy all the time on a link of 100 Gbit/s
/// gets a thirtieth of them: 8,300 datagrams of 1500 bytes, four calls for each.
const MOST_CALLS: u32 = 1_000_000;
/// Time in which calls are counted.
const PERIOD: Span = Span::from_millis(1);

/// A side whose panics and endless loops are faults of its flow.
#[derive(Debug)]
pub struct Guarded<E> {
    side: E,
    /// The first reason why it cannot go on. It is not called again.
    fault: OnceCell<String>,
    /// Time of the last call.
    now: Time,
    /// Begin of the period in which calls are counted, and their number.
    counted: (Time, u32),
}

impl<E: Endpoint> Guarded<E> {
    /// Guards a side.
    pub const fn new(side: E) -> Self {
        Guarded {
            side,
            fault: OnceCell::new(),
            now: Time::ZERO,
            counted: (Time::ZERO, 0),
        }
    }

    fn call<R: Default>(&mut self, now: Time, call: impl FnOnce(&mut E) -> R) -> R {
        if self.fault.get().is_some() || !self.counts(now) {
            return R::default();
        }
        let side = &mut self.side;
        let result = catch_unwind(AssertUnwindSafe(|| call(side)));
        result.unwrap_or_else(|panic| self.fail(panicked(&*panic)))
    }

    fn ask<R: Default>(&self, otherwise: R, ask: impl FnOnce(&E) -> R) -> R {
        if self.fault.get().is_some() {
            return otherwise;
        }
        let result = catch_unwind(AssertUnwindSafe(|| ask(&self.side)));
        result.unwrap_or_else(|panic| self.fail(panicked(&*panic)))
    }

    /// Counts a call. Returns false if there are too many.
    fn counts(&mut self, now: Time) -> bool {
        self.now = now;
        let (begin, calls) = &mut self.counted;
        if now >= *begin + PERIOD {
            (*begin, *calls) = (now, 0);
        }
        *calls += 1;
        let few = *calls <= MOST_CALLS;
        if !few {
            let period = PERIOD.as_nanos() / 1_000_000;
            self.fail::<()>(format!(
                "was called more than {MOST_CALLS} times within {period} ms: it sends without \
                end, or its timer stands still"
            ));
        }
        few
    }

    /// Keeps the first reason.
    fn fail<R: Default>(&self, reason: String) -> R {
        let _ = self.fault.set(reason);
        R::default()
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("for an unknown reason"))
}

impl<E: Endpoint> Endpoint for Guarded<E> {
    fn open(&mut self, now: Time) {
        self.call(now, |side| side.open(now));
    }
    fn write(&mut self, now: Time, write: Write) {
        self.call(now, |side| side.write(now, write));
    }
    fn close(&mut self, now: Time) {
        self.call(now, |side| side.close(now));
    }
    fn stop(&mut self, now: Time) {
        self.call(now, |side| side.stop(now));
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        self.call(now, |side| side.handle_packet(now, arrived));
    }
    fn handle_timeout(&mut self, now: Time) {
        self.call(now, |side| side.handle_timeout(now));
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        self.call(now, |side| side.poll_transmit(now, payload))
    }
    /// A timer that was due before is due now: the run does not go back.
    fn poll_timeout(&self) -> Time {
        let wake = self.ask(None, |side| Some(side.poll_timeout()));
        wake.map_or(Time::NEVER, |wake| wake.max(self.now))
    }
    fn delivered(&self) -> Bytes {
        self.ask(Bytes::ZERO, E::delivered)
    }
    fn progress(&self) -> Progress {
        self.ask(Progress::default(), E::progress)
    }
    fn take_events(&mut self) -> Vec<SenderEvent> {
        self.call(self.now, E::take_events)
    }
    fn may_fail(&self) -> bool {
        true
    }
    fn fault(&self) -> Option<String> {
        self.fault
            .get()
            .cloned()
            .or_else(|| self.ask(None, E::fault))
    }
}
