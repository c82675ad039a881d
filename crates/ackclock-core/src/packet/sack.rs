//! SACK blocks (RFC 2018).

/// A run of segments the receiver holds beyond the cumulative ACK: `start` included, `end` excluded
/// (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment held.
    pub start: u64,
    /// First segment after it.
    pub end: u64,
}

impl SackBlock {
    /// Whether the segment of that number is in it.
    pub const fn contains(&self, sequence: u64) -> bool {
        self.start <= sequence && sequence < self.end
    }
}

/// Up to three SACK blocks, most recently changed first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::MOST],
    count: u8,
}

impl SackBlocks {
    /// How many fit beside the timestamp option.
    pub const MOST: usize = 3;

    /// Adds a block; what does not fit is left out.
    pub fn push(&mut self, block: SackBlock) {
        if usize::from(self.count) < Self::MOST {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }
    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}
