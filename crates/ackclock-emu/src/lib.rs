//! The driver that sleeps: two hosts with the kernel's own network stack, joined by the
//! laboratory's hops in real time.
//!
//! | module | holds |
//! |---|---|
//! | [`host`] | a host as its supervisor has it: start, configure, ask, end |
//! | [`program`] | which program becomes a host |
//! | [`host_process`] | the process that becomes a host |
//! | [`protocol`] | what the two say to each other |
//! | `namespace` | from a fresh process to the first one of its own namespaces |
//! | [`device`] | the emulator's end of a host's network device: IP packets out and in |
//! | `tun`, `packet_socket` | what such a device is made of |
//! | [`netlink`] | interfaces, addresses, routes |
//! | [`settings`] | kernel settings of a network namespace |
//! | [`schedule`] | real-time priority, processors that stay awake |
//! | `machine_load` | how long the kernel's own threads waited, how busy the machine was |
//! | [`doctor`] | what this machine can do, and what would help |
//! | [`workload`] | what runs in the hosts: connections and datagrams on the kernel's sockets, and what it says of them |
//! | [`addresses`], [`ipv4`] | whose a packet is, from its header |
//! | [`driver`], [`graph`] | packets through the hops of a scenario, at scheduled times, without clock or descriptor |
//! | [`real_time`], [`wait`], [`clock`], [`port`] | the loop that reads, waits and writes |
//! | [`record`], [`replay`], [`decision`] | what came and what was decided, and whether the engine's hops decide the same |
//! | [`timing`], [`fidelity`] | how late it was, and whether the run can be trusted |
//! | [`capture`], [`background`] | packets to disk, beside the loop |
//!
//! Linux only: elsewhere there is [`doctor`], which says so, and what needs no kernel.

pub mod addresses;
pub mod capture;
pub mod decision;
#[cfg(target_os = "linux")]
pub mod device;
pub mod doctor;
pub mod driver;
#[cfg(target_os = "linux")]
pub mod emulation;
pub mod fidelity;
pub mod graph;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod host_process;
pub mod ipv4;
#[cfg(target_os = "linux")]
mod machine_load;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod packet_socket;
#[cfg(target_os = "linux")]
pub mod port;
pub mod program;
#[cfg(target_os = "linux")]
pub mod protocol;
#[cfg(target_os = "linux")]
pub mod real_time;
pub mod record;
pub mod replay;
#[cfg(target_os = "linux")]
pub mod schedule;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
mod system;
pub mod timing;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
pub mod workload;

pub use ackclock_transport::background;
#[cfg(target_os = "linux")]
pub use ackclock_transport::{clock, wait};

#[cfg(test)]
mod testing;
