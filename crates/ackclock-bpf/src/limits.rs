//! Limits on objects, which may come from anybody.
//!
//! Reading takes time and memory in proportion to the bytes of an object, and these bound both.

/// Most bytes of an object, as `CONTROL_BYTES` of `ackclock_spec::limits` says: `ackclock-core` is
/// not compiled if they differ. Those that come with ackclock have 28 to 41 kB.
pub const OBJECT_BYTES: usize = 4_000_000;
/// Most sections of an object. Those that come with ackclock have 18 or 19.
pub const SECTIONS: usize = 1_000;
/// Most bytes of a name: of a section, a symbol, a type, a member (the kernel's `KSYM_NAME_LEN`).
pub const NAME_BYTES: usize = 512;
/// Most bytes of a line of the source, or of the path of its file, that a message quotes.
pub const LINE_BYTES: usize = 1_000;
/// Most characters of the path of a field that a message quotes: those of `ackclock_spec::limits`.
pub const QUOTED_CHARACTERS: usize = 80;
/// Most types within each other, names and qualifiers of types included.
pub const TYPE_LEVELS: u8 = 64;
/// Most members that lead to a field of the kernel (`BPF_CORE_SPEC_MAX_LEN` of libbpf).
pub const ACCESS_LEVELS: usize = 64;
/// Most relocations of code, and as many of fields. Those that come with ackclock have up to 203.
pub const RELOCATIONS: usize = 20_000;
/// Most variables in a section of parameters, of maps or of controls.
pub const VARIABLES: usize = 4_096;
/// Most maps (the kernel's `MAX_USED_MAPS`).
pub const MAPS: usize = 64;
/// Most bytes of the keys and values of all maps.
pub const MAP_BYTES: u64 = 64 << 20;
/// Most bytes of global variables, and of the values of maps that the engine holds.
pub const MEMORY_BYTES: usize = 1 << 20;
/// Most uses of what the engine lacks, behind a question whether a kernel has it.
pub const LACKING: usize = 1_000;
