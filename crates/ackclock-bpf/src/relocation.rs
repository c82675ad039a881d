//! CO-RE relocations: places in the code that depend on the layout of the kernel's structures
//! (`.BTF.ext`; the kernel's documentation, `bpf/llvm_reloc.rst`).

use crate::btf::{Shape, TypeId, Types};
use crate::layout::{self, Field, SLOT, Structure};
use crate::limits::{ACCESS_LEVELS, QUOTED_CHARACTERS};
use crate::refusal::Refusal;
use std::collections::HashSet;

/// A relocation as the compiler wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Relocation<'a> {
    /// Place of the instruction in its section, in bytes.
    pub at: u32,
    /// The structure, or another type.
    pub id: TypeId,
    /// Numbers of members, separated by colons.
    pub access: &'a str,
    /// The question: `enum bpf_core_relo_kind`.
    pub kind: u32,
}

/// Kinds of relocation.
const BYTE_OFFSET: u32 = 0;
const BYTE_SIZE: u32 = 1;
const EXISTS: u32 = 2;
const SIGNED: u32 = 3;
const LEFT_SHIFT: u32 = 4;
const RIGHT_SHIFT: u32 = 5;
const LOCAL_TYPE: u32 = 6;
const KERNEL_TYPE: u32 = 7;
const TYPE_EXISTS: u32 = 8;
const TYPE_SIZE: u32 = 9;
const VALUE_EXISTS: u32 = 10;
const VALUE: u32 = 11;
const TYPE_MATCHES: u32 = 12;

/// The answer to a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number that the code needs.
    Number(u64),
    /// The engine does not know the field of that name.
    Unknown(String),
}

/// The questions of a program about fields, over the whole object.
#[derive(Debug, Default)]
pub struct Asked<'a> {
    /// Fields that a program asks for before it uses them.
    existence: HashSet<(TypeId, &'a str)>,
    /// Bit fields that a program reads with the shifts of the kernel's layout.
    shifts: HashSet<(TypeId, &'a str)>,
}

impl<'a> Asked<'a> {
    /// Collects the questions of an object.
    pub fn of(all: impl IntoIterator<Item = Relocation<'a>>) -> Self {
        let mut asked = Asked::default();
        for relocation in all {
            let key = (relocation.id, relocation.access);
            match relocation.kind {
                EXISTS => drop(asked.existence.insert(key)),
                LEFT_SHIFT => drop(asked.shifts.insert(key)),
                _ => {}
            }
        }
        asked
    }

    /// True if the program asks whether a field exists, so that it may do without.
    pub fn may_lack(&self, relocation: &Relocation<'a>) -> bool {
        self.existence.contains(&(relocation.id, relocation.access))
    }
}

/// Takes the suffix off a name that stands for another version of a structure.
fn without_flavour(name: &str) -> &str {
    name.split("___").next().unwrap_or(name)
}

/// A field that a relocation names.
struct Access<'a> {
    /// Structure where the path begins, and the path of names.
    root: &'a str,
    path: Vec<&'a str>,
    /// Sum of the indices into arrays.
    index: u32,
    /// True if the last member is a bit field.
    is_bits: bool,
}

/// Follows the numbers of members to names.
fn follow<'a>(types: &Types<'a>, relocation: &Relocation<'a>) -> Result<Access<'a>, Refusal> {
    let damaged = || {
        let access = &relocation.access;
        Refusal::new(format!("has a damaged relocation of a field ({access})"))
    };
    let mut numbers = relocation.access.split(':').map(str::parse::<u32>);
    if numbers.next() != Some(Ok(0)) {
        return Err(damaged());
    }
    let mut id = relocation.id;
    let mut access = Access {
        root: without_flavour(types.plain(id)?.name),
        path: Vec::new(),
        index: 0,
        is_bits: false,
    };
    for (level, number) in numbers.enumerate() {
        let number = number.map_err(|_| damaged())?;
        if level == ACCESS_LEVELS {
            return Err(damaged());
        }
        match &types.plain(id)?.shape {
            Shape::Struct { members, .. } => {
                let member = members.get(number as usize).ok_or_else(damaged)?;
                if !member.name.is_empty() {
                    access.path.push(without_flavour(member.name));
                }
                access.is_bits = member.bits > 0;
                id = member.id;
            }
            Shape::Array { element, .. } => {
                access.index = access.index.saturating_add(number);
                id = *element;
            }
            _ => return Err(damaged()),
        }
    }
    Ok(access)
}

/// The place of a field, and the field; none if it is a structure at the start of a socket.
type Found = (u32, Option<Field>);

/// Finds a field in the structures of the engine. The other result is its full name.
fn find(access: &Access<'_>) -> Result<Found, String> {
    let mut owner = access.root;
    let mut path = &access.path[..];
    while let Some((first, rest)) = path.split_first() {
        let Some(inner) = layout::nested(owner, first) else {
            break;
        };
        (owner, path) = (inner, rest);
    }
    let name = path.join(".");
    let structure = Structure::of(owner);
    if structure.is_some() && name.is_empty() {
        return Ok((0, None));
    }
    let place = structure.and_then(|structure| structure.find(owner, &name));
    match place {
        Some((at, field)) if access.index < field.slots => {
            Ok((at + access.index * SLOT, Some(field)))
        }
        _ => Err(shortened(format!("{owner}.{name}"))),
    }
}

/// Returns a name as a message quotes it.
fn shortened(mut name: String) -> String {
    if let Some((cut, _)) = name.char_indices().nth(QUOTED_CHARACTERS) {
        name.truncate(cut);
        name.push('…');
    }
    name
}

/// Answers a relocation.
///
/// # Errors
/// It is damaged, or of a kind that the engine does not know.
pub fn answer<'a>(
    types: &Types<'a>,
    asked: &Asked<'a>,
    relocation: &Relocation<'a>,
) -> Result<Answer, Refusal> {
    let number = match relocation.kind {
        BYTE_OFFSET | BYTE_SIZE | SIGNED | LEFT_SHIFT | RIGHT_SHIFT | EXISTS => {
            let access = follow(types, relocation)?;
            let (at, field) = match find(&access) {
                Ok(found) => found,
                Err(_) if relocation.kind == EXISTS => return Ok(Answer::Number(0)),
                Err(name) => return Ok(Answer::Unknown(name)),
            };
            let by_hand = relocation.kind == BYTE_OFFSET && access.is_bits;
            if by_hand && !asked.shifts.contains(&(relocation.id, relocation.access)) {
                let field = access.path.join(".");
                return Err(Refusal::new(format!(
                    "reads the bit field {field} at a fixed place; read it with \
                    BPF_CORE_READ_BITFIELD"
                )));
            }
            about_field(relocation.kind, at, field)
        }
        LOCAL_TYPE | KERNEL_TYPE => relocation.id.into(),
        TYPE_EXISTS | TYPE_MATCHES => {
            let kind = types.plain(relocation.id)?;
            let structure = matches!(kind.shape, Shape::Struct { .. });
            let is_known = Structure::of(without_flavour(kind.name)).is_some();
            u64::from(is_known || !structure)
        }
        TYPE_SIZE => types.size(relocation.id)?.into(),
        VALUE_EXISTS => 1,
        VALUE => {
            let kind = types.plain(relocation.id)?;
            let Shape::Enum { values, .. } = &kind.shape else {
                return Err(Refusal::new("has a damaged relocation of an enumeration"));
            };
            let named = relocation
                .access
                .parse()
                .ok()
                .and_then(|at: usize| values.get(at));
            named.map_or(0, |value| value.cast_unsigned())
        }
        other => {
            let reason = format!("has a relocation of the unknown kind {other}");
            return Err(Refusal::new(reason));
        }
    };
    Ok(Answer::Number(number))
}

/// Answers a question about a field that the engine knows.
fn about_field(kind: u32, at: u32, field: Option<Field>) -> u64 {
    let size = field.map_or(0, |field| field.size);
    // A bit field of the kernel fills a slot here, so that the shifts keep all of its bits.
    let shift = 64_u32.saturating_sub(8 * size.min(8));
    match kind {
        BYTE_OFFSET => at.into(),
        BYTE_SIZE => size.into(),
        SIGNED => field.is_some_and(|field| field.signed).into(),
        EXISTS => 1,
        _ => shift.into(),
    }
}
