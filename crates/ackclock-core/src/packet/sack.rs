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
    duplicate: bool,
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
    /// Begins with a block that reports a duplicate (D-SACK, RFC 2883).
    pub fn reporting(duplicate: SackBlock) -> Self {
        let mut blocks = SackBlocks::default();
        blocks.push(duplicate);
        blocks.duplicate = true;
        blocks
    }
    /// Returns the block that reports a duplicate, if there is one.
    pub fn duplicate(&self) -> Option<SackBlock> {
        self.duplicate.then_some(self.blocks[0])
    }
    /// Returns the blocks beyond the cumulative ACK: all but the report of a duplicate.
    pub fn held(&self) -> &[SackBlock] {
        &self.as_slice()[usize::from(self.duplicate)..]
    }
    /// Returns all blocks, as they are in the header.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
    /// True if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}
