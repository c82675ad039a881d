//! Types of an object, as the compiler describes them (BPF Type Format, section `.BTF`).
//!
//! Source: the kernel's documentation, `bpf/btf.rst`. Only little-endian objects are read.

use crate::limits::TYPE_LEVELS;
use crate::reader::{Reader, part};
use crate::refusal::Refusal;
use crate::strings::Strings;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;

/// Number of a type; 0 is `void`.
pub type TypeId = u32;

/// A member of a structure or union.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Name; empty if it is an anonymous structure or union.
    pub name: &'a str,
    /// Its type.
    pub id: TypeId,
    /// Place from the start of the structure.
    pub bit_offset: u32,
    /// Width of a bit field; 0 for others.
    pub bits: u32,
}

/// A type.
#[derive(Clone, Debug)]
pub enum Shape<'a> {
    /// `void`.
    Void,
    /// An integer.
    Int { size: u32, signed: bool },
    /// A pointer.
    Pointer(TypeId),
    /// An array.
    Array { element: TypeId, length: u32 },
    /// A structure or a union.
    Struct { size: u32, members: Vec<Member<'a>> },
    /// An enumeration: its values.
    Enum { size: u32, values: Vec<i64> },
    /// Another name of a type, or a qualifier.
    Alias(TypeId),
    /// A variable.
    Variable(TypeId),
    /// A prototype: the number of its parameters.
    Prototype(usize),
    /// A section with its variables.
    Section(Vec<TypeId>),
    /// Something that needs no reading: a function, a declaration, a tag, a fraction.
    Other,
}

/// A type with its name.
#[derive(Clone, Debug)]
pub struct Type<'a> {
    /// Name; may be empty.
    pub name: &'a str,
    /// The type.
    pub shape: Shape<'a>,
}

/// All types of an object. None holds itself, but by a pointer.
#[derive(Clone, Debug)]
pub struct Types<'a> {
    list: Vec<Type<'a>>,
    strings: Strings<'a>,
}

impl<'a> Types<'a> {
    /// Reads the section `.BTF`.
    ///
    /// # Errors
    /// The section is damaged, or a type holds itself.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let damaged = || Refusal::new("has damaged types (.BTF); compile it again with -g");
        let mut header = Reader::new(bytes, 0);
        if header.u16()? != MAGIC {
            return Err(damaged());
        }
        header.skip(2);
        let start = header.u32()?;
        let [type_at, type_len, string_at, string_len] =
            [header.u32()?, header.u32()?, header.u32()?, header.u32()?];
        if (start as usize) < HEADER {
            return Err(damaged());
        }
        let within = |at: u32, length: u32| {
            let at = u64::from(start) + u64::from(at);
            part(bytes, at, length.into()).ok_or_else(damaged)
        };
        let mut read = Types {
            list: vec![Type {
                name: "",
                shape: Shape::Void,
            }],
            strings: Strings(within(string_at, string_len)?),
        };
        let mut reader = Reader::new(within(type_at, type_len)?, 0);
        while !reader.is_at_end() {
            let next = read.read_type(&mut reader)?;
            read.list.push(next);
        }
        read.check_levels()?;
        Ok(read)
    }

    /// Returns the table of strings.
    pub const fn strings(&self) -> Strings<'a> {
        self.strings
    }

    /// Refuses types that hold themselves, or more types within each other than anything reads.
    fn check_levels(&self) -> Result<(), Refusal> {
        let mut levels = vec![0; self.list.len()];
        for id in 0..self.list.len() {
            self.levels(id as TypeId, 0, &mut levels)?;
        }
        Ok(())
    }

    /// Returns the number of types within each other from a type on, and notes it in `counted`.
    /// Pointers do not count: there a reader may stop.
    fn levels(&self, id: TypeId, outside: u8, counted: &mut [u8]) -> Result<u8, Refusal> {
        let shape = &self.get(id)?.shape;
        if counted[id as usize] > 0 {
            return Ok(counted[id as usize]);
        }
        let mut inside = |id| match outside {
            TYPE_LEVELS => Err(too_many_levels()),
            _ => self.levels(id, outside + 1, counted),
        };
        let below = match shape {
            Shape::Alias(of) | Shape::Variable(of) => inside(*of)?,
            Shape::Array { element, .. } => inside(*element)?,
            Shape::Struct { members, .. } => members
                .iter()
                .try_fold(0, |most, member| Ok(inside(member.id)?.max(most)))?,
            _ => 0,
        };
        if below >= TYPE_LEVELS {
            return Err(too_many_levels());
        }
        counted[id as usize] = below + 1;
        Ok(below + 1)
    }

    /// Reads one type.
    fn read_type(&self, reader: &mut Reader<'_>) -> Result<Type<'a>, Refusal> {
        let name = self.strings.name(reader.u32()?)?;
        let info = reader.u32()?;
        let size = reader.u32()?; // of those that have one; of others the type they refer to
        let (count, flag) = (info & 0xffff, info >> 31 != 0);
        let shape = match (info >> 24) & 0x1f {
            1 => Shape::Int {
                size,
                signed: reader.u32()? >> 24 & 1 != 0,
            },
            2 => Shape::Pointer(size),
            3 => {
                let element = reader.u32()?;
                reader.skip(4);
                let length = reader.u32()?;
                Shape::Array { element, length }
            }
            4 | 5 => Shape::Struct {
                size,
                members: self.members(reader, count, flag)?,
            },
            6 => Shape::Enum {
                size,
                values: self.values(reader, count, flag, false)?,
            },
            19 => Shape::Enum {
                size,
                values: self.values(reader, count, flag, true)?,
            },
            8..=11 | 18 => Shape::Alias(size),
            13 => {
                for _ in 0..count {
                    self.strings.name(reader.u32()?)?;
                    reader.skip(4); // its type
                }
                Shape::Prototype(count as usize)
            }
            14 => {
                reader.skip(4);
                Shape::Variable(size)
            }
            15 => {
                let mut variables = Vec::new();
                for _ in 0..count {
                    variables.push(reader.u32()?);
                    reader.skip(8); // place and bytes, which only a linker would fill in
                }
                Shape::Section(variables)
            }
            7 | 12 | 16 => Shape::Other,
            17 => {
                reader.skip(4);
                Shape::Other
            }
            other => {
                let reason = format!("has a type of the unknown kind {other} (.BTF)");
                return Err(Refusal::new(reason));
            }
        };
        Ok(Type { name, shape })
    }

    fn members(
        &self,
        reader: &mut Reader<'_>,
        count: u32,
        has_bits: bool,
    ) -> Result<Vec<Member<'a>>, Refusal> {
        let mut members = Vec::new();
        for _ in 0..count {
            let (name, id, place) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let (bit_offset, bits) = if has_bits {
                (place & 0x00ff_ffff, place >> 24)
            } else {
                (place, 0)
            };
            members.push(Member {
                name: self.strings.name(name)?,
                id,
                bit_offset,
                bits,
            });
        }
        Ok(members)
    }

    /// Reads the values of an enumeration, without their names.
    fn values(
        &self,
        reader: &mut Reader<'_>,
        count: u32,
        signed: bool,
        wide: bool,
    ) -> Result<Vec<i64>, Refusal> {
        let mut values = Vec::new();
        for _ in 0..count {
            self.strings.name(reader.u32()?)?; // what prints it expects text
            let low = reader.u32()?;
            values.push(match (wide, signed) {
                (true, _) => (u64::from(reader.u32()?) << 32 | u64::from(low)).cast_signed(),
                (false, true) => low.cast_signed().into(),
                (false, false) => low.into(),
            });
        }
        Ok(values)
    }

    /// Returns a type.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn get(&self, id: TypeId) -> Result<&Type<'a>, Refusal> {
        self.list
            .get(id as usize)
            .ok_or_else(|| Refusal::new(format!("refers to type {id}, which it does not have")))
    }

    /// Returns a type behind all its names and qualifiers.
    ///
    /// # Errors
    /// There is none.
    pub fn plain(&self, mut id: TypeId) -> Result<&Type<'a>, Refusal> {
        loop {
            let kind = self.get(id)?;
            match kind.shape {
                Shape::Alias(of) => id = of,
                _ => return Ok(kind),
            }
        }
    }

    /// Returns the bytes that a value of a type takes.
    ///
    /// # Errors
    /// There is no such type, or it has no size.
    pub fn size(&self, mut id: TypeId) -> Result<u32, Refusal> {
        let mut factor = 1_u32;
        let size = loop {
            match self.plain(id)?.shape {
                Shape::Array { element, length } => {
                    factor = factor.saturating_mul(length);
                    id = element;
                }
                Shape::Int { size, .. } | Shape::Struct { size, .. } | Shape::Enum { size, .. } => {
                    break size;
                }
                Shape::Pointer(_) => break 8,
                _ => return Err(Refusal::new("uses the size of a type that has none")),
            }
        };
        Ok(size.saturating_mul(factor))
    }

    /// Returns the variables of a section: names and types. Symbols say where they lie.
    pub fn variables(&self, section: &str) -> impl Iterator<Item = (&'a str, TypeId)> {
        let variables = self.list.iter().find_map(|kind| match &kind.shape {
            Shape::Section(variables) if kind.name == section => Some(&variables[..]),
            _ => None,
        });
        let variable = |&id: &TypeId| match *self.get(id).ok()? {
            Type {
                name,
                shape: Shape::Variable(of),
            } => Some((name, of)),
            _ => None,
        };
        variables.unwrap_or_default().iter().filter_map(variable)
    }
}

fn too_many_levels() -> Refusal {
    Refusal::new(format!(
        "has a type that holds itself, or more than {TYPE_LEVELS} within each other"
    ))
}
