//! The parts of an ELF file that a control has: sections, symbols, relocations (elf(5)).

use crate::limits::{OBJECT_BYTES, RELOCATIONS, SECTIONS, VARIABLES};
use crate::reader::{Reader, part};
use crate::refusal::Refusal;
use crate::strings::Strings;
use std::collections::HashMap;

/// Begin of a file of 64 bits, least significant byte first.
const MAGIC: [u8; 6] = *b"\x7fELF\x02\x01";
/// Machine of BPF (`EM_BPF`).
const BPF: u16 = 247;
/// Bytes of the header of a section, of a symbol and of a relocation.
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 16;
/// Kinds of section: none, symbols, zeros in memory, relocations.
const SHT_NULL: u32 = 0;
const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHT_REL: u32 = 9;
/// Numbers of sections from here on have another meaning.
const SHN_LORESERVE: u16 = 0xff00;
const STB_WEAK: u8 = 2;
const STT_SECTION: u8 = 3;

/// A section of a file.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its bytes; none if it is all zero in memory (`.bss`).
    pub data: &'a [u8],
    /// Its bytes in memory.
    pub size: u64,
    /// The section whose relocations it holds.
    target: Option<usize>,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of the section that has it; `None` for what the kernel has.
    pub section: Option<usize>,
    /// Its place in that section.
    pub address: u64,
    /// True if it stands for the section as a whole.
    pub is_section: bool,
    /// True if the program can do without it.
    pub is_weak: bool,
}

/// A relocation: the place in its section, and the number of a symbol.
#[derive(Clone, Copy, Debug)]
pub struct SymbolUse {
    /// Place in bytes.
    pub at: u64,
    /// Number of the symbol.
    pub symbol: usize,
}

/// A file for BPF, whole and within limits.
#[derive(Debug)]
pub struct Elf<'a> {
    /// Its sections by number.
    pub sections: Vec<Section<'a>>,
    symbols: &'a [u8],
    names: Strings<'a>,
}

/// A section as its header describes it.
struct Header {
    name: u32,
    kind: u32,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    entry: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, Refusal> {
        let mut reader = Reader::new(bytes, 0);
        let (name, kind) = (reader.u32()?, reader.u32()?);
        reader.skip(16); // flags, address
        let (offset, size) = (reader.u64()?, reader.u64()?);
        let (link, info) = (reader.u32()?, reader.u32()?);
        reader.skip(8); // alignment
        let entry = reader.u64()?;
        Ok(Header {
            name,
            kind,
            offset,
            size,
            link,
            info,
            entry,
        })
    }

    const fn is_in_file(&self) -> bool {
        !matches!(self.kind, SHT_NULL | SHT_NOBITS)
    }

    fn data<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Refusal> {
        if !self.is_in_file() {
            return Ok(&[]);
        }
        part(bytes, self.offset, self.size).ok_or_else(|| damaged("a section lies outside"))
    }
}

fn damaged(reason: &str) -> Refusal {
    Refusal::new(format!("is damaged ({reason}); compile it again"))
}

impl<'a> Elf<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not an object for BPF, damaged, or too large.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Refusal> {
        if bytes.len() > OBJECT_BYTES {
            return Err(Refusal::new(format!("has more than {OBJECT_BYTES} bytes")));
        }
        let (headers, names) = headers(bytes)?;
        // Sections that share bytes would take more work than the file has bytes.
        let sizes = headers.iter().filter(|header| header.is_in_file());
        let held = sizes.fold(0_u64, |sum, header| sum.saturating_add(header.size));
        if held > bytes.len() as u64 {
            return Err(damaged("sections overlap"));
        }
        let strings = |number: u32| {
            let header = headers.get(number as usize);
            let header = header.ok_or_else(|| damaged("names are missing"))?;
            header.data(bytes).map(Strings)
        };
        let names = strings(names.into())?;
        let mut read = Elf {
            sections: Vec::with_capacity(headers.len()),
            symbols: &[],
            names,
        };
        for header in &headers {
            let data = header.data(bytes)?;
            let of_size = |size| data.len().is_multiple_of(size) && header.entry == size as u64;
            if header.kind == SHT_SYMTAB {
                if !of_size(SYMBOL) || !read.symbols.is_empty() {
                    return Err(damaged("symbols"));
                }
                (read.symbols, read.names) = (data, strings(header.link)?);
            }
            let is_relocations = header.kind == SHT_REL;
            if is_relocations && !of_size(RELOCATION) {
                return Err(damaged("relocations"));
            }
            read.sections.push(Section {
                name: names.name(header.name)?,
                data,
                size: header.size,
                target: is_relocations.then_some(header.info as usize),
            });
        }
        Ok(read)
    }

    /// Returns the first section of a name, with its number.
    pub fn section(&self, name: &str) -> Option<(usize, &Section<'a>)> {
        let mut sections = self.sections.iter().enumerate();
        sections.find(|(_, section)| section.name == name)
    }

    /// Returns a symbol by its number.
    ///
    /// # Errors
    /// There is none, or it has no name.
    pub fn symbol(&self, number: usize) -> Result<Symbol<'a>, Refusal> {
        let bytes = self.symbols.chunks_exact(SYMBOL).nth(number);
        let lacking = || Refusal::new("refers to a symbol that it does not have");
        self.symbol_of(bytes.ok_or_else(lacking)?)
    }

    fn symbol_of(&self, bytes: &[u8]) -> Result<Symbol<'a>, Refusal> {
        let mut reader = Reader::new(bytes, 0);
        let (name, kind) = (reader.u32()?, reader.u8()?);
        reader.skip(1); // visibility
        let (section, address) = (reader.u16()?, reader.u64()?);
        Ok(Symbol {
            name: self.names.name(name)?,
            section: (1..SHN_LORESERVE)
                .contains(&section)
                .then_some(section.into()),
            address,
            is_section: kind & 15 == STT_SECTION,
            is_weak: kind >> 4 == STB_WEAK,
        })
    }

    /// Returns the relocations of a section.
    ///
    /// # Errors
    /// There are too many.
    pub fn relocations(&self, section: usize) -> Result<Vec<SymbolUse>, Refusal> {
        let mut uses = Vec::new();
        for holder in &self.sections {
            if holder.target != Some(section) {
                continue;
            }
            if uses.len() + holder.data.len() / RELOCATION > RELOCATIONS {
                return Err(too_many_relocations());
            }
            for bytes in holder.data.chunks_exact(RELOCATION) {
                let mut reader = Reader::new(bytes, 0);
                let (at, info) = (reader.u64()?, reader.u64()?);
                let symbol = (info >> 32) as usize;
                uses.push(SymbolUse { at, symbol });
            }
        }
        Ok(uses)
    }

    /// Returns the places of the symbols of a section by name.
    ///
    /// # Errors
    /// There are too many, or one has no name.
    pub fn places(&self, section: usize) -> Result<HashMap<&'a str, u32>, Refusal> {
        let mut places = HashMap::new();
        for bytes in self.symbols.chunks_exact(SYMBOL) {
            let symbol = self.symbol_of(bytes)?;
            if symbol.section != Some(section) {
                continue;
            }
            if let Ok(place) = u32::try_from(symbol.address) {
                places.entry(symbol.name).or_insert(place);
            }
            if places.len() > VARIABLES {
                let name = self.sections[section].name;
                let reason = format!("has more than {VARIABLES} variables in {name}");
                return Err(Refusal::new(reason));
            }
        }
        Ok(places)
    }
}

/// Returns the headers of the sections, and the number of the section with their names.
fn headers(bytes: &[u8]) -> Result<(Vec<Header>, u16), Refusal> {
    let no_object =
        || Refusal::new("is not an object for BPF; compile it with clang -O2 -g -target bpf -c");
    let of_bpf = || -> Result<Option<(u64, u16, u16)>, Refusal> {
        let mut reader = Reader::new(bytes, 18);
        let machine = reader.u16()?;
        reader.skip(20); // version, entry, place of the program headers
        let place = reader.u64()?;
        reader.skip(10); // flags, sizes, program headers
        let (size, count, names) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let fits = machine == BPF && usize::from(size) == SECTION_HEADER;
        Ok((fits && bytes.starts_with(&MAGIC)).then_some((place, count, names)))
    };
    let (place, count, names) = of_bpf().ok().flatten().ok_or_else(no_object)?;
    if usize::from(count) > SECTIONS {
        let reason = format!("has {count} sections, the most are {SECTIONS}");
        return Err(Refusal::new(reason));
    }
    let size = u64::from(count) * SECTION_HEADER as u64;
    let headers = part(bytes, place, size).ok_or_else(no_object)?;
    let headers: Result<Vec<Header>, Refusal> = headers
        .chunks_exact(SECTION_HEADER)
        .map(Header::read)
        .collect();
    Ok((headers?, names))
}

/// Returns the refusal of an object with more relocations than are read.
pub fn too_many_relocations() -> Refusal {
    Refusal::new(format!("has more than {RELOCATIONS} relocations"))
}
