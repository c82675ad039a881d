//! Rate-controlled datagrams over real UDP sockets.
//!
//! The rate is decided by the laboratory's own objects (`ackclock_core::rate_control`), the same
//! that are simulated; here is what the open network asks of them besides: a wire format, keys and
//! cookies, consent, caps, and sockets.

pub mod background;
pub mod bursts;
mod capped;
#[cfg(target_os = "linux")]
pub mod clock;
mod cookie;
#[cfg(target_os = "linux")]
pub mod driver;
pub mod keys;
mod log;
pub mod options;
mod replay;
pub mod session;
#[cfg(target_os = "linux")]
pub mod wait;
pub mod wire;
