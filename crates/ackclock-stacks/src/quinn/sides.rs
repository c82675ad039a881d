//! The two sides of a flow: the one that opens the connection and sends, and the one that reads.

use super::connection::Machine;
use super::watch::Seen;
use ackclock_core::endpoint::SenderEvent;
use ackclock_core::traffic::Write;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Progress, Transmit};
use ackclock_quinn::Control;
use ackclock_spec::units::{Bytes, Span, Time};
use bytes::Bytes as Chunk;
use quinn_proto::{ClientConfig, Dir, Event, ReadError, StreamEvent, StreamId, WriteError};
use std::sync::Arc;
use std::time::Duration;

/// The data of applications, zeros.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Opens the connection and sends on one stream.
pub struct Sender {
    machine: Machine,
    /// Taken when it opens the connection.
    client: Option<ClientConfig>,
    seen: Seen,
    /// The control, if it is one of the engine's.
    ours: Option<Arc<Control>>,
    stream: Option<StreamId>,
    /// Bytes that the application has written and the stream has not taken; none if there is no end
    /// of them.
    waiting: Option<u64>,
    /// True once the application writes no more, until the stream knows.
    closing: bool,
    stopped: bool,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut written = f.debug_struct("Sender");
        written
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl Sender {
    pub fn new(
        machine: Machine,
        client: ClientConfig,
        seen: Seen,
        ours: Option<Arc<Control>>,
    ) -> Self {
        Sender {
            machine,
            client: Some(client),
            seen,
            ours,
            stream: None,
            waiting: Some(0),
            closing: false,
            stopped: false,
        }
    }

    /// Handles what has happened, and gives the stream what it can take.
    fn settle(&mut self) {
        let mut may_write = false;
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Connected => {
                    let connection = self.machine.connection();
                    self.stream =
                        connection.and_then(|connection| connection.streams().open(Dir::Uni));
                    may_write = true;
                }
                Event::Stream(StreamEvent::Writable { .. }) => may_write = true,
                _ => {}
            }
        }
        if may_write {
            self.fill();
        }
    }

    /// Fills the stream until it takes no more.
    fn fill(&mut self) {
        let (Some(id), Some(connection)) = (self.stream, self.machine.connection()) else {
            return;
        };
        let mut stream = connection.send_stream(id);
        while self.waiting != Some(0) {
            let whole = ZEROS.len() as u64;
            let length = self.waiting.unwrap_or(whole).min(whole) as usize;
            match stream.write_chunks(&mut [Chunk::from_static(&ZEROS[..length])]) {
                Ok(written) => {
                    self.waiting = self.waiting.map(|bytes| bytes - written.bytes as u64);
                }
                Err(WriteError::Blocked) => return,
                Err(error) => return self.machine.fail(&error.to_string()),
            }
        }
        if std::mem::take(&mut self.closing)
            && let Err(error) = stream.finish()
        {
            self.machine.fail(&error.to_string());
        }
    }
}

impl Endpoint for Sender {
    fn open(&mut self, now: Time) {
        if let Some(client) = self.client.take() {
            self.machine.connect(now, client);
        }
    }
    fn write(&mut self, _: Time, write: Write) {
        self.waiting = match (self.waiting, write) {
            (Some(waiting), Write::Bytes(bytes)) => Some(waiting.saturating_add(bytes.0)),
            (None, _) | (_, Write::Unlimited) => None,
        };
        self.fill();
    }
    fn close(&mut self, _: Time) {
        self.closing = true;
        self.fill();
    }
    fn stop(&mut self, _: Time) {
        self.stopped = true;
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        if !self.stopped {
            self.machine.handle_packet(now, arrived);
            self.settle();
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        if !self.stopped {
            self.machine.handle_timeout(now);
            self.settle();
        }
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        match self.stopped {
            true => None,
            false => self.machine.poll_transmit(now, payload),
        }
    }
    fn poll_timeout(&self) -> Time {
        match self.stopped {
            true => Time::NEVER,
            false => self.machine.poll_timeout(),
        }
    }
    fn progress(&self) -> Progress {
        let (sent, notes) = (self.machine.sent(), self.seen.notes());
        let Some(connection) = self.machine.state() else {
            return Progress::default();
        };
        let (counts, metrics) = (connection.stats(), connection.congestion_state().metrics());
        let is_set = |threshold: &u64| *threshold < u64::MAX;
        Progress {
            sent,
            lost: Some(counts.path.lost_packets),
            timeouts: Some(notes.persistent_congestions),
            cwnd: Some(Bytes(metrics.congestion_window)),
            ssthresh: metrics.ssthresh.filter(is_set).map(Bytes),
            rtt: notes.rtt.map(span),
            smoothed_rtt: notes.rtt.map(|_| span(connection.rtt())),
            round_trips: notes.round_trips,
            // Not the pacing rate of BBR: quinn does not keep to it, and it depends on a draw of
            // the system's randomness.
            ..Progress::default()
        }
    }
    fn take_events(&mut self) -> Vec<SenderEvent> {
        let reductions = self.seen.take_reductions();
        let events = reductions.into_iter().map(|reduction| SenderEvent {
            at: self.machine.time(reduction.at),
            kind: reduction.kind,
            cwnd_before: Bytes(reduction.windows.0),
            cwnd_after: Bytes(reduction.windows.1),
            ssthresh_after: reduction.ssthresh.map(Bytes),
            in_flight: None,
        });
        events.collect()
    }
    fn fault(&self) -> Option<String> {
        let of_control = || self.ours.as_ref().and_then(|control| control.fault());
        self.machine.fault.clone().or_else(of_control)
    }
}

/// Accepts the connection and reads whatever comes.
pub struct Receiver {
    machine: Machine,
    delivered: Bytes,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut written = f.debug_struct("Receiver");
        written
            .field("delivered", &self.delivered)
            .finish_non_exhaustive()
    }
}

impl Receiver {
    pub fn new(machine: Machine) -> Self {
        Receiver {
            machine,
            delivered: Bytes::ZERO,
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    let connection = self.machine.connection();
                    if let Some(id) =
                        connection.and_then(|connection| connection.streams().accept(dir))
                    {
                        self.read(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(id),
                _ => {}
            }
        }
    }

    /// Reads all that is there, in order.
    fn read(&mut self, id: StreamId) {
        let Some(connection) = self.machine.connection() else {
            return;
        };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return; // it has been read to its end
        };
        let error = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.delivered += Bytes(chunk.bytes.len() as u64),
                Ok(None) | Err(ReadError::Blocked) => break None,
                Err(error) => break Some(error),
            }
        };
        let _ = chunks.finalize(); // whatever is to be sent is asked for anyway
        if let Some(error) = error {
            self.machine.fail(&error.to_string());
        }
    }
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        self.machine.handle_packet(now, arrived);
        self.settle();
    }
    fn handle_timeout(&mut self, now: Time) {
        self.machine.handle_timeout(now);
        self.settle();
    }
    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        self.machine.poll_transmit(now, payload)
    }
    fn poll_timeout(&self) -> Time {
        self.machine.poll_timeout()
    }
    fn delivered(&self) -> Bytes {
        self.delivered
    }
    fn fault(&self) -> Option<String> {
        self.machine.fault.clone()
    }
}
