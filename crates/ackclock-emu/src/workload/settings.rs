//! Socket settings, and the kernel's response to them.

use super::duplicate_acks;
use super::plan::{Refused, TcpSocket};
use super::report::SocketSetting;
use crate::system::socket_option;
use ackclock_core::packet::Dscp;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Words of `struct sk_meminfo` (linux/sock_diag.h); the ninth counts packets dropped for lack of
/// buffer.
const MEMORY_WORDS: usize = 9;
/// Ratio of receive buffer to window. The kernel counts the memory of a segment, for a small one
/// several times its payload. With a smaller buffer the window closes, and segments are dropped
/// while those behind a hole wait. Guessed: as the kernel doubles the buffer, it suffices for
/// segments of a hundred bytes.
const MEMORY_PER_WINDOW: usize = 8;
/// Share of the memory of a received segment that is payload, as a fraction.
const PAYLOAD_OF_MEMORY: (usize, usize) = (1448, 2304);
/// Largest buffer: the kernel doubles it in a signed 32-bit number.
const LARGEST_BUFFER: usize = (i32::MAX / 2) as usize;
/// Buffer of a datagram sink in bytes: enough for what arrives while the process does not run.
const DATAGRAM_BUFFER: usize = 4 << 20;

/// Creates a non-blocking TCP socket.
pub(super) fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        flags,
        Some(ipproto::TCP),
    )?)
}

/// Creates a non-blocking UDP socket that does not fragment.
pub(super) fn udp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        flags,
        Some(ipproto::UDP),
    )?;
    sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DO)?;
    Ok(socket)
}

/// Gives the packets of a socket a differentiated services codepoint. The kernel sets the ECN field
/// of TCP itself.
pub(super) fn set_codepoint(socket: impl AsFd, dscp: Dscp) -> io::Result<()> {
    if dscp.is_default() {
        return Ok(());
    }
    Ok(sockopt::set_ip_tos(socket.as_fd(), dscp.bits() << 2)?)
}

/// Enlarges the receive buffer of a datagram sink as far as the kernel permits; without privileges
/// the limit is net.core.rmem_max.
pub(super) fn enlarge_receive_buffer(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    if sockopt::set_socket_recv_buffer_size_force(socket, DATAGRAM_BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(socket, DATAGRAM_BUFFER)?;
    }
    Ok(())
}

/// Returns the number of datagrams for which the socket had no buffer.
pub(super) fn overflowed(socket: impl AsFd) -> io::Result<u64> {
    let mut bytes = [0; MEMORY_WORDS * 4];
    let length = socket_option::get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut bytes)?;
    match bytes[..length].chunks_exact(4).nth(MEMORY_WORDS - 1) {
        Some(word) => Ok(u64::from(u32::from_ne_bytes([
            word[0], word[1], word[2], word[3],
        ]))),
        None => Err(io::Error::other(
            "the kernel does not count what a socket drops",
        )),
    }
}

/// Configures the socket of a sender. Refusals are in the result and have no other effect.
pub(super) fn set_sender(socket: impl AsFd, asked: &TcpSocket) -> Vec<SocketSetting> {
    let socket = socket.as_fd();
    let mut settings = Settings::default();
    settings.maximum_segment(socket, asked);
    if let Some(bytes) = asked.send_buffer_bytes {
        let size = bytes as usize;
        settings.note("SO_SNDBUF", u64::from(bytes), || {
            sockopt::set_socket_send_buffer_size_force(socket, size)
                .or_else(|_| sockopt::set_socket_send_buffer_size(socket, size))?;
            Ok(sockopt::socket_send_buffer_size(socket)? as u64 / 2)
        });
    }
    if asked.ignore_duplicate_acks {
        settings.note("SO_ATTACH_BPF", 1, || {
            duplicate_acks::ignore(socket).map(|()| 1)
        });
    }
    if let Some(rate) = asked.pacing_byte_per_s {
        settings.note("SO_MAX_PACING_RATE", rate, || {
            socket_option::set(
                socket,
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                &rate.to_ne_bytes(),
            )?;
            let mut bytes = [0; 8];
            socket_option::get(
                socket,
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                &mut bytes,
            )?;
            Ok(u64::from_ne_bytes(bytes))
        });
    }
    settings.0
}

/// Configures the socket of a receiver before it listens; connections inherit the settings.
pub(super) fn set_receiver(socket: impl AsFd, asked: &TcpSocket) -> Vec<SocketSetting> {
    let socket = socket.as_fd();
    let mut settings = Settings::default();
    settings.maximum_segment(socket, asked);
    if let Some(bytes) = asked.receive_window_bytes {
        let size = receive_buffer(bytes as usize, asked.read_bit_per_s.is_some());
        settings.note("SO_RCVBUF", size as u64, || {
            sockopt::set_socket_recv_buffer_size_force(socket, size)
                .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, size))?;
            Ok(sockopt::socket_recv_buffer_size(socket)? as u64 / 2)
        });
        settings.note("TCP_WINDOW_CLAMP", u64::from(bytes), || {
            clamp_window(socket, bytes)?;
            let mut has = [0; 4];
            socket_option::get(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut has)?;
            Ok(u64::from(u32::from_ne_bytes(has)))
        });
    }
    settings.0
}

/// Returns the receive buffer to ask for, half of what the kernel takes. If the application reads
/// `slowly`, the buffer holds just the window, so that the kernel closes it when it is full.
fn receive_buffer(window: usize, slowly: bool) -> usize {
    let (payload, memory) = PAYLOAD_OF_MEMORY;
    let size = match slowly {
        true => window.saturating_mul(memory) / payload / 2,
        false => window.saturating_mul(MEMORY_PER_WINDOW),
    };
    size.min(LARGEST_BUFFER)
}

/// Limits the window that a socket advertises.
pub(super) fn clamp_window(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    socket_option::set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_WINDOW_CLAMP,
        &bytes.to_ne_bytes(),
    )
}

#[derive(Default)]
struct Settings(Vec<SocketSetting>);

impl Settings {
    /// Sets TCP_MAXSEG. Without a connection it reads as what the path allows, not as what was set,
    /// so an accepted value is reported as set.
    fn maximum_segment(&mut self, socket: impl AsFd, asked: &TcpSocket) {
        if let Some(bytes) = asked.maximum_segment_bytes {
            let value = bytes.to_ne_bytes();
            self.note("TCP_MAXSEG", u64::from(bytes), || {
                socket_option::set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &value)?;
                Ok(u64::from(bytes))
            });
        }
    }

    fn note(&mut self, name: &str, asked: u64, set: impl FnOnce() -> io::Result<u64>) {
        let (has, refusal) = match set() {
            Ok(has) => (Some(has), None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.0.push(SocketSetting {
            name: name.into(),
            asked,
            has,
            refusal,
        });
    }
}

/// Refuses congestion controls that no socket here can have. `controls` holds for each the first
/// flow that asks for it.
pub(super) fn check_controls(controls: &BTreeMap<&str, u32>) -> Result<(), Refused> {
    for (name, flow) in controls {
        let tried = tcp_socket().and_then(|socket| set_control(&socket, name));
        if let Err(error) = tried {
            return Err(control_refused(name, *flow, &error));
        }
    }
    Ok(())
}

/// Sets a socket's congestion control, and verifies it.
pub(super) fn set_control(socket: impl AsFd, name: &str) -> io::Result<()> {
    let socket = socket.as_fd();
    sockopt::set_tcp_congestion(socket, name)?;
    match sockopt::tcp_congestion(socket)? {
        has if has == name => Ok(()),
        has => Err(io::Error::other(format!(
            "the kernel took it and has '{has}'"
        ))),
    }
}

fn control_refused(name: &str, flow: u32, error: &io::Error) -> Refused {
    let available = available_controls();
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::ENOENT) => (
            format!("congestion control \"{name}\" is not in this kernel, which has {available}"),
            format!("load the module tcp_{name} as root, or simulate"),
        ),
        Some(libc::EPERM) => (
            format!(
                "congestion control \"{name}\" is not allowed here (EPERM; the kernel has \
                {available})"
            ),
            "run in a network namespace of your own, or as root".into(),
        ),
        _ => (
            format!(
                "congestion control \"{name}\" cannot be set ({error}; the kernel has {available})"
            ),
            "choose another, or simulate".into(),
        ),
    };
    Refused {
        flow: Some(flow),
        reason,
        remedy,
    }
}

/// Returns the controls listed in this network namespace.
fn available_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map_or_else(|_| "unknown".into(), |names| names.trim().into())
}

/// Raises the limit of open descriptors as far as permitted: each flow takes up to two.
pub(super) fn allow_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let highest = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If it cannot be raised, creating a socket will report the lack of descriptors.
    let _ = setrlimit(Resource::Nofile, highest);
}

/// Returns the refusal for a socket that cannot be created.
pub(super) fn socket_refused(flow: u32, attempt: &str, error: &io::Error) -> Refused {
    let remedy = match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => "give the host this address first",
        Some(libc::EADDRINUSE) => "give each flow an address and port of its own",
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)",
        _ => "see the kernel's log",
    };
    Refused {
        flow: Some(flow),
        reason: format!("{attempt} ({error})"),
        remedy: remedy.into(),
    }
}
