//! Asks the processor to fetch memory that will be needed soon. With ten thousand flows, the state
//! of the next one is never in its caches, and fetching twenty lines at once takes no longer than
//! fetching one. A prefetch is a hint and affects nothing but time.

/// Prefetches the cache lines of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>() / LINE {
        fetch_line(first.wrapping_add(line * LINE));
    }
    if size_of::<T>() > 0 && (align_of::<T>() < LINE || size_of::<T>() < LINE) {
        fetch_line(first.wrapping_add(size_of::<T>() - 1)); // it may not be aligned to a line
        fetch_line(first.wrapping_add(size_of::<T>() / LINE * LINE));
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "the intrinsic is not yet callable in safe code outside functions with the target \
              feature"
)]
#[inline(always)]
fn fetch_line(address: *const u8) {
    // SAFETY: every x86-64 processor has SSE; a prefetch reads nothing and faults on no address.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast()) }
}

/// Does nothing on other processors.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u8) {}
