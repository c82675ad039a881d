//! Why a packet was sent again, from what could be seen before it.

use ackclock_core::units::Span;

/// Duplicate ACKs that mean a loss (RFC 5681 section 3.2).
pub const DUPLICATE_THRESHOLD: u32 = 3;

/// A pause counts as one for the retransmission timer from this share of the estimated timeout on.
/// Our estimate has other samples than the sender's had, and another clock. Chosen here, not
/// measured.
const TIMER_SHARE: f64 = 0.75;

/// A tail-loss probe goes out after two smoothed round-trip times (RFC 8985 section 7.2); ours are
/// not quite the sender's. Chosen here.
const PROBE_ROUND_TRIPS: f64 = 1.5;

/// Why a packet was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Duplicate ACKs, or SACK, or a partial ACK after such (RFC 5681, 6582, 6675, 8985).
    Fast,
    /// The retransmission timer went off (RFC 6298).
    Timeout,
    /// Slow start over what was outstanding then.
    AfterTimeout,
    /// The last segment again, to see whether it was lost (RFC 8985 section 7).
    TailProbe,
    /// None of these fits.
    Unclear,
}

/// What the sender is busy with, as far as can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPhase {
    /// Nothing was sent again of what is outstanding.
    #[default]
    Open,
    /// Recovery that began with a fast retransmission.
    Recovery,
    /// What follows a timeout.
    Loss,
}

/// What could be seen before a packet was sent again.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What the sender is busy with.
    pub phase: LossPhase,
    /// The packet begins with the first number that is not acknowledged, or before it.
    pub first: bool,
    /// It ends with the last number sent.
    pub last: bool,
    /// It was sent again before in this phase.
    pub again: bool,
    /// Duplicate ACKs since the last ACK of new data.
    pub duplicates: u32,
    /// SACK reports something beyond it.
    pub sacked_beyond: bool,
    /// The receiver sends SACK blocks.
    pub sack: bool,
    /// How long ago its last transmission and the last ACK of new data are, whichever is later.
    pub waited: Span,
    /// How long ago the last ACK of new data is.
    pub since_progress: Span,
    /// How long ago the last ACK of any kind passed.
    pub quiet: Span,
    /// An ACK that passed no longer ago may have caused it.
    pub reaction: Span,
    /// Smoothed round-trip time, if there is one.
    pub smoothed: Option<Span>,
    /// Estimated timeout.
    pub timeout: Span,
}

/// Why a packet was sent again.
pub fn classify(situation: &Situation) -> Class {
    let evidence = situation.duplicates >= DUPLICATE_THRESHOLD || situation.sacked_beyond;
    if situation.first && timer_went_off(situation, evidence) {
        return Class::Timeout;
    }
    if situation.phase == LossPhase::Loss {
        // Senders that are not careful (RFC 6582 section 6.1) react to duplicates of what they have
        // sent needlessly.
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

/// Whether it was the retransmission timer that sent the first packet not acknowledged again.
fn timer_went_off(situation: &Situation, evidence: bool) -> bool {
    let is_due = |span| waits(span, TIMER_SHARE, situation.timeout);
    let answers_an_ack = situation.quiet <= situation.reaction;
    match (situation.phase, situation.again) {
        // What duplicates and partial ACKs can cause has not been sent before, and comes with them.
        (LossPhase::Open, false) => is_due(situation.waited) && !(answers_an_ack && evidence),
        (_, false) => is_due(situation.waited) && !answers_an_ack,
        // Without SACK nothing but the timer sends the same twice in one recovery. It may be one
        // that partial ACKs do not restart (RFC 6582 section 4, "impatient").
        (LossPhase::Recovery, true) if !situation.sack => true,
        // A fast retransmission does not restart the timer (RFC 6298 section 5). That it was lost
        // is seen from SACK within a round trip or so (RFC 8985).
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

/// What is known of a packet that comes after later ones and fills a hole.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// For how long the hole has been there.
    pub gap: Span,
    /// How many packets after the one behind the hole it was sent, by IP identification; negative
    /// if before. `None` if identifications do not count.
    pub ahead: Option<i16>,
    /// How much later than that one it was sent, by timestamps.
    pub later: Option<i32>,
    /// The least whole round trip, if known.
    pub round_trip: Option<Span>,
}

/// Before a round trip is known: longer than packets are late for by other reasons than loss,
/// shorter than most round trips. Wireshark's dissector takes the same 3 ms for the same purpose.
const LATE: Span = Span::from_millis(3);

/// Whether a packet that fills a hole was sent before what lies behind the hole, and overtaken, or
/// was sent again, its first transmission lost before the capture point or missed by the capture.
pub fn is_out_of_order(late: &Late) -> bool {
    match (late.later, late.ahead) {
        // A tick may be longer than a round trip: equal timestamps say nothing.
        (Some(later), _) if later != 0 => later < 0,
        (_, Some(ahead)) => ahead < 0,
        // Nobody learns of a loss in less than a round trip; half of it allows for one that varies.
        _ => late.gap < late.round_trip.map_or(LATE, |span| span / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    /// A sender with round trips of 100 ms and a timeout of 300 ms, at whose side we are.
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
