//! Sequence numbers that do not wrap: the 32 bits of the wire are the low bits of a 64-bit number.

/// High part of the first number. It keeps numbers before the first one seen above zero.
const BEGIN: u64 = 1 << 32;

/// The largest window (RFC 7323 section 2.3). No retransmission or late ACK is further behind.
pub const LARGEST_WINDOW: u64 = 1 << 30;

/// Returns the first number of a direction.
pub const fn first(number: u32) -> u64 {
    BEGIN + number as u64
}

/// Returns the number that `number` means after `reference`: at most a window behind it, else
/// ahead. A capture may have missed up to three gigabytes in between.
pub const fn unwrap(number: u32, reference: u64) -> u64 {
    let ahead = number.wrapping_sub(reference as u32) as u64;
    if ahead <= BEGIN - LARGEST_WINDOW {
        reference.saturating_add(ahead)
    } else {
        reference.saturating_sub(BEGIN - ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_wrap_forwards_and_back() {
        let before = first(u32::MAX - 9);
        assert_eq!(unwrap(5, before), before + 15);
        assert_eq!(unwrap(u32::MAX, unwrap(5, before)), before + 9);
        assert_eq!(unwrap(3, first(5)), first(5) - 2);
        assert_eq!(
            unwrap(u32::MAX, first(0)),
            first(0) - 1,
            "before the first number seen"
        );
    }

    proptest! {
        #[test]
        fn what_is_near_is_found(
            at in BEGIN * 2..BEGIN * 1000,
            ahead in 0..2 * LARGEST_WINDOW,
            behind in 0..LARGEST_WINDOW,
        ) {
            prop_assert_eq!(unwrap((at + ahead) as u32, at), at + ahead);
            prop_assert_eq!(unwrap((at - behind) as u32, at), at - behind);
        }
    }
}
