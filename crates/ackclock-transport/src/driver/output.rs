//! Output of the application's data.

use std::fs::File;
use std::io::{self, Write};

/// Output to a file or a pipe, or none. A file is truncated only when data arrives, since a sender
/// may never answer.
#[derive(Debug)]
pub(super) struct Output {
    data: Option<File>,
    is_begun: bool,
}

impl Output {
    /// Writes from the beginning of `data`.
    pub fn new(data: Option<File>) -> Self {
        Output {
            data,
            is_begun: false,
        }
    }

    /// Writes data that arrived; returns true if the reader of a pipe is gone.
    pub fn write(&mut self, payload: &[u8]) -> io::Result<bool> {
        let Some(data) = self.data.as_mut().filter(|_| !payload.is_empty()) else {
            return Ok(false);
        };
        if !std::mem::replace(&mut self.is_begun, true) {
            let _ = data.set_len(0); // fails on a pipe
        }
        match data.write_all(payload) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.data = None;
                Ok(true)
            }
            written => written.map(|()| false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Read;

    #[test]
    fn a_file_is_emptied_by_what_arrives_and_not_before() {
        let name = format!("ackclock-output-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, "what was there before").unwrap();
        let mut output = Output::new(Some(OpenOptions::new().write(true).open(&path).unwrap()));
        assert!(!output.write(b"").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"what was there before");
        assert!(!output.write(b"what ").unwrap());
        assert!(!output.write(b"came").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"what came");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_pipe_is_written_to_until_nobody_reads() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut output = Output::new(Some(File::from(std::os::fd::OwnedFd::from(writer))));
        assert!(!output.write(b"abc").unwrap());
        let mut read = [0; 3];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"abc");
        drop(reader);
        assert!(output.write(b"d").unwrap(), "nobody reads");
        assert!(!output.write(b"e").unwrap(), "that was told");
        assert!(!Output::new(None).write(b"f").unwrap());
    }
}
