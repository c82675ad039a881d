//! Protocol between supervisor and host: JSON over a pair of connected sockets.

use crate::device::DeviceFacts;
use crate::netlink::{Counters, Route};
use crate::settings::{KernelAnswer, Setting};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Kind of device to create for a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A TUN interface if its node can be opened, else a veth pair.
    #[default]
    Automatic,
    /// A TUN interface or nothing.
    Tun,
    /// A veth pair with a packet socket, or nothing.
    PacketSocket,
}

/// A step of a host's start, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Starting the host's program, up to its first message.
    Program,
    /// Preparing the process to end with the supervisor, and forking.
    Process,
    /// The user namespace, without privileges.
    UserNamespace,
    /// The network and PID namespaces.
    Namespaces,
    /// The loopback interface and the settings of every host.
    Settings,
    /// The device.
    Device,
}

/// The reason why something is not available on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The step that failed.
    pub step: Step,
    /// The attempt and the kernel's answer.
    pub reason: String,
    /// Error number of the kernel, if any.
    pub error: Option<i32>,
    /// One remedy.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.reason, self.remedy)
    }
}

/// Configuration of a host; absent values stay unchanged. It may be sent repeatedly to add more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// Kernel settings of the namespace, in this order.
    pub settings: Vec<Setting>,
    /// MTU of the device in bytes.
    pub mtu_bytes: Option<u32>,
    /// Addresses of the device.
    pub addresses: Vec<Ipv4Addr>,
    /// Routes through the device.
    pub routes: Vec<Route>,
}

/// One request to the kernel, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportEntry {
    /// Name: of a setting as in sysctl(8), `mtu_bytes`, `address 10.66.0.1`, `route 10.77.0.1/32`,
    /// or `route 10.77.0.1/32 rto_min_ms` for a metric.
    pub name: String,
    /// Requested value.
    pub asked: String,
    /// The kernel's answer.
    #[serde(flatten)]
    pub outcome: KernelAnswer,
}

impl ReportEntry {
    /// True if the kernel has the requested value.
    pub fn is_as_asked(&self) -> bool {
        matches!(&self.outcome, KernelAnswer::Accepted { value } if *value == self.asked)
    }
}

/// Counters of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceStatistics {
    /// Name of the interface.
    pub name: String,
    /// Name of its queueing discipline.
    pub discipline: String,
    /// Its counters, from its own view.
    pub counters: Counters,
}

/// Facts about a host that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// True if it is in a user namespace of its own because privileges were missing.
    pub user_namespace: bool,
    /// True if no process in it can gain privileges, prctl(2) `PR_SET_NO_NEW_PRIVS`.
    pub no_new_privileges: bool,
    /// Its device.
    pub device: DeviceFacts,
    /// The reason why the device is not a TUN interface although one was tried.
    pub tun_refused: Option<String>,
}

/// Request of the supervisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Become a host; the first request. Answered by `Started`, then `Ready` with the device's
    /// descriptor.
    Start(DeviceChoice),
    /// Apply a configuration; answered by `Report` of this configuration.
    Configure(Configuration),
    /// Report; answered by `Report` of everything configured so far.
    Report,
    /// Count packets; answered by `Statistics`.
    Statistics,
    /// Test which of these congestion controls a socket may use; answered by `CongestionControls`.
    CongestionControls(Vec<String>),
    /// A request that the host's program adds; answered by `Extension`.
    Extension(Value),
    /// End; answered by `Ending`.
    Exit,
}

/// Response of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Response {
    /// The host's first process exists; its id as seen by the supervisor.
    Started(i32),
    Ready(HostFacts),
    Report(Vec<ReportEntry>),
    Statistics(Vec<DeviceStatistics>),
    CongestionControls(Vec<(String, KernelAnswer)>),
    Extension(Value),
    Ending,
    /// The host cannot start, and ends.
    Refused(Refusal),
    /// The request failed; the host goes on.
    Failed(String),
}

/// First byte of each part of a message: tells if another part follows.
const LAST: u8 = 0;
const MORE: u8 = 1;
/// Bytes of a message per packet, well below what an unprivileged socket may send at once.
const PART: usize = 60_000;

/// One end of the connection. If the other end closes for any reason, operations fail with
/// `UnexpectedEof`.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
}

impl From<OwnedFd> for Channel {
    fn from(socket: OwnedFd) -> Channel {
        Channel { socket }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Creates two connected ends; the second is to be passed on.
pub(crate) fn connected() -> io::Result<(Channel, OwnedFd)> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok((Channel { socket: ours }, theirs))
}

impl Channel {
    /// Sends a message, with a descriptor if given.
    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        let mut parts = text.chunks(PART).peekable();
        let mut descriptor = descriptor;
        while let Some(part) = parts.next() {
            let mark = [if parts.peek().is_some() { MORE } else { LAST }];
            let passed: Vec<BorrowedFd<'_>> = descriptor.take().into_iter().collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !passed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&passed)) {
                return Err(io::Error::other("no space for a descriptor"));
            }
            let slices = [IoSlice::new(&mark), IoSlice::new(part)];
            rustix::io::retry_on_intr(|| {
                sendmsg(&self.socket, &slices, &mut control, SendFlags::NOSIGNAL)
            })?;
        }
        Ok(())
    }

    /// Waits for a message and its descriptor, if any. Fails with `TimedOut` if nothing comes for
    /// `limit`.
    pub(crate) fn receive<M: DeserializeOwned>(
        &self,
        limit: Option<Duration>,
    ) -> io::Result<(M, Option<OwnedFd>)> {
        let mut text = Vec::new();
        let mut descriptor = None;
        loop {
            self.wait(limit)?;
            let mut mark = [LAST];
            let mut part = vec![0; PART];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut slices = [IoSliceMut::new(&mut mark), IoSliceMut::new(&mut part)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let received = match recvmsg(&self.socket, &mut slices, &mut control, flags) {
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET) => return Err(io::ErrorKind::UnexpectedEof.into()),
                received => received?,
            };
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(passed) = message {
                    descriptor = passed.last().or(descriptor);
                }
            }
            if received.bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            text.extend_from_slice(&part[..received.bytes - 1]);
            if mark[0] == LAST {
                return Ok((serde_json::from_slice(&text)?, descriptor));
            }
        }
    }

    fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        if readable([self.socket.as_fd()], limit)?[0] {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// Waits until one of the descriptors is readable or at its end; returns a flag for each. All are
/// false if `limit` has passed.
pub(crate) fn readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    limit: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled: [PollFd<'_>; N] =
        std::array::from_fn(|index| PollFd::from_borrowed_fd(descriptors[index], PollFlags::IN));
    let limit = limit.map(|limit| Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    rustix::io::retry_on_intr(|| poll(&mut polled, limit.as_ref()))?;
    Ok(std::array::from_fn(|index| {
        !polled[index].revents().is_empty()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn pair() -> (Channel, Channel) {
        let (ours, theirs) = connected().unwrap();
        (ours, Channel::from(theirs))
    }

    #[test]
    fn a_message_longer_than_a_packet_arrives_whole() {
        let (ours, theirs) = pair();
        let addresses: Vec<Ipv4Addr> = (0..20_000u32)
            .map(|index| Ipv4Addr::from(0x0a42_0000 + index))
            .collect();
        let request = Request::Configure(Configuration {
            addresses,
            ..Configuration::default()
        });
        let sent = request.clone();
        let sender = std::thread::spawn(move || ours.send(&sent, None));
        let (received, descriptor) = theirs.receive::<Request>(None).unwrap();
        sender.join().unwrap().unwrap();
        assert!(received == request && descriptor.is_none());
    }

    #[test]
    fn a_descriptor_comes_with_its_message() {
        let (ours, theirs) = pair();
        let (mut read, write) = io::pipe().unwrap();
        ours.send(&Response::Started(7), Some(write.as_fd()))
            .unwrap();
        ours.send(&Response::Ending, None).unwrap();
        drop(write);
        let (first, descriptor) = theirs.receive::<Response>(None).unwrap();
        assert_eq!(first, Response::Started(7));
        std::fs::File::from(descriptor.unwrap())
            .write_all(b"x")
            .unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        let (second, none) = theirs.receive::<Response>(None).unwrap();
        assert!(second == Response::Ending && none.is_none());
    }

    #[test]
    fn closing_and_silence_are_told_apart() {
        let (ours, theirs) = pair();
        let silence = theirs
            .receive::<Request>(Some(Duration::from_millis(1)))
            .unwrap_err();
        assert_eq!(silence.kind(), io::ErrorKind::TimedOut);
        drop(ours);
        let closed = theirs.receive::<Request>(None).unwrap_err();
        assert_eq!(closed.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_report_reads_as_it_is_written() {
        let accepted = KernelAnswer::Accepted { value: "1".into() };
        let entry = ReportEntry {
            name: "net.ipv4.tcp_sack".into(),
            asked: "1".into(),
            outcome: accepted,
        };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            text,
            r#"{"name":"net.ipv4.tcp_sack","asked":"1","outcome":"accepted","value":"1"}"#
        );
        assert_eq!(serde_json::from_str::<ReportEntry>(&text).unwrap(), entry);
        assert!(entry.is_as_asked());
    }
}
