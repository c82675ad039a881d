//! Any bytes as a packet of any link type: it is decoded or skipped, and a shorter snap length only loses.
//! Seeds: `cargo run -p ackclock-pcap --example fuzz_seeds`.
#![no_main]

use ackclock_pcap::CapturedPacket;
use ackclock_pcap::decode::{LinkType, decode};
use ackclock_pcap::packet::{Options, Transport};
use libfuzzer_sys::fuzz_target;

/// What does not depend on how much of the options the capture holds.
fn without_options(packet: &CapturedPacket) -> CapturedPacket {
    let mut packet = packet.clone();
    if let Transport::Tcp(segment) = &mut packet.transport {
        segment.options = Options::default();
        segment.cut = false;
    }
    packet
}

fuzz_target!(|data: &[u8]| {
    let Some((&[l0, l1, o0, o1, o2, o3], bytes)) = data.split_first_chunk() else {
        return;
    };
    let Some(link) = LinkType::from_number(u16::from_le_bytes([l0, l1]).into()) else {
        return;
    };
    let original_length = u32::from_le_bytes([o0, o1, o2, o3]).max(bytes.len() as u32);
    let whole = decode(7, link, bytes, original_length);
    if let Ok(packet) = &whole {
        assert_eq!(packet.at_ns, 7);
        if let Transport::Tcp(segment) = packet.transport {
            assert!(segment.payload < packet.ip_bytes);
            assert!(segment.options.sacks().len() <= Options::MOST_SACKS);
        }
    }
    for held in (0..bytes.len()).step_by(3) {
        if let Ok(cut) = decode(7, link, &bytes[..held], original_length) {
            let whole = whole.as_ref().expect("what a part of it says, all of it says");
            assert_eq!(without_options(&cut), without_options(whole));
        }
    }
});
