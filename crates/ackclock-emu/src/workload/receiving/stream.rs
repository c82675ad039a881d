//! A TCP flow at its receiver.

use super::Counting;
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Refused, TcpSocket};
use crate::workload::report::{Ending, ReceivedFlow};
use crate::workload::settings::{
    clamp_window, set_codepoint, set_receiver, socket_refused, tcp_socket,
};
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

#[derive(Debug)]
pub(super) struct Stream {
    phase: StreamPhase,
    asked: TcpSocket,
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
        self.read(waiting, buffer);
        Ok(())
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
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return self.end(Ending::Stopped),
                Err(error) => {
                    return self.end(Ending::Failed(format!(
                        "reading failed: {}",
                        io::Error::from(error)
                    )));
                }
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
    }
}
