//! The TCP header (RFC 9293 section 3.1) and its options.

use super::array;
use crate::packet::{AccurateEcn, AccurateEcnShape, Flags, Options, Segment};
use crate::skipped::Skip;
use etherparse::TcpHeader;
use etherparse::tcp_option::{
    KIND_END, KIND_MAXIMUM_SEGMENT_SIZE, KIND_NOOP, KIND_SELECTIVE_ACK,
    KIND_SELECTIVE_ACK_PERMITTED, KIND_TIMESTAMP, KIND_WINDOW_SCALE,
};

/// Kinds of the AccECN option by the order of its counters (RFC 9768 section 3.2.3): ECT(0), CE,
/// ECT(1), or ECT(1), CE, ECT(0).
const KIND_ACCURATE_ECN_0: u8 = 172;
const KIND_ACCURATE_ECN_1: u8 = 174;

/// Bytes needed of the header, up to the window. The checksum and the urgent pointer behind it are
/// not needed.
const NEEDED: usize = 16;

/// Decodes the captured `bytes` of a segment of `length` bytes. Returns the source port, the
/// destination port and the rest of the header.
pub(super) fn decode(bytes: &[u8], length: u32) -> Result<(u16, u16, Segment), Skip> {
    if length < TcpHeader::MIN_LEN as u32 {
        return Err(Skip::Malformed);
    }
    let fixed: &[u8; NEEDED] = bytes.first_chunk().ok_or(Skip::TooShort)?;
    let header = usize::from(fixed[12] >> 4) * 4;
    let payload = match length.checked_sub(header as u32) {
        Some(payload) if header >= TcpHeader::MIN_LEN => payload,
        _ => return Err(Skip::Malformed),
    };
    let segment = Segment {
        sequence: u32::from_be_bytes(array(fixed, 4)),
        acknowledgment: u32::from_be_bytes(array(fixed, 8)),
        payload,
        window: u16::from_be_bytes(array(fixed, 14)),
        flags: flags(fixed[12], fixed[13]),
        options: options(
            bytes
                .get(TcpHeader::MIN_LEN..header.min(bytes.len()))
                .unwrap_or_default(),
        ),
        cut: bytes.len() < header,
    };
    let [source, destination] = [0, 2].map(|at| u16::from_be_bytes(array(fixed, at)));
    Ok((source, destination, segment))
}

const fn flags(reserved: u8, bits: u8) -> Flags {
    Flags {
        fin: bits & 0x01 != 0,
        syn: bits & 0x02 != 0,
        rst: bits & 0x04 != 0,
        psh: bits & 0x08 != 0,
        ack: bits & 0x10 != 0,
        ece: bits & 0x40 != 0,
        cwr: bits & 0x80 != 0,
        ae: reserved & 0x01 != 0,
    }
}

/// Decodes the options up to the first that is cut or impossible. Does not use etherparse's
/// iterator, which ends at the first option that it does not know.
fn options(mut bytes: &[u8]) -> Options {
    let mut options = Options::default();
    while let Some(&kind) = bytes.first() {
        if kind == KIND_END {
            break;
        }
        if kind == KIND_NOOP {
            bytes = &bytes[1..];
            continue;
        }
        let length = bytes.get(1).copied().map_or(0, usize::from);
        let Some(value) = bytes.get(2..length) else {
            if matches!(kind, KIND_ACCURATE_ECN_0 | KIND_ACCURATE_ECN_1) {
                options.accurate_ecn = Some(AccurateEcn {
                    shape: AccurateEcnShape::Cut,
                    ..AccurateEcn::default()
                });
            }
            break;
        };
        match (kind, value) {
            (KIND_MAXIMUM_SEGMENT_SIZE, &[high, low]) => {
                options.maximum_segment = Some(u16::from_be_bytes([high, low]));
            }
            (KIND_WINDOW_SCALE, &[shift]) => options.window_scale = Some(shift),
            (KIND_SELECTIVE_ACK_PERMITTED, []) => options.sack_permitted = true,
            (KIND_SELECTIVE_ACK, blocks) if blocks.len() % 8 == 0 => {
                for block in blocks.chunks_exact(8) {
                    let [left, right] = [0, 4].map(|at| u32::from_be_bytes(array(block, at)));
                    options.push_sack(left, right);
                }
            }
            (KIND_TIMESTAMP, stamps) if stamps.len() == 8 => {
                let [value, echo] = [0, 4].map(|at| u32::from_be_bytes(array(stamps, at)));
                options.timestamps = Some((value, echo));
            }
            (KIND_ACCURATE_ECN_0 | KIND_ACCURATE_ECN_1, counters) => {
                options.accurate_ecn = Some(accurate_ecn(kind, counters));
            }
            _ => {}
        }
        bytes = &bytes[length..];
    }
    options
}

fn accurate_ecn(kind: u8, bytes: &[u8]) -> AccurateEcn {
    let counter = |at: usize| {
        let &[high, middle, low] = bytes.get(3 * at..3 * at + 3)? else {
            return None;
        };
        Some(u32::from_be_bytes([0, high, middle, low]))
    };
    let (first, ce, last) = (counter(0), counter(1), counter(2));
    let (ect0, ect1) = match kind {
        KIND_ACCURATE_ECN_0 => (first, last),
        _ => (last, first),
    };
    let listed = bytes.len().is_multiple_of(3) && bytes.len() <= 9;
    AccurateEcn {
        ect0,
        ce,
        ect1,
        shape: if listed {
            AccurateEcnShape::Listed
        } else {
            AccurateEcnShape::Odd
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a header with these options, padded with end-of-options.
    fn header(options: &[u8]) -> Vec<u8> {
        let words = 5 + options.len().div_ceil(4);
        let mut bytes = vec![0x12, 0x34, 0, 80];
        bytes.extend([0xff, 0xff, 0xff, 0xfe, 0, 0, 1, 0]);
        bytes.extend([
            (words as u8) << 4,
            0b1101_0010,
            0x20,
            0,
            0xaa,
            0xaa,
            0xbb,
            0xbb,
        ]);
        bytes.extend(options);
        bytes.resize(words * 4, 0);
        bytes
    }

    fn options_of(bytes: &[u8]) -> Options {
        let header = header(bytes);
        let (_, _, segment) = decode(&header, header.len() as u32).unwrap();
        assert!(!segment.cut);
        segment.options
    }

    #[test]
    fn the_fixed_header_is_read() {
        let bytes = header(&[]);
        let (source, destination, segment) = decode(&bytes, 1480).unwrap();
        assert_eq!((source, destination), (0x1234, 80));
        assert_eq!(
            (segment.sequence, segment.acknowledgment),
            (u32::MAX - 1, 256)
        );
        assert_eq!((segment.payload, segment.window), (1460, 0x2000));
        let set = Flags {
            syn: true,
            ack: true,
            ece: true,
            cwr: true,
            ..Flags::default()
        };
        assert_eq!(segment.flags, set);
    }

    #[test]
    fn the_options_of_a_syn_are_read() {
        let options = options_of(&[
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7,
        ]);
        assert_eq!(options.maximum_segment, Some(1460));
        assert_eq!(options.window_scale, Some(7));
        assert!(options.sack_permitted);
        assert_eq!(options.timestamps, Some((1, 2)));
        assert!(options.sacks().is_empty());
    }

    #[test]
    fn unknown_options_are_passed_over() {
        let options = options_of(&[30, 4, 0, 0, 254, 2, 1, 3, 3, 7]);
        assert_eq!(options.window_scale, Some(7));
    }

    #[test]
    fn four_sack_blocks_are_read() {
        let mut bytes = vec![5, 34];
        (0..8).for_each(|edge: u32| bytes.extend(edge.to_be_bytes()));
        assert_eq!(options_of(&bytes).sacks(), [(0, 1), (2, 3), (4, 5), (6, 7)]);
    }

    #[test]
    fn nonsense_ends_the_options_and_a_wrong_length_is_passed_over() {
        assert_eq!(
            options_of(&[3, 0, 7, 3, 3, 7]),
            Options::default(),
            "no length"
        );
        assert_eq!(
            options_of(&[3, 1, 7, 3, 3, 7]),
            Options::default(),
            "less than itself"
        );
        assert_eq!(
            options_of(&[8, 40, 0, 0, 0, 0]),
            Options::default(),
            "beyond the header"
        );
        assert_eq!(
            options_of(&[0, 0, 3, 3, 7]),
            Options::default(),
            "after the end"
        );
        assert_eq!(
            options_of(&[3, 4, 7, 7, 2, 4, 1, 0]).maximum_segment,
            Some(256)
        );
        assert_eq!(options_of(&[3, 4, 7, 7, 2, 4, 1, 0]).window_scale, None);
        assert!(options_of(&[5, 9, 0, 0, 0, 0, 0, 0, 0]).sacks().is_empty());
    }

    #[test]
    fn the_accurate_ecn_option_is_read_in_either_order_and_any_length() {
        let read = |bytes: &[u8]| options_of(bytes).accurate_ecn.unwrap();
        let expected = |ect0, ce, ect1, shape| AccurateEcn {
            ect0,
            ce,
            ect1,
            shape,
        };
        let listed = AccurateEcnShape::Listed;
        let (a, b, c) = (Some(0x01_02_03), Some(0xff_fe_fd), Some(7));
        let counters = [1, 2, 3, 0xff, 0xfe, 0xfd, 0, 0, 7];
        let option = |kind: u8, length: u8| {
            [&[kind, length][..], &counters[..usize::from(length) - 2]].concat()
        };
        assert_eq!(read(&option(172, 11)), expected(a, b, c, listed));
        assert_eq!(read(&option(174, 11)), expected(c, b, a, listed));
        assert_eq!(read(&option(172, 8)), expected(a, b, None, listed));
        assert_eq!(read(&option(174, 8)), expected(None, b, a, listed));
        assert_eq!(read(&option(172, 5)), expected(a, None, None, listed));
        assert_eq!(read(&option(174, 5)), expected(None, None, a, listed));
        assert_eq!(read(&option(172, 2)), expected(None, None, None, listed));
        // Another length: whole counters count, and the next option is found.
        let odd = AccurateEcnShape::Odd;
        let six = options_of(&[172, 6, 1, 2, 3, 9, 3, 3, 7]);
        assert_eq!(six.accurate_ecn, Some(expected(a, None, None, odd)));
        assert_eq!(six.window_scale, Some(7));
        let long = [&[174, 14][..], &counters, &[9, 9, 9]].concat();
        assert_eq!(read(&long), expected(c, b, a, odd));
        // Longer than the options, or than itself.
        let cut = expected(None, None, None, AccurateEcnShape::Cut);
        assert_eq!(read(&[172, 30, 1, 2, 3, 4]), cut);
        assert_eq!(read(&[174, 1, 1, 2]), cut);
        assert_eq!(options_of(&[30, 4, 0, 0]).accurate_ecn, None);
    }

    #[test]
    fn wherever_it_is_cut_it_says_so_and_has_what_is_there() {
        let bytes = header(&[2, 4, 0x05, 0xb4, 1, 3, 3, 7]);
        let length = bytes.len() as u32 + 100;
        for held in 0..=bytes.len() + 1 {
            let held_bytes: Vec<u8> = bytes.iter().copied().chain([9]).take(held).collect();
            let decoded = decode(&held_bytes, length);
            if held < NEEDED {
                assert_eq!(decoded, Err(Skip::TooShort));
                continue;
            }
            let (_, _, segment) = decoded.unwrap();
            assert_eq!(segment.payload, 100);
            assert_eq!(segment.cut, held < bytes.len());
            assert_eq!(
                segment.options.maximum_segment.is_some(),
                held >= 24,
                "{held}"
            );
            assert_eq!(segment.options.window_scale.is_some(), held >= 28, "{held}");
        }
    }

    #[test]
    fn lengths_that_contradict_are_malformed() {
        let bytes = header(&[2, 4, 0x05, 0xb4]);
        assert_eq!(decode(&bytes, 19), Err(Skip::Malformed));
        assert_eq!(decode(&bytes, 23), Err(Skip::Malformed));
        assert_eq!(decode(&bytes, 24).unwrap().2.payload, 0);
        let mut small = bytes;
        small[12] = 4 << 4;
        assert_eq!(decode(&small, 24), Err(Skip::Malformed));
    }
}
