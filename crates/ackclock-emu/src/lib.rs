//! The driver that sleeps: two hosts with the kernel's own network stack, joined by the laboratory's hops in real time.

#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
pub mod workload;
