//! Rate-limited increase (draft-ietf-ccwg-ratelimited-increase-10): windows of flows whose
//! application sends so many segments in each round trip.

use super::*;
use crate::congestion::{ControlContext, ControlKind};
use ackclock_spec::files::NoFiles;
use ackclock_spec::quantity::Segments;
use ackclock_spec::registry::{StreamScope, choose};
use serde_json::json;

const RTT_MS: u64 = 100;

/// A sender of ten segments of window whose data is acknowledged segment by segment.
struct Rounds {
    dialogue: Dialogue,
    acknowledged: u64,
}

impl Rounds {
    fn new(control: &str, window_validation: WindowValidation, ssthresh: Option<u64>) -> Self {
        Rounds::with(control, ssthresh, |parameters| {
            parameters.growth.window_validation = window_validation;
        })
    }

    fn with(control: &str, ssthresh: Option<u64>, change: impl FnOnce(&mut TcpParameters)) -> Self {
        let mut parameters = plain(LossRecovery::Sack);
        parameters.growth.initial_window = Segments(10);
        change(&mut parameters);
        let streams = Streams::new(1, 0);
        let control = choose::<ControlKind>(&json!({ "kind": control }), &NoFiles)
            .unwrap()
            .build(ControlContext {
                place: StreamScope {
                    streams: &streams,
                    name: "control",
                },
                mss: Bytes(MSS),
                initial_window: Bytes(10 * MSS),
                initial_ssthresh: ssthresh.map(|segments| Bytes(segments * MSS)),
                ssthresh_in_whole_segments: false,
                paced: false,
                selective_acks: true,
                counts_marks: false,
                keeps_calls: false,
            });
        let mut sender = Sender::new(Arc::new(parameters), control, streams.stream("jitter"));
        sender.open(Time::ZERO);
        Rounds {
            dialogue: Dialogue {
                sender,
                log: Arc::default(),
                now: Time::ZERO,
                segments: Vec::new(),
            },
            acknowledged: 0,
        }
    }

    /// Writes so many segments, and has all of what is sent acknowledged a round trip later.
    /// Returns the window then, in bytes.
    fn round(&mut self, segments: u64) -> u64 {
        let write = Write::Bytes(Bytes(segments * MSS));
        self.dialogue.sender.write(write);
        let sent = self.dialogue.send().len() as u64;
        self.dialogue.wait(RTT_MS);
        for _ in 0..sent {
            self.acknowledged += 1;
            self.dialogue.ack(self.acknowledged);
        }
        self.window()
    }

    fn window(&self) -> u64 {
        self.dialogue.sender.cwnd().0
    }
}

fn windows(control: &str, validation: WindowValidation, rounds: &[u64]) -> Vec<u64> {
    let mut sender = Rounds::new(control, validation, None);
    let window = |segments: &u64| sender.round(*segments) / MSS;
    rounds.iter().map(window).collect()
}

#[test]
fn slow_start_opens_the_window_to_twice_the_most_in_flight() {
    let rounds = [3, 3, 3, 3, 3, 15, 30];
    for control in ["reno", "cubic"] {
        let by = |validation| windows(control, validation, &rounds);
        let increase = by(WindowValidation::RateLimitedIncrease);
        assert_eq!(increase, [13, 16, 19, 20, 20, 30, 60], "{control}");
    }
    // The initial window counts as in flight.
    let off = windows("reno", WindowValidation::Off, &rounds);
    assert_eq!(off, [13, 16, 19, 22, 25, 40, 70]);
}

/// The example of section 3.1: ten segments, then four.
#[test]
fn the_example_of_the_draft() {
    let rounds = [10, 4];
    let by = |validation| windows("reno", validation, &rounds);
    assert_eq!(by(WindowValidation::RateLimitedIncrease), [20, 20]);
    assert_eq!(by(WindowValidation::Off), [20, 24]);
}

/// After a reduction, only what is in flight from then on counts: the initial window and the flight
/// before do not.
#[test]
fn congestion_avoidance_adds_a_segment_to_the_most_in_flight() {
    let mut reno = Rounds::new("reno", WindowValidation::RateLimitedIncrease, None);
    reno.round(10);
    reno.round(20);
    reno.dialogue.sender.write(Write::Bytes(Bytes(50 * MSS)));
    assert!(reno.dialogue.send().len() >= 40);
    reno.dialogue.wait(RTT_MS);
    let (first, next) = (reno.acknowledged, reno.dialogue.segments.len() as u64);
    for last in first + 2..=next {
        reno.dialogue.sack(first, &[(first + 1, last)]);
        reno.dialogue.send();
    }
    reno.dialogue.wait(RTT_MS);
    let all = reno
        .dialogue
        .segments
        .iter()
        .map(|segment| segment.sequence);
    reno.acknowledged = all.max().unwrap() + 1;
    reno.dialogue.ack(reno.acknowledged);
    let reduced = reno.window();
    assert!((20 * MSS..35 * MSS).contains(&reduced), "{reduced}");
    let full = reduced / MSS;
    let windows: Vec<u64> = [6, 6, full, full, 6, 6]
        .map(|count| reno.round(count))
        .into();
    assert_eq!(windows[..2], [reduced; 2]);
    // Each ACK adds a fraction of a segment, and the last one ends a little above the limit.
    let limit = full * MSS + MSS;
    for grown in &windows[2..] {
        assert!(
            (limit - MSS / 10..limit + MSS / 10).contains(grown),
            "{windows:?}"
        );
    }
    assert_eq!(windows[4..], [windows[3]; 2]);
}

/// A sender with unlimited data is never limited by its rate, whatever bursts it waits for.
#[test]
fn a_window_that_is_full_grows_as_without_the_rule() {
    for control in ["reno", "cubic"] {
        for offload in [false, true] {
            for ssthresh in [None, Some(12)] {
                let grown = |validation| {
                    let mut sender = Rounds::with(control, ssthresh, |parameters| {
                        parameters.growth.window_validation = validation;
                        parameters.sending.segmentation_offload = offload;
                    });
                    let round = |_| sender.round(400);
                    (0..6).map(round).collect::<Vec<u64>>()
                };
                let limited = grown(WindowValidation::RateLimitedIncrease);
                let off = grown(WindowValidation::Off);
                for (limited, off) in limited.iter().zip(&off) {
                    assert!(
                        limited.abs_diff(*off) <= MSS,
                        "{control} {offload}: {limited} {off}"
                    );
                }
            }
        }
    }
}

/// The initial window counts until the window is first reduced.
#[test]
fn an_idle_restart_is_a_reduction() {
    let mut reno = Rounds::with("reno", None, |parameters| {
        parameters.growth.window_validation = WindowValidation::RateLimitedIncrease;
        parameters.growth.idle_restart = IdleRestart::InitialWindow;
    });
    for (segments, window) in [(10, 20), (20, 40), (4, 40)] {
        assert_eq!(reno.round(segments), window * MSS);
    }
    reno.dialogue.wait(10_000);
    // Ten segments again, of which three are in flight.
    assert_eq!(reno.round(3), 10 * MSS);
    assert_eq!(reno.round(8), 16 * MSS);
}
