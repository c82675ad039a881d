//! Notes of the compiler about the code (section `.BTF.ext`): relocations and lines, by section.

use crate::elf::too_many_relocations;
use crate::limits::RELOCATIONS;
use crate::lines::Place;
use crate::reader::{Reader, part};
use crate::refusal::{Refusal, SourceLine};
use crate::relocation::Relocation;
use crate::strings::Strings;
use std::collections::BTreeMap;

/// The notes of an object.
#[derive(Debug)]
pub struct Notes<'a> {
    strings: Strings<'a>,
    relocations: BTreeMap<&'a str, Vec<Relocation<'a>>>,
    lines: BTreeMap<&'a str, Vec<Place>>,
}

impl<'a> Notes<'a> {
    /// Reads the section, which may be empty. Its texts are those of the object's types.
    ///
    /// # Errors
    /// It is damaged, or has too many relocations.
    pub fn read(bytes: &'a [u8], strings: Strings<'a>) -> Result<Self, Refusal> {
        let mut notes = Notes {
            strings,
            relocations: BTreeMap::new(),
            lines: BTreeMap::new(),
        };
        if bytes.is_empty() {
            return Ok(notes);
        }
        let mut header = Reader::new(bytes, 4);
        let start = header.u32()?;
        header.skip(8); // functions
        let lines = (header.u32()?, header.u32()?);
        let relocations = if start >= 32 {
            (header.u32()?, header.u32()?)
        } else {
            (0, 0)
        };
        each(bytes, start, lines, |section, [at, file, text, place]| {
            let line = place >> 10;
            let lines = notes.lines.entry(strings.name(section)?).or_default();
            lines.push(Place {
                at,
                line,
                file,
                text,
            });
            Ok(())
        })?;
        for lines in notes.lines.values_mut() {
            lines.sort_by_key(|line| line.at);
        }
        let mut count = 0;
        each(
            bytes,
            start,
            relocations,
            |section, [at, id, access, kind]| {
                count += 1;
                if count > RELOCATIONS {
                    return Err(too_many_relocations());
                }
                let access = strings.name(access)?;
                let relocations = notes.relocations.entry(strings.name(section)?).or_default();
                relocations.push(Relocation {
                    at,
                    id,
                    access,
                    kind,
                });
                Ok(())
            },
        )?;
        Ok(notes)
    }

    /// Returns the relocations of all sections.
    pub fn all_relocations(&self) -> impl Iterator<Item = Relocation<'a>> {
        self.relocations.values().flatten().copied()
    }

    /// Returns the relocations of a section.
    pub fn relocations(&self, section: &str) -> &[Relocation<'a>] {
        self.relocations.get(section).map_or(&[], Vec::as_slice)
    }

    /// Returns the lines of a section, by place in bytes.
    pub fn lines(&self, section: &str) -> &[Place] {
        self.lines.get(section).map_or(&[], Vec::as_slice)
    }

    /// Returns the line of an instruction.
    pub fn line(&self, section: &str, at: u32) -> Option<SourceLine> {
        Place::of(self.lines(section), at, self.strings)
    }
}

/// Calls `note` for each record of a part: with the place of its section's name, and its first four
/// numbers.
fn each(
    bytes: &[u8],
    start: u32,
    (at, length): (u32, u32),
    mut note: impl FnMut(u32, [u32; 4]) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if length == 0 {
        return Ok(());
    }
    let damaged = || Refusal::new("has damaged notes (.BTF.ext); compile it again with -g");
    let part = part(bytes, u64::from(start) + u64::from(at), length.into());
    let part = part.ok_or_else(damaged)?;
    let size = Reader::new(part, 0).u32()? as usize;
    if size < 16 {
        return Err(damaged());
    }
    let mut place = 4;
    while place < part.len() {
        let mut head = Reader::new(part, place);
        let (section, count) = (head.u32()?, head.u32()?);
        place += 8;
        for _ in 0..count {
            if place >= part.len() {
                return Err(damaged());
            }
            let mut record = Reader::new(part, place);
            let numbers = [record.u32()?, record.u32()?, record.u32()?, record.u32()?];
            note(section, numbers)?;
            place += size;
        }
    }
    Ok(())
}
