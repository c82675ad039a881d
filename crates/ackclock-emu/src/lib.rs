//! Emulation: two hosts with the kernel's own network stack, joined in real time by the hops of a
//! scenario.
//!
//! * [`host`]: a host as seen by its supervisor: start, configure, query, end.
//! * [`program`]: the program that becomes a host.
//! * [`host_process`]: the process that becomes a host.
//! * [`protocol`]: messages between supervisor and host.
//! * `namespace`: the steps from a new process to the first one in namespaces of its own.
//! * [`device`]: the emulator's end of a host's network device: IP packets out and in.
//! * `tun`, `packet_socket`: implementations of such a device.
//! * [`netlink`]: interfaces, addresses, routes.
//! * [`settings`]: kernel settings of a network namespace.
//! * [`schedule`]: real-time priority, and processors kept out of idle states.
//! * `machine_load`: waits of the kernel's own threads, and the load of the machine.
//! * [`files`]: files that a scenario names, and controls compiled from C source.
//! * `kernel_control`: programs loaded into the kernel as controls, for one run.
//! * [`doctor`]: checks of what this machine can do, with remedies.
//! * [`workload`]: flows in the hosts, on the kernel's sockets, and the kernel's readings of them.
//! * [`addresses`], [`ipv4`]: the flow of a packet, from its header.
//! * [`driver`]: passage of real packets through the hops of a scenario at given times, without
//!   clock or descriptor.
//! * [`real_time`], [`wait`], [`clock`], [`port`]: the loop that reads, waits and writes.
//! * [`record`], [`replay`]: record of arrivals and decisions, and a check that the engine's hops
//!   decide the same.
//! * [`timing`], [`fidelity`]: lateness, and the verdict on the reliability of a run.
//! * [`capture`], [`background`]: packet captures, written to disk beside the loop.
//!
//! Linux only. On other systems there are [`doctor`], which says so, and the modules that need no
//! kernel.

pub mod addresses;
pub mod capture;
#[cfg(target_os = "linux")]
pub mod device;
pub mod doctor;
pub mod driver;
#[cfg(target_os = "linux")]
pub mod emulation;
pub mod fidelity;
pub mod files;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod host_process;
pub mod ipv4;
#[cfg(target_os = "linux")]
mod kernel_control;
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
