//! Rate-controlled datagrams over real UDP sockets.
//!
//! The rate control is the simulator's own (`ackclock_core::rate_control`). This crate adds what
//! the open network needs: a wire format, keys and cookies, consent, rate caps, and sockets.

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
