//! The maps that an object declares: structures of the section `.maps`, whose members state kind
//! and sizes by their types.

use crate::btf::{Shape, Types};
use crate::elf::Elf;
use crate::limits::{MAP_BYTES, MAPS};
use crate::refusal::Refusal;

/// Section of the declarations.
pub const SECTION: &str = ".maps";

/// A map as its object declares it. What is not declared is zero.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    pub name: &'a str,
    /// Place in the section.
    pub place: u32,
    /// `enum bpf_map_type`.
    pub kind: u32,
    /// Bytes of a key and of a value.
    pub key: u32,
    pub value: u32,
    /// Most entries; of a ring buffer its bytes.
    pub entries: u32,
}

/// Reads the declarations of an object.
///
/// # Errors
/// One is damaged, or they are beyond a limit.
pub fn read<'a>(elf: &Elf<'a>, types: &Types<'a>) -> Result<Vec<Declared<'a>>, Refusal> {
    let Some((section, _)) = elf.section(SECTION) else {
        return Ok(Vec::new());
    };
    let places = elf.places(section)?;
    let mut maps = Vec::new();
    let mut bytes = 0_u64;
    for (name, id) in types.variables(SECTION) {
        let (Some(&place), Shape::Struct { members, .. }) =
            (places.get(name), &types.plain(id)?.shape)
        else {
            continue;
        };
        let mut map = Declared {
            name,
            place,
            kind: 0,
            key: 0,
            value: 0,
            entries: 0,
        };
        for member in members {
            if member.name == "pinning" {
                return Err(Refusal::new(format!(
                    "has the map {name} that stays in the kernel (pinning); remove that"
                )));
            }
            let number = match member.name {
                "type" => &mut map.kind,
                "key" | "key_size" => &mut map.key,
                "value" | "value_size" => &mut map.value,
                "max_entries" => &mut map.entries,
                _ => continue,
            };
            let Shape::Pointer(to) = types.plain(member.id)?.shape else {
                continue;
            };
            *number = match (member.name, &types.plain(to)?.shape) {
                ("key" | "value", _) => types.size(to)?,
                (_, Shape::Array { length, .. }) => *length,
                _ => continue,
            };
        }
        let entry = u64::from(map.key) + u64::from(map.value);
        bytes = bytes.saturating_add(entry.max(1).saturating_mul(map.entries.into()));
        maps.push(map);
        if maps.len() > MAPS || bytes > MAP_BYTES {
            return Err(Refusal::new(format!(
                "has more than {MAPS} maps, or more than {MAP_BYTES} bytes in them"
            )));
        }
    }
    Ok(maps)
}
