use super::path::{FULL, Path, Weather, controls, key, sender_address, text};
use crate::keys::SharedKey;
use crate::session::{Ending, SILENCE, Source, Written};
use crate::wire::{ControlName, ErrorCode};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

const FINISHED: Option<Ending> = Some(Ending::Finished { confirmed: true });

fn written() -> Source {
    Source::Written(Written::default())
}

#[test]
fn names_of_controls_fit_into_packets() {
    for name in controls() {
        assert_eq!(ControlName::new(name).unwrap().as_str(), name);
    }
    assert_eq!(ControlName::new("a_name_far_too_long"), None);
    assert_eq!(ControlName::new(""), None);
    assert_eq!(ControlName::new("Tfrc"), None);
}

#[test]
fn what_is_written_arrives_and_both_sides_know_it() {
    for name in controls() {
        let mut path = Path::new(name, written());
        let text = text(54_321);
        path.sender.write(Time::ZERO, &text[..30_000]);
        path.run_for(1.0);
        path.sender.write(path.now, &text[30_000..]);
        path.sender.close();
        path.run_for(600.0);
        assert_eq!(path.endings(), (FINISHED, FINISHED), "{name}");
        assert_eq!(path.delivered, text, "{name}");
        let report = path.sender.report().unwrap();
        assert_eq!(report.statistics.sent_bytes, Bytes(54_321));
        assert_eq!(path.receiver.report().statistics.delivered, Bytes(54_321));
    }
}

#[test]
fn made_up_data_needs_no_writer() {
    for name in controls() {
        let mut path = Path::new(name, Source::Synthetic(Some(Bytes(20_500))));
        path.run_for(600.0);
        assert_eq!(path.endings(), (FINISHED, FINISHED), "{name}");
        assert_eq!(path.delivered, vec![0; 20_500]);
    }
}

#[test]
fn nothing_to_send_is_an_end_too() {
    let mut path = Path::new("rap", Source::Synthetic(Some(Bytes(0))));
    path.run_for(5.0);
    assert_eq!(path.endings(), (FINISHED, FINISHED));
    assert_eq!((path.delivered.len(), path.data().len()), (0, 0));
}

#[test]
fn a_silent_application_is_not_a_dead_one() {
    for name in controls() {
        let mut path = Path::new(name, written());
        path.run_for(100.0);
        assert_eq!(path.endings(), (None, None), "{name}");
        let data = path.data();
        assert!(data.len() >= 45, "{name}: {}", data.len());
        assert!(data.iter().all(|(_, length)| *length < 200), "empty");
        // A little data is not held back for long.
        path.sender.write(path.now, b"hello");
        path.run_for(1.0);
        assert_eq!(path.delivered, b"hello", "{name}");
        path.sender.close();
        path.run_for(5.0);
        assert_eq!(path.endings(), (FINISHED, FINISHED));
    }
}

/// A pause of the application is not lateness of the system: its turns are not made up for.
#[test]
fn what_is_written_after_a_pause_is_paced() {
    let mut path = Path::with("tfrc", written(), BitRate::from_mbit_per_s(20.0), key());
    path.sender.write(Time::ZERO, &text(3_000_000));
    while path.sender.waiting() > 0 {
        path.run_for(0.01);
    }
    path.run_for(0.1);
    let again = path.now;
    path.sender.write(again, &text(100_000));
    path.run_for(0.1);
    let later = path.data().into_iter().filter(|(at, _)| *at >= again);
    let times: Vec<Time> = later.map(|(at, _)| at).collect();
    let together = times.iter().filter(|at| **at == times[0]).count();
    assert_eq!(times.len(), 100);
    assert!(
        together <= 5,
        "{together} at once, of {} packets in a tick",
        20e6 / 8e6
    );
}

#[test]
fn either_side_stops_the_other() {
    for name in controls() {
        let mut path = Path::new(name, Source::Synthetic(None));
        path.run_for(3.0);
        path.sender.stop(path.now);
        path.run_for(1.0);
        assert_eq!(
            path.endings(),
            (Some(Ending::Stopped), Some(Ending::PeerStopped))
        );
        let mut path = Path::new(name, Source::Synthetic(None));
        path.run_for(3.0);
        path.receiver.stop(path.now);
        let sent = path.data().len();
        path.run_for(1.0);
        assert_eq!(
            path.endings(),
            (Some(Ending::PeerStopped), Some(Ending::Stopped))
        );
        assert!(
            path.data().last().unwrap().0 <= Time::from_seconds(3.02),
            "{sent}"
        );
    }
}

#[test]
fn a_side_that_is_gone_is_noticed_in_time() {
    for name in controls() {
        for kills_sender in [true, false] {
            let mut path = Path::new(name, Source::Synthetic(None));
            path.run_for(5.0);
            path.sender_lives = !kills_sender;
            path.receiver_lives = kills_sender;
            let patience = SILENCE + Span::from_millis(100);
            path.run_until(path.now + (SILENCE - Span::from_millis(2_500)));
            assert_eq!(path.endings(), (None, None), "{name}: not too soon");
            path.run_until(Time::from_seconds(5.0) + patience);
            let ending = if kills_sender {
                path.endings().1
            } else {
                path.endings().0
            };
            assert!(
                matches!(ending, Some(Ending::Silence(_))),
                "{name}, {kills_sender}: {ending:?}"
            );
        }
    }
}

#[test]
fn who_finds_nobody_says_so() {
    let mut path = Path::new("rap", Source::Synthetic(None));
    path.sender_lives = false;
    path.run_for(11.0);
    assert_eq!(path.receiver.ending(), Some(Ending::NoAnswer));
    assert!(
        path.passed.len() >= 6 && path.passed.len() < 12,
        "{}",
        path.passed.len()
    );
    assert!(
        path.passed.iter().all(|passed| passed.bytes.len() == 1200),
        "HELLO is padded"
    );
    // With another key there is no sender either, and nothing is answered.
    let other = SharedKey::new(&[8; 32]).unwrap();
    let mut path = Path::with(
        "rap",
        Source::Synthetic(None),
        BitRate::from_mbit_per_s(1.0),
        other,
    );
    path.run_for(11.0);
    assert_eq!(path.receiver.ending(), Some(Ending::NoAnswer));
    assert!(path.passed.iter().all(|passed| !passed.from_sender));
    assert_eq!(
        path.sender.ignored().unauthenticated,
        path.passed.len() as u64
    );
}

#[test]
fn a_second_receiver_is_refused_and_so_is_a_control_not_offered() {
    let mut path = Path::new("rap", Source::Synthetic(None));
    path.run_for(3.0);
    path.receiver = Path::receiver(path.now, "rap", key());
    path.receiver_address = super::path::address(7002);
    path.run_for(3.0);
    assert_eq!(
        path.receiver.ending(),
        Some(Ending::Refused(ErrorCode::Busy))
    );
    assert_eq!(
        path.sender.report().unwrap().peer,
        super::path::address(7001)
    );
    for other in controls().filter(|name| *name != "rap") {
        let mut path = Path::new("rap", Source::Synthetic(None));
        path.receiver = Path::receiver(path.now, other, key());
        path.run_for(3.0);
        assert_eq!(
            path.endings(),
            (None, Some(Ending::Refused(ErrorCode::Control)))
        );
    }
}

/// The rate over any second, all headers counted.
#[test]
fn no_rate_is_above_the_cap() {
    for name in controls() {
        let most = BitRate::from_mbit_per_s(1.0);
        let mut path = Path::with(name, Source::Synthetic(None), most, key());
        path.run_for(60.0);
        let data = path.data();
        let on_wire = |(_, length): &(Time, usize)| (length + 48) as f64 * 8.0;
        for (index, (begin, _)) in data.iter().enumerate() {
            let within = |(at, _): &&(Time, usize)| at.since(*begin) < Span::from_seconds(1.0);
            let bits: f64 = data[index..].iter().take_while(within).map(on_wire).sum();
            assert!(
                bits <= 1.0e6 + 3.0 * on_wire(&data[index]),
                "{name}: {bits} bit in a second"
            );
        }
        assert!(data.len() > 10, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// On any path, each byte arrives at most once, the counts of sender and receiver are
    /// consistent, and both sides end.
    #[test]
    fn whatever_the_path_does_sessions_end(
        loss in 0.0..0.4_f64,
        duplication in 0.0..0.3_f64,
        jitter in 0_u64..200,
        delay in 0_u64..500,
        length in 0_usize..40 * FULL,
    ) {
        for name in controls() {
            let mut path = Path::new(name, written());
            path.weather = Weather {
                delay: Span::from_millis(delay),
                jitter: Span::from_millis(jitter),
                loss,
                duplication,
            };
            path.sender.write(Time::ZERO, &text(length));
            path.sender.close();
            path.run_for(5_000.0);
            let (sender, receiver) = path.endings();
            prop_assert!(receiver.is_some(), "{name}: {sender:?} {receiver:?}");
            let report = path.receiver.report();
            prop_assert_eq!(report.statistics.delivered.0 as usize, path.delivered.len());
            prop_assert_eq!(report.statistics.duplicates, 0);
            if let Some(sent) = path.sender.report() {
                prop_assert!(sender.is_some(), "{name}: {sender:?} {receiver:?}");
                prop_assert!(report.statistics.received <= sent.statistics.sent);
                prop_assert!(path.delivered.len() <= length);
            }
            prop_assert!(path
                .passed
                .iter()
                .all(|passed| passed.from_sender || passed.other != sender_address()));
        }
    }
}
