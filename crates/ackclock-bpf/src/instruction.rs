//! Instructions, decoded once before a program runs (RFC 9669).

use crate::refusal::Refusal;

/// Bytes of an instruction in an object.
pub const SIZE: usize = 8;

/// An instruction as it stands in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    pub opcode: u8,
    pub dst: u8,
    pub src: u8,
    pub offset: i16,
    pub imm: i32,
}

impl Raw {
    /// Reads an instruction from its bytes.
    pub fn read(bytes: [u8; SIZE]) -> Self {
        let [opcode, registers, o0, o1, i0, i1, i2, i3] = bytes;
        Raw {
            opcode,
            dst: registers & 15,
            src: registers >> 4,
            offset: i16::from_le_bytes([o0, o1]),
            imm: i32::from_le_bytes([i0, i1, i2, i3]),
        }
    }
    /// True if it loads a constant of 64 bits, which takes the place of two instructions.
    pub const fn is_wide(&self) -> bool {
        self.opcode == 0x18
    }
    /// True if it loads from memory or stores there, so that its offset is that of a field.
    pub const fn is_access(&self) -> bool {
        matches!(self.opcode & 7, 1..=3)
    }
    /// True if it calls a function of the same object, or one of the kernel.
    pub const fn is_call(&self) -> bool {
        self.opcode == 0x85
    }
}

/// The operation of an instruction. A number in a name is a width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Operation {
    Add64, Sub64, Mul64, Div64, Or64, And64, Lsh64, Rsh64, Neg64, Mod64, Xor64, Mov64, Arsh64,
    SignedDiv64, SignedMod64, Mov64From8, Mov64From16, Mov64From32,
    Add32, Sub32, Mul32, Div32, Or32, And32, Lsh32, Rsh32, Neg32, Mod32, Xor32, Mov32, Arsh32,
    SignedDiv32, SignedMod32, Mov32From8, Mov32From16,
    Keep16, Keep32, Keep64, Swap16, Swap32, Swap64,
    Load8, Load16, Load32, Load64, Load8Signed, Load16Signed, Load32Signed,
    Store8, Store16, Store32, Store64, Atomic32, Atomic64,
    Jump,
    IfEq64, IfGt64, IfGe64, IfSet64, IfNe64, IfSignedGt64, IfSignedGe64, IfLt64, IfLe64,
    IfSignedLt64, IfSignedLe64,
    IfEq32, IfGt32, IfGe32, IfSet32, IfNe32, IfSignedGt32, IfSignedGe32, IfLt32, IfLe32,
    IfSignedLt32, IfSignedLe32,
    /// Calls the function of this object at the step `immediate`.
    CallLocal,
    /// Calls the kernel's function with the number `immediate` (`calls::Function`).
    CallHost,
    Exit,
    /// The reason `immediate` forbids to go on.
    Forbidden,
    /// Sets a register to a constant of 64 bits, which takes the place of two instructions.
    SetWide,
    /// Its second half.
    Filler,
    /// Sets a register to a constant, and jumps (`join.rs`).
    SetJump,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub operation: Operation,
    pub dst: u8,
    pub src: u8,
    /// True if the second operand is the register `src`, not `immediate`.
    pub register: bool,
    /// Place of an access, or the distance of a jump from the next step.
    pub offset: i32,
    pub immediate: u64,
}

/// Refuses an instruction that RFC 9669 does not have.
fn unknown(raw: Raw) -> Refusal {
    Refusal::new(format!(
        "has an instruction that the engine does not know (opcode {:#04x})",
        raw.opcode
    ))
}

/// Decodes an instruction; calls and constants of 64 bits are decoded where objects are read.
///
/// # Errors
/// There is no such instruction.
pub fn decode(raw: Raw) -> Result<Step, Refusal> {
    use Operation as O;
    let class = raw.opcode & 7;
    let register = raw.opcode & 8 != 0;
    let (mut offset, mut source_is_register) = (i32::from(raw.offset), register);
    let operation = match class {
        4 | 7 => {
            let operation = arithmetic(raw, class == 7)?;
            if raw.opcode & 0xf0 == 0xd0 {
                source_is_register = false;
            }
            operation
        }
        5 | 6 => match raw.opcode {
            0x05 => O::Jump,
            0x06 => {
                offset = raw.imm;
                O::Jump
            }
            0x95 => O::Exit,
            _ => condition(raw, class == 5)?,
        },
        1 => match (raw.opcode & 0xe0, raw.opcode & 0x18) {
            (0x60, 0x00) => O::Load32,
            (0x60, 0x08) => O::Load16,
            (0x60, 0x10) => O::Load8,
            (0x60, _) => O::Load64,
            (0x80, 0x00) => O::Load32Signed,
            (0x80, 0x08) => O::Load16Signed,
            (0x80, 0x10) => O::Load8Signed,
            _ => return Err(unknown(raw)),
        },
        2 | 3 => {
            source_is_register = class == 3;
            match (raw.opcode & 0xe0, raw.opcode & 0x18) {
                (0x60, 0x00) => O::Store32,
                (0x60, 0x08) => O::Store16,
                (0x60, 0x10) => O::Store8,
                (0x60, _) => O::Store64,
                (0xc0, 0x00) if class == 3 && is_atomic(raw.imm) => O::Atomic32,
                (0xc0, 0x18) if class == 3 && is_atomic(raw.imm) => O::Atomic64,
                _ => return Err(unknown(raw)),
            }
        }
        _ => return Err(unknown(raw)),
    };
    if raw.dst > 10 || raw.src > 10 {
        return Err(unknown(raw));
    }
    Ok(Step {
        operation,
        dst: raw.dst,
        src: raw.src,
        register: source_is_register,
        offset,
        immediate: i64::from(raw.imm).cast_unsigned(),
    })
}

/// True if the machine has this atomic operation.
const fn is_atomic(imm: i32) -> bool {
    matches!(imm & !1, 0x00 | 0x40 | 0x50 | 0xa0) || matches!(imm, 0xe1 | 0xf1)
}

/// Returns an operation of the classes ALU and ALU64.
fn arithmetic(raw: Raw, wide: bool) -> Result<Operation, Refusal> {
    use Operation as O;
    let pick = |of_64: Operation, of_32: Operation| if wide { of_64 } else { of_32 };
    Ok(match (raw.opcode >> 4, raw.offset) {
        (0x0, 0) => pick(O::Add64, O::Add32),
        (0x1, 0) => pick(O::Sub64, O::Sub32),
        (0x2, 0) => pick(O::Mul64, O::Mul32),
        (0x3, 0) => pick(O::Div64, O::Div32),
        (0x3, 1) => pick(O::SignedDiv64, O::SignedDiv32),
        (0x4, 0) => pick(O::Or64, O::Or32),
        (0x5, 0) => pick(O::And64, O::And32),
        (0x6, 0) => pick(O::Lsh64, O::Lsh32),
        (0x7, 0) => pick(O::Rsh64, O::Rsh32),
        (0x8, 0) => pick(O::Neg64, O::Neg32),
        (0x9, 0) => pick(O::Mod64, O::Mod32),
        (0x9, 1) => pick(O::SignedMod64, O::SignedMod32),
        (0xa, 0) => pick(O::Xor64, O::Xor32),
        (0xb, 0) => pick(O::Mov64, O::Mov32),
        (0xb, 8) => pick(O::Mov64From8, O::Mov32From8),
        (0xb, 16) => pick(O::Mov64From16, O::Mov32From16),
        (0xb, 32) if wide => O::Mov64From32,
        (0xc, 0) => pick(O::Arsh64, O::Arsh32),
        (0xd, 0) => {
            let to_big_endian = raw.opcode & 8 != 0;
            match (wide || to_big_endian, raw.imm) {
                (false, 16) => O::Keep16,
                (false, 32) => O::Keep32,
                (false, 64) => O::Keep64,
                (true, 16) => O::Swap16,
                (true, 32) => O::Swap32,
                (true, 64) => O::Swap64,
                _ => return Err(unknown(raw)),
            }
        }
        _ => return Err(unknown(raw)),
    })
}

/// Returns a conditional jump.
fn condition(raw: Raw, wide: bool) -> Result<Operation, Refusal> {
    use Operation as O;
    let pick = |of_64: Operation, of_32: Operation| if wide { of_64 } else { of_32 };
    Ok(match raw.opcode >> 4 {
        0x1 => pick(O::IfEq64, O::IfEq32),
        0x2 => pick(O::IfGt64, O::IfGt32),
        0x3 => pick(O::IfGe64, O::IfGe32),
        0x4 => pick(O::IfSet64, O::IfSet32),
        0x5 => pick(O::IfNe64, O::IfNe32),
        0x6 => pick(O::IfSignedGt64, O::IfSignedGt32),
        0x7 => pick(O::IfSignedGe64, O::IfSignedGe32),
        0xa => pick(O::IfLt64, O::IfLt32),
        0xb => pick(O::IfLe64, O::IfLe32),
        0xc => pick(O::IfSignedLt64, O::IfSignedLt32),
        0xd => pick(O::IfSignedLe64, O::IfSignedLe32),
        _ => return Err(unknown(raw)),
    })
}

impl Operation {
    /// True if it may go on somewhere else than at the next step.
    pub const fn is_jump(self) -> bool {
        self as u8 >= Operation::Jump as u8 && (self as u8) < Operation::CallLocal as u8
    }
}
