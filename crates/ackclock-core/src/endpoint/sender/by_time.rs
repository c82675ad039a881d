//! Recovery with RACK: the sender's decisions at an ACK and at its timers, in the order of Linux
//! (`tcp_ack`, `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_enter_loss` of 6.18).
//!
//! The states of Linux are the [phases](RecoveryPhase) of recovery. Linux's Disorder is the open
//! phase with marks on the scoreboard: segments are SACKED, and none is lost.

use super::super::parameters::RttSampling;
use super::super::prr::PrrAck;
use super::super::rack::Rack;
use super::super::scoreboard::{Advance, Delivered, TransmissionOrder};
use super::super::undo::Undo;
use super::super::{Acknowledgement, RecoveryCounts};
use super::Sender;
use super::acknowledge::Told;
use crate::congestion::RecoveryPhase;
use crate::packet::SackBlock;
use ackclock_spec::units::{Span, Time};

mod decisions;
mod timers;

/// Shortest time to a probe, and time added to the reordering timer (`TCP_TIMEOUT_MIN`). RFC 8985
/// leaves both to the clock of the system.
const TIMER_SLACK: Span = Span::from_millis(2);

/// Retransmissions that are allowed before the next ACK or timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retransmit {
    /// Lost segments, before new data.
    Lost,
    /// New data first: F-RTO waits for its answer.
    New,
    /// Nothing.
    Nothing,
}

/// A tail loss probe that has been sent (RFC 8985 section 7.4).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// First segment not sent yet after it (TLP.end_seq).
    end: u64,
    /// True if it was a retransmission (TLP.is_retrans).
    retransmitted: bool,
}

/// State of a sender that finds losses with RACK.
#[derive(Debug)]
pub(super) struct ByTime {
    rack: Rack,
    undo: Undo,
    probe: Option<Probe>,
    /// True if the probe timer has expired and the probe waits to be sent.
    pub probe_due: bool,
    /// True if the last timeout may prove spurious (F-RTO).
    forward_rto: bool,
    /// Timeouts since the first unacknowledged segment last changed.
    timeouts: u32,
    pub retransmit: Retransmit,
    /// First segment not sent when the round of the variance term began.
    rtt_round: u64,
    /// Duplicates that the receiver has reported.
    duplicates: u64,
    /// Retransmissions in the order of sending.
    order: TransmissionOrder,
    pub counts: RecoveryCounts,
}

/// Content of an ACK, for the decisions on recovery.
#[derive(Clone, Copy, Debug)]
struct News {
    /// First unacknowledged segment before it.
    before: u64,
    /// True if it acknowledges new data.
    advanced: bool,
    /// True if it SACKs new data.
    sacked: bool,
    /// True if it reports a duplicate.
    duplicate_reported: bool,
    /// True if that duplicate is the probe.
    probe_reported: bool,
    /// True if it shows the arrival of data that was sent once, before the last reduction.
    original: bool,
    /// True if nothing was lost, SACKED or sent again before it.
    was_open: bool,
    ecn_echo: bool,
    echo: Time,
    /// Bytes that it shows to be delivered, each byte once.
    delivered: u64,
    /// Bytes that it reports to have arrived again.
    repeated: u64,
    /// True if a retransmission proved lost.
    again: bool,
}

/// Arrivals of one ACK: what reordering, F-RTO and round-trip times ask of them.
#[derive(Clone, Copy, Debug)]
struct Arrivals {
    /// Lowest segment sent once; `u64::MAX` if none arrived.
    lowest: u64,
    /// True if one that was sent once lies before the last reduction.
    original: bool,
    /// Sending times of the first and the last segment sent once.
    first: Option<Time>,
    last: Option<Time>,
}

impl Arrivals {
    const NONE: Arrivals = Arrivals {
        lowest: u64::MAX,
        original: false,
        first: None,
        last: None,
    };

    fn add(&mut self, delivered: &Delivered, point: u64) {
        if delivered.ambiguous {
            return;
        }
        self.lowest = self.lowest.min(delivered.sequence);
        self.original |= delivered.sequence < point;
        self.first.get_or_insert(delivered.sent_at);
        self.last = Some(delivered.sent_at);
    }
}

impl ByTime {
    pub fn new(threshold: u64) -> Self {
        ByTime {
            rack: Rack::new(threshold),
            undo: Undo::new(),
            probe: None,
            probe_due: false,
            forward_rto: false,
            timeouts: 0,
            retransmit: Retransmit::Lost,
            rtt_round: 0,
            duplicates: 0,
            order: TransmissionOrder::default(),
            counts: RecoveryCounts::default(),
        }
    }

    /// True if no probe is out or due.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub const fn is_quiet(&self) -> bool {
        self.probe.is_none() && !self.probe_due
    }

    /// True if a round of the variance term ends at `first`; the next one ends at `next`.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn ends_rtt_round(&mut self, first: u64, next: u64) -> bool {
        let ends = first > self.rtt_round;
        if ends {
            self.rtt_round = next;
        }
        ends
    }
}

impl Sender {
    /// Processes a plain ACK while nothing is SACKED, lost or sent again. Returns the round-trip
    /// time of the first segment that it acknowledges.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn take_plain_by_time(
        &mut self,
        now: Time,
        cumulative: u64,
        advance: &Advance,
    ) -> Option<Span> {
        let min_rtt = self.rtt.minimum();
        let state = self.by_time.as_mut()?;
        state.timeouts = 0;
        let delivered = Delivered {
            sequence: cumulative - 1,
            index: 0,
            sent_at: advance.newest,
            ambiguous: false,
        };
        state.rack.on_delivered(&delivered, now, min_rtt);
        let round_ends = state.ends_rtt_round(cumulative, self.scoreboard.next());
        if round_ends {
            self.rtt.begin_round();
        }
        self.rtt.lower_minimum(now.since(advance.newest));
        let rtt = now.since(advance.oldest);
        self.take_sample(rtt);
        Some(rtt)
    }

    /// Processes an ACK that is not plain.
    #[inline(never)] // rare: kept out of the path of every packet
    pub(super) fn take_by_time(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let Some(mut state) = self.by_time.take() else {
            return;
        };
        state.retransmit = Retransmit::Nothing;
        state.probe_due = false; // the path has answered before the pacer let the probe go
        self.take_with(now, ack, &mut state);
        if state.retransmit == Retransmit::Nothing && self.scoreboard.due() == 0 {
            state.retransmit = Retransmit::Lost;
        }
        self.by_time = Some(state);
    }

    fn take_with(&mut self, now: Time, ack: &Acknowledgement<'_>, state: &mut ByTime) {
        let lost = self.statistics.lost_segments;
        let prior_in_flight = self.rated_in_flight();
        let round_start = ack.cumulative >= self.round.end;
        let (mut news, advance, rtt) = self.learn_by_time(now, ack, state);
        if news.advanced {
            state.timeouts = 0;
            if round_start {
                self.begin_round();
            }
        }
        let round_start = round_start && news.advanced;
        let marks = self.read_marks(now, ack, news.delivered, round_start);
        news.ecn_echo = marks.echo;
        self.process_probe(now, ack.cumulative, &news, state);
        let mut waits = false;
        if !news.advanced
            || news.sacked
            || news.duplicate_reported
            || news.ecn_echo
            || !news.was_open
        {
            waits = self.follow(now, news, state);
        }
        if (news.advanced || self.head_is_older(now, rtt.1, &news)) && !waits {
            self.arm_after_ack(now);
        }
        let lost = self.statistics.lost_segments - lost;
        let told = Told {
            newly_delivered: news.delivered,
            marked: marks.bytes,
            repeated: news.repeated,
            rtt: rtt.0,
            newest_rtt: rtt.1,
            prior_in_flight,
            opens: self.may_open(&news, state),
            newly_lost: lost * self.mss,
            round_start,
        };
        self.tell_control::<true>(now, &advance, &told);
        self.reduce_in_proportion(news.delivered + news.repeated, news.advanced && lost == 0);
    }

    /// Updates scoreboard, RACK and round-trip time. Returns what the ACK has shown, the data that
    /// it acknowledges, and the round-trip times of the first and the last segment.
    fn learn_by_time(
        &mut self,
        now: Time,
        ack: &Acknowledgement<'_>,
        state: &mut ByTime,
    ) -> (News, Advance, (Option<Span>, Option<Span>)) {
        let before = self.scoreboard.first();
        let highest = self.scoreboard.highest_sacked();
        let point = self.recovery.point();
        let min_rtt = self.rtt.minimum();
        let was_open = self.recovery.phase() == RecoveryPhase::Open && !self.scoreboard.has_marks();
        let mut report = None;
        let mut sacked = 0;
        let mut arrivals = Arrivals::NONE;
        if let Some(sacks) = ack.sacks {
            report = sacks.duplicate();
            let mut blocks = [SackBlock::default(); crate::packet::SackBlocks::MOST];
            let held = sacks.held();
            blocks[..held.len()].copy_from_slice(held);
            let blocks = &mut blocks[..held.len()];
            blocks.sort_by_key(|block| block.start);
            for &block in blocks.iter() {
                let (rack, rate) = (&mut state.rack, &mut self.rate);
                sacked += self.scoreboard.sack(block, |delivered| {
                    rack.on_delivered(&delivered, now, min_rtt);
                    arrivals.add(&delivered, point);
                    if let Some(rate) = rate {
                        rate.on_delivered(delivered.index, delivered.sent_at);
                    }
                });
            }
        }
        let in_loss = self.recovery.phase() == RecoveryPhase::Loss;
        if (!in_loss || state.undo.is_open()) && arrivals.lowest < highest {
            self.note_reordering(arrivals.lowest, state);
        }
        let duplicates = self.learn_duplicate(report, before, state);
        let mut cumulative = Arrivals::NONE;
        let advanced = ack.cumulative > before;
        let advance = if advanced {
            let (rack, rate) = (&mut state.rack, &mut self.rate);
            let advance = self.scoreboard.advance(ack.cumulative, |delivered| {
                let original =
                    delivered.ambiguous && !ack.echo.is_never() && ack.echo < delivered.sent_at;
                if !original {
                    rack.on_delivered(&delivered, now, min_rtt);
                }
                cumulative.add(&delivered, point);
                if let Some(rate) = rate {
                    rate.on_delivered(delivered.index, delivered.sent_at);
                }
            });
            if let Some(rate) = rate {
                rate.pop(ack.cumulative - before);
            }
            advance
        } else {
            Advance::NONE
        };
        if cumulative.lowest < highest {
            self.note_reordering(cumulative.lowest, state);
        }
        let rtt = self.measure_by_time(now, ack, &advance, cumulative, arrivals, state);
        let delivered = self.count_delivered(&advance, sacked, advanced);
        let news = News {
            before,
            advanced,
            sacked: sacked > 0,
            duplicate_reported: duplicates > 0,
            probe_reported: self.is_report_of_probe(report, state),
            original: arrivals.original || cumulative.original,
            was_open,
            ecn_echo: false, // not read yet
            echo: ack.echo,
            delivered,
            repeated: duplicates * self.mss,
            again: false,
        };
        (news, advance, rtt)
    }

    /// True if `report` is about a probe that was a retransmission.
    fn is_report_of_probe(&self, report: Option<SackBlock>, state: &ByTime) -> bool {
        report.zip(state.probe).is_some_and(|(report, probe)| {
            report.end == probe.end && report.end - report.start == 1
        })
    }

    /// Processes the report of a duplicate. Returns the number of segments it reports; zero if
    /// there are more reports than retransmissions, so that the network must have duplicated.
    fn learn_duplicate(
        &mut self,
        report: Option<SackBlock>,
        before: u64,
        state: &mut ByTime,
    ) -> u64 {
        let Some(report) = report else {
            return 0;
        };
        let count = report.end.saturating_sub(report.start);
        state.duplicates += count;
        if state.duplicates > self.statistics.retransmitted_segments {
            return 0;
        }
        state.counts.duplicates_reported += count;
        if !self.is_report_of_probe(Some(report), state) {
            state.rack.on_duplicate(before, self.scoreboard.next());
        }
        state.undo.on_duplicate(report.end, count);
        count
    }

    fn note_reordering(&mut self, lowest: u64, state: &mut ByTime) {
        let highest = self.scoreboard.highest_sacked();
        if state.rack.note_reordering(lowest, highest) {
            state.counts.sack_reorderings += 1;
        }
    }

    /// Takes round-trip samples: of the first segment sent once that the ACK acknowledges, else
    /// that it SACKs, else of the echoed timestamp. Returns that one and the one of the last
    /// segment.
    fn measure_by_time(
        &mut self,
        now: Time,
        ack: &Acknowledgement<'_>,
        advance: &Advance,
        cumulative: Arrivals,
        sacked: Arrivals,
        state: &mut ByTime,
    ) -> (Option<Span>, Option<Span>) {
        let age = |sent_at: Time| now.since(sent_at);
        let clear = if advance.ambiguous {
            None
        } else {
            cumulative.first
        };
        let mut oldest = clear.or(sacked.first).map(age);
        let mut newest = sacked.last.or(cumulative.last).map(age);
        let stamps = self.parameters.timer.rtt_sampling == RttSampling::Timestamps;
        if oldest.is_none() && advance.acked > 0 && stamps && !ack.echo.is_never() {
            oldest = Some(now.since(ack.echo));
            newest = oldest;
        }
        if let Some(newest) = newest.filter(|_| oldest.is_some()) {
            self.rtt.lower_minimum(newest);
        }
        if let Some(rtt) = oldest {
            if state.ends_rtt_round(self.scoreboard.first(), self.scoreboard.next()) {
                self.rtt.begin_round();
            }
            self.take_sample(rtt);
        }
        (oldest, newest)
    }

    /// True if a SACKED segment was sent before the first unacknowledged one, so that the timer may
    /// start again.
    fn head_is_older(&self, now: Time, newest: Option<Span>, news: &News) -> bool {
        news.sacked
            && newest
                .zip(self.scoreboard.head())
                .is_some_and(|(rtt, (sent_at, _))| rtt > now.since(sent_at))
    }

    /// Updates the window of a proportional reduction after an ACK that shows `delivered` bytes to
    /// have arrived.
    pub(super) fn reduce_in_proportion(&mut self, delivered: u64, safe: bool) {
        if !self.recovery.is_proportional() {
            return;
        }
        let (cwnd, mss) = (self.control.cwnd().0, self.mss);
        let ack = PrrAck {
            ssthresh: cwnd / mss,
            in_flight: self.scoreboard.pipe().div_ceil(mss),
            delivered: delivered.div_ceil(mss),
            safe,
        };
        self.recovery.reduce_in_proportion(&ack, cwnd, mss);
    }

    /// True if this ACK may open the window (`tcp_may_raise_cwnd`).
    fn may_open(&self, news: &News, state: &ByTime) -> bool {
        let reducing = matches!(
            self.recovery.phase(),
            RecoveryPhase::Recovery | RecoveryPhase::Cwr
        );
        let tolerates = state.rack.tolerates_reordering() && news.delivered > 0;
        !reducing && (news.advanced || tolerates)
    }

    /// Processes the report of a duplicate while nothing is in flight.
    pub(super) fn take_idle_report(&mut self, now: Time, ack: &Acknowledgement<'_>) {
        let Some(mut state) = self.by_time.take() else {
            return;
        };
        let report = ack.sacks.and_then(|sacks| sacks.duplicate());
        if self.learn_duplicate(report, self.scoreboard.first(), &mut state) > 0 {
            self.try_undo_by_duplicates(now, &mut state);
        }
        self.by_time = Some(state);
    }
}
