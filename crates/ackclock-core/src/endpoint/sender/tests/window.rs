//! The other limits of the window, and the data that counts for its growth.

use super::*;
use ackclock_spec::quantity::{OptionalWindow, Segments};

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.receiver.receive_window = OptionalWindow::Segments(3);
    let mut d = Dialogue::unlimited(parameters, 10);
    assert_eq!(d.send(), [0, 1, 2]);
    d.wait(100).duplicates(2, 0);
    assert_eq!(d.ack(0), [0]);
    assert_eq!(d.duplicates(20, 0), NONE);
    assert_eq!(d.last_ack().limited, SendLimit::ReceiveWindow);
}

#[test]
fn a_receive_window_without_room_lets_nothing_through() {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(MSS - 1));
    let mut d = Dialogue::unlimited(parameters, 10);
    assert_eq!(d.send(), NONE);
}

#[test]
fn a_burst_ends_at_its_limit_and_goes_on_at_the_next_ack() {
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.sending.max_burst = Segments(3);
    let mut d = Dialogue::unlimited(parameters, 10);
    assert_eq!(d.send(), [0, 1, 2]);
    assert_eq!(d.ack(1), [3, 4, 5]);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (window_validation, credit) in [
        (WindowValidation::HalfUsed, 0),
        (WindowValidation::Off, MSS),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.growth.window_validation = window_validation;
        let mut d = Dialogue::transfer(parameters, 10, 4 * MSS);
        d.wait(100).ack(1);
        assert_eq!(d.last_ack().credit, Bytes(credit));
        assert_eq!(d.last_ack().limited, SendLimit::Application);
        let mut d = Dialogue::bulk(parameters, 10);
        d.wait(100).ack(1);
        assert_eq!(d.last_ack().credit, Bytes(MSS));
        assert_eq!(d.last_ack().limited, SendLimit::CongestionWindow);
    }
}

#[test]
fn an_ack_counts_by_the_rule() {
    for (byte_counting, plain_credit, loss_credit) in [
        (ByteCounting::PerAck, MSS, MSS),
        (ByteCounting::AbcL2, 2 * MSS, MSS),
        // Only one of the four segments acknowledged after the timeout had been retransmitted;
        // Linux counts them all.
        (ByteCounting::All, 3 * MSS, 4 * MSS),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.growth.byte_counting = byte_counting;
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
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.growth.idle_restart = idle_restart;
        parameters.growth.initial_window = Segments(2);
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
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.growth.idle_restart = IdleRestart::InitialWindow;
    parameters.growth.initial_window = Segments(2);
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
