use super::*;
use crate::endpoint::parameters::Preset;

const MSS: u64 = 1000;

/// A recovery with its episode, for segments of `MSS` bytes.
struct Bench {
    recovery: Classic,
    episode: Episode,
    parameters: RecoveryParameters,
}

impl Bench {
    fn new(parameters: RecoveryParameters) -> Self {
        Bench {
            recovery: Classic::new(&parameters),
            episode: Episode::default(),
            parameters,
        }
    }
    fn on_duplicate(&mut self, first: u64, flight: u64) -> bool {
        let Bench {
            recovery, episode, ..
        } = self;
        recovery.on_duplicate(episode, first, flight, MSS)
    }
    fn on_new(&mut self, first: u64, acked: u64) -> Step {
        let Bench {
            recovery,
            episode,
            parameters,
        } = self;
        recovery.on_new(episode, parameters, first, acked, MSS)
    }
    fn window(&self, cwnd: u64) -> u64 {
        self.episode.window(cwnd)
    }
}

fn parameters(algorithm: LossRecovery) -> RecoveryParameters {
    RecoveryParameters {
        algorithm,
        ..Preset::Rfc.parameters().recovery
    }
}
fn in_recovery(parameters: RecoveryParameters) -> Bench {
    let mut bench = Bench::new(parameters);
    assert!(!bench.on_duplicate(10, 20 * MSS));
    assert!(!bench.on_duplicate(10, 20 * MSS));
    assert!(bench.on_duplicate(10, 20 * MSS));
    bench.recovery.begin(&mut bench.episode, 30, MSS);
    bench
}

#[test]
fn limited_transmit_adds_two_segments_at_most_and_only_before_recovery() {
    let mut bench = Bench::new(parameters(LossRecovery::Newreno));
    bench.on_duplicate(10, 20 * MSS);
    assert_eq!(bench.window(5 * MSS), 6 * MSS);
    bench.on_duplicate(10, 20 * MSS);
    assert_eq!(bench.window(5 * MSS), 7 * MSS);
    bench.on_new(11, MSS);
    assert_eq!(bench.window(5 * MSS), 5 * MSS);
}

#[test]
fn duplicates_inflate_but_not_beyond_what_is_outstanding() {
    let mut bench = in_recovery(parameters(LossRecovery::Reno));
    assert_eq!(bench.window(10 * MSS), 13 * MSS);
    bench.on_duplicate(10, 20 * MSS);
    assert_eq!(bench.window(10 * MSS), 14 * MSS);
    for _ in 0..1000 {
        bench.on_duplicate(10, 20 * MSS);
    }
    assert_eq!(bench.window(10 * MSS), 30 * MSS);
}

#[test]
fn a_partial_ack_deflates_by_what_it_acknowledges_less_one_segment() {
    let parameters = parameters(LossRecovery::Newreno);
    let mut bench = in_recovery(parameters);
    for _ in 0..8 {
        bench.on_duplicate(10, 20 * MSS);
    }
    assert_eq!(bench.window(10 * MSS), 21 * MSS);
    assert_eq!(
        bench.on_new(15, 5 * MSS),
        Step::Partial {
            restart_timer: true
        }
    );
    assert_eq!(bench.window(10 * MSS), 17 * MSS);
    // Impatient: the second partial ACK does not restart the timer.
    assert_eq!(
        bench.on_new(16, MSS),
        Step::Partial {
            restart_timer: false
        }
    );
    assert_eq!(bench.on_new(30, 14 * MSS), Step::End);
    bench.episode.end();
    assert_eq!(bench.window(10 * MSS), 10 * MSS);
}

#[test]
fn without_deflation_a_partial_ack_ends_the_inflation() {
    let mut parameters = parameters(LossRecovery::Newreno);
    parameters.partial_window_deflation = false;
    parameters.partial_ack = PartialAck::SlowButSteady;
    let mut bench = in_recovery(parameters);
    for first in [15, 16, 17] {
        assert_eq!(
            bench.on_new(first, MSS),
            Step::Partial {
                restart_timer: true
            }
        );
        assert_eq!(bench.window(10 * MSS), 10 * MSS);
    }
}

#[test]
fn the_careful_do_not_react_twice_to_one_window() {
    for (avoid_multiple_fast_retransmits, again) in [
        (AvoidMultipleFastRetransmits::Always, false),
        (AvoidMultipleFastRetransmits::AfterTimeout, false),
        (AvoidMultipleFastRetransmits::Never, true),
    ] {
        let mut parameters = parameters(LossRecovery::Newreno);
        parameters.avoid_multiple_fast_retransmits = avoid_multiple_fast_retransmits;
        let mut bench = Bench::new(parameters);
        bench.recovery.restart(&mut bench.episode, 30);
        let reacts = (0..3).any(|_| bench.on_duplicate(20, 20 * MSS));
        assert_eq!(reacts, again);
        bench.on_new(31, 11 * MSS);
        assert!((0..3).any(|_| bench.on_duplicate(31, 20 * MSS)));
    }
}

#[test]
fn a_second_timeout_of_one_segment_is_known_as_such() {
    let mut bench = Bench::new(parameters(LossRecovery::Sack));
    assert!(!bench.recovery.note_timeout(3));
    assert!(bench.recovery.note_timeout(3));
    assert!(!bench.recovery.note_timeout(4));
}
