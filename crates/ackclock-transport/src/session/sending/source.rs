//! What there is to be sent.

use ackclock_core::traffic::Write;
use ackclock_core::units::Bytes;

/// The application's data.
#[derive(Debug)]
pub enum Source {
    /// Zeros: so many, or without end.
    Synthetic(Option<Bytes>),
    /// What somebody writes.
    Written(Written),
}

/// Bytes written and not sent yet.
#[derive(Debug, Default)]
pub struct Written {
    bytes: Vec<u8>,
    /// How many of them have been sent.
    sent: usize,
    is_closed: bool,
}

/// What a packet without an application carries.
const ZEROS: [u8; crate::wire::LONGEST_PAYLOAD] = [0; crate::wire::LONGEST_PAYLOAD];

impl Source {
    /// What is written as the session opens, and whether that is all.
    pub(super) fn opening(&self) -> (Write, bool) {
        match self {
            Source::Synthetic(None) => (Write::Unlimited, false),
            Source::Synthetic(Some(bytes)) => (Write::Bytes(*bytes), true),
            Source::Written(written) => (
                Write::Bytes(Bytes(written.waiting() as u64)),
                written.is_closed,
            ),
        }
    }

    /// Bytes that wait for more, or for the clock; `None` where there always are enough.
    pub(super) fn waiting(&self) -> Option<usize> {
        match self {
            Source::Written(written) if !written.is_closed => Some(written.waiting()),
            Source::Written(_) | Source::Synthetic(_) => None,
        }
    }

    /// The payload of the next packet.
    pub(super) fn next(&self, length: usize) -> &[u8] {
        match self {
            Source::Synthetic(_) => &ZEROS[..length],
            Source::Written(written) => &written.bytes[written.sent..][..length],
        }
    }

    /// It has been sent.
    pub(super) fn advance(&mut self, length: usize) {
        if let Source::Written(written) = self {
            written.sent += length;
            // Moved seldom: half of the bytes at least are gone by then.
            if written.sent * 2 > written.bytes.len() {
                written.bytes.drain(..written.sent);
                written.sent = 0;
            }
        }
    }

    /// The application writes.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if let Source::Written(written) = self {
            written.bytes.extend_from_slice(bytes);
        }
    }

    /// The application will write no more.
    pub(super) fn close(&mut self) {
        if let Source::Written(written) = self {
            written.is_closed = true;
        }
    }
}

impl Written {
    const fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_sent_in_order() {
        let mut source = Source::Written(Written::default());
        let text: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).collect();
        let (mut sent, mut rest) = (Vec::new(), &text[..]);
        while !rest.is_empty() || source.waiting() != Some(0) {
            let (piece, later) = rest.split_at(rest.len().min(1500));
            source.write(piece);
            rest = later;
            let length = source.waiting().unwrap().min(1100);
            sent.extend_from_slice(source.next(length));
            source.advance(length);
        }
        assert_eq!(sent, text);
        assert_eq!(source.opening(), (Write::Bytes(Bytes(0)), false));
        source.close();
        assert_eq!((source.opening().1, source.waiting()), (true, None));
    }
}
