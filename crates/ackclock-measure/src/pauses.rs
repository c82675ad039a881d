//! The pauses of a sender, captured next to it: data left unsent in them, and events that end
//! them.
//!
//! * **Unsent data.** A segment carries PSH if it ends what the application has written so far
//!   (RFC 9293 section 3.9.1.2). A full segment without PSH before a pause has more data behind
//!   it, so that neither the application nor the sender's buffer makes the pause. A short segment
//!   ends it, and so does a lone one with PSH. A burst tells nothing: Linux sets PSH in each.
//! * **Refills.** A congestion window that has room is used at once. An application that waits for
//!   its buffer is woken when a third of it is free (`sk_stream_write_space` of Linux). So several
//!   ACKs pass without an answer, and right after one of them the buffer is filled.

use ackclock_spec::units::Span;

/// Least time without data that is a pause, and least time for which room is left unused in a
/// refill: longer than a host takes for a burst. We chose the value.
const PAUSE: Span = Span::from_millis(1);

/// Longest delay between an ACK and the data that it releases, next to a sender that always has
/// data: a share of the round trip, within bounds. We chose the values.
const PROMPT: (Span, Span) = (Span::from_micros(200), Span::from_micros(500));
const SHARE: u64 = 64;

/// Returns the longest delay of data that an ACK releases, next to the sender.
pub fn prompt(round_trip: Option<Span>) -> Span {
    let share = round_trip.unwrap_or(Span::ZERO) / SHARE;
    share.max(PROMPT.0).min(PROMPT.1)
}

/// Factor by which refills are prompt more often than by chance. We chose the value.
const BY_CHANCE: f64 = 1.5;

/// Pauses after which older ones count half.
const PAUSES: u32 = 256;

/// Windows of data after which older refills count half.
const WINDOWS: u64 = 24;

/// Data left unsent in pauses. We chose the shares. Among sixty transfers of Linux, senders with
/// data left some in 20 to 99 % of the pauses that tell. Full send buffers left some in 7 % at
/// most, applications that wrote at a constant rate in 0.2 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsent {
    /// The flags do not tell.
    #[default]
    Unknown,
    /// Hardly ever.
    Nothing,
    /// At times: the application does not make the pauses.
    Some,
    /// Often: neither the application nor its buffer makes them.
    Much,
}

impl Unsent {
    /// True if the application had data waiting.
    pub const fn is_any(self) -> bool {
        matches!(self, Unsent::Some | Unsent::Much)
    }
}

/// New data that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Time in nanoseconds.
    pub at: u64,
    /// True if it carries PSH.
    pub pushed: bool,
    /// Payload in bytes; that of an offloading host has several segments.
    pub payload: u64,
    /// True if it is captured next to the sender.
    pub near: bool,
    /// Bytes in flight before it.
    pub outstanding: u64,
    /// Most bytes in flight in the last round trip.
    pub peak: u64,
    /// Payload of a full segment in bytes.
    pub mss: u64,
}

/// Room that ACKs made since data last left.
#[derive(Clone, Copy, Debug, Default)]
struct Freed {
    bytes: u64,
    acks: u32,
    /// Times of the first and of the last of these ACKs.
    since: u64,
    last: u64,
    /// True if the receiver's window was full in the meantime.
    blocked: bool,
}

/// Evidence of the pauses of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pauses {
    last: Option<Leaving>,
    packets: u32,
    pushed: u32,
    /// Pauses before which nothing was left, and those before which something was.
    ends: u32,
    withheld: u32,
    /// True if the last segment left right behind another one.
    in_burst: bool,
    freed: Freed,
    refills: u32,
    prompt: u32,
    /// Refills that would be prompt by chance.
    expected: f64,
    /// Bytes freed by ACKs, and those of them that were refilled after a pause.
    freed_bytes: u64,
    held_bytes: u64,
}

impl Pauses {
    /// Takes an ACK of new data. `blocked` is true if the receiver's window is full after it.
    pub fn acknowledge(&mut self, at: u64, bytes: u64, blocked: bool) {
        let freed = &mut self.freed;
        if freed.acks == 0 {
            freed.since = at;
        }
        freed.bytes += bytes;
        freed.acks += 1;
        freed.last = at;
        freed.blocked |= blocked;
    }

    /// Forgets the room made so far: a loss is being repaired.
    pub fn forget(&mut self) {
        self.freed = Freed::default();
        self.last = None;
    }

    /// Takes new data.
    pub fn depart(&mut self, leaving: &Leaving) {
        self.note_unsent(leaving);
        self.note_refill(leaving);
        self.freed = Freed::default();
        self.last = Some(*leaving);
    }

    fn note_unsent(&mut self, leaving: &Leaving) {
        self.packets += 1;
        self.pushed += u32::from(leaving.pushed);
        let since = self.last.map(|last| leaving.at.saturating_sub(last.at));
        if let Some(last) = self.last
            && since.is_some_and(|since| since > PAUSE.as_nanos())
        {
            let is_full = last.payload.is_multiple_of(last.mss);
            let is_lone = last.payload <= last.mss && !self.in_burst;
            self.ends += u32::from(!is_full || (last.pushed && is_lone));
            self.withheld += u32::from(is_full && !last.pushed);
        }
        self.in_burst = since.is_some_and(|since| since <= PROMPT.0.as_nanos());
        if self.ends + self.withheld > PAUSES {
            for count in [
                &mut self.packets,
                &mut self.pushed,
                &mut self.ends,
                &mut self.withheld,
            ] {
                *count /= 2;
            }
        }
    }

    fn note_refill(&mut self, leaving: &Leaving) {
        let freed = self.freed;
        self.freed_bytes += freed.bytes;
        let held = leaving.at.saturating_sub(freed.since);
        let is_refill = freed.acks >= 2
            && freed.bytes >= (leaving.peak / 8).max(2 * leaving.payload.min(leaving.mss))
            && leaving.near
            && held >= PAUSE.as_nanos()
            && 4 * leaving.outstanding >= leaving.peak
            && !freed.blocked;
        if is_refill {
            self.held_bytes += freed.bytes;
            self.refills += 1;
            let since = leaving.at.saturating_sub(freed.last);
            self.prompt += u32::from(since <= PROMPT.0.as_nanos());
            let covered = f64::from(freed.acks) * PROMPT.0.as_nanos() as f64;
            self.expected += (covered / held as f64).min(1.0);
        }
        if self.freed_bytes > WINDOWS * leaving.peak {
            self.refills /= 2;
            self.prompt /= 2;
            self.expected /= 2.0;
            self.freed_bytes /= 2;
            self.held_bytes /= 2;
        }
    }

    /// Returns the data that the sender lately left unsent in its pauses. Behind a link, packets
    /// that left together pass with pauses, so that only many tell of data that waits.
    pub fn unsent(&self) -> Unsent {
        let near = self.last.is_some_and(|last| last.near);
        match self.unsent_in_sight() {
            Unsent::Much => Unsent::Much,
            unsent if near => unsent,
            _ => Unsent::Unknown,
        }
    }

    fn unsent_in_sight(&self) -> Unsent {
        // Without PSH in any hundredth packet, the sender does not set it, as in simulations.
        let pauses = self.ends + self.withheld;
        let is_told = pauses >= 16 && 100 * u64::from(self.pushed) >= u64::from(self.packets);
        match (self.withheld, pauses) {
            _ if !is_told => Unsent::Unknown,
            (withheld, pauses) if 10 * withheld >= pauses => Unsent::Much,
            (withheld, pauses) if 64 * withheld >= pauses => Unsent::Some,
            _ => Unsent::Nothing,
        }
    }

    /// True if much of what left lately refilled a buffer: right after an ACK more often than by
    /// chance.
    pub fn refill(&self) -> bool {
        self.refills >= 4
            && 2 * self.prompt >= self.refills
            && f64::from(self.prompt) >= BY_CHANCE * self.expected
            && 4 * self.held_bytes >= self.freed_bytes
            && self.unsent() != Unsent::Much
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    const SEGMENT: Leaving = Leaving {
        at: 0,
        pushed: false,
        payload: 1_000,
        near: true,
        outstanding: 20_000,
        peak: 30_000,
        mss: 1_000,
    };

    /// Fifty segments, 2 ms apart; `pushed` says which carry PSH.
    fn paused(pushed: impl Fn(u64) -> bool) -> Unsent {
        let mut pauses = Pauses::default();
        for n in 0..50 {
            pauses.depart(&Leaving {
                at: 2 * n * MS,
                pushed: pushed(n),
                ..SEGMENT
            });
        }
        pauses.unsent()
    }

    #[test]
    fn a_full_segment_without_psh_has_data_behind_it() {
        assert_eq!(paused(|n| n % 5 > 0), Unsent::Much);
        assert_eq!(paused(|n| n != 20), Unsent::Some);
        assert_eq!(paused(|_| true), Unsent::Nothing);
        assert_eq!(paused(|_| false), Unsent::Unknown, "it never sets PSH");
    }

    /// Ten cycles of 20 ms: ten ACKs, 1 ms apart, and ten segments in answer to every `answered`th,
    /// `delay_us` later.
    fn cycles(answered: u64, delay_us: u64) -> bool {
        let mut pauses = Pauses::default();
        for ack in 1..=100 {
            let at = ack * MS;
            pauses.acknowledge(at, 1_000, false);
            if ack % answered == 0 {
                let at = at + delay_us * 1_000;
                (0..answered).for_each(|n| {
                    pauses.depart(&Leaving {
                        at: at + n,
                        ..SEGMENT
                    })
                });
            }
        }
        pauses.refill()
    }

    #[test]
    fn a_buffer_is_refilled_in_answer_to_every_few_acks() {
        assert!(cycles(10, 50));
        assert!(!cycles(1, 50), "a congestion window answers each");
        assert!(!cycles(10, 500), "an application does not wait for ACKs");
    }
}
