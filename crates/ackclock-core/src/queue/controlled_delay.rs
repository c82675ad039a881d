//! The control law of CoDel (RFC 8289), for any line of packets with arrival times.

use crate::observe::{Context, DropReason};
use crate::packet::PacketId;
use crate::scenario::error::{Result, consistent, every, in_range};
use crate::units::{Bytes, Span, Time};
use serde_json::json;

/// The constants of the law.
#[derive(Clone, Debug)]
pub(super) struct Law {
    /// Allowed standing queueing delay.
    pub target: Span,
    /// Time for which the delay may exceed the target before the first drop.
    pub interval: Span,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Nothing is dropped with at most this many bytes waiting.
    pub mtu: Bytes,
}

/// A line of packets under control of the law.
pub(super) trait Line {
    /// Removes the first packet and returns it with its arrival time.
    fn take(&mut self, context: &mut Context<'_>) -> Option<(Time, PacketId)>;
    /// Returns the bytes that the law compares with its `mtu`.
    fn bytes(&self) -> Bytes;
}

/// The state of RFC 8289 section 5.2: first_above_time_ is `late_from`, lastcount_ `last_count`.
#[derive(Debug, Default)]
pub(super) struct ControlledDelay {
    /// Time at which the delay will have exceeded the target for an interval; `None` while it does
    /// not exceed it.
    late_from: Option<Time>,
    /// True while packets are being dropped; then, the time of the next drop.
    dropping: bool,
    drop_next: Time,
    /// Drops in this dropping state, and the count with which it began.
    count: u64,
    last_count: u64,
}

/// The packet taken from the head of the line.
#[derive(Clone, Copy, Debug)]
enum Head {
    Empty,
    InTime(PacketId),
    /// May be dropped: ok_to_drop.
    Late(PacketId),
}

impl Head {
    const fn packet(self) -> Option<PacketId> {
        match self {
            Head::Empty => None,
            Head::InTime(id) | Head::Late(id) => Some(id),
        }
    }
}

/// Result of a signal to a late packet.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Marked,
    /// The packet behind it.
    Dropped(Head),
}

impl Law {
    /// Returns the time of the drop after one at `time`, the `count`-th: control_law of RFC 8289
    /// section 5.6. Throughput is proportional to one over the square root of the drop
    /// probability, so intervals of this length make it fall linearly with time.
    fn after(&self, time: Time, count: u64) -> Time {
        time + Span::from_seconds(self.interval.as_seconds() / libm::sqrt(count as f64))
    }
}

impl ControlledDelay {
    /// Returns the next packet to send, after drops and marks (RFC 8289 section 5.5).
    pub fn dequeue(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Option<PacketId> {
        let mut head = self.take(now, law, line, context);
        if self.dropping {
            // With a large backlog several drops may be due at once.
            while let Head::Late(id) = head
                && now >= self.drop_next
            {
                self.count += 1;
                match self.signal(now, law, id, line, context) {
                    Signal::Marked => {
                        self.drop_next = law.after(self.drop_next, self.count);
                        return Some(id);
                    }
                    Signal::Dropped(next) => head = next,
                }
                if matches!(head, Head::Late(_)) {
                    self.drop_next = law.after(self.drop_next, self.count);
                }
            }
            self.dropping = matches!(head, Head::Late(_));
        } else if let Head::Late(id) = head {
            if let Signal::Dropped(next) = self.signal(now, law, id, line, context) {
                head = next;
            }
            self.begin_dropping(now, law);
        }
        head.packet()
    }

    /// Counts a drop for another reason than the delay as one in the present dropping state.
    pub const fn count_drop(&mut self) {
        self.count += 1;
    }

    /// dodequeue of RFC 8289 section 5.6: takes the next packet, and determines whether the delay
    /// has exceeded the target for an interval.
    fn take(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Head {
        let Some((arrival, id)) = line.take(context) else {
            self.late_from = None;
            return Head::Empty;
        };
        let in_time = now.since(arrival) < law.target;
        if in_time || line.bytes() <= law.mtu {
            self.late_from = None;
            return Head::InTime(id);
        }
        let late_from = *self.late_from.get_or_insert(now + law.interval);
        if now >= late_from {
            Head::Late(id)
        } else {
            Head::InTime(id)
        }
    }

    /// Marks a packet if possible, as Linux does. Otherwise drops it and takes the next.
    fn signal(
        &mut self,
        now: Time,
        law: &Law,
        id: PacketId,
        line: &mut impl Line,
        context: &mut Context<'_>,
    ) -> Signal {
        if law.ecn && context.mark_packet(now, id) {
            return Signal::Marked;
        }
        context.drop_packet(now, id, DropReason::Aqm);
        Signal::Dropped(self.take(now, law, line, context))
    }

    /// Enters the dropping state (RFC 8289 section 5.5). If the last one ended less than 16
    /// intervals ago, its final rate is a better start than one drop per interval.
    fn begin_dropping(&mut self, now: Time, law: &Law) {
        let drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < law.interval * 16;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = law.after(now, self.count);
        self.dropping = true;
    }
}

/// Refuses a target of zero, and an interval that is not longer than the target.
///
/// # Errors
/// With the name of the field, `target` or `interval`.
pub(super) fn check_times(target: Span, interval: Span) -> Result<()> {
    let longer = format!(
        "is not longer than the target, {}; for example twenty times as long",
        json!(target)
    );
    every([
        in_range(
            target != Span::ZERO,
            "target",
            &target,
            "is too short; for example \"5 ms\"",
        ),
        consistent(
            interval > target,
            "interval",
            &interval,
            &["target"],
            &longer,
        ),
    ])
}
