//! A receiver that has the key and makes false claims: it gains nothing.

use super::attacks::keys_of;
use super::path::{Passed, Path, To, controls};
use crate::session::{Ending, Source};
use crate::wire::{self, Acknowledgement, Envelope, Kind, Message, Report};
use ackclock_core::rate_control::RateState;
use ackclock_spec::units::Time;

fn session(name: &str) -> Path {
    let mut path = Path::new(name, Source::Synthetic(None));
    path.run_until(Time::from_seconds(3.0));
    path
}

/// Returns the last acknowledgement, and the report that it was part of, if any.
fn genuine(path: &Path) -> (Acknowledgement, Option<Report>) {
    let of_receiver = |passed: &&Passed| !passed.from_sender && matches!(passed.bytes[3], 5 | 6);
    let bytes = &path.passed.iter().rfind(of_receiver).unwrap().bytes;
    match Envelope::open(bytes).unwrap().message().unwrap() {
        Message::Ack(ack) => (ack, None),
        Message::Report(report) => (report.arrived, Some(report)),
        other => panic!("{other:?}"),
    }
}

fn connection(path: &Path) -> u64 {
    let is_start = |passed: &&Passed| passed.bytes[3] == Kind::Start as u8;
    let start = path.passed.iter().find(is_start).unwrap();
    Envelope::open(&start.bytes).unwrap().connection
}

/// Sends a message with the receiver's key, from its address, with a future number.
fn say(path: &mut Path, message: &Message<'_>) {
    let mut bytes = Vec::new();
    wire::write(
        message,
        connection(path),
        1 << 40,
        &keys_of(path).feedback,
        &mut bytes,
    );
    let from = path.receiver_address;
    path.sender
        .handle_datagram(path.now, from, &bytes, &mut Vec::new());
}

fn acknowledge(name: &str, lie: impl Fn(&mut Acknowledgement)) -> Path {
    let mut path = session(name);
    let (mut ack, report) = genuine(&path);
    lie(&mut ack);
    let message = match report {
        None => Message::Ack(ack),
        Some(report) => Message::Report(Report {
            arrived: ack,
            ..report
        }),
    };
    say(&mut path, &message);
    path
}

/// Formats all of the state, so that NaN equals itself.
fn shown(state: &RateState) -> String {
    format!("{state:?}")
}

fn rate(path: &Path) -> f64 {
    path.sender.report().unwrap().state.rate
}

#[test]
fn who_acknowledges_what_has_not_arrived_is_found_out() {
    for name in controls() {
        let before = rate(&session(name));
        let lies: [fn(&mut Acknowledgement); 3] = [
            |ack| ack.sequence += 1_000_000,               // not even sent
            |ack| ack.sequence += 1,                       // sent or not: its nonce is not known
            |ack| ack.nonces = ack.nonces.wrapping_add(1), // guessed
        ];
        for lie in lies {
            let mut path = acknowledge(name, lie);
            assert_eq!(path.sender.ending(), Some(Ending::Dishonest), "{name}");
            assert_eq!(path.sender.ignored().dishonest, 1);
            assert!(rate(&path) <= before, "{name}");
            let sent = path.data().len();
            path.run_for(1.0);
            assert_eq!(path.data().len(), sent, "{name}: nothing more is sent");
            let refused = Some(Ending::Refused(wire::ErrorCode::Dishonest));
            assert_eq!(
                path.receiver.ending(),
                refused,
                "{name}: and the receiver knows why"
            );
        }
    }
}

#[test]
fn the_senders_own_record_counts_not_the_echo() {
    for name in controls() {
        let honest = acknowledge(name, |_| {});
        let lied = acknowledge(name, |ack| ack.echo_us = ack.echo_us.wrapping_add(40_000));
        let (honest, lied) = (
            honest.sender.report().unwrap(),
            lied.sender.report().unwrap(),
        );
        assert_eq!(lied.wrong_echoes, 1, "{name}");
        assert_eq!(shown(&lied.state), shown(&honest.state), "{name}");
    }
}

#[test]
fn a_time_held_longer_than_there_was_is_none() {
    for name in controls() {
        let honest = acknowledge(name, |ack| ack.held_us = 0);
        let lied = acknowledge(name, |ack| ack.held_us = u32::MAX);
        assert_eq!(lied.sender.report().unwrap().unusable_rtts, 1, "{name}");
        let (honest, lied) = (
            honest.sender.report().unwrap(),
            lied.sender.report().unwrap(),
        );
        assert_eq!(shown(&lied.state), shown(&honest.state), "{name}");
    }
}

#[test]
fn nobody_receives_faster_than_is_sent() {
    for name in controls() {
        let mut path = session(name);
        let (ack, Some(report)) = genuine(&path) else {
            continue;
        };
        let greedy = Report {
            arrived: ack,
            receive_byte_per_s: u64::MAX / 2,
            ..report
        };
        let sent: usize = path.data().iter().map(|(_, length)| length).sum();
        say(&mut path, &Message::Report(greedy));
        let report = path.sender.report().unwrap();
        assert_eq!((report.clamped, path.sender.ending()), (1, None), "{name}");
        // TFRC at most doubles the receive rate, and that is at most what was sent in all that
        // time.
        assert!(
            report.state.rate <= 2.0 * sent as f64 / 0.04,
            "{name}: {}",
            report.state.rate
        );
    }
}

#[test]
fn what_is_delivered_is_no_more_than_what_was_sent() {
    for name in controls() {
        let path = acknowledge(name, |ack| ack.delivered = u64::MAX);
        let report = path.sender.report().unwrap();
        assert_eq!(report.delivered, report.statistics.sent_bytes, "{name}");
    }
}

/// A receiver remembers arrivals for one or two round trips, and answers once per round trip.
#[test]
fn a_round_trip_time_that_cannot_be_is_none() {
    let mut path = session("tfrc");
    path.sender_lives = false;
    path.run_for(1.0);
    let connection = connection(&path);
    let (data, next) = (keys_of(&path).data, path.data().len() as u64);
    let answered = |path: &Path| {
        path.passed
            .iter()
            .filter(|passed| !passed.from_sender)
            .count()
    };
    for number in next..next + 5 {
        let message = Message::Data(wire::Data {
            sent_us: 0,
            nonce: 0,
            rtt_us: u32::MAX,
            payload: b"",
        });
        let mut bytes = Vec::new();
        wire::write(&message, connection, number, &data, &mut bytes);
        path.put(path.now, To::Receiver, bytes);
        let before = answered(&path);
        path.run_for(0.5);
        assert!(answered(&path) > before, "{number}: not after an hour");
    }
}
