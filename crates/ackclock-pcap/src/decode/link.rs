//! Link-layer headers before the IP header (tcpdump.org/linktypes.html).

use super::array;
use crate::skipped::Skip;

/// The link-layer header of the packets of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, with any number of VLAN tags.
    Ethernet,
    /// No link-layer header; the packet begins with the IP header.
    Raw,
    /// Linux "cooked" capture, version 1, from the pseudo-device "any".
    LinuxCooked,
    /// Linux "cooked" capture, version 2.
    LinuxCooked2,
    /// BSD loopback: four bytes with the address family.
    Loopback,
}

/// EtherTypes (IEEE 802 numbers).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags before the EtherType of the payload: 802.1Q, 802.1ad, and the value used
/// for the outer tag before 802.1ad.
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Address families: IPv4 on all systems; IPv6 on Linux, on NetBSD and OpenBSD, on FreeBSD and on
/// macOS.
const FAMILIES: [u32; 5] = [2, 10, 24, 28, 30];

impl LinkType {
    /// Returns the link type with this number in a file; `None` if it cannot be decoded.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 | 108 => LinkType::Loopback,
            1 => LinkType::Ethernet,
            // 12 and 14 are values that systems used before the link type had a number of its own.
            12 | 14 | 101 | 228 | 229 => LinkType::Raw,
            113 => LinkType::LinuxCooked,
            276 => LinkType::LinuxCooked2,
            _ => return None,
        })
    }

    /// Returns the bytes behind the link header, if they are IP.
    pub(super) fn packet(self, bytes: &[u8]) -> Result<&[u8], Skip> {
        match self {
            LinkType::Raw => Ok(bytes),
            LinkType::Loopback => {
                let family = u32::from_le_bytes(*bytes.first_chunk().ok_or(Skip::TooShort)?);
                // The family is in the byte order of the capturing machine or in network byte
                // order. Types 0 and 108 are meant to tell which, but files do not keep to it.
                let is_ip = FAMILIES.contains(&family) || FAMILIES.contains(&family.swap_bytes());
                if is_ip {
                    Ok(&bytes[4..])
                } else {
                    Err(Skip::NotIp)
                }
            }
            LinkType::Ethernet => behind_ether_type(bytes, 12, 14),
            LinkType::LinuxCooked => behind_ether_type(bytes, 14, 16),
            LinkType::LinuxCooked2 => behind_ether_type(bytes, 0, 20),
        }
    }
}

/// Returns the bytes behind a header of `length` bytes and its VLAN tags, if the EtherType is IP.
/// The first EtherType is at offset `at`, the next one at the end of each tag.
fn behind_ether_type(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], Skip> {
    let (header, mut rest) = bytes.split_at_checked(length).ok_or(Skip::TooShort)?;
    let mut ether_type = u16::from_be_bytes(array(header, at));
    while VLAN_TAGS.contains(&ether_type) {
        let (tag, behind) = rest.split_first_chunk::<4>().ok_or(Skip::TooShort)?;
        ether_type = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    if [IPV4, IPV6].contains(&ether_type) {
        Ok(rest)
    } else {
        Err(Skip::NotIp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_cut_is_too_short() {
        let links = [
            (LinkType::Ethernet, 14),
            (LinkType::LinuxCooked, 16),
            (LinkType::LinuxCooked2, 20),
            (LinkType::Loopback, 4),
        ];
        for (link, length) in links {
            for held in 0..length {
                assert_eq!(
                    link.packet(&vec![0; held]),
                    Err(Skip::TooShort),
                    "{link:?} {held}"
                );
            }
            assert_eq!(link.packet(&vec![0; length]), Err(Skip::NotIp), "{link:?}");
        }
    }

    #[test]
    fn vlan_tags_may_be_stacked_and_cut() {
        let mut frame = vec![0; 12];
        frame.extend([
            0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x91, 0, 0, 9, 0x86, 0xdd, 0x60,
        ]);
        assert_eq!(LinkType::Ethernet.packet(&frame), Ok(&[0x60][..]));
        for held in 14..26 {
            assert_eq!(
                LinkType::Ethernet.packet(&frame[..held]),
                Err(Skip::TooShort)
            );
        }
    }

    #[test]
    fn cooked_captures_have_tags_too() {
        let mut packet = vec![0; 14];
        packet.extend([0x81, 0, 0, 7, 8, 0, 0x45]);
        assert_eq!(LinkType::LinuxCooked.packet(&packet), Ok(&[0x45][..]));
        let mut packet = vec![0x81, 0];
        packet.extend([0; 18]);
        packet.extend([0, 7, 8, 0, 0x45]);
        assert_eq!(LinkType::LinuxCooked2.packet(&packet), Ok(&[0x45][..]));
    }

    #[test]
    fn loopback_says_the_family_in_either_byte_order() {
        for family in [2, 10, 24, 28, 30] {
            assert_eq!(
                LinkType::Loopback.packet(&[0, 0, 0, family, 0x45]),
                Ok(&[0x45][..])
            );
            assert_eq!(
                LinkType::Loopback.packet(&[family, 0, 0, 0, 0x45]),
                Ok(&[0x45][..])
            );
        }
        assert_eq!(
            LinkType::Loopback.packet(&[7, 0, 0, 0, 0x45]),
            Err(Skip::NotIp)
        );
    }
}
