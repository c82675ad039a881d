//! Signals for controls that model the path: rate samples, and the window during recovery.

use super::*;
use crate::congestion::RateSample;

fn without_handshake(replaces_recovery: bool) -> Dialogue {
    let mut parameters = Preset::Linux.parameters();
    parameters.connection.mss = Bytes(MSS);
    parameters.connection.handshake = false;
    parameters.sending.pacing = crate::endpoint::parameters::Pacing::Off;
    Dialogue::replacing(parameters, 10, None, true, replaces_recovery)
}

fn last_sample(dialogue: &Dialogue) -> RateSample {
    *dialogue.last_ack().rate_sample().unwrap()
}

#[test]
fn a_sample_tells_what_was_in_flight_when_its_segment_was_sent() {
    let mut dialogue = without_handshake(false);
    dialogue.sender.write(Write::Unlimited);
    dialogue.send();
    for cumulative in [1, 4] {
        dialogue.wait(50).ack(cumulative);
        assert_eq!(last_sample(&dialogue).tx_in_flight, Bytes(cumulative * MSS));
        assert_eq!(last_sample(&dialogue).lost, Bytes::ZERO);
    }
}

/// Segments 0 to 2 are lost, and found lost by the SACKs of 3 to 5: all after 5 was sent.
#[test]
fn a_sample_tells_what_was_lost_since() {
    let mut dialogue = without_handshake(false);
    dialogue.sender.write(Write::Unlimited);
    dialogue.send();
    dialogue.wait(50).sack(0, &[(3, 6)]);
    assert_eq!(last_sample(&dialogue).lost, Bytes(3 * MSS));
    assert_eq!(last_sample(&dialogue).tx_in_flight, Bytes(6 * MSS));
}

#[test]
fn a_write_after_a_pause_is_application_limited_until_it_has_arrived() {
    let mut dialogue = without_handshake(false);
    let limited = |dialogue: &Dialogue| last_sample(dialogue).limited;
    dialogue.sender.write(Write::Bytes(Bytes(2 * MSS)));
    dialogue.send();
    dialogue.wait(50).ack(2);
    dialogue.wait(500).sender.write(Write::Unlimited);
    dialogue.send();
    dialogue.wait(50).ack(3);
    assert_eq!(limited(&dialogue), SendLimit::Application);
    let next = dialogue.sender.connection.scoreboard.next();
    dialogue.wait(50).ack(next);
    dialogue.wait(50).ack(next + 1);
    assert_eq!(limited(&dialogue), SendLimit::CongestionWindow);
}

#[test]
fn proportional_reduction_leaves_a_window_alone_that_the_control_owns() {
    for replaces_recovery in [false, true] {
        let mut dialogue = without_handshake(replaces_recovery);
        dialogue.sender.write(Write::Unlimited);
        dialogue.send();
        dialogue.wait(50).sack(0, &[(1, 5)]);
        assert!(dialogue.events().contains(&SenderEventKind::FastRetransmit));
        let window = dialogue.sender.cwnd();
        let control = dialogue.sender.control().cwnd();
        assert_eq!(
            window == control,
            replaces_recovery,
            "{window:?} {control:?}"
        );
    }
}

/// Segments 0 to 2 of ten are lost. Each had itself and those before it in flight when it was sent,
/// and each loss counts itself and those found before it.
#[test]
fn each_lost_segment_is_told_with_what_was_in_flight() {
    let mut dialogue = without_handshake(true);
    dialogue.sender.write(Write::Unlimited);
    dialogue.send();
    dialogue.wait(50).sack(0, &[(3, 6)]);
    let log = dialogue.log.lock().unwrap();
    let losses = log.lost.iter().map(|lost| {
        assert_eq!((lost.bytes, lost.delivered), (Bytes(MSS), Bytes(3 * MSS)));
        (lost.sequence, lost.tx_in_flight.0 / MSS, lost.lost.0 / MSS)
    });
    assert_eq!(
        losses.collect::<Vec<_>>(),
        [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
    );
}

/// The rules of RFC 6675 and of NewReno find segment 0 lost, once.
#[test]
fn each_recovery_tells_of_its_first_loss() {
    for recovery in [LossRecovery::Sack, LossRecovery::Newreno] {
        let mut dialogue = Dialogue::with(plain(recovery), 10, None, true);
        dialogue.sender.write(Write::Unlimited);
        dialogue.send();
        for n in 2..=4 {
            dialogue.wait(5).sack(0, &[(1, n)]);
        }
        let log = dialogue.log.lock().unwrap();
        let lost_sequences: Vec<u64> = log.lost.iter().map(|lost| lost.sequence).collect();
        assert_eq!(lost_sequences, [0], "{recovery:?}");
    }
}

/// A timeout tells of all that is lost with it.
#[test]
fn a_timeout_tells_of_each_loss() {
    let mut dialogue = without_handshake(true);
    dialogue.sender.write(Write::Bytes(Bytes(4 * MSS)));
    dialogue.send();
    while dialogue.sender.statistics().timeouts == 0 {
        dialogue.now = dialogue.sender.poll_timeout();
        dialogue.sender.handle_timeout(dialogue.now);
        dialogue.send();
    }
    let log = dialogue.log.lock().unwrap();
    let lost_sequences: Vec<u64> = log.lost.iter().map(|lost| lost.sequence).collect();
    assert_eq!(lost_sequences, [0, 1, 2, 3]);
}

/// The first segment after a pause of the application is told, and the others are not.
#[test]
fn sending_after_a_pause_is_told() {
    let mut dialogue = without_handshake(false);
    dialogue.sender.write(Write::Bytes(Bytes(2 * MSS)));
    dialogue.send();
    dialogue.wait(50).ack(2);
    dialogue.wait(500).sender.write(Write::Unlimited);
    dialogue.send();
    dialogue.wait(50).ack(3);
    dialogue.wait(50).ack(8);
    let pauses = dialogue.log.lock().unwrap().after_idle.clone();
    let millis = |millis| Time::ZERO + Span::from_millis(millis);
    assert_eq!(pauses, [millis(0), millis(550)]);
}
