//! Fast retransmit and recovery.

use super::*;
use crate::congestion::RecoveryPhase;
use crate::endpoint::parameters::{AvoidMultipleFastRetransmits, PartialAck, SsthreshFrom};

/// Answers as a receiver does, with or without SACK, that lacks segment 0 and holds those up to
/// `end`.
fn duplicate(d: &mut Dialogue, recovery: LossRecovery, end: u64) {
    match recovery {
        LossRecovery::Sack => d.sack(0, &[(1, end)]),
        _ => d.ack(0),
    };
}

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
        // 5 + 3 inflated; the other six duplicates inflate to 14 and send four new segments.
        assert_eq!(d.duplicates(6, 0), [10, 11, 12, 13]);
        assert_eq!(
            (d.last_ack().phase, d.last_ack().credit),
            (RecoveryPhase::Recovery, Bytes(0))
        );
        // The hole is filled: the inflation is removed, the control's window stays.
        assert_eq!(d.ack(10), [14]);
        assert_eq!(d.cwnd(), 5);
        assert_eq!(
            d.events(),
            [
                SenderEventKind::FastRetransmit,
                SenderEventKind::RecoveryEnd
            ]
        );
    }
}

#[test]
fn without_fast_retransmit_only_the_timer_repairs() {
    let mut d = Dialogue::bulk(plain(LossRecovery::TimeoutOnly), 10);
    d.wait(100);
    // For any number of duplicates: nothing is sent or reduced, and the timer does not restart.
    assert_eq!(d.duplicates(9, 0), NONE);
    assert_eq!(d.cwnd(), 10);
    assert!(d.log.lock().unwrap().congestions.is_empty());
    assert_eq!(d.wait(900).timeout(), [0]);
    assert_eq!((d.cwnd(), d.events()), (1, vec![SenderEventKind::Timeout]));
    // All other segments had arrived: slow start to half the earlier window.
    assert_eq!(d.wait(100).ack(10), [10, 11]);
}

#[test]
fn tahoe_starts_again_from_one_segment() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Tahoe), 10);
    d.wait(100);
    assert_eq!(d.duplicates(3, 0), [0]);
    assert_eq!(d.cwnd(), 1);
    assert_eq!(
        d.log.lock().unwrap().congestions[0].kind,
        CongestionKind::Timeout
    );
    assert_eq!(d.duplicates(6, 0), NONE);
    // All other segments had arrived: new data in slow start.
    assert_eq!(d.wait(100).ack(10), [10, 11]);
    assert_eq!(
        d.events(),
        [
            SenderEventKind::FastRetransmit,
            SenderEventKind::RecoveryEnd
        ]
    );
}

#[test]
fn tahoe_sends_again_what_has_arrived() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Tahoe), 10);
    d.wait(100).duplicates(3, 0);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    assert!(d.segments.last().unwrap().retransmission);
    assert_eq!(d.last_ack().phase, RecoveryPhase::Loss);
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
    // This window has had its reaction.
    assert_eq!(d.duplicates(3, 5), NONE);
    assert_eq!(d.timeout(), [5]);
}

#[test]
fn reno_that_is_not_careful_about_recoveries_reduces_twice() {
    for avoid_multiple_fast_retransmits in [
        AvoidMultipleFastRetransmits::AfterTimeout,
        AvoidMultipleFastRetransmits::Never,
    ] {
        let mut parameters = plain(LossRecovery::Reno);
        parameters.recovery.avoid_multiple_fast_retransmits = avoid_multiple_fast_retransmits;
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100).duplicates(8, 0);
        d.wait(100).ack(5);
        assert_eq!(d.duplicates(3, 5), [5]);
        assert_eq!(d.sender.statistics().fast_retransmits, 2);
    }
}

#[test]
fn newreno_resends_one_hole_per_partial_ack() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    // 0, 3 and 6 are lost.
    d.wait(100);
    assert_eq!(d.duplicates(3, 0), [0]);
    assert_eq!(d.duplicates(4, 0), [10, 11]);
    // 12 - 3 + 1 = 10 allowed, 3 to 11 in flight: one more after the hole.
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
    for (partial_ack, late) in [
        (PartialAck::Impatient, false),
        (PartialAck::SlowButSteady, true),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.recovery.partial_ack = partial_ack;
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
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.recovery.partial_window_deflation = false;
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
        let mut parameters = plain(recovery);
        parameters.recovery.growth_at_recovery_end = growth_at_recovery_end;
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100);
        for end in 2..=4 {
            duplicate(&mut d, recovery, end);
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
    // Three SACKed, the first retransmitted: pipe = 10 - 3 = 7.
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
    assert_eq!(d.last_ack().newly_acked, Bytes(0), "a duplicate ACK");
    d.ack(6);
    assert_eq!(d.last_ack().newly_delivered, Bytes(3 * MSS));
    assert_eq!(d.last_ack().newly_acked, Bytes(6 * MSS));
    assert_eq!(d.last_ack().delivered, Bytes(6 * MSS));
}

#[test]
fn what_a_receiver_drops_again_is_delivered_once() {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.recovery.after_timeout = AfterTimeout::Scoreboard;
    let mut d = Dialogue::bulk(parameters, 5);
    d.wait(100).sack(0, &[(2, 4)]);
    // The receiver held segment 2, and now waits for it.
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
    // 0 and the rescue arrive; with 9 SACKed, rule 3 sends 8.
    assert_eq!(d.wait(100).sack(8, &[(9, 10)]), [8]);
    d.wait(100).ack(10);
    assert!(d.sender.is_finished());
    assert_eq!(d.sender.statistics().timeouts, 0);
}

#[test]
fn a_lost_retransmission_needs_the_timer() {
    for recovery in RECOVERIES
        .into_iter()
        .filter(|recovery| *recovery != LossRecovery::TimeoutOnly)
    // it sends nothing at duplicates
    {
        let mut d = Dialogue::bulk(plain(recovery), 10);
        d.wait(100);
        for end in 2..=10 {
            duplicate(&mut d, recovery, end);
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
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.recovery.limited_transmit = true;
    let mut d = Dialogue::bulk(parameters, 4);
    d.wait(100);
    assert_eq!(d.ack(0), [4]);
    assert_eq!(d.ack(0), [5]);
    assert_eq!(d.ack(0), [0]);
    // FlightSize excludes the segments that limited transmit sent.
    assert_eq!(d.last_base(), 4);

    let mut parameters = plain(LossRecovery::Sack);
    parameters.recovery.limited_transmit = true;
    let mut d = Dialogue::bulk(parameters, 4);
    d.wait(100);
    assert_eq!(d.sack(0, &[(1, 2)]), [4]);
    assert_eq!(d.sack(0, &[(1, 3)]), [5]);
    assert_eq!(d.sack(0, &[(1, 4)]), [0]);
    assert_eq!(d.last_base(), 4);
}

#[test]
fn the_decrease_starts_from_what_the_parameter_says() {
    for (ssthresh_from, base) in [(SsthreshFrom::FlightSize, 4), (SsthreshFrom::Window, 10)] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.growth.ssthresh_from = ssthresh_from;
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
        // The retransmission of segment 0 is lost too; segments sent meanwhile arrive and
        // accumulate behind the hole.
        let mut end = 2;
        for _ in 0..20 {
            duplicate(&mut d, recovery, end);
            end = (end + 1).min(d.sender.connection.scoreboard.next());
        }
        let outstanding = d.sender.connection.scoreboard.flight() / MSS;
        assert!(
            outstanding > 10,
            "{outstanding} segments are not cumulatively acknowledged"
        );
        assert_eq!(d.cwnd(), 5);
        d.timeout();
        assert_eq!(d.last_base(), 5, "{recovery:?}");
    }
}

/// RFC 8985 section 7.2: PTO = 2 SRTT + WCDelAckT for a single segment in flight, whatever the
/// smallest timeout is.
#[test]
fn a_probe_of_a_single_segment_waits_for_a_delayed_ack() {
    let mut parameters = Preset::RfcModern.parameters();
    parameters.connection.mss = Bytes(MSS);
    parameters.connection.handshake = false;
    parameters.timer.rtt_sampling = RttSampling::EveryAck;
    let mut d = Dialogue::with(parameters, 10, None, false);
    d.sender.write(Write::Bytes(Bytes(MSS)));
    d.send();
    d.wait(100).ack(1);
    d.sender.write(Write::Bytes(Bytes(MSS)));
    let sent_at = d.now;
    assert_eq!(d.send(), [1]);
    assert_eq!(d.timeout(), [1]);
    assert_eq!(d.now - sent_at, Span::from_millis(2 * 100 + 200));
}

/// Segment 10 is lost in a recovery that waits for the retransmission of segment 0. What is SACKED
/// behind it has left the network: the next decrease starts from the window.
#[test]
fn what_is_sacked_behind_a_loss_is_no_base_of_a_decrease() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 10);
    d.wait(100);
    (2..=10).for_each(|end| drop(d.sack(0, &[(1, end)])));
    (12..=25).for_each(|end| drop(d.sack(0, &[(1, 10), (11, end)])));
    assert_eq!((d.cwnd(), d.last_base()), (5, 10));
    d.sack(10, &[(11, 25)]);
    d.sack(10, &[(11, 26)]);
    let outstanding = d.sender.connection.scoreboard.flight() / MSS;
    assert!(outstanding > 10, "{outstanding}");
    assert_eq!(d.log.lock().unwrap().congestions.len(), 2);
    assert_eq!(d.last_base(), 5);
}
