//! Start and end of a connection, and the input that it ignores.

use super::*;
use crate::endpoint::SegmentKind;

#[test]
fn the_handshake_opens_the_connection_and_is_the_first_sample() {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.connection.handshake = true;
    let syn_ack = Acknowledgement {
        kind: AcknowledgementKind::SynAck,
        cumulative: 0,
        echo: Time::NEVER,
        sacks: None,
        ace: 0,
        options: None,
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
    // A second answer has no effect.
    d.sender.handle_acknowledgement(d.now, &syn_ack);
    assert_eq!(d.send(), NONE);

    // The SYN is lost twice: back-off, no sample, a window of one segment, a timeout of three
    // seconds.
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

/// Linux since 6.5: the first five timeouts of a SYN are of one second, then each is twice the one
/// before (`tcp_syn_linear_timeouts`). One lost SYN leaves the initial window
/// (`tcp_init_transfer`).
#[test]
fn linux_sends_four_more_syns_at_intervals_of_a_second() {
    let linux = Preset::Linux.parameters();
    let mut parameters = plain(LossRecovery::Sack);
    parameters.connection.handshake = true;
    parameters.timer.linear_syn_timeouts = linux.timer.linear_syn_timeouts;
    parameters.growth.tolerated_lost_syns = linux.growth.tolerated_lost_syns;
    let opening = |lost: usize| {
        let mut d = Dialogue::with(parameters, 10, None, false);
        d.sender.write(Write::Unlimited);
        d.send();
        (0..lost).for_each(|_| drop(d.timeout()));
        d
    };
    let stamps: Vec<u64> = opening(7)
        .segments
        .iter()
        .map(|syn| syn.stamp.as_nanos() / 1_000_000_000)
        .collect();
    assert_eq!(stamps, [0, 1, 2, 3, 4, 5, 7, 11]);
    for (lost, window) in [(0, 10), (1, 10), (2, 1), (3, 1)] {
        let mut d = opening(lost);
        let syn_ack = Acknowledgement {
            kind: AcknowledgementKind::SynAck,
            cumulative: 0,
            echo: Time::NEVER,
            sacks: None,
            ace: 0,
            options: None,
        };
        d.wait(80);
        d.sender.handle_acknowledgement(d.now, &syn_ack);
        assert_eq!(d.send().len(), window, "{lost} SYNs are lost");
    }
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
    assert!(size_of::<Sender>() <= 832, "{}", size_of::<Sender>());
}
