//! Reads an object that a compiler made for BPF into a program that a machine can run.

use crate::btf::{Reader, Shape, TypeId, Types};
use crate::calls::{Function, helper_name};
use crate::instruction::{Operation, Raw, SIZE, Step, decode};
use crate::join::join;
use crate::memory::{self, FIRST_OWN, Region};
use crate::program::{Callback, Lines, Map, MapKind, Parameter, Program};
use crate::refusal::{Refusal, SourceLine};
use crate::relocation::{Answer, Asked, Relocation, answer};
use object::elf::EM_BPF;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolIndex,
    SymbolSection,
};
use std::collections::{BTreeMap, HashMap};

/// Most instructions of a program: the bound of a kernel's verifier.
const MOST_STEPS: usize = 1_000_000;
/// Most bytes of global variables and of the values of maps.
const MOST_BYTES: usize = 1 << 20;
/// The structure that registers a control, and the sections where a compiler puts it.
const OPERATIONS: &str = "tcp_congestion_ops";
const REGISTERED: [&str; 2] = [".struct_ops.link", ".struct_ops"];
/// Values of the kernel's configuration that a program may ask for: the usual tick, and the version
/// whose order of calls the engine follows.
const CONFIGURED: [(&str, u64); 2] = [("CONFIG_HZ", 250), ("LINUX_KERNEL_VERSION", 0x0006_1200)];

type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Section that names the kernel's control whose functions a program calls.
const OF_KERNEL: &str = "ackclock.kernel";

/// Returns the name of the control of the kernel whose functions an object calls; `None` for one
/// that is a control by itself.
pub fn kernel_control(bytes: &[u8]) -> Option<String> {
    let elf = Elf::parse(bytes).ok()?;
    let name = elf.section_by_name(OF_KERNEL)?.data().ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Reads an object.
///
/// # Errors
/// The first reason why it cannot be run, with the line of the source if that is known.
pub fn read(bytes: &[u8]) -> Result<Program, Refusal> {
    let no_object =
        || Refusal::new("is not an object for BPF; compile it with clang -O2 -g -target bpf -c");
    let elf = Elf::parse(bytes).map_err(|_| no_object())?;
    if elf.elf_header().e_machine(LittleEndian) != EM_BPF {
        return Err(no_object());
    }
    if let Some(name) = kernel_control(bytes) {
        return Err(Refusal::new(format!(
            "calls the kernel's own {name}, which only a kernel has"
        )));
    }
    let section = |name: &str| {
        elf.section_by_name(name)
            .and_then(|section| section.data().ok())
    };
    let untyped = || Refusal::new("has no types (.BTF); compile it with -g");
    let types = Types::read(section(".BTF").ok_or_else(untyped)?)?;
    let notes = Notes::read(section(".BTF.ext").unwrap_or_default(), &types)?;
    Reading {
        elf: &elf,
        types: &types,
        notes,
        own: Vec::new(),
        regions: HashMap::new(),
        maps: Vec::new(),
        map_places: BTreeMap::new(),
        starts: HashMap::new(),
        configured: BTreeMap::new(),
    }
    .program()
}

/// Notes of the compiler about the code: relocations and lines, by section.
struct Notes {
    relocations: BTreeMap<String, Vec<Relocation>>,
    lines: BTreeMap<String, Vec<(u32, SourceLine)>>,
}

impl Notes {
    /// Reads the section `.BTF.ext`.
    fn read(bytes: &[u8], types: &Types) -> Result<Self, Refusal> {
        let mut notes = Notes {
            relocations: BTreeMap::new(),
            lines: BTreeMap::new(),
        };
        if bytes.is_empty() {
            return Ok(notes);
        }
        let mut header = Reader::new(bytes, 4);
        let start = header.u32()? as usize;
        header.skip(8); // functions
        let lines = (header.u32()? as usize, header.u32()? as usize);
        let relocations = if start >= 32 {
            (header.u32()? as usize, header.u32()? as usize)
        } else {
            (0, 0)
        };
        each(bytes, start, lines, |section, one| {
            let (at, file, text, place) = (one.u32()?, one.u32()?, one.u32()?, one.u32()?);
            let file = types.string(file);
            let line = SourceLine {
                file: file.rsplit('/').next().unwrap_or_default().into(),
                line: place >> 10,
                text: types.string(text).trim().into(),
            };
            let name = types.string(section);
            notes.lines.entry(name).or_default().push((at, line));
            Ok(())
        })?;
        each(bytes, start, relocations, |section, one| {
            let (at, id, access, kind) = (one.u32()?, one.u32()?, one.u32()?, one.u32()?);
            let access = types.string(access);
            let name = types.string(section);
            notes.relocations.entry(name).or_default().push(Relocation {
                at,
                id,
                access,
                kind,
            });
            Ok(())
        })?;
        Ok(notes)
    }

    /// Returns the line of an instruction.
    fn line(&self, section: &str, at: u32) -> Option<SourceLine> {
        let lines = self.lines.get(section)?;
        let before = lines.iter().filter(|(start, _)| *start <= at);
        before
            .max_by_key(|(start, _)| *start)
            .map(|(_, line)| line.clone())
    }
}

/// Calls `note` for each record of a part of `.BTF.ext`, with the name of its section.
fn each(
    bytes: &[u8],
    start: usize,
    (at, length): (usize, usize),
    mut note: impl FnMut(u32, &mut Reader<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if length == 0 {
        return Ok(());
    }
    let damaged = || Refusal::new("has damaged notes (.BTF.ext); compile it again with -g");
    let begin = start.checked_add(at).ok_or_else(damaged)?;
    let end = begin.checked_add(length).ok_or_else(damaged)?;
    let part = bytes.get(begin..end).ok_or_else(damaged)?;
    let size = Reader::new(part, 0).u32()? as usize;
    if size < 16 {
        return Err(damaged());
    }
    let mut place = 4;
    while place < part.len() {
        let mut head = Reader::new(part, place);
        let (section, count) = (head.u32()?, head.u32()? as usize);
        place += 8;
        for _ in 0..count {
            if place >= part.len() {
                return Err(damaged());
            }
            note(section, &mut Reader::new(part, place))?;
            place += size;
        }
    }
    Ok(())
}

/// The structure that registers a control.
struct Registered {
    name: String,
    entries: [Option<u32>; Callback::COUNT],
    /// True if `cong_control` has the four parameters that it has since Linux 6.10, not two.
    long_cong_control: bool,
}

/// An object that is being read.
struct Reading<'a> {
    elf: &'a Elf<'a>,
    types: &'a Types,
    notes: Notes,
    own: Vec<Region>,
    /// Region of each section of global variables.
    regions: HashMap<SectionIndex, u32>,
    maps: Vec<Map>,
    /// Number of the map that begins at a place of its section.
    map_places: BTreeMap<u64, u32>,
    /// First step of each section of code.
    starts: HashMap<SectionIndex, u32>,
    /// Address of each value of the kernel's configuration.
    configured: BTreeMap<&'static str, u64>,
}

impl Reading<'_> {
    fn program(mut self) -> Result<Program, Refusal> {
        self.read_globals()?;
        self.read_maps()?;
        let mut raw: Vec<(SectionIndex, Vec<Raw>)> = Vec::new();
        let mut count = 0;
        for section in self.elf.sections() {
            let name = section.name().unwrap_or_default();
            if name != ".text" && !name.starts_with("struct_ops") {
                continue;
            }
            let bytes = section.data().unwrap_or_default();
            let code: Vec<Raw> = bytes
                .chunks_exact(SIZE)
                .map(|chunk| Raw::read(chunk.try_into().unwrap_or_default()))
                .collect();
            self.starts.insert(section.index(), count);
            count += code.len() as u32;
            raw.push((section.index(), code));
        }
        if count as usize > MOST_STEPS {
            let reason = format!("has {count} instructions, the most are {MOST_STEPS}");
            return Err(Refusal::new(reason));
        }
        let asked = Asked::of(self.notes.relocations.values().flatten());
        let (mut code, mut lines, mut forbidden) = (Vec::new(), Vec::new(), Vec::new());
        for (index, section_code) in raw {
            let name = self.name_of(index);
            let begin = code.len() as u32;
            let steps = self.steps(index, &name, section_code, &asked, &mut forbidden)?;
            for (at, line) in self.notes.lines.get(&name).into_iter().flatten() {
                lines.push((begin + at / SIZE as u32, line.clone()));
            }
            code.extend(steps);
        }
        let Registered {
            name,
            entries,
            long_cong_control,
        } = self.registered()?;
        lines.sort_by_key(|(step, _)| *step);
        join(&mut code);
        Ok(Program {
            name,
            code,
            entries,
            long_cong_control,
            forbidden,
            lines: Lines(lines),
            parameters: self.parameters(),
            own: self.own,
            maps: self.maps,
        })
    }

    fn name_of(&self, index: SectionIndex) -> String {
        let section = self.elf.section_by_index(index);
        section
            .ok()
            .and_then(|section| section.name().ok().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Returns the variables of a section: names, types and places.
    fn variables(&self, section: &str) -> Vec<(String, TypeId, u32)> {
        let section_index = self
            .elf
            .section_by_name(section)
            .map(|section| section.index());
        let place = |name: &str| {
            let mut symbols = self.elf.symbols();
            let symbol = symbols.find(|symbol| {
                symbol.section_index() == section_index && symbol.name() == Ok(name)
            });
            symbol.and_then(|symbol| u32::try_from(symbol.address()).ok())
        };
        let variables = self.types.variables(section).into_iter();
        variables
            .filter_map(|(name, id)| place(&name).map(|place| (name, id, place)))
            .collect()
    }

    /// Adds a region and returns its number.
    fn add(&mut self, name: &str, bytes: Vec<u8>, writable: bool) -> Result<u32, Refusal> {
        let held: usize = self.own.iter().map(|region| region.bytes().len()).sum();
        if held.saturating_add(bytes.len()) > MOST_BYTES {
            return Err(Refusal::new(format!(
                "has more than {MOST_BYTES} bytes of global variables and maps"
            )));
        }
        self.own.push(Region::new(name, bytes, writable));
        Ok(FIRST_OWN + self.own.len() as u32 - 1)
    }

    /// Makes a region of each section of global variables.
    fn read_globals(&mut self) -> Result<(), Refusal> {
        let elf = self.elf;
        for section in elf.sections() {
            let name = section.name().unwrap_or_default();
            let is = |start: &str| name == start || name.starts_with(&format!("{start}."));
            let writable = is(".data") || is(".bss");
            if !writable && !is(".rodata") {
                continue;
            }
            let bytes = if is(".bss") {
                let size = usize::try_from(section.size()).unwrap_or(usize::MAX);
                vec![0; size.min(MOST_BYTES + 1)]
            } else {
                section.data().unwrap_or_default().to_vec()
            };
            let number = self.add(name, bytes, writable)?;
            self.regions.insert(section.index(), number);
        }
        for (name, value) in CONFIGURED {
            let number = self.add(name, value.to_le_bytes().to_vec(), false)?;
            self.configured.insert(name, memory::address(number, 0));
        }
        Ok(())
    }

    /// Reads the maps: structures whose members state kind and sizes by their types.
    fn read_maps(&mut self) -> Result<(), Refusal> {
        let types = self.types;
        for (name, id, place) in self.variables(".maps") {
            let (_, shape) = types.plain(id)?;
            let Shape::Struct { members, .. } = &shape.shape else {
                continue;
            };
            let mut numbers = BTreeMap::new();
            for member in members {
                let Shape::Pointer(to) = types.plain(member.id)?.1.shape else {
                    continue;
                };
                let number = match (&*member.name, &types.plain(to)?.1.shape) {
                    ("key" | "value", _) => types.size(to)?,
                    (_, Shape::Array { length, .. }) => *length,
                    _ => continue,
                };
                numbers.insert(member.name.as_str(), number);
            }
            let of = |part: &str| numbers.get(part).copied().unwrap_or(0);
            let value = of("value").max(of("value_size")) as usize;
            let map = match of("type") {
                2 | 6 => {
                    let stride = value.next_multiple_of(8);
                    let entries = of("max_entries");
                    let size = stride.saturating_mul(entries as usize).min(MOST_BYTES + 1);
                    let region = self.add(&name, vec![0; size], true)?;
                    let stride = stride as u32;
                    (region, MapKind::Array { entries, stride })
                }
                24 => {
                    let region = self.add(&name, vec![0; value.min(MOST_BYTES + 1)], true)?;
                    (region, MapKind::SocketStorage { in_use: false })
                }
                27 => (0, MapKind::Ring),
                other => {
                    return Err(Refusal::new(format!(
                        "has the map {name} of kind {other}; the engine has arrays, storage of \
                        sockets and ring buffers"
                    )));
                }
            };
            let number = self.maps.len() as u32;
            self.map_places.insert(place.into(), number);
            self.maps.push(Map {
                region: map.0,
                kind: map.1,
            });
        }
        Ok(())
    }

    /// Turns the code of a section into steps.
    fn steps(
        &self,
        index: SectionIndex,
        name: &str,
        mut code: Vec<Raw>,
        asked: &Asked,
        forbidden: &mut Vec<String>,
    ) -> Result<Vec<Step>, Refusal> {
        let line = |at: usize| self.notes.line(name, (at * SIZE) as u32);
        let mut fixed: BTreeMap<usize, Step> = BTreeMap::new();
        let mut wide: BTreeMap<usize, u64> = BTreeMap::new();
        for relocation in self.notes.relocations.get(name).into_iter().flatten() {
            let at = relocation.at as usize / SIZE;
            let place = line(at);
            let unknown = match answer(self.types, asked, relocation) {
                Ok(Answer::Number(number)) => {
                    let outside = || Refusal::new("has a relocation outside its code");
                    let raw = code.get_mut(at).ok_or_else(outside)?;
                    if raw.is_wide() {
                        wide.insert(at, number);
                    } else if raw.is_access() {
                        raw.offset = number as i16;
                    } else {
                        raw.imm = number as i32;
                    }
                    continue;
                }
                Ok(Answer::Unknown(name)) => name,
                Err(refusal) => return Err(refusal.at(place)),
            };
            let reason = format!("uses {unknown}, of which the engine knows nothing");
            if !asked.may_lack(relocation) {
                return Err(Refusal::new(reason).at(place));
            }
            fixed.insert(at, forbid(forbidden, reason));
        }
        let section = self.elf.section_by_index(index);
        for (at, relocation) in section.iter().flat_map(ObjectSection::relocations) {
            let at = at as usize / SIZE;
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                continue;
            };
            let Some(&raw) = code.get(at) else {
                return Err(Refusal::new("has a relocation outside its code"));
            };
            let step = self.relocated(raw, symbol, forbidden);
            fixed.insert(at, step.map_err(|refusal| refusal.at(line(at)))?);
        }
        let begin = self.starts.get(&index).copied().unwrap_or(0);
        let mut steps = Vec::with_capacity(code.len());
        let mut at = 0;
        while at < code.len() {
            let raw = code[at];
            let step = match fixed.get(&at) {
                Some(step) => Ok(*step),
                None if raw.is_wide() => self.constant(raw, code.get(at + 1), wide.get(&at)),
                None if raw.is_call() => own_call(raw, begin as usize + at),
                None => decode(raw),
            };
            let mut step = step.map_err(|refusal| refusal.at(line(at)))?;
            if raw.is_wide() {
                at += 1;
                if step.operation == Operation::Mov64 {
                    step.operation = Operation::SetWide;
                }
                steps.extend([step, FILLER]);
            } else {
                steps.push(step);
            }
            at += 1;
        }
        check_jumps(&steps).map_err(|(at, refusal)| refusal.at(line(at)))?;
        Ok(steps)
    }

    /// Returns the step that loads a constant of 64 bits.
    fn constant(
        &self,
        raw: Raw,
        second: Option<&Raw>,
        relocated: Option<&u64>,
    ) -> Result<Step, Refusal> {
        let high = second.map_or(0, |second| second.imm.cast_unsigned());
        let own = u64::from(high) << 32 | u64::from(raw.imm.cast_unsigned());
        if raw.src != 0 || raw.dst > 10 {
            return Err(Refusal::new("has an address that was not relocated"));
        }
        Ok(set(raw.dst, relocated.copied().unwrap_or(own)))
    }

    /// Returns the step of an instruction that refers to a symbol.
    fn relocated(
        &self,
        raw: Raw,
        symbol: SymbolIndex,
        forbidden: &mut Vec<String>,
    ) -> Result<Step, Refusal> {
        let damaged = || Refusal::new("refers to a symbol that it does not have");
        let symbol = self.elf.symbol_by_index(symbol).map_err(|_| damaged())?;
        let name = symbol.name().unwrap_or_default();
        match (raw.is_call(), symbol.section()) {
            (true, SymbolSection::Section(index)) => {
                let start = *self.starts.get(&index).ok_or_else(damaged)?;
                // A section's symbol leaves the place within it to the instruction.
                let place = symbol.address() / SIZE as u64;
                let place = if symbol.kind() == object::SymbolKind::Section {
                    i64::from(raw.imm) + 1
                } else {
                    place as i64
                };
                let to = i64::from(start).checked_add(place).filter(|&to| to >= 0);
                Ok(call(Operation::CallLocal, to.ok_or_else(damaged)? as u64))
            }
            (true, _) => match Function::named(name) {
                Some(function) => Ok(call(Operation::CallHost, function as u64)),
                None if symbol.is_weak() => Ok(forbid(
                    forbidden,
                    format!("calls {name}, which the engine does not have"),
                )),
                None => Err(Refusal::new(format!(
                    "calls {name}, which the engine does not have"
                ))),
            },
            (false, SymbolSection::Section(index)) => {
                let place = symbol
                    .address()
                    .wrapping_add(i64::from(raw.imm).cast_unsigned());
                Ok(set(
                    raw.dst,
                    self.address(index, place).ok_or_else(damaged)?,
                ))
            }
            (false, _) => {
                if let Some(&address) = self.configured.get(name) {
                    return Ok(set(raw.dst, address));
                }
                let is_function = Function::named(name).is_some();
                if symbol.is_weak() || is_function {
                    return Ok(set(raw.dst, u64::from(is_function)));
                }
                let reason = format!("uses {name}, which the engine does not have");
                Err(Refusal::new(reason))
            }
        }
    }

    /// Returns the address of a place in a section.
    fn address(&self, index: SectionIndex, place: u64) -> Option<u64> {
        if let Some(&region) = self.regions.get(&index) {
            return Some(memory::address(region, place as u32));
        }
        if let Some(&start) = self.starts.get(&index) {
            let step = start + place as u32 / SIZE as u32;
            return Some(memory::address(memory::CODE, step));
        }
        if self.name_of(index) == ".maps" {
            let number = *self.map_places.get(&place)?;
            return Some(memory::address(memory::MAP, number));
        }
        None
    }

    /// Finds the structure that registers the control: its name and its callbacks.
    fn registered(&self) -> Result<Registered, Refusal> {
        let mut candidates = REGISTERED
            .iter()
            .flat_map(|section| {
                let of = |(name, id, place)| (*section, name, id, place);
                self.variables(section).into_iter().map(of)
            })
            .filter(|(_, _, id, _)| {
                let of = self.types.plain(*id);
                of.is_ok_and(|(_, of)| of.name.split("___").next() == Some(OPERATIONS))
            });
        let none = || Refusal::new(format!("registers no control (struct {OPERATIONS})"));
        let (section, variable, id, place) = candidates.next().ok_or_else(none)?;
        if let Some((_, other, ..)) = candidates.next() {
            return Err(Refusal::new(format!(
                "registers two controls, {variable} and {other}; give each a file of its own"
            )));
        }
        let missing = || Refusal::new("has no section of the control that it registers");
        let section = self.elf.section_by_name(section).ok_or_else(missing)?;
        let mut targets = BTreeMap::new();
        for (at, relocation) in section.relocations() {
            if let RelocationTarget::Symbol(symbol) = relocation.target()
                && let Ok(symbol) = self.elf.symbol_by_index(symbol)
                && let SymbolSection::Section(index) = symbol.section()
                && let Some(&start) = self.starts.get(&index)
            {
                targets.insert(at, start + symbol.address() as u32 / SIZE as u32);
            }
        }
        let Shape::Struct { members, .. } = &self.types.plain(id)?.1.shape else {
            return Err(missing());
        };
        let mut entries = [None; Callback::COUNT];
        let mut long_cong_control = false;
        for member in members {
            let at = u64::from(place) + u64::from(member.bit_offset / 8);
            if let Some(callback) = Callback::named(&member.name) {
                entries[callback as usize] = targets.get(&at).copied();
                if callback == Callback::CongControl {
                    long_cong_control = self.parameters_of(member.id) == Some(4);
                }
            }
        }
        let has = |callback: Callback| entries[callback as usize].is_some();
        for needed in [Callback::Ssthresh, Callback::UndoCwnd] {
            if !has(needed) {
                let reason = format!("has no {}, which every control needs", needed.name());
                return Err(Refusal::new(reason));
            }
        }
        if !has(Callback::CongAvoid) && !has(Callback::CongControl) {
            let reason =
                "has neither cong_avoid nor cong_control, of which every control needs one";
            return Err(Refusal::new(reason));
        }
        Ok(Registered {
            name: variable,
            entries,
            long_cong_control,
        })
    }

    /// Returns the number of parameters of a pointer to a function.
    fn parameters_of(&self, id: TypeId) -> Option<usize> {
        let Shape::Pointer(to) = self.types.plain(id).ok()?.1.shape else {
            return None;
        };
        match self.types.plain(to).ok()?.1.shape {
            Shape::Prototype(count) => Some(count),
            _ => None,
        }
    }

    /// Returns the constants that a scenario may set: integers in `.rodata`.
    fn parameters(&self) -> Vec<Parameter> {
        let constants = self.elf.section_by_name(".rodata");
        let region = constants.and_then(|section| self.regions.get(&section.index()).copied());
        let Some(region) = region else {
            return Vec::new();
        };
        let parameter = |(name, id, offset): (String, TypeId, u32)| {
            let (_, of) = self.types.plain(id).ok()?;
            let (size, signed) = match of.shape {
                Shape::Int { size, signed } => (size, signed),
                Shape::Enum { size, .. } => (size, false),
                _ => return None,
            };
            let bytes = self.own[(region - FIRST_OWN) as usize].bytes().len();
            let inside = offset.checked_add(size)? as usize <= bytes;
            (inside && matches!(size, 1 | 2 | 4 | 8)).then_some(Parameter {
                name,
                region,
                offset,
                size,
                signed,
            })
        };
        let variables = self.variables(".rodata");
        variables.into_iter().filter_map(parameter).collect()
    }
}

const FILLER: Step = Step {
    operation: Operation::Filler,
    dst: 0,
    src: 0,
    register: false,
    offset: 0,
    immediate: 0,
};

/// Returns the step that sets a register.
const fn set(dst: u8, immediate: u64) -> Step {
    Step {
        operation: Operation::Mov64,
        dst: if dst > 10 { 0 } else { dst },
        immediate,
        ..FILLER
    }
}

const fn call(operation: Operation, immediate: u64) -> Step {
    Step {
        operation,
        immediate,
        ..FILLER
    }
}

/// Returns a step at which a program must end, for a reason.
fn forbid(forbidden: &mut Vec<String>, reason: String) -> Step {
    forbidden.push(reason);
    call(Operation::Forbidden, forbidden.len() as u64 - 1)
}

/// Returns the step of a call without relocation: of a helper, or within a section.
fn own_call(raw: Raw, at: usize) -> Result<Step, Refusal> {
    match raw.src {
        0 => {
            let lacking = || {
                let name = helper_name(raw.imm);
                Refusal::new(format!("calls {name}, which the engine does not have"))
            };
            let function = Function::helper(raw.imm).ok_or_else(lacking)?;
            Ok(call(Operation::CallHost, function as u64))
        }
        1 => {
            let to = at as i64 + 1 + i64::from(raw.imm);
            let to = u64::try_from(to).map_err(|_| Refusal::new("calls outside its code"))?;
            Ok(call(Operation::CallLocal, to))
        }
        _ => Err(Refusal::new("calls a function that was not relocated")),
    }
}

/// Refuses jumps that leave a section, and code that runs over its end.
fn check_jumps(steps: &[Step]) -> Result<(), (usize, Refusal)> {
    for (at, step) in steps.iter().enumerate() {
        let to = at as i64 + 1 + i64::from(step.offset);
        let inside = |to: i64| (0..steps.len() as i64).contains(&to);
        if step.operation.is_jump() && !inside(to) {
            return Err((at, Refusal::new("jumps out of its code")));
        }
        let ends = matches!(step.operation, Operation::Exit | Operation::Jump);
        if at + 1 == steps.len() && !ends {
            return Err((at, Refusal::new("runs over the end of its code")));
        }
    }
    Ok(())
}
