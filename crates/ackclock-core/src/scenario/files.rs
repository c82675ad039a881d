//! Files a scenario names (link traces). The core opens none: who reads a scenario hands them in.

use super::error::{Code, Error, Result};
use serde_json::json;
use std::collections::BTreeMap;

/// Gives the text of a file.
pub trait Files {
    /// The text of the file of that name as written in the scenario, or why it cannot be had ("no
    /// such file").
    fn read(&self, name: &str) -> std::result::Result<String, String>;
}

/// There are no files.
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

/// Reads the file that an element names in its field `file`, and fills in the digest of its text. A
/// digest that is there already must be the file's: then it has not changed since somebody wrote it
/// down.
///
/// # Errors
/// The file cannot be read, which `remedy` helps ("name a file of sizes"), or it is another than it
/// was.
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
    let found = format!("{:016x}", fnv1a(text.as_bytes()));
    if let Some(expected) = digest
        && *expected != found
    {
        let remedy = format!(
            "differs from the digest of {file}, \"{found}\": the file has changed; remove the digest to accept the file as it is now"
        );
        return Err(Error::new("digest", &json!(expected), &remedy).coded(Code::File));
    }
    *digest = Some(found);
    Ok(text)
}

/// The hash of Fowler, Noll and Vo: tells a changed file, not a forged one.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
