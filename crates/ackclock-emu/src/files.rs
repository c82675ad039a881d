//! Files that a scenario names, on disk, and controls compiled from C source.

use ackclock_core::programs::kernel::HEADER;
use ackclock_spec::files::Files;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Releases of clang that may be installed under a name with their number, the preferred first. All
/// of them have been seen to compile a control that a kernel takes, or lie between two that have.
const RELEASES: std::ops::RangeInclusive<u32> = 14..=22;

/// Files relative to a folder.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.0.join(name)).map_err(|error| reason(&error))
    }

    fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.0.join(name);
        if !name.ends_with(".c") {
            return fs::read(path).map_err(|error| reason(&error));
        }
        let source = fs::read(&path).map_err(|error| reason(&error))?;
        compiled(&path, source)
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        _ => error.to_string(),
    }
}

/// Objects by path and content of their source.
type Objects = HashMap<(PathBuf, Vec<u8>), Vec<u8>>;

/// The objects made so far: a scenario is read many times in one process.
static COMPILED: Mutex<Option<Objects>> = Mutex::new(None);

fn compiled(path: &Path, source: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    let key = (path.to_owned(), source);
    if let Some(object) = compiled.get(&key) {
        return Ok(object.clone());
    }
    let object = compile(path)?;
    compiled.insert(key, object.clone());
    Ok(object)
}

/// Returns the compiler: `clang` in the search path, or one whose name has a number.
pub fn compiler() -> Option<PathBuf> {
    let numbered = RELEASES.rev().map(|release| format!("clang-{release}"));
    std::iter::once("clang".to_owned())
        .chain(numbered)
        .find_map(|name| in_search_path(&name))
}

/// Returns the file of a program in the search path.
fn in_search_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Compiles a control, with `ackclock.bpf.h` in its path of headers.
fn compile(source: &Path) -> Result<Vec<u8>, String> {
    let compiler =
        compiler().ok_or("there is no clang; install clang, or give an object, .bpf.o")?;
    let scratch = Scratch::new().map_err(|error| format!("no temporary folder: {error}"))?;
    let object = scratch.0.join("control.bpf.o");
    fs::write(scratch.0.join("ackclock.bpf.h"), HEADER).map_err(|error| reason(&error))?;
    let mut include = OsString::from("-I");
    include.push(&scratch.0);
    let output = Command::new(&compiler)
        .args([
            "-O2",
            "-g",
            "-target",
            "bpf",
            "-mcpu=v3",
            "-fno-color-diagnostics",
            "-c",
        ])
        .arg(include)
        .arg(source)
        .arg("-o")
        .arg(&object)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be started: {error}", compiler.display()))?;
    if !output.status.success() {
        return Err(first_error(&output, source));
    }
    fs::read(&object).map_err(|error| reason(&error))
}

/// Returns the compiler's first complaint on one line: `mine.bpf.c:7:3: …`.
fn first_error(output: &Output, source: &Path) -> String {
    let messages = String::from_utf8_lossy(&output.stderr);
    let line = messages.lines().find(|line| line.contains("error:"));
    let line = line
        .or(messages.lines().next())
        .unwrap_or("clang says nothing");
    let folder = source
        .parent()
        .map(|folder| format!("{}/", folder.display()));
    let short = folder.map_or(line.into(), |folder| line.replacen(&folder, "", 1));
    short
        .replacen("fatal error: ", "", 1)
        .replacen("error: ", "", 1)
}

/// A folder that goes with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Scratch> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ackclock-control-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}
