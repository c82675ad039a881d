//! The qlog files of a run: what a stack tells of each side of each connection.

use ackclock_core::transport::stack::Logs;
use ackclock_scenario::job::Job;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The first error of writing files of any run.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// Takes the error.
    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
            copy
        })
    }
}

/// Opens the files of one run, `point-0-replicate-0-main-0-sender.sqlog`.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    run: String,
    failure: Failure,
}

impl Files {
    /// Names the files of a job in a folder.
    pub fn of(job: &Job<'_>, folder: PathBuf, failure: Failure) -> Self {
        Files {
            folder,
            run: job.name(),
            failure,
        }
    }
}

impl Logs for Files {
    fn open(&self, side: &str) -> Option<Box<dyn Write + Send + Sync>> {
        let side = side.trim_start_matches("flow/").replace('/', "-");
        let path = self.folder.join(format!("{}-{side}.sqlog", self.run));
        let file = self.failure.note(File::create(path)).ok()?;
        Some(Box::new(Noting {
            file: BufWriter::new(file),
            failure: self.failure.clone(),
        }))
    }
}

/// A file whose errors are noted: a stack only ends to write.
struct Noting {
    file: BufWriter<File>,
    failure: Failure,
}

impl fmt::Debug for Noting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Noting")
    }
}

impl Write for Noting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.failure.note(self.file.write(bytes))
    }
    /// A stack flushes after each event, which would be a call of the system for each.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        let _ = self.failure.note(self.file.flush());
    }
}
