//! The UDP header (RFC 768).

use super::array;
use crate::packet::Transport;
use crate::skipped::Skip;

const HEADER: u32 = 8;

/// Decodes the captured `bytes` of a datagram, of which `length` bytes are in this IP packet.
/// Returns the source port, the destination port and the header.
pub(super) fn decode(
    bytes: &[u8],
    length: u32,
    first_fragment: bool,
) -> Result<(u16, u16, Transport), Skip> {
    if length < HEADER {
        return Err(Skip::Malformed);
    }
    // The checksum is not needed.
    let header: &[u8; 6] = bytes.first_chunk().ok_or(Skip::TooShort)?;
    let [source, destination, claimed] = [0, 2, 4].map(|at| u16::from_be_bytes(array(header, at)));
    let claimed = u32::from(claimed);
    let datagram = if claimed < HEADER {
        // The length field is 0 if the datagram is too large for 16 bits (RFC 2675 section 4).
        length
    } else if first_fragment {
        claimed
    } else {
        claimed.min(length)
    };
    let payload = datagram - HEADER;
    let begin = bytes.get(HEADER as usize..).and_then(<[u8]>::first_chunk);
    let begin = begin
        .filter(|begin| payload as usize >= begin.len())
        .copied();
    Ok((source, destination, Transport::Udp { payload, begin }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_the_datagram_s_as_far_as_it_can_be() {
        let payload = |claimed: u16, length, first_fragment| {
            let mut bytes = [0, 1, 0, 2, 0, 0, 0, 0];
            bytes[4..6].copy_from_slice(&claimed.to_be_bytes());
            let decoded = decode(&bytes, length, first_fragment).unwrap();
            let (
                1,
                2,
                Transport::Udp {
                    payload,
                    begin: None,
                },
            ) = decoded
            else {
                panic!("{decoded:?}")
            };
            payload
        };
        assert_eq!(payload(108, 108, false), 100);
        assert_eq!(
            payload(108, 112, false),
            100,
            "what follows is not the datagram's (RFC 9868)"
        );
        assert_eq!(
            payload(3008, 1480, true),
            3000,
            "the rest is in later fragments"
        );
        assert_eq!(
            payload(3008, 1480, false),
            1472,
            "more than the packet can hold"
        );
        assert_eq!(payload(0, 70_008, false), 70_000);
        assert_eq!(payload(7, 108, false), 100);
    }

    #[test]
    fn the_first_bytes_are_those_of_the_payload_if_they_are_there() {
        let begin = |bytes: &[u8], length| {
            let (_, _, transport) = decode(bytes, length, false).unwrap();
            let Transport::Udp { begin, .. } = transport else {
                panic!("{transport:?}")
            };
            begin
        };
        let bytes = [0, 1, 0, 2, 0, 13, 0, 0, 0xc3, 0, 0, 0, 1];
        assert_eq!(begin(&bytes, 13), Some([0xc3, 0, 0, 0, 1]));
        assert_eq!(begin(&bytes[..12], 13), None, "cut by the capture");
        let shorter = [0, 1, 0, 2, 0, 12, 0, 0, 0xc3, 0, 0, 0, 1];
        assert_eq!(
            begin(&shorter, 13),
            None,
            "the last byte is padding of the frame"
        );
    }

    #[test]
    fn a_cut_or_impossible_header_is_skipped() {
        assert_eq!(decode(&[0; 5], 100, false), Err(Skip::TooShort));
        assert_eq!(decode(&[0; 8], 7, false), Err(Skip::Malformed));
        assert!(decode(&[0; 6], 8, false).is_ok());
    }
}
