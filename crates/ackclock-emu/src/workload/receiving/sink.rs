//! A UDP flow at its receiver.

use super::Counting;
use crate::workload::datagram::{Arrival, Numbers, STAMP_BYTES, read_stamp};
use crate::workload::event_loop::Waiting;
use crate::workload::plan::{FlowPlan, Refused};
use crate::workload::report::{Ending, ReceivedDatagram, ReceivedDatagrams, ReceivedFlow};
use crate::workload::settings::{enlarge_receive_buffer, overflowed, socket_refused, udp_socket};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, bind, recv};
use std::io;
use std::os::fd::OwnedFd;

/// Most datagrams received in one turn, so that no flow delays the others.
const MOST_AT_ONCE: usize = 64;

#[derive(Debug)]
pub(super) struct DatagramSink {
    socket: OwnedFd,
    padding_bytes: i64,
    numbers: Numbers,
    logged: usize,
    datagrams: ReceivedDatagrams,
    counting: Counting,
}

impl DatagramSink {
    /// Creates a sink with a bound socket.
    pub(super) fn prepare(
        flow: &FlowPlan,
        padding_bytes: i64,
        counting: Counting,
        logged: u32,
    ) -> Result<Self, Refused> {
        let refused = |error: io::Error| {
            socket_refused(
                flow.number,
                &format!("cannot receive at {}", flow.receiver),
                &error,
            )
        };
        let socket = udp_socket().map_err(refused)?;
        enlarge_receive_buffer(&socket).map_err(refused)?;
        bind(&socket, &flow.receiver).map_err(|error| refused(error.into()))?;
        Ok(DatagramSink {
            socket,
            padding_bytes,
            numbers: Numbers::default(),
            logged: logged as usize,
            datagrams: ReceivedDatagrams::default(),
            counting,
        })
    }

    pub(super) fn watch(&self, index: u64, waiting: &Waiting) -> io::Result<()> {
        waiting.add(&self.socket, index, EventFlags::IN)
    }

    pub(super) fn into_report(mut self, ending: Ending) -> ReceivedFlow {
        self.datagrams.overflowed = overflowed(&self.socket).ok();
        let mut report = self.counting.report;
        if report.first_ns.is_some() {
            report.ending = ending;
        }
        report.datagrams = Some(self.datagrams);
        report
    }

    /// Receives the datagrams that have arrived.
    pub(super) fn handle_ready(&mut self, waiting: &Waiting) -> io::Result<()> {
        for _ in 0..MOST_AT_ONCE {
            let mut begin = [0; STAMP_BYTES];
            // With MSG_TRUNC the length is that of the datagram, however little of it is read
            // (udp(7)).
            match recv(&self.socket, &mut begin[..], RecvFlags::TRUNC) {
                Ok((_, length)) => self.count(&begin[..length.min(STAMP_BYTES)], length, waiting),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn count(&mut self, begin: &[u8], length: usize, waiting: &Waiting) {
        let now = waiting.now();
        let (number, sent_ns) = read_stamp(begin, self.numbers.expected());
        let sent = sent_ns.map(|instant| waiting.since_begin(instant));
        if self.datagrams.log.len() < self.logged {
            self.datagrams.log.push(ReceivedDatagram {
                number,
                sent_ns: sent.map(|sent| sent.as_nanos()),
                received_ns: now.as_nanos(),
            });
        }
        match self.numbers.arrive(number) {
            Arrival::Duplicate => {
                self.datagrams.duplicate += 1;
                return;
            }
            Arrival::Reordered => self.datagrams.reordered += 1,
            Arrival::InOrder => {}
        }
        self.datagrams.unique += 1;
        if let Some(sent) = sent {
            self.datagrams.delay.add(now.since(sent).as_nanos());
        }
        let payload = (length as u64).saturating_add_signed(self.padding_bytes.saturating_neg());
        self.counting.add(now, payload);
    }
}
