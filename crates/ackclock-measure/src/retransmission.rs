//! Classification of retransmissions by the evidence before them.

use ackclock_spec::units::Span;

/// Number of duplicate ACKs that indicate a loss (RFC 5681 section 3.2).
pub const DUPLICATE_THRESHOLD: u32 = 3;

/// Least pause that indicates a retransmission timeout, as a share of the estimated timeout. Our
/// estimate has other samples and another clock than the sender's. We chose the value without
/// measuring it.
const TIMER_SHARE: f64 = 0.75;

/// Least pause before a tail-loss probe, in smoothed round-trip times. Senders wait for two
/// (RFC 8985 section 7.2), but our estimate differs a little. We chose the value.
const PROBE_ROUND_TRIPS: f64 = 1.5;

/// The cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Duplicate ACKs, SACK, or a partial ACK after these (RFC 5681, 6582, 6675, 8985).
    Fast,
    /// The retransmission timer expired (RFC 6298).
    Timeout,
    /// Slow start over the data in flight at a timeout.
    AfterTimeout,
    /// The last segment as a tail-loss probe (RFC 8985 section 7).
    TailProbe,
    /// None of these causes fits.
    Unclear,
}

/// The sender's phase of loss recovery, as far as it can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPhase {
    /// Nothing in flight was retransmitted.
    #[default]
    Open,
    /// Recovery that began with a fast retransmission.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// Evidence before a retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The sender's phase.
    pub phase: LossPhase,
    /// True if the packet begins at or before the first unacknowledged number.
    pub first: bool,
    /// True if it ends with the last number sent.
    pub last: bool,
    /// True if it was already retransmitted in this phase.
    pub again: bool,
    /// Number of duplicate ACKs since the last ACK of new data.
    pub duplicates: u32,
    /// True if SACK reports data beyond it.
    pub sacked_beyond: bool,
    /// True if the receiver sends SACK blocks.
    pub sack: bool,
    /// Time since its last transmission or the last ACK of new data, whichever is later.
    pub waited: Span,
    /// Time since the last ACK of new data.
    pub since_progress: Span,
    /// Time since the last ACK of any kind passed.
    pub quiet: Span,
    /// Longest time after which an ACK that passed may have caused it.
    pub reaction: Span,
    /// Smoothed round-trip time, if there is one.
    pub smoothed: Option<Span>,
    /// Estimated timeout.
    pub timeout: Span,
}

/// Classifies a retransmission.
pub fn classify(situation: &Situation) -> Class {
    let evidence = situation.duplicates >= DUPLICATE_THRESHOLD || situation.sacked_beyond;
    if situation.first && timer_went_off(situation, evidence) {
        return Class::Timeout;
    }
    if situation.phase == LossPhase::Loss {
        // Senders without the precautions of RFC 6582 section 6.1 react to duplicates of their own
        // spurious retransmissions.
        return if situation.again && evidence {
            Class::Fast
        } else {
            Class::AfterTimeout
        };
    }
    if evidence || situation.phase == LossPhase::Recovery {
        return Class::Fast;
    }
    let probes = |smoothed| waits(situation.waited, PROBE_ROUND_TRIPS, smoothed);
    if situation.last && situation.smoothed.is_some_and(probes) {
        return Class::TailProbe;
    }
    Class::Unclear
}

/// True if the retransmission timer caused the retransmission of the first unacknowledged packet.
fn timer_went_off(situation: &Situation, evidence: bool) -> bool {
    let is_due = |span| waits(span, TIMER_SHARE, situation.timeout);
    let answers_an_ack = situation.quiet <= situation.reaction;
    match (situation.phase, situation.again) {
        // Packets that duplicate or partial ACKs cause are retransmitted once, and right after the
        // ACK.
        (LossPhase::Open, false) => is_due(situation.waited) && !(answers_an_ack && evidence),
        (_, false) => is_due(situation.waited) && !answers_an_ack,
        // Without SACK only the timer retransmits the same packet twice in one recovery. It may be
        // a timer that partial ACKs do not restart (RFC 6582 section 4, "impatient").
        (LossPhase::Recovery, true) if !situation.sack => true,
        // A fast retransmission does not restart the timer (RFC 6298 section 5). SACK shows the
        // loss of a retransmission within about a round trip (RFC 8985).
        (LossPhase::Recovery, true)
            if is_due(situation.since_progress) && !is_due(situation.waited) =>
        {
            let long_ago = |smoothed| waits(situation.waited, 2.0, smoothed);
            !answers_an_ack || situation.smoothed.is_some_and(long_ago)
        }
        (_, true) => is_due(situation.waited),
    }
}

fn waits(waited: Span, share: f64, of: Span) -> bool {
    waited.as_nanos() as f64 >= share * of.as_nanos() as f64
}

/// Evidence on a packet that arrives after later ones and fills a hole.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Age of the hole.
    pub gap: Span,
    /// Number of packets sent between the packet behind the hole and this one, by IP
    /// identification; negative if this one was sent before. `None` if identifications do not count
    /// packets.
    pub ahead: Option<i16>,
    /// Time of sending after the packet behind the hole, in ticks of the timestamps.
    pub later: Option<i32>,
    /// The least whole round trip, if known.
    pub round_trip: Option<Span>,
}

/// Longest disorder before a round trip is known: longer than packets are late without loss,
/// shorter than most round trips. Wireshark's dissector uses the same 3 ms for the same purpose.
const LATE: Span = Span::from_millis(3);

/// True if a packet that fills a hole was sent before the packet behind the hole, and overtaken by
/// it. False if it was retransmitted, because its first transmission was lost before the capture
/// point or missed by the capture.
pub fn is_out_of_order(late: &Late) -> bool {
    match (late.later, late.ahead) {
        // A tick may be longer than a round trip, so equal timestamps show nothing.
        (Some(later), _) if later != 0 => later < 0,
        (_, Some(ahead)) => ahead < 0,
        // A sender learns of a loss after a round trip at the earliest; half of one allows for
        // variation.
        _ => late.gap < late.round_trip.map_or(LATE, |span| span / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    /// A sender with round trips of 100 ms and a timeout of 300 ms, captured at its side.
    const CALM: Situation = Situation {
        phase: LossPhase::Open,
        first: true,
        last: false,
        again: false,
        duplicates: 0,
        sacked_beyond: false,
        sack: true,
        waited: Span::from_millis(110),
        since_progress: Span::from_millis(110),
        quiet: Span::ZERO,
        reaction: Span::from_millis(5),
        smoothed: Some(Span::from_millis(100)),
        timeout: Span::from_millis(300),
    };

    #[test]
    fn duplicate_acks_make_it_fast() {
        let three = Situation {
            duplicates: 3,
            ..CALM
        };
        assert_eq!(classify(&three), Class::Fast);
        assert_eq!(
            classify(&Situation {
                duplicates: 2,
                ..CALM
            }),
            Class::Unclear
        );
        let sacked = Situation {
            sacked_beyond: true,
            ..CALM
        };
        assert_eq!(classify(&sacked), Class::Fast, "RACK needs less than three");
        let slow = Situation {
            waited: MS * 900,
            ..three
        };
        assert_eq!(classify(&slow), Class::Fast, "it answers an ACK");
    }

    #[test]
    fn a_partial_ack_makes_it_fast() {
        let partial = Situation {
            phase: LossPhase::Recovery,
            waited: Span::ZERO,
            ..CALM
        };
        assert_eq!(classify(&partial), Class::Fast);
    }

    #[test]
    fn a_long_silence_is_a_timeout() {
        let silent = Situation {
            waited: MS * 310,
            quiet: MS * 310,
            ..CALM
        };
        assert_eq!(classify(&silent), Class::Timeout);
        for phase in [LossPhase::Recovery, LossPhase::Loss] {
            assert_eq!(classify(&Situation { phase, ..silent }), Class::Timeout);
        }
        let two_duplicates = Situation {
            duplicates: 2,
            quiet: MS * 200,
            ..silent
        };
        assert_eq!(classify(&two_duplicates), Class::Timeout);
    }

    #[test]
    fn a_lost_retransmission_waits_for_the_timer_while_duplicates_come() {
        let lost = Situation {
            phase: LossPhase::Recovery,
            again: true,
            duplicates: 40,
            waited: MS * 400,
            quiet: MS,
            ..CALM
        };
        assert_eq!(classify(&lost), Class::Timeout);
        let early = Situation {
            waited: MS * 120,
            ..lost
        };
        assert_eq!(classify(&early), Class::Fast, "RACK sees that it was lost");
        let timer = Situation {
            quiet: MS * 20,
            since_progress: MS * 310,
            ..early
        };
        assert_eq!(
            classify(&timer),
            Class::Timeout,
            "it runs since the last progress"
        );
        assert_eq!(
            classify(&Situation {
                sack: false,
                ..early
            }),
            Class::Timeout,
            "nobody else would"
        );
    }

    #[test]
    fn what_follows_a_timeout_is_of_its_own() {
        let after = Situation {
            phase: LossPhase::Loss,
            waited: Span::ZERO,
            ..CALM
        };
        assert_eq!(classify(&after), Class::AfterTimeout);
        assert_eq!(
            classify(&Situation {
                first: false,
                ..after
            }),
            Class::AfterTimeout
        );
    }

    #[test]
    fn the_last_segment_again_is_a_probe() {
        let probe = Situation {
            first: false,
            last: true,
            waited: MS * 200,
            quiet: MS * 200,
            ..CALM
        };
        assert_eq!(classify(&probe), Class::TailProbe);
        let alone = Situation {
            first: true,
            ..probe
        };
        assert_eq!(classify(&alone), Class::TailProbe, "before the timer");
        let late = Situation {
            waited: MS * 300,
            ..alone
        };
        assert_eq!(
            classify(&late),
            Class::Timeout,
            "both would have come by now"
        );
    }

    #[test]
    fn a_late_packet_was_overtaken_or_sent_again() {
        let unknown = Late {
            gap: MS * 2,
            ahead: None,
            later: None,
            round_trip: None,
        };
        assert!(is_out_of_order(&unknown));
        assert!(!is_out_of_order(&Late {
            gap: MS * 4,
            ..unknown
        }));
        let far = Late {
            gap: MS * 40,
            round_trip: Some(MS * 100),
            ..unknown
        };
        assert!(is_out_of_order(&far));
        assert!(!is_out_of_order(&Late {
            gap: MS * 60,
            ..far
        }));
        assert!(!is_out_of_order(&Late {
            later: Some(1),
            ..far
        }));
        assert!(is_out_of_order(&Late {
            later: Some(0),
            ..far
        }));
        assert!(is_out_of_order(&Late {
            ahead: Some(-2),
            later: Some(0),
            ..far
        }));
        assert!(!is_out_of_order(&Late {
            ahead: Some(7),
            later: Some(0),
            ..far
        }));
    }
}
