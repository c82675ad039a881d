//! Stacks that a command or a program brings, by the name that scenarios use for them. A scenario
//! cannot bring a stack, as it never names a file.

use crate::host::Host;
use crate::library::{Identity, Recipe, Side as InProcess, Stack as Loaded};
use crate::object::{Call, Object, Outcome};
use crate::side::Side;
use ackclock_core::transport::EndpointContext;
use ackclock_core::transport::endpoint::{Arrived, Endpoint, Transmit};
use ackclock_core::transport::quic::{Crypto, Quic};
use ackclock_core::transport::stack::Stack;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::units::Time;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, ThreadId};
use tempfile::NamedTempFile;

/// Bytes that both sides of a connection take at least, as of quinn; nobody can ask a library.
const CONNECTION_BYTES: usize = 60_000;

/// The source of a stack.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A shared library, called in this process.
    Library(PathBuf),
    /// A shared library, in a process of its own: a program that serves it (`host::serve`), whose
    /// last argument it is.
    Program(Vec<OsString>, PathBuf),
    /// The address of a table of functions in this process, which must live for ever.
    Table(usize),
}

/// Brings a stack under a name, in place of one that was brought under it before.
///
/// The digest of its content becomes part of its version.
///
/// # Errors
/// It cannot be loaded; one line.
pub fn bring(name: &str, origin: Origin, digest: &str) -> Result<Identity, String> {
    let stack = Brought::new(name, origin, digest)?;
    let identity = stack.identity.clone();
    let mut stacks = BROUGHT.write().unwrap_or_else(PoisonError::into_inner);
    stacks.insert(name.into(), Arc::new(stack));
    Ok(identity)
}

static BROUGHT: RwLock<BTreeMap<String, Arc<Brought>>> = RwLock::new(BTreeMap::new());

/// Returns the names of all that have been brought.
pub fn names() -> Vec<String> {
    let stacks = BROUGHT.read().unwrap_or_else(PoisonError::into_inner);
    stacks.keys().cloned().collect()
}

/// A library that was brought, as another process can bring it.
#[derive(Clone, Debug)]
pub struct Library {
    /// Name in scenarios.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Digest of its content, as it was given.
    pub digest: String,
}

/// Returns all libraries that have been brought. Tables of functions have none.
pub fn libraries() -> Vec<Library> {
    let stacks = BROUGHT.read().unwrap_or_else(PoisonError::into_inner);
    let library = |stack: &Arc<Brought>| {
        Some(Library {
            name: stack.name.clone(),
            path: stack.library.clone()?,
            digest: stack.digest.clone(),
        })
    };
    stacks.values().filter_map(library).collect()
}

/// True if a table of functions was brought under that name.
pub fn is_table(name: &str) -> bool {
    let stacks = BROUGHT.read().unwrap_or_else(PoisonError::into_inner);
    stacks
        .get(name)
        .is_some_and(|stack| stack.library.is_none())
}

/// Returns the stack that was brought under a name.
pub fn stack(name: &str) -> Option<Arc<dyn Stack>> {
    let stacks = BROUGHT.read().unwrap_or_else(PoisonError::into_inner);
    let stack = Arc::clone(stacks.get(name)?);
    Some(stack)
}

/// A stack that was brought.
#[derive(Debug)]
struct Brought {
    name: String,
    identity: Identity,
    digest: String,
    /// None for one in Python.
    library: Option<PathBuf>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// All objects are of one copy.
    Shared(Arc<Loaded>),
    /// The stack has state of the process: each thread has a copy of the library.
    Copies(PathBuf, Pool<Loaded>),
    /// Each thread has a process.
    Programs(Vec<OsString>, Pool<Host>),
}

impl Brought {
    fn new(name: &str, origin: Origin, digest: &str) -> Result<Self, String> {
        let (identity, source, library) = match origin {
            Origin::Program(mut command, library) => {
                command.push(library.clone().into());
                let hosts = Pool::default();
                let host = hosts.take(|| Host::start(&command), Host::is_alive)?;
                let identity = host.identify()?;
                (identity, Source::Programs(command, hosts), Some(library))
            }
            Origin::Library(path) => {
                let stack = Loaded::load(&path)?;
                let identity = stack.identity.clone();
                let source = match identity.process_state {
                    true => Source::Copies(path.clone(), Pool::default()),
                    false => Source::Shared(Arc::new(stack)),
                };
                (identity, source, Some(path))
            }
            Origin::Table(address) => {
                let stack = Loaded::at_address(address)?;
                let identity = stack.identity.clone();
                (identity, Source::Shared(Arc::new(stack)), None)
            }
        };
        Ok(Brought {
            name: name.into(),
            identity,
            digest: digest.into(),
            library,
            source,
        })
    }

    /// Makes one side.
    fn make(&self, quic: &Quic, seed: [u8; 32], sends: bool) -> Result<Box<dyn Endpoint>, String> {
        let (recipe, header) = (recipe(quic, seed, sends), quic.header.0 as u16);
        match &self.source {
            Source::Shared(stack) => Ok(self.side(stack.make(&recipe)?, header)),
            Source::Copies(path, copies) => {
                let stack = copies.take(|| copy(path), |_| true)?;
                let object = stack.make(&recipe)?;
                Ok(self.side(
                    Held {
                        object,
                        _stack: stack,
                    },
                    header,
                ))
            }
            Source::Programs(command, hosts) => {
                let host = hosts.take(|| Host::start(command), Host::is_alive)?;
                Ok(self.side(host.make(&recipe)?, header))
            }
        }
    }

    fn side(&self, object: impl Object + 'static, header: u16) -> Box<dyn Endpoint> {
        Box::new(Side::new(object, &self.name, header))
    }
}

impl Stack for Brought {
    fn version(&self) -> String {
        let Identity { name, version, .. } = &self.identity;
        format!("{name} {version}, digest {}", self.digest)
    }
    fn controls(&self) -> Vec<&str> {
        self.identity.controls.iter().map(String::as_str).collect()
    }
    fn connection_bytes(&self) -> usize {
        CONNECTION_BYTES
    }
    fn refusal(&self, quic: &Quic) -> Option<String> {
        let made = |sends| self.make(quic, [0; 32], sends).map(drop);
        made(true).and_then(|()| made(false)).err()
    }
    fn connect(&self, quic: &Quic, context: EndpointContext<'_>) -> [Box<dyn Endpoint>; 2] {
        let StreamScope { streams, name } = context.place;
        [("sender", true), ("receiver", false)].map(|(side, sends)| {
            let seed = streams.stream(&format!("{name}/{side}")).bytes();
            self.make(quic, seed, sends)
                .unwrap_or_else(|reason| Box::new(Unmade(format!("{}: {reason}", self.name))))
        })
    }
}

fn recipe(quic: &Quic, seed: [u8; 32], sends: bool) -> Recipe {
    Recipe {
        opens: sends,
        sends,
        encrypts: quic.crypto == Crypto::Tls,
        discovers_mtu: quic.mtu_discovery,
        trains: quic.trains.0,
        header: quic.header.0 as u32,
        receive_window: quic.receive_window.0,
        seed,
        control: quic.own_control().into(),
        options: serde_json::Value::Object(quic.options.clone()).to_string(),
    }
}

/// A side that could not be made although one could be before, as when its process has ended.
#[derive(Debug)]
struct Unmade(String);

impl Endpoint for Unmade {
    fn handle_packet(&mut self, _: Time, _: &Arrived<'_>) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn may_fail(&self) -> bool {
        true
    }
    fn fault(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// An object of a copy of a library, which stays in use while the object lives.
#[derive(Debug)]
struct Held {
    object: InProcess,
    _stack: Arc<Loaded>,
}

impl Object for Held {
    fn call(&mut self, now: u64, call: Call<'_>, outcome: &mut Outcome) {
        self.object.call(now, call, outcome);
    }
}

/// Loads a copy of a library, which has state of its own.
fn copy(library: &Path) -> Result<Loaded, String> {
    let copied = || -> io::Result<NamedTempFile> {
        let mut file = NamedTempFile::new()?;
        io::copy(&mut File::open(library)?, &mut file)?;
        Ok(file)
    };
    let file = copied().map_err(|error| format!("a copy cannot be made: {error}"))?;
    Loaded::load(file.path()) // what is loaded stays when the file goes
}

/// Things that a thread uses alone, and another may use after it.
#[derive(Debug)]
struct Pool<T>(Mutex<Vec<(ThreadId, Arc<T>)>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::default())
    }
}

impl<T> Pool<T> {
    /// Returns the one of this thread; else one that nobody uses any more; else a new one. Those
    /// that are not usable are forgotten.
    fn take(
        &self,
        make: impl FnOnce() -> Result<T, String>,
        is_usable: impl Fn(&T) -> bool,
    ) -> Result<Arc<T>, String> {
        let me = thread::current().id();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, thing)| is_usable(thing));
        let mine = all.iter().position(|(owner, _)| *owner == me);
        let free = || {
            all.iter()
                .position(|(_, thing)| Arc::strong_count(thing) == 1)
        };
        if let Some(place) = mine.or_else(free) {
            all[place].0 = me;
            return Ok(Arc::clone(&all[place].1));
        }
        let thing = Arc::new(make()?);
        all.push((me, Arc::clone(&thing)));
        Ok(thing)
    }
}
