//! Both ends, and a path between them that can lose, delay and duplicate.

use crate::keys::SharedKey;
use crate::session::{Ending, Receiver, ReceiverSettings, Sender, SenderSettings, Source};
use crate::wire::{LONGEST_PAYLOAD, Nonce};
use ackclock_core::datagram::DatagramParameters;
use ackclock_core::rate_control::RateControlKind;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, Selection, choose};
use ackclock_spec::streams::{Stream, Streams};
use ackclock_spec::units::{BitRate, Bytes, Probability, Span, Time};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;

pub(super) const CLIENT: Nonce = [0xc1; 16];
pub(super) const SECRET: [u8; 32] = [0x5e; 32];

pub(super) fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
pub(super) fn sender_address() -> SocketAddr {
    address(7000)
}
pub(super) fn key() -> SharedKey {
    SharedKey::new(&[7; 32]).unwrap()
}
/// Returns the names of all controls.
pub(super) fn controls() -> impl Iterator<Item = &'static str> {
    RateControlKind::ENTRIES.iter().map(|entry| entry.name)
}
fn control(name: &str) -> Selection<RateControlKind> {
    choose(&json!({ "kind": name }), &NoFiles).unwrap()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum To {
    Sender(SocketAddr),
    Receiver,
}

/// A datagram that has been sent: time, direction and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub at: Time,
    pub from_sender: bool,
    /// Destination of the sender's datagrams, source of the receiver's.
    pub other: SocketAddr,
    pub bytes: Vec<u8>,
}

/// Loss, delay and duplication on the path.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    pub delay: Span,
    pub jitter: Span,
    pub loss: f64,
    pub duplication: f64,
}

impl Default for Weather {
    fn default() -> Self {
        Weather {
            delay: Span::from_millis(20),
            jitter: Span::ZERO,
            loss: 0.0,
            duplication: 0.0,
        }
    }
}

pub(super) struct Path {
    pub now: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Address of the receiver.
    pub receiver_address: SocketAddr,
    pub weather: Weather,
    pub passed: Vec<Passed>,
    pub delivered: Vec<u8>,
    /// False once that side has been killed: it neither receives nor sends.
    pub sender_lives: bool,
    pub receiver_lives: bool,
    chance: Stream,
    under_way: BTreeMap<(Time, u64), (To, Vec<u8>)>,
    count: u64,
}

impl Path {
    pub fn new(name: &str, source: Source) -> Self {
        Self::with(name, source, BitRate::from_mbit_per_s(2.0), key())
    }

    pub fn with(name: &str, source: Source, most: BitRate, receivers_key: SharedKey) -> Self {
        let settings = SenderSettings {
            key: key(),
            controls: vec![control(name)],
            most: Some(most),
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
        Path {
            now: Time::ZERO,
            sender: Sender::new(settings, source, &SECRET),
            receiver: Self::receiver(Time::ZERO, name, receivers_key),
            receiver_address: address(7001),
            weather: Weather::default(),
            passed: Vec::new(),
            delivered: Vec::new(),
            sender_lives: true,
            receiver_lives: true,
            chance: Streams::new(2, 0).stream("path"),
            under_way: BTreeMap::new(),
            count: 0,
        }
    }

    pub fn receiver(now: Time, name: &str, key: SharedKey) -> Receiver {
        let settings = ReceiverSettings {
            key,
            sender: sender_address(),
            control: control(name),
            payload: Bytes(1000),
            most: None,
            wait: Span::from_millis(10_000),
        };
        Receiver::new(now, settings, CLIENT)
    }

    /// Puts a datagram on the path. It arrives at `at`, without loss or delay.
    pub fn put(&mut self, at: Time, to: To, bytes: Vec<u8>) {
        self.count += 1;
        self.under_way.insert((at, self.count), (to, bytes));
    }

    fn send(&mut self, from_sender: bool, other: SocketAddr, bytes: Vec<u8>) {
        assert!(bytes.len() <= 1200);
        let to = if from_sender {
            To::Receiver
        } else {
            To::Sender(self.receiver_address)
        };
        let passed = Passed {
            at: self.now,
            from_sender,
            other,
            bytes: bytes.clone(),
        };
        self.passed.push(passed);
        let is_for_us = !from_sender || other == self.receiver_address;
        let chance = |stream: &mut Stream, share| stream.chance(Probability::new(share).unwrap());
        let copies = u32::from(!chance(&mut self.chance, self.weather.loss))
            + u32::from(chance(&mut self.chance, self.weather.duplication));
        for _ in 0..copies {
            let late = self.chance.uniform_span(self.weather.jitter);
            if is_for_us {
                self.put(
                    self.now + self.weather.delay + late,
                    to.clone(),
                    bytes.clone(),
                );
            }
        }
    }

    /// Transmits everything that both sides have to send now.
    fn flush(&mut self) {
        let mut output = Vec::new();
        while self.sender_lives
            && let Some(to) = self.sender.poll_transmit(self.now, &mut output)
        {
            self.send(true, to, std::mem::take(&mut output));
        }
        while self.receiver_lives
            && let Some(to) = self.receiver.poll_transmit(self.now, &mut output)
        {
            assert_eq!(to, sender_address());
            let from = self.receiver_address;
            self.send(false, from, std::mem::take(&mut output));
        }
    }

    fn next_moment(&self) -> Time {
        let sender = if self.sender_lives {
            self.sender.poll_timeout()
        } else {
            Time::NEVER
        };
        let receiver = if self.receiver_lives {
            self.receiver.poll_timeout()
        } else {
            Time::NEVER
        };
        let arrival = self
            .under_way
            .keys()
            .next()
            .map_or(Time::NEVER, |(at, _)| *at);
        sender.min(receiver).min(arrival)
    }

    /// Runs up to a time, or until both sides have ended.
    pub fn run_until(&mut self, until: Time) {
        self.flush();
        let mut repeated = 0;
        while self.next_moment() <= until {
            let next = self.next_moment();
            repeated = if next <= self.now { repeated + 1 } else { 0 };
            assert!(repeated < 10_000, "nothing moves on at {:?}", self.now);
            self.now = self.now.max(next);
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= self.now
            {
                let (to, bytes) = entry.remove();
                self.arrive(to, &bytes);
            }
            self.flush();
        }
        self.now = self.now.max(until);
    }

    fn arrive(&mut self, to: To, bytes: &[u8]) {
        let mut answer = Vec::new();
        match to {
            To::Receiver if self.receiver_lives => {
                self.receiver
                    .handle_datagram(self.now, bytes, false, &mut self.delivered);
            }
            To::Sender(from) if self.sender_lives => {
                self.sender
                    .handle_datagram(self.now, from, bytes, &mut answer);
                if !answer.is_empty() {
                    assert!(
                        answer.len() <= bytes.len(),
                        "an answer is no longer than what it answers"
                    );
                    self.send(true, from, answer);
                }
            }
            _ => {}
        }
    }

    pub fn run_for(&mut self, seconds: f64) {
        self.run_until(self.now + Span::from_seconds(seconds));
    }

    pub fn endings(&self) -> (Option<Ending>, Option<Ending>) {
        (self.sender.ending(), self.receiver.ending())
    }

    /// Returns times and lengths of the DATA that left: all that shows the rate.
    pub fn data(&self) -> Vec<(Time, usize)> {
        let is_data = |passed: &&Passed| passed.from_sender && passed.bytes[3] == 4;
        self.passed
            .iter()
            .filter(is_data)
            .map(|passed| (passed.at, passed.bytes.len()))
            .collect()
    }
}

/// Returns a text of this length, in which each word holds its index.
pub(super) fn text(length: usize) -> Vec<u8> {
    (0..length.div_ceil(4) as u32)
        .flat_map(u32::to_be_bytes)
        .take(length)
        .collect()
}

pub(super) const FULL: usize = LONGEST_PAYLOAD;
