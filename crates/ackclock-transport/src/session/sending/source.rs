//! Sources of data.

use ackclock_core::traffic::Write;
use ackclock_spec::units::Bytes;

/// The application's data.
#[derive(Debug)]
pub enum Source {
    /// Zeros: this many bytes, or endless.
    Synthetic(Option<Bytes>),
    /// Data that an application writes.
    Written(Written),
}

/// Bytes written but not yet sent.
#[derive(Debug, Default)]
pub struct Written {
    bytes: Vec<u8>,
    /// Number of these bytes that have been sent.
    sent: usize,
    is_closed: bool,
}

/// Payload of synthetic data.
const ZEROS: [u8; crate::wire::LONGEST_PAYLOAD] = [0; crate::wire::LONGEST_PAYLOAD];

impl Source {
    /// Returns the data available when the session opens, and true if that is all.
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

    /// Returns the number of bytes that wait to fill a packet, or for the clock; `None` if there
    /// always are enough.
    pub(super) fn waiting(&self) -> Option<usize> {
        match self {
            Source::Written(written) if !written.is_closed => Some(written.waiting()),
            Source::Written(_) | Source::Synthetic(_) => None,
        }
    }

    /// Returns the payload of the next packet.
    pub(super) fn next(&self, length: usize) -> &[u8] {
        match self {
            Source::Synthetic(_) => &ZEROS[..length],
            Source::Written(written) => &written.bytes[written.sent..][..length],
        }
    }

    /// Marks `length` bytes as sent.
    pub(super) fn advance(&mut self, length: usize) {
        if let Source::Written(written) = self {
            written.sent += length;
            // Moving the rest is rare: at least half of the bytes have been sent by then.
            if written.sent * 2 > written.bytes.len() {
                written.bytes.drain(..written.sent);
                written.sent = 0;
            }
        }
    }

    /// Appends data of the application.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if let Source::Written(written) = self {
            written.bytes.extend_from_slice(bytes);
        }
    }

    /// Marks the end of the application's data.
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
