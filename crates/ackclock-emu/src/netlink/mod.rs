//! Interfaces, addresses and routes of a network namespace: the part of rtnetlink(7) that hosts
//! need.

mod message;

use message::{Message, Received, acknowledged, as_text, attributes, messages, u32_at};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Attributes of a route's metrics (linux/rtnetlink.h, `RTAX_…`).
const METRIC_LOCK: u16 = 1;
const METRIC_ADVERTISED_MSS: u16 = 8;
const METRIC_INITIAL_CWND: u16 = 11;
const METRIC_RTO_MIN: u16 = 13;
/// Lock bit of the least timeout: the kernel uses that metric only if its lock bit is set
/// (tcp_rto_min). ip(8) sets it too.
const LOCKED_RTO_MIN: u32 = 1 << METRIC_RTO_MIN;
const METRIC_QUICK_ACK: u16 = 15;
const METRIC_CONGESTION_CONTROL: u16 = 16;
/// The other end of a veth pair (linux/veth.h).
const VETH_INFO_PEER: u16 = 1;
/// Flag that makes the kernel answer with the contents of the routing table, not with its decision
/// (linux/rtnetlink.h).
const RTM_F_FIB_MATCH: u32 = 0x2000;
/// Buffer size: more than any answer about one interface or route.
const LARGEST_ANSWER: usize = 64 * 1024;

/// A socket for requests about the network namespace in which it was opened, even after its owner
/// has moved to another one.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// An interface as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in the network namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Length of its transmit queue in packets.
    pub transmit_queue: u32,
    /// Name of its queueing discipline.
    pub discipline: String,
    /// Ethernet address, if it has one.
    pub ethernet_address: Option<[u8; 6]>,
    /// Its counters.
    pub counters: Counters,
}

/// Counters of an interface, from the host's view: it sends what the emulator reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received with errors.
    pub receive_errors: u64,
    /// Packets not sent because of errors.
    pub send_errors: u64,
    /// Received packets dropped.
    pub receive_drops: u64,
    /// Packets to be sent dropped.
    pub send_drops: u64,
}

/// TCP parameters for a destination. `None` keeps the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// Least retransmission timeout, in milliseconds.
    pub rto_min_ms: Option<u32>,
    /// Initial congestion window, in segments.
    pub initial_cwnd: Option<u32>,
    /// Maximum segment size to advertise, in bytes.
    pub advertised_mss: Option<u32>,
    /// True to acknowledge every segment at once.
    pub quick_ack: Option<bool>,
    /// The kernel's name of the congestion control.
    pub congestion_control: Option<String>,
}

impl Metrics {
    /// Returns each metric that is set, alone, with its name and value.
    pub fn single(&self) -> Vec<(&'static str, String, Metrics)> {
        let none = Metrics::default;
        let mut all = Vec::new();
        if let Some(value) = self.rto_min_ms {
            all.push((
                "rto_min_ms",
                value.to_string(),
                Metrics {
                    rto_min_ms: Some(value),
                    ..none()
                },
            ));
        }
        if let Some(value) = self.initial_cwnd {
            all.push((
                "initial_cwnd",
                value.to_string(),
                Metrics {
                    initial_cwnd: Some(value),
                    ..none()
                },
            ));
        }
        if let Some(value) = self.advertised_mss {
            all.push((
                "advertised_mss",
                value.to_string(),
                Metrics {
                    advertised_mss: Some(value),
                    ..none()
                },
            ));
        }
        if let Some(value) = self.quick_ack {
            all.push((
                "quick_ack",
                value.to_string(),
                Metrics {
                    quick_ack: Some(value),
                    ..none()
                },
            ));
        }
        if let Some(value) = &self.congestion_control {
            let alone = Metrics {
                congestion_control: Some(value.clone()),
                ..none()
            };
            all.push(("congestion_control", value.clone(), alone));
        }
        all
    }

    /// Copies the metrics that `other` sets.
    pub fn add(&mut self, other: Metrics) {
        self.rto_min_ms = other.rto_min_ms.or(self.rto_min_ms);
        self.initial_cwnd = other.initial_cwnd.or(self.initial_cwnd);
        self.advertised_mss = other.advertised_mss.or(self.advertised_mss);
        self.quick_ack = other.quick_ack.or(self.quick_ack);
        self.congestion_control = other.congestion_control.or(self.congestion_control.take());
    }

    fn put(&self, message: &mut Message) {
        for (kind, value) in [
            (METRIC_LOCK, self.rto_min_ms.map(|_| LOCKED_RTO_MIN)),
            (METRIC_ADVERTISED_MSS, self.advertised_mss),
            (METRIC_INITIAL_CWND, self.initial_cwnd),
            (METRIC_RTO_MIN, self.rto_min_ms),
            (METRIC_QUICK_ACK, self.quick_ack.map(u32::from)),
        ] {
            if let Some(value) = value {
                message.put_u32(kind, value);
            }
        }
        if let Some(name) = &self.congestion_control {
            message.put_text(METRIC_CONGESTION_CONTROL, name);
        }
    }

    fn read(bytes: &[u8]) -> Metrics {
        let mut metrics = Metrics::default();
        let mut locked = 0;
        for (kind, value) in attributes(bytes) {
            let number = (value.len() == 4).then(|| u32_at(value, 0));
            match kind {
                METRIC_LOCK => locked = number.unwrap_or(0),
                METRIC_ADVERTISED_MSS => metrics.advertised_mss = number,
                METRIC_INITIAL_CWND => metrics.initial_cwnd = number,
                METRIC_RTO_MIN => metrics.rto_min_ms = number,
                METRIC_QUICK_ACK => metrics.quick_ack = number.map(|number| number != 0),
                METRIC_CONGESTION_CONTROL => metrics.congestion_control = Some(as_text(value)),
                _ => {}
            }
        }
        if locked & LOCKED_RTO_MIN == 0 {
            metrics.rto_min_ms = None;
        }
        metrics
    }
}

/// A route to a range of addresses, directly through the host's device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// First address of the range.
    pub destination: Ipv4Addr,
    /// Length of the prefix in bits, 0 to 32.
    pub prefix: u8,
    /// Source address of packets whose socket has not chosen one.
    pub source: Option<Ipv4Addr>,
    /// TCP parameters for the route.
    #[serde(default)]
    pub metrics: Metrics,
}

/// Returns `struct ifinfomsg`: an interface with flags, of which those in `change` are set.
fn interface_part(index: u32, flags: i32, change: i32) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&change.to_ne_bytes());
    fixed
}

/// Returns `struct rtmsg` for an IPv4 unicast route of the main table.
fn route_part(prefix: u8) -> [u8; 12] {
    let mut fixed = [0; 12];
    fixed[0] = libc::AF_INET as u8;
    fixed[1] = prefix;
    fixed[4] = libc::RT_TABLE_MAIN;
    fixed[5] = libc::RTPROT_STATIC;
    fixed[6] = libc::RT_SCOPE_LINK;
    fixed[7] = libc::RTN_UNICAST;
    fixed
}

/// Returns `struct rtmsg` for a query of the route to one IPv4 address.
fn question_part(flags: u32) -> [u8; 12] {
    let mut fixed = [0; 12];
    fixed[0] = libc::AF_INET as u8;
    fixed[1] = 32;
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// Errors of socket(2).
    pub fn open() -> io::Result<Netlink> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )?; // NETLINK_ROUTE
        // Since Linux 4.12; without it errors are only numbers.
        match crate::system::socket_option::set_int(
            &socket,
            libc::SOL_NETLINK,
            libc::NETLINK_EXT_ACK,
            1,
        ) {
            Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => return Err(error),
            _ => {}
        }
        Ok(Netlink {
            socket,
            sequence: 0,
        })
    }

    /// Sends a request and passes the messages of its answer to `answer`, until the kernel
    /// acknowledges it.
    fn ask(&mut self, message: Message, mut answer: impl FnMut(&Received<'_>)) -> io::Result<()> {
        self.sequence += 1;
        send(
            &self.socket,
            &message.finish(self.sequence),
            SendFlags::empty(),
        )?;
        let mut buffer = vec![0; LARGEST_ANSWER];
        loop {
            let (_, length) = match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
            for message in
                messages(&buffer[..length]).filter(|message| message.sequence == self.sequence)
            {
                if i32::from(message.kind) == libc::NLMSG_ERROR {
                    return acknowledged(&message);
                }
                answer(&message);
            }
        }
    }

    fn change(&mut self, message: Message) -> io::Result<()> {
        self.ask(message, |_| {})
    }

    /// Returns the interface with this name.
    ///
    /// # Errors
    /// There is none, or an error of the kernel.
    pub fn interface(&mut self, name: &str) -> io::Result<Interface> {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
        let mut message = Message::new(libc::RTM_GETLINK, flags, &interface_part(0, 0, 0));
        message.put_text(libc::IFLA_IFNAME, name);
        let mut interface = None;
        self.ask(message, |answer| {
            interface = interface_of(answer).or(interface.take())
        })?;
        interface.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Creates a pair of Ethernet interfaces: `name` here, and `other` in another network
    /// namespace.
    ///
    /// # Errors
    /// Errors of the kernel: EPERM without CAP_NET_ADMIN in both, EOPNOTSUPP if it has no veth.
    pub fn add_pair(
        &mut self,
        name: &str,
        other: &str,
        namespace: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut message = Message::new(libc::RTM_NEWLINK, flags, &interface_part(0, 0, 0));
        message.put_text(libc::IFLA_IFNAME, name);
        message.nest(libc::IFLA_LINKINFO, |link| {
            link.put(libc::IFLA_INFO_KIND, b"veth");
            link.nest(libc::IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.put_plain(&interface_part(0, 0, 0));
                    peer.put_text(libc::IFLA_IFNAME, other);
                    peer.put_u32(libc::IFLA_NET_NS_FD, namespace.as_raw_fd().cast_unsigned());
                });
            });
        });
        self.change(message)
    }

    /// Sets an interface up, with or without address resolution.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_up(&mut self, index: u32, resolves_addresses: bool) -> io::Result<()> {
        let flags = libc::IFF_UP
            | if resolves_addresses {
                0
            } else {
                libc::IFF_NOARP
            };
        let fixed = interface_part(index, flags, libc::IFF_UP | libc::IFF_NOARP);
        self.change(Message::new(
            libc::RTM_NEWLINK,
            libc::NLM_F_REQUEST | libc::NLM_F_ACK,
            &fixed,
        ))
    }

    /// Sets the MTU of an interface in bytes.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_mtu(&mut self, index: u32, bytes: u32) -> io::Result<()> {
        self.set_link_value(index, libc::IFLA_MTU, bytes)
    }

    /// Sets the length of an interface's transmit queue in packets; that of a TUN is the ring that
    /// its reader empties. Unlike the ioctl, this needs no privileges in the initial namespace.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_transmit_queue(&mut self, index: u32, packets: u32) -> io::Result<()> {
        self.set_link_value(index, libc::IFLA_TXQLEN, packets)
    }

    fn set_link_value(&mut self, index: u32, kind: u16, value: u32) -> io::Result<()> {
        let fixed = interface_part(index, 0, 0);
        let mut message = Message::new(
            libc::RTM_NEWLINK,
            libc::NLM_F_REQUEST | libc::NLM_F_ACK,
            &fixed,
        );
        message.put_u32(kind, value);
        self.change(message)
    }

    /// Adds an address to an interface, with a prefix of 32 bits.
    ///
    /// # Errors
    /// Errors of the kernel: EEXIST if it has the address.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr) -> io::Result<()> {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        // struct ifaddrmsg: family, prefix, flags, scope, index.
        let mut fixed = [
            libc::AF_INET as u8,
            32,
            0,
            libc::RT_SCOPE_UNIVERSE,
            0,
            0,
            0,
            0,
        ];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, flags, &fixed);
        message.put(libc::IFA_LOCAL, &address.octets());
        message.put(libc::IFA_ADDRESS, &address.octets());
        self.change(message)
    }

    /// Adds a route through an interface, or replaces the one to the same destination.
    ///
    /// # Errors
    /// Errors of the kernel: EINVAL for a metric that it refuses.
    pub fn put_route(&mut self, index: u32, route: &Route) -> io::Result<()> {
        let flags =
            libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut message = Message::new(libc::RTM_NEWROUTE, flags, &route_part(route.prefix));
        message.put(libc::RTA_DST, &route.destination.octets());
        message.put_u32(libc::RTA_OIF, index);
        if let Some(source) = route.source {
            message.put(libc::RTA_PREFSRC, &source.octets());
        }
        if route.metrics != Metrics::default() {
            message.nest(libc::RTA_METRICS, |metrics| route.metrics.put(metrics));
        }
        self.change(message)
    }

    /// Returns the metrics of the route to a destination in the routing table.
    ///
    /// # Errors
    /// Errors of the kernel: ENETUNREACH if there is no route.
    pub fn route_metrics(&mut self, destination: Ipv4Addr) -> io::Result<Metrics> {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
        let mut message = Message::new(libc::RTM_GETROUTE, flags, &question_part(RTM_F_FIB_MATCH));
        message.put(libc::RTA_DST, &destination.octets());
        let mut route_metrics = Metrics::default();
        self.ask(message, |answer| {
            let answered = attributes(answer.payload.get(12..).unwrap_or_default());
            for (_, metrics) in answered.filter(|(kind, _)| *kind == libc::RTA_METRICS) {
                route_metrics = Metrics::read(metrics);
            }
        })?;
        Ok(route_metrics)
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads the interface that a message describes.
fn interface_of(message: &Received<'_>) -> Option<Interface> {
    let fixed = message.payload.get(..16)?;
    let mut interface = Interface {
        index: u32_at(fixed, 4),
        name: String::new(),
        mtu: 0,
        transmit_queue: 0,
        discipline: String::new(),
        ethernet_address: None,
        counters: Counters::default(),
    };
    for (kind, value) in attributes(&message.payload[16..]) {
        let number = if value.len() == 4 {
            u32_at(value, 0)
        } else {
            0
        };
        match kind {
            libc::IFLA_IFNAME => interface.name = as_text(value),
            libc::IFLA_MTU => interface.mtu = number,
            libc::IFLA_TXQLEN => interface.transmit_queue = number,
            libc::IFLA_QDISC => interface.discipline = as_text(value),
            libc::IFLA_ADDRESS => interface.ethernet_address = value.try_into().ok(),
            libc::IFLA_STATS64 => interface.counters = counters_of(value),
            _ => {}
        }
    }
    Some(interface)
}

/// Reads the first eight numbers of `struct rtnl_link_stats64`.
fn counters_of(bytes: &[u8]) -> Counters {
    let mut numbers = bytes
        .chunks_exact(8)
        .map(|number| u64::from_ne_bytes(number.try_into().expect("eight bytes")));
    let mut next = || numbers.next().unwrap_or(0);
    Counters {
        received_packets: next(),
        sent_packets: next(),
        received_bytes: next(),
        sent_bytes: next(),
        receive_errors: next(),
        send_errors: next(),
        receive_drops: next(),
        send_drops: next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_as_written() {
        let metrics = Metrics {
            rto_min_ms: Some(200),
            initial_cwnd: Some(4),
            advertised_mss: Some(1000),
            quick_ack: Some(true),
            congestion_control: Some("cubic".into()),
        };
        let mut message = Message::new(0, 0, &[]);
        metrics.put(&mut message);
        let bytes = message.finish(0);
        let read = Metrics::read(messages(&bytes).next().unwrap().payload);
        assert_eq!(read, metrics);
        let mut together = Metrics::default();
        for (_, _, alone) in metrics.single() {
            together.add(alone);
        }
        assert_eq!(together, metrics);
        assert_eq!(metrics.single().len(), 5);
    }

    #[test]
    fn counters_stand_in_the_kernels_order() {
        let bytes: Vec<u8> = (1..=20u64).flat_map(u64::to_ne_bytes).collect();
        let counters = counters_of(&bytes);
        assert_eq!((counters.received_packets, counters.sent_packets), (1, 2));
        assert_eq!((counters.receive_drops, counters.send_drops), (7, 8));
        assert_eq!(counters_of(&bytes[..20]).sent_packets, 2);
    }

    #[test]
    fn the_loopback_interface_describes_itself() {
        let interface = Netlink::open().unwrap().interface("lo").unwrap();
        assert_eq!((interface.name.as_str(), interface.index), ("lo", 1));
        assert!(interface.mtu >= 1500);
        let refused = Netlink::open()
            .unwrap()
            .interface("ackclock-none")
            .unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENODEV), "{refused}");
    }
}
