//! Input of the application's data, with limited read-ahead.

use crate::session::Sender;
use crate::wait::is_ready;
use ackclock_spec::units::Time;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes to read ahead: a hundredth of a second of 200 Mbit/s.
const READ_AHEAD: usize = 1 << 18;
const AT_ONCE: usize = 1 << 16;

/// Input from a file or a pipe.
#[derive(Debug)]
pub(super) struct Input {
    data: Option<File>,
    buffer: Vec<u8>,
}

impl Input {
    pub fn new(data: Option<File>) -> Self {
        let buffer = vec![0; if data.is_some() { AT_ONCE } else { 0 }];
        Input { data, buffer }
    }

    /// Returns the descriptor to wait for, if more data is needed.
    pub fn descriptor(&self, sender: &Sender) -> Option<BorrowedFd<'_>> {
        let data = self.data.as_ref().filter(|_| sender.waiting() < READ_AHEAD);
        data.map(AsFd::as_fd)
    }

    /// Reads the available data without blocking.
    pub fn read(&mut self, now: Time, sender: &mut Sender) -> io::Result<()> {
        while let Some(descriptor) = self.descriptor(sender)
            && is_ready(descriptor)?
            && let Some(data) = &mut self.data
        {
            match data.read(&mut self.buffer) {
                Ok(0) => {
                    self.data = None;
                    sender.close();
                }
                Ok(length) => sender.write(now, &self.buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
