//! The memory of a machine: regions with bounds. No address of the computer appears in it, so a
//! program computes the same everywhere.

use crate::layout::{GAP, SLOT, Structure, socket};

/// Numbers of the regions that every machine has.
pub const STACK: u32 = 1;
pub const ARGUMENTS: u32 = 2;
pub const SOCKET: u32 = 3;
pub const ACK_SAMPLE: u32 = 4;
pub const RATE_SAMPLE: u32 = 5;
pub const NET: u32 = 6;
/// The record that a program is writing into a ring buffer.
pub const RECORD: u32 = 7;
/// The first section of global variables, or of the values of a map.
pub const FIRST_OWN: u32 = 8;

/// Upper halves of addresses outside memory: maps, functions of the object.
pub const MAP: u32 = 0x4000_0000;
pub const CODE: u32 = 0x4000_0001;

/// Most calls within each other, and the bytes of stack of each (RFC 9669; `MAX_BPF_STACK`).
pub const MOST_FRAMES: usize = 8;
pub const FRAME: u32 = 512;
const STACK_BYTES: usize = MOST_FRAMES * FRAME as usize;
const SOCKET_BYTES: usize = socket::SLOTS * SLOT as usize;

/// Returns an address.
pub const fn address(region: u32, offset: u32) -> u64 {
    (region as u64) << 32 | offset as u64
}

/// The bytes of a region that a program may write.
#[derive(Clone, Debug)]
enum Writable {
    All,
    None,
    /// The slots for which this is true.
    Slots(Vec<bool>),
}

/// A piece of memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// Name in messages.
    pub name: String,
    /// Place of the first byte.
    start: u32,
    bytes: Vec<u8>,
    writable: Writable,
}

impl Region {
    /// Returns a region of bytes.
    pub fn new(name: &str, bytes: Vec<u8>, writable: bool) -> Self {
        Region {
            name: name.into(),
            start: 0,
            bytes,
            writable: if writable {
                Writable::All
            } else {
                Writable::None
            },
        }
    }

    /// Returns a structure of the kernel, all zero.
    pub fn structure(name: &str, of: Structure) -> Self {
        let slots = |field: &crate::layout::Field| vec![field.writable; field.slots as usize];
        Region {
            name: name.into(),
            start: GAP,
            bytes: vec![0; of.size() as usize],
            writable: Writable::Slots(of.fields().iter().flat_map(slots).collect()),
        }
    }

    /// Returns the position of `size` bytes at a place; `None` if they are not all inside.
    #[inline(always)]
    fn position(&self, offset: u32, size: usize) -> Option<usize> {
        let at = offset.checked_sub(self.start)? as usize;
        (at.checked_add(size)? <= self.bytes.len()).then_some(at)
    }

    fn may_write(&self, at: usize, size: usize) -> bool {
        match &self.writable {
            Writable::All => true,
            Writable::None => false,
            Writable::Slots(slots) => {
                let slot = SLOT as usize;
                (at / slot..=(at + size.max(1) - 1) / slot)
                    .all(|slot_number| slots.get(slot_number).is_some_and(|&may| may))
            }
        }
    }

    /// Returns the number in some bytes that never change; `None` if they may, or are outside.
    pub fn constant(&self, offset: u32, size: usize) -> Option<u64> {
        if !matches!(self.writable, Writable::None) {
            return None;
        }
        let at = self.position(offset, size)?;
        let mut wide = [0; 8];
        wide.get_mut(..size)?
            .copy_from_slice(&self.bytes[at..at + size]);
        Some(u64::from_le_bytes(wide))
    }

    /// Returns all bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Returns all bytes, to be changed from outside the program.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// True if an address is one of the stack.
const fn is_stack(address: u64) -> bool {
    address >> 32 == STACK as u64
}

/// True if an address is one of the socket.
const fn is_socket(address: u64) -> bool {
    address >> 32 == SOCKET as u64
}

/// Returns the position in the socket of the bytes at an address; `None` if not all are inside.
#[inline(always)]
const fn in_socket(address: u64, size: usize) -> Option<usize> {
    let at = (address as u32).wrapping_sub(GAP) as usize;
    if at < SOCKET_BYTES && size <= SOCKET_BYTES - at {
        Some(at)
    } else {
        None
    }
}

/// True if a program may write these bytes of the socket.
#[inline(always)]
fn may_write_socket(at: usize, size: usize) -> bool {
    let slot = SLOT as usize;
    let (first, last) = (at / slot, (at + size.max(1) - 1) / slot);
    if first == last {
        return socket::WRITABLE[first];
    }
    socket::WRITABLE[first..=last].iter().all(|&may| may)
}

/// All regions of a machine. The first, number 0, is empty: a null pointer leads there.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The regions [`STACK`] and [`SOCKET`], which most accesses concern.
    stack: Box<[u8; STACK_BYTES]>,
    socket: Box<[u8; SOCKET_BYTES]>,
    /// The regions; those of the stack and the socket are empty.
    regions: Vec<Region>,
}

impl Memory {
    /// Returns the memory whose regions of its own begin at number [`FIRST_OWN`].
    pub fn new(own: &[Region]) -> Self {
        let mut regions = vec![
            Region::new("a null pointer", Vec::new(), false),
            Region::new("the stack", Vec::new(), true),
            Region::new("the arguments", vec![0; 64], false),
            Region::new("the socket", Vec::new(), false),
            Region::structure("ack_sample", Structure::AckSample),
            Region::structure("rate_sample", Structure::RateSample),
            Region::structure("net", Structure::Net),
            Region::new("a record", Vec::new(), true),
        ];
        debug_assert_eq!(regions.len(), FIRST_OWN as usize);
        regions.extend_from_slice(own);
        Memory {
            stack: Box::new([0; STACK_BYTES]),
            socket: Box::new([0; SOCKET_BYTES]),
            regions,
        }
    }

    /// Returns a slot of the socket.
    #[inline(always)]
    pub fn socket_slot(&self, field: u32) -> u64 {
        let slots = self.socket.as_chunks::<{ SLOT as usize }>().0;
        u64::from_le_bytes(slots[field as usize])
    }
    /// Sets a slot of the socket from outside the program.
    #[inline(always)]
    pub fn set_socket_slot(&mut self, field: u32, value: u64) {
        let slots = self.socket.as_chunks_mut::<{ SLOT as usize }>().0;
        slots[field as usize] = value.to_le_bytes();
    }

    /// Returns a region that exists, other than the stack and the socket.
    pub fn region(&self, number: u32) -> &Region {
        &self.regions[number as usize]
    }
    /// Returns the same, to be changed from outside the program.
    pub fn region_mut(&mut self, number: u32) -> &mut Region {
        &mut self.regions[number as usize]
    }
    /// Replaces a region that exists by one of another size.
    pub fn replace(&mut self, number: u32, bytes: Vec<u8>) {
        self.regions[number as usize].bytes = bytes;
    }

    /// Reads `N` bytes; `None` if they are not all in one region.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        if is_stack(address) {
            let at = address as u32 as usize;
            return self.stack.get(at..at.saturating_add(N))?.try_into().ok();
        }
        if is_socket(address) {
            let at = in_socket(address, N)?;
            return self.socket[at..at + N].try_into().ok();
        }
        let region = self.regions.get((address >> 32) as usize)?;
        let at = region.position(address as u32, N)?;
        region.bytes[at..at + N].try_into().ok()
    }

    /// Writes `N` bytes; `None` if they are not all in one region, or not the program's to write.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, address: u64, value: [u8; N]) -> Option<()> {
        if is_stack(address) {
            let at = address as u32 as usize;
            let place = self.stack.get_mut(at..at.saturating_add(N))?;
            place.copy_from_slice(&value);
            return Some(());
        }
        if is_socket(address) {
            let at = in_socket(address, N).filter(|&at| may_write_socket(at, N))?;
            self.socket[at..at + N].copy_from_slice(&value);
            return Some(());
        }
        let region = self.regions.get_mut((address >> 32) as usize)?;
        let at = region.position(address as u32, N)?;
        if !matches!(region.writable, Writable::All) && !region.may_write(at, N) {
            return None;
        }
        region.bytes[at..at + N].copy_from_slice(&value);
        Some(())
    }

    /// Returns bytes that a program may read.
    pub fn slice(&self, address: u64, size: usize) -> Option<&[u8]> {
        if is_stack(address) {
            let at = address as u32 as usize;
            return self.stack.get(at..at.checked_add(size)?);
        }
        if is_socket(address) {
            let at = in_socket(address, size)?;
            return Some(&self.socket[at..at + size]);
        }
        let region = self.regions.get((address >> 32) as usize)?;
        let at = region.position(address as u32, size)?;
        Some(&region.bytes[at..at + size])
    }

    /// Returns bytes that a program may write.
    pub fn slice_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        if is_stack(address) {
            let at = address as u32 as usize;
            return self.stack.get_mut(at..at.checked_add(size)?);
        }
        if is_socket(address) {
            let at = in_socket(address, size).filter(|&at| may_write_socket(at, size))?;
            return Some(&mut self.socket[at..at + size]);
        }
        let region = self.regions.get_mut((address >> 32) as usize)?;
        let at = region.position(address as u32, size)?;
        region
            .may_write(at, size)
            .then_some(&mut region.bytes[at..at + size])
    }

    /// Says why an access failed.
    pub fn complaint(&self, address: u64, size: usize, writes: bool) -> String {
        let verb = if writes { "writes" } else { "reads" };
        let (number, offset) = ((address >> 32) as u32, address as u32);
        let Some(region) = self.regions.get(number as usize) else {
            return format!("{verb} through {address:#x}, which is not a pointer");
        };
        let name = &region.name;
        if number == 0 {
            return format!("{verb} through {name}");
        }
        let start = if is_socket(address) {
            GAP
        } else {
            region.start
        };
        if offset < start {
            return format!(
                "{verb} {name} at the offset {offset}, not a field by name; declare the structure \
                with preserve_access_index"
            );
        }
        let position = if is_socket(address) {
            in_socket(address, size)
        } else {
            region.position(offset, size)
        };
        match position {
            Some(_) => format!("writes a field of {name} that the kernel lets no control write"),
            None => format!("{verb} beyond the end of {name} (offset {offset}, {size} bytes)"),
        }
    }
}
