//! Evaluation of the ACKs for a direction's data.

use super::Direction;
use crate::accurate_ecn::Progress;
use crate::acks_in_transit::AckContents;
use crate::flight::FlightSegment;
use crate::holes::Hole;
use crate::retransmission::{DUPLICATE_THRESHOLD, LossPhase};
use crate::seen::Seen;
use crate::sequence;
use crate::timestamp_echoes::Echo;
use ackclock_core::estimator::AckSample;
use ackclock_spec::units::{Bytes, Span};

/// An ACK from the other side.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// The captured packet.
    pub seen: Seen<'a>,
    /// ACE of its header, if the connection has accurate ECN (RFC 9768).
    pub ace: Option<u8>,
    /// The packet of this side whose timestamp it echoes.
    pub echo: Option<Echo>,
    /// Window scale shift of the other side, if known.
    pub shift: Option<u8>,
}

/// Delivery state before an ACK.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    acknowledged: u64,
    outstanding: u64,
    sacked: u64,
    /// Bytes that arrived marked, by the options so far.
    marked: Option<u64>,
}

impl Ack<'_> {
    /// True if it is only an ACK.
    fn is_pure(&self) -> bool {
        let flags = self.seen.segment.flags;
        self.seen.segment.payload == 0 && !flags.syn && !flags.fin
    }
}

impl Direction {
    /// Handles an ACK from the other side.
    pub fn handle_ack(&mut self, ack: &Ack<'_>) {
        let (at, segment) = (ack.seen.at, ack.seen.segment);
        self.settle(at);
        let number = self.locate_ack(segment.acknowledgment, segment.flags.syn);
        let pure = ack.is_pure();
        self.acks.any += 1;
        self.acks.pure += u64::from(pure);
        // ECE on a SYN negotiates ECN (RFC 3168 section 6.1.1).
        let echoes = segment.flags.ece && !segment.flags.syn;
        self.acks.echoes += u64::from(echoes);
        if echoes {
            self.rounds.mark();
        }
        if let Some((echo, (value, _))) = ack.echo.zip(segment.options.timestamps) {
            self.queueing.take(at, value, echo.sent_at);
        }
        let before = self.delivery(ack.ace.is_some());
        if let Some(option) = &segment.options.accurate_ecn {
            let current = number >= self.numbers.acknowledged;
            let from_start = self.numbers.origin.is_some();
            self.acks.codepoints.take(option, from_start, current);
        }
        let same_window = self.window.raw == Some(segment.window);
        self.note_window(ack, number);
        let news = self.take_sacks(at, number, segment.options.sacks());
        if let Some(ace) = ack.ace
            && (number > self.numbers.acknowledged || news)
        {
            let has_bytes = segment
                .options
                .accurate_ecn
                .is_some_and(|all| all.ce.is_some());
            self.note_marked(ace, number, &before, has_bytes);
        }
        let mut rtt = None;
        if number > self.numbers.acknowledged {
            rtt = self.advance(number, ack);
        } else if number == self.numbers.acknowledged && pure {
            let duplicate = match segment.options.sacks().is_empty() {
                // RFC 5681 section 2; with a closed window it answers a probe.
                true => {
                    same_window
                        && segment.window > 0
                        && self.numbers.highest > self.numbers.acknowledged
                }
                false => news, // RFC 6675 section 2
            };
            if duplicate {
                self.note_duplicate(at);
            }
        }
        let repeats = pure && (same_window || !segment.options.sacks().is_empty());
        if self.rate_estimates.are_wanted() && !segment.flags.syn {
            self.estimate(at, number, &before, rtt, repeats);
        }
        self.last_ack_at = Some(self.last_ack_at.map_or(at, |last| last.max(at)));
        // If the capture was taken elsewhere, the sender does not know of the ACK yet. Its next
        // packet will show when it does.
        match self.way_to_sender() {
            Some(_) => self.acks_in_transit.pass(
                at,
                AckContents {
                    acknowledged: self.numbers.acknowledged,
                    edge: self.window.edge,
                    at: 0,
                },
            ),
            None => self.set_outstanding(at, self.beyond()),
        }
        if number > before.acknowledged {
            self.pauses
                .acknowledge(at, number - before.acknowledged, self.window.full);
        }
    }

    fn locate_ack(&mut self, number: u32, of_syn: bool) -> u64 {
        if !self.numbers.located {
            self.numbers.located = true;
            self.numbers.highest = sequence::first(number);
            self.numbers.acknowledged = self.numbers.highest;
            if of_syn {
                self.numbers.origin = Some(self.numbers.highest);
            }
        }
        let number = sequence::unwrap(number, self.numbers.acknowledged);
        self.numbers.first_acknowledged.get_or_insert(number);
        number
    }

    fn note_window(&mut self, ack: &Ack<'_>, number: u64) {
        let segment = ack.seen.segment;
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        let shift = if segment.flags.syn {
            Some(0)
        } else {
            ack.shift
        };
        let window = u64::from(segment.window) << shift.unwrap_or(0);
        if segment.window == 0 && self.window.raw != Some(0) {
            self.acks.zero_windows += 1;
        }
        self.window.raw = Some(segment.window);
        self.window.is_known = shift.is_some();
        self.window.size.set(ack.seen.at, window);
        if number >= self.numbers.acknowledged {
            self.window.edge = number.saturating_add(window);
            if shift.is_some() {
                self.window.most_edge = self.window.most_edge.max(Some(self.window.edge));
            }
        }
        if self.marks.wanted {
            let number = self.numbers.acknowledged.max(sequence::unwrap(
                segment.acknowledgment,
                self.numbers.acknowledged,
            ));
            self.mark(ack.seen.at, "window", number + window, number + window);
        }
    }

    /// Records SACK blocks; returns true if they report anything new.
    fn take_sacks(&mut self, at: u64, number: u64, blocks: &[(u32, u32)]) -> bool {
        if blocks.is_empty() {
            return false;
        }
        self.acks.with_sack += 1;
        let unwrapped = |(left, right): (u32, u32)| {
            let low = sequence::unwrap(left, number);
            (low, low + u64::from(right.wrapping_sub(left)))
        };
        let first = unwrapped(blocks[0]);
        let second = blocks.get(1).map(|block| unwrapped(*block));
        // RFC 2883 section 4: below the cumulative ACK, or within the second block.
        let within = second.is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        let duplicate = first.1 <= number || within;
        if duplicate {
            self.acks.duplicate_sacks += 1;
            let (arrived, needless) = self.scoreboard.resent.note_arrived(first.0);
            self.counts.spurious += u64::from(needless);
            self.counts.arrived_needlessly += u64::from(arrived);
        }
        let mut news = false;
        for block in &blocks[usize::from(duplicate)..] {
            let (low, high) = unwrapped(*block);
            // Blocks of data that was never sent are ignored.
            if low >= number
                && high <= self.numbers.highest
                && self.scoreboard.sacked.add(low, high)
            {
                news = true;
                self.mark(at, "sack", low, high);
            }
        }
        news
    }

    fn note_duplicate(&mut self, at: u64) {
        self.recovery.duplicates = self.recovery.duplicates.saturating_add(1);
        self.acks.duplicate += 1;
        let answers_needless = self.may_answer_slow_start(at);
        self.acks.after_timeout += u64::from(answers_needless);
        if self.recovery.duplicates == DUPLICATE_THRESHOLD {
            self.acks.triple_duplicate += 1;
            self.acks.lower +=
                u64::from(self.recovery.phase == LossPhase::Open && !answers_needless);
        }
    }

    /// True if an ACK at `at` may answer a retransmission of slow start after a timeout, one round
    /// trip later.
    fn may_answer_slow_start(&self, at: u64) -> bool {
        let least = self.trips.receiver_side().unwrap_or(Span::ZERO);
        let usual = self.trips.estimator().smoothed().unwrap_or(Span::ZERO) * 3 / 2;
        let after = |sent_at: u64, span: Span| sent_at.saturating_add(span.as_nanos());
        let span = self
            .recovery
            .slow_start_again
            .map(|(first, last)| after(first, least)..=after(last, usual));
        span.is_some_and(|span| span.contains(&at))
    }

    fn delivery(&self, has_ace: bool) -> Delivery {
        Delivery {
            acknowledged: self.numbers.acknowledged,
            outstanding: self.beyond(),
            sacked: if self.rate_estimates.are_wanted() || has_ace {
                self.scoreboard.sacked.total()
            } else {
                0
            },
            marked: self.acks.codepoints.ce.bytes(),
        }
    }

    /// Takes ACE of an ACK that makes progress, before the flight is changed. Packets are counted
    /// in segments; what SACK reports counts in full ones.
    fn note_marked(&mut self, ace: u8, number: u64, before: &Delivery, has_bytes: bool) {
        let mss = self.mss_or_guess();
        let sacked = self.scoreboard.sacked.total() - before.sacked;
        let (mut packets, mut payloads) = (sacked.div_ceil(mss), (mss, 1));
        for sent in self.scoreboard.flight.below(number) {
            if self.scoreboard.sacked.contains(sent.low, sent.high) {
                continue; // an earlier ACK has told of it
            }
            let payload = sent.high - sent.low;
            packets += payload.div_ceil(mss);
            let last = (payload - 1) % mss + 1;
            payloads = (payloads.0.min(last), payloads.1.max(payload.min(mss)));
        }
        if sacked > 0 || packets == 0 {
            payloads.1 = mss;
        }
        // The capture may have missed packets.
        let delivered = number.saturating_sub(before.acknowledged) + sacked;
        let marked_bytes = self.acks.codepoints.ce.bytes().filter(|_| has_bytes);
        let marked = self.acks.marked.take(&Progress {
            ace,
            packets: packets.max(delivered.div_ceil(mss)),
            marked_bytes: marked_bytes.map(|bytes| bytes - before.marked.unwrap_or(0)),
            payloads,
        });
        if marked > 0 {
            self.rounds.mark();
        }
    }

    /// Passes to the rate estimators the ACKs that a sender would pass: those of new data, and
    /// those that repeat the last one while data is in flight.
    fn estimate(
        &mut self,
        at: u64,
        number: u64,
        before: &Delivery,
        rtt: Option<Span>,
        repeats: bool,
    ) {
        let duplicate = number == before.acknowledged && repeats && before.outstanding > 0;
        if number <= before.acknowledged && !duplicate {
            return;
        }
        let newly_acked = number - before.acknowledged;
        let sacked = self.scoreboard.sacked.total();
        let ack = AckSample {
            newly_acked: Bytes(newly_acked),
            newly_delivered: Bytes((newly_acked + sacked).saturating_sub(before.sacked)),
            rtt,
            smoothed_rtt: self.trips.estimator().smoothed(),
            // Data reported by SACK has left the network and does not fill the window.
            cwnd: Bytes(before.outstanding.saturating_sub(before.sacked)),
        };
        let mss = self.mss_or_guess();
        self.rate_estimates.take(at, &ack, mss);
    }

    /// Handles an acknowledgment of new data. Returns the round-trip time that the ACK measures.
    fn advance(&mut self, number: u64, ack: &Ack<'_>) -> Option<Span> {
        let at = ack.seen.at;
        if number > self.numbers.highest {
            if self.numbers.origin.is_some() {
                self.scoreboard.holes.push(Hole {
                    low: self.numbers.highest,
                    high: number,
                    made_at: at,
                    stamp: None,
                    identification: 0,
                });
            }
            self.numbers.highest = number;
        }
        let bytes = number - self.numbers.acknowledged;
        let (by_sequence, quickest) = self.cover(number, ack);
        let by_stamp = ack
            .echo
            .map(|echo| Span::from_nanos(at.saturating_sub(echo.sent_at)));
        let whole = self.trips.add_receiver_side(by_sequence, by_stamp);
        let quickest = quickest.map(|span| self.trips.whole_of(span));
        self.numbers.acknowledged = number;
        self.recovery.duplicates = 0;
        self.recovery.progress_at = self.recovery.progress_at.max(at);
        if self.recovery.phase != LossPhase::Open && number >= self.recovery.until {
            self.recovery.phase = LossPhase::Open;
        }
        if !self.scoreboard.sacked.is_empty() {
            self.scoreboard.sacked.forget_before(number);
        }
        if self.numbers.fin.is_some_and(|fin| number >= fin) {
            self.milestones.finished_at.get_or_insert(at);
        }
        self.rounds.acknowledge(bytes, whole, quickest);
        self.mark(at, "ack", number, number);
        whole
    }

    /// Removes the acknowledged packets from the flight.
    ///
    /// Returns two round-trip times, or `None` if any packet was retransmitted (Karn's algorithm).
    /// The first is that of the oldest packet, as senders measure it; it includes the delay of the
    /// ACK. The second is that of the newest packet, which does not.
    fn cover(&mut self, number: u64, ack: &Ack<'_>) -> (Option<Span>, Option<Span>) {
        let at = ack.seen.at;
        let first = self.numbers.acknowledged;
        let echo = ack.seen.segment.options.timestamps.map(|(_, echo)| echo);
        let least = self.trips.receiver_side();
        let (counts, resent) = (&mut self.counts, &mut self.scoreboard.resent);
        let covered = self.scoreboard.flight.acknowledge(number, |sent| {
            // An ACK takes at least half the least round trip. An earlier one was already on its
            // way: the first transmission had arrived.
            let waited = Span::from_nanos(at.saturating_sub(sent.last_at));
            let too_soon = least.is_some_and(|least| waited < least / 2);
            if too_soon || (sent.low == first && Self::answers_the_first(echo, sent)) {
                counts.spurious += u64::from(resent.note_needless(sent.low));
            }
        });
        let behind_loss =
            |newest: &FlightSegment| !newest.resent && covered.resent_at > newest.first_at;
        if covered.resent && covered.newest.as_ref().is_some_and(behind_loss) {
            self.acks.post_loss += 1;
        }
        // Three duplicate ACKs mean that the packet was lost or late. If no retransmission was
        // seen, the capture has missed it.
        let clear = !covered.resent && self.recovery.duplicates < DUPLICATE_THRESHOLD;
        let passed = |sent: Option<FlightSegment>| {
            let sent = sent.filter(|_| clear)?;
            Some(Span::from_nanos(at.saturating_sub(sent.first_at)))
        };
        (
            passed(covered.oldest),
            passed(covered.newest.or(covered.oldest)),
        )
    }
}
