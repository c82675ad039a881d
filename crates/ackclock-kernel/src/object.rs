//! The file of an object, read once and checked before any library sees it.

use crate::refusal::Refusal;
use ackclock_bpf::limits::OBJECT_BYTES;
use std::fs::File;
use std::io::{self, Read};

/// An object that is whole and within limits ([`ackclock_bpf::check`]).
#[derive(Debug)]
pub struct ObjectFile {
    /// Its name in messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl ObjectFile {
    /// Reads a file, or standard input if it is `-`.
    ///
    /// # Errors
    /// It cannot be read, or the engine's reader refuses it.
    pub fn read(file: &str) -> Result<ObjectFile, Refusal> {
        let (name, read) = match file {
            "-" => ("the object", content(io::stdin())),
            _ => (file, File::open(file).and_then(content)),
        };
        let bytes =
            read.map_err(|error| Refusal::wrong(format!("{name} cannot be read ({error})")))?;
        ackclock_bpf::check(&bytes)
            .map_err(|refusal| Refusal::wrong(format!("{name} {refusal}")))?;
        Ok(ObjectFile {
            name: name.into(),
            bytes,
        })
    }
}

/// Returns the content of a file; of one that is too large, a byte more than is allowed.
fn content(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(OBJECT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
