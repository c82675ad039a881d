//! Bytes of netlink messages, netlink(7) and rtnetlink(7): a fixed part, then attributes, each
//! padded to four bytes.

use std::io;

/// Length of `struct nlmsghdr`: length, kind, flags, sequence number, port.
const HEADER: usize = 16;
/// Length of `struct nlattr`: length, kind.
const ATTRIBUTE_HEADER: usize = 4;
/// NLA_F_NESTED and NLA_F_NET_BYTEORDER, which are not part of an attribute's kind.
const ATTRIBUTE_FLAGS: u16 = 0xc000;
/// NLMSGERR_ATTR_MSG: the kernel's text of an error (linux/netlink.h).
const ERROR_TEXT: u16 = 1;

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// A message being written.
#[derive(Debug)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Creates a message of this kind with these flags and its fixed part.
    pub(crate) fn new(kind: u16, flags: i32, fixed: &[u8]) -> Message {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        let mut message = Message { bytes };
        message.pad();
        message
    }

    fn pad(&mut self) {
        self.bytes.resize(padded(self.bytes.len()), 0);
    }

    /// Appends an attribute.
    pub(crate) fn put(&mut self, kind: u16, payload: &[u8]) -> &mut Message {
        self.nest(kind, |message| message.bytes.extend_from_slice(payload))
    }

    /// Appends an integer attribute.
    pub(crate) fn put_u32(&mut self, kind: u16, value: u32) -> &mut Message {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Appends a text attribute with its final zero byte.
    pub(crate) fn put_text(&mut self, kind: u16, text: &str) -> &mut Message {
        self.put(kind, &[text.as_bytes(), b"\0"].concat())
    }

    /// Appends a nested attribute with the contents that `inside` writes.
    pub(crate) fn nest(&mut self, kind: u16, inside: impl FnOnce(&mut Message)) -> &mut Message {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; ATTRIBUTE_HEADER]);
        inside(self);
        let length = u16::try_from(self.bytes.len() - start).expect("attributes here are short");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
        self.pad();
        self
    }

    /// Appends plain bytes, such as the fixed part inside a nested attribute.
    pub(crate) fn put_plain(&mut self, plain: &[u8]) {
        self.bytes.extend_from_slice(plain);
        self.pad();
    }

    /// Returns the finished message with its sequence number.
    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("messages here are short");
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A received message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Yields the complete messages of a datagram.
pub(crate) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let length = (datagram.len() >= HEADER).then(|| u32_at(datagram, 0) as usize)?;
        let payload = datagram.get(HEADER..length)?;
        let message = Received {
            kind: u16_at(datagram, 4),
            flags: u16_at(datagram, 6),
            sequence: u32_at(datagram, 8),
            payload,
        };
        datagram = &datagram[padded(length).min(datagram.len())..];
        Some(message)
    })
}

/// Yields kinds and payloads of the complete attributes in `bytes`.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = (bytes.len() >= ATTRIBUTE_HEADER).then(|| u16_at(bytes, 0) as usize)?;
        let attribute = (
            u16_at(bytes, 2) & !ATTRIBUTE_FLAGS,
            bytes.get(ATTRIBUTE_HEADER..length)?,
        );
        bytes = &bytes[padded(length).min(bytes.len())..];
        Some(attribute)
    })
}

/// Reads an acknowledgment (NLMSG_ERROR): success, or an error, with the kernel's text if there is
/// one.
pub(crate) fn acknowledged(message: &Received<'_>) -> io::Result<()> {
    let Some(code) = message
        .payload
        .get(..4)
        .map(|code| u32_at(code, 0).cast_signed())
    else {
        return Err(io::Error::other("an acknowledgement without a code"));
    };
    if code == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(-code);
    // The request follows the code: only its header if NLM_F_CAPPED, else all of it. Then come
    // attributes.
    let capped = i32::from(message.flags) & libc::NLM_F_CAPPED != 0;
    let request = if capped || message.payload.len() < 8 {
        HEADER
    } else {
        u32_at(message.payload, 4) as usize
    };
    let extended = message
        .payload
        .get(4 + padded(request)..)
        .unwrap_or_default();
    match attributes(extended).find(|(kind, _)| *kind == ERROR_TEXT) {
        Some((_, text)) => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", as_text(text)),
        )),
        None => Err(error),
    }
}

/// Returns a text without its final zero byte.
pub(crate) fn as_text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a request as strace prints those of iproute2, on a little-endian machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn bytes_of_a_message() {
        let mut message = Message::new(
            libc::RTM_NEWLINK,
            libc::NLM_F_REQUEST | libc::NLM_F_ACK,
            &[0; 16],
        );
        message.put_text(libc::IFLA_IFNAME, "path");
        message.put_u32(libc::IFLA_MTU, 1500);
        message.nest(libc::IFLA_LINKINFO, |link| {
            link.put(libc::IFLA_INFO_KIND, b"veth");
        });
        let bytes = message.finish(7);
        let expected: &[u8] = &[
            64, 0, 0, 0, 16, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, // nlmsghdr
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // ifinfomsg
            9, 0, 3, 0, b'p', b'a', b't', b'h', 0, 0, 0, 0, // name, padded
            8, 0, 4, 0, 0xdc, 5, 0, 0, // mtu
            12, 0, 18, 0, 8, 0, 1, 0, b'v', b'e', b't', b'h', // nest
        ];
        assert_eq!(bytes[..], *expected);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut first = Message::new(16, 0, &[1, 2, 3, 4]);
        first.put(5, b"odd").put_u32(6, 9);
        let datagram = [first.finish(1), Message::new(17, 4, &[]).finish(2)].concat();
        let read: Vec<_> = messages(&datagram).collect();
        assert_eq!(read.len(), 2);
        assert_eq!((read[1].kind, read[1].flags, read[1].sequence), (17, 4, 2));
        let inside: Vec<_> = attributes(&read[0].payload[4..]).collect();
        assert_eq!(inside, [(5, &b"odd"[..]), (6, &9u32.to_ne_bytes()[..])]);
    }

    #[test]
    fn what_is_cut_short_ends_the_reading() {
        let whole = Message::new(16, 0, &[0; 8]).finish(1);
        for length in 0..whole.len() {
            assert_eq!(messages(&whole[..length]).count(), 0, "{length} bytes");
        }
        for length in 0..8 {
            assert_eq!(
                attributes(&[8, 0, 1, 0, 1, 2, 3, 4][..length]).count(),
                0,
                "{length} bytes"
            );
        }
        // A length shorter than a header never loops.
        assert_eq!(attributes(&[0; 64]).count(), 0);
        assert_eq!(messages(&[0; 64]).count(), 0);
    }

    #[test]
    fn an_error_has_the_kernels_words() {
        let answer = |flags: i32, request: &[u8]| {
            let mut fixed = (-libc::EINVAL).to_ne_bytes().to_vec();
            fixed.extend_from_slice(request);
            let mut message = Message::new(libc::NLMSG_ERROR as u16, flags, &fixed);
            message.put_text(ERROR_TEXT, "Unknown tcp congestion algorithm");
            let bytes = message.finish(3);
            acknowledged(&messages(&bytes).next().unwrap())
                .unwrap_err()
                .to_string()
        };
        let request = Message::new(24, 0, &[7; 12]).finish(3);
        for text in [
            answer(libc::NLM_F_CAPPED, &request[..HEADER]),
            answer(0, &request),
        ] {
            assert!(
                text.starts_with("Unknown tcp congestion algorithm: Invalid argument"),
                "{text}"
            );
        }
        let bytes = Message::new(libc::NLMSG_ERROR as u16, 0, &[0; 20]).finish(3);
        assert!(acknowledged(&messages(&bytes).next().unwrap()).is_ok());
    }
}
