//! Evaluation of the packets that a side sends.

use super::{Direction, Opening};
use crate::flight::FlightSegment;
use crate::holes::Hole;
use crate::pauses::{Leaving, prompt};
use crate::retransmission::{
    Class, DUPLICATE_THRESHOLD, Late, LossPhase, Situation, classify, is_out_of_order,
};
use crate::rounds::Departure;
use crate::seen::Seen;
use crate::sequence;
use crate::timestamp_echoes::{Echo, is_later};
use crate::vantage::Vantage;
use ackclock_core::packet::Ecn;
use ackclock_spec::units::Span;

/// Longest delay between an ACK and the data that it releases away from the sender, and a share of
/// the round trip by which the path to the sender and back varies. We chose the values.
const PROMPT_ELSEWHERE: Span = Span::from_micros(1_000);
const VARIES: u64 = 16;

/// Least time in the queue of the sender's own device, in seconds, that shows a link behind it:
/// longer than hosts pace segments. We chose the value.
const QUEUED: f64 = 0.005;

impl Direction {
    /// Counts a packet by its headers.
    pub fn count(&mut self, seen: &Seen<'_>) {
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.wire_bytes += u64::from(seen.ip_bytes);
        match seen.ecn {
            Ecn::NotCapable => {}
            Ecn::Capable => counts.capable += 1,
            Ecn::CapableL4s => counts.capable_l4s += 1,
            Ecn::Marked => counts.marked += 1,
        }
        // CWR on a SYN requests ECN (RFC 3168 section 6.1.1).
        let is_reduced = seen.segment.flags.cwr && !seen.segment.flags.syn;
        counts.window_reduced += u64::from(is_reduced);
        if is_reduced {
            self.rounds.reduce();
        }
        self.stamped |= seen.segment.options.timestamps.is_some();
    }

    /// Records the packet's timestamp, which the other side will echo.
    pub fn pass_stamp(&mut self, seen: &Seen<'_>) {
        if let Some(value) = seen.stamp() {
            self.timestamps.pass(value, seen.at);
        }
    }

    /// Returns the number of the packet's first byte, or of its SYN.
    fn locate(&mut self, number: u32) -> u64 {
        if !self.numbers.located {
            self.numbers.located = true;
            self.numbers.highest = sequence::first(number);
            self.numbers.acknowledged = self.numbers.highest;
        }
        sequence::unwrap(number, self.numbers.highest)
    }

    /// True if `number` may be the SYN of the data that this side has sent or is about to send;
    /// false if it must belong to another connection.
    pub fn may_begin_with(&self, number: u32) -> bool {
        /// A SYN captured late is behind the first segments, not behind megabytes.
        const NEAR: u64 = 65_536;
        if let Some(opening) = self.opening {
            return opening.number as u32 == number;
        }
        let first = self
            .numbers
            .origin
            .or(self.numbers.first_acknowledged)
            .or(self.numbers.located.then_some(self.numbers.highest));
        first.is_none_or(|first| {
            let syn = sequence::unwrap(number, first);
            syn < first && first - syn <= NEAR
        })
    }

    /// Handles a SYN. Returns true if it is a retransmission.
    pub fn handle_syn(&mut self, seen: &Seen<'_>) -> bool {
        let number = self.locate(seen.segment.sequence);
        if self.opening.is_some() {
            self.counts.syn_retransmissions += 1;
            self.scoreboard.flight.resend(
                number,
                number + 1,
                seen.at,
                seen.stamp(),
                seen.identification,
            );
            return true;
        }
        let options = &seen.segment.options;
        self.opening = Some(Opening {
            number,
            whole: !seen.segment.cut,
            maximum_segment: options.maximum_segment,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
            ecn: (
                seen.segment.flags.ae,
                seen.segment.flags.cwr,
                seen.segment.flags.ece,
            ),
        });
        self.numbers.origin = Some(number + 1);
        if self.numbers.highest <= number {
            self.numbers.highest = number + 1;
            self.scoreboard.flight.push(sent(number, number + 1, seen));
        }
        false
    }

    /// Handles a packet apart from its SYN: payload, FIN, or neither. `echo` is the packet of the
    /// other side whose timestamp it echoes.
    pub fn handle_segment(&mut self, seen: &Seen<'_>, echo: Option<Echo>) {
        self.settle(seen.at);
        let segment = seen.segment;
        let low = self.locate(segment.sequence) + u64::from(segment.flags.syn);
        let payload = u64::from(segment.payload);
        if !segment.flags.syn && self.is_probe(low, payload, segment.flags.fin) {
            return;
        }
        if payload > 0 {
            self.handle_payload(seen, low, low + payload, echo);
        } else if low > self.numbers.highest && !segment.flags.syn {
            self.pass_over(seen, low);
        }
        if segment.flags.fin {
            self.handle_fin(seen, low + payload);
        }
    }

    /// True if the packet is a keep-alive or window probe. Keep-alives repeat the last byte
    /// acknowledged. Probes of a closed window do the same (Linux) or send one more byte.
    fn is_probe(&mut self, low: u64, payload: u64, fin: bool) -> bool {
        let repeats = low + 1 == self.numbers.acknowledged
            && payload <= 1
            && !fin
            && self.numbers.first_acknowledged.is_some();
        let closed = self.window.raw == Some(0);
        if repeats && closed {
            self.counts.window_probes += 1;
        } else if repeats && self.numbers.highest == self.numbers.acknowledged {
            self.counts.keep_alives += 1;
        } else if closed && payload == 1 && low == self.numbers.acknowledged {
            // The receiver may take the byte; if not, it is part of the next segment.
            self.counts.window_probes += 1;
            self.window.probe = Some(low);
            if self.numbers.highest > low {
                return true;
            }
            return false;
        } else {
            return false;
        }
        true
    }

    fn handle_payload(&mut self, seen: &Seen<'_>, low: u64, high: u64, echo: Option<Echo>) {
        let at = seen.at;
        self.begin_data(low, at);
        self.count_payload(high - low);
        if low >= self.numbers.highest {
            self.send_new(seen, low, high, echo);
        } else {
            self.send_old(seen, low, high);
        }
        let outstanding = self.outstanding_for_sender(at);
        self.set_outstanding(at, outstanding);
    }

    fn begin_data(&mut self, low: u64, at: u64) {
        let first_at = self
            .milestones
            .first_data_at
            .map_or(at, |first| first.min(at));
        self.milestones.first_data_at = Some(first_at);
        self.milestones.last_data_at =
            Some(self.milestones.last_data_at.map_or(at, |last| last.max(at)));
        match self.numbers.origin {
            None => {
                self.numbers.origin = Some(low);
                if low >= self.numbers.highest {
                    // Data in flight when the capture began does not count.
                    self.numbers.highest = low;
                } else {
                    // The capture shows an ACK of the data first.
                    self.pass_hole(low, self.numbers.highest, at, None, 0);
                }
            }
            // At the very beginning of a capture, packets may be out of order.
            Some(origin) if low < origin && self.opening.is_none() && at == first_at => {
                self.numbers.origin = Some(low);
                self.scoreboard.holes.unshift(hole(low, origin, at));
            }
            Some(_) => {}
        }
    }

    fn count_payload(&mut self, payload: u64) {
        let counts = &mut self.counts;
        counts.data_packets += 1;
        counts.payload_bytes += payload;
        counts.largest_payload = counts.largest_payload.max(payload);
        let is_super = self.most.is_some_and(|most| payload > most);
        self.counts.super_packets += u64::from(is_super);
        let segments = if is_super {
            payload.div_ceil(self.mss_or_guess())
        } else {
            1
        };
        self.counts.data_segments += segments;
    }

    fn pass_hole(&mut self, low: u64, high: u64, at: u64, stamp: Option<u32>, identification: u16) {
        self.scoreboard.holes.push(Hole {
            stamp,
            identification,
            ..hole(low, high, at)
        });
    }

    /// Records a gap between the data seen so far and this packet.
    fn pass_over(&mut self, seen: &Seen<'_>, low: u64) {
        if self.numbers.origin.is_some() {
            self.pass_hole(
                self.numbers.highest,
                low,
                seen.at,
                seen.stamp(),
                seen.identification,
            );
        }
        self.numbers.highest = low;
    }

    fn send_new(&mut self, seen: &Seen<'_>, low: u64, high: u64, echo: Option<Echo>) {
        let at = seen.at;
        if high - low > 1 && self.window.most_edge.is_some_and(|edge| high > edge) {
            // A sender never exceeds the window: the ACK that moved it was not captured.
            self.acks.missed += 1;
            self.window.most_edge = Some(high);
        }
        let busy = self.numbers.highest > self.numbers.acknowledged;
        if low > self.numbers.highest {
            self.pass_over(seen, low);
        }
        // Without data in flight, the application may have had nothing to send. At the receiver
        // nothing is ever in flight; newer ACKs on their way show that the sender was busy.
        if let Some(echo) = echo.filter(|echo| echo.first && (busy || !echo.newest)) {
            self.learn_sender_side(Span::from_nanos(at.saturating_sub(echo.sent_at)));
        }
        self.counts.unique_bytes += high - low;
        self.scoreboard.flight.push(sent(low, high, seen));
        self.numbers.highest = high;
        self.mark(at, "data", low, high);
        let mss = self.mss_or_guess();
        let near = self.vantage() == Vantage::Sender;
        let smoothed = self.trips.estimator().smoothed();
        if self.recovery.phase == LossPhase::Open {
            self.pauses.depart(&Leaving {
                at,
                pushed: seen.segment.flags.psh,
                payload: high - low,
                near,
                outstanding: low.saturating_sub(self.numbers.acknowledged),
                peak: self.rounds.peak(),
                mss,
            });
        }
        let waited = seen
            .stamp()
            .and_then(|value| self.own_queue.take(at, value));
        let queued = self.trips.is_within_host() && waited.is_some_and(|waited| waited >= QUEUED);
        let quiet = self.quiet(at);
        // Pacing spreads the packets that an ACK releases.
        let spread = smoothed.unwrap_or(Span::ZERO) / 16;
        let ack_known = near || self.way_to_sender().is_some();
        let since = Span::from_nanos(at.saturating_sub(self.known_to_sender(at).at));
        let soon = if near {
            prompt(smoothed)
        } else {
            PROMPT_ELSEWHERE.max(smoothed.unwrap_or(Span::ZERO) / VARIES)
        };
        let departure = Departure {
            bytes: high - low,
            short: high - low < mss,
            asked: quiet.is_none_or(|quiet| quiet <= self.reaction() + spread),
            soon,
            unsent: self.pauses.unsent(),
            queued,
            refills: self.pauses.refill(),
            near,
            ack_known,
            prompt: ack_known && since <= soon,
            late: ack_known
                && since > soon
                && self
                    .sent_at
                    .is_none_or(|sent_at| at > sent_at + soon.as_nanos()),
        };
        self.sent_at = Some(at);
        self.rounds.depart(at, &departure, smoothed);
    }

    /// Handles a packet that is not entirely new: it fills holes, or is a retransmission.
    fn send_old(&mut self, seen: &Seen<'_>, low: u64, high: u64) {
        let at = seen.at;
        let inside = high.min(self.numbers.highest);
        let (missing, hole) = self.scoreboard.holes.overlap(low, inside);
        let again = inside - low - missing;
        let tail = high - inside;
        let was_probe = again == 1 && self.window.probe.take_if(|probe| *probe == low).is_some();
        if let Some(hole) = hole.filter(|_| again == 0)
            && (hole.high <= self.numbers.acknowledged || is_out_of_order(&self.late(seen, &hole)))
        {
            // Records with the same time have no order.
            self.counts.out_of_order += u64::from(at > hole.made_at);
            self.fill(seen, low, inside, false);
            self.mark(at, "data", low, high);
        } else if was_probe {
            self.scoreboard
                .flight
                .resend(low, inside, at, seen.stamp(), seen.identification);
            self.mark(at, "data", low, high);
        } else {
            let class = self.judge(seen, low, inside, hole.as_ref(), tail > 0);
            self.note_again(
                at,
                low,
                inside,
                class,
                if again > 0 { again } else { missing },
            );
            self.scoreboard
                .flight
                .resend(low, inside, at, seen.stamp(), seen.identification);
            if again == 0 {
                self.fill(seen, low, inside, true);
            }
            self.mark(at, "retransmission", low, high);
        }
        self.scoreboard.holes.fill(low, inside);
        self.counts.unique_bytes += missing + tail;
        if tail > 0 {
            self.scoreboard.flight.push(sent(inside, high, seen));
            self.numbers.highest = high;
        }
    }

    fn late(&self, seen: &Seen<'_>, hole: &Hole) -> Late {
        let counts = self.recent.identifications_count()
            && seen.identification != 0
            && hole.identification != 0;
        let ahead = seen
            .identification
            .wrapping_sub(hole.identification)
            .cast_signed();
        let later = seen
            .stamp()
            .zip(hole.stamp)
            .map(|(own, behind)| own.wrapping_sub(behind).cast_signed());
        Late {
            gap: Span::from_nanos(seen.at.saturating_sub(hole.made_at)),
            ahead: counts.then_some(ahead),
            later,
            round_trip: self.trips.least(),
        }
    }

    /// Records data that fills a hole and was not seen before.
    fn fill(&mut self, seen: &Seen<'_>, low: u64, high: u64, resent: bool) {
        let low = low.max(self.numbers.acknowledged);
        if low < high {
            let filled = FlightSegment {
                resent,
                ..sent(low, high, seen)
            };
            self.scoreboard.flight.push(filled);
        }
    }

    /// Classifies a retransmission.
    fn judge(
        &self,
        seen: &Seen<'_>,
        low: u64,
        high: u64,
        hole: Option<&Hole>,
        tail: bool,
    ) -> Class {
        let at = seen.at;
        let before = self.scoreboard.flight.find(low);
        let sent_at = before.map_or(hole.map_or(0, |hole| hole.made_at), |sent| sent.last_at);
        let end = self.numbers.fin.unwrap_or(self.numbers.highest);
        classify(&Situation {
            phase: self.recovery.phase,
            first: low <= self.numbers.acknowledged,
            last: high >= end && !tail,
            again: before.is_some_and(|sent| sent.resent && sent.last_at >= self.recovery.since),
            duplicates: self.recovery.duplicates,
            sacked_beyond: self.scoreboard.sacked.reaches_beyond(high),
            sack: self.uses_sack(),
            waited: Span::from_nanos(at.saturating_sub(sent_at.max(self.recovery.progress_at))),
            since_progress: Span::from_nanos(at.saturating_sub(self.recovery.progress_at)),
            quiet: self.quiet(at).unwrap_or(Span::FOREVER),
            reaction: self.reaction(),
            smoothed: self.trips.estimator().smoothed(),
            timeout: self.trips.estimator().rto(),
        })
    }

    fn note_again(&mut self, at: u64, low: u64, high: u64, class: Class, bytes: u64) {
        let first = low <= self.numbers.acknowledged;
        let needless =
            high <= self.numbers.acknowledged || self.scoreboard.sacked.contains(low, high);
        let counts = &mut self.counts;
        counts.retransmitted_packets += 1;
        counts.retransmitted_bytes += bytes;
        counts.by_class[class as usize] += 1;
        counts.spurious += u64::from(needless);
        self.scoreboard.resent.push(low, high, needless);
        self.rounds.resend(class != Class::TailProbe);
        match class {
            Class::Timeout => {
                self.rate_estimates.time_out(at);
                self.begin_phase(LossPhase::Loss, at);
                self.recovery.slow_start_again = None;
            }
            Class::Fast => {
                // Reno leaves recovery at any ACK of new data, and may begin another one at once
                // (RFC 5681 section 3.2).
                let anew =
                    first && !self.uses_sack() && self.recovery.duplicates >= DUPLICATE_THRESHOLD;
                // With SACK it may begin before the third duplicate ACK.
                let early = self.recovery.phase == LossPhase::Open
                    && self.recovery.duplicates < DUPLICATE_THRESHOLD;
                self.acks.lower += u64::from(early);
                if self.recovery.phase != LossPhase::Recovery || anew {
                    self.counts.fast_recoveries += 1;
                    self.begin_phase(LossPhase::Recovery, at);
                }
            }
            Class::AfterTimeout => self.recovery.slow_start_again.get_or_insert((at, at)).1 = at,
            Class::TailProbe | Class::Unclear => {}
        }
    }

    fn handle_fin(&mut self, seen: &Seen<'_>, number: u64) {
        if self.numbers.fin.is_some() {
            self.scoreboard.flight.resend(
                number,
                number + 1,
                seen.at,
                seen.stamp(),
                seen.identification,
            );
            return;
        }
        self.numbers.fin = Some(number);
        if self.numbers.acknowledged >= number && self.numbers.first_acknowledged.is_some() {
            self.milestones
                .finished_at
                .get_or_insert(self.recovery.progress_at);
        }
        if number >= self.numbers.highest {
            if number > self.numbers.highest {
                self.pass_over(seen, number);
            }
            self.scoreboard.flight.push(sent(number, number + 1, seen));
            self.numbers.highest = number + 1;
        }
    }

    /// True if an echoed timestamp is older than the retransmission: the ACK answers the first
    /// transmission (RFC 3522).
    pub(super) fn answers_the_first(echo: Option<u32>, again: &FlightSegment) -> bool {
        echo.zip(again.stamp)
            .is_some_and(|(echo, stamp)| is_later(stamp, echo))
    }
}

const fn hole(low: u64, high: u64, made_at: u64) -> Hole {
    Hole {
        low,
        high,
        made_at,
        stamp: None,
        identification: 0,
    }
}

fn sent(low: u64, high: u64, seen: &Seen<'_>) -> FlightSegment {
    FlightSegment {
        low,
        high,
        first_at: seen.at,
        last_at: seen.at,
        stamp: seen.stamp(),
        identification: seen.identification,
        resent: false,
    }
}
