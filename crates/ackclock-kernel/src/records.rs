//! The calls of a control, from the kernel's ring buffer to a file.

use crate::load::Control;
use crate::refusal::Refusal;
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two looks at the ring buffer, which holds a third of a second of calls at 1 Gbit/s.
const INTERVAL: Duration = Duration::from_millis(5);

/// First bytes of a file of records; 144 bytes for each call follow, as `ackclock.bpf.h` says.
pub const MAGIC: &[u8; 16] = b"ackclock calls 2";

/// Number of records written, and the file.
struct Sink {
    file: BufWriter<File>,
    written: u64,
    failed: Option<io::Error>,
}

/// Writes each call to a file.
pub struct Recorder<'a> {
    ring: RingBuffer<'a>,
    sink: Rc<RefCell<Sink>>,
    path: PathBuf,
}

impl<'a> Recorder<'a> {
    /// Creates the file.
    ///
    /// # Errors
    /// It cannot be written, or the control records nothing.
    pub fn new(control: &'a Control, path: &Path) -> Result<Self, Refusal> {
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(MAGIC)
            .map_err(|error| unwritable(path, &error))?;
        let sink = Rc::new(RefCell::new(Sink {
            file,
            written: 0,
            failed: None,
        }));
        let map = control.ring().ok_or_else(|| {
            Refusal::wrong("the control records no calls; include \"ackclock.bpf.h\"")
        })?;
        let taking = Rc::clone(&sink);
        let mut builder = RingBufferBuilder::new();
        let built = builder
            .add(&map, move |record| taking.borrow_mut().take(record))
            .map(drop)
            .and_then(|()| builder.build());
        let ring = built
            .map_err(|error| Refusal::wrong(format!("the ring buffer cannot be read ({error})")))?;
        Ok(Recorder {
            ring,
            sink,
            path: path.into(),
        })
    }

    /// Writes calls until standard input ends, and those made by then. Returns their number.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_until_input_ends(self) -> Result<u64, Refusal> {
        let ended = input_end();
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(INTERVAL) {
            self.drain()?;
        }
        self.drain()?;
        let mut sink = self.sink.borrow_mut();
        sink.file
            .flush()
            .map_err(|error| unwritable(&self.path, &error))?;
        Ok(sink.written)
    }

    fn drain(&self) -> Result<(), Refusal> {
        let drained = self.ring.consume();
        if let Some(error) = self.sink.borrow_mut().failed.take() {
            return Err(unwritable(&self.path, &error));
        }
        drained.map_err(|error| Refusal::wrong(format!("the ring buffer broke ({error})")))
    }
}

impl Sink {
    /// Writes a record. A negative answer ends reading.
    fn take(&mut self, record: &[u8]) -> i32 {
        match self.file.write_all(record) {
            Ok(()) => {
                self.written += 1;
                0
            }
            Err(error) => {
                self.failed = Some(error);
                -1
            }
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::wrong(format!("{} cannot be written ({error})", path.display()))
}

/// Returns what hears of the end of standard input.
fn input_end() -> mpsc::Receiver<()> {
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut byte = [0];
        while matches!(io::stdin().read(&mut byte), Ok(1)) {}
        let _ = end.send(()); // the recorder may have failed
    });
    ended
}
