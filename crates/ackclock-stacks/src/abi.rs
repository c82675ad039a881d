//! The border to shared libraries, as in `include/ackclock_stack.h`, which says what each field
//! means. A test holds the two together.

use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_void};

#[cfg(test)]
mod tests;

/// Version of the border.
pub const VERSION: u32 = 1;
/// Name of the one symbol of a library, of the type [`Entry`].
pub const SYMBOL: &str = "ackclock_stack_v1";
/// The type of the one symbol.
pub type Entry = unsafe extern "C" fn() -> *const Table;
/// A number that is not known, and a time that never comes.
pub const UNKNOWN: u64 = u64::MAX;
/// Flag of a stack with state that its objects share.
pub const PROCESS_STATE: u32 = 1;

/// Parameters of one side.
#[repr(C)]
pub struct Config {
    pub size: u32,
    pub opens: u8,
    pub sends: u8,
    pub encrypts: u8,
    pub discovers_mtu: u8,
    pub trains: u32,
    pub header: u32,
    pub receive_window: u64,
    pub seed: [u8; 32],
    pub control: *const c_char,
    pub options: *const c_char,
}

/// Numbers that a side gives of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Statistics {
    pub size: u32,
    pub reserved: u32,
    /// In the order of the header.
    pub numbers: [u64; Statistics::NUMBERS],
}

impl Statistics {
    pub const NUMBERS: usize = 10;
    /// Nothing is known.
    pub const NONE: Self = Statistics {
        size: size_of::<Self>() as u32,
        reserved: 0,
        numbers: [UNKNOWN; Self::NUMBERS],
    };

    /// Returns a number by its place in the header, if it is known.
    pub fn get(&self, place: Number) -> Option<u64> {
        Some(self.numbers[place as usize]).filter(|number| *number != UNKNOWN)
    }
}

/// Places of the numbers in [`Statistics`].
#[derive(Clone, Copy)]
pub enum Number {
    Cwnd,
    Ssthresh,
    InFlight,
    LatestRtt,
    SmoothedRtt,
    Timeout,
    PacingRate,
    LostPackets,
    CongestionEvents,
    Timeouts,
}

/// The functions of a stack. None is a function that its library left out.
#[repr(C)]
pub struct Table {
    pub abi: u32,
    pub size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub controls: *const c_char,
    pub create:
        Option<unsafe extern "C" fn(*const Config, reason: *mut c_char, usize) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub open: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub handle_datagram: Option<unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8)>,
    pub handle_timeout: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub poll_transmit: Option<
        unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut usize, *mut u8) -> usize,
    >,
    pub poll_timeout: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub write: Option<unsafe extern "C" fn(*mut c_void, u64, u64, i32)>,
    pub delivered: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub statistics: Option<unsafe extern "C" fn(*mut c_void, *mut Statistics)>,
    pub fault: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
}
