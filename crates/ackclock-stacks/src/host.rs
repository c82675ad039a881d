//! A stack in a process of its own: if it crashes, the run has a fault and the engine goes on.
//!
//! The process reads requests from its standard input, a socket, and writes the answers to it. Each
//! message is its length, then its content in the format of postcard.

use crate::library::{Identity, Recipe, Stack};
use crate::object::{Call, Object, Outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for an answer. A call takes microseconds; a machine that sleeps takes longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest message: all datagrams of one call, and some room.
const MOST_BYTES: usize = 256 << 20;

/// Questions of the engine.
#[derive(Debug, Serialize, Deserialize)]
enum Request<'a> {
    /// Answered by a `Result<Identity, String>`.
    Identify,
    /// Answered by a `Result<u32, String>`: the number of the side.
    Make(Recipe),
    /// Calls a side at a time; answered by an [`Outcome`].
    Call(u32, u64, #[serde(borrow)] Call<'a>),
    /// Ends a side; not answered.
    End(u32),
}

/// A socket of messages.
#[derive(Debug)]
struct Channel {
    socket: UnixStream,
    buffer: Vec<u8>,
}

impl Channel {
    fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; 4]);
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer = postcard::to_extend(message, buffer).map_err(io::Error::other)?;
        let length = u32::try_from(self.buffer.len() - 4).map_err(io::Error::other)?;
        self.buffer[..4].copy_from_slice(&length.to_le_bytes());
        self.socket.write_all(&self.buffer)
    }

    /// Reads the bytes of the next message.
    fn receive(&mut self) -> io::Result<&[u8]> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_BYTES {
            return Err(io::Error::other("a message is too long"));
        }
        self.buffer.resize(length, 0);
        self.socket.read_exact(&mut self.buffer)?;
        Ok(&self.buffer)
    }

    fn ask<A: DeserializeOwned>(&mut self, request: &Request<'_>) -> io::Result<A> {
        self.send(request)?;
        postcard::from_bytes(self.receive()?).map_err(io::Error::other)
    }
}

/// Serves the stack of a library on standard input until that ends. The process of a stack does
/// nothing else.
///
/// # Errors
/// Standard input is not a socket, or breaks.
pub fn serve(library: &Path) -> io::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (buffer, mut answers) = (
        Vec::new(),
        Channel {
            socket: socket.try_clone()?,
            buffer: Vec::new(),
        },
    );
    let mut requests = Channel { socket, buffer };
    let stack = Stack::load(library);
    let mut sides = BTreeMap::new();
    loop {
        let request = match requests.receive() {
            Ok(bytes) => postcard::from_bytes(bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        match (request, &stack) {
            (Request::Identify, stack) => {
                answers.send(&stack.as_ref().map(|stack| &stack.identity))?;
            }
            (Request::Make(_), Err(reason)) => answers.send(&Err::<u32, _>(reason))?,
            (Request::Make(recipe), Ok(stack)) => {
                let number = sides.last_key_value().map_or(0, |(last, _)| last + 1);
                let made = stack.make(&recipe).map(|side| sides.insert(number, side));
                answers.send(&made.map(|_| number))?;
            }
            (Request::Call(side, now, call), _) => {
                let mut outcome = Outcome::default();
                if let Some(side) = sides.get_mut(&side) {
                    side.call(now, call, &mut outcome);
                }
                answers.send(&outcome)?;
            }
            (Request::End(side), _) => drop(sides.remove(&side)),
        }
    }
}

/// A process that serves a stack.
#[derive(Debug)]
pub struct Host {
    process: Mutex<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    channel: Channel,
    /// The reason why it is not asked any more.
    end: Option<String>,
}

impl Host {
    /// Starts a program that serves a stack, with its arguments.
    ///
    /// # Errors
    /// It cannot be started; one line.
    pub fn start(command: &[OsString]) -> Result<Self, String> {
        let start = || -> io::Result<Process> {
            let (ours, theirs) = UnixStream::pair()?;
            ours.set_read_timeout(Some(PATIENCE))?;
            let (program, arguments) = command.split_first().ok_or(ErrorKind::NotFound)?;
            // What it prints does not belong to the answer of a command.
            let printed = io::stderr().as_fd().try_clone_to_owned()?;
            let child = Command::new(program)
                .args(arguments)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::from(printed))
                .spawn()?;
            let (buffer, end) = (Vec::new(), None);
            let channel = Channel {
                socket: ours,
                buffer,
            };
            Ok(Process {
                child,
                channel,
                end,
            })
        };
        let process = start().map_err(|error| format!("its process cannot start: {error}"))?;
        Ok(Host {
            process: Mutex::new(process),
        })
    }

    /// Asks for name, version and controls.
    ///
    /// # Errors
    /// It cannot be loaded, or its process has ended; one line.
    pub fn identify(&self) -> Result<Identity, String> {
        self.lock().ask(&Request::Identify)?
    }

    /// True unless its process has ended.
    pub fn is_alive(&self) -> bool {
        self.lock().end.is_none()
    }

    /// Makes a side in the process.
    ///
    /// # Errors
    /// The stack's reason, or that its process has ended; one line.
    pub fn make(self: &Arc<Self>, recipe: &Recipe) -> Result<Remote, String> {
        let number = self
            .lock()
            .ask::<Result<u32, String>>(&Request::Make(recipe.clone()))??;
        let host = Arc::clone(self);
        Ok(Remote { host, number })
    }

    fn lock(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Asks, unless it has ended.
    fn ask<A: DeserializeOwned>(&mut self, request: &Request<'_>) -> Result<A, String> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        let answer = self.channel.ask(request);
        answer.map_err(|error| self.end(&error))
    }

    /// Ends it after an error, and returns why.
    fn end(&mut self, error: &io::Error) -> String {
        let is_late = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        if is_late {
            let _ = self.child.kill();
        }
        let status = self.child.wait();
        let reason = match (is_late, status) {
            (true, _) => format!("it did not answer within {} s", PATIENCE.as_secs()),
            (false, Ok(status)) => format!("its process ended by {}", written(status)),
            (false, Err(error)) => format!("its process ended: {error}"),
        };
        self.end.insert(reason).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it holds nothing that would be lost
        let _ = self.child.wait();
    }
}

/// `signal 6 (SIGABRT)`, or `exit code 1`.
fn written(status: ExitStatus) -> String {
    let Some(signal) = status.signal() else {
        return format!("exit code {}", status.code().unwrap_or_default());
    };
    let name = rustix::process::Signal::from_named_raw(signal);
    name.map_or_else(
        || format!("signal {signal}"),
        |name| format!("signal {signal} ({name:?})"),
    )
}

/// A side in another process.
#[derive(Debug)]
pub struct Remote {
    host: Arc<Host>,
    number: u32,
}

impl Object for Remote {
    fn call(&mut self, now: u64, call: Call<'_>, outcome: &mut Outcome) {
        let request = Request::Call(self.number, now, call);
        let answer = self.host.lock().ask(&request);
        match answer {
            Ok(later) => outcome.follow(later),
            Err(reason) => outcome.fail(reason),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut process = self.host.lock();
        if process.end.is_none() {
            let _ = process.channel.send(&Request::End(self.number));
        }
    }
}
