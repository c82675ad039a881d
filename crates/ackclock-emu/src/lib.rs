//! The driver that sleeps: two hosts with the kernel's own network stack, joined by the laboratory's hops in real time.
//!
//! Linux only: elsewhere nothing but [`doctor`] is there, and it says so.

#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
pub mod workload;
