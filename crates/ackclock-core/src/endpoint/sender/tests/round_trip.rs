//! Round-trip times.

use super::*;
use crate::endpoint::parameters::RttSampling;

#[test]
fn karn_takes_no_sample_of_a_segment_sent_twice() {
    for rtt_sampling in [RttSampling::EveryAck, RttSampling::OncePerRoundTrip] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.timer.rtt_sampling = rtt_sampling;
        let mut d = Dialogue::bulk(parameters, 4);
        d.wait(100).duplicates(3, 0);
        d.wait(100).ack(1);
        assert_eq!(d.sender.rtt().latest(), None);
    }
}

#[test]
fn one_segment_per_round_trip_is_timed_or_all_are() {
    for (rtt_sampling, samples) in [
        (RttSampling::EveryAck, 8),
        (RttSampling::OncePerRoundTrip, 2),
    ] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.timer.rtt_sampling = rtt_sampling;
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
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.timer.rtt_sampling = RttSampling::Timestamps;
    let mut d = Dialogue::bulk(parameters, 4);
    d.timeout();
    let echo = d.now;
    d.wait(70);
    let ack = Acknowledgement {
        kind: AcknowledgementKind::Ack,
        cumulative: 1,
        echo,
        sacks: None,
        ace: 0,
        options: None,
    };
    d.sender.handle_acknowledgement(d.now, &ack);
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(70)));
}

#[test]
fn the_back_off_lasts_until_a_segment_sent_once_is_acknowledged() {
    // Karn, RFC 6298 section 5.7 and section 3: with any measurement of the round trip, only a
    // segment that was never retransmitted gives a sample, and only a sample ends the back-off.
    let (plain_rto, doubled) = (Span::from_millis(1000), Span::from_millis(2000));
    for rtt_sampling in [RttSampling::EveryAck, RttSampling::OncePerRoundTrip] {
        let mut parameters = plain(LossRecovery::Newreno);
        parameters.timer.rtt_sampling = rtt_sampling;
        // Segment 0 was timed when it was retransmitted, and so were 1 to 3.
        let mut d = Dialogue::bulk(parameters, 4);
        assert_eq!(d.timeout(), [0]);
        d.wait(100).ack(1);
        assert_eq!(d.sender.rtt().rto(), doubled, "{rtt_sampling:?}");
        // The backed-off timer runs, and continues to double.
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
    let mut parameters = plain(LossRecovery::Newreno);
    parameters.timer.rtt_sampling = RttSampling::OncePerRoundTrip;
    let mut d = Dialogue::bulk(parameters, 8);
    // Segment 0 is lost and retransmitted, which discards the timing in progress. The next new
    // segment is timed at once, without waiting for the ACK of the one timed before.
    d.wait(100).duplicates(7, 0);
    let next = d.segments.last().unwrap().sequence;
    assert!(next >= 8, "new data in recovery");
    assert_eq!(d.sender.rtt().latest(), None);
    d.wait(130).ack(8);
    assert_eq!(d.sender.rtt().latest(), None, "0 to 7 were not timed");
    d.wait(20).ack(next + 1);
    assert_eq!(d.sender.rtt().latest(), Some(Span::from_millis(150)));
}
