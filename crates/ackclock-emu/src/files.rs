//! Files that others wrote, read within limits; those that a scenario names; and controls compiled
//! from C source.

use ackclock_core::programs::kernel::HEADER;
use ackclock_spec::files::Files;
use ackclock_spec::limits::{CONTROL_BYTES, NAMED_FILE_BYTES, bytes};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Releases of clang that may be installed under a name with their number, the preferred first. All
/// of them have been seen to compile a control that a kernel takes, or lie between two that have.
const RELEASES: std::ops::RangeInclusive<u32> = 14..=22;

/// The reason why a file was not read.
#[derive(Debug)]
pub enum Unread {
    /// The system refused.
    System(io::Error),
    /// It is a device, a pipe or a socket, whose content may have no end.
    NotRegular,
    /// It has more bytes than this limit.
    TooLarge(u64),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::System(error) => f.write_str(&reason(error)),
            Unread::NotRegular => f.write_str("not a regular file"),
            Unread::TooLarge(most) => write!(f, "larger than {}, the most", bytes(*most)),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::System(error)
    }
}

/// Opens a regular file to read it. Anything else is not opened, since that may wait.
///
/// # Errors
/// It cannot be opened, or is a folder, a device, a pipe or a socket.
pub fn open(path: &Path) -> Result<File, Unread> {
    let check = |kind: fs::FileType| match kind {
        kind if kind.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        kind if kind.is_file() => Ok(()),
        _ => Err(Unread::NotRegular),
    };
    check(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Another file may have taken its place: a pipe would wait for its writer.
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As for [`open`], and a larger file, of which no more than `most` bytes are read.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut content = Vec::new();
    if length <= most {
        content.reserve_exact(usize::try_from(length).unwrap_or_default());
        // The files of /proc state no length, and any file may grow.
        file.take(most.saturating_add(1))
            .read_to_end(&mut content)?;
    }
    match length.max(content.len() as u64) > most {
        true => Err(Unread::TooLarge(most)),
        false => Ok(content),
    }
}

/// Files relative to a folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The names of the only files that are read; none for all.
    only: Option<BTreeSet<String>>,
}

impl Folder {
    /// Returns the files of a folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Folder {
            path: path.into(),
            only: None,
        }
    }

    /// Returns a folder of which no other files are read, whatever a scenario names. For a scenario
    /// in a link, which comes from anybody.
    pub fn only(path: impl Into<PathBuf>, names: BTreeSet<String>) -> Self {
        Folder {
            path: path.into(),
            only: Some(names),
        }
    }

    /// Returns the path of a file.
    ///
    /// # Errors
    /// The file may not be read.
    pub fn path(&self, name: &str) -> Result<PathBuf, String> {
        match &self.only {
            Some(names) if !names.contains(name) => {
                Err("a link or a page names no file that it did not begin with".into())
            }
            _ => Ok(self.path.join(name)),
        }
    }
}

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        let content = read(&self.path(name)?, NAMED_FILE_BYTES);
        let content = content.map_err(|why| why.to_string())?;
        String::from_utf8(content).map_err(|_| "not UTF-8 text".into())
    }

    fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.path(name)?;
        let content = read(&path, CONTROL_BYTES).map_err(|why| why.to_string())?;
        match name.ends_with(".c") {
            true => compiled(&path, content),
            false => Ok(content),
        }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_have_only_some_files() {
        let scratch = Scratch::new().unwrap();
        fs::write(scratch.0.join("a"), "1").unwrap();
        fs::write(scratch.0.join("b"), "2").unwrap();
        let folder = Folder::only(&scratch.0, BTreeSet::from(["a".into()]));
        assert_eq!(folder.read("a").unwrap(), "1");
        for other in ["b", "./a", "/etc/hostname", "../a", "/dev/zero"] {
            for refused in [folder.read(other).err(), folder.object(other).err()] {
                assert!(
                    refused.is_some_and(|why| why.contains("names no file")),
                    "{other}"
                );
            }
        }
    }

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let scratch = Scratch::new().unwrap();
        let file = scratch.0.join("file");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert!(matches!(read(&file, 4), Err(Unread::TooLarge(4))));
        // These state a length of 0.
        assert!(
            !read(Path::new("/proc/self/status"), 100_000)
                .unwrap()
                .is_empty()
        );
        let short = read(Path::new("/proc/self/status"), 10);
        assert!(matches!(short, Err(Unread::TooLarge(10))));
        let pipe = scratch.0.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for endless in [Path::new("/dev/zero"), &pipe] {
            assert!(
                matches!(read(endless, 5), Err(Unread::NotRegular)),
                "{endless:?}"
            );
        }
        let folder = read(&scratch.0, 5).unwrap_err().to_string();
        assert_eq!(folder, "is a directory");
        let missing = read(&scratch.0.join("missing"), 5).unwrap_err().to_string();
        assert_eq!(missing, "no such file");
    }
}
