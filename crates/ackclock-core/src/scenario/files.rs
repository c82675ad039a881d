//! Files a scenario names (link traces). The core opens none: who reads a scenario hands them in.

use std::collections::BTreeMap;

/// Gives the text of a file.
pub trait Files {
    /// The text of the file of that name as written in the scenario, or why it cannot be had ("no such file").
    fn read(&self, name: &str) -> Result<String, String>;
}

/// There are no files.
#[derive(Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> Result<String, String> {
        Err("files cannot be read here".into())
    }
}

/// Files in memory: text by name.
impl Files for BTreeMap<String, String> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.get(name).cloned().ok_or_else(|| "no such file".into())
    }
}
