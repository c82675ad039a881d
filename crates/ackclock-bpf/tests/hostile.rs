//! Objects that somebody made to take time or memory. Each has up to four megabytes, and reading
//! takes memory in proportion to them. One that were read in quadratic time would not end here.
#![expect(unsafe_code, reason = "an allocator that counts is one")]

use ackclock_bpf::limits::{
    LACKING, MAPS, NAME_BYTES, OBJECT_BYTES, RELOCATIONS, SECTIONS, TYPE_LEVELS, VARIABLES,
};
use ackclock_bpf::{Program, check};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

const AIMD: &[u8] = include_bytes!("../../ackclock-core/bpf/aimd.bpf.o");
/// Most memory for each byte of an object: 300 MB for the largest.
const MEMORY_PER_BYTE: usize = 300_000_000 / OBJECT_BYTES;

/// Counts the bytes that this thread holds, and the most that it has held.
struct Counting;
thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator. The counts are in cells that need
// neither memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size().cast_signed());
        MOST.set(MOST.get().max(HELD.get()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size().cast_signed());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads an object within its memory. Returns the reason against it, or that there is none.
fn verdict(object: &[u8]) -> String {
    let before = HELD.get();
    MOST.set(before);
    let program = Program::read(object);
    let taken = (MOST.get() - before).unsigned_abs();
    let most = MEMORY_PER_BYTE * object.len();
    assert!(
        taken < most,
        "{taken} bytes for an object of {}",
        object.len()
    );
    let whole = check(object);
    match program {
        Ok(_) => {
            assert_eq!(whole, Ok(()));
            "runs".into()
        }
        Err(refusal) => refusal.to_string(),
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let little = bytes[at..at + size].iter().rev();
    little.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// Returns the places of the headers of sections.
fn headers(object: &[u8]) -> impl Iterator<Item = usize> {
    let (first, count) = (number(object, 40, 8), number(object, 60, 2));
    (0..count).map(move |section| first + 64 * section)
}

/// Returns the place of the header of a section.
fn header(object: &[u8], name: &str) -> usize {
    let names = headers(object).nth(number(object, 62, 2)).unwrap();
    let names = number(object, names + 24, 8);
    let is = |at: &usize| {
        let begin = names + number(object, *at, 4);
        object[begin..].starts_with(&[name.as_bytes(), b"\0"].concat())
    };
    headers(object).find(is).unwrap()
}

fn section<'a>(object: &'a [u8], name: &str) -> &'a [u8] {
    let at = header(object, name);
    let begin = number(object, at + 24, 8);
    &object[begin..begin + number(object, at + 32, 8)]
}

/// Returns the object with another content of a section, which stands at its end.
fn replaced(object: &[u8], name: &str, content: &[u8]) -> Vec<u8> {
    let at = header(object, name);
    let mut changed = object.to_vec();
    changed[at + 24..at + 32].copy_from_slice(&object.len().to_le_bytes());
    changed[at + 32..at + 40].copy_from_slice(&content.len().to_le_bytes());
    changed.extend_from_slice(content);
    changed
}

/// Types and strings of an object (`.BTF`).
struct Types {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

impl Types {
    /// Returns those of AIMD.
    fn of_aimd() -> Types {
        let bytes = section(AIMD, ".BTF");
        let part = |at, size| {
            let begin = 24 + number(bytes, at, 4);
            bytes[begin..begin + number(bytes, size, 4)].to_vec()
        };
        let (types, strings) = (part(8, 12), part(16, 20));
        let mut count = 0;
        let mut at = 0;
        while at < types.len() {
            let (info, count_of) = (types[at + 7] & 0x1f, number(&types, at + 4, 2));
            at += 12
                + match info {
                    1 | 14 | 17 => 4,
                    3 => 12,
                    4 | 5 | 15 | 19 => 12 * count_of,
                    6 | 13 => 8 * count_of,
                    _ => 0,
                };
            count += 1;
        }
        Types {
            types,
            strings,
            count,
        }
    }

    /// Adds a string and returns its place.
    fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a type and returns its number.
    fn add(&mut self, name: u32, kind: u32, count: u32, size: u32, rest: &[u32]) -> u32 {
        for word in [name, kind << 24 | count, size].iter().chain(rest) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    fn bytes(&self) -> Vec<u8> {
        let lengths = [self.types.len() as u32, self.strings.len() as u32];
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, lengths[0], lengths[0], lengths[1]] {
            bytes.extend_from_slice(&u32::to_le_bytes(word));
        }
        [bytes, self.types.clone(), self.strings.clone()].concat()
    }

    fn object(&self) -> Vec<u8> {
        replaced(AIMD, ".BTF", &self.bytes())
    }

    /// Returns the object whose notes have these lines or relocations for `struct_ops`.
    fn noted(&mut self, lines: &[[u32; 4]], relocations: &[[u32; 4]]) -> Vec<u8> {
        let code = self.string("struct_ops");
        let part = |records: &[[u32; 4]]| {
            let mut words = vec![16, code, records.len() as u32];
            words.extend(records.iter().flatten());
            words
        };
        let (lines, relocations) = (part(lines), part(relocations));
        let bytes = |words: &[u32]| 4 * words.len() as u32;
        let head = [0, 0, 0, bytes(&lines), bytes(&lines), bytes(&relocations)];
        let mut content = vec![0x9f, 0xeb, 1, 0];
        let words = [32].into_iter().chain(head).chain(lines).chain(relocations);
        content.extend(words.flat_map(u32::to_le_bytes));
        replaced(&self.object(), ".BTF.ext", &content)
    }
}

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;

#[test]
fn a_name_of_a_megabyte_is_refused_however_often_it_is_named() {
    let mut types = Types::of_aimd();
    let name = types.string(&"n".repeat(1_000_000));
    for _ in 0..80_000 {
        types.add(name, INT, 0, 4, &[32]);
    }
    let refusal = verdict(&types.object());
    assert_eq!(
        refusal,
        format!("has a name of more than {NAME_BYTES} bytes or without an end")
    );
}

/// Whoever prints one, as libbpf does, expects text; enumerators and parameters have names, too.
#[test]
fn a_name_that_is_no_text_is_refused() {
    for (kind, rest) in [
        (TYPEDEF, &[][..]),
        (STRUCT, &[1, 0]),
        (ENUM, &[0]),
        (PROTOTYPE, &[1]),
    ] {
        for byte in [b'\n', 0xff] {
            let mut types = Types::of_aimd();
            let name = types.string("name");
            let last = types.strings.len() - 2;
            types.strings[last] = byte;
            match kind {
                TYPEDEF => types.add(name, kind, 0, 1, &[]),
                _ => types.add(0, kind, 1, 1, &[&[name], rest].concat()),
            };
            assert_eq!(verdict(&types.object()), "has a name that is no text");
        }
    }
}

#[test]
fn a_name_is_not_copied_for_each_use() {
    let mut types = Types::of_aimd();
    let name = types.string(&"n".repeat(NAME_BYTES));
    for _ in 0..100_000 {
        types.add(name, INT, 0, 4, &[32]);
    }
    let members = [name, 1, 0].repeat(60_000);
    types.add(name, STRUCT, 60_000, 4, &members);
    types.add(name, ENUM, 60_000, 4, &[name, 0].repeat(60_000));
    assert_eq!(verdict(&types.object()), "runs");
}

#[test]
fn a_line_of_the_source_is_not_copied_for_each_use() {
    let mut types = Types::of_aimd();
    let text = types.string(&"t".repeat(1_000_000));
    let lines: Vec<_> = (0..150_000)
        .map(|at| [8 * at, text, text, 1 << 10])
        .collect();
    assert_eq!(verdict(&types.noted(&lines, &[])), "runs");
}

#[test]
fn a_type_that_holds_itself_is_refused() {
    let holds: [fn(&mut Types, u32) -> u32; 5] = [
        |types, own| types.add(1, TYPEDEF, 0, own, &[]),
        |types, own| types.add(0, CONST, 0, own, &[]),
        |types, own| types.add(0, ARRAY, 0, 0, &[own, 1, 3]),
        |types, own| types.add(1, STRUCT, 1, 8, &[1, own, 0]),
        |types, own| {
            types.add(1, TYPEDEF, 0, own + 1, &[]);
            types.add(0, CONST, 0, own, &[])
        },
    ];
    for hold in holds {
        let mut types = Types::of_aimd();
        let own = types.count + 1;
        hold(&mut types, own);
        let object = types.object();
        let refusal = verdict(&object);
        assert!(
            refusal.starts_with("has a type that holds itself"),
            "{refusal}"
        );
        assert!(check(&object).is_err());
    }
}

#[test]
fn types_may_lie_within_each_other_so_deep_and_no_deeper() {
    for (levels, expected) in [(TYPE_LEVELS - 1, true), (TYPE_LEVELS, false)] {
        let mut types = Types::of_aimd();
        let mut inner = types.add(1, INT, 0, 4, &[32]);
        for _ in 0..levels {
            inner = types.add(1, TYPEDEF, 0, inner, &[]);
        }
        assert_eq!(check(&types.object()).is_ok(), expected, "{levels}");
    }
    let mut types = Types::of_aimd();
    for _ in 0..300_000 {
        let next = types.count + 2;
        types.add(1, TYPEDEF, 0, next, &[]);
    }
    assert!(check(&types.object()).is_err());
}

#[test]
fn a_pointer_may_lead_back() {
    let mut types = Types::of_aimd();
    let list = types.count + 1;
    types.add(1, STRUCT, 1, 8, &[1, list + 1, 0]);
    types.add(0, POINTER, 0, list, &[]);
    assert_eq!(verdict(&types.object()), "runs");
}

#[test]
fn relocations_are_bounded_in_number_and_length() {
    let mut types = Types::of_aimd();
    let name = types.string(&"n".repeat(NAME_BYTES));
    let mut inner = types.add(name, INT, 0, 4, &[32]);
    for _ in 0..TYPE_LEVELS - 1 {
        inner = types.add(name, STRUCT, 1, 4, &[name, inner, 0]);
    }
    let access = types.string(&vec!["0"; usize::from(TYPE_LEVELS)].join(":"));
    // Whether a field exists, and its place: the program may do without it.
    let of = |kind| [0, inner, access, kind];
    let many = |count| [of(2), of(0)].repeat(count / 2);
    let refusal = verdict(&types.noted(&[], &many(2 * LACKING)));
    assert_eq!(refusal, "runs", "it asks before it uses them");
    let refusal = verdict(&types.noted(&[], &many(RELOCATIONS)));
    assert!(
        refusal.contains(&format!("more than {LACKING} times")),
        "{refusal}"
    );
    let refusal = verdict(&types.noted(&[], &many(RELOCATIONS + 2)));
    assert_eq!(refusal, format!("has more than {RELOCATIONS} relocations"));
    let long = types.string(&vec!["0"; 200].join(":"));
    let refusal = verdict(&types.noted(&[], &[[0, inner, long, 0]]));
    assert!(refusal.starts_with("has a damaged relocation"), "{refusal}");
    let index = types.add(0, ARRAY, 0, 0, &[1, 1, 3]);
    let index = types.add(0, ARRAY, 0, 0, &[index, 1, 3]);
    let far = types.string("0:4294967295:4294967295");
    assert_ne!(verdict(&types.noted(&[], &[[0, index, far, 0]])), "runs");
}

/// Returns AIMD with `count` more sections of a name and a kind, all with the same bytes.
fn with_sections(count: usize, named: &str, kind: u32, size: usize) -> Vec<u8> {
    let mut object = AIMD.to_vec();
    let name = number(AIMD, header(AIMD, named), 4) as u32;
    let first = number(AIMD, 40, 8);
    let old = AIMD[first..first + 64 * number(AIMD, 60, 2)].to_vec();
    let place = object.len();
    object.extend_from_slice(&old);
    for _ in 0..count {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[32..40].copy_from_slice(&size.to_le_bytes());
        header[56] = 16;
        object.extend_from_slice(&header);
    }
    object[40..48].copy_from_slice(&place.to_le_bytes());
    let all = number(AIMD, 60, 2) + count;
    object[60..62].copy_from_slice(&(all as u16).to_le_bytes());
    object
}

#[test]
fn sections_are_few_and_share_no_bytes() {
    let refusal = verdict(&with_sections(SECTIONS, ".rodata", 1, 0));
    assert!(
        refusal.ends_with(&format!("sections, the most are {SECTIONS}")),
        "{refusal}"
    );
    assert_eq!(verdict(&with_sections(900, ".rodata", 1, 0)), "runs");
    for (name, kind) in [(".text", 1), (".rodata", 1), (".rel.text", 9)] {
        let refusal = verdict(&with_sections(900, name, kind, AIMD.len()));
        assert!(refusal.contains("sections overlap"), "{refusal}");
    }
    let refusal = verdict(&with_sections(1, ".bss", 8, usize::MAX));
    assert!(refusal.contains("bytes of global variables"), "{refusal}");
}

#[test]
fn variables_and_maps_are_few() {
    let mut types = Types::of_aimd();
    let variable = types.add(0, VARIABLE, 0, 1, &[1]);
    let name = types.string(".rodata");
    types.add(name, SECTION, 60_000, 0, &[variable, 0, 4].repeat(60_000));
    assert_eq!(verdict(&types.object()), "runs");
    let symbols = section(AIMD, ".symtab");
    let data = headers(AIMD)
        .position(|at| at == header(AIMD, ".rodata"))
        .unwrap();
    for (count, refused) in [(VARIABLES - 10, false), (100_000, true)] {
        let (mut more, mut names) = (symbols.to_vec(), section(AIMD, ".strtab").to_vec());
        for symbol in 0..count {
            more.extend((names.len() as u32).to_le_bytes());
            more.extend([17, 0, data as u8, 0]); // a global object
            more.extend([0; 16]);
            names.extend(format!("{symbol:x}\0").bytes());
        }
        let object = replaced(&replaced(AIMD, ".symtab", &more), ".strtab", &names);
        let refusal = verdict(&object);
        assert_eq!(
            refusal.contains("variables in .rodata"),
            refused,
            "{refusal}"
        );
    }
}

#[test]
fn maps_are_few_and_small() {
    let too_much = "bytes in them";
    for (count, length, last, expected) in [
        (2, 16, "map_flags", "runs"),
        (MAPS + 1, 16, "map_flags", too_much),
        (1, u32::MAX, "map_flags", too_much),
        (1, 16, "pinning", "stays in the kernel"),
    ] {
        let mut types = Types::of_aimd();
        let (entries, value) = (types.string("max_entries"), types.string("value_size"));
        let (kind, last) = (types.string("type"), types.string(last));
        let array = |types: &mut Types, length| {
            let array = types.add(0, ARRAY, 0, 0, &[1, 1, length]);
            types.add(0, POINTER, 0, array, &[])
        };
        let (number, two) = (array(&mut types, length), array(&mut types, 2));
        let members = [
            kind, two, 0, entries, number, 0, value, number, 0, last, two, 0,
        ];
        let map = types.add(0, STRUCT, 4, 8, &members);
        // The symbol of AIMD's own map stands for each of them.
        let name = number_of_string(&types, "ackclock_records");
        let variable = types.add(name, VARIABLE, 0, map, &[1]);
        let section = types.string(".maps");
        let entries = [variable, 0, 8].repeat(count);
        types.add(section, SECTION, count as u32, 0, &entries);
        let own = number_of_string(&types, ".maps") as usize;
        types.strings[own + 1] = b'x'; // AIMD's own section has another name
        let refusal = verdict(&types.object());
        assert!(refusal.contains(expected), "{refusal}");
    }
}

fn number_of_string(types: &Types, text: &str) -> u32 {
    let text = [b"\0", text.as_bytes(), b"\0"].concat();
    let at = types
        .strings
        .windows(text.len())
        .position(|part| part == text);
    at.unwrap() as u32 + 1
}

#[test]
fn an_object_that_is_too_large_is_refused() {
    let mut object = AIMD.to_vec();
    object.resize(OBJECT_BYTES, 0);
    assert_eq!(verdict(&object), "runs");
    object.push(0);
    assert_eq!(
        verdict(&object),
        format!("has more than {OBJECT_BYTES} bytes")
    );
}
