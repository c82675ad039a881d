//! Attacks: datagrams of others change nothing. Each attack is compared with the same session
//! without it. The sender must send the same datagrams at the same times to the same address,
//! except for answers that are a cookie.

use super::path::{CLIENT, Passed, Path, SECRET, To, address, controls, key, sender_address};
use crate::keys::{SharedKey, TagKey};
use crate::session::{Ending, Source, Written, is_private};
use crate::wire::{self, Envelope, FIRST_OF_OTHERS, Hello, Kind, LONGEST, Message, TAG};
use ackclock_spec::units::{Bytes, Span, Time};
use proptest::prelude::*;

const BEGIN: Time = Time::from_nanos(2_000_000_000);
const END: Time = Time::from_nanos(12_000_000_000);

fn attacker() -> std::net::SocketAddr {
    address(6666)
}

/// Returns a session that has run up to `BEGIN`.
fn session(name: &str) -> Path {
    let mut path = Path::new(name, Source::Synthetic(None));
    path.run_until(BEGIN);
    path
}

/// Returns the datagrams of both sides up to the end, without an attack.
fn undisturbed(name: &str) -> Vec<Passed> {
    let mut path = session(name);
    path.run_until(END);
    path.passed
}

/// Runs a session in which `attack` puts datagrams on the path before each tenth of a second.
/// Asserts that it causes nothing but cookies to strangers.
fn changes_nothing(name: &str, mut attack: impl FnMut(&mut Path)) -> Path {
    let mut path = session(name);
    while path.now < END {
        attack(&mut path);
        path.run_for(0.1);
    }
    let to_strangers =
        |passed: &&Passed| passed.from_sender && passed.other != path.receiver_address;
    for answer in path.passed.iter().filter(to_strangers) {
        assert_eq!(
            answer.bytes[3],
            Kind::Cookie as u8,
            "strangers get nothing but cookies"
        );
    }
    // A repeated HELLO is answered again, as if it had been lost: with a cookie that is ignored.
    let is_cookie = |passed: &&Passed| passed.from_sender && passed.bytes[3] == Kind::Cookie as u8;
    let relevant = |passed: &&Passed| !to_strangers(passed) && !is_cookie(passed);
    let between: Vec<&Passed> = path.passed.iter().filter(relevant).collect();
    let expected = undisturbed(name);
    let expected: Vec<&Passed> = expected.iter().filter(relevant).collect();
    assert_eq!(between.len(), expected.len(), "{name}");
    assert!(between == expected, "{name}: what was sent differs");
    assert_eq!(path.endings(), (None, None));
    path
}

fn last(path: &Path, kind: Kind) -> Vec<u8> {
    let of_kind = |passed: &&Passed| passed.bytes[3] == kind as u8;
    path.passed
        .iter()
        .rfind(of_kind)
        .map(|passed| passed.bytes.clone())
        .unwrap_or_default()
}

fn feedback(path: &Path) -> Vec<u8> {
    let of_kind = |passed: &&Passed| {
        !passed.from_sender && [Kind::Ack as u8, Kind::Report as u8].contains(&passed.bytes[3])
    };
    path.passed.iter().rfind(of_kind).unwrap().bytes.clone()
}

/// Puts the bytes on the path to both sides, from the other side's address and from elsewhere.
fn put_everywhere(path: &mut Path, bytes: &[u8]) {
    for from in [path.receiver_address, attacker()] {
        path.put(path.now, To::Sender(from), bytes.to_vec());
    }
    path.put(path.now, To::Receiver, bytes.to_vec());
}

#[test]
fn the_same_session_is_the_same() {
    for name in controls() {
        changes_nothing(name, |_| {});
    }
}

#[test]
fn spoofed_datagrams_change_nothing() {
    for name in controls() {
        let path = changes_nothing(name, |path| {
            // Feedback, the end, a refusal, data: with the right connection and a future number,
            // but without the key.
            let forger = TagKey::new(&[9; 32]);
            let connection = Envelope::open(&feedback(path)).unwrap().connection;
            let genuine = [
                feedback(path),
                last(path, Kind::Data),
                last(path, Kind::Start),
                last(path, Kind::Cookie),
            ];
            for mut bytes in genuine {
                let number = Envelope::open(&bytes).unwrap().number + 1000;
                bytes[16..24].copy_from_slice(&number.to_be_bytes());
                let end = bytes.len() - TAG;
                let tag = forger.tag(&bytes[..end]);
                bytes[end..].copy_from_slice(&tag);
                put_everywhere(path, &bytes);
            }
            let stop = wire::Stop {
                reason: wire::StopReason::Asked,
                packets: 0,
            };
            for message in [
                Message::Stop(stop),
                Message::Error(wire::ErrorCode::Silence),
            ] {
                let mut bytes = Vec::new();
                wire::write(
                    &message,
                    connection,
                    FIRST_OF_OTHERS + 77,
                    &forger,
                    &mut bytes,
                );
                put_everywhere(path, &bytes);
            }
        });
        assert!(
            path.sender.ignored().unauthenticated >= 1000,
            "{:?}",
            path.sender.ignored()
        );
        assert!(
            path.receiver.ignored().unauthenticated >= 400,
            "{:?}",
            path.receiver.ignored()
        );
    }
}

#[test]
fn replayed_datagrams_change_nothing() {
    for name in controls() {
        let mut seen = 0;
        let path = changes_nothing(name, |path| {
            // All datagrams since the last time, in both directions and reflected; and those from
            // the very beginning.
            let again: Vec<Vec<u8>> = path.passed[seen..]
                .iter()
                .map(|passed| passed.bytes.clone())
                .collect();
            seen = path.passed.len();
            let first = path.passed[..6].iter().map(|passed| passed.bytes.clone());
            for bytes in first.chain(again).collect::<Vec<_>>() {
                // A copy of a datagram in transit may arrive before the original. From the same
                // address that makes no difference.
                path.put(
                    path.now + Span::from_millis(40),
                    To::Sender(path.receiver_address),
                    bytes.clone(),
                );
                path.put(
                    path.now + Span::from_millis(40),
                    To::Sender(attacker()),
                    bytes.clone(),
                );
                path.put(path.now + Span::from_millis(40), To::Receiver, bytes);
            }
        });
        assert!(
            path.sender.ignored().replayed > 100,
            "{:?}",
            path.sender.ignored()
        );
        assert!(
            path.receiver.ignored().replayed > 100,
            "{:?}",
            path.receiver.ignored()
        );
    }
}

#[test]
fn cut_long_and_bent_datagrams_change_nothing() {
    for name in controls() {
        let mut step = 0;
        let path = changes_nothing(name, |path| {
            let genuine = [
                feedback(path),
                last(path, Kind::Data),
                last(path, Kind::Start),
                last(path, Kind::Hello),
            ];
            for bytes in genuine {
                step += 37;
                put_everywhere(path, &bytes[..step % bytes.len()]);
                put_everywhere(path, &[&bytes[..], &vec![0; step % 500 + 1]].concat());
                put_everywhere(path, &vec![bytes[step % bytes.len()]; step % 1500]);
                let mut bent = bytes.clone();
                bent[step % bytes.len()] ^= 1 << (step % 8);
                put_everywhere(path, &bent);
            }
        });
        let ignored = path.sender.ignored();
        assert!(
            ignored.malformed > 500 && ignored.unauthenticated > 50,
            "{ignored:?}"
        );
    }
}

#[test]
fn another_version_changes_nothing_and_is_answered_to_friends_alone() {
    for name in controls() {
        changes_nothing(name, |path| {
            for bytes in [
                feedback(path),
                last(path, Kind::Hello),
                last(path, Kind::Start),
            ] {
                let mut bytes = bytes.clone();
                bytes[2] = 2;
                put_everywhere(path, &bytes);
            }
        });
    }
    // A peer with the session key is told that the version is not supported; one that sends HELLO
    // is not.
    let mut path = session("rap");
    let keys = keys_of(&path);
    let mut bytes = feedback(&path);
    let end = bytes.len() - TAG;
    bytes[2] = 2;
    bytes[16..24].copy_from_slice(&(1_u64 << 40).to_be_bytes());
    let tag = keys.feedback.tag(&bytes[..end]);
    bytes[end..].copy_from_slice(&tag);
    let from = path.receiver_address;
    let mut answer = Vec::new();
    path.sender
        .handle_datagram(path.now, from, &bytes, &mut answer);
    let envelope = Envelope::open(&answer).unwrap();
    assert!(envelope.is_sealed_with(&keys.data));
    assert_eq!(
        envelope.message(),
        Ok(Message::Error(wire::ErrorCode::Version))
    );
    let mut hello = last(&path, Kind::Hello);
    hello[2] = 2;
    let end = hello.len() - TAG;
    let tag = key().opening().tag(&hello[..end]);
    hello[end..].copy_from_slice(&tag);
    path.sender
        .handle_datagram(path.now, attacker(), &hello, &mut answer);
    assert!(answer.is_empty());
}

/// Returns the session keys, derived from the datagrams and the shared key.
pub(super) fn keys_of(path: &Path) -> crate::keys::SessionKeys {
    let start = last(path, Kind::Start);
    let Ok(Message::Start(start)) = Envelope::open(&start).unwrap().message() else {
        panic!("START")
    };
    assert_eq!(start.client, CLIENT);
    key().session(&start.client, &start.server)
}

/// Floods the sender with HELLOs with the key from everywhere. Each answer is shorter than the
/// HELLO, and nothing is remembered.
#[test]
fn a_flood_of_hellos_changes_nothing() {
    for name in controls() {
        let mut count = 0_u16;
        let path = changes_nothing(name, |path| {
            for _ in 0..200 {
                count += 1;
                let mut bytes = Vec::new();
                let hello = Message::Hello(Hello {
                    client: [count as u8; 16],
                });
                wire::write(&hello, 0, FIRST_OF_OTHERS, key().opening(), &mut bytes);
                assert_eq!(bytes.len(), LONGEST);
                path.put(path.now, To::Sender(address(10_000 + count)), bytes);
            }
        });
        let cookies: Vec<_> = path
            .passed
            .iter()
            .filter(|passed| passed.bytes[3] == Kind::Cookie as u8)
            .collect();
        assert_eq!(cookies.len(), usize::from(count) + 1);
        assert!(cookies.iter().all(|cookie| cookie.bytes.len() == 88));
    }
}

/// A START without a cookie, with one of another address, or with an old one opens nothing.
#[test]
fn nothing_is_sent_to_who_has_not_shown_his_address() {
    let mut path = Path::new("rap", Source::Synthetic(None));
    path.run_until(Time::from_nanos(50_000_000)); // START is in transit
    let start = last(&path, Kind::Start);
    assert!(!start.is_empty() && path.data().is_empty());
    let mut other = Path::new("rap", Source::Synthetic(None));
    let mut answer = Vec::new();
    other
        .sender
        .handle_datagram(path.now, attacker(), &start, &mut answer);
    assert_eq!(
        (answer.len(), other.sender.ignored().foreign),
        (0, 1),
        "another address"
    );
    other.sender.handle_datagram(
        Time::from_seconds(21.0),
        path.receiver_address,
        &start,
        &mut answer,
    );
    assert_eq!(
        (answer.len(), other.sender.ignored().foreign),
        (0, 2),
        "too late"
    );
    assert!(other.sender.report().is_none());
    // The same START is valid at its time and place.
    other.sender.handle_datagram(
        Time::from_seconds(9.0),
        path.receiver_address,
        &start,
        &mut answer,
    );
    assert!(other.sender.report().is_some());
}

/// Authentic datagrams from elsewhere: the address stays until the cookie has come back from there.
#[test]
fn a_new_address_is_believed_after_a_cookie() {
    for name in controls() {
        let mut path = session(name);
        let (old, new) = (path.receiver_address, address(7009));
        path.receiver_address = new;
        path.run_for(0.5);
        let to_new = |path: &Path| -> Vec<u8> {
            path.passed
                .iter()
                .filter(|passed| passed.from_sender && passed.other == new)
                .map(|passed| passed.bytes[3])
                .collect()
        };
        let first = to_new(&path);
        if !first.is_empty() {
            assert_eq!(
                first[0],
                Kind::Cookie as u8,
                "{name}: nothing but a challenge before"
            );
        }
        path.run_for(8.0);
        assert_eq!(path.endings(), (None, None), "{name}");
        let kinds = to_new(&path);
        assert_eq!(kinds[0], Kind::Cookie as u8, "{name}");
        assert!(
            kinds.contains(&(Kind::Data as u8)),
            "{name}: data goes there now"
        );
        assert_eq!(path.sender.report().unwrap().peer, new);
        // A host that only repeats datagrams that it saw does not get the data.
        let seen: Vec<Vec<u8>> = path
            .passed
            .iter()
            .filter(|passed| !passed.from_sender)
            .map(|passed| passed.bytes.clone())
            .collect();
        for bytes in seen {
            path.put(path.now, To::Sender(old), bytes);
        }
        path.run_for(1.0);
        assert_eq!(path.sender.report().unwrap().peer, new);
    }
}

#[test]
fn private_addresses_are_told_from_others() {
    for near in [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.9",
        "172.16.0.1",
        "169.254.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:10.0.0.1",
    ] {
        assert!(is_private(near.parse().unwrap()), "{near}");
    }
    for far in [
        "8.8.8.8",
        "172.32.0.1",
        "100.64.0.1",
        "2001:db8::1",
        "::ffff:8.8.8.8",
        "0.0.0.0",
        "::",
    ] {
        assert!(!is_private(far.parse().unwrap()), "{far}");
    }
    // Without permission, a sender does not even answer them.
    let mut path = Path::new("rap", Source::Synthetic(None));
    path.receiver_address = "8.8.8.8:7001".parse().unwrap();
    path.run_for(3.0);
    assert!(path.passed.iter().all(|passed| !passed.from_sender));
}

#[test]
fn reordering_is_no_attack() {
    for name in controls() {
        let mut path = Path::new(name, Source::Written(Written::default()));
        path.weather.jitter = Span::from_millis(30);
        path.sender.write(Time::ZERO, &[1; 100_000]);
        path.sender.close();
        path.run_for(2000.0);
        let finished = Some(Ending::Finished { confirmed: true });
        assert_eq!(path.endings(), (finished, finished), "{name}");
        assert_eq!(path.receiver.report().statistics.delivered, Bytes(100_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Any bytes at any time, to either side, cause neither a panic nor an answer.
    #[test]
    fn any_bytes_break_nothing(
        all in prop::collection::vec(
            (
                prop::collection::vec(any::<u8>(), 0..1500),
                any::<bool>(),
                0_u8..10,
                any::<bool>(),
            ),
            1..40,
        ),
    ) {
        let mut path = session("rap");
        let connection = Envelope::open(&feedback(&path)).unwrap().connection;
        let mut answer = Vec::new();
        let sent = path.sender.report().unwrap().statistics.sent;
        for (mut bytes, known, kind, to_sender) in all {
            if known && bytes.len() >= 24 {
                bytes[..4].copy_from_slice(&[b'A', b'C', 1, kind]);
                bytes[8..16].copy_from_slice(&connection.to_be_bytes());
            }
            if to_sender {
                path.sender.handle_datagram(path.now, attacker(), &bytes, &mut answer);
                prop_assert!(answer.is_empty());
            } else {
                path.receiver.handle_datagram(path.now, &bytes, false, &mut answer);
                prop_assert!(answer.is_empty());
            }
        }
        prop_assert_eq!(path.sender.report().unwrap().statistics.sent, sent);
        prop_assert_eq!(path.endings(), (None, None));
    }
}

#[test]
fn the_secret_is_of_one_process() {
    let mut path = Path::new("rap", Source::Synthetic(None));
    path.run_until(Time::from_nanos(50_000_000));
    let start = last(&path, Kind::Start);
    let other = crate::cookie::Cookies::new(&TagKey::new(&SECRET).digest(&[b"others"]));
    let envelope = Envelope::open(&start).unwrap();
    let Ok(Message::Start(start)) = envelope.message() else {
        panic!("START")
    };
    assert!(!other.accepts(path.now, path.receiver_address, envelope.connection, &start));
    let own = crate::cookie::Cookies::new(&TagKey::new(&SECRET).digest(&[b"cookies"]));
    assert!(own.accepts(path.now, path.receiver_address, envelope.connection, &start));
    assert!(!own.accepts(
        path.now,
        path.receiver_address,
        envelope.connection ^ 2,
        &start
    ));
    assert!(SharedKey::new(b"short").is_err() && sender_address().port() == 7000);
}
