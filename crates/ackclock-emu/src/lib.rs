//! The driver that sleeps: two hosts with the kernel's own network stack, joined by the laboratory's hops in real time.
//!
//! | module | holds |
//! |---|---|
//! | [`host`] | a host as its supervisor has it: start, configure, ask, end |
//! | [`program`] | which program becomes a host |
//! | [`inside`] | what runs in the host |
//! | [`protocol`] | what the two say to each other |
//! | `namespace` | from a fresh process to the first one of its own namespaces |
//! | [`device`] | the emulator's end of a host's network device: IP packets out and in |
//! | `tun`, `packet_socket` | what such a device is made of |
//! | [`netlink`] | interfaces, addresses, routes |
//! | [`settings`] | kernel settings of a network namespace |
//! | [`schedule`] | real-time priority |
//! | [`doctor`] | what this machine can do, and what would help |
//!
//! Linux only: elsewhere nothing but [`doctor`] is there, and it says so.

#[cfg(target_os = "linux")]
pub mod device;
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod inside;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod packet_socket;
pub mod program;
#[cfg(target_os = "linux")]
pub mod protocol;
#[cfg(target_os = "linux")]
pub mod schedule;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod tun;
