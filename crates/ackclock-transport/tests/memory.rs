//! Datagrams of strangers are forgotten: a flood does not increase the memory by a byte.
#![expect(unsafe_code, reason = "an allocator that counts is one")]

use ackclock_core::datagram::DatagramParameters;
use ackclock_core::rate_control::RateControlKind;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use ackclock_transport::keys::SharedKey;
use ackclock_transport::session::{Receiver, ReceiverSettings, Sender, SenderSettings, Source};
use ackclock_transport::wire::{self, ControlName, FIRST_OF_OTHERS, Hello, Message, Start};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;

/// Counts the bytes that this thread has allocated. Allocations of the test harness's threads do
/// not count.
struct Counting;
thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
}

fn held() -> usize {
    HELD.get()
}

// SAFETY: every call is passed on to the system's allocator. The counts are in a cell that needs
// neither memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Memory of another thread may be freed here: the count wraps, but differences stay right.
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn sealed(message: &Message<'_>, connection: u64, key: &SharedKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::write(
        message,
        connection,
        FIRST_OF_OTHERS,
        key.opening(),
        &mut bytes,
    );
    bytes
}

/// Sends HELLO, and START with another address's cookie, from everywhere, with the key and without.
fn flood(sender: &mut Sender, now: Time, answer: &mut Vec<u8>) {
    let keys = [SharedKey::public(), SharedKey::new(&[9; 32]).unwrap()];
    for count in 0..50_000_u32 {
        let [a, b, c, d] = count.to_be_bytes();
        let from = SocketAddr::from(([10, b, c, d], 1000 + u16::from(a)));
        let key = &keys[count as usize % 2];
        let client = std::array::from_fn(|index| (count >> (index % 4 * 8)) as u8);
        sender.handle_datagram(
            now,
            from,
            &sealed(&Message::Hello(Hello { client }), 0, key),
            answer,
        );
        assert_eq!(
            answer.is_empty(),
            count % 2 == 1,
            "an answer to who has the key alone"
        );
        let control = ControlName::new("rap").unwrap();
        let start = Start {
            client,
            server: [1; 16],
            cookie: [2; 16],
            control,
            most_bit_per_s: 1,
        };
        sender.handle_datagram(
            now,
            from,
            &sealed(&Message::Start(start), u64::from(count) | 1, key),
            answer,
        );
        assert!(answer.is_empty());
    }
}

#[test]
fn a_flood_leaves_nothing_behind() {
    let control =
        || choose::<RateControlKind>(&serde_json::json!({ "kind": "rap" }), &NoFiles).unwrap();
    let settings = SenderSettings {
        key: SharedKey::public(),
        controls: vec![control()],
        most: None,
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
    let mut sender = Sender::new(settings, Source::Synthetic(None), &[1; 32]);
    let mut answer = Vec::with_capacity(4096);
    let before = held();
    flood(&mut sender, Time::ZERO, &mut answer);
    assert_eq!(held(), before);

    // During a session.
    let from = SocketAddr::from(([127, 0, 0, 1], 7001));
    let asked = ReceiverSettings {
        key: SharedKey::public(),
        sender: SocketAddr::from(([127, 0, 0, 1], 7000)),
        control: control(),
        payload: Bytes(1000),
        most: None,
        wait: Span::from_millis(10_000),
    };
    let mut receiver = Receiver::new(Time::ZERO, asked, [7; 16]);
    let mut asked = Vec::new();
    while receiver.poll_transmit(Time::ZERO, &mut asked).is_some() {
        sender.handle_datagram(Time::ZERO, from, &asked, &mut answer);
        if !answer.is_empty() {
            receiver.handle_datagram(Time::ZERO, &answer, false, &mut Vec::new());
        }
        asked.clear();
    }
    assert!(sender.opened().is_some());
    let before = held();
    flood(&mut sender, Time::ZERO, &mut answer);
    assert_eq!(held(), before);
}
