//! A UDP flow at its sender.

use crate::workload::datagram::stamp;
use crate::workload::event_loop::Waiting;
use crate::workload::monotonic_ns;
use crate::workload::plan::{FlowPlan, Refused};
use crate::workload::report::{Delays, Ending, SentDatagram, SentDatagrams, SentFlow};
use crate::workload::schedule::Schedule;
use crate::workload::settings::{set_codepoint, socket_refused, udp_socket};
use ackclock_core::traffic::Write;
use ackclock_spec::units::Time;
use rustix::net::{SendFlags, bind, connect, send};
use std::io;
use std::os::fd::OwnedFd;

/// Longest payload of a datagram: the largest IPv4 packet without IP and UDP headers.
const LONGEST: usize = 65_535 - 28;
/// Most datagrams sent in one turn, so that a flow that is behind does not delay the others.
const MOST_AT_ONCE: usize = 64;

/// Sends datagrams with number and time of sending.
#[derive(Debug)]
pub(super) struct DatagramSource {
    socket: Option<OwnedFd>,
    /// Payload: its beginning is overwritten for each datagram, the rest is zero.
    payload: Vec<u8>,
    padding_bytes: i64,
    schedule: Schedule,
    next_number: u64,
    logged: usize,
    datagrams: SentDatagrams,
    report: SentFlow,
}

impl DatagramSource {
    /// Creates a source with a bound socket, connected to the flow's receiver.
    pub(super) fn prepare(
        flow: &FlowPlan,
        padding_bytes: i64,
        schedule: Schedule,
        logged: u32,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            let attempt = format!("cannot send from {} to {}", flow.sender, flow.receiver);
            socket_refused(flow.number, &attempt, &error)
        };
        let socket = udp_socket().map_err(refused)?;
        set_codepoint(&socket, flow.dscp).map_err(refused)?;
        bind(&socket, &flow.sender).map_err(|error| refused(error.into()))?;
        connect(&socket, &flow.receiver).map_err(|error| refused(error.into()))?;
        Ok(DatagramSource {
            socket: Some(socket),
            payload: vec![0; LONGEST],
            padding_bytes,
            schedule,
            next_number: 0,
            logged: logged as usize,
            datagrams: SentDatagrams::default(),
            report: SentFlow {
                number: flow.number,
                ..SentFlow::default()
            },
        })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.socket.is_none()
    }
    pub(super) fn into_report(self) -> SentFlow {
        SentFlow {
            datagrams: Some(self.datagrams),
            ..self.report
        }
    }

    /// Returns the time of the next datagram or, after the last, of the end.
    pub(super) fn poll_timeout(&self) -> Time {
        match &self.socket {
            Some(_) if self.report.started_ns.is_none() => self.schedule.start(),
            Some(_) => self.schedule.poll_timeout().min(self.schedule.stop()),
            None => Time::NEVER,
        }
    }

    /// Sends everything that is due.
    pub(super) fn handle_timeout(&mut self, now: Time, waiting: &Waiting) {
        if self.report.started_ns.is_none() && self.schedule.start() <= now {
            self.report.started_ns = Some(now.as_nanos());
        }
        for _ in 0..MOST_AT_ONCE {
            let Some((due, write)) = self.schedule.poll_write(now) else {
                if self.schedule.stop() <= now {
                    let ending = if self.schedule.stops_early() {
                        Ending::Stopped
                    } else {
                        Ending::EndOfRun
                    };
                    self.end(ending, now);
                }
                return;
            };
            if let Write::Bytes(bytes) = write {
                self.send(due, bytes.0, waiting);
            }
        }
    }

    fn send(&mut self, due: Time, bytes: u64, waiting: &Waiting) {
        let Some(socket) = &self.socket else {
            return;
        };
        let length = bytes
            .saturating_add_signed(self.padding_bytes)
            .min(LONGEST as u64) as usize;
        let number = self.next_number;
        self.next_number += 1;
        let instant_ns = monotonic_ns();
        let begin = stamp(number, instant_ns);
        self.payload[..begin.len()].copy_from_slice(&begin);
        // If its buffer is full, the socket fails at once: a datagram that waited would change the
        // traffic.
        match send(socket, &self.payload[..length], SendFlags::NOSIGNAL) {
            Ok(_) => {
                self.datagrams.sent += 1;
                self.report.written_bytes += bytes;
            }
            Err(error) => {
                self.datagrams.refused += 1;
                self.datagrams.refusal = Some(io::Error::from(error).to_string());
            }
        }
        let sent = waiting.since_begin(instant_ns);
        Delays::add(&mut self.datagrams.lateness, sent.since(due).as_nanos());
        if self.datagrams.log.len() < self.logged {
            self.datagrams.log.push(SentDatagram {
                number,
                due_ns: due.as_nanos(),
                sent_ns: sent.as_nanos(),
            });
        }
    }

    /// Ends sending.
    pub(super) fn end(&mut self, ending: Ending, now: Time) {
        if self.socket.take().is_some() && self.report.started_ns.is_some() {
            self.report.ending = ending;
            self.report.ended_ns = Some(now.as_nanos());
        }
    }
}
