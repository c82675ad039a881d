//! Dialogues with a sender: what it sends in answer to scripted ACKs, and what it does with anything at all.

use super::super::parameters::{
    AfterTimeout, DecreaseBase, IdleRestart, Pacing, PartialAck, Preset, RepeatedTimeout, RttSampling,
    WindowCounting,
};
use super::super::{Acknowledgement, AcknowledgementKind, Receiver, Segment, SegmentKind, SenderEventKind};
use super::*;
use crate::congestion::{Ack, AckKind, Congestion, CongestionKind, ControlState, Phase, Sent};
use crate::packet::{SackBlock, SackBlocks};
use crate::scenario::quantity::{OptionalWindow, Segments};
use crate::streams::Streams;
use crate::units::BitRate;
use proptest::prelude::*;
use std::sync::Mutex;

const MSS: u64 = 1000;
/// No segment.
const NONE: [u64; 0] = [];

#[derive(Debug, Default)]
struct Log {
    acks: Vec<Ack>,
    congestions: Vec<Congestion>,
    sent: Vec<Sent>,
}

/// Slow start and halving, and a diary.
#[derive(Debug)]
struct Halving {
    cwnd: u64,
    ssthresh: u64,
    log: Arc<Mutex<Log>>,
    rate: Option<BitRate>,
    sampled: bool,
}

impl CongestionControl for Halving {
    fn on_sent(&mut self, _now: Time, sent: &Sent) {
        self.log.lock().unwrap().sent.push(*sent);
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        self.log.lock().unwrap().acks.push(*ack);
        if self.cwnd < self.ssthresh {
            self.cwnd += ack.credit.0;
        } else {
            self.cwnd += ack.credit.0 * MSS / self.cwnd;
        }
    }
    fn on_congestion(&mut self, _now: Time, congestion: &Congestion) {
        self.log.lock().unwrap().congestions.push(*congestion);
        if congestion.kind != CongestionKind::RepeatedTimeout {
            self.ssthresh = (congestion.base.0 / 2).max(2 * MSS);
        }
        self.cwnd = match congestion.kind {
            CongestionKind::Loss | CongestionKind::Mark => self.ssthresh,
            _ => MSS,
        };
    }
    fn on_idle_restart(&mut self, _now: Time, limit: Bytes) {
        self.cwnd = self.cwnd.min(limit.0);
    }
    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate
    }
    fn wants_delivery_rate(&self) -> bool {
        self.sampled
    }
    fn state(&self) -> ControlState {
        ControlState {
            ssthresh: Some(Bytes(self.ssthresh)),
            mode: "test",
        }
    }
}

/// NewReno without delayed-ACK, burst or validation subtleties; ten segments in congestion avoidance.
fn plain(recovery: LossRecovery) -> TcpParameters {
    TcpParameters {
        mss: Bytes(MSS),
        handshake: false,
        recovery,
        window_counting: WindowCounting::PerAck,
        window_validation: false,
        limited_transmit: false,
        idle_restart: IdleRestart::Off,
        after_timeout: AfterTimeout::GoBackN,
        ..Preset::Rfc.parameters()
    }
}

struct Dialogue {
    sender: Sender,
    log: Arc<Mutex<Log>>,
    now: Time,
    segments: Vec<Segment>,
}

impl Dialogue {
    fn with(parameters: TcpParameters, cwnd: u64, rate: Option<BitRate>, sampled: bool) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let control = Halving {
            cwnd: cwnd * MSS,
            ssthresh: cwnd * MSS,
            log: Arc::clone(&log),
            rate,
            sampled,
        };
        let jitter = Streams::new(1, 0).stream("jitter");
        let mut sender = Sender::new(Arc::new(parameters), Box::new(control), jitter);
        sender.open(Time::ZERO);
        Dialogue {
            sender,
            log,
            now: Time::ZERO,
            segments: Vec::new(),
        }
    }
    /// An open connection with unlimited data and a window of `cwnd` segments, all sent.
    fn bulk(parameters: TcpParameters, cwnd: u64) -> Self {
        let mut dialogue = Self::with(parameters, cwnd, None, false);
        dialogue.sender.write(Write::Unlimited);
        assert_eq!(dialogue.send(), Vec::from_iter(0..cwnd));
        dialogue
    }
    /// A transfer of that many bytes.
    fn transfer(parameters: TcpParameters, cwnd: u64, bytes: u64) -> Self {
        let mut dialogue = Self::with(parameters, cwnd, None, false);
        dialogue.sender.write(Write::Bytes(Bytes(bytes)));
        dialogue.sender.close();
        dialogue.send();
        dialogue
    }
    fn send(&mut self) -> Vec<u64> {
        let before = self.segments.len();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.segments.push(segment);
            self.sender.scoreboard.check();
            assert!(self.segments.len() - before < 10_000, "sending has no end");
        }
        self.segments[before..].iter().map(|s| s.sequence).collect()
    }
    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Span::from_millis(millis);
        self
    }
    fn tell(&mut self, cumulative: u64, blocks: &[(u64, u64)], ecn_echo: bool) -> Vec<u64> {
        let mut sacks = SackBlocks::default();
        for &(start, end) in blocks {
            sacks.push(SackBlock { start, end });
        }
        let ack = Acknowledgement {
            kind: AcknowledgementKind::Ack,
            cumulative,
            echo: Time::NEVER,
            sacks: (!sacks.is_empty()).then_some(&sacks),
            ecn_echo,
        };
        self.sender.handle_acknowledgement(self.now, &ack);
        self.sender.scoreboard.check();
        self.send()
    }
    fn ack(&mut self, cumulative: u64) -> Vec<u64> {
        self.tell(cumulative, &[], false)
    }
    fn sack(&mut self, cumulative: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.tell(cumulative, blocks, false)
    }
    fn duplicates(&mut self, count: u64, cumulative: u64) -> Vec<u64> {
        (0..count).flat_map(|_| self.ack(cumulative)).collect()
    }
    /// Waits for the timer.
    fn timeout(&mut self) -> Vec<u64> {
        self.now = self.sender.poll_timeout();
        assert!(!self.now.is_never(), "no timer is running");
        self.sender.handle_timeout(self.now);
        self.send()
    }
    fn events(&mut self) -> Vec<SenderEventKind> {
        self.sender.take_events().map(|event| event.kind).collect()
    }
    fn cwnd(&self) -> u64 {
        self.sender.cwnd().0 / MSS
    }
    fn last_ack(&self) -> Ack {
        *self.log.lock().unwrap().acks.last().unwrap()
    }
    fn last_base(&self) -> u64 {
        self.log.lock().unwrap().congestions.last().unwrap().base.0 / MSS
    }
}

// Fast retransmit and recovery.

#[test]
fn three_duplicates_resend_the_first_segment() {
    for recovery in [LossRecovery::Reno, LossRecovery::Newreno] {
        let mut d = Dialogue::bulk(plain(recovery), 10);
        d.wait(100);
        assert_eq!(d.duplicates(2, 0), NONE);
        assert_eq!(d.ack(0), [0]);
        assert!(d.segments.last().unwrap().retransmission);
        assert_eq!(d.cwnd(), 5);
        assert_eq!(d.last_base(), 10);
        // 5 + 3 inflated; the other six duplicates inflate to 14 and send four new.
        assert_eq!(d.duplicates(6, 0), [10, 11, 12, 13]);
        assert_eq!(
            (d.last_ack().phase, d.last_ack().credit),
            (Phase::Recovery, Bytes(0))
        );
        // The hole is filled: the inflation goes, the control's window stays.
        assert_eq!(d.ack(10), [14]);
        assert_eq!(d.cwnd(), 5);
        assert_eq!(
            d.events(),
            [SenderEventKind::FastRetransmit, SenderEventKind::RecoveryEnd]
        );
    }
}

#[test]
fn tahoe_starts_again_from_one_segment() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Tahoe), 10);
    d.wait(100);
    assert_eq!(d.duplicates(3, 0), [0]);
    assert_eq!(d.cwnd(), 1);
    assert_eq!(d.log.lock().unwrap().congestions[0].kind, CongestionKind::Timeout);
    assert_eq!(d.duplicates(6, 0), NONE);
    // All the rest had arrived: new data in slow start.
    assert_eq!(d.wait(100).ack(10), [10, 11]);
    assert_eq!(
        d.events(),
        [SenderEventKind::FastRetransmit, SenderEventKind::RecoveryEnd]
    );
}

#[test]
fn tahoe_sends_again_what_has_arrived() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Tahoe), 10);
    d.wait(100).duplicates(3, 0);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    assert!(d.segments.last().unwrap().retransmission);
    assert_eq!(d.last_ack().phase, Phase::Loss);
    assert_eq!(d.last_ack().credit, Bytes(MSS));
}

#[test]
fn reno_leaves_recovery_at_the_first_new_ack_and_needs_the_timer_for_a_second_loss() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Reno), 10);
    d.wait(100).duplicates(3, 0);
    // Segment 5 is lost too.
    d.duplicates(5, 0);
    assert_eq!(d.wait(100).ack(5), NONE);
    assert_eq!(d.events().last(), Some(&SenderEventKind::RecoveryEnd));
    // Careful: the window has been reacted to.
    assert_eq!(d.duplicates(3, 5), NONE);
    assert_eq!(d.timeout(), [5]);
}

#[test]
fn reno_that_is_not_careful_reduces_twice() {
    let parameters = TcpParameters {
        careful: false,
        ..plain(LossRecovery::Reno)
    };
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).duplicates(8, 0);
    d.wait(100).ack(5);
    assert_eq!(d.duplicates(3, 5), [5]);
    assert_eq!(d.sender.statistics().fast_retransmits, 2);
}

#[test]
fn newreno_resends_one_hole_per_partial_ack() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    // 0, 3 and 6 are lost.
    d.wait(100);
    assert_eq!(d.duplicates(3, 0), [0]);
    assert_eq!(d.duplicates(4, 0), [10, 11]);
    // 12 - 3 + 1 = 10 allowed, 3 to 11 outstanding: one more after the hole.
    assert_eq!(d.wait(100).ack(3), [3, 12]);
    assert_eq!(d.duplicates(2, 3), [13, 14]);
    assert_eq!(d.wait(100).ack(6)[0], 6);
    assert_eq!(d.sender.statistics().fast_retransmits, 1);
    assert!(!d.events().contains(&SenderEventKind::RecoveryEnd));
    d.wait(100).ack(10);
    assert_eq!(d.events(), [SenderEventKind::RecoveryEnd]);
    assert_eq!(d.cwnd(), 5);
}

#[test]
fn the_impatient_timer_runs_on_through_partial_acks_and_the_steady_one_does_not() {
    for (partial_ack, late) in [(PartialAck::Impatient, false), (PartialAck::SlowButSteady, true)] {
        let parameters = TcpParameters {
            partial_ack,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100).duplicates(3, 0);
        d.wait(100).ack(3);
        let after_first = d.sender.poll_timeout();
        assert_eq!(after_first, d.now + d.sender.rtt().rto());
        d.wait(100).ack(6);
        assert_eq!(d.sender.poll_timeout() > after_first, late);
    }
}

#[test]
fn without_deflation_a_partial_ack_sends_only_the_hole() {
    let parameters = TcpParameters {
        partial_window_deflation: false,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).duplicates(9, 0);
    assert_eq!(d.wait(100).ack(5), [5]);
}

#[test]
fn the_ack_that_ends_recovery_opens_the_window_in_ns2_only_and_not_with_sack() {
    let cases = [
        (LossRecovery::Reno, true, MSS),
        (LossRecovery::Newreno, true, MSS),
        (LossRecovery::Newreno, false, 0),
        (LossRecovery::Sack, true, 0),
    ];
    for (recovery, growth_at_recovery_end, credit) in cases {
        let parameters = TcpParameters {
            growth_at_recovery_end,
            ..plain(recovery)
        };
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100);
        for end in 2..=4 {
            let blocks = [(1, end)];
            d.sack(
                0,
                if recovery == LossRecovery::Sack {
                    &blocks
                } else {
                    &[]
                },
            );
        }
        assert_eq!(d.events(), [SenderEventKind::FastRetransmit]);
        if recovery != LossRecovery::Reno {
            // A partial ACK never does.
            d.wait(100).ack(5);
            assert_eq!(d.last_ack().credit, Bytes(0));
        }
        d.wait(100).ack(10);
        assert_eq!(d.last_ack().credit, Bytes(credit), "{recovery:?}");
        assert_eq!(d.events(), [SenderEventKind::RecoveryEnd]);
    }
}

#[test]
fn sack_resends_all_holes_within_a_round_trip() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 10);
    // 0, 3 and 6 are lost.
    d.wait(100);
    assert_eq!(d.sack(0, &[(1, 2)]), NONE);
    assert_eq!(d.sack(0, &[(1, 3)]), NONE);
    assert_eq!(d.sack(0, &[(4, 5), (1, 3)]), [0]);
    assert_eq!(d.cwnd(), 5);
    // Three SACKed, the first resent: pipe = 10 - 3 = 7.
    assert_eq!(d.sender.in_flight(), Bytes(7 * MSS));
    assert_eq!(d.sack(0, &[(4, 6), (1, 3)]), NONE);
    // 3 has 4, 5, 7 above it: lost; pipe = 10 - 5 - 1.
    assert_eq!(d.sack(0, &[(7, 8), (4, 6), (1, 3)]), [3]);
    assert_eq!(d.sack(0, &[(7, 9), (4, 6), (1, 3)]), [10]);
    assert_eq!(d.sack(0, &[(7, 10), (4, 6), (1, 3)]), [6, 11]);
    assert_eq!(d.sender.statistics().fast_retransmits, 1);
    assert_eq!(d.wait(100).sack(3, &[(7, 10), (4, 6)]), [12]);
    assert_eq!(d.ack(12), [13, 14, 15, 16]);
    assert_eq!(d.events().last(), Some(&SenderEventKind::RecoveryEnd));
}

#[test]
fn sack_counts_each_byte_delivered_once() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 10);
    d.wait(100).sack(0, &[(1, 4)]);
    assert_eq!(d.last_ack().newly_delivered, Bytes(3 * MSS));
    assert_eq!(
        (d.last_ack().kind, d.last_ack().newly_acked),
        (AckKind::Duplicate, Bytes(0))
    );
    d.ack(6);
    assert_eq!(d.last_ack().newly_delivered, Bytes(3 * MSS));
    assert_eq!(d.last_ack().newly_acked, Bytes(6 * MSS));
    assert_eq!(d.last_ack().delivered, Bytes(6 * MSS));
}

#[test]
fn what_a_receiver_drops_again_is_delivered_once() {
    let parameters = TcpParameters {
        after_timeout: AfterTimeout::Scoreboard,
        ..plain(LossRecovery::Sack)
    };
    let mut d = Dialogue::bulk(parameters, 5);
    d.wait(100).sack(0, &[(2, 4)]);
    // 2 was held, and now it is what the receiver waits for.
    d.ack(2);
    assert_eq!(d.timeout(), [2]);
    d.wait(100).ack(4);
    assert_eq!(d.last_ack().delivered, Bytes(4 * MSS));
}

#[test]
fn duplicates_count_as_deliveries_and_the_ack_that_follows_less() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    d.wait(100).duplicates(3, 0);
    assert_eq!(d.last_ack().delivered, Bytes(3 * MSS));
    d.ack(4);
    assert_eq!(d.last_ack().newly_acked, Bytes(4 * MSS));
    assert_eq!(d.last_ack().newly_delivered, Bytes(MSS));
    assert_eq!(d.last_ack().delivered, Bytes(4 * MSS));
}

#[test]
fn a_rescue_saves_a_lost_tail_from_the_timer_once() {
    let mut d = Dialogue::transfer(plain(LossRecovery::Sack), 10, 10 * MSS);
    // 0 and 8, 9 are lost.
    d.wait(100).sack(0, &[(1, 2)]);
    d.sack(0, &[(1, 3)]);
    assert_eq!(d.sack(0, &[(1, 4)]), [0]);
    assert_eq!(d.sack(0, &[(1, 6)]), NONE);
    assert_eq!(d.sack(0, &[(1, 8)]), [9]);
    // 0 and the rescue arrive; with 9 SACKed rule 3 sends 8.
    assert_eq!(d.wait(100).sack(8, &[(9, 10)]), [8]);
    d.wait(100).ack(10);
    assert!(d.sender.is_finished());
    assert_eq!(d.sender.statistics().timeouts, 0);
}

#[test]
fn a_lost_retransmission_needs_the_timer() {
    for recovery in [
        LossRecovery::Tahoe,
        LossRecovery::Reno,
        LossRecovery::Newreno,
        LossRecovery::Sack,
    ] {
        let mut d = Dialogue::bulk(plain(recovery), 10);
        d.wait(100);
        if recovery == LossRecovery::Sack {
            for end in 2..=10 {
                d.sack(0, &[(1, end)]);
            }
        } else {
            d.duplicates(9, 0);
        }
        assert_eq!(d.sender.statistics().retransmitted_segments, 1);
        assert_eq!(d.timeout(), [0]);
        assert_eq!(d.cwnd(), 1);
        assert_eq!(
            d.events(),
            [SenderEventKind::FastRetransmit, SenderEventKind::Timeout]
        );
    }
}

#[test]
fn limited_transmit_sends_a_segment_for_each_of_the_first_two_duplicates() {
    let parameters = TcpParameters {
        limited_transmit: true,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 4);
    d.wait(100);
    assert_eq!(d.ack(0), [4]);
    assert_eq!(d.ack(0), [5]);
    assert_eq!(d.ack(0), [0]);
    // What it sent is no part of FlightSize.
    assert_eq!(d.last_base(), 4);

    let parameters = TcpParameters {
        limited_transmit: true,
        ..plain(LossRecovery::Sack)
    };
    let mut d = Dialogue::bulk(parameters, 4);
    d.wait(100);
    assert_eq!(d.sack(0, &[(1, 2)]), [4]);
    assert_eq!(d.sack(0, &[(1, 3)]), [5]);
    assert_eq!(d.sack(0, &[(1, 4)]), [0]);
    assert_eq!(d.last_base(), 4);
}

#[test]
fn the_decrease_starts_from_what_the_parameter_says() {
    for (decrease_base, base) in [(DecreaseBase::FlightSize, 4), (DecreaseBase::Window, 10)] {
        let parameters = TcpParameters {
            decrease_base,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::transfer(parameters, 10, 4 * MSS);
        d.wait(100).duplicates(3, 0);
        assert_eq!(d.last_base(), base);
    }
}

#[test]
fn a_timeout_in_a_recovery_starts_from_the_window_in_use() {
    for recovery in [LossRecovery::Newreno, LossRecovery::Sack] {
        let mut d = Dialogue::bulk(plain(recovery), 10);
        d.wait(100);
        // The retransmission of segment 0 is lost, too; what is sent meanwhile arrives and piles up behind the hole.
        let mut end = 2;
        for _ in 0..20 {
            let blocks: &[_] = if recovery == LossRecovery::Sack {
                &[(1, end)]
            } else {
                &[]
            };
            d.sack(0, blocks);
            end = (end + 1).min(d.sender.scoreboard.next());
        }
        let outstanding = d.sender.scoreboard.flight() / MSS;
        assert!(
            outstanding > 10,
            "{outstanding} segments are not cumulatively acknowledged"
        );
        assert_eq!(d.cwnd(), 5);
        d.timeout();
        assert_eq!(d.last_base(), 5, "{recovery:?}");
    }
}

// The timer.

#[test]
fn after_a_timeout_go_back_n_sends_everything_again_in_slow_start() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 4);
    assert_eq!(d.timeout(), [0]);
    assert_eq!(d.now, Time::ZERO + Span::from_millis(1000));
    assert_eq!(d.last_base(), 4);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    // 2 had arrived at first: the jump beyond what has been resent is one ACK.
    assert_eq!(d.wait(100).ack(3), [3, 4]);
    let resent: Vec<bool> = d.segments[4..].iter().map(|s| s.retransmission).collect();
    assert_eq!(resent, [true, true, true, true, false]);
    d.wait(100).ack(4);
    assert_eq!(
        d.events(),
        [SenderEventKind::Timeout, SenderEventKind::RecoveryEnd]
    );
}

#[test]
fn duplicates_of_go_back_n_mean_nothing_to_the_careful() {
    for (careful, retransmits) in [(true, 0), (false, 1)] {
        let parameters = TcpParameters {
            careful,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 8);
        d.timeout();
        d.wait(100).ack(1);
        d.duplicates(4, 1);
        assert_eq!(d.sender.statistics().fast_retransmits, retransmits);
    }
}

#[test]
fn go_back_n_with_sack_leaves_what_is_lost_again_to_the_timer() {
    // As if new: the scoreboard begins empty, and blocks that come meanwhile neither make room in the window nor name a hole.
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 8);
    assert_eq!(d.timeout(), [0]);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    // 1 is lost again; 3 to 7 arrive late.
    for end in 4..=8 {
        assert_eq!(d.wait(10).sack(1, &[(2, end)]), NONE);
    }
    assert_eq!(d.sender.statistics().fast_retransmits, 0);
    assert_eq!(d.timeout(), [1]);
    // Once all that was outstanding is acknowledged, SACK recovers as ever.
    d.wait(100).ack(8);
    assert_eq!(d.sender.recovery.phase(), Phase::Open);
}

#[test]
fn after_a_timeout_the_scoreboard_spares_what_has_arrived() {
    let parameters = TcpParameters {
        after_timeout: AfterTimeout::Scoreboard,
        ..plain(LossRecovery::Sack)
    };
    let mut d = Dialogue::bulk(parameters, 6);
    d.wait(100).sack(0, &[(2, 4)]);
    assert_eq!(d.timeout(), [0]);
    assert_eq!(d.sender.in_flight(), Bytes(MSS));
    assert_eq!(d.wait(100).sack(1, &[(2, 4)]), [1, 4]);
    assert_eq!(d.wait(100).ack(4), [5, 6]);
    d.wait(100).ack(6);
    assert_eq!(
        d.events(),
        [SenderEventKind::Timeout, SenderEventKind::RecoveryEnd]
    );
}

#[test]
fn a_timeout_ends_fast_recovery() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    d.wait(100).duplicates(9, 0);
    d.timeout();
    assert_eq!(d.cwnd(), 1);
    // No inflation is left.
    assert_eq!(d.duplicates(2, 0), NONE);
}

#[test]
fn a_repeated_timeout_keeps_or_reduces_the_threshold() {
    for (repeated_timeout, kind) in [
        (RepeatedTimeout::Keep, CongestionKind::RepeatedTimeout),
        (RepeatedTimeout::Reduce, CongestionKind::Timeout),
    ] {
        let parameters = TcpParameters {
            repeated_timeout,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 10);
        d.timeout();
        d.timeout();
        let kinds: Vec<_> = d.log.lock().unwrap().congestions.iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [CongestionKind::Timeout, kind]);
        // Another segment: not repeated.
        d.wait(100).ack(1);
        d.timeout();
        assert_eq!(
            d.log.lock().unwrap().congestions.last().unwrap().kind,
            CongestionKind::Timeout
        );
    }
}

#[test]
fn total_loss_backs_off_to_the_maximum_for_ever() {
    for recovery in [
        LossRecovery::Tahoe,
        LossRecovery::Reno,
        LossRecovery::Newreno,
        LossRecovery::Sack,
    ] {
        let mut d = Dialogue::bulk(plain(recovery), 10);
        let mut last = d.now;
        let mut gaps = Vec::new();
        for _ in 0..50 {
            assert_eq!(d.timeout(), [0]);
            gaps.push(d.now - last);
            last = d.now;
        }
        assert!(gaps.is_sorted());
        assert_eq!(gaps[0], Span::from_millis(1000));
        assert_eq!(gaps[1], Span::from_millis(2000));
        assert_eq!(gaps[49], Span::from_millis(60_000));
    }
}

#[test]
fn nothing_outstanding_means_no_timer() {
    let mut d = Dialogue::transfer(plain(LossRecovery::Sack), 10, 3 * MSS + 1);
    assert_eq!(d.sender.in_flight(), Bytes(3 * MSS + 1));
    d.wait(100).ack(3);
    assert_eq!(d.sender.in_flight(), Bytes(1));
    assert!(!d.sender.is_finished() && !d.sender.poll_timeout().is_never());
    d.ack(4);
    assert!(d.sender.is_finished() && d.sender.poll_timeout().is_never());
    assert_eq!(d.last_ack().delivered, Bytes(3 * MSS + 1));
}

// Round-trip times.

#[test]
fn karn_takes_no_sample_of_a_segment_sent_twice() {
    for rtt_sampling in [RttSampling::EveryAck, RttSampling::OncePerRoundTrip] {
        let parameters = TcpParameters {
            rtt_sampling,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 4);
        d.wait(100).duplicates(3, 0);
        d.wait(100).ack(1);
        assert_eq!(d.sender.rtt().latest(), None);
    }
}

#[test]
fn one_segment_per_round_trip_is_timed_or_all_are() {
    for (rtt_sampling, samples) in [(RttSampling::EveryAck, 8), (RttSampling::OncePerRoundTrip, 2)] {
        let parameters = TcpParameters {
            rtt_sampling,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 4);
        for cumulative in 1..=8 {
            if cumulative % 4 == 1 {
                d.wait(100);
            }
            d.ack(cumulative);
        }
        assert_eq!(d.sender.statistics().rtt_samples, samples);
        assert_eq!(d.sender.rtt().minimum(), Some(Span::from_millis(100)));
    }
}

#[test]
fn a_delayed_ack_is_part_of_the_round_trip_time() {
    let mut d = Dialogue::transfer(plain(LossRecovery::Newreno), 1, 3 * MSS);
    d.wait(100).ack(1);
    d.wait(30);
    d.ack(2);
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(30)));
}

#[test]
fn timestamps_measure_retransmissions_too() {
    let parameters = TcpParameters {
        rtt_sampling: RttSampling::Timestamps,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 4);
    d.timeout();
    let echo = d.now;
    d.wait(70);
    let ack = Acknowledgement {
        kind: AcknowledgementKind::Ack,
        cumulative: 1,
        echo,
        sacks: None,
        ecn_echo: false,
    };
    d.sender.handle_acknowledgement(d.now, &ack);
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(70)));
}

#[test]
fn the_back_off_lasts_until_a_segment_sent_once_is_acknowledged() {
    // Karn, RFC 6298 section 5.7 and section 3: however the round trip is measured, only a segment that was never retransmitted
    // gives a sample, and only a sample ends the back-off.
    let (plain_rto, doubled) = (Span::from_millis(1000), Span::from_millis(2000));
    for rtt_sampling in [RttSampling::EveryAck, RttSampling::OncePerRoundTrip] {
        let parameters = TcpParameters {
            rtt_sampling,
            ..plain(LossRecovery::Newreno)
        };
        // 0 was being timed when it was retransmitted; so were 1 to 3.
        let mut d = Dialogue::bulk(parameters, 4);
        assert_eq!(d.timeout(), [0]);
        d.wait(100).ack(1);
        assert_eq!(d.sender.rtt().rto(), doubled, "{rtt_sampling:?}");
        // The timer that runs is the longer one, and goes on doubling.
        assert_eq!(d.sender.poll_timeout(), d.now + doubled);
        d.wait(100).ack(4);
        assert_eq!(d.sender.rtt().rto(), doubled, "{rtt_sampling:?}");
        assert_eq!(d.sender.rtt().latest(), None);
        d.wait(100).ack(5);
        assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(100)));
        assert_eq!(d.sender.rtt().rto(), plain_rto, "{rtt_sampling:?}");
    }
}

#[test]
fn once_per_round_trip_the_first_new_segment_after_a_retransmission_is_timed() {
    let parameters = TcpParameters {
        rtt_sampling: RttSampling::OncePerRoundTrip,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 8);
    // 0 is lost and sent again; what was being timed is given up, and the next new segment is timed at once: it need not wait
    // for the ACK of what was given up.
    d.wait(100).duplicates(7, 0);
    let next = d.segments.last().unwrap().sequence;
    assert!(next >= 8, "new data in recovery");
    assert_eq!(d.sender.rtt().latest(), None);
    d.wait(130).ack(8);
    assert_eq!(d.sender.rtt().latest(), None, "0 to 7 were not timed");
    d.wait(20).ack(next + 1);
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(150)));
}

// Opening.

#[test]
fn the_handshake_opens_the_connection_and_is_the_first_sample() {
    let parameters = TcpParameters {
        handshake: true,
        ..plain(LossRecovery::Sack)
    };
    let syn_ack = Acknowledgement {
        kind: AcknowledgementKind::SynAck,
        cumulative: 0,
        echo: Time::NEVER,
        sacks: None,
        ecn_echo: false,
    };
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Unlimited);
    d.send();
    assert_eq!(d.segments.len(), 1);
    assert_eq!(
        (d.segments[0].kind, d.segments[0].length),
        (SegmentKind::Syn, Bytes(0))
    );
    d.wait(80);
    d.sender.handle_acknowledgement(d.now, &syn_ack);
    assert_eq!(d.send(), Vec::from_iter(0..10));
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(80)));
    // A second answer is no news.
    d.sender.handle_acknowledgement(d.now, &syn_ack);
    assert_eq!(d.send(), NONE);

    // The SYN is lost twice: back-off, no sample, a window of one segment, a timeout of three seconds.
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Unlimited);
    d.send();
    d.timeout();
    d.timeout();
    assert_eq!(d.now, Time::ZERO + Span::from_millis(3000));
    assert!(d.segments.iter().all(|s| s.kind == SegmentKind::Syn));
    d.wait(80);
    d.sender.handle_acknowledgement(d.now, &syn_ack);
    assert_eq!(d.send(), [0]);
    assert_eq!(d.sender.rtt().latest(), None);
    assert_eq!(d.sender.rtt().rto(), Span::from_millis(3000));
}

// What else decides how much is sent.

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let parameters = TcpParameters {
        receive_window: OptionalWindow::Segments(3),
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send(), [0, 1, 2]);
    d.wait(100).duplicates(2, 0);
    assert_eq!(d.ack(0), [0]);
    assert_eq!(d.duplicates(20, 0), NONE);
    assert_eq!(d.last_ack().limited, Limit::ReceiveWindow);
}

#[test]
fn a_closed_receive_window_lets_one_segment_through() {
    let parameters = TcpParameters {
        receive_window: OptionalWindow::Bytes(Bytes(0)),
        ..plain(LossRecovery::Sack)
    };
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send(), [0]);
    assert_eq!(d.ack(1), [1]);
}

#[test]
fn a_burst_ends_at_its_limit_and_goes_on_at_the_next_ack() {
    let parameters = TcpParameters {
        max_burst: Segments(3),
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send(), [0, 1, 2]);
    assert_eq!(d.ack(1), [3, 4, 5]);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (window_validation, credit) in [(true, 0), (false, MSS)] {
        let parameters = TcpParameters {
            window_validation,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::transfer(parameters, 10, 4 * MSS);
        d.wait(100).ack(1);
        assert_eq!(d.last_ack().credit, Bytes(credit));
        assert_eq!(d.last_ack().limited, Limit::Application);
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100).ack(1);
        assert_eq!(d.last_ack().credit, Bytes(MSS));
        assert_eq!(d.last_ack().limited, Limit::CongestionWindow);
    }
}

#[test]
fn an_ack_counts_by_the_rule() {
    for (window_counting, plain_credit, loss_credit) in [
        (WindowCounting::PerAck, MSS, MSS),
        (WindowCounting::BytesAtMostTwoSegments, 2 * MSS, MSS),
        // After the timeout just one of the four acknowledged had been resent.
        (WindowCounting::Bytes, 3 * MSS, MSS),
    ] {
        let parameters = TcpParameters {
            window_counting,
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100).ack(3);
        assert_eq!(d.last_ack().credit, Bytes(plain_credit));
        d.timeout();
        d.wait(100).ack(7);
        assert_eq!(d.last_ack().credit, Bytes(loss_credit));
    }
}

#[test]
fn idling_shrinks_the_window_by_the_rule() {
    for (idle_restart, cwnd) in [
        (IdleRestart::Off, 32),
        (IdleRestart::InitialWindow, 2),
        (IdleRestart::Decay, 8),
    ] {
        let parameters = TcpParameters {
            idle_restart,
            initial_window: Segments(2),
            ..plain(LossRecovery::Newreno)
        };
        let mut d = Dialogue::with(parameters, 32, None, false);
        d.sender.write(Write::Bytes(Bytes(MSS)));
        d.send();
        d.wait(100).ack(1);
        // Two and a half timeouts after the last segment.
        d.wait(2400);
        d.sender.write(Write::Bytes(Bytes(100 * MSS)));
        assert_eq!(d.send().len(), cwnd);
        let events = d.events();
        assert_eq!(events.is_empty(), idle_restart == IdleRestart::Off);
    }
}

#[test]
fn a_short_pause_is_no_idling() {
    let parameters = TcpParameters {
        idle_restart: IdleRestart::InitialWindow,
        initial_window: Segments(2),
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::with(parameters, 32, None, false);
    d.sender.write(Write::Bytes(Bytes(MSS)));
    d.send();
    d.wait(100).ack(1);
    d.wait(800);
    d.sender.write(Write::Bytes(Bytes(100 * MSS)));
    assert_eq!(d.send().len(), 32);
}

#[test]
fn a_partial_segment_waits_for_more_or_for_the_end() {
    let mut d = Dialogue::with(plain(LossRecovery::Newreno), 10, None, false);
    d.sender.write(Write::Bytes(Bytes(1600)));
    assert_eq!(d.send(), [0]);
    d.sender.write(Write::Bytes(Bytes(600)));
    assert_eq!(d.send(), [1]);
    d.sender.close();
    assert_eq!(d.send(), [2]);
    assert_eq!(d.segments[2].length, Bytes(200));
    d.sender.write(Write::Bytes(Bytes(5000)));
    assert_eq!(d.send(), NONE);
}

#[test]
fn an_ecn_echo_reduces_once_per_window_and_is_answered() {
    let parameters = TcpParameters {
        ecn: true,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).tell(1, &[], true);
    assert_eq!(d.last_ack().marked, Bytes(MSS));
    for cumulative in 2..=9 {
        d.tell(cumulative, &[], true);
    }
    assert_eq!((d.sender.statistics().ecn_reactions, d.last_base()), (1, 10));
    let answered: Vec<u64> = d
        .segments
        .iter()
        .filter(|s| s.window_reduced)
        .map(|s| s.sequence)
        .collect();
    assert_eq!(answered, [10]);
    // A loss in the same window is resent without a second reduction.
    assert_eq!(d.duplicates(3, 9)[0], 9);
    assert_eq!(d.log.lock().unwrap().congestions.len(), 1);
    let outstanding = d.sender.highest;
    d.wait(100).tell(outstanding, &[], true);
    assert_eq!(d.sender.statistics().ecn_reactions, 2);
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    d.wait(100).tell(1, &[], true);
    assert!(d.events().is_empty());
}

#[test]
fn pacing_spreads_segments_at_the_controls_rate() {
    let parameters = plain(LossRecovery::Newreno);
    let mut d = Dialogue::with(parameters, 10, Some(BitRate::from_mbit_per_s(8.0)), false);
    d.sender.write(Write::Unlimited);
    for n in 0..10 {
        assert_eq!(d.send(), [n]);
        assert_eq!(d.now, Time::ZERO + Span::from_millis(n));
        if n < 9 {
            d.now = d.sender.poll_timeout();
            d.sender.handle_timeout(d.now);
        }
    }
    // The window is full: only the retransmission timer is left.
    assert_eq!(d.sender.poll_timeout(), Time::ZERO + Span::from_millis(1000));
}

#[test]
fn pacing_that_is_off_ignores_the_controls_rate() {
    let parameters = TcpParameters {
        pacing: Pacing::Off,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::with(parameters, 10, Some(BitRate::from_mbit_per_s(8.0)), false);
    d.sender.write(Write::Unlimited);
    assert_eq!(d.send().len(), 10);
}

#[test]
fn pacing_always_uses_the_window_per_round_trip() {
    let parameters = TcpParameters {
        pacing: Pacing::Always,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 10);
    assert_eq!(d.wait(120).ack(5), [10]);
    // In congestion avoidance: 1.2 cwnd per SRTT, so a segment every SRTT/12 and a bit.
    let gap = d.sender.poll_timeout() - d.now;
    assert!((gap.as_seconds() - 0.01).abs() < 1e-4, "{gap:?}");
}

#[test]
fn jitter_delays_within_its_bound_and_keeps_order() {
    let most = Span::from_millis(2);
    let parameters = TcpParameters {
        send_jitter: most,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::with(parameters, 50, None, false);
    d.sender.write(Write::Unlimited);
    while d.segments.len() < 50 {
        d.send();
        if d.segments.len() < 50 {
            d.now = d.sender.poll_timeout();
            d.sender.handle_timeout(d.now);
        }
    }
    assert!(d.segments.is_sorted_by_key(|s| s.sequence) && d.segments.is_sorted_by_key(|s| s.stamp));
    assert!(d.segments[0].stamp > Time::ZERO);
    assert!(d.segments[49].stamp <= Time::ZERO + most);
    assert_eq!(d.sender.statistics().timeouts, 0);
}

#[test]
fn a_rate_sample_tells_the_rate_of_the_path() {
    let mut d = Dialogue::with(plain(LossRecovery::Sack), 10, None, true);
    d.sender.write(Write::Unlimited);
    d.send();
    // One segment a millisecond comes through.
    d.wait(99);
    for cumulative in 1..=30 {
        d.wait(1).ack(cumulative);
    }
    let sample = d.last_ack().rate_sample.unwrap();
    assert_eq!(sample.rate, BitRate::from_mbit_per_s(8.0));
    assert_eq!(sample.limited, Limit::CongestionWindow);
}

#[test]
fn a_stopped_sender_is_silent() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 10);
    d.sender.stop(d.now);
    assert!(d.sender.poll_timeout().is_never());
    assert_eq!(d.wait(100).ack(5), NONE);
    d.sender.write(Write::Bytes(Bytes(MSS)));
    d.sender.handle_timeout(d.now);
    assert_eq!(d.send(), NONE);
    assert_eq!(d.sender.in_flight(), Bytes(0));
}

#[test]
fn acks_of_what_was_never_sent_and_old_acks_are_ignored() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 10);
    assert_eq!(d.ack(11), NONE);
    assert_eq!(d.ack(u64::MAX), NONE);
    d.ack(4);
    let acks = d.log.lock().unwrap().acks.len();
    assert_eq!(d.duplicates(5, 2), NONE);
    assert_eq!(d.log.lock().unwrap().acks.len(), acks);
}

#[test]
fn an_idle_sender_is_small() {
    assert!(size_of::<Sender>() <= 800, "{}", size_of::<Sender>());
}

// Properties.

fn recoveries() -> impl Strategy<Value = LossRecovery> {
    prop_oneof![
        Just(LossRecovery::Tahoe),
        Just(LossRecovery::Reno),
        Just(LossRecovery::Newreno),
        Just(LossRecovery::Sack),
    ]
}

prop_compose! {
    fn any_parameters()(
        recovery in recoveries(),
        flags in any::<[bool; 8]>(),
        rtt_sampling in prop_oneof![Just(RttSampling::Timestamps), Just(RttSampling::EveryAck), Just(RttSampling::OncePerRoundTrip)],
        idle_restart in prop_oneof![Just(IdleRestart::Off), Just(IdleRestart::InitialWindow), Just(IdleRestart::Decay)],
        window_counting in prop_oneof![Just(WindowCounting::PerAck), Just(WindowCounting::BytesAtMostTwoSegments), Just(WindowCounting::Bytes)],
        pacing in prop_oneof![Just(Pacing::Always), Just(Pacing::Control), Just(Pacing::Off)],
        threshold in 0u32..5,
        jitter in prop_oneof![3 => Just(0u64), 1 => 1u64..3000],
        burst in 0u32..4,
        receive_window in prop_oneof![Just(OptionalWindow::Unlimited), (0u64..40).prop_map(OptionalWindow::Segments)],
    ) -> TcpParameters {
        TcpParameters {
            careful: flags[0],
            limited_transmit: flags[1],
            rescue_retransmission: flags[2],
            partial_window_deflation: flags[3],
            window_validation: flags[4],
            ecn: flags[5],
            after_timeout: if flags[6] { AfterTimeout::GoBackN } else { AfterTimeout::Scoreboard },
            repeated_timeout: if flags[7] { RepeatedTimeout::Keep } else { RepeatedTimeout::Reduce },
            decrease_base: if flags[0] { DecreaseBase::FlightSize } else { DecreaseBase::Window },
            partial_ack: if flags[1] { PartialAck::Impatient } else { PartialAck::SlowButSteady },
            duplicate_threshold: Segments(threshold),
            send_jitter: Span::from_micros(jitter),
            max_burst: Segments(burst),
            rtt_sampling, idle_restart, window_counting, pacing, receive_window,
            ..plain(recovery)
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// That far beyond the first unacknowledged segment, SACK blocks as offsets from there.
    Ack(u64, Vec<(u64, u64)>, bool),
    /// Any number.
    Garbage(u64, Vec<(u64, u64)>),
    Wait(u64),
    Timer,
    Write(u64),
    Close,
}

fn steps() -> impl Strategy<Value = Step> {
    let blocks = || proptest::collection::vec((0u64..40, 0u64..50), 0..4);
    prop_oneof![
        6 => (0u64..6, blocks(), any::<bool>()).prop_map(|(n, b, e)| Step::Ack(n, b, e)),
        1 => (any::<u64>(), proptest::collection::vec(any::<(u64, u64)>(), 0..4)).prop_map(|(n, b)| Step::Garbage(n, b)),
        3 => (0u64..2_000_000).prop_map(Step::Wait),
        2 => Just(Step::Timer),
        2 => (0u64..30_000).prop_map(Step::Write),
        1 => Just(Step::Close),
    ]
}

/// Sends all that may leave, and checks that sequences are covered once and that the sender knows when to be called.
fn send_and_check(d: &mut Dialogue, next: &mut u64) {
    let sent = d.send();
    for sequence in sent {
        assert!(sequence <= *next, "{sequence} leaves a gap after {next}");
        *next = (*next).max(sequence + 1);
    }
    assert_eq!(*next, d.sender.highest);
    assert!(d.cwnd() >= 1);
    assert!(d.sender.poll_timeout() > d.now, "a wake-up call in the past");
    let waiting = d.sender.scoreboard.first() < d.sender.highest;
    assert!(
        !waiting || !d.sender.poll_timeout().is_never(),
        "nothing would ever happen"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_upsets_the_sender(
        parameters in any_parameters(),
        rated in any::<bool>(),
        sampled in any::<bool>(),
        script in proptest::collection::vec(steps(), 1..80),
    ) {
        let rate = rated.then(|| BitRate::from_mbit_per_s(2.0));
        let mut d = Dialogue::with(parameters, 5, rate, sampled);
        let mut next = 0;
        d.sender.write(Write::Bytes(Bytes(20 * MSS)));
        send_and_check(&mut d, &mut next);
        for step in script {
            let first = d.sender.scoreboard.first();
            match step {
                Step::Ack(beyond, blocks, echo) => {
                    let blocks: Vec<_> = blocks.iter().map(|(a, b)| (first + a, first + b)).collect();
                    let to = (first + beyond).min(d.sender.highest);
                    let mut sacks = SackBlocks::default();
                    blocks.iter().for_each(|&(start, end)| sacks.push(SackBlock { start, end }));
                    let ack = Acknowledgement { kind: AcknowledgementKind::Ack, cumulative: to, echo: d.now, sacks: (!sacks.is_empty()).then_some(&sacks), ecn_echo: echo };
                    d.sender.handle_acknowledgement(d.now, &ack);
                }
                Step::Garbage(cumulative, blocks) => {
                    let mut sacks = SackBlocks::default();
                    blocks.iter().for_each(|&(start, end)| sacks.push(SackBlock { start, end }));
                    let ack = Acknowledgement { kind: AcknowledgementKind::Ack, cumulative, echo: Time::from_nanos(cumulative), sacks: (!sacks.is_empty()).then_some(&sacks), ecn_echo: false };
                    d.sender.handle_acknowledgement(d.now, &ack);
                }
                Step::Wait(micros) => {
                    d.now = d.now + Span::from_micros(micros);
                    d.sender.handle_timeout(d.now);
                }
                Step::Timer => {
                    let at = d.sender.poll_timeout();
                    if !at.is_never() {
                        d.now = d.now.max(at);
                        d.sender.handle_timeout(d.now);
                    }
                }
                Step::Write(bytes) => d.sender.write(Write::Bytes(Bytes(bytes))),
                Step::Close => d.sender.close(),
            }
            d.sender.scoreboard.check();
            send_and_check(&mut d, &mut next);
            let log = d.log.lock().unwrap();
            let delivered = log.acks.last().map_or(0, |ack| ack.delivered.0);
            prop_assert!(delivered <= next * MSS, "more is delivered than was sent");
        }
    }

    #[test]
    fn a_transfer_arrives_whole_whatever_is_lost(
        parameters in any_parameters(),
        bytes in 1u64..60_000,
        loss in 0.0..0.6f64,
        seed in any::<u64>(),
        handshake in any::<bool>(),
    ) {
        let parameters = TcpParameters { handshake, receive_window: OptionalWindow::Unlimited, ..parameters };
        let delivered = closed_loop(parameters, bytes, loss, seed, Span::from_millis(10));
        prop_assert_eq!(delivered, bytes);
    }
}

/// Sender and receiver over `delay` each way that loses data and ACKs, in order. Returns what arrived.
fn closed_loop(parameters: TcpParameters, bytes: u64, loss: f64, seed: u64, delay: Span) -> u64 {
    let mut draws = Streams::new(seed, 0).stream("loss");
    let mut d = Dialogue::with(parameters, 4, None, false);
    let mut receiver = Receiver::new(&parameters);
    let (mut forward, mut back) = (
        std::collections::VecDeque::new(),
        std::collections::VecDeque::new(),
    );
    d.sender.write(Write::Bytes(Bytes(bytes)));
    d.sender.close();
    for _ in 0..200_000 {
        let from = d.segments.len();
        d.send();
        for segment in &d.segments[from..] {
            if draws.uniform() >= loss {
                forward.push_back((d.now + delay, *segment));
            }
        }
        while let Some(ack) = receiver.poll_transmit(d.now) {
            if draws.uniform() >= loss {
                // The driver keeps the blocks while the ACK travels.
                let sacks = ack.sacks.copied();
                back.push_back((d.now + delay, Acknowledgement { sacks: None, ..ack }, sacks));
            }
        }
        if d.sender.is_finished() {
            break;
        }
        let arrival = forward.front().map_or(Time::NEVER, |(at, _)| *at);
        let answer = back.front().map_or(Time::NEVER, |(at, ..)| *at);
        let timers = d.sender.poll_timeout().min(receiver.poll_timeout());
        d.now = arrival.min(answer).min(timers);
        assert!(!d.now.is_never(), "stuck at {:?}", d.sender);
        if arrival == d.now {
            let (_, segment) = forward.pop_front().unwrap();
            receiver.handle_segment(d.now, &segment, false);
        } else if answer == d.now {
            let (_, ack, sacks) = back.pop_front().unwrap();
            let sacks = sacks.as_ref();
            d.sender
                .handle_acknowledgement(d.now, &Acknowledgement { sacks, ..ack });
        } else {
            d.sender.handle_timeout(d.now);
            receiver.handle_timeout(d.now);
        }
    }
    assert!(d.sender.is_finished(), "no end in sight");
    let log = d.log.lock().unwrap();
    assert_eq!(
        log.acks.last().unwrap().delivered.0,
        bytes,
        "delivered by the sender's count"
    );
    receiver.statistics().delivered.0
}

#[test]
fn segments_of_one_byte_over_no_distance_arrive() {
    for recovery in [
        LossRecovery::Tahoe,
        LossRecovery::Reno,
        LossRecovery::Newreno,
        LossRecovery::Sack,
    ] {
        for rtt_sampling in [
            RttSampling::Timestamps,
            RttSampling::EveryAck,
            RttSampling::OncePerRoundTrip,
        ] {
            let parameters = TcpParameters {
                mss: Bytes(1),
                pacing: Pacing::Always,
                rtt_sampling,
                ..plain(recovery)
            };
            assert_eq!(closed_loop(parameters, 5000, 0.1, 7, Span::ZERO), 5000);
        }
    }
}

/// An ACK without blocks goes through a copy of the code of its own: it must lead to where the other one does.
#[test]
fn no_blocks_and_an_empty_list_of_them_are_the_same() {
    for recovery in [
        LossRecovery::Tahoe,
        LossRecovery::Reno,
        LossRecovery::Newreno,
        LossRecovery::Sack,
    ] {
        for rtt_sampling in [
            RttSampling::Timestamps,
            RttSampling::EveryAck,
            RttSampling::OncePerRoundTrip,
        ] {
            let parameters = TcpParameters {
                rtt_sampling,
                ..plain(recovery)
            };
            let mut dialogues = [Dialogue::bulk(parameters, 20), Dialogue::bulk(parameters, 20)];
            // In order, a loss and its recovery, a jump, and after the eleventh a timeout.
            for (n, cumulative) in [1, 2, 4, 4, 4, 4, 4, 6, 9, 20, 21, 22, 23, 30]
                .into_iter()
                .enumerate()
            {
                for (dialogue, sacks) in dialogues.iter_mut().zip([None, Some(&SackBlocks::default())]) {
                    let ack = Acknowledgement {
                        kind: AcknowledgementKind::Ack,
                        cumulative,
                        echo: dialogue.now,
                        sacks,
                        ecn_echo: false,
                    };
                    dialogue.wait(7);
                    dialogue.sender.handle_acknowledgement(dialogue.now, &ack);
                    dialogue.send();
                    if n == 10 {
                        dialogue.now = dialogue.now.max(dialogue.sender.poll_timeout());
                        dialogue.sender.handle_timeout(dialogue.now);
                        dialogue.send();
                    }
                }
                let [short, long] = &dialogues;
                assert_eq!(short.segments, long.segments);
                assert_eq!(format!("{:?}", short.sender), format!("{:?}", long.sender));
            }
            assert!(dialogues[0].sender.statistics().timeouts == 1);
        }
    }
}
