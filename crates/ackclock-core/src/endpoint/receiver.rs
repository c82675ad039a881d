//! The TCP receiver: delayed and immediate ACKs, SACK, timestamp echo, ECN echo.

use super::parameters::TcpParameters;
use super::{Acknowledgement, AcknowledgementKind, ReceiverStatistics, Segment, SegmentKind};
use crate::packet::Ecn;
use ackclock_spec::units::{Bytes, Span, Time};

mod advertised;
mod beyond;
mod marks;
mod more;
mod timing;
mod window_growth;

use beyond::{Arrival, Beyond};
use more::More;
use timing::Timing;
use window_growth::WindowGrowth;

/// The receiving end of one connection.
///
/// The application reads at once unless the parameters have a
/// [rate](super::parameters::ReceiverParameters::read_rate). If it does, the advertised window
/// never closes, and the sender knows its size from the parameters.
#[derive(Debug)]
pub struct Receiver {
    /// Next segment expected, RCV.NXT.
    next: u64,
    /// The acknowledgement number last sent (Last.ACK.sent of RFC 7323).
    last_sent: u64,
    /// TS.Recent of RFC 7323; `Time::NEVER` before the first segment.
    recent_stamp: Time,
    /// Time at which a delayed ACK is due.
    deadline: Time,
    mss: u32,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    every: u32,
    quick: u32,
    delay: Span,
    timing: Option<Box<Timing>>,
    /// Feedback of marks and the advertised window; none for most receivers.
    more: Option<Box<More>>,
    beyond: Beyond,
    statistics: ReceiverStatistics,
    sack: bool,
    duplicate_sack: bool,
    owed: Owed,
}

/// The answers that a receiver owes, one bit each. An ACK of what has arrived leaves last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owed(u8);

impl Owed {
    const NOTHING: Owed = Owed(0);
    /// The ACK of all that has arrived.
    const ACK: Owed = Owed(0b001);
    const SYN_ACK: Owed = Owed(0b010);
    /// The ACK of what came before the last segment, with DCTCP's feedback.
    const EARLIER: Owed = Owed(0b100);
    /// The ACK of what waited beyond a hole before the last segment, which waits now.
    const HELD: Owed = Owed(0b1000);
    /// A look at the advertised window, which may have to be updated.
    const WINDOW: Owed = Owed(0b1_0000);

    const fn has(self, answer: Owed) -> bool {
        self.0 & answer.0 != 0
    }
    fn add(&mut self, answer: Owed) {
        self.0 |= answer.0;
    }
    /// Removes an answer. True if it was owed.
    fn take(&mut self, answer: Owed) -> bool {
        let had = self.has(answer);
        self.0 &= !answer.0;
        had
    }
}

/// Converts a length to 32 bits.
fn narrow(length: Bytes) -> u32 {
    u32::try_from(length.0).unwrap_or(u32::MAX)
}

impl Receiver {
    /// A receiver that expects segment 0.
    pub fn new(parameters: &TcpParameters) -> Self {
        Receiver {
            next: 0,
            last_sent: 0,
            recent_stamp: Time::NEVER,
            deadline: Time::NEVER,
            mss: narrow(parameters.connection.mss),
            unacknowledged: 0,
            every: parameters.receiver.delayed_ack.every.0,
            quick: parameters.receiver.delayed_ack.quickack_segments.0,
            delay: parameters.receiver.delayed_ack.timeout,
            timing: Timing::new(parameters).map(Box::new),
            more: More::new(parameters).map(Box::new),
            beyond: Beyond::new(),
            statistics: ReceiverStatistics::default(),
            sack: parameters.recovery.uses_sack(),
            duplicate_sack: parameters.receiver.duplicate_sack,
            owed: Owed::NOTHING,
        }
    }

    /// Processes a segment with the ECN field of its IP header.
    ///
    /// Some segments are acknowledged at once (RFC 5681 section 4.2):
    ///
    /// * A segment that is out of order, fills all or part of a gap, or is a duplicate.
    /// * A segment shorter than one MSS: only ACKs of full-sized segments are delayed, and a short
    ///   segment ends a transfer.
    /// * A pushed segment, because the application reads it at once (`tcp_cleanup_rbuf` of Linux).
    /// * A segment whose CE mark differs from that of the one before. With accurate ECN, the first
    ///   marked one and every second.
    #[inline(always)] // so that the driver's segment need not be in memory
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if segment.kind != SegmentKind::Data {
            self.handle_without_data(now, segment.kind, segment.stamp);
            return;
        }
        self.statistics.received_segments += 1;
        if self.more.is_some() {
            self.note_segment(now, ecn, segment.length, segment.window_reduced);
        }
        self.keep_stamp(segment.stamp, segment.sequence);
        if segment.sequence != self.next || !self.beyond.is_empty() {
            self.handle_disorder(
                now,
                segment.sequence,
                segment.length,
                segment.retransmission,
            );
            return;
        }
        self.next += 1;
        self.statistics.delivered += segment.length;
        self.unacknowledged += 1;
        if self.timing.is_some() && self.window_grows(now, segment.stamp, segment.length) {
            self.quick |= 1;
        }
        if self.unacknowledged >= self.every
            || self.quick > 0
            || segment.pushed
            || narrow(segment.length) < self.mss
        {
            self.owed.add(Owed::ACK);
        } else if self.deadline.is_never() {
            self.deadline = now + self.delay;
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// Updates TS.Recent by RFC 7323 section 4.3 (2): only segments that begin at or before the
    /// last acknowledgement number sent count. A delayed ACK therefore echoes the first segment it
    /// covers, and an ACK of a filled hole echoes the segment that filled it.
    fn keep_stamp(&mut self, stamp: Time, sequence: u64) {
        let newer = self.recent_stamp.is_never() || stamp >= self.recent_stamp;
        if newer && sequence <= self.last_sent {
            self.recent_stamp = stamp;
        }
    }

    #[cold]
    fn handle_without_data(&mut self, now: Time, kind: SegmentKind, stamp: Time) {
        if kind == SegmentKind::WindowProbe {
            return self.handle_probe(now);
        }
        self.keep_stamp(stamp, 0);
        self.owed.add(Owed::SYN_ACK);
        if let Some(growth) = self.growth() {
            growth.begin(now);
        }
    }

    /// Counts a segment in order. True if the advertised window grows, which is acknowledged.
    #[inline(never)] // few receivers have such a window
    fn window_grows(&mut self, now: Time, sent: Time, length: Bytes) -> bool {
        self.growth()
            .is_some_and(|growth| growth.handle_segment(now, sent, length))
    }

    fn growth(&mut self) -> Option<&mut WindowGrowth> {
        self.timing.as_mut()?.growth.as_mut()
    }

    /// Processes a segment that is not the next one, or is the next one below other segments held.
    #[inline(never)] // without the segment itself, so one in order need not be in memory
    fn handle_disorder(&mut self, now: Time, sequence: u64, length: Bytes, retransmission: bool) {
        let at_once = self.owed.has(Owed::ACK) || self.quick > 0;
        self.owed.add(Owed::ACK);
        self.quick = self.quick.saturating_sub(1);
        if sequence < self.next || sequence == u64::MAX {
            // No segment has the largest number: a range could not end after it.
            self.statistics.duplicate_segments += 1;
            self.report_duplicate(sequence);
            return;
        }
        if sequence > self.next {
            if !at_once {
                self.release_held(sequence);
            }
            match self.beyond.insert(sequence) {
                arrival @ (Arrival::Last | Arrival::Reordered) => {
                    let reordered = arrival == Arrival::Reordered && !retransmission;
                    self.statistics.reordered_segments += u64::from(reordered);
                    if !at_once && self.holds_back(now) {
                        self.owed.take(Owed::ACK);
                    }
                }
                Arrival::Duplicate => {
                    self.statistics.duplicate_segments += 1;
                    self.report_duplicate(sequence);
                }
            }
            if narrow(length) != self.mss {
                self.beyond.short = sequence;
                self.beyond.short_length = narrow(length);
            }
            return;
        }
        let statistics = &mut self.statistics;
        statistics.reordered_segments += u64::from(!retransmission);
        statistics.delivered += length;
        self.next += 1;
        if let Some(end) = self.beyond.release(self.next) {
            statistics.delivered += self.beyond.payload(self.next, end, self.mss);
            self.next = end;
        }
    }

    /// Sends the ACK that waits, before a segment that might leave a block of it unreported.
    fn release_held(&mut self, sequence: u64) {
        let waiting = self.timing.as_mut().filter(|timing| timing.held > 0);
        if let Some(timing) = waiting
            && self.beyond.later_blocks(sequence) >= timing::EXPECTED_BLOCKS
        {
            timing.held = 0;
            self.deadline = Time::NEVER;
            self.beyond.report();
            self.owed.add(Owed::HELD);
        }
    }

    /// True if the ACK of a segment beyond the hole waits for more of them.
    fn holds_back(&mut self, now: Time) -> bool {
        let Some(timing) = self.timing.as_mut().filter(|_| self.sack) else {
            return false;
        };
        let holds = timing.holds_back(self.next);
        if holds && self.deadline.is_never() {
            self.deadline = now + timing.wait();
        }
        holds
    }

    /// Reports a duplicate segment in the next ACK (RFC 2883).
    fn report_duplicate(&mut self, sequence: u64) {
        if self.duplicate_sack && self.sack {
            self.beyond.duplicate = sequence;
        }
    }

    /// Handles the time of [`Receiver::poll_timeout`]: a delayed ACK is due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline > now {
            return;
        }
        if self.more.is_some() {
            self.handle_window_timeout(now);
            if self.deadline > now {
                return;
            }
        }
        // What waits beyond a hole has a timer of high resolution.
        let tick = self
            .timing
            .as_ref()
            .map_or(Span::ZERO, |timing| timing.tick);
        if tick > Span::ZERO && self.beyond.is_empty() {
            let due = self.deadline.as_nanos().next_multiple_of(tick.as_nanos());
            self.deadline = Time::from_nanos(due);
            if self.deadline > now {
                return;
            }
        }
        self.owed.add(Owed::ACK);
        self.deadline = Time::NEVER;
    }

    /// True if two acknowledgements are to be sent after a segment, as DCTCP's feedback may ask.
    #[inline(always)] // asked for every packet
    pub fn owes_two(&self) -> bool {
        self.owed.has(Owed::EARLIER)
    }

    /// Returns the next acknowledgement to send. Call it after each segment, twice if the receiver
    /// [owes two](Receiver::owes_two): two segments without a call in between share one ACK.
    // Inlined so that the driver builds its packet without an acknowledgement in memory.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Acknowledgement<'_>> {
        if self.owed == Owed::NOTHING {
            return None;
        }
        if self.owed != Owed::ACK {
            return self.poll_rare(now);
        }
        Some(self.acknowledge(now))
    }

    /// Returns an answer that leaves before an ACK, or the ACK after it.
    #[inline(never)] // rare: kept out of the path of every packet
    fn poll_rare(&mut self, now: Time) -> Option<Acknowledgement<'_>> {
        if self.owed.take(Owed::EARLIER) {
            return self.acknowledge_earlier();
        }
        if self.owed.take(Owed::SYN_ACK) {
            return Some(Acknowledgement {
                kind: AcknowledgementKind::SynAck,
                cumulative: self.next,
                echo: self.recent_stamp,
                sacks: None,
                ace: 0, // the handshake's flags are the driver's
                options: None,
            });
        }
        if self.owed.take(Owed::HELD) {
            return Some(self.acknowledge_held());
        }
        if self.owed.take(Owed::WINDOW) && !self.owed.has(Owed::ACK) {
            self.wait_for_reader(now);
        }
        self.owed.has(Owed::ACK).then(|| self.acknowledge(now))
    }

    /// Acknowledges all that has arrived.
    #[inline(always)] // runs for every second packet
    fn acknowledge(&mut self, now: Time) -> Acknowledgement<'_> {
        self.owed = Owed::NOTHING;
        self.deadline = Time::NEVER;
        self.unacknowledged = 0;
        self.last_sent = self.next;
        self.statistics.acks += 1;
        let holds_more =
            self.sack && (!self.beyond.is_empty() || self.beyond.duplicate != u64::MAX);
        if holds_more {
            if let Some(timing) = &mut self.timing {
                timing.held = 0;
            }
            self.beyond.report();
        }
        let (ace, options) = match &mut self.more {
            None => (0, None),
            Some(more) => {
                let delivered = self.statistics.delivered;
                let report = more.report(now, delivered, &self.beyond);
                self.deadline = report.update_at;
                if report.ends_quick_acks {
                    self.quick = 0;
                }
                (report.ace, report.options)
            }
        };
        let reported = self.beyond.reported.as_deref();
        Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative: self.next,
            echo: self.recent_stamp,
            sacks: if holds_more { reported } else { None },
            ace,
            options,
        }
    }

    /// Acknowledges what had arrived before the last segment, which waits.
    #[inline(never)] // rare: kept out of the path of every packet
    fn acknowledge_held(&mut self) -> Acknowledgement<'_> {
        self.last_sent = self.next;
        self.statistics.acks += 1;
        let report = self.more.as_mut().map(|more| more.report_earlier());
        let (ace, options) = report.unwrap_or((0, None));
        Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative: self.next,
            echo: self.recent_stamp,
            sacks: self.beyond.reported.as_deref(),
            ace,
            options,
        }
    }

    /// Returns when to call [`Receiver::handle_timeout`]; [`Time::NEVER`] for not at all.
    pub fn poll_timeout(&self) -> Time {
        self.deadline
    }
    /// Returns the counts since creation. They exclude SYNs and their answers.
    pub fn statistics(&self) -> &ReceiverStatistics {
        &self.statistics
    }
    /// Returns the number of the next segment expected: all segments before it have been delivered.
    pub fn next_expected(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::parameters::{EcnFeedback, LossRecovery, Preset};
    use crate::packet::SackBlocks;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MS: Span = Span::from_millis(1);
    const MSS: u64 = 1460;

    fn rfc() -> TcpParameters {
        Preset::Rfc.parameters()
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }
    /// A full segment, sent 50 ms before it arrives.
    fn data(sequence: u64, ms: u64) -> Segment {
        Segment {
            kind: SegmentKind::Data,
            sequence,
            length: Bytes(MSS),
            retransmission: false,
            stamp: at(ms - 50),
            window_reduced: false,
            pushed: false,
        }
    }
    /// Delivers segments one millisecond apart, from 100 ms on. Returns the ACK after each.
    fn feed(receiver: &mut Receiver, sequences: &[u64]) -> Vec<Option<u64>> {
        let mut acknowledged = Vec::new();
        for (ms, &sequence) in (100..).zip(sequences) {
            receiver.handle_segment(at(ms), &data(sequence, ms), Ecn::NotCapable);
            acknowledged.push(receiver.poll_transmit(at(ms)).map(|ack| ack.cumulative));
            assert!(receiver.poll_transmit(at(ms)).is_none(), "one ACK at most");
        }
        acknowledged
    }
    fn blocks(ack: &Acknowledgement) -> Vec<(u64, u64)> {
        ack.sacks
            .iter()
            .flat_map(|sacks| sacks.as_slice())
            .map(|block| (block.start, block.end))
            .collect()
    }

    #[test]
    fn an_idle_receiver_is_small() {
        assert!(size_of::<Receiver>() <= 208, "{}", size_of::<Receiver>());
        assert_eq!(Receiver::new(&rfc()).beyond.ranges.capacity(), 0);
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut receiver = Receiver::new(&rfc());
        assert_eq!(
            feed(&mut receiver, &[0, 1, 2, 3, 4]),
            [None, Some(2), None, Some(4), None]
        );
        assert_eq!(receiver.poll_timeout(), at(104 + 200));
        receiver.handle_timeout(at(303));
        assert!(receiver.poll_transmit(at(303)).is_none(), "too early");
        receiver.handle_timeout(at(304));
        assert_eq!(receiver.poll_transmit(at(304)).unwrap().cumulative, 5);
        assert!(receiver.poll_timeout().is_never());
        assert_eq!(receiver.statistics().acks, 3);
        assert_eq!(receiver.statistics().delivered, Bytes(5 * MSS));
    }

    #[test]
    fn quick_and_undelayed_receivers_acknowledge_each() {
        let mut parameters = rfc();
        parameters.receiver.delayed_ack.quickack_segments.0 = 3;
        let mut receiver = Receiver::new(&parameters);
        assert_eq!(
            feed(&mut receiver, &[0, 1, 2, 3, 4]),
            [Some(1), Some(2), Some(3), None, Some(5)]
        );
        for every in [0, 1] {
            parameters.receiver.delayed_ack.quickack_segments.0 = 0;
            parameters.receiver.delayed_ack.every.0 = every;
            let mut receiver = Receiver::new(&parameters);
            assert_eq!(feed(&mut receiver, &[0, 1]), [Some(1), Some(2)]);
        }
    }

    #[test]
    fn disorder_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(&rfc());
        // Holes at 1 and 3: segment 1 fills the first hole, 3 the second, 3 arrives again, then in
        // order.
        assert_eq!(
            feed(&mut receiver, &[0, 2, 4, 1, 3, 3, 5, 6]),
            [
                None,
                Some(1),
                Some(1),
                Some(3),
                Some(5),
                Some(5),
                None,
                Some(7)
            ]
        );
        let statistics = receiver.statistics();
        assert_eq!(
            (statistics.reordered_segments, statistics.duplicate_segments),
            (2, 1)
        );
        assert_eq!(
            (statistics.received_segments, statistics.delivered),
            (8, Bytes(7 * MSS))
        );
    }

    #[test]
    fn the_end_of_a_burst_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(&rfc());
        let pushed = Segment {
            pushed: true,
            ..data(0, 100)
        };
        receiver.handle_segment(at(100), &pushed, Ecn::NotCapable);
        assert_eq!(receiver.poll_transmit(at(100)).unwrap().cumulative, 1);
    }

    #[test]
    fn a_delayed_ack_leaves_at_a_tick() {
        let mut parameters = rfc();
        parameters.timer.timer_tick = MS * 4;
        parameters.receiver.delayed_ack.timeout = MS * 40;
        let mut receiver = Receiver::new(&parameters);
        receiver.handle_segment(at(101), &data(0, 101), Ecn::NotCapable);
        receiver.handle_timeout(receiver.poll_timeout());
        assert_eq!(receiver.poll_timeout(), at(144), "141 ms is no tick");
        assert!(receiver.poll_transmit(at(141)).is_none());
        receiver.handle_timeout(at(144));
        assert_eq!(receiver.poll_transmit(at(144)).unwrap().cumulative, 1);
    }

    /// The window of Linux 6.18 grows with the first six segments, so that 22 are acknowledged at
    /// once and not 16: captured from that kernel.
    #[test]
    fn while_its_window_grows_a_receiver_acknowledges_each() {
        let mut receiver = Receiver::new(&Preset::Linux.parameters());
        let acks = feed(&mut receiver, &(0..30).collect::<Vec<_>>());
        let quick = acks.iter().take_while(|ack| ack.is_some()).count();
        assert_eq!(quick, 22);
        assert_eq!(acks[22..26], [None, Some(24), None, Some(26)]);
    }

    #[test]
    fn beyond_a_hole_three_segments_are_acknowledged_at_once_and_more_wait() {
        let mut parameters = rfc();
        parameters.receiver.delayed_ack.beyond_hole = MS * 2;
        let mut receiver = Receiver::new(&parameters);
        let held = feed(&mut receiver, &[1, 2, 3, 4, 5]);
        assert_eq!(held, [Some(0), Some(0), Some(0), None, None]);
        assert_eq!(receiver.poll_timeout(), at(103 + 2));
        receiver.handle_timeout(at(105));
        let ack = receiver.poll_transmit(at(105)).unwrap();
        assert_eq!(blocks(&ack), [(1, 6)]);
        // What fills the hole is acknowledged at once, with what waits.
        assert_eq!(feed(&mut receiver, &[6, 0]), [None, Some(7)]);
        assert!(receiver.poll_timeout().is_never());
    }

    /// Every other segment is lost: an ACK that waited for all would leave blocks unreported.
    #[test]
    fn each_block_beyond_a_hole_is_reported_among_the_first_two() {
        let mut parameters = rfc();
        parameters.receiver.delayed_ack.beyond_hole = Span::from_millis(1000);
        let mut receiver = Receiver::new(&parameters);
        let mut after = |sequence| {
            receiver.handle_segment(at(100), &data(sequence, 100), Ecn::NotCapable);
            let ack = receiver.poll_transmit(at(100));
            ack.map(|ack| blocks(&ack))
        };
        assert_eq!(after(1), Some(vec![(1, 2)]));
        assert_eq!(after(4), Some(vec![(4, 5), (1, 2)]));
        assert_eq!(after(7), Some(vec![(7, 8), (4, 5), (1, 2)]));
        assert_eq!(after(10), None, "waits");
        let before_13 = vec![(10, 11), (7, 8), (4, 5)];
        assert_eq!(after(13), Some(before_13), "begins a block");
        assert_eq!(after(14), None, "enlarges the first block");
        assert_eq!(after(11), None, "enlarges the second");
        let before_8 = vec![(10, 12), (13, 15), (7, 8)];
        assert_eq!(after(8), Some(before_8), "enlarges the third");
        assert_eq!(receiver.poll_timeout(), at(1100));
        receiver.handle_timeout(at(1100));
        let ack = receiver.poll_transmit(at(1100)).unwrap();
        assert_eq!(blocks(&ack), [(7, 9), (10, 12), (13, 15)]);
    }

    #[test]
    fn so_many_segments_share_an_ack_beyond_a_hole() {
        let mut parameters = rfc();
        parameters.receiver.delayed_ack.beyond_hole = Span::from_millis(1000);
        let mut receiver = Receiver::new(&parameters);
        let acks = feed(&mut receiver, &(1..60).collect::<Vec<_>>());
        let at_once: Vec<_> = (0..acks.len())
            .filter(|index| acks[*index].is_some())
            .collect();
        assert_eq!(at_once, [0, 1, 2, 47]);
    }

    #[test]
    fn filling_part_of_a_gap_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(&rfc());
        assert_eq!(
            feed(&mut receiver, &[3, 0, 1, 2]),
            [Some(0), Some(1), Some(2), Some(4)]
        );
    }

    #[test]
    fn blocks_are_those_most_recently_changed() {
        let mut receiver = Receiver::new(&rfc());
        let mut after = |sequence| {
            receiver.handle_segment(at(100), &data(sequence, 100), Ecn::NotCapable);
            blocks(&receiver.poll_transmit(at(100)).unwrap())
        };
        assert_eq!(after(2), [(2, 3)]);
        assert_eq!(after(4), [(4, 5), (2, 3)]);
        assert_eq!(after(6), [(6, 7), (4, 5), (2, 3)]);
        assert_eq!(after(8), [(8, 9), (6, 7), (4, 5)]);
        assert_eq!(after(3), [(2, 5), (8, 9), (6, 7)], "two ranges become one");
        assert_eq!(
            after(6),
            [(6, 7), (2, 5), (8, 9)],
            "a duplicate comes first too"
        );
        assert_eq!(after(0), [(6, 7), (2, 5), (8, 9)]);
        assert_eq!(after(1), [(6, 7), (8, 9)]);
        assert_eq!(after(12), [(12, 13), (6, 7), (8, 9)]);
        assert_eq!(after(5), [(12, 13), (8, 9)]);
    }

    #[test]
    fn only_sack_sends_blocks() {
        let mut parameters = rfc();
        parameters.recovery.algorithm = LossRecovery::Newreno;
        let mut receiver = Receiver::new(&parameters);
        receiver.handle_segment(at(100), &data(5, 100), Ecn::NotCapable);
        assert!(receiver.poll_transmit(at(100)).unwrap().sacks.is_none());
    }

    #[test]
    fn the_echo_is_the_first_unacknowledged_segments() {
        let mut receiver = Receiver::new(&rfc());
        let mut echo = |sequence, ms| {
            receiver.handle_segment(at(ms), &data(sequence, ms), Ecn::NotCapable);
            receiver.poll_transmit(at(ms)).map(|ack| ack.echo)
        };
        assert_eq!(echo(0, 100), None);
        assert_eq!(echo(1, 110), Some(at(50)), "RFC 7323 section 4.3 (A)");
        assert_eq!(echo(3, 120), Some(at(50)), "(B): a hole");
        assert_eq!(echo(2, 400), Some(at(350)), "(C): a filled hole");
    }

    #[test]
    fn a_short_segment_is_acknowledged_at_once_and_counted_once() {
        let mut short = data(3, 100);
        short.length = Bytes(100);
        let mut receiver = Receiver::new(&rfc());
        receiver.handle_segment(at(100), &short, Ecn::NotCapable); // too early
        receiver.handle_segment(at(100), &short, Ecn::NotCapable);
        feed(&mut receiver, &[2, 0, 1]);
        assert_eq!(
            (receiver.next_expected(), receiver.statistics().delivered),
            (4, Bytes(3 * MSS + 100))
        );
        let mut receiver = Receiver::new(&rfc());
        feed(&mut receiver, &[0, 1, 2]);
        receiver.poll_transmit(at(103));
        receiver.handle_segment(at(103), &short, Ecn::NotCapable);
        assert_eq!(receiver.poll_transmit(at(103)).unwrap().cumulative, 4);
        assert_eq!(receiver.statistics().delivered, Bytes(3 * MSS + 100));
    }

    #[test]
    fn congestion_is_echoed_until_the_window_is_reduced() {
        let mut parameters = rfc();
        parameters.ecn.enabled = true;
        let mut receiver = Receiver::new(&parameters);
        let mut after = |sequence, window_reduced, marked| {
            let segment = Segment {
                window_reduced,
                pushed: false,
                ..data(sequence, 100)
            };
            let ecn = if marked { Ecn::Marked } else { Ecn::Capable };
            receiver.handle_segment(at(100), &segment, ecn);
            receiver.poll_transmit(at(100)).map(|ack| ack.ace == 1)
        };
        assert_eq!(after(0, false, false), None);
        assert_eq!(after(1, false, false), Some(false));
        assert_eq!(after(2, false, true), Some(true), "at once");
        assert_eq!(after(3, false, true), None);
        assert_eq!(
            after(4, false, false),
            Some(true),
            "at once, and still echoing"
        );
        assert_eq!(after(5, true, false), None);
        assert_eq!(after(6, false, false), Some(false));
        assert_eq!(
            after(7, true, true),
            Some(true),
            "a new mark on the one that says CWR"
        );
    }

    /// The state machine of RFC 8257 figure 1, with delayed ACKs: a change acknowledges what came
    /// before with the old echo, then the segment itself.
    #[test]
    fn a_change_of_dctcps_state_gives_two_acks() {
        let mut parameters = rfc();
        parameters.ecn.enabled = true;
        parameters.ecn.feedback = EcnFeedback::Dctcp;
        let mut receiver = Receiver::new(&parameters);
        let marks = [false, true, true, true, false, false, false, true];
        let mut per_segment = Vec::new();
        for (sequence, marked) in (0..).zip(marks) {
            let ecn = if marked { Ecn::Marked } else { Ecn::Capable };
            receiver.handle_segment(at(100 + sequence), &data(sequence, 100 + sequence), ecn);
            let owes_two = receiver.owes_two();
            let mut acks = Vec::new();
            while let Some(ack) = receiver.poll_transmit(at(100 + sequence)) {
                acks.push((ack.cumulative, ack.ace));
            }
            assert_eq!(owes_two, acks.len() == 2);
            per_segment.push(acks);
        }
        let expected = [
            vec![],
            vec![(1, 0), (2, 1)],
            vec![],
            vec![(4, 1)],
            vec![(5, 0)],
            vec![],
            vec![(7, 0)],
            vec![(8, 1)],
        ];
        assert_eq!(per_segment, expected);
        assert_eq!(receiver.statistics().acks, 6);
    }

    #[test]
    fn accurate_ecn_tells_the_first_mark_at_once_as_six() {
        let mut parameters = rfc();
        parameters.ecn.enabled = true;
        parameters.ecn.feedback = EcnFeedback::Accurate;
        let mut receiver = Receiver::new(&parameters);
        let mut after = |sequence, ecn| {
            receiver.handle_segment(at(100), &data(sequence, 100), ecn);
            receiver.poll_transmit(at(100)).map(|ack| ack.ace)
        };
        assert_eq!(after(0, Ecn::CapableL4s), None);
        assert_eq!(after(1, Ecn::CapableL4s), Some(5));
        assert_eq!(after(2, Ecn::Marked), Some(6));
        assert_eq!(
            after(3, Ecn::CapableL4s),
            None,
            "the change back is no news"
        );
        assert_eq!(after(4, Ecn::CapableL4s), Some(6));
    }

    #[test]
    fn each_syn_is_answered() {
        let mut receiver = Receiver::new(&rfc());
        let syn = Segment {
            kind: SegmentKind::Syn,
            length: Bytes::ZERO,
            ..data(0, 100)
        };
        for _ in 0..2 {
            receiver.handle_segment(at(100), &syn, Ecn::NotCapable);
            let answer = receiver.poll_transmit(at(100)).unwrap();
            assert_eq!(
                (answer.kind, answer.cumulative, answer.echo),
                (AcknowledgementKind::SynAck, 0, at(50))
            );
            assert!(receiver.poll_transmit(at(100)).is_none());
        }
        assert_eq!(receiver.statistics().acks, 0);
    }

    proptest! {
        /// Compares the receiver with the set of segments that arrived: any order, losses and
        /// duplicates.
        #[test]
        fn sequence_space_is_covered_once(
            arrivals in prop::collection::vec(0..40_u64, 1..200),
            last in 1..40_u64,
            tail in 1..=MSS,
        ) {
            let mut receiver = Receiver::new(&rfc());
            let mut arrived = BTreeSet::new();
            let length = |sequence| if sequence == last { tail } else { MSS };
            for sequence in arrivals.into_iter().filter(|&sequence| sequence <= last) {
                let mut segment = data(sequence, 100);
                segment.length = Bytes(length(sequence));
                receiver.handle_segment(at(100), &segment, Ecn::NotCapable);
                let new = arrived.insert(sequence);
                let next = (0..).find(|n| !arrived.contains(n)).unwrap();
                prop_assert_eq!(receiver.next_expected(), next);
                prop_assert_eq!(
                    receiver.statistics().delivered.0,
                    (0..next).map(length).sum::<u64>()
                );
                let Some(ack) = receiver.poll_transmit(at(100)) else {
                    prop_assert!(new && sequence + 1 == next, "only what is in order may wait");
                    continue;
                };
                prop_assert_eq!(ack.cumulative, next);
                let blocks = ack.sacks.map_or(&[][..], SackBlocks::as_slice);
                let starts = arrived
                    .iter()
                    .filter(|&&n| n > next && !arrived.contains(&(n - 1)))
                    .count();
                prop_assert_eq!(blocks.len(), starts.min(SackBlocks::MOST));
                for (n, block) in blocks.iter().enumerate() {
                    prop_assert!(
                        block.start > next
                            && (block.start..block.end).all(|n| arrived.contains(&n))
                    );
                    prop_assert!(
                        !arrived.contains(&(block.start - 1)) && !arrived.contains(&block.end)
                    );
                    prop_assert!(!blocks[..n].contains(block));
                }
                prop_assert!(sequence < next || blocks[0].contains(sequence), "RFC 2018 section 4");
            }
            let statistics = receiver.statistics();
            prop_assert_eq!(
                statistics.received_segments - statistics.duplicate_segments,
                arrived.len() as u64
            );
        }
    }
}
