//! Writes the seeds for fuzzing of datagrams and sessions into `fuzz/corpus`. Run from the root:
//! `cargo run -p ackclock-transport --example datagram_seeds`.

use ackclock_transport::keys::SharedKey;
use ackclock_transport::wire::{
    self, Acknowledgement, Challenge, ControlName, Cookie, Data, ErrorCode, FIRST_OF_OTHERS, Hello,
    Message, Report, Start, Stop, StopReason,
};
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let corpus = Path::new("fuzz/corpus");
    let (datagrams, sessions) = (corpus.join("datagram"), corpus.join("session"));
    fs::create_dir_all(&datagrams)?;
    fs::create_dir_all(&sessions)?;
    for (number, message) in messages().iter().enumerate() {
        let is_of_stream = matches!(
            message,
            Message::Data(_) | Message::Ack(_) | Message::Report(_)
        );
        let mut whole = Vec::new();
        let first = if is_of_stream { 7 } else { FIRST_OF_OTHERS };
        wire::write(message, 5, first, SharedKey::public().opening(), &mut whole);
        fs::write(datagrams.join(format!("{number}")), &whole)?;
        fs::write(
            datagrams.join(format!("{number}-cut")),
            &whole[..whole.len() - 3],
        )?;
    }
    for (number, story) in stories().iter().enumerate() {
        fs::write(sessions.join(format!("{number}")), story)?;
    }
    Ok(())
}

fn messages() -> Vec<Message<'static>> {
    let ack = Acknowledgement {
        sequence: 9,
        echo_us: 1,
        held_us: 2,
        nonces: 3,
        marked: 4,
        width: 8,
        vector: 0b1101,
        delivered: 5,
    };
    let data = |payload| {
        Message::Data(Data {
            sent_us: 1,
            nonce: 2,
            rtt_us: 3,
            payload,
        })
    };
    let stop = |reason| Message::Stop(Stop { reason, packets: 3 });
    let control = ControlName::new("tfrcp").expect("it fits");
    vec![
        Message::Hello(Hello { client: [1; 16] }),
        Message::Cookie(Cookie {
            client: [1; 16],
            server: [2; 16],
            cookie: [3; 16],
        }),
        Message::Challenge(Challenge { cookie: [3; 16] }),
        Message::Start(Start {
            client: [1; 16],
            server: [2; 16],
            cookie: [3; 16],
            control,
            most_bit_per_s: 4,
        }),
        data(b""),
        data(b"hello"),
        data(&[7; wire::LONGEST_PAYLOAD]),
        Message::Ack(ack),
        Message::Report(Report {
            arrived: ack,
            receive_byte_per_s: 1,
            loss_event_rate: 2,
        }),
        stop(StopReason::Finished),
        stop(StopReason::Asked),
        stop(StopReason::Confirmed),
        Message::Error(ErrorCode::Busy),
    ]
}

/// Returns sessions in the format of `tests/any_bytes`: the control, then pairs of operation and
/// amount.
fn stories() -> Vec<Vec<u8>> {
    let opened: Vec<u8> = [[0, 10], [2, 0]].concat().repeat(6);
    let on: Vec<u8> = [[0, 20], [2, 0]].concat().repeat(40);
    let endings: [&[u8]; 6] = [
        &[10, 0, 0, 50, 2, 0, 0, 50, 2, 0],    // close
        &[11, 0, 0, 50, 2, 0, 0, 50, 2, 0],    // the sender stops
        &[11, 9, 0, 50, 2, 0, 0, 50, 2, 0],    // the receiver stops
        &[4, 0, 1, 200, 4, 0, 1, 200],         // silence
        &[7, 1, 4, 9, 7, 3, 5, 6, 7, 2, 7, 0], // from elsewhere
        &[3, 0, 0, 9, 3, 0, 10, 99, 10, 99],   // reordered
    ];
    let script =
        |control: u8, ending: &[u8]| [&[control], &opened[..], &[9, 255], &on[..], ending].concat();
    (0..4)
        .flat_map(|control| endings.map(|ending| script(control, ending)))
        .collect()
}
