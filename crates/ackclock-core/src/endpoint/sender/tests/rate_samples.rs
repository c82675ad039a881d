//! Signals for controls that model the path: rate samples, and the window during recovery.

use super::*;
use crate::congestion::RateSample;

fn without_handshake(owns_recovery: bool) -> Dialogue {
    let parameters = TcpParameters {
        mss: Bytes(MSS),
        handshake: false,
        pacing: crate::endpoint::parameters::Pacing::Off,
        ..Preset::Linux.parameters()
    };
    Dialogue::owning(parameters, 10, None, true, owns_recovery)
}

fn last_sample(dialogue: &Dialogue) -> RateSample {
    dialogue.last_ack().rate_sample.unwrap()
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
    let next = dialogue.sender.scoreboard.next();
    dialogue.wait(50).ack(next);
    dialogue.wait(50).ack(next + 1);
    assert_eq!(limited(&dialogue), SendLimit::CongestionWindow);
}

#[test]
fn proportional_reduction_leaves_a_window_alone_that_the_control_owns() {
    for owns_recovery in [false, true] {
        let mut dialogue = without_handshake(owns_recovery);
        dialogue.sender.write(Write::Unlimited);
        dialogue.send();
        dialogue.wait(50).sack(0, &[(1, 5)]);
        assert!(dialogue.events().contains(&SenderEventKind::FastRetransmit));
        let window = dialogue.sender.cwnd();
        let control = dialogue.sender.control().cwnd();
        assert_eq!(window == control, owns_recovery, "{window:?} {control:?}");
    }
}
