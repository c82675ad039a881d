//! The driver that sleeps: two hosts with the kernel's own network stack, joined by the laboratory's hops in real time.
//!
//! Linux only: elsewhere nothing but [`doctor`] is there, and it says so.

pub mod addresses;
pub mod background;
pub mod capture;
pub mod decision;
pub mod driver;
pub mod fidelity;
pub mod graph;
pub mod ipv4;
pub mod record;
pub mod replay;
pub mod timing;

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod port;
#[cfg(target_os = "linux")]
pub mod real_time;
#[cfg(target_os = "linux")]
pub mod wait;

#[cfg(test)]
mod testing;
