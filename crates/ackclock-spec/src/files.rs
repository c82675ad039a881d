//! Files that a scenario names: link traces, sizes, controls. This crate opens no files; the caller
//! that reads a scenario provides them.

use crate::error::{Code, Error, Result};
use crate::limits::{self, NAMED_FILES_BYTES};
use serde_json::json;
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Provides the text of files.
pub trait Files {
    /// Returns the text of the file with that name as written in the scenario, or the reason why it
    /// cannot be read ("no such file").
    fn read(&self, name: &str) -> std::result::Result<String, String>;

    /// Returns the object of a control's program, or the reason why there is none. The name is that
    /// of an object, `.bpf.o`, or of C source, `.bpf.c`, which is compiled.
    fn object(&self, name: &str) -> std::result::Result<Vec<u8>, String> {
        let _ = name;
        Err("programs cannot be read here".into())
    }

    /// Returns a class of a file in Python, which is not loaded yet; or the reason why there is
    /// none. Only the element that asks for classes knows the type of the value.
    fn class(&self, name: &str, class: &str) -> std::result::Result<Box<dyn Any>, String> {
        let _ = (name, class);
        Err("Python does not run here".into())
    }

    /// Returns the names of the implementations of transports that are here. They are not names of
    /// files: a scenario chooses among those that its caller brings.
    fn stacks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the implementation of a transport of that name, if it is here. Only the element that
    /// asks for implementations knows the type of the value.
    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        let _ = name;
        None
    }
}

/// Provides no files.
#[derive(Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> std::result::Result<String, String> {
        Err("files cannot be read here".into())
    }
}

/// Files in memory: text by name.
impl Files for BTreeMap<String, String> {
    fn read(&self, name: &str) -> std::result::Result<String, String> {
        self.get(name).cloned().ok_or_else(|| "no such file".into())
    }
}

/// Files of which no more than a number of bytes is read in all.
pub struct Rationed<'a> {
    files: &'a dyn Files,
    /// Bytes that may still be read.
    left: Cell<u64>,
}

impl<'a> Rationed<'a> {
    /// Returns files of which at most [`NAMED_FILES_BYTES`] are read.
    pub fn new(files: &'a dyn Files) -> Self {
        Rationed {
            files,
            left: Cell::new(NAMED_FILES_BYTES),
        }
    }

    fn take(&self, length: usize) -> std::result::Result<(), String> {
        let left = self.left.get().checked_sub(length as u64).ok_or_else(|| {
            let most = limits::bytes(NAMED_FILES_BYTES);
            format!("the scenario's files are larger than {most}, the most")
        })?;
        self.left.set(left);
        Ok(())
    }
}

impl Files for Rationed<'_> {
    fn read(&self, name: &str) -> std::result::Result<String, String> {
        let text = self.files.read(name)?;
        self.take(text.len()).map(|()| text)
    }

    fn object(&self, name: &str) -> std::result::Result<Vec<u8>, String> {
        let object = self.files.object(name)?;
        self.take(object.len()).map(|()| object)
    }

    fn class(&self, name: &str, class: &str) -> std::result::Result<Box<dyn Any>, String> {
        self.files.class(name, class)
    }

    fn stacks(&self) -> Vec<String> {
        self.files.stacks()
    }

    fn stack(&self, name: &str) -> Option<Box<dyn Any>> {
        self.files.stack(name)
    }
}

/// Reads the file that an element names in its field `file`, and fills in the digest of its text.
/// If there is a digest already, it must be that of the file. So the file has not changed.
///
/// # Errors
/// The file cannot be read, to which `remedy` applies ("name a file of sizes"), or it has changed.
pub fn read_checked(
    files: &dyn Files,
    file: &str,
    digest: &mut Option<String>,
    remedy: &str,
) -> Result<String> {
    let text = files.read(file).map_err(|why| {
        Error::new(
            "file",
            &json!(file),
            &format!("cannot be read ({why}); {remedy}"),
        )
        .coded(Code::File)
    })?;
    check_digest(text.as_bytes(), file, digest)?;
    Ok(text)
}

/// Fills in the digest of a file's content. If there is a digest already, it must be that.
///
/// # Errors
/// The file has changed.
pub fn check_digest(content: &[u8], file: &str, digest: &mut Option<String>) -> Result<()> {
    let actual = format!("{:016x}", fnv1a(content));
    if let Some(expected) = digest
        && *expected != actual
    {
        let remedy = format!(
            "differs from the digest of {file}, \"{actual}\": the file has changed; remove the \
            digest to accept the file as it is now"
        );
        return Err(Error::new("digest", &json!(expected), &remedy).coded(Code::File));
    }
    *digest = Some(actual);
    Ok(())
}

/// A mistake in a file: the line, counted from 1, and the problem.
pub type WrongLine = (usize, String);

/// Most further lines that a message lists.
const MOST_LINES: usize = 10;

/// Collects the valid lines of a file, or returns the first error with the numbers of the others.
///
/// # Errors
/// The first problem. It ends in the numbers of the other wrong lines.
pub fn all_lines<T>(
    results: impl IntoIterator<Item = std::result::Result<T, WrongLine>>,
) -> std::result::Result<Vec<T>, WrongLine> {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(item) => right.push(item),
            Err(problem) => wrong.push(problem),
        }
    }
    let others: Vec<String> = wrong
        .iter()
        .skip(1)
        .take(MOST_LINES)
        .map(|(line, _)| line.to_string())
        .collect();
    let more = wrong.len().saturating_sub(1 + others.len());
    let Some((line, mut problem)) = wrong.into_iter().next() else {
        return Ok(right);
    };
    if !others.is_empty() {
        problem.push_str(&format!("; also wrong: lines {}", others.join(", ")));
    }
    if more > 0 {
        problem.push_str(&format!(" and {more} more"));
    }
    Err((line, problem))
}

/// The hash of Fowler, Noll and Vo. It detects a changed file, not a forged one.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
