//! SACK blocks (RFC 2018).

/// A range of segments that the receiver holds beyond the cumulative ACK: `start` included, `end`
/// excluded (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment of the range.
    pub start: u64,
    /// First segment after the range.
    pub end: u64,
}

impl SackBlock {
    /// True if the range includes the segment with that number.
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
    /// Most blocks that fit next to the timestamp option.
    pub const MOST: usize = 3;

    /// Adds a block; ignores it if there are three already.
    pub fn push(&mut self, block: SackBlock) {
        if usize::from(self.count) < Self::MOST {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }
    /// Returns the blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
    /// True if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}
