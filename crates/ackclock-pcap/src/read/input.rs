//! Buffered input that decompresses gzip.

use super::error::Damage;
use super::{CaptureError, Stop};
use flate2::read::MultiGzDecoder;
use std::io::{self, Chain, Cursor, Read};

/// Bytes read at once. The buffer keeps this size unless a packet is larger.
const BUFFER: usize = 1 << 17;
/// First bytes of a gzip file (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file, read from front to back.
#[derive(Debug)]
pub(super) struct Input<R: Read> {
    source: Source<R>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the decompressed file, in bytes.
    offset: u64,
    /// Error of the gzip data, which ended there.
    broken: Option<String>,
}

impl<R: Read> Input<R> {
    /// Opens the input, and examines its first bytes for gzip.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        Ok(Input {
            source: Source::new(input)?,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            broken: None,
        })
    }

    /// Returns the offset of the next byte in the decompressed file.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `length` bytes, or fewer if the file ends earlier, without consuming them.
    pub fn peek(&mut self, length: usize) -> Result<&[u8], CaptureError> {
        if self.end - self.start < length {
            self.fill(length)?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + length)])
    }

    /// Returns the next `length` bytes without consuming them. If the file ends earlier, the error
    /// says that `part` is cut.
    pub fn need(&mut self, length: usize, part: &str) -> Result<&[u8], Stop> {
        if self.peek(length)?.len() < length {
            return Err(self.cut(self.offset, part));
        }
        Ok(&self.buffer[self.start..self.start + length])
    }

    /// Consumes and returns the next `length` bytes. If the file ends earlier, the error says that
    /// `part` is cut.
    pub fn take(&mut self, length: usize, part: &str) -> Result<&[u8], Stop> {
        self.need(length, part)?;
        self.advance(length);
        Ok(&self.buffer[self.start - length..self.start])
    }

    /// Consumes `length` bytes without keeping them; there may be any number. If the file ends
    /// earlier, the error says that `part` is cut.
    pub fn skip(&mut self, length: u64, part: &str) -> Result<(), Stop> {
        let begin = self.offset;
        let mut left = length;
        while left > 0 {
            let step = self.peek(left.min(BUFFER as u64) as usize)?.len();
            if step == 0 {
                return Err(self.cut(begin, part));
            }
            self.advance(step);
            left -= step as u64;
        }
        Ok(())
    }

    /// Returns an error at the end of the file.
    pub fn check_end(&mut self) -> Result<(), Stop> {
        if !self.peek(1)?.is_empty() {
            return Ok(());
        }
        Err(match &self.broken {
            Some(broken) => self.broken_at(self.offset, broken),
            None => Stop::End,
        })
    }

    fn cut(&self, begin: u64, part: &str) -> Stop {
        match &self.broken {
            Some(broken) => self.broken_at(begin, broken),
            None => Stop::Damage(Damage::new(begin, format!("the file ends within {part}"))),
        }
    }

    fn broken_at(&self, begin: u64, broken: &str) -> Stop {
        Stop::Damage(Damage::new(
            begin,
            format!("its gzip data is damaged or cut ({broken})"),
        ))
    }

    fn advance(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
    }

    /// Reads until the buffer holds `length` bytes or the file ends.
    fn fill(&mut self, length: usize) -> Result<(), CaptureError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        while self.end < length && self.broken.is_none() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.source.is_to_blame(&error) => {
                    self.broken = Some(error.to_string())
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The first bytes, which were read to examine them, followed by the rest.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

#[derive(Debug)]
enum Source<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
}

impl<R: Read> Source<R> {
    fn new(mut input: R) -> io::Result<Self> {
        let mut first = Vec::new();
        input
            .by_ref()
            .take(GZIP.len() as u64)
            .read_to_end(&mut first)?;
        let packed = first == GZIP;
        let whole = Cursor::new(first).chain(input);
        Ok(if packed {
            Source::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else {
            Source::Plain(whole)
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Plain(input) => input.read(buffer),
            Source::Gzip(input) => input.read(buffer),
        }
    }

    /// True if an error is about the gzip data rather than the device that holds it.
    fn is_to_blame(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        matches!(self, Source::Gzip(_))
            && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time, with an interrupt before each.
    struct Slow<'a>(&'a [u8], bool);
    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = self.0.len().min(buffer.len()).min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    #[test]
    fn short_reads_make_no_difference() {
        let mut input = Input::new(Slow(b"abcdefgh", false)).unwrap();
        assert_eq!(input.peek(3).unwrap(), b"abc");
        assert_eq!(input.take(2, "").unwrap(), b"ab");
        input.skip(3, "").unwrap();
        assert_eq!(input.offset(), 5);
        assert!(input.take(4, "").is_err());
        assert_eq!(input.peek(4).unwrap(), b"fgh");
        assert_eq!(input.take(3, "").unwrap(), b"fgh");
        assert!(matches!(input.check_end(), Err(Stop::End)));
        assert_eq!(input.offset(), 8);
    }

    #[test]
    fn what_is_skipped_is_not_kept() {
        let length = 10 * BUFFER as u64;
        let mut input = Input::new(io::repeat(7).take(length + 1)).unwrap();
        input.skip(length, "").unwrap();
        assert_eq!(input.take(1, "").unwrap(), [7]);
        assert!(input.skip(1, "").is_err());
        assert_eq!(input.offset(), length + 1);
        assert_eq!(input.buffer.len(), BUFFER);
    }

    #[test]
    fn a_large_piece_makes_the_buffer_larger() {
        let mut input = Input::new(io::repeat(7).take(1 << 30)).unwrap();
        input.skip(BUFFER as u64 - 1, "").unwrap();
        assert_eq!(input.take(3 * BUFFER, "").unwrap().len(), 3 * BUFFER);
        assert_eq!(input.buffer.len(), 3 * BUFFER);
    }

    #[test]
    fn an_error_of_the_device_is_not_the_end() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
        let mut input = Input::new((&b"ab"[..]).chain(Broken)).unwrap();
        assert!(input.peek(1).is_ok());
        let error = input.peek(3).unwrap_err();
        assert!(matches!(error, CaptureError::Input(_)));
    }
}
