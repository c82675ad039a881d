//! A TCP flow at its sender.

use super::{Context, ZEROS};
use crate::workload::offered::Offered;
use crate::workload::plan::{FlowPlan, Refused, TcpSocket};
use crate::workload::report::{Ending, SentFlow};
use crate::workload::schedule::Schedule;
use crate::workload::settings::{
    set_codepoint, set_control, set_sender, socket_refused, tcp_socket,
};
use crate::workload::tcp_info::TcpInfo;
use ackclock_spec::units::Time;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, bind, connect, send, shutdown, sockopt};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Most bytes written in one turn, so that no flow delays the others.
const MOST_AT_ONCE: usize = 4 * ZEROS.len();

/// Phase of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    Waiting,
    Connecting,
    Open,
    /// All data and the end are handed over; the receiver has yet to close.
    Closing,
    Ended,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// Number of its socket in the loop.
    index: u64,
    receiver: SocketAddrV4,
    socket: Option<OwnedFd>,
    phase: ConnectionPhase,
    waits_for: EventFlags,
    schedule: Schedule,
    offered: Offered,
    report: SentFlow,
}

impl Connection {
    /// Creates a connection with a configured and bound socket.
    pub(super) fn prepare(
        index: u64,
        flow: &FlowPlan,
        control: &str,
        asked: &TcpSocket,
        schedule: Schedule,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            socket_refused(
                flow.number,
                &format!("cannot send from {}", flow.sender),
                &error,
            )
        };
        let socket = tcp_socket().map_err(refused)?;
        let bound = || -> io::Result<()> {
            set_control(&socket, control)?;
            set_codepoint(&socket, flow.dscp)?;
            // A replicate may follow another before the kernel has forgotten its connections.
            sockopt::set_socket_reuseaddr(&socket, true)?;
            // If this process is killed, its connections end with it. Left alone, the kernel would
            // try for minutes to send what was written, and keep their control as long.
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
            Ok(bind(&socket, &flow.sender)?)
        };
        bound().map_err(refused)?;
        Ok(Connection {
            index,
            receiver: flow.receiver,
            phase: ConnectionPhase::Waiting,
            waits_for: EventFlags::empty(),
            offered: Offered::new(flow.mss_bytes),
            report: SentFlow {
                number: flow.number,
                settings: set_sender(&socket, asked),
                ..SentFlow::default()
            },
            socket: Some(socket),
            schedule,
        })
    }

    pub(super) const fn number(&self) -> u32 {
        self.report.number
    }
    pub(super) fn has_ended(&self) -> bool {
        self.phase == ConnectionPhase::Ended
    }
    pub(super) fn into_report(self) -> SentFlow {
        self.report
    }

    /// Returns the time at which it next starts, writes or stops.
    pub(super) fn poll_timeout(&self) -> Time {
        match self.phase {
            ConnectionPhase::Waiting => self.schedule.start(),
            ConnectionPhase::Connecting | ConnectionPhase::Open | ConnectionPhase::Closing => {
                self.schedule.poll_timeout().min(self.schedule.stop())
            }
            ConnectionPhase::Ended => Time::NEVER,
        }
    }

    /// Returns the kernel's information on it, while it is a connection.
    pub(super) fn read_info(&self) -> Option<TcpInfo> {
        match self.phase {
            ConnectionPhase::Waiting | ConnectionPhase::Ended => None,
            ConnectionPhase::Connecting | ConnectionPhase::Open | ConnectionPhase::Closing => {
                TcpInfo::read(self.socket.as_ref()?).ok()
            }
        }
    }

    /// Starts, lets the application write, and stops, as due.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        if self.phase == ConnectionPhase::Waiting && self.schedule.start() <= context.now {
            self.open(context)?;
        }
        if self.schedule.stop() <= context.now {
            let ending = if self.schedule.stops_early() {
                Ending::Stopped
            } else {
                Ending::EndOfRun
            };
            return self.end(ending, context);
        }
        while let Some((_, write)) = self.schedule.poll_write(context.now) {
            self.offered.write(write);
        }
        if self.schedule.is_complete() {
            self.offered.close();
        }
        self.transmit(context)
    }

    /// Handles a ready socket.
    pub(super) fn handle_ready(
        &mut self,
        flags: EventFlags,
        context: &mut Context<'_, '_>,
    ) -> io::Result<()> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && let Err(error) = sockopt::socket_error(socket)?
        {
            return self.fail("the connection broke", error, context);
        }
        if self.phase == ConnectionPhase::Connecting && flags.contains(EventFlags::OUT) {
            self.report.control = Some(sockopt::tcp_congestion(socket)?);
            self.report.connected_ns = Some(context.now.as_nanos());
            self.phase = ConnectionPhase::Open;
        }
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP) {
            let ending = if self.phase == ConnectionPhase::Closing {
                Ending::Finished
            } else {
                Ending::Failed("the receiver closed the connection".into())
            };
            return self.end(ending, context);
        }
        self.transmit(context)
    }

    fn open(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        self.report.started_ns = Some(context.now.as_nanos());
        self.phase = ConnectionPhase::Connecting;
        match connect(socket, &self.receiver) {
            Ok(()) | Err(Errno::INPROGRESS) => {
                // The socket becomes writable once the connection is established, or has an error
                // if not.
                self.waits_for = EventFlags::OUT | EventFlags::RDHUP;
                context.waiting.add(socket, self.index, self.waits_for)
            }
            Err(error) => self.fail(
                &format!("cannot connect to {}", self.receiver),
                error,
                context,
            ),
        }
    }

    /// Hands over the data that is ready, as far as the socket takes it.
    fn transmit(&mut self, context: &mut Context<'_, '_>) -> io::Result<()> {
        let Some(socket) = self
            .socket
            .as_ref()
            .filter(|_| self.phase == ConnectionPhase::Open)
        else {
            return Ok(());
        };
        let mut left = MOST_AT_ONCE;
        while left > 0 && self.offered.ready() > 0 {
            let ready = usize::try_from(self.offered.ready()).unwrap_or(usize::MAX);
            match send(
                socket,
                &ZEROS[..ready.min(ZEROS.len())],
                SendFlags::NOSIGNAL,
            ) {
                Ok(taken) => {
                    self.offered.take(taken as u64);
                    left = left.saturating_sub(taken);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return self.fail("writing failed", error, context),
            }
        }
        let mut waits_for = EventFlags::RDHUP;
        if self.offered.ready() > 0 {
            waits_for |= EventFlags::OUT;
        }
        if waits_for != self.waits_for {
            self.waits_for = waits_for;
            context.waiting.change(socket, self.index, waits_for)?;
        }
        if self.offered.is_finished() {
            shutdown(socket, Shutdown::Write)?;
            self.phase = ConnectionPhase::Closing;
        }
        Ok(())
    }

    fn fail(
        &mut self,
        attempt: &str,
        error: Errno,
        context: &mut Context<'_, '_>,
    ) -> io::Result<()> {
        let attempt = if self.phase == ConnectionPhase::Connecting {
            "cannot connect"
        } else {
            attempt
        };
        let reason = format!("{attempt}: {}", io::Error::from(error));
        self.end(Ending::Failed(reason), context)
    }

    /// Takes the last reading and closes.
    ///
    /// Unless all data was received, resets the connection: unsent data is dropped and nothing is
    /// retransmitted, as when the engine's sender stops. A normal close would go on sending the
    /// whole send buffer.
    pub(super) fn end(&mut self, ending: Ending, context: &mut Context<'_, '_>) -> io::Result<()> {
        if self.phase == ConnectionPhase::Ended {
            return Ok(());
        }
        if let Some(info) = self.read_info() {
            context
                .samples
                .push(context.now, self.report.number, &info)?;
            // The kernel counts the SYN, and the FIN when everything else is acknowledged.
            let counted = info.acknowledged_bytes.map(|bytes| bytes.saturating_sub(1));
            self.report.acknowledged_bytes = counted.map(|bytes| bytes.min(self.offered.taken()));
            self.report.retransmissions = Some(info.retransmissions);
            self.report.last = Some(info);
        }
        if let Some(socket) = self.socket.take()
            && ending == Ending::Finished
        {
            sockopt::set_socket_linger(&socket, None)?;
        }
        self.report.written_bytes = self.offered.taken();
        if self.phase != ConnectionPhase::Waiting || matches!(ending, Ending::Failed(_)) {
            self.report.ended_ns = Some(context.now.as_nanos());
            self.report.ending = ending;
        }
        self.phase = ConnectionPhase::Ended;
        Ok(())
    }
}
