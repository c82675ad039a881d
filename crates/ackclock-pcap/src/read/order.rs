//! Byte order of a file: that of the machine that wrote it.

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    /// Returns the order in which `bytes` read as `value`.
    pub fn of(bytes: [u8; 4], value: u32) -> Option<Self> {
        [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find(|order| order.u32(&bytes, 0) == value)
    }

    /// Returns the number at `at`, which must exist.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = bytes[at..at + 2].try_into().expect("two bytes");
        match self {
            ByteOrder::Big => u16::from_be_bytes(number),
            ByteOrder::Little => u16::from_le_bytes(number),
        }
    }

    /// Returns the number at `at`, which must exist.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let number = bytes[at..at + 4].try_into().expect("four bytes");
        match self {
            ByteOrder::Big => u32::from_be_bytes(number),
            ByteOrder::Little => u32::from_le_bytes(number),
        }
    }

    /// Returns the number at `at`, which must exist.
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let number = bytes[at..at + 8].try_into().expect("eight bytes");
        match self {
            ByteOrder::Big => u64::from_be_bytes(number),
            ByteOrder::Little => u64::from_le_bytes(number),
        }
    }
}
