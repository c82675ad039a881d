//! Sessions in real time, on real sockets: an event loop. Linux only.

use crate::clock::Clock;
use crate::session::{
    Ending, Ignored, Receiver, ReceiverReport, ReceiverSettings, Sender, SenderReport,
    SenderSettings, Source,
};
use crate::wait::{Stop, wait};
use crate::wire::Nonce;
use ackclock_core::packet::Ecn;
use ackclock_core::result::Table;
use ackclock_spec::units::{Span, Time};
use input::Input;
use output::Output;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

mod input;
mod output;
mod port;
mod tables;

pub use port::Port;
use tables::Samples;
pub use tables::{SessionStatus, receiver_tables, sender_tables};

/// A session as another thread sees and stops it.
#[derive(Debug)]
pub struct Live {
    /// Stop signal; ends the session in good order.
    pub stop: Stop,
    /// Longest duration of the session from its opening; then it ends in good order.
    pub duration: Span,
    latest: Mutex<Option<SessionStatus>>,
}

impl Live {
    /// Creates one for a session that will last `duration` at most.
    ///
    /// # Errors
    /// Errors of [`Stop::new`].
    pub fn new(duration: Option<Span>) -> io::Result<Self> {
        Ok(Live {
            stop: Stop::new()?,
            duration: duration.unwrap_or(Span::FOREVER),
            latest: Mutex::default(),
        })
    }

    /// Returns the current status; `None` while there is no session.
    pub fn latest(&self) -> Option<SessionStatus> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, status: Option<SessionStatus>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Returns the descriptor that wakes the loop to stop it; `instead` once it has done so.
    fn descriptor<'a>(&'a self, instead: BorrowedFd<'a>) -> BorrowedFd<'a> {
        if self.stop.is_given() {
            instead
        } else {
            self.stop.as_fd()
        }
    }
}

/// The outcome of a session on this side.
#[derive(Debug)]
pub struct SessionOutcome<R> {
    /// Reason of the end.
    pub ending: Ending,
    /// State and counts.
    pub report: R,
    /// Counts of ignored datagrams.
    pub ignored: Ignored,
    /// Number of datagrams that this host refused to send, and the last error.
    pub unsent: (u64, Option<io::Error>),
    /// Table `samples`.
    pub samples: Table,
    /// Time from the start of the program to the end.
    pub lasted: Time,
}

/// Waits on `port` for a receiver and sends it data: what is read from `data`, or what `source`
/// makes up. Without a session there is no report.
///
/// # Errors
/// Errors of reading the data, of waiting, and of a capture. A datagram that cannot be sent is not
/// an error.
pub fn send(
    mut port: Port,
    settings: SenderSettings,
    source: Source,
    data: Option<File>,
    secret: &[u8; 32],
    live: &Live,
) -> io::Result<SessionOutcome<Option<SenderReport>>> {
    let clock = Clock::start();
    let mut sender = Sender::new(settings, source, secret);
    let mut input = Input::new(data);
    let mut samples = Samples::default();
    let mut answer = Vec::new();
    loop {
        let now = clock.now();
        let ends = sender
            .opened()
            .map_or(Time::NEVER, |opened| opened + live.duration);
        if live.stop.is_given() || ends <= now {
            sender.stop(now);
        }
        port.send_all(now, true, |output| sender.poll_transmit(now, output))?;
        if samples.is_due(now) {
            live.tell(samples.take_sender(now, &sender));
            port.hand_over()?;
        }
        if let Some(ending) = sender.ending() {
            // A refusal may remain to be sent.
            port.send_all(now, true, |output| sender.poll_transmit(now, output))?;
            return Ok(SessionOutcome {
                ending,
                report: sender.report(),
                ignored: *sender.ignored(),
                unsent: port.finish()?,
                samples: samples.finish(),
                lasted: now,
            });
        }
        let end = if ends > now { ends } else { Time::NEVER };
        let due = sender.poll_timeout().min(samples.next()).min(end);
        let data = input.descriptor(&sender).unwrap_or(port.as_fd());
        wait(
            [port.as_fd(), live.descriptor(port.as_fd()), data],
            due.since(clock.now()),
        )?;
        let now = clock.now();
        // Due packets leave before answers are handled: the control's time must not run backwards,
        // and late packets would lose their turn.
        port.send_all(now, true, |output| sender.poll_transmit(now, output))?;
        port.receive(
            || clock.now(),
            |port, from, _ecn, datagram| {
                sender.handle_datagram(now, from, datagram, &mut answer);
                if answer.is_empty() {
                    Ok(())
                } else {
                    port.send(now, from, false, &answer)
                }
            },
        )?;
        input.read(now, &mut sender)?;
    }
}

/// Opens a session with the sender in `settings`, and writes the data that arrives to `data`, if
/// given.
///
/// # Errors
/// Errors of writing the data, of waiting, and of a capture. A datagram that cannot be sent is not
/// an error. If the reader of `data` is gone, the session ends in good order.
pub fn receive(
    mut port: Port,
    settings: ReceiverSettings,
    data: Option<File>,
    client: Nonce,
    live: &Live,
) -> io::Result<SessionOutcome<ReceiverReport>> {
    let clock = Clock::start();
    let mut receiver = Receiver::new(clock.now(), settings, client);
    let mut samples = Samples::default();
    let (mut output, mut payload) = (Output::new(data), Vec::new());
    loop {
        let now = clock.now();
        let ends = receiver
            .report()
            .begun
            .map_or(Time::NEVER, |begun| begun + live.duration);
        if live.stop.is_given() || ends <= now {
            receiver.stop(now);
        }
        port.send_all(now, false, |output| receiver.poll_transmit(now, output))?;
        if samples.is_due(now) {
            live.tell(samples.take_receiver(now, &receiver));
            port.hand_over()?;
        }
        if let Some(ending) = receiver.ending() {
            return Ok(SessionOutcome {
                ending,
                report: receiver.report(),
                ignored: *receiver.ignored(),
                unsent: port.finish()?,
                samples: samples.finish(),
                lasted: now,
            });
        }
        let end = if ends > now { ends } else { Time::NEVER };
        let due = receiver.poll_timeout().min(samples.next()).min(end);
        wait(
            [port.as_fd(), live.descriptor(port.as_fd())],
            due.since(clock.now()),
        )?;
        // Each datagram is handled at its own time of arrival. The answers leave together at the
        // next turn of the loop, which follows at once.
        port.receive(
            || clock.now(),
            |port, _from, ecn, datagram| {
                let now = clock.now();
                receiver.handle_datagram(now, datagram, ecn == Ecn::Marked, &mut payload);
                port.gather(now, false, |output| receiver.poll_transmit(now, output))
            },
        )?;
        if output.write(&payload)? {
            live.stop.give();
        }
        payload.clear();
    }
}
