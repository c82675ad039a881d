//! The retransmission timer, and transmission after it expired.

use super::*;
use crate::congestion::RecoveryPhase;
use crate::endpoint::parameters::{AvoidMultipleFastRetransmits, RepeatedTimeout};

#[test]
fn after_a_timeout_go_back_n_sends_everything_again_in_slow_start() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 4);
    assert_eq!(d.timeout(), [0]);
    assert_eq!(d.now, Time::ZERO + Span::from_millis(1000));
    assert_eq!(d.last_base(), 4);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    // Segment 2 had arrived before: the jump beyond the retransmitted data is one ACK.
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
    for (avoid_multiple_fast_retransmits, retransmits) in [
        (AvoidMultipleFastRetransmits::Always, 0),
        (AvoidMultipleFastRetransmits::AfterTimeout, 0),
        (AvoidMultipleFastRetransmits::Never, 1),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.recovery.avoid_multiple_fast_retransmits = avoid_multiple_fast_retransmits;
        let mut d = Dialogue::bulk(parameters, 8);
        d.timeout();
        d.wait(100).ack(1);
        d.duplicates(4, 1);
        assert_eq!(d.sender.statistics().fast_retransmits, retransmits);
    }
}

#[test]
fn go_back_n_with_sack_leaves_what_is_lost_again_to_the_timer() {
    // As if new: the scoreboard starts empty. Blocks that arrive meanwhile neither make room in the
    // window nor reveal a hole.
    let mut d = Dialogue::bulk(plain(LossRecovery::Sack), 8);
    assert_eq!(d.timeout(), [0]);
    assert_eq!(d.wait(100).ack(1), [1, 2]);
    // Segment 1 is lost again; 3 to 7 arrive late.
    for end in 4..=8 {
        assert_eq!(d.wait(10).sack(1, &[(2, end)]), NONE);
    }
    assert_eq!(d.sender.statistics().fast_retransmits, 0);
    assert_eq!(d.timeout(), [1]);
    // Once the data in flight at the timeout is acknowledged, SACK recovers as usual.
    d.wait(100).ack(8);
    assert_eq!(d.sender.connection.episode.phase(), RecoveryPhase::Open);
}

#[test]
fn after_a_timeout_the_scoreboard_spares_what_has_arrived() {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.recovery.after_timeout = AfterTimeout::Scoreboard;
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
    // The inflation is gone.
    assert_eq!(d.duplicates(2, 0), NONE);
}

#[test]
fn a_repeated_timeout_keeps_or_reduces_the_threshold() {
    for (repeated_timeout, kind) in [
        (RepeatedTimeout::Keep, CongestionKind::RepeatedTimeout),
        (RepeatedTimeout::Reduce, CongestionKind::Timeout),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.recovery.repeated_timeout = repeated_timeout;
        let mut d = Dialogue::bulk(parameters, 10);
        d.timeout();
        d.timeout();
        let kinds: Vec<_> = d
            .log
            .lock()
            .unwrap()
            .congestions
            .iter()
            .map(|c| c.kind)
            .collect();
        assert_eq!(kinds, [CongestionKind::Timeout, kind]);
        // Another segment, so not a repeated timeout.
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
    for recovery in RECOVERIES {
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
