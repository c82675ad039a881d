//! Stacks in shared libraries, called in this process.
#![expect(
    unsafe_code,
    reason = "functions of a library are called; its author keeps the rules of the header"
)]

use crate::abi::{self, Statistics, Table};
use crate::object::{Call, Object, Outcome};
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;

/// The longest datagram: no longer one passes Ethernet.
const LONGEST_DATAGRAM: usize = 1500;
/// Bytes that a call of `poll_transmit` may write.
const MOST_BYTES: usize = 65_535;
/// Most datagrams that one call may lead to: 100 ms of a link of 10 Gbit/s.
const MOST_DATAGRAMS: usize = 100_000;
/// Bytes for the reason why no side was made, the closing zero included.
const REASON_BYTES: usize = 256;

/// The functions of a stack, checked.
#[derive(Clone, Copy)]
pub struct Functions {
    create: unsafe extern "C" fn(*const abi::Config, *mut c_char, usize) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    open: unsafe extern "C" fn(*mut c_void, u64),
    handle_datagram: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8),
    handle_timeout: unsafe extern "C" fn(*mut c_void, u64),
    poll_transmit:
        unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut usize, *mut u8) -> usize,
    poll_timeout: unsafe extern "C" fn(*mut c_void) -> u64,
    write: unsafe extern "C" fn(*mut c_void, u64, u64, i32),
    delivered: unsafe extern "C" fn(*mut c_void) -> u64,
    statistics: unsafe extern "C" fn(*mut c_void, *mut Statistics),
    fault: unsafe extern "C" fn(*mut c_void) -> *const c_char,
}

/// Name, version and controls of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub name: String,
    pub version: String,
    pub controls: Vec<String>,
    /// True if it has state that its objects share.
    pub process_state: bool,
}

/// Parameters of a side. It owns the texts to which [`abi::Config`] points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub opens: bool,
    pub sends: bool,
    pub encrypts: bool,
    pub discovers_mtu: bool,
    pub trains: u32,
    pub header: u32,
    pub receive_window: u64,
    pub seed: [u8; 32],
    pub control: String,
    /// A JSON object.
    pub options: String,
}

/// A stack that is called in this process.
pub struct Stack {
    pub identity: Identity,
    functions: Functions,
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.identity.fmt(f)
    }
}

impl Stack {
    /// Loads a shared library, which is never unloaded.
    ///
    /// # Errors
    /// It cannot be loaded, has no stack, or one of another version of the border; one line.
    pub fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: the user asks for the code of this library, whatever it does when it is loaded.
        let library = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = Box::leak(Box::new(library.map_err(|error| error.to_string())?));
        // SAFETY: by the header, the symbol is a function of this type.
        let entry = unsafe { library.get::<abi::Entry>(abi::SYMBOL.as_bytes()) };
        let entry = entry.map_err(|_| format!("it has no function {}", abi::SYMBOL))?;
        // SAFETY: as above; the table lives as long as the library, which is for ever.
        unsafe { Self::checked(entry()) }
    }

    /// Returns the stack whose table a program has put at this address. The program promises that
    /// the table and its functions live for ever and keep the rules of the header.
    ///
    /// # Errors
    /// It is not a table of this version, or lacks a function; one line.
    pub fn at_address(address: usize) -> Result<Self, String> {
        // SAFETY: the program promises it.
        unsafe { Self::checked(std::ptr::with_exposed_provenance(address)) }
    }

    /// Returns the stack of a table.
    ///
    /// # Safety
    /// The table and its functions live for ever and keep the rules of the header.
    unsafe fn checked(table: *const Table) -> Result<Self, String> {
        if table.is_null() {
            return Err(format!("{} returned NULL", abi::SYMBOL));
        }
        // SAFETY: the first two fields are in every version of the table.
        let (abi, size) = unsafe { ((*table).abi, (*table).size) };
        if abi != abi::VERSION || (size as usize) < size_of::<Table>() {
            let (version, least) = (abi::VERSION, size_of::<Table>());
            return Err(format!(
                "its table has ABI {abi} and {size} bytes, not {version} and {least}; compile it \
                with the header of this ackclock"
            ));
        }
        // SAFETY: it has all fields.
        let table = unsafe { &*table };
        let functions = functions(table).ok_or("a function is missing in its table")?;
        // SAFETY: strings of the table live for ever.
        let [name, version, controls] = [table.name, table.version, table.controls]
            .map(|text| unsafe { text_at(text) }.unwrap_or_default());
        if name.is_empty() || controls.is_empty() {
            return Err("its table gives no name, or no controls".into());
        }
        let identity = Identity {
            name,
            version,
            controls: controls.split_whitespace().map(String::from).collect(),
            process_state: table.flags & abi::PROCESS_STATE != 0,
        };
        Ok(Stack {
            identity,
            functions,
        })
    }

    /// Makes a side.
    ///
    /// # Errors
    /// The stack's reason why it cannot be made, or that a text has a zero byte.
    pub fn make(&self, recipe: &Recipe) -> Result<Side, String> {
        let text = |text: &str| CString::new(text).map_err(|_| "a text has a zero byte");
        let (control, options) = (text(&recipe.control)?, text(&recipe.options)?);
        let config = abi::Config {
            size: size_of::<abi::Config>() as u32,
            opens: recipe.opens.into(),
            sends: recipe.sends.into(),
            encrypts: recipe.encrypts.into(),
            discovers_mtu: recipe.discovers_mtu.into(),
            trains: recipe.trains,
            header: recipe.header,
            receive_window: recipe.receive_window,
            seed: recipe.seed,
            control: control.as_ptr(),
            options: options.as_ptr(),
        };
        let mut reason = [0; REASON_BYTES];
        // SAFETY: the configuration and the buffer outlive the call; the last byte stays zero.
        let object = unsafe {
            (self.functions.create)(&raw const config, reason.as_mut_ptr(), REASON_BYTES - 1)
        };
        match NonNull::new(object) {
            Some(object) => Ok(Side {
                functions: self.functions,
                object,
                trains: recipe.trains as usize,
                room: vec![0; MOST_BYTES.min(recipe.trains as usize * LONGEST_DATAGRAM)],
                broken: false,
            }),
            None => {
                // SAFETY: it ends with a zero.
                let reason = unsafe { text_at(reason.as_ptr()) }.filter(|text| !text.is_empty());
                Err(reason.unwrap_or_else(|| "it gave no reason".into()))
            }
        }
    }
}

fn functions(table: &Table) -> Option<Functions> {
    Some(Functions {
        create: table.create?,
        destroy: table.destroy?,
        open: table.open?,
        handle_datagram: table.handle_datagram?,
        handle_timeout: table.handle_timeout?,
        poll_transmit: table.poll_transmit?,
        poll_timeout: table.poll_timeout?,
        write: table.write?,
        delivered: table.delivered?,
        statistics: table.statistics?,
        fault: table.fault?,
    })
}

/// Copies a text; `None` if the pointer is null.
///
/// # Safety
/// It ends with a zero.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as for this function.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// A side that is called in this process.
pub struct Side {
    functions: Functions,
    object: NonNull<c_void>,
    /// Most datagrams of a train.
    trains: usize,
    /// Room in which `poll_transmit` writes.
    room: Vec<u8>,
    /// True once it broke a rule: it is not called again.
    broken: bool,
}

// SAFETY: one thread at a time calls an object, which the header permits.
unsafe impl Send for Side {}

impl std::fmt::Debug for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").finish_non_exhaustive()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // SAFETY: it was made by `create`, and is not used again.
        unsafe { (self.functions.destroy)(self.object.as_ptr()) }
    }
}

impl Object for Side {
    fn call(&mut self, now: u64, call: Call<'_>, outcome: &mut Outcome) {
        if self.broken {
            return;
        }
        let (functions, object) = (self.functions, self.object.as_ptr());
        // SAFETY: the object is alive; slices outlive the call.
        unsafe {
            match call {
                Call::Open => (functions.open)(object, now),
                Call::Timeout => (functions.handle_timeout)(object, now),
                Call::Write(bytes, fin) => (functions.write)(object, now, bytes, fin.into()),
                Call::Datagram(bytes, ecn) => {
                    (functions.handle_datagram)(object, now, bytes.as_ptr(), bytes.len(), ecn);
                }
            }
        }
        if let Err(reason) = self.transmit(now, outcome) {
            outcome.fail(reason);
            self.broken = true;
            return;
        }
        let mut statistics = Statistics::NONE;
        // SAFETY: the object is alive; the numbers have the size that they state; the text lives
        // until the next call.
        unsafe {
            outcome.wake = (functions.poll_timeout)(object);
            outcome.delivered = (functions.delivered)(object);
            (functions.statistics)(object, &raw mut statistics);
            if let Some(reason) = text_at((functions.fault)(object)) {
                outcome.fail(reason);
            }
        }
        outcome.statistics = statistics;
    }
}

impl Side {
    /// Takes all that leaves now.
    fn transmit(&mut self, now: u64, outcome: &mut Outcome) -> Result<(), String> {
        let most = self.room.len();
        let before = outcome.datagrams.len();
        loop {
            let (mut segment, mut ecn) = (0, 0);
            // SAFETY: the object is alive; there is room for `most` bytes.
            let length = unsafe {
                let (segment, ecn) = (&raw mut segment, &raw mut ecn);
                let (object, room) = (self.object.as_ptr(), self.room.as_mut_ptr());
                (self.functions.poll_transmit)(object, now, room, most, segment, ecn)
            };
            if length == 0 {
                return Ok(());
            }
            let segment = if segment == 0 { length } else { segment };
            self.check(length, segment, ecn)?;
            let train = &self.room[..length];
            outcome.datagrams.push(train, segment, ecn);
            if outcome.datagrams.len() - before > MOST_DATAGRAMS {
                return Err(format!(
                    "it sends without end: more than {MOST_DATAGRAMS} datagrams after one call"
                ));
            }
        }
    }

    /// Checks an answer of `poll_transmit`.
    fn check(&self, length: usize, segment: usize, ecn: u8) -> Result<(), String> {
        let (most, trains) = (self.room.len(), self.trains);
        if length > most {
            return Err(format!("it wrote {length} bytes where {most} have room"));
        }
        if segment > LONGEST_DATAGRAM {
            return Err(format!(
                "it sends a datagram of {segment} bytes, more than {LONGEST_DATAGRAM}"
            ));
        }
        let train = length.div_ceil(segment);
        if train > trains {
            return Err(format!(
                "it sends {train} datagrams at once, and trains = {trains}"
            ));
        }
        if ecn > 3 {
            return Err(format!("it sets the ECN field to {ecn}; it has two bits"));
        }
        Ok(())
    }
}
