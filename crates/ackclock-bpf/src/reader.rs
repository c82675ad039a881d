//! Numbers in bytes that somebody else wrote, least significant byte first.

use crate::refusal::Refusal;

/// Reads numbers one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Reader { bytes, at }
    }
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
    pub fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let end = self.at.saturating_add(N);
        let bytes = self.bytes.get(self.at..end);
        self.at = end;
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Refusal::new("ends too early; compile it again"))
    }
    pub fn u8(&mut self) -> Result<u8, Refusal> {
        self.take().map(u8::from_le_bytes)
    }
    pub fn u16(&mut self) -> Result<u16, Refusal> {
        self.take().map(u16::from_le_bytes)
    }
    pub fn u32(&mut self) -> Result<u32, Refusal> {
        self.take().map(u32::from_le_bytes)
    }
    pub fn u64(&mut self) -> Result<u64, Refusal> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Returns `size` bytes from a place on; `None` if they are not all there.
pub fn part(bytes: &[u8], at: u64, size: u64) -> Option<&[u8]> {
    let begin = usize::try_from(at).ok()?;
    let end = begin.checked_add(usize::try_from(size).ok()?)?;
    bytes.get(begin..end)
}
