//! Types of an object, as the compiler describes them (BPF Type Format, section `.BTF`).
//!
//! Source: the kernel's documentation, `bpf/btf.rst`. Only little-endian objects are read.

use crate::refusal::Refusal;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;

/// Number of a type; 0 is `void`.
pub type TypeId = u32;

/// A member of a structure or union.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name; empty if it is an anonymous structure or union.
    pub name: String,
    /// Its type.
    pub id: TypeId,
    /// Place from the start of the structure.
    pub bit_offset: u32,
    /// Width of a bit field; 0 for others.
    pub bits: u32,
}

/// A type.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `void`.
    Void,
    /// An integer.
    Int { size: u32, signed: bool },
    /// A pointer.
    Pointer(TypeId),
    /// An array.
    Array { element: TypeId, length: u32 },
    /// A structure or a union.
    Struct { size: u32, members: Vec<Member> },
    /// An enumeration: its names and values.
    Enum {
        size: u32,
        values: Vec<(String, i64)>,
    },
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
pub struct Type {
    /// Name; may be empty.
    pub name: String,
    /// The type.
    pub shape: Shape,
}

/// All types of an object.
#[derive(Clone, Debug)]
pub struct Types {
    list: Vec<Type>,
    strings: Vec<u8>,
}

/// Reads numbers from bytes that somebody else wrote.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Reader { bytes, at }
    }
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
    pub fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let end = self.at.saturating_add(N);
        let bytes = self.bytes.get(self.at..end);
        self.at = end;
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Refusal::new("has types that end too early; compile it again"))
    }
    pub fn u16(&mut self) -> Result<u16, Refusal> {
        self.take().map(u16::from_le_bytes)
    }
    pub fn u32(&mut self) -> Result<u32, Refusal> {
        self.take().map(u32::from_le_bytes)
    }
}

impl Types {
    /// Reads the section `.BTF`.
    ///
    /// # Errors
    /// The section is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let damaged = || Refusal::new("has damaged types (.BTF); compile it again with -g");
        let mut header = Reader::new(bytes, 0);
        if header.u16()? != MAGIC {
            return Err(damaged());
        }
        header.skip(2);
        let start = header.u32()? as usize;
        let [type_at, type_len, string_at, string_len] =
            [header.u32()?, header.u32()?, header.u32()?, header.u32()?].map(|part| part as usize);
        let part = |at: usize, length: usize| {
            let begin = start.checked_add(at)?;
            bytes.get(begin..begin.checked_add(length)?)
        };
        if start < HEADER {
            return Err(damaged());
        }
        let strings = part(string_at, string_len).ok_or_else(damaged)?.to_vec();
        let types = part(type_at, type_len).ok_or_else(damaged)?;
        let mut read = Types {
            list: vec![Type {
                name: String::new(),
                shape: Shape::Void,
            }],
            strings,
        };
        let mut reader = Reader::new(types, 0);
        while !reader.is_at_end() {
            let next = read.read_type(&mut reader)?;
            read.list.push(next);
        }
        Ok(read)
    }

    /// Reads one type.
    fn read_type(&self, reader: &mut Reader<'_>) -> Result<Type, Refusal> {
        let name = self.string(reader.u32()?);
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
                reader.skip(8 * count as usize);
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
    ) -> Result<Vec<Member>, Refusal> {
        let mut members = Vec::new();
        for _ in 0..count {
            let (name, id, place) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let (bit_offset, bits) = if has_bits {
                (place & 0x00ff_ffff, place >> 24)
            } else {
                (place, 0)
            };
            members.push(Member {
                name: self.string(name),
                id,
                bit_offset,
                bits,
            });
        }
        Ok(members)
    }

    fn values(
        &self,
        reader: &mut Reader<'_>,
        count: u32,
        signed: bool,
        wide: bool,
    ) -> Result<Vec<(String, i64)>, Refusal> {
        let mut values = Vec::new();
        for _ in 0..count {
            let (name, low) = (reader.u32()?, reader.u32()?);
            let value = match (wide, signed) {
                (true, _) => (u64::from(reader.u32()?) << 32 | u64::from(low)).cast_signed(),
                (false, true) => low.cast_signed().into(),
                (false, false) => low.into(),
            };
            values.push((self.string(name), value));
        }
        Ok(values)
    }

    /// Returns a name; empty if there is none at that place.
    pub fn string(&self, at: u32) -> String {
        let rest = self.strings.get(at as usize..).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(0);
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }

    /// Returns a type.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn get(&self, id: TypeId) -> Result<&Type, Refusal> {
        self.list
            .get(id as usize)
            .ok_or_else(|| Refusal::new(format!("refers to type {id}, which it does not have")))
    }

    /// Returns a type behind all its names and qualifiers, with its number.
    ///
    /// # Errors
    /// There is none.
    pub fn plain(&self, mut id: TypeId) -> Result<(TypeId, &Type), Refusal> {
        for _ in 0..self.list.len() {
            let kind = self.get(id)?;
            match kind.shape {
                Shape::Alias(of) => id = of,
                _ => return Ok((id, kind)),
            }
        }
        Err(Refusal::new(
            "has types that refer to each other in a circle",
        ))
    }

    /// Returns the bytes that a value of a type takes.
    ///
    /// # Errors
    /// There is no such type, or it has no size.
    pub fn size(&self, id: TypeId) -> Result<u32, Refusal> {
        let mut factor = 1_u32;
        let mut id = id;
        for _ in 0..self.list.len() {
            let (_, found) = self.plain(id)?;
            let size = match found.shape {
                Shape::Int { size, .. } | Shape::Struct { size, .. } | Shape::Enum { size, .. } => {
                    size
                }
                Shape::Pointer(_) => 8,
                Shape::Array { element, length } => {
                    factor = factor.saturating_mul(length);
                    id = element;
                    continue;
                }
                _ => break,
            };
            return Ok(size.saturating_mul(factor));
        }
        Err(Refusal::new("uses the size of a type that has none"))
    }

    /// Returns the variables of a section: names and types. Symbols say where they lie.
    pub fn variables(&self, section: &str) -> Vec<(String, TypeId)> {
        let section_found = self.list.iter().find_map(|kind| match &kind.shape {
            Shape::Section(variables) if kind.name == section => Some(variables),
            _ => None,
        });
        let variable = |&id: &TypeId| match self.get(id) {
            Ok(Type {
                name,
                shape: Shape::Variable(of),
            }) => Some((name.clone(), *of)),
            _ => None,
        };
        section_found
            .into_iter()
            .flatten()
            .filter_map(variable)
            .collect()
    }
}
