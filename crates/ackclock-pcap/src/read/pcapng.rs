//! The pcapng format (draft-ietf-opsawg-pcapng): sections of blocks. Each section has its own byte
//! order and interfaces.

use super::clock::Clock;
use super::error::Damage;
use super::input::Input;
use super::order::ByteOrder;
use super::{CaptureError, Found, LARGEST_PACKET, Record, Stop};
use crate::decode::LinkType;
use crate::skipped::Skip;
use std::io::Read;

/// Block types (sections 4.1 to 4.4; appendix A for the obsolete Packet Block).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const VERSION: u16 = 1;
/// Lengths of the type and length before a block's content, and of the length repeated behind it.
const FRONT: usize = 8;
const BACK: usize = 4;
/// Name of the part that is cut where a file ends early.
const WITHIN: &str = "a block";
/// Options of an interface (section 4.2).
const END_OF_OPTIONS: u16 = 0;
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;

/// Most bytes of options in a packet block, such as comments. Guessed: a hundred times what writers
/// add.
const MOST_OPTIONS: u32 = 65_536;
/// Most interfaces in a section. Guessed: a machine with a device for each of a few thousand
/// containers has fewer. A file with more was made to fill the memory.
const MOST_INTERFACES: usize = 65_536;

/// A pcapng file whose first section header has been read.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

#[derive(Debug)]
struct Interface {
    number: u32,
    /// `None` if packets with this link type cannot be decoded.
    link: Option<LinkType>,
    clock: Clock,
}

impl Pcapng {
    /// Reads the header of the first section; returns `None` if the file has another format.
    pub fn open<R: Read>(input: &mut Input<R>) -> Result<Option<Self>, Stop> {
        // The type of a section reads the same in either byte order.
        if input.peek(4)? != SECTION.to_be_bytes() {
            return Ok(None);
        }
        let mut format = Pcapng {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
        };
        format.read(input)?;
        Ok(Some(format))
    }

    /// Reads the next block.
    pub fn read<'a, R: Read>(&mut self, input: &'a mut Input<R>) -> Result<Found<'a>, Stop> {
        input.check_end()?;
        let begin = input.offset();
        let (kind, length) = self.front(begin, input)?;
        if !matches!(
            kind,
            SECTION | INTERFACE | PACKET | SIMPLE_PACKET | ENHANCED_PACKET
        ) {
            input.skip(u64::from(length) - BACK as u64, WITHIN)?;
            let back = input.take(BACK, WITHIN)?;
            return self.check_back(begin, length, back).map(|()| Found::Other);
        }
        if length > LARGEST_PACKET + MOST_OPTIONS {
            let sentence =
                format!("a block claims {length} bytes, which is more than any packet has");
            return Err(damage(begin, sentence));
        }
        let block = input.take(length as usize, WITHIN)?;
        let (block, back) = block.split_at(block.len() - BACK);
        self.check_back(begin, length, back)?;
        let content = &block[FRONT..];
        match kind {
            SECTION => self.section(begin, content).map(|()| Found::Other),
            INTERFACE => self.interface(begin, content).map(|()| Found::Other),
            SIMPLE_PACKET => Ok(Found::Skip(Skip::WithoutTime)),
            _ => self.packet(begin, kind, content),
        }
    }

    /// Reads the type and length of the block that begins here. A section header gives the byte
    /// order of everything up to the next one, itself included.
    fn front<R: Read>(&mut self, begin: u64, input: &mut Input<R>) -> Result<(u32, u32), Stop> {
        if input.need(FRONT, WITHIN)?[..4] == SECTION.to_be_bytes() {
            let section = input.need(FRONT + 4, WITHIN)?;
            let magic = section[FRONT..].try_into().expect("four bytes");
            self.order = ByteOrder::of(magic, BYTE_ORDER)
                .ok_or_else(|| damage(begin, "a section does not say its byte order"))?;
        }
        let front = input.need(FRONT, WITHIN)?;
        let [kind, length] = [0, 4].map(|at| self.order.u32(front, at));
        if (length as usize) < FRONT + BACK || length % 4 != 0 {
            let sentence = format!("a block claims {length} bytes, which none can have");
            return Err(damage(begin, sentence));
        }
        Ok((kind, length))
    }

    /// Checks the length repeated behind a block. If it differs, the next block cannot be found.
    fn check_back(&self, begin: u64, length: u32, back: &[u8]) -> Result<(), Stop> {
        let again = self.order.u32(back, 0);
        if again == length {
            return Ok(());
        }
        let sentence =
            format!("a block has {length} bytes by its beginning and {again} by its end");
        Err(damage(begin, sentence))
    }

    fn section(&mut self, begin: u64, content: &[u8]) -> Result<(), Stop> {
        // Byte order, version, length of the section.
        if content.len() < 16 {
            return Err(damage(begin, "the block of a section is too short"));
        }
        let [major, minor] = [4, 6].map(|at| self.order.u16(content, at));
        if major != VERSION {
            return Err(CaptureError::version("pcapng", major, minor, VERSION).into());
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, begin: u64, content: &[u8]) -> Result<(), Stop> {
        // Link type, reserved, snap length.
        let Some((fixed, options)) = content.split_at_checked(8) else {
            return Err(damage(begin, "the block of an interface is too short"));
        };
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(damage(
                begin,
                format!("a section has more than {MOST_INTERFACES} interfaces"),
            ));
        }
        let number = u32::from(self.order.u16(fixed, 0));
        let clock = self.clock(options).ok_or_else(|| {
            damage(
                begin,
                "the options of an interface do not fit into its block",
            )
        })?;
        self.interfaces.push(Interface {
            number,
            link: LinkType::from_number(number),
            clock,
        });
        Ok(())
    }

    /// Reads the clock from an interface's options; returns `None` if they contradict themselves.
    fn clock(&self, mut options: &[u8]) -> Option<Clock> {
        let mut clock = Clock::default();
        while !options.is_empty() {
            let (front, behind) = options.split_at_checked(4)?;
            let [code, length] = [0, 2].map(|at| self.order.u16(front, at));
            let value = behind.get(..usize::from(length))?;
            match code {
                END_OF_OPTIONS => break,
                TIME_RESOLUTION => clock.set_resolution(*value.first()?),
                TIME_OFFSET if length == 8 => {
                    clock.offset_s = self.order.u64(value, 0).cast_signed()
                }
                TIME_OFFSET => return None,
                _ => {}
            }
            options = behind.get(usize::from(length).next_multiple_of(4)..)?;
        }
        Some(clock)
    }

    /// Reads an Enhanced Packet Block or an obsolete Packet Block. An error within the block does
    /// not prevent reading the next one.
    fn packet<'a>(&self, begin: u64, kind: u32, content: &'a [u8]) -> Result<Found<'a>, Stop> {
        let flaw = |sentence| Ok(Found::Damaged(Damage::new(begin, sentence)));
        let Some((fixed, behind)) = content.split_at_checked(20) else {
            return flaw("the block of a packet is too short".into());
        };
        let index = if kind == PACKET {
            u32::from(self.order.u16(fixed, 0))
        } else {
            self.order.u32(fixed, 0)
        };
        let [high, low, held, original_length] = [4, 8, 12, 16].map(|at| self.order.u32(fixed, at));
        let Some(interface) = self.interfaces.get(index as usize) else {
            return flaw(format!(
                "a packet is of interface {index}, which is not described"
            ));
        };
        let Some(bytes) = behind.get(..held as usize) else {
            return flaw(format!(
                "a packet claims {held} bytes, which is more than its block has"
            ));
        };
        let Some(link) = interface.link else {
            // If other interfaces can be decoded, their packets can still be used.
            return if self
                .interfaces
                .iter()
                .any(|interface| interface.link.is_some())
            {
                Ok(Found::Skip(Skip::OtherLink))
            } else {
                Err(CaptureError::link_type(interface.number).into())
            };
        };
        Ok(Found::Packet(Record {
            at_ns: interface
                .clock
                .at_ns(u64::from(high) << 32 | u64::from(low)),
            link,
            bytes,
            original_length,
        }))
    }
}

fn damage(begin: u64, sentence: impl Into<String>) -> Stop {
    Stop::Damage(Damage::new(begin, sentence))
}
