//! The window that a receiver advertises while its application reads slowly (RFC 9293 section
//! 3.8.6; `__tcp_select_window`, `tcp_select_window` and `tcp_cleanup_rbuf` of Linux 6.18).
//!
//! The application reads at a constant rate whenever something is there. What it has read is
//! computed when it is asked for, so that reading needs no events.

use super::super::AdvertisedCounts;
use super::super::parameters::{TcpParameters, WindowRule};
use super::beyond::Beyond;
use super::{Owed, Receiver};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};

/// The free space below which Linux closes the window is the buffer divided by this.
const CLOSED_BELOW: u64 = 16;

/// Largest buffer whose window has no scale. Linux advertises it in whole segments
/// (`__tcp_select_window`).
const LARGEST_UNSCALED: u64 = 65_535;

/// Linux answers segments without data that are outside of the window only so often
/// (`tcp_invalid_ratelimit`).
const BETWEEN_ANSWERS: Span = Span::from_millis(500);

/// The data that a receiver holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Payload that has arrived in order so far, in bytes.
    pub delivered: u64,
    /// Payload beyond a hole, in bytes.
    pub beyond: u64,
}

/// An application that reads at a constant rate.
#[derive(Debug)]
struct Reader {
    rate: BitRate,
    /// When it last began to read without a pause, and what it had read before.
    since: Time,
    before: u64,
}

impl Reader {
    /// Returns the bytes that it has read of those `delivered`.
    fn read(&self, now: Time, delivered: u64) -> u64 {
        let Bytes(more) = self.rate.size_in(now.since(self.since));
        self.before.saturating_add(more).min(delivered)
    }

    /// Returns when it will have read so many bytes, if they have arrived.
    fn reaches(&self, bytes: u64) -> Time {
        match bytes.saturating_sub(self.before) {
            0 => self.since,
            more => self.since + self.rate.time_for(Bytes(more)),
        }
    }
}

/// The window that a receiver advertises.
#[derive(Debug)]
pub(super) struct Advertised {
    rule: WindowRule,
    mss: u64,
    /// Size of the buffer in bytes.
    capacity: u64,
    reader: Reader,
    /// Right edge of the window last advertised, in bytes from the start of the data.
    edge: u64,
    /// True if that window was zero.
    zero: bool,
    /// Time at which a delayed ACK is due.
    pub delayed: Time,
    /// Time of the last answer to a probe.
    answered: Time,
    pub counts: AdvertisedCounts,
}

impl Advertised {
    /// Returns none if the application reads at once.
    pub fn new(parameters: &TcpParameters) -> Option<Self> {
        let (mss, receiver) = (parameters.connection.mss, &parameters.receiver);
        let (rate, Bytes(capacity)) = receiver.read_rate.zip(receiver.receive_window.bytes(mss))?;
        Some(Advertised {
            rule: receiver.window_rule,
            mss: mss.0,
            capacity,
            reader: Reader {
                rate,
                since: Time::ZERO,
                before: 0,
            },
            edge: capacity,
            zero: false,
            delayed: Time::NEVER,
            answered: Time::NEVER,
            counts: AdvertisedCounts::default(),
        })
    }

    /// Lets the application read until now, before more arrives: it does not read ahead.
    pub fn read_until(&mut self, now: Time, Bytes(delivered): Bytes) {
        let read = self.reader.read(now, delivered);
        let unread = Bytes(delivered - read);
        self.counts.most_unread = self.counts.most_unread.max(unread);
        if unread == Bytes::ZERO {
            (self.reader.since, self.reader.before) = (now, delivered);
        }
    }

    /// Returns the payload that the application has read of that `delivered`.
    pub fn read(&self, now: Time, Bytes(delivered): Bytes) -> Bytes {
        Bytes(self.reader.read(now, delivered))
    }

    /// Returns when the application will have read all that has been `delivered`.
    pub fn read_at(&self, Bytes(delivered): Bytes) -> Time {
        self.reader.reaches(delivered)
    }

    /// Returns the data that the receiver holds.
    pub fn stored(&self, delivered: Bytes, beyond: &Beyond) -> Stored {
        let mss = u32::try_from(self.mss).unwrap_or(u32::MAX);
        Stored {
            delivered: delivered.0,
            beyond: beyond.held(mss).0,
        }
    }

    /// Returns the window that is left of the one last advertised.
    const fn left(&self, stored: Stored) -> u64 {
        self.edge.saturating_sub(stored.delivered)
    }

    /// Returns the window of an ACK that leaves now. What was advertised is not taken back.
    pub fn advertise(&mut self, now: Time, stored: Stored) -> Bytes {
        let (left, free) = (self.left(stored), self.free(now, stored));
        let window = match self.rule {
            WindowRule::Linux => self.opened(free),
            WindowRule::Rfc9293 if free >= self.least_grown(left) => free,
            WindowRule::Rfc9293 => left,
        };
        let window = window.max(left);
        self.edge = stored.delivered + window;
        let was_zero = std::mem::replace(&mut self.zero, window == 0);
        self.counts.to_zero += u64::from(self.zero && !was_zero);
        self.counts.from_zero += u64::from(was_zero && !self.zero);
        Bytes(window)
    }

    /// Returns the free space of the buffer. To Linux it is memory: what waits beyond a hole takes
    /// some, and a segment gives it back when all of it has been read.
    fn free(&mut self, now: Time, stored: Stored) -> u64 {
        let unread = stored.delivered - self.reader.read(now, stored.delivered);
        self.counts.most_unread = self.counts.most_unread.max(Bytes(unread));
        let taken = match self.rule {
            WindowRule::Linux => unread.next_multiple_of(self.mss) + stored.beyond,
            WindowRule::Rfc9293 => unread,
        };
        self.capacity.saturating_sub(taken)
    }

    /// Returns the window that Linux offers for so much free space: none if that is little, and
    /// whole segments if the window has no scale.
    fn opened(&self, free: u64) -> u64 {
        if free < self.least_opened() {
            0
        } else if self.capacity <= LARGEST_UNSCALED && free >= self.mss {
            free - free % self.mss
        } else {
            free
        }
    }

    /// Returns the free space for which Linux offers at least so much.
    const fn opening(&self, window: u64) -> u64 {
        if self.capacity <= LARGEST_UNSCALED && window >= self.mss {
            window.next_multiple_of(self.mss)
        } else {
            window
        }
    }

    /// True if less than half of the buffer is free, so that Linux ends its quick ACKs.
    pub fn ends_quick_acks(&mut self, now: Time, stored: Stored) -> bool {
        self.rule == WindowRule::Linux && self.free(now, stored) < self.capacity / 2
    }

    /// Returns the least free space for which Linux opens the window.
    fn least_opened(&self) -> u64 {
        let little = (self.capacity / CLOSED_BELOW).max(self.mss);
        little.min(self.capacity / 2)
    }

    /// Returns the least window that RFC 9293 advertises in the place of what is `left`: a segment
    /// or half the buffer more, or all of it.
    fn least_grown(&self, left: u64) -> u64 {
        (left + self.mss.min(self.capacity / 2)).min(self.capacity)
    }

    /// Returns when the receiver says unasked that the window has grown; never if it does not have
    /// to.
    pub fn update_at(&self, stored: Stored) -> Time {
        let left = self.left(stored);
        let wanted = match self.rule {
            WindowRule::Linux if 2 * left > self.capacity => return Time::NEVER,
            WindowRule::Linux => self.opening(self.least_opened().max(2 * left).max(1)),
            WindowRule::Rfc9293 if left >= self.mss.min(self.capacity) => return Time::NEVER,
            WindowRule::Rfc9293 => self.least_grown(left),
        };
        // So much is read when so much is free.
        let freed = stored.delivered + wanted;
        let read = match self.rule {
            WindowRule::Linux => {
                let bytes = (freed + stored.beyond).saturating_sub(self.capacity);
                self.whole(bytes, stored.delivered)
            }
            WindowRule::Rfc9293 => freed.saturating_sub(self.capacity),
        };
        if read > stored.delivered {
            return Time::NEVER; // what waits beyond a hole is in the way
        }
        self.reader.reaches(read)
    }

    /// Returns the end of the segment in which so many bytes end, counted from the end of the data
    /// delivered.
    const fn whole(&self, bytes: u64, delivered: u64) -> u64 {
        match delivered.checked_sub(bytes) {
            Some(behind) => delivered - behind / self.mss * self.mss,
            None => bytes,
        }
    }

    /// True if a probe that arrives now is answered.
    fn answers(&mut self, now: Time) -> bool {
        let recent = !self.answered.is_never() && now.since(self.answered) < BETWEEN_ANSWERS;
        if self.rule == WindowRule::Linux && recent {
            return false;
        }
        self.answered = now;
        true
    }
}

impl Receiver {
    fn window(&self) -> Option<&Advertised> {
        self.more.as_ref()?.window.as_ref()
    }
    pub(super) fn window_mut(&mut self) -> Option<&mut Advertised> {
        self.more.as_mut()?.window.as_mut()
    }

    /// Answers a segment that asks for the window.
    pub(super) fn handle_probe(&mut self, now: Time) {
        if self.window_mut().is_none_or(|window| window.answers(now)) {
            self.owed.add(Owed::ACK);
            self.resume_reading(now);
        }
    }

    /// Handles the shared timer: that of a window update, or of a delayed ACK.
    #[cold]
    pub(super) fn handle_window_timeout(&mut self, now: Time) {
        self.resume_reading(now);
        if self.owed.has(Owed::WINDOW) && self.deadline > now {
            self.update_window();
        }
    }

    /// Owes an ACK for the window alone.
    fn update_window(&mut self) {
        self.owed.add(Owed::ACK);
        if let Some(window) = self.window_mut() {
            window.counts.updates += 1;
        }
    }

    /// Sets the timer to what comes first, a delayed ACK or a window update. Owes the update if it
    /// is due.
    pub(super) fn wait_for_reader(&mut self, now: Time) {
        let Some(window) = self.more.as_mut().and_then(|more| more.window.as_mut()) else {
            return;
        };
        let stored = window.stored(self.statistics.delivered, &self.beyond);
        window.delayed = self.deadline;
        let update_at = window.update_at(stored);
        if update_at <= now {
            self.update_window();
        } else {
            self.deadline = self.deadline.min(update_at);
        }
    }

    /// Returns the payload that the application has read.
    pub fn read(&self, now: Time) -> Bytes {
        let delivered = self.statistics.delivered;
        let of_slow = |window: &Advertised| window.read(now, delivered);
        self.window().map_or(delivered, of_slow)
    }

    /// Returns when the application has read all that has been delivered until now.
    pub fn read_at(&self, now: Time) -> Time {
        let of_slow = |window: &Advertised| window.read_at(self.statistics.delivered);
        self.window().map_or(now, of_slow).max(now)
    }

    /// Returns the counts of the advertised window; `None` if the application reads at once.
    pub fn advertised_counts(&self) -> Option<AdvertisedCounts> {
        self.window().map(|window| window.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::parameters::Preset;
    use ackclock_spec::quantity::OptionalWindow;
    use ackclock_spec::streams::Streams;

    /// An ACK says all that an update could say, so the next update is later; and at its time the
    /// window has grown, so that it is not sent in vain.
    #[test]
    fn an_update_follows_when_there_is_more_to_say() {
        let mut draws = Streams::new(1, 0).stream("buffers");
        let mut below = |limit: u64| draws.bits() % limit;
        let mut updates = 0;
        for _ in 0..20_000 {
            let preset = [Preset::Linux, Preset::Rfc][below(2) as usize];
            let mut parameters = preset.parameters();
            let mss = 1 + below(3_000);
            parameters.connection.mss = Bytes(mss);
            let largest = [3_000, 70_000, 500_000][below(3) as usize];
            let capacity = 1 + below(largest);
            parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(capacity));
            parameters.receiver.read_rate = Some(BitRate::from_bit_per_s(below(20_000_000)));
            let mut window = Advertised::new(&parameters).unwrap();
            let (mut now, mut delivered) = (Time::ZERO, 0);
            for _ in 0..12 {
                now = now + Span::from_micros(below(20_000));
                window.read_until(now, Bytes(delivered));
                delivered += below(4) * mss;
                delivered = delivered.min(window.edge);
                let beyond = below(2) * below(window.edge - delivered + 1);
                let stored = Stored { delivered, beyond };
                window.advertise(now, stored);
                let update_at = window.update_at(stored);
                assert!(
                    update_at > now,
                    "{window:?} {stored:?} {now:?} {update_at:?}"
                );
                if !update_at.is_never() {
                    let left = window.left(stored);
                    now = update_at;
                    window.read_until(now, Bytes(delivered));
                    let grown = window.advertise(now, stored);
                    assert!(grown.0 > left, "{window:?} {stored:?} {left}");
                    updates += 1;
                }
            }
        }
        assert!(updates > 10_000, "{updates}");
    }
}
