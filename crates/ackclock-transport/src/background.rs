//! Writing in the background: a thread of its own writes full buffers, so that the file system does
//! not delay the event loop.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Size of a buffer in bytes.
const BUFFER: usize = 1 << 16;
/// Number of buffers that may wait for the disk. Beyond it the writer blocks rather than use up the
/// memory.
const WAITING: usize = 256;

/// An output written by code that must not be delayed.
pub trait Output: Write + Send {
    /// Passes on what was written so far to the disk. Avoids waiting until it is there if possible.
    ///
    /// # Errors
    /// Errors of writing.
    fn hand_over(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Output for Background {
    fn hand_over(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.send_buffer()
    }
}

/// Writes buffers in a thread of its own. [`Write::flush`] waits until everything has been written
/// and reports any failure; so does a write after a failure. Dropping it writes the rest too.
#[derive(Debug)]
pub struct Background {
    buffer: Vec<u8>,
    work: Option<SyncSender<Work>>,
    /// Empty buffers to be reused, or the error after which there are none.
    spare: Receiver<io::Result<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

enum Work {
    Write(Vec<u8>),
    /// Flush, and answer.
    Flush(Sender<io::Result<()>>),
}

impl Background {
    /// Writes to `output` from a new thread, which ends when this is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (work, todo) = sync_channel(WAITING);
        let (give_back, spare) = channel();
        let thread = std::thread::Builder::new()
            .name("ackclock-writer".into())
            .spawn(move || carry_out(output, &todo, &give_back))?;
        Ok(Background {
            buffer: Vec::with_capacity(BUFFER),
            work: Some(work),
            spare,
            thread: Some(thread),
        })
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        let empty = match self.spare.try_recv() {
            Ok(spare) => spare?,
            Err(_) => Vec::with_capacity(BUFFER),
        };
        let full = std::mem::replace(&mut self.buffer, empty);
        self.send(Work::Write(full))
    }

    fn send(&self, work: Work) -> io::Result<()> {
        let sent = self.work.as_ref().and_then(|sender| sender.send(work).ok());
        sent.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

/// Writes until all senders are gone. After a failure it discards all data and reports the failure
/// to every flush.
fn carry_out(
    mut output: impl Write,
    todo: &Receiver<Work>,
    give_back: &Sender<io::Result<Vec<u8>>>,
) {
    let mut failure: Option<io::Error> = None;
    let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
    for work in todo {
        match work {
            Work::Write(mut buffer) => {
                if failure.is_none() {
                    failure = output.write_all(&buffer).err();
                }
                buffer.clear();
                // The receiver may be gone already.
                let _ = give_back.send(
                    failure
                        .as_ref()
                        .map_or(Ok(buffer), |error| Err(copy(error))),
                );
            }
            Work::Flush(answer) => {
                if failure.is_none() {
                    failure = output.flush().err();
                }
                let _ = answer.send(failure.as_ref().map_or(Ok(()), |error| Err(copy(error))));
            }
        }
    }
}

impl Write for Background {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER && !self.buffer.is_empty() {
            self.send_buffer()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.send_buffer()?;
        }
        let (answer, answered) = channel();
        self.send(Work::Flush(answer))?;
        answered
            .recv()
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // To learn of failures, flush before dropping.
        let _ = self.flush();
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Bytes that a test can inspect while another thread writes them.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        fn bytes(&self) -> Vec<u8> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_arrives_in_order() {
        let shared = Shared::default();
        let mut writer = Background::new(shared.clone()).unwrap();
        let mut expected = Vec::new();
        for number in 0..100_000_u32 {
            writer.write_all(&number.to_le_bytes()).unwrap();
            expected.extend_from_slice(&number.to_le_bytes());
        }
        let long = vec![7; 3 * BUFFER];
        writer.write_all(&long).unwrap();
        expected.extend_from_slice(&long);
        writer.flush().unwrap();
        assert_eq!(shared.bytes(), expected);
        writer.write_all(b"the rest").unwrap();
        drop(writer);
        assert!(shared.bytes().ends_with(b"the rest"));
    }

    #[test]
    fn what_is_handed_over_arrives_though_no_more_is_written() {
        let shared = Shared::default();
        let mut writer = Background::new(shared.clone()).unwrap();
        writer.write_all(b"a few bytes").unwrap();
        writer.hand_over().unwrap();
        writer.hand_over().unwrap(); // nothing left
        while shared.bytes() != b"a few bytes" {
            std::thread::yield_now(); // would not end otherwise
        }
        assert_eq!(shared.bytes(), b"a few bytes");
    }

    /// A writer that takes this many bytes, then fails.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(io::ErrorKind::StorageFull.into()),
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told() {
        let mut writer = Background::new(Full(BUFFER)).unwrap();
        writer.write_all(&[1; 100]).unwrap();
        writer.flush().unwrap();
        writer.write_all(&vec![1; BUFFER]).unwrap();
        assert_eq!(
            writer.flush().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert_eq!(
            writer.flush().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        writer.write_all(&[1; 100]).unwrap();
        let later = writer.flush().unwrap_err();
        assert_eq!(later.kind(), io::ErrorKind::StorageFull);
    }
}
