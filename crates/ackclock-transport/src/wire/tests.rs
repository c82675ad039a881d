use super::*;
use proptest::prelude::*;

fn key() -> TagKey {
    TagKey::new(&[3; 32])
}

fn nonce() -> impl Strategy<Value = Nonce> {
    any::<Nonce>()
}

fn acknowledgement() -> impl Strategy<Value = Acknowledgement> {
    (any::<[u64; 4]>(), any::<[u32; 3]>(), 0_u8..=64).prop_map(|(longs, words, width)| {
        let sequence = longs[0] >> (longs[0] % 64);
        let within = u64::MAX >> (63 - sequence.min(u64::from(width).saturating_sub(1)));
        Acknowledgement {
            sequence,
            echo_us: longs[1],
            held_us: words[0],
            nonces: words[1],
            marked: words[2],
            width,
            vector: longs[2] & within | 1,
            delivered: longs[3],
        }
    })
}

fn control() -> impl Strategy<Value = ControlName> {
    "[a-z0-9_]{1,16}".prop_map(|name| ControlName::new(&name).unwrap())
}

fn message(payload: &[u8]) -> impl Strategy<Value = Message<'_>> {
    prop_oneof![
        nonce().prop_map(|client| Message::Hello(Hello { client })),
        (nonce(), nonce(), nonce()).prop_map(|(client, server, cookie)| Message::Cookie(Cookie {
            client,
            server,
            cookie
        })),
        nonce().prop_map(|cookie| Message::Challenge(Challenge { cookie })),
        (nonce(), nonce(), nonce(), control(), any::<u64>()).prop_map(
            |(client, server, cookie, control, most_bit_per_s)| {
                Message::Start(Start {
                    client,
                    server,
                    cookie,
                    control,
                    most_bit_per_s,
                })
            }
        ),
        (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(move |(sent_us, nonce, rtt_us)| {
            Message::Data(Data {
                sent_us,
                nonce,
                rtt_us,
                payload,
            })
        }),
        acknowledgement().prop_map(Message::Ack),
        (acknowledgement(), any::<u64>(), any::<u32>()).prop_map(
            |(arrived, receive_byte_per_s, loss_event_rate)| {
                Message::Report(Report {
                    arrived,
                    receive_byte_per_s,
                    loss_event_rate,
                })
            }
        ),
        (0..StopReason::ALL.len(), any::<u64>()).prop_map(|(reason, packets)| {
            Message::Stop(Stop {
                reason: StopReason::ALL[reason],
                packets,
            })
        }),
        (0..ErrorCode::ALL.len()).prop_map(|code| Message::Error(ErrorCode::ALL[code])),
    ]
}

fn number_of(message: &Message<'_>, number: u64) -> u64 {
    let below = number & !FIRST_OF_OTHERS;
    if message.kind().is_of_stream() {
        below
    } else {
        below | FIRST_OF_OTHERS
    }
}

fn written(message: &Message<'_>, connection: u64, number: u64) -> Vec<u8> {
    let mut output = Vec::new();
    write(message, connection, number, &key(), &mut output);
    output
}

const PAYLOAD: [u8; LONGEST_PAYLOAD] = [0x5a; LONGEST_PAYLOAD];

proptest! {
    #[test]
    fn what_is_written_is_read(
        message in (0..=LONGEST_PAYLOAD).prop_flat_map(|length| message(&PAYLOAD[..length])),
        connection in any::<u64>(), number in any::<u64>(),
    ) {
        let number = number_of(&message, number);
        let datagram = written(&message, connection, number);
        let envelope = Envelope::open(&datagram).unwrap();
        prop_assert!(envelope.is_sealed_with(&key()));
        prop_assert_eq!((envelope.connection, envelope.number), (connection, number));
        prop_assert_eq!(envelope.message(), Ok(message));
    }

    /// No answer is longer than the datagram that it answers.
    #[test]
    fn nothing_is_longer_than_what_it_answers(
        payload in 0..=LONGEST_PAYLOAD,
        ack in acknowledgement(),
    ) {
        let data = Message::Data(Data {
            sent_us: 0,
            nonce: 0,
            rtt_us: 0,
            payload: &PAYLOAD[..payload],
        });
        let length = written(&data, 1, 0).len();
        prop_assert_eq!(length, Data::length(payload));
        prop_assert!(length <= LONGEST);
        let report = Report {
            arrived: ack,
            receive_byte_per_s: u64::MAX,
            loss_event_rate: u32::MAX,
        };
        prop_assert!(written(&Message::Ack(ack), 1, 0).len() < length);
        prop_assert!(written(&Message::Report(report), 1, 0).len() <= length);
    }

    /// A datagram that is truncated, extended, or changed in any one bit is refused, its tag
    /// included.
    #[test]
    fn nothing_but_what_was_written_is_authentic(
        message in (0_usize..64).prop_flat_map(|length| message(&PAYLOAD[..length])),
        bit in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(),
    ) {
        let datagram = written(&message, 7, number_of(&message, 5));
        let refused = |bytes: &[u8]| Envelope::open(bytes)
            .map_or(true, |envelope| !envelope.is_sealed_with(&key()));
        let mut changed = datagram.clone();
        let bit = bit.index(datagram.len() * 8);
        changed[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(refused(&changed));
        prop_assert!(refused(&datagram[..cut.index(datagram.len())]));
        prop_assert!(refused(&[&datagram[..], &[0]].concat()));
        let other = TagKey::new(&[4; 32]);
        prop_assert!(!Envelope::open(&datagram).unwrap().is_sealed_with(&other));
    }

    /// Authentic bytes may still be invalid; a message that can be read is written back the same.
    #[test]
    fn any_bytes_are_read_or_refused(
        mut datagram in prop::collection::vec(any::<u8>(), 0..1500),
        kind in 0_u8..10,
        words in prop_oneof![
            any::<u8>(),
            Just(10_u8),
            Just(18),
            Just(19),
            Just(25),
            Just(21),
            Just(9),
            Just(7),
        ],
        top in any::<bool>(),
    ) {
        if datagram.len() >= PREFIX {
            datagram[..9].copy_from_slice(&[b'A', b'C', VERSION, kind, 0, words, 0, 0, 0]);
            datagram[16] = if top { 0x80 } else { 0 };
        }
        let Ok(envelope) = Envelope::open(&datagram) else {
            return Ok(());
        };
        if let Ok(message) = envelope.message() {
            let again = written(&message, envelope.connection, envelope.number);
            prop_assert_eq!(&again[..again.len() - TAG], &datagram[..datagram.len() - TAG]);
        }
    }
}

fn stop() -> Vec<u8> {
    let stop = Stop {
        reason: StopReason::Finished,
        packets: 9,
    };
    written(&Message::Stop(stop), 7, FIRST_OF_OTHERS)
}

fn read(datagram: &[u8]) -> Result<Kind, Malformed> {
    Envelope::open(datagram)?
        .message()
        .map(|message| message.kind())
}

/// The exact bytes, so that nobody changes the format by accident.
#[test]
fn the_bytes_are_those_of_the_format() {
    let data = Data {
        sent_us: 1_000_000,
        nonce: 0xdead_beef,
        rtt_us: 50_000,
        payload: b"hello",
    };
    let datagram = written(&Message::Data(data), 0x0102_0304_0506_0708, 9);
    let mut expected = b"AC\x01\x04\x00\x14\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
    expected.extend(9_u64.to_be_bytes());
    expected.extend(1_000_000_u64.to_be_bytes());
    expected.extend(0xdead_beef_u32.to_be_bytes());
    expected.extend(50_000_u32.to_be_bytes());
    expected.resize(20 * 4, 0);
    expected.extend(b"hello");
    assert_eq!(datagram[..datagram.len() - TAG], expected);
    assert!(datagram.len() >= SHORTEST_DATA, "padded");
}

#[test]
fn each_part_of_the_prefix_must_be_right() {
    assert_eq!(read(&stop()), Ok(Kind::Stop));
    let with = |at: usize, byte: u8| {
        let mut changed = stop();
        changed[at] = byte;
        read(&changed)
    };
    assert_eq!(with(0, b'B'), Err(Malformed::Magic));
    assert_eq!(with(2, 2), Err(Malformed::Version));
    assert_eq!(with(3, 0), Err(Malformed::Unknown), "no type is 0");
    assert_eq!(with(3, 9), Err(Malformed::Unknown), "a type to come");
    assert_eq!(with(4, 1), Err(Malformed::Unknown), "a flag to come");
    assert_eq!(with(7, 1), Err(Malformed::Unknown), "reserved");
    for words in [0, 5, 8, 10, 255] {
        assert_eq!(with(5, words), Err(Malformed::Header), "{words}");
    }
    assert_eq!(with(16, 0), Err(Malformed::Value), "a number of the stream");
    assert_eq!(
        with(PREFIX + 3, 9),
        Err(Malformed::Unknown),
        "no such reason"
    );
    assert_eq!(read(&stop()[..PREFIX + TAG - 1]), Err(Malformed::Length));
    assert_eq!(read(&[b'A'; LONGEST + 1]), Err(Malformed::Length));
}

#[test]
fn an_acknowledgement_claims_only_what_can_be() {
    let ack = Acknowledgement {
        sequence: 3,
        echo_us: 0,
        held_us: 0,
        nonces: 0,
        marked: 0,
        width: 8,
        vector: 0b1111,
        delivered: 0,
    };
    let read = |ack| read(&written(&Message::Ack(ack), 1, 0));
    assert_eq!(read(ack), Ok(Kind::Ack));
    let wrong = [
        Acknowledgement {
            vector: 0b1110,
            ..ack
        }, // not even what it answers
        Acknowledgement {
            vector: 0b1_1111,
            ..ack
        }, // before the first packet
        Acknowledgement {
            vector: 0b1_0001,
            width: 4,
            ..ack
        }, // beyond its width
        Acknowledgement { width: 65, ..ack },
    ];
    for ack in wrong {
        assert_eq!(read(ack), Err(Malformed::Value), "{ack:?}");
    }
}
