//! Reads an object that a compiler made for BPF into a program that a machine can run.

use crate::btf::{Shape, TypeId, Types};
use crate::calls::{Function, helper_name};
use crate::elf::{Elf, Section, SymbolUse};
use crate::instruction::{Operation, Raw, SIZE, Step, decode};
use crate::join::join;
use crate::limits::{LACKING, MEMORY_BYTES};
use crate::lines::{Lines, Place};
use crate::maps::{self, Declared};
use crate::memory::{self, FIRST_OWN, Region};
use crate::notes::Notes;
use crate::program::{Callback, Map, MapKind, Parameter, Program};
use crate::refusal::Refusal;
use crate::relocation::{Answer, Asked, answer};
use crate::strings::Strings;
use std::collections::{BTreeMap, HashMap};

/// The structure that registers a control, and the sections where a compiler puts it.
const OPERATIONS: &str = "tcp_congestion_ops";
const REGISTERED: [&str; 2] = [".struct_ops.link", ".struct_ops"];
/// Values of the kernel's configuration that a program may ask for: the usual tick, and the version
/// whose order of calls the engine follows.
const CONFIGURED: [(&str, u64); 2] = [("CONFIG_HZ", 250), ("LINUX_KERNEL_VERSION", 0x0006_1200)];

/// Section that names the kernel's control whose functions a program calls.
const OF_KERNEL: &str = "ackclock.kernel";

/// Returns the name of the control of the kernel whose functions an object calls; `None` for one
/// that is a control by itself.
pub fn kernel_control(bytes: &[u8]) -> Option<String> {
    kernel_control_of(&Elf::read(bytes).ok()?)
}

fn kernel_control_of(elf: &Elf<'_>) -> Option<String> {
    let (_, section) = elf.section(OF_KERNEL)?;
    Some(Strings(section.data).text(0))
}

/// An object that whoever loads it can rely on: it is whole and within limits, and no type holds
/// itself. Whether the engine can run it is another question.
pub struct Whole<'a> {
    elf: Elf<'a>,
    types: Types<'a>,
    notes: Notes<'a>,
    maps: Vec<Declared<'a>>,
}

impl<'a> Whole<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// It is not an object for BPF, damaged, or beyond a limit.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let elf = Elf::read(bytes)?;
        let section = |name: &str| elf.section(name).map(|(_, section)| section.data);
        let untyped = || Refusal::new("has no types (.BTF); compile it with -g");
        let types = Types::read(section(".BTF").ok_or_else(untyped)?)?;
        let notes = Notes::read(section(".BTF.ext").unwrap_or_default(), types.strings())?;
        let maps = maps::read(&elf, &types)?;
        let globals = elf.sections.iter().filter(|section| is_global(section));
        if globals.fold(0, |sum: u64, section| sum.saturating_add(section.size))
            > MEMORY_BYTES as u64
        {
            return Err(too_much_memory());
        }
        Ok(Whole {
            elf,
            types,
            notes,
            maps,
        })
    }
}

/// Reads an object into a program.
///
/// # Errors
/// The first reason why it cannot be run, with the line of the source if that is known.
pub fn read(bytes: &[u8]) -> Result<Program, Refusal> {
    let whole = Whole::read(bytes)?;
    if let Some(name) = kernel_control_of(&whole.elf) {
        return Err(Refusal::new(format!(
            "calls the kernel's own {name}, which only a kernel has"
        )));
    }
    Reading {
        whole: &whole,
        own: Vec::new(),
        held: 0,
        regions: HashMap::new(),
        maps: Vec::new(),
        map_places: BTreeMap::new(),
        starts: HashMap::new(),
        configured: BTreeMap::new(),
        forbidden: Vec::new(),
    }
    .program()
}

/// True for a section whose name is `start`, or begins with it and a point.
fn is_of(section: &Section<'_>, start: &str) -> bool {
    let rest = section.name.strip_prefix(start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// True for a section of global variables.
fn is_global(section: &Section<'_>) -> bool {
    [".data", ".bss", ".rodata"]
        .iter()
        .any(|start| is_of(section, start))
}

fn too_much_memory() -> Refusal {
    Refusal::new(format!(
        "has more than {MEMORY_BYTES} bytes of global variables and maps"
    ))
}

/// The structure that registers a control.
struct Registered {
    name: String,
    entries: [Option<u32>; Callback::COUNT],
    /// True if `cong_control` has the four parameters that it has since Linux 6.10, not two.
    long_cong_control: bool,
}

/// An object that is being read. Sections have their numbers in the file.
struct Reading<'a> {
    whole: &'a Whole<'a>,
    own: Vec<Region>,
    /// Bytes of these regions.
    held: usize,
    /// Region of each section of global variables.
    regions: HashMap<usize, u32>,
    maps: Vec<Map>,
    /// Number of the map that begins at a place of its section.
    map_places: BTreeMap<u64, u32>,
    /// First step of each section of code.
    starts: HashMap<usize, u32>,
    /// Address of each value of the kernel's configuration.
    configured: BTreeMap<&'static str, u64>,
    /// Reasons why the program must end where it uses what the engine lacks.
    forbidden: Vec<String>,
}

impl<'a> Reading<'a> {
    fn program(mut self) -> Result<Program, Refusal> {
        let Whole {
            elf, notes, types, ..
        } = self.whole;
        self.read_globals()?;
        self.read_maps()?;
        let is_code = |(_, section): &(usize, &Section<'_>)| {
            section.name == ".text" || section.name.starts_with("struct_ops")
        };
        let sections = || elf.sections.iter().enumerate().filter(is_code);
        let mut count = 0;
        for (number, section) in sections() {
            self.starts.insert(number, count);
            count += (section.data.len() / SIZE) as u32;
        }
        let asked = Asked::of(notes.all_relocations());
        let (mut code, mut places) = (Vec::new(), Vec::new());
        for (number, section) in sections() {
            let begin = code.len() as u32;
            let steps = self.steps(number, section, &asked)?;
            places.extend(notes.lines(section.name).iter().map(|place| Place {
                at: begin + place.at / SIZE as u32,
                ..*place
            }));
            code.extend(steps);
        }
        let Registered {
            name,
            entries,
            long_cong_control,
        } = self.registered()?;
        places.sort_by_key(|place| place.at);
        join(&mut code);
        Ok(Program {
            name,
            code,
            entries,
            long_cong_control,
            parameters: self.parameters()?,
            forbidden: self.forbidden,
            lines: Lines {
                places,
                strings: types.strings().0.to_vec(),
            },
            own: self.own,
            maps: self.maps,
        })
    }

    /// Returns the variables of a section: names, types and places.
    fn variables(&self, section: &str) -> Result<Vec<(&'a str, TypeId, u32)>, Refusal> {
        let Whole { elf, types, .. } = self.whole;
        let Some((number, _)) = elf.section(section) else {
            return Ok(Vec::new());
        };
        let places = elf.places(number)?;
        let placed = types.variables(section);
        Ok(placed
            .filter_map(|(name, id)| Some((name, id, *places.get(name)?)))
            .collect())
    }

    /// Adds a region of zeros, or of the bytes that a file has, and returns its number.
    fn add(&mut self, name: &str, size: u64, bytes: &[u8], writable: bool) -> Result<u32, Refusal> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        self.held = self.held.saturating_add(size);
        if self.held > MEMORY_BYTES {
            return Err(too_much_memory());
        }
        let mut content = vec![0; size];
        content[..bytes.len()].copy_from_slice(bytes);
        self.own.push(Region::new(name, content, writable));
        Ok(FIRST_OWN + self.own.len() as u32 - 1)
    }

    /// Makes a region of each section of global variables.
    fn read_globals(&mut self) -> Result<(), Refusal> {
        let sections = self.whole.elf.sections.iter().enumerate();
        for (number, section) in sections.filter(|(_, section)| is_global(section)) {
            let writable = !is_of(section, ".rodata");
            let region = self.add(section.name, section.size, section.data, writable)?;
            self.regions.insert(number, region);
        }
        for (name, value) in CONFIGURED {
            let region = self.add(name, 8, &value.to_le_bytes(), false)?;
            self.configured.insert(name, memory::address(region, 0));
        }
        Ok(())
    }

    /// Makes a region of each map.
    fn read_maps(&mut self) -> Result<(), Refusal> {
        for map in &self.whole.maps {
            let Declared { name, entries, .. } = *map;
            let value = u64::from(map.value);
            let (region, kind) = match map.kind {
                2 | 6 => {
                    let stride = value.next_multiple_of(8);
                    let region =
                        self.add(name, stride.saturating_mul(entries.into()), &[], true)?;
                    let stride = stride as u32;
                    (region, MapKind::Array { entries, stride })
                }
                24 => (
                    self.add(name, value, &[], true)?,
                    MapKind::SocketStorage { in_use: false },
                ),
                27 => (0, MapKind::Ring),
                other => {
                    return Err(Refusal::new(format!(
                        "has the map {name} of kind {other}; the engine has arrays, storage of \
                        sockets and ring buffers"
                    )));
                }
            };
            self.map_places
                .insert(map.place.into(), self.maps.len() as u32);
            self.maps.push(Map { region, kind });
        }
        Ok(())
    }

    /// Turns the code of a section into steps.
    fn steps(
        &mut self,
        number: usize,
        section: &Section<'_>,
        asked: &Asked<'a>,
    ) -> Result<Vec<Step>, Refusal> {
        let Whole {
            elf, types, notes, ..
        } = self.whole;
        let line = |at: usize| notes.line(section.name, (at * SIZE) as u32);
        let chunks = section.data.as_chunks::<SIZE>().0;
        let mut code: Vec<Raw> = chunks.iter().map(|&chunk| Raw::read(chunk)).collect();
        let mut fixed: BTreeMap<usize, Step> = BTreeMap::new();
        let mut wide: BTreeMap<usize, u64> = BTreeMap::new();
        for relocation in notes.relocations(section.name) {
            let at = relocation.at as usize / SIZE;
            let unknown = match answer(types, asked, relocation) {
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
                Err(refusal) => return Err(refusal.at(line(at))),
            };
            let reason = format!("uses {unknown}, of which the engine knows nothing");
            if !asked.may_lack(relocation) {
                return Err(Refusal::new(reason).at(line(at)));
            }
            fixed.insert(at, self.forbid(reason)?);
        }
        for SymbolUse { at, symbol } in elf.relocations(number)? {
            let at = usize::try_from(at).unwrap_or(usize::MAX) / SIZE;
            let Some(&raw) = code.get(at) else {
                return Err(Refusal::new("has a relocation outside its code"));
            };
            let step = self.relocated(raw, symbol);
            fixed.insert(at, step.map_err(|refusal| refusal.at(line(at)))?);
        }
        let begin = self.starts.get(&number).copied().unwrap_or(0);
        let mut steps = Vec::with_capacity(code.len());
        let mut at = 0;
        while at < code.len() {
            let raw = code[at];
            let step = match fixed.get(&at) {
                Some(step) => Ok(*step),
                None if raw.is_wide() => constant(raw, code.get(at + 1), wide.get(&at)),
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

    /// Returns the step of an instruction that refers to a symbol.
    fn relocated(&mut self, raw: Raw, symbol: usize) -> Result<Step, Refusal> {
        let damaged = || Refusal::new("refers to a symbol that it does not have");
        let symbol = self.whole.elf.symbol(symbol)?;
        let name = symbol.name;
        match (raw.is_call(), symbol.section) {
            (true, Some(section)) => {
                let start = *self.starts.get(&section).ok_or_else(damaged)?;
                // A section's symbol leaves the place within it to the instruction.
                let place = if symbol.is_section {
                    i64::from(raw.imm) + 1
                } else {
                    (symbol.address / SIZE as u64) as i64
                };
                let to = i64::from(start).checked_add(place).filter(|&to| to >= 0);
                Ok(call(Operation::CallLocal, to.ok_or_else(damaged)? as u64))
            }
            (true, None) => match Function::named(name) {
                Some(function) => Ok(call(Operation::CallHost, function as u64)),
                None => {
                    let reason = format!("calls {name}, which the engine does not have");
                    if symbol.is_weak {
                        self.forbid(reason)
                    } else {
                        Err(Refusal::new(reason))
                    }
                }
            },
            (false, Some(section)) => {
                let place = symbol
                    .address
                    .wrapping_add(i64::from(raw.imm).cast_unsigned());
                let address = self.address(section, place).ok_or_else(damaged)?;
                Ok(set(raw.dst, address))
            }
            (false, None) => {
                if let Some(&address) = self.configured.get(name) {
                    return Ok(set(raw.dst, address));
                }
                let is_function = Function::named(name).is_some();
                if symbol.is_weak || is_function {
                    return Ok(set(raw.dst, u64::from(is_function)));
                }
                let reason = format!("uses {name}, which the engine does not have");
                Err(Refusal::new(reason))
            }
        }
    }

    /// Returns a step at which the program must end, for a reason.
    fn forbid(&mut self, reason: String) -> Result<Step, Refusal> {
        if self.forbidden.len() == LACKING {
            return Err(Refusal::new(format!(
                "uses more than {LACKING} times what the engine does not have"
            )));
        }
        self.forbidden.push(reason);
        let number = self.forbidden.len() as u64 - 1;
        Ok(call(Operation::Forbidden, number))
    }

    /// Returns the address of a place in a section.
    fn address(&self, section: usize, place: u64) -> Option<u64> {
        if let Some(&region) = self.regions.get(&section) {
            return Some(memory::address(region, place as u32));
        }
        if let Some(&start) = self.starts.get(&section) {
            let step = start + place as u32 / SIZE as u32;
            return Some(memory::address(memory::CODE, step));
        }
        if self.whole.elf.sections.get(section)?.name == maps::SECTION {
            let number = *self.map_places.get(&place)?;
            return Some(memory::address(memory::MAP, number));
        }
        None
    }

    /// Finds the structure that registers the control: its name and its callbacks.
    fn registered(&self) -> Result<Registered, Refusal> {
        let Whole { elf, types, .. } = self.whole;
        let mut candidates = Vec::new();
        for section in REGISTERED {
            for (name, id, place) in self.variables(section)? {
                let registers = types.plain(id)?.name.split("___").next() == Some(OPERATIONS);
                if registers {
                    candidates.push((section, name, id, place));
                }
            }
        }
        let (section, variable, id, place) = match candidates[..] {
            [candidate] => candidate,
            [] => {
                let reason = format!("registers no control (struct {OPERATIONS})");
                return Err(Refusal::new(reason));
            }
            [(_, variable, ..), (_, other, ..), ..] => {
                return Err(Refusal::new(format!(
                    "registers two controls, {variable} and {other}; give each a file of its own"
                )));
            }
        };
        let missing = || Refusal::new("has no section of the control that it registers");
        let (section, _) = elf.section(section).ok_or_else(missing)?;
        let mut targets = BTreeMap::new();
        for SymbolUse { at, symbol } in elf.relocations(section)? {
            if let Ok(symbol) = elf.symbol(symbol)
                && let Some(section) = symbol.section
                && let Some(&start) = self.starts.get(&section)
            {
                targets.insert(at, start + symbol.address as u32 / SIZE as u32);
            }
        }
        let Shape::Struct { members, .. } = &types.plain(id)?.shape else {
            return Err(missing());
        };
        let mut entries = [None; Callback::COUNT];
        let mut long_cong_control = false;
        for member in members {
            let at = u64::from(place) + u64::from(member.bit_offset / 8);
            if let Some(callback) = Callback::named(member.name) {
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
            name: variable.into(),
            entries,
            long_cong_control,
        })
    }

    /// Returns the number of parameters of a pointer to a function.
    fn parameters_of(&self, id: TypeId) -> Option<usize> {
        let types = &self.whole.types;
        let Shape::Pointer(to) = types.plain(id).ok()?.shape else {
            return None;
        };
        match types.plain(to).ok()?.shape {
            Shape::Prototype(count) => Some(count),
            _ => None,
        }
    }

    /// Returns the constants that a scenario may set: integers in `.rodata`.
    fn parameters(&self) -> Result<Vec<Parameter>, Refusal> {
        let constants = self.whole.elf.section(".rodata");
        let region = constants.and_then(|(number, _)| self.regions.get(&number).copied());
        let Some(region) = region else {
            return Ok(Vec::new());
        };
        let parameter = |(name, id, offset): (&str, TypeId, u32)| {
            let of = self.whole.types.plain(id).ok()?;
            let (size, signed) = match of.shape {
                Shape::Int { size, signed } => (size, signed),
                Shape::Enum { size, .. } => (size, false),
                _ => return None,
            };
            let bytes = self.own[(region - FIRST_OWN) as usize].bytes().len();
            let inside = offset.checked_add(size)? as usize <= bytes;
            (inside && matches!(size, 1 | 2 | 4 | 8)).then(|| Parameter {
                name: name.into(),
                region,
                offset,
                size,
                signed,
            })
        };
        let variables = self.variables(".rodata")?;
        Ok(variables.into_iter().filter_map(parameter).collect())
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

/// Returns the step that loads a constant of 64 bits.
fn constant(raw: Raw, second: Option<&Raw>, relocated: Option<&u64>) -> Result<Step, Refusal> {
    let high = second.map_or(0, |second| second.imm.cast_unsigned());
    let own = u64::from(high) << 32 | u64::from(raw.imm.cast_unsigned());
    if raw.src != 0 || raw.dst > 10 {
        return Err(Refusal::new("has an address that was not relocated"));
    }
    Ok(set(raw.dst, relocated.copied().unwrap_or(own)))
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
