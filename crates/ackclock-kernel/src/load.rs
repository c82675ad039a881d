//! A control in the kernel: opened, named, given its parameters, loaded and attached by a link.

use crate::object::ObjectFile;
use crate::refusal::Refusal;
use crate::text;
use crate::verifier::{complaint, last_source_line};
use libbpf_rs::btf::types::{DataSec, Int, IntEncoding, Var, VarSecInfo};
use libbpf_rs::btf::{Btf, TypeId};
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, Map, MapCore, MapFlags, MapType, Object, ObjectBuilder,
    OpenMapMut, OpenObject, libbpf_sys,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// The name in an object, which the name of the run replaces.
const PLACEHOLDER: &[u8; 16] = b"acc_000000\0\0\0\0\0\0";
/// Prefix of the header's own variables.
const OWN: &str = "ackclock_";
/// First release with links of struct_ops. Without a link a registration outlives its loader.
const LEAST_KERNEL: (u32, u32) = (6, 4);
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Bytes of the verifier's text that are kept. That of a program that is too large to verify has
/// hundreds of megabytes. Without a given buffer libbpf verifies again and again, each time with
/// twice the room, until it holds all.
const LONGEST_LOG: usize = 1 << 20;
/// Level of the verifier's text that has the end of it, and only if a program is refused.
const LOG_IF_REFUSED: u32 = 0;
/// Level of a text that keeps its beginning (`BPF_LOG_FIXED`).
const LOG_BEGINNING: u32 = 1 | 8;
/// Longest name of a control in the kernel, in bytes.
const LONGEST_NAME: usize = 15;

/// A variable of a section: its first byte, length in bytes, and whether it has a sign.
#[derive(Clone, Copy, Debug)]
struct Variable {
    offset: usize,
    bytes: usize,
    signed: bool,
}

/// A control that sockets can choose by its name as long as this lives.
#[derive(Debug)]
pub struct Control {
    object: Object,
    name: String,
    parameters: BTreeMap<String, i128>,
    missed: Option<Variable>,
    load_ms: u128,
    _link: Link,
}

impl Control {
    /// Loads the control of an object.
    ///
    /// # Errors
    /// The object, a parameter, the name or this machine has to change.
    #[expect(
        clippy::disallowed_methods,
        reason = "loading takes time of the machine, which is told"
    )]
    pub fn load(file: &ObjectFile, name: &str, parameters: &[&str]) -> Result<Control, Refusal> {
        check_machine()?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(Refusal::wrong(format!(
                "the name \"{name}\" has not 1 to {LONGEST_NAME} characters"
            )));
        }
        let began = Instant::now();
        text::collect();
        let (open, values) = opened(file, name, parameters)?;
        let missed = variables(&open, ".bss").remove("ackclock_missed");
        let (loaded, log) = verified(open, LOG_IF_REFUSED);
        let mut object = loaded.map_err(|error| {
            not_loaded(file, &error, &log, || {
                opened(file, name, parameters).map_or_else(
                    |_| String::new(),
                    |(open, _)| verified(open, LOG_BEGINNING).1,
                )
            })
        })?;
        let attached = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps)
            .map(|mut map| map.attach_struct_ops());
        let link = match attached {
            Some(Ok(link)) => link,
            Some(Err(error)) => return Err(not_attached(name, &error)),
            None => return Err(no_control(file)),
        };
        Ok(Control {
            object,
            name: name.into(),
            parameters: values,
            missed,
            load_ms: began.elapsed().as_millis(),
            _link: link,
        })
    }

    /// Returns what was loaded: name, value of each parameter, and the time that it took.
    pub fn described(&self) -> Value {
        let parameters: BTreeMap<_, _> = self
            .parameters
            .iter()
            .map(|(name, value)| (name, as_json(*value)))
            .collect();
        json!({ "name": self.name, "parameters": parameters, "load_ms": self.load_ms })
    }

    /// Returns the ring buffer of the records.
    pub fn ring(&self) -> Option<Map<'_>> {
        self.object
            .maps()
            .find(|map| map.map_type() == MapType::RingBuf)
    }

    /// Returns the number of calls for which the ring buffer had no room.
    pub fn missed(&self) -> Result<u64, Refusal> {
        let Some(Variable { offset, .. }) = self.missed else {
            return Ok(0);
        };
        let map = self.object.maps().find(|map| ends_with(map.name(), ".bss"));
        let bytes = map.and_then(|map| map.lookup(&[0; 4], MapFlags::ANY).ok().flatten());
        bytes
            .and_then(|bytes| bytes.get(offset..offset + 8)?.try_into().ok())
            .map(u64::from_ne_bytes)
            .ok_or_else(|| Refusal::wrong("the count of missed records cannot be read"))
    }
}

fn as_json(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(value) => json!(value),
        Err(_) => json!(value as u64),
    }
}

fn check_machine() -> Result<(), Refusal> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    if version(release).is_none_or(|version| version < LEAST_KERNEL) {
        let (major, minor) = LEAST_KERNEL;
        return Err(Refusal::lacking(format!(
            "the kernel is {release}; a control needs {major}.{minor}, which takes it back when \
             its loader ends"
        )));
    }
    if !Path::new(KERNEL_TYPES).exists() {
        return Err(Refusal::lacking(format!(
            "the kernel has no type information ({KERNEL_TYPES}); use one built with \
             CONFIG_DEBUG_INFO_BTF"
        )));
    }
    Ok(())
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn ends_with(name: &std::ffi::OsStr, end: &str) -> bool {
    name.to_str().is_some_and(|name| name.ends_with(end))
}

fn no_control(file: &ObjectFile) -> Refusal {
    Refusal::wrong(format!(
        "{} has no control; end its source with ACKCLOCK_CONTROL(…)",
        file.name
    ))
}

/// Writes the run's name over the placeholder.
fn rename(open: &mut OpenObject, name: &str, file: &ObjectFile) -> Result<(), Refusal> {
    let mut maps = open.maps_mut();
    let mut map = maps
        .find(|map| map.map_type() == MapType::StructOps)
        .ok_or_else(|| no_control(file))?;
    let value = map.initial_value_mut().ok_or_else(|| no_control(file))?;
    let mut places = value.windows(PLACEHOLDER.len());
    let at = places
        .position(|bytes| bytes == PLACEHOLDER)
        .ok_or_else(|| no_control(file))?;
    let mut padded = [0; PLACEHOLDER.len()];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    value[at..at + padded.len()].copy_from_slice(&padded);
    Ok(())
}

/// Sets the parameters that are given as `name=value`. Returns the values of all.
fn set_parameters(
    open: &mut OpenObject,
    given: &[&str],
) -> Result<BTreeMap<String, i128>, Refusal> {
    let mut variables = variables(open, ".rodata");
    let mut maps = open.maps_mut();
    let mut map: Option<OpenMapMut<'_>> = maps.find(|map| ends_with(map.name(), ".rodata"));
    let mut none = [];
    let content = map
        .as_mut()
        .and_then(OpenMapMut::initial_value_mut)
        .unwrap_or(&mut none);
    variables.retain(|name, variable| {
        let end = variable.offset.saturating_add(variable.bytes);
        !name.starts_with(OWN) && end <= content.len()
    });
    for setting in given {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let Some(variable) = variables.get(name) else {
            let names: Vec<&str> = variables.keys().map(String::as_str).collect();
            return Err(Refusal::of_parameters(format!(
                "the control has no parameter \"{name}\"; it has {}",
                if names.is_empty() {
                    "none".into()
                } else {
                    names.join(", ")
                }
            )));
        };
        let (least, most) = variable.range();
        let value: i128 = match value.parse() {
            Ok(value) if (least..=most).contains(&value) => value,
            _ => {
                return Err(Refusal::of_parameters(format!(
                    "parameter {name} = {value} is not an integer from {least} to {most}"
                )));
            }
        };
        variable
            .of(content)
            .copy_from_slice(&value.to_ne_bytes()[..variable.bytes]);
    }
    let mut value = |variable: &Variable| variable.value(variable.of(content));
    let values = variables
        .iter()
        .map(|(name, one)| (name.clone(), value(one)));
    Ok(values.collect())
}

impl Variable {
    fn range(self) -> (i128, i128) {
        let bits = 8 * self.bytes;
        match self.signed {
            true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1 << bits) - 1),
        }
    }

    fn of(self, content: &mut [u8]) -> &mut [u8] {
        &mut content[self.offset..self.offset + self.bytes]
    }

    fn value(self, bytes: &[u8]) -> i128 {
        let negative = self.signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = if negative { [0xff; 16] } else { [0; 16] };
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    }
}

/// Returns the integers of a section by name.
#[expect(
    unsafe_code,
    reason = "libbpf-rs reads the types of an open object by its pointer only"
)]
fn variables(open: &OpenObject, section: &str) -> BTreeMap<String, Variable> {
    // SAFETY: The object is alive and not changed while the types are read.
    let types = unsafe { Btf::from_bpf_object(open.as_libbpf_object().as_ref()) };
    let Ok(Some(types)) = types else {
        return BTreeMap::new();
    };
    let Some(section_type) = types.type_by_name::<DataSec<'_>>(section) else {
        return BTreeMap::new();
    };
    let integer = |id: TypeId| {
        let variable = types.type_by_id::<Var<'_>>(id)?;
        let name = variable.name()?.to_str()?.to_owned();
        let integer: Int<'_> = variable
            .skip_mods_and_typedefs()
            .next_type()?
            .skip_mods_and_typedefs()
            .try_into()
            .ok()?;
        Some((
            name,
            integer.bits,
            matches!(integer.encoding, IntEncoding::Signed),
        ))
    };
    let variable = |part: VarSecInfo| {
        let (name, bits, signed) = integer(part.ty)?;
        let bytes = usize::from(bits / 8);
        let offset = part.offset as usize;
        let variable = Variable {
            offset,
            bytes,
            signed,
        };
        matches!(bytes, 1 | 2 | 4 | 8).then_some((name, variable))
    };
    section_type.iter().filter_map(variable).collect()
}

fn first_line(printed: &str, otherwise: &str) -> String {
    let line = printed.lines().next().unwrap_or(otherwise).trim();
    line.strip_prefix("libbpf: ").unwrap_or(line).into()
}

/// Opens an object, names its control and sets its parameters, whose values it returns.
fn opened(
    file: &ObjectFile,
    name: &str,
    parameters: &[&str],
) -> Result<(OpenObject, BTreeMap<String, i128>), Refusal> {
    let mut builder = ObjectBuilder::default();
    let opened = builder
        .name("control")
        .and_then(|builder| builder.open_memory(&file.bytes));
    let mut open = opened.map_err(|error| {
        let reason = first_line(&text::take_printed(), &error.to_string());
        Refusal::wrong(format!("{} cannot be opened ({reason})", file.name))
    })?;
    rename(&mut open, name, file)?;
    let values = set_parameters(&mut open, parameters)?;
    Ok((open, values))
}

/// Loads an object; returns it and the verifier's text.
#[expect(unsafe_code, reason = "libbpf-rs cannot set the buffer of the text")]
fn verified(mut open: OpenObject, log_level: u32) -> (libbpf_rs::Result<Object>, String) {
    let mut log = vec![0; LONGEST_LOG];
    for mut program in open.progs_mut() {
        program.set_log_level(log_level);
        let program = program.as_libbpf_object().as_ptr();
        // SAFETY: The program is alive, and the buffer has that many bytes and outlives its use.
        unsafe {
            libbpf_sys::bpf_program__set_log_buf(
                program,
                log.as_mut_ptr().cast(),
                LONGEST_LOG as u64,
            );
        }
    }
    let loaded = open.load();
    (loaded, text_of(&log))
}

/// Returns the text in a buffer, up to its first zero.
fn text_of(buffer: &[u8]) -> String {
    let text = buffer.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns why an object is not loaded. `log` is the end of the verifier's text, and `beginning`
/// asks for its beginning. The line of a loop is told once, where it begins.
fn not_loaded(
    file: &ObjectFile,
    error: &libbpf_rs::Error,
    log: &str,
    beginning: impl Fn() -> String,
) -> Refusal {
    let printed = text::take_printed();
    if let Some(complaint) = complaint(log) {
        let line = complaint.line.or_else(|| last_source_line(&beginning()));
        let at = line.unwrap_or_else(|| file.name.clone());
        let sentence = format!("{at}: the kernel refuses this: {}", complaint.sentence);
        return Refusal::wrong(sentence).with_log(log.into());
    }
    match error.kind() {
        ErrorKind::PermissionDenied => Refusal::lacking(
            "loading a control is not permitted; run as root outside of containers, or with \
             CAP_BPF and CAP_NET_ADMIN",
        ),
        _ => {
            let reason = first_line(&printed, &error.to_string());
            let name = &file.name;
            Refusal::wrong(format!("{name} cannot be loaded ({reason})")).with_log(printed)
        }
    }
}

fn not_attached(name: &str, error: &libbpf_rs::Error) -> Refusal {
    match error.kind() {
        ErrorKind::AlreadyExists => Refusal::wrong(format!(
            "the kernel has a control \"{name}\" already; choose another name"
        )),
        _ => Refusal::wrong(format!("the kernel does not take the control ({error})"))
            .with_log(text::take_printed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_a_version() {
        assert_eq!(version("6.18.44-fc-v595"), Some((6, 18)));
        assert_eq!(version("5.10.0-28-amd64"), Some((5, 10)));
        assert_eq!(version("6"), None);
        assert!(version("6.4.0") >= Some(LEAST_KERNEL));
        assert!(version("6.3.13") < Some(LEAST_KERNEL));
    }

    #[test]
    fn a_variable_holds_what_its_type_holds() {
        let of = |bytes, signed| Variable {
            offset: 0,
            bytes,
            signed,
        };
        assert_eq!(of(4, false).range(), (0, 4_294_967_295));
        assert_eq!(of(1, true).range(), (-128, 127));
        assert_eq!(
            of(8, true).range(),
            (i128::from(i64::MIN), i128::from(i64::MAX))
        );
        assert_eq!(of(2, true).value(&[0xfe, 0xff]), -2);
        assert_eq!(of(2, false).value(&[0xfe, 0xff]), 65534);
    }
}
