//! Lessons of an ACK: arrivals, duplicates, reordering and round-trip times.

use super::super::super::connection::Connection;
use super::{ByTime, News};
use crate::congestion::RecoveryPhase;
use crate::endpoint::Acknowledgement;
use crate::endpoint::parameters::RttSampling;
use crate::endpoint::scoreboard::{Advance, Delivered};
use crate::packet::{SackBlock, SackBlocks};
use ackclock_spec::units::{Span, Time};

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
    /// Latest time at which one of all was sent.
    newest: Option<Time>,
}

impl Arrivals {
    const NONE: Arrivals = Arrivals {
        lowest: u64::MAX,
        original: false,
        first: None,
        last: None,
        newest: None,
    };

    fn add(&mut self, delivered: &Delivered, point: u64) {
        self.newest = self.newest.max(Some(delivered.sent_at));
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
    /// Updates scoreboard, RACK and round-trip time. Returns what the ACK has shown, the data that
    /// it acknowledges, and the round-trip times of the first and the last segment.
    pub(super) fn learn(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    ) -> (News, Advance, (Option<Span>, Option<Span>)) {
        let before = connection.scoreboard.first();
        let end = connection.scoreboard.sacked_end();
        let point = connection.episode.point();
        let min_rtt = connection.meter.rtt.minimum();
        let was_open =
            connection.episode.phase() == RecoveryPhase::Open && !connection.scoreboard.has_marks();
        let sacks = ack.sacks.filter(|_| connection.sack);
        let report = sacks.and_then(SackBlocks::duplicate);
        let duplicates = self.learn_duplicate(connection, report, before);
        let mut sacked = 0;
        let mut arrivals = Arrivals::NONE;
        if let Some(sacks) = sacks {
            if duplicates > 0 {
                arrivals.lowest = self.lowest_resent(connection, report);
            }
            let mut blocks = [SackBlock::default(); SackBlocks::MOST];
            let held = sacks.held();
            blocks[..held.len()].copy_from_slice(held);
            let blocks = &mut blocks[..held.len()];
            blocks.sort_by_key(|block| block.start);
            for &block in blocks.iter() {
                let (rack, rate) = (&mut self.rack, &mut connection.meter.rate);
                sacked += connection.scoreboard.sack(block, |delivered| {
                    rack.on_delivered(&delivered, now, min_rtt);
                    arrivals.add(&delivered, point);
                    if let Some(rate) = rate {
                        rate.on_delivered(delivered.index, delivered.sent_at);
                    }
                });
            }
        }
        let in_loss = connection.episode.phase() == RecoveryPhase::Loss;
        if (!in_loss || self.undo.is_open()) && arrivals.lowest < end {
            self.note_reordering(connection, arrivals.lowest);
        }
        let mut cumulative = Arrivals::NONE;
        let advanced = ack.cumulative > before;
        let advance = if advanced {
            let (rack, rate) = (&mut self.rack, &mut connection.meter.rate);
            let advance = connection.scoreboard.advance(ack.cumulative, |delivered| {
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
        if cumulative.lowest < end && connection.sack {
            self.note_reordering(connection, cumulative.lowest);
        }
        if let Some(newest) = arrivals.newest.max(cumulative.newest) {
            self.rack.adapt(now, newest);
        }
        let rtt = self.measure(connection, now, ack, &advance, cumulative, arrivals);
        let delivered = match connection.sack {
            true => connection.count_delivered(&advance, sacked, advanced),
            false => self.count_without_sack(connection, &advance, before, advanced),
        };
        // Without SACK an ACK of a retransmission says nothing of the originals before it.
        let original = cumulative.original && (connection.sack || !advance.ambiguous);
        let news = News {
            before,
            advanced,
            sacked: sacked > 0,
            duplicate_reported: duplicates > 0,
            probe_reported: self.is_report_of_probe(report),
            original: arrivals.original || original,
            was_open,
            ecn_echo: false, // not read yet
            echo: ack.echo,
            delivered,
            repeated: duplicates * connection.mss,
            again: false,
        };
        (news, advance, rtt)
    }

    /// True if `report` is about a probe that was a retransmission.
    pub(super) fn is_report_of_probe(&self, report: Option<SackBlock>) -> bool {
        report.zip(self.probe).is_some_and(|(report, probe)| {
            report.end == probe.end && report.end - report.start == 1
        })
    }

    /// Processes the report of a duplicate. Returns the number of segments it reports; zero if
    /// there are more reports than retransmissions, so that the network must have duplicated.
    pub(super) fn learn_duplicate(
        &mut self,
        connection: &Connection,
        report: Option<SackBlock>,
        before: u64,
    ) -> u64 {
        let Some(report) = report else {
            return 0;
        };
        let count = report.end.saturating_sub(report.start);
        self.duplicates += count;
        if self.duplicates > connection.meter.statistics.retransmitted_segments {
            return 0;
        }
        self.counts.duplicates_reported += count;
        if !self.is_report_of_probe(Some(report)) {
            self.rack.on_duplicate();
        }
        if report.end <= before {
            self.undo.on_duplicate(report.end, count);
        } else {
            // Of what is outstanding, only retransmissions count (`tcp_sacktag_one`).
            let again = connection.scoreboard.resent_within(report);
            again.for_each(|(sequence, _)| self.undo.on_duplicate(sequence + 1, 1));
        }
        count
    }

    /// Returns the lowest retransmitted and SACKED segment among the duplicates of a report: its
    /// original was only late. `u64::MAX` if there is none.
    fn lowest_resent(&self, connection: &Connection, report: Option<SackBlock>) -> u64 {
        let resent = report.map(|report| connection.scoreboard.resent_within(report));
        let sacked = resent.into_iter().flatten().find(|(_, sacked)| *sacked);
        sacked.map_or(u64::MAX, |(sequence, _)| sequence)
    }

    fn note_reordering(&mut self, connection: &Connection, lowest: u64) {
        let end = connection.scoreboard.sacked_end();
        if self.rack.note_reordering(lowest, end) {
            self.counts.sack_reorderings += 1;
        }
    }

    /// Takes round-trip samples: of the first segment sent once that the ACK acknowledges, else
    /// that it SACKs, else of the echoed timestamp. Returns that one and the one of the last
    /// segment.
    fn measure(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
        advance: &Advance,
        cumulative: Arrivals,
        sacked: Arrivals,
    ) -> (Option<Span>, Option<Span>) {
        let age = |sent_at: Time| now.since(sent_at);
        let clear = if advance.ambiguous {
            None
        } else {
            cumulative.first
        };
        let mut oldest = clear.or(sacked.first).map(age);
        let mut newest = sacked.last.or(cumulative.last).map(age);
        let stamps = connection.parameters.timer.rtt_sampling == RttSampling::Timestamps;
        if oldest.is_none() && advance.acked > 0 && stamps && !ack.echo.is_never() {
            oldest = Some(now.since(ack.echo));
            newest = oldest;
        }
        if let (Some(rtt), Some(newest)) = (oldest, newest) {
            self.sample(connection, rtt, newest);
        }
        (oldest, newest)
    }

    /// True if a round of the variance term ends at `first`; the next one ends at `next`.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn ends_rtt_round(&mut self, first: u64, next: u64) -> bool {
        let ends = first > self.rtt_round;
        if ends {
            self.rtt_round = next;
        }
        ends
    }

    /// Takes a round-trip sample. `newest`, of the segment sent last, may lower the minimum.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub(super) fn sample(&mut self, connection: &mut Connection, rtt: Span, newest: Span) {
        let scoreboard = &connection.scoreboard;
        if self.ends_rtt_round(scoreboard.first(), scoreboard.next()) {
            connection.meter.rtt.begin_round();
        }
        connection.meter.rtt.lower_minimum(newest);
        connection.meter.sample(rtt);
    }
}
