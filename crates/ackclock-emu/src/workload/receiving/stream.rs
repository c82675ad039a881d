//! A TCP flow at its receiver.

use super::Counting;
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Refused, TcpSocket};
use crate::workload::report::{Ending, ReceivedFlow};
use crate::workload::settings::{
    clamp_window, set_codepoint, set_receiver, socket_refused, tcp_socket,
};
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, bind, listen, recv, sockopt};
use std::io;
use std::os::fd::OwnedFd;

/// Most reads in one turn, so that no flow delays the others.
const MOST_AT_ONCE: usize = 4;

#[derive(Debug)]
enum StreamPhase {
    Listening(OwnedFd),
    Open(OwnedFd),
    Ended,
}

/// Shortest time between two reads of an application that reads slowly. The shorter it is, the
/// sooner the kernel sees free space (`tcp_cleanup_rbuf`), and the more often the program wakes.
const BETWEEN_READS: Span = Span::from_millis(1);

/// An application that reads at a constant rate. It reads at intervals what it could have read
/// since it found something to read.
#[derive(Debug)]
struct SlowReader {
    rate: BitRate,
    /// When it found something to read, and how many bytes it has read since.
    since: Time,
    read: u64,
    /// Time of the next read; never while it waits for data.
    next: Time,
}

impl SlowReader {
    /// Begins to read at a rate.
    fn begin(&mut self, now: Time) {
        (self.since, self.read, self.next) = (now, 0, now + self.interval());
    }

    /// Returns the time between two reads: that of a byte at least.
    fn interval(&self) -> Span {
        self.rate.serialization(Bytes(1)).max(BETWEEN_READS)
    }

    /// Returns how many bytes it may read now.
    fn allowance(&self, now: Time) -> u64 {
        let Bytes(all) = self.rate.size_in(now.since(self.since));
        all.saturating_sub(self.read)
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    phase: StreamPhase,
    asked: TcpSocket,
    /// Present if the application reads slowly.
    slow: Option<SlowReader>,
    counting: Counting,
}

impl Stream {
    /// Creates a stream with a configured, listening socket.
    pub(super) fn prepare(
        flow: &FlowPlan,
        asked: &TcpSocket,
        mut counting: Counting,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            socket_refused(
                flow.number,
                &format!("cannot listen at {}", flow.receiver),
                &error,
            )
        };
        let socket = tcp_socket().map_err(refused)?;
        counting.report.settings = set_receiver(&socket, asked);
        let listening = || -> io::Result<()> {
            // A replicate may follow another before the kernel has forgotten its connections.
            sockopt::set_socket_reuseaddr(&socket, true)?;
            set_codepoint(&socket, flow.dscp)?;
            bind(&socket, &flow.receiver)?;
            Ok(listen(&socket, 1)?)
        };
        listening().map_err(refused)?;
        Ok(Stream {
            phase: StreamPhase::Listening(socket),
            asked: *asked,
            slow: asked.read_bit_per_s.map(|rate| SlowReader {
                rate: BitRate::from_bit_per_s(rate),
                since: Time::ZERO,
                read: 0,
                next: Time::NEVER,
            }),
            counting,
        })
    }

    pub(super) fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        match &self.phase {
            StreamPhase::Listening(socket) | StreamPhase::Open(socket) => {
                waiting.add(socket, index, EventFlags::IN)
            }
            StreamPhase::Ended => Ok(()),
        }
    }
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, StreamPhase::Ended)
    }
    pub(super) fn into_report(self, ending: Ending) -> ReceivedFlow {
        let mut report = self.counting.report;
        if matches!(self.phase, StreamPhase::Open(_)) {
            report.ending = ending;
        }
        report
    }

    /// Accepts the connection, or reads from it.
    pub(super) fn handle_ready(
        &mut self,
        index: u64,
        waiting: &Waiting,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        if let StreamPhase::Listening(socket) = &self.phase {
            match accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(connection) => {
                    self.counting.report.connected_ns = Some(waiting.now().as_nanos());
                    // Only one connection is expected: its socket replaces the listening one.
                    self.phase = StreamPhase::Open(connection);
                    self.renew_settings();
                    self.watch(index, waiting)?;
                }
                // It was reset before it was accepted, accept(2): the sender has stopped.
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(()),
                Err(error) => {
                    self.end(Ending::Failed(format!(
                        "cannot accept: {}",
                        io::Error::from(error)
                    )));
                    return Ok(());
                }
            }
        }
        match &mut self.slow {
            None => self.read(waiting, buffer),
            Some(slow) if slow.next.is_never() => {
                slow.begin(waiting.now());
                self.listen_for(EventFlags::empty(), index, waiting)?;
            }
            // Between its reads only a reset wakes it.
            Some(_) => self.end(Ending::Stopped),
        }
        Ok(())
    }

    /// Returns the time of the next read of an application that reads slowly.
    pub(super) fn poll_timeout(&self) -> Time {
        self.slow.as_ref().map_or(Time::NEVER, |slow| slow.next)
    }

    /// Reads what an application that reads slowly has read by now. When the run is over it reads
    /// the rest at once, so that the connection ends.
    pub(super) fn handle_timeout(
        &mut self,
        index: u64,
        waiting: &Waiting,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let now = waiting.now();
        let Some(slow) = &mut self.slow else {
            return Ok(());
        };
        if now >= self.counting.end {
            self.slow = None;
            self.listen_for(EventFlags::IN, index, waiting)?;
            self.read(waiting, buffer);
            return Ok(());
        }
        let allowance = slow.allowance(now);
        slow.next = now + slow.interval();
        let StreamPhase::Open(socket) = &self.phase else {
            return Ok(());
        };
        let most = usize::try_from(allowance)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        if most == 0 {
            return Ok(());
        }
        match recv(socket, &mut buffer[..most], RecvFlags::TRUNC) {
            Ok((_, 0)) => self.end(Ending::Finished),
            Ok((_, bytes)) => {
                slow.read += bytes as u64;
                if bytes < most {
                    (slow.since, slow.read) = (now, 0); // it does not read ahead
                }
                self.counting.add(now, bytes as u64);
                self.renew_settings();
            }
            Err(Errno::AGAIN) => {
                slow.next = Time::NEVER;
                self.listen_for(EventFlags::IN, index, waiting)?;
            }
            Err(error) => self.fail(error),
        }
        Ok(())
    }

    /// Chooses the events of the connection that wake the program.
    fn listen_for(&self, flags: EventFlags, index: u64, waiting: &Waiting) -> io::Result<()> {
        match &self.phase {
            StreamPhase::Open(socket) => waiting.change(socket, index, flags),
            _ => Ok(()),
        }
    }

    /// Ends the stream after a failed read.
    fn fail(&mut self, error: Errno) {
        match error {
            Errno::INTR => {}
            Errno::CONNRESET => self.end(Ending::Stopped),
            error => self.end(Ending::Failed(format!(
                "reading failed: {}",
                io::Error::from(error)
            ))),
        }
    }

    fn read(&mut self, waiting: &Waiting, buffer: &mut [u8]) {
        for _ in 0..MOST_AT_ONCE {
            let StreamPhase::Open(socket) = &self.phase else {
                return;
            };
            match recv(socket, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, 0)) => return self.end(Ending::Finished),
                Ok((_, bytes)) => {
                    self.counting.add(waiting.now(), bytes as u64);
                    self.renew_settings();
                    if bytes < buffer.len() {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Renews settings that the kernel changes by itself: quick ACKs, which end after a few
    /// segments (tcp(7), TCP_QUICKACK), and the window clamp. The kernel changes the clamp whenever
    /// it finds another ratio of payload to memory in arriving data (tcp_measure_rcv_mss in
    /// net/ipv4/tcp_input.c).
    fn renew_settings(&self) {
        let StreamPhase::Open(socket) = &self.phase else {
            return;
        };
        // A socket that has just been reset accepts no settings, and needs none.
        if self.asked.acknowledge_at_once {
            let _ = sockopt::set_tcp_quickack(socket, true);
        }
        if let Some(bytes) = self.asked.receive_window_bytes {
            let _ = clamp_window(socket, bytes);
        }
    }

    fn end(&mut self, ending: Ending) {
        self.counting.report.ending = ending;
        self.phase = StreamPhase::Ended;
        self.slow = None;
    }
}
