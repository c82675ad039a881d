//! Round trip: the reader returns what the encoder and the writer put into a file, and reads any
//! truncated file as far as possible.

use ackclock_core::endpoint::parameters::{Preset, RttSampling};
use ackclock_core::packet::{Content, Ecn, FlowId, Packet, PacketKind, SackBlock};
use ackclock_pcap::packet::Transport;
use ackclock_pcap::{Capture, CapturedPacket, FlowAddresses, Label, PacketEncoder, Reader};
use ackclock_spec::units::Time;
use proptest::collection::vec;
use proptest::prelude::*;

const KINDS: [PacketKind; 5] = [
    PacketKind::Data,
    PacketKind::Ack,
    PacketKind::Syn,
    PacketKind::SynAck,
    PacketKind::Datagram,
];
const ECN: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable, Ecn::CapableL4s, Ecn::Marked];
/// Flow 0 is TCP, flow 1 is UDP.
const FLOWS: [FlowId; 2] = [FlowId(0), FlowId(1)];

/// Time of capture in nanoseconds, packet, SACK blocks if it is an ACK, and label.
type Seen = (u64, Packet, Vec<SackBlock>, Label);

fn label() -> impl Strategy<Value = Label> {
    any::<(u16, u32, u32)>().prop_map(|(identification, value, echo)| Label {
        identification,
        value,
        echo,
    })
}

fn seen() -> impl Strategy<Value = Seen> {
    let block = (0..90_u64, 1..9_u64).prop_map(|(start, length)| SackBlock {
        start,
        end: start + length,
    });
    let at = 0..u64::from(u32::MAX) * 1_000_000_000;
    (
        at,
        0..5_usize,
        0..100_u64,
        0..1_449_u16,
        0..4_usize,
        vec(block, 0..4),
        label(),
    )
        .prop_map(|(at, kind, sequence, payload, ecn, sacks, label)| {
            let kind = KINDS[kind];
            let payload = if matches!(kind, PacketKind::Data | PacketKind::Datagram) {
                payload
            } else {
                0
            };
            let flow = FLOWS[usize::from(kind == PacketKind::Datagram)];
            let mut packet =
                Packet::new(kind, flow, sequence, 52 + payload, Time::from_nanos(at / 2));
            packet.set_ecn(ECN[ecn]);
            (at, packet, sacks, label)
        })
}

fn written(packets: &[Seen], preset: Preset, snap_length: u32) -> Vec<u8> {
    let encoders = vec![
        PacketEncoder::tcp(FlowAddresses::of(FLOWS[0].0), &preset.parameters(), None),
        PacketEncoder::udp(FlowAddresses::of(FLOWS[1].0)),
    ];
    let mut capture = Capture::new(Vec::new(), snap_length, encoders).unwrap();
    for (at, packet, sacks, label) in packets {
        capture
            .write(Time::from_nanos(*at), packet, Content::Sacks(sacks), *label)
            .unwrap();
    }
    capture.finish().unwrap()
}

fn check(preset: Preset, seen: &Seen, read: &CapturedPacket) -> Result<(), TestCaseError> {
    let (at, packet, sacks, label) = seen;
    let addresses = FlowAddresses::of(packet.flow.0);
    let (from, to) = match packet.is_forward() {
        true => (addresses.sender, addresses.receiver),
        false => (addresses.receiver, addresses.sender),
    };
    prop_assert_eq!((read.source, read.destination), (from.into(), to.into()));
    prop_assert_eq!((read.at_ns, read.ecn), (*at, packet.ecn()));
    prop_assert_eq!(read.identification, label.identification);
    let Transport::Tcp(segment) = read.transport else {
        let Transport::Udp { payload, .. } = read.transport else {
            unreachable!("it is not TCP")
        };
        prop_assert_eq!(payload, u32::from(packet.size) - 28);
        prop_assert_eq!(read.ip_bytes, u32::from(packet.size));
        return Ok(());
    };
    let parameters = preset.parameters();
    let (kind, timed) = (
        packet.kind(),
        parameters.timer.rtt_sampling == RttSampling::Timestamps,
    );
    let wire = |number: u64| 1 + (number * parameters.connection.mss.0) as u32;
    let payload = if kind == PacketKind::Data {
        u64::from(packet.size) - parameters.connection.header.0
    } else {
        0
    };
    prop_assert_eq!(u64::from(segment.payload), payload);
    let is_syn = matches!(kind, PacketKind::Syn | PacketKind::SynAck);
    prop_assert_eq!(
        (segment.flags.syn, segment.flags.ack),
        (is_syn, kind != PacketKind::Syn)
    );
    if kind == PacketKind::Data {
        prop_assert_eq!(segment.sequence, wire(packet.sequence));
    }
    prop_assert_eq!(
        segment.options.maximum_segment,
        is_syn.then_some(parameters.connection.mss.0 as u16 + if timed { 12 } else { 0 })
    );
    prop_assert_eq!(segment.options.window_scale.is_some(), is_syn);
    prop_assert_eq!(
        segment.options.timestamps,
        timed.then_some((label.value, label.echo))
    );
    if kind == PacketKind::Ack {
        prop_assert_eq!(segment.acknowledgment, wire(packet.sequence));
        let expected: Vec<_> = sacks
            .iter()
            .map(|block| (wire(block.start), wire(block.end)))
            .collect();
        prop_assert_eq!(segment.options.sacks(), &expected[..]);
    }
    prop_assert!(!segment.cut);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(packets in vec(seen(), 0..40), headers_only: bool) {
        // IP and TCP headers have at most 120 bytes.
        let snap_length = if headers_only { 120 } else { 0 };
        for preset in [Preset::Linux, Preset::Rfc] {
            let file = written(&packets, preset, snap_length);
            let mut reader = Reader::new(&file[..]).unwrap();
            for seen in &packets {
                check(preset, seen, &reader.next().unwrap().unwrap())?;
            }
            prop_assert!(reader.next().is_none());
            prop_assert_eq!(reader.damage(), None);
        }
    }

    #[test]
    fn any_beginning_of_a_file_is_read_as_far_as_it_goes(which in 0..100_usize, part in 0.0..1.0) {
        let mut files = crate::samples::files();
        let (name, file) = files.swap_remove(which % files.len());
        let read = |file: &[u8]| {
            let mut reader = Reader::new(file).ok()?;
            let packets: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
            Some((packets, reader.skipped().total()))
        };
        let held = (part * file.len() as f64) as usize;
        let (all, all_skipped) = read(&file).unwrap();
        // In a gzip file a checksum follows the compressed data.
        let is_packed = name.ends_with(".gz");
        match read(&file[..held]) {
            Some((some, skipped)) => {
                let (count, whole) = (some.len() as u64 + skipped, all.len() as u64 + all_skipped);
                prop_assert!(count < whole || is_packed && count == whole, "{} {}", name, held);
                prop_assert_eq!(&some[..], &all[..some.len()]);
            }
            // No file header here is longer.
            None => prop_assert!(held < 48 || is_packed, "{} {}", name, held),
        }
    }

    #[test]
    fn bytes_changed_anywhere_do_no_harm(
        which in 0..100_usize,
        changes in vec((0.0..1.0, any::<u8>()), 1..8),
    ) {
        let mut files = crate::samples::files();
        let which = which % files.len();
        let (_, mut file) = files.swap_remove(which);
        for (part, value) in changes {
            let at = (part * file.len() as f64) as usize;
            file[at] = value;
        }
        if let Ok(mut reader) = Reader::new(&file[..]) {
            let packets = reader.by_ref().filter(Result::is_ok).count();
            // No record is shorter than 12 bytes.
            prop_assert!(packets <= file.len() / 12);
            prop_assert!(reader.next().is_none());
        }
    }
}
