//! Properties that hold for any bytes. The fuzz targets try new bytes; `tests/corpus.rs` replays
//! recorded ones.

use ackclock_core::datagram::DatagramParameters;
use ackclock_core::rate_control::RateControlKind;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, Selection, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use ackclock_transport::keys::{SessionKeys, SharedKey};
use ackclock_transport::session::{
    Receiver, ReceiverSettings, Sender, SenderSettings, Source, Written,
};
use ackclock_transport::wire::{self, Envelope, Message, PREFIX, TAG};
use std::net::SocketAddr;

/// Most datagrams that may leave at one time, whatever has arrived.
const MOST_AT_ONCE: usize = 10_000;

/// Reads any bytes as a datagram. They are read or refused, and a message that can be read is
/// written back the same.
pub fn datagram(data: &[u8]) {
    let Ok(envelope) = Envelope::open(data) else {
        return;
    };
    assert!(!envelope.is_sealed_with(SharedKey::public().opening()) || data.len() >= PREFIX + TAG);
    let Ok(message) = envelope.message() else {
        return;
    };
    let mut again = Vec::new();
    let key = SharedKey::public();
    wire::write(
        &message,
        envelope.connection,
        envelope.number,
        key.opening(),
        &mut again,
    );
    assert_eq!(again[..again.len() - TAG], data[..data.len() - TAG]);
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn control(which: u8) -> Selection<RateControlKind> {
    let entries = RateControlKind::ENTRIES;
    let name = entries[usize::from(which) % entries.len()].name;
    choose(&serde_json::json!({ "kind": name }), &NoFiles).expect("its defaults are good")
}

/// Both ends of a session, and the datagrams in transit between them.
struct Pair {
    now: Time,
    key: SharedKey,
    sender: Sender,
    receiver: Receiver,
    /// To the sender, to the receiver.
    under_way: [Vec<Vec<u8>>; 2],
    /// Connection id and keys, after START has been seen.
    keys: Option<(u64, SessionKeys)>,
    payload: Vec<u8>,
}

impl Pair {
    fn new(which: u8) -> Self {
        let key = SharedKey::public();
        let settings = SenderSettings {
            key: key.clone(),
            controls: vec![control(which)],
            most: Some(BitRate::from_mbit_per_s(10.0)),
            datagrams: DatagramParameters {
                granularity: Span::from_millis(1),
                ..DatagramParameters::default()
            },
            catch_up: Span::from_millis(10),
            finer_ticks: true,
            streams: Streams::new(1, 0),
            place: "flow/0".into(),
            anywhere: false,
        };
        let asked = ReceiverSettings {
            key: key.clone(),
            sender: address(7000),
            control: control(which),
            payload: Bytes(1000),
            most: None,
            wait: Span::from_millis(10_000),
        };
        Pair {
            now: Time::ZERO,
            key,
            sender: Sender::new(settings, Source::Written(Written::default()), &[1; 32]),
            receiver: Receiver::new(Time::ZERO, asked, [2; 16]),
            under_way: Default::default(),
            keys: None,
            payload: Vec::new(),
        }
    }

    fn send_all(&mut self) {
        for count in 0.. {
            assert!(count < MOST_AT_ONCE, "no end to what is sent");
            let mut output = Vec::new();
            if self.sender.poll_transmit(self.now, &mut output).is_some() {
                self.under_way[1].push(output);
            } else if self.receiver.poll_transmit(self.now, &mut output).is_some() {
                self.note(&output);
                self.under_way[0].push(output);
            } else {
                break;
            }
        }
    }

    fn note(&mut self, datagram: &[u8]) {
        if let Ok(envelope) = Envelope::open(datagram)
            && let Ok(Message::Start(start)) = envelope.message()
        {
            self.keys = Some((
                envelope.connection,
                self.key.session(&start.client, &start.server),
            ));
        }
    }

    fn tell_sender(&mut self, from: SocketAddr, datagram: &[u8]) {
        let mut answer = Vec::new();
        self.sender
            .handle_datagram(self.now, from, datagram, &mut answer);
        assert!(
            answer.len() <= datagram.len(),
            "an answer longer than what it answers"
        );
        if !answer.is_empty() && from == address(7001) {
            self.under_way[1].push(answer);
        }
    }

    fn tell_receiver(&mut self, datagram: &[u8]) {
        let before = self.payload.len();
        self.receiver
            .handle_datagram(self.now, datagram, false, &mut self.payload);
        assert!(self.payload.len() <= before + datagram.len());
        self.payload.clear();
    }

    /// Returns the bytes with a prefix of this type and a valid tag, which only a party with the
    /// key can make.
    fn sealed(&self, kind: u8, number: u64, body: &[u8]) -> Vec<u8> {
        let (connection, keys) = match &self.keys {
            Some((connection, keys)) => (*connection, Some(keys)),
            None => (0, None),
        };
        let mut datagram = vec![
            b'A',
            b'C',
            1,
            kind,
            0,
            ((PREFIX + body.len()) / 4).min(255) as u8,
            0,
            0,
        ];
        datagram.extend_from_slice(&connection.to_be_bytes());
        datagram.extend_from_slice(&number.to_be_bytes());
        datagram.extend_from_slice(body);
        let key = match (kind, keys) {
            (1 | 3, _) | (_, None) => self.key.opening(),
            (2 | 4, Some(keys)) => &keys.data,
            (_, Some(keys)) if number & 1 == 0 => &keys.data,
            (_, Some(keys)) => &keys.feedback,
        };
        let tag = key.tag(&datagram);
        datagram.extend_from_slice(&tag);
        datagram
    }

    fn deliver(&mut self, reordered: bool) {
        for side in [0, 1] {
            let mut all = std::mem::take(&mut self.under_way[side]);
            if reordered {
                all.reverse();
            }
            for datagram in all {
                if side == 0 {
                    self.tell_sender(address(7001), &datagram)
                } else {
                    self.tell_receiver(&datagram)
                }
            }
        }
    }
}

/// Takes `most` bytes from the front, or fewer if there are not as many.
fn take<'a>(data: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = data.split_at(most.min(data.len()));
    *data = rest;
    taken
}

fn byte(data: &mut &[u8]) -> u8 {
    take(data, 1).first().copied().unwrap_or(0)
}

/// Plays any bytes as operations on a session: time passes; datagrams arrive, are lost, changed,
/// and made up with and without the key. There is no panic, no answer that amplifies, and no
/// endless sending.
pub fn session(mut data: &[u8]) {
    let mut pair = Pair::new(byte(&mut data));
    while !data.is_empty() {
        let (what, amount) = (byte(&mut data) % 12, byte(&mut data));
        let from = address(if amount & 1 == 0 { 7001 } else { 7002 });
        match what {
            0 => pair.now = pair.now + Span::from_millis(u64::from(amount)),
            1 => pair.now = pair.now + Span::from_millis(u64::from(amount) * 100),
            2 | 3 => pair.deliver(what == 3),
            4 => pair.under_way = Default::default(),
            5 => pair.tell_sender(from, take(&mut data, usize::from(amount) * 6)),
            6 => pair.tell_receiver(take(&mut data, usize::from(amount) * 6)),
            7 | 8 => {
                let (kind, number) = (byte(&mut data) % 10, byte(&mut data));
                let top = if matches!(kind, 4..=6) { 0 } else { 1 << 63 };
                let body = take(&mut data, usize::from(amount));
                let datagram = pair.sealed(kind, u64::from(number) | top, body);
                if what == 7 {
                    pair.tell_sender(from, &datagram)
                } else {
                    pair.tell_receiver(&datagram)
                }
            }
            9 => pair
                .sender
                .write(pair.now, &vec![amount; usize::from(amount) * 50]),
            10 if amount < 16 => pair.sender.close(),
            11 if amount < 8 => pair.sender.stop(pair.now),
            11 if amount < 16 => pair.receiver.stop(pair.now),
            _ => {
                pair.now = pair.now.max(
                    pair.sender
                        .poll_timeout()
                        .min(pair.receiver.poll_timeout())
                        .min(pair.now + Span::from_millis(20_000)),
                )
            }
        }
        pair.send_all();
    }
}
