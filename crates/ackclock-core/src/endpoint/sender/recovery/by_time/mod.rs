//! Recovery with RACK: the sender's decisions at an ACK and at its timers, in the order of Linux
//! (`tcp_ack`, `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_enter_loss` of 6.18).
//!
//! The states of Linux are the [phases](RecoveryPhase) of recovery. Linux's Disorder is the open
//! phase with marks on the scoreboard: segments are SACKED, and none is lost.

use super::super::connection::Connection;
use super::super::growth::AckEffect;
use super::super::timer::Purpose;
use super::super::transmit::Choice;
use super::Recovery;
use crate::congestion::RecoveryPhase;
use crate::endpoint::parameters::RecoveryParameters;
use crate::endpoint::scoreboard::{Delivered, TransmissionOrder};
use crate::endpoint::{Acknowledgement, RecoveryCounts};
use crate::packet::SackBlocks;
use ackclock_spec::units::{Span, Time};

mod counting;
mod decisions;
mod learning;
mod rack;
mod timers;
mod undo;

use rack::Rack;
use undo::Undo;

/// Shortest time to a probe, and time added to the reordering timer (`TCP_TIMEOUT_MIN`). RFC 8985
/// leaves both to the clock of the system.
const TIMER_SLACK: Span = Span::from_millis(2);

/// Retransmissions that are allowed before the next ACK or timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retransmit {
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
pub(in super::super) struct ByTime {
    rack: Rack,
    undo: Undo,
    probe: Option<Probe>,
    /// True if the probe timer has expired and the probe waits to be sent.
    probe_due: bool,
    /// True if the last timeout may prove spurious (F-RTO).
    forward_rto: bool,
    /// Timeouts since the first unacknowledged segment last changed.
    timeouts: u32,
    retransmit: Retransmit,
    /// First segment not sent when the round of the variance term began.
    rtt_round: u64,
    /// Duplicates that the receiver has reported.
    duplicates: u64,
    /// Retransmissions in the order of sending.
    order: TransmissionOrder,
    counts: RecoveryCounts,
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

impl ByTime {
    pub fn new(parameters: &RecoveryParameters) -> Self {
        ByTime {
            rack: Rack::new(parameters.duplicate_threshold.0.into()),
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

    /// Processes an ACK that is not plain.
    fn process(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        let lost = connection.meter.statistics.lost_segments;
        let prior_in_flight = connection.rated_in_flight();
        let window = connection.window();
        let round_start = ack.cumulative >= connection.meter.round.end;
        let (mut news, advance, (rtt, newest_rtt)) = self.learn(connection, now, ack);
        if news.advanced {
            self.timeouts = 0;
            if round_start {
                connection.begin_round();
            }
        }
        let round_start = round_start && news.advanced;
        let marks = connection.read_marks(now, ack, news.delivered, round_start);
        news.ecn_echo = marks.echo;
        self.process_probe(connection, now, ack.cumulative, &news);
        let plain = news.advanced
            && news.was_open
            && !(news.sacked || news.duplicate_reported || news.ecn_echo);
        let waits = !plain && self.follow(connection, now, news);
        let older = self.head_is_older(connection, now, newest_rtt, &news);
        if (news.advanced || older) && !waits {
            connection.arm_after_ack(now);
        }
        let lost = connection.meter.statistics.lost_segments - lost;
        let effect = AckEffect {
            newly_delivered: news.delivered,
            marked: marks.bytes,
            repeated: news.repeated,
            rtt,
            newest_rtt,
            prior_in_flight,
            opens: self.may_open(connection, &news),
            newly_lost: lost * connection.mss,
            round_start,
            window: (window != connection.control.cwnd().0).then_some(window),
        };
        self.tell_control::<true>(connection, now, &advance, &effect);
        connection.reduce_in_proportion(news.delivered + news.repeated, news.advanced && lost == 0);
    }

    /// True if a SACKED segment was sent before the first unacknowledged one, so that the timer may
    /// start again.
    fn head_is_older(
        &self,
        connection: &Connection,
        now: Time,
        newest: Option<Span>,
        news: &News,
    ) -> bool {
        news.sacked
            && newest
                .zip(connection.scoreboard.head())
                .is_some_and(|(rtt, (sent_at, _))| rtt > now.since(sent_at))
    }

    /// True if this ACK may open the window (`tcp_may_raise_cwnd`).
    fn may_open(&self, connection: &Connection, news: &News) -> bool {
        let reducing = matches!(
            connection.episode.phase(),
            RecoveryPhase::Recovery | RecoveryPhase::Cwr
        );
        let tolerates = self.rack.tolerates_reordering() && news.delivered > 0 && connection.sack;
        !reducing && (news.advanced || tolerates)
    }
}

impl Recovery for ByTime {
    /// True if no probe is out or due, and nothing in flight is SACKED, lost or sent again.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_quiet(&self, connection: &Connection) -> bool {
        self.probe.is_none()
            && !self.probe_due
            && connection.episode.phase() == RecoveryPhase::Open
            && !connection.scoreboard.has_marks()
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn on_plain_ack<const RATED: bool>(
        &mut self,
        connection: &mut Connection,
        now: Time,
        ack: &Acknowledgement<'_>,
    ) {
        let advance = connection.advance::<RATED>(ack.cumulative);
        let newly_delivered = connection.count_delivered(&advance, 0, true);
        self.timeouts = 0;
        let delivered = Delivered {
            sequence: ack.cumulative - 1,
            index: 0,
            sent_at: advance.newest,
            ambiguous: false,
        };
        let min_rtt = connection.meter.rtt.minimum();
        self.rack.on_delivered(&delivered, now, min_rtt);
        if self.rack.is_to_adapt() {
            self.rack.adapt(now, advance.newest);
        }
        let rtt = now.since(advance.oldest);
        self.sample(connection, rtt, now.since(advance.newest));
        let round_start = ack.cumulative >= connection.meter.round.end;
        if round_start {
            connection.begin_round();
        }
        let effect = AckEffect {
            newly_delivered,
            marked: 0,
            repeated: 0,
            rtt: Some(rtt),
            newest_rtt: advance.newest_rtt(now),
            prior_in_flight: if RATED {
                connection.in_flight().0 + newly_delivered // nothing is lost
            } else {
                0
            },
            opens: advance.acked > 0,
            newly_lost: 0,
            round_start,
            window: None,
        };
        self.tell_control::<RATED>(connection, now, &advance, &effect);
        connection.arm_after_ack(now);
    }

    #[inline(never)] // rare: kept out of the path of every packet
    fn on_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        self.retransmit = Retransmit::Nothing;
        self.probe_due = false; // the path has answered before the pacer let the probe go
        self.process(connection, now, ack);
        if self.retransmit == Retransmit::Nothing && connection.scoreboard.due() == 0 {
            self.retransmit = Retransmit::Lost;
        }
    }

    fn on_late_ack(&mut self, connection: &mut Connection, now: Time, ack: &Acknowledgement<'_>) {
        let first = connection.scoreboard.first();
        if first != connection.scoreboard.highest() {
            return self.on_ack(connection, now, ack);
        }
        let sacks = ack.sacks.filter(|_| connection.sack);
        let report = sacks.and_then(SackBlocks::duplicate);
        if self.learn_duplicate(connection, report, first) > 0 {
            self.try_undo_by_duplicates(connection, now);
        }
        if self.is_report_of_probe(report) {
            self.probe = None; // it was not needed (RFC 8985 section 7.4.2)
        }
    }

    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        self.handle_timeout(connection, now);
    }

    fn on_other_timer(&mut self, connection: &mut Connection, now: Time) {
        match connection.timer.purpose {
            Purpose::Retransmission | Purpose::Window => {}
            Purpose::Probe => self.handle_probe_timeout(connection, now),
            Purpose::Reordering => self.handle_reordering_timeout(connection, now),
        }
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn used(&self, connection: &Connection) -> u64 {
        connection.scoreboard.pipe()
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn is_urgent(&self, connection: &Connection) -> bool {
        connection.episode.resend_first || self.probe_due
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn choose_before_new(&mut self, connection: &mut Connection) -> Option<Choice> {
        if self.probe_due {
            return match connection.has_new_data() {
                true => Some(Choice::Next),
                false => connection.scoreboard.last().map(Choice::Probe),
            };
        }
        let scoreboard = &mut connection.scoreboard;
        if connection.episode.resend_first && !scoreboard.is_empty() {
            return Some(Choice::Again(scoreboard.first()));
        }
        match self.retransmit {
            Retransmit::Lost => scoreboard.next_lost().map(Choice::Again),
            Retransmit::New | Retransmit::Nothing => None,
        }
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn choose_after_new(&mut self, _: &mut Connection) -> Option<Choice> {
        None
    }

    #[inline(always)] // runs for every packet, where a call costs more than the work
    fn on_sent(&mut self, connection: &mut Connection, now: Time, choice: Choice) {
        if let Some(sequence) = choice.again() {
            let is_probe = !matches!(choice, Choice::Again(_));
            self.note_retransmission(connection, now, sequence, is_probe);
        }
        if self.probe_due {
            self.note_probe(connection, now, choice != Choice::Next);
        } else if choice == Choice::Next {
            connection.arm_after_send(now);
        }
    }

    fn counts(&self) -> RecoveryCounts {
        self.counts
    }

    fn reordering(&self) -> Option<u64> {
        Some(self.rack.reordering())
    }
}
