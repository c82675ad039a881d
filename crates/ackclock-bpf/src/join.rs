//! Joins a constant and the jumps that it decides, so that the machine takes one step for several.
//!
//! A program reads a bit field by a `switch` over its width, which is a constant once an object is
//! read. Each step stays in its place, since a jump may lead to it.

use crate::instruction::{Operation, Step};

/// Most jumps that are followed from a constant.
const MOST_JUMPS: usize = 16;

/// Joins the steps of a program where that is possible.
pub fn join(code: &mut [Step]) {
    for at in 0..code.len() {
        if let Some(joined) = jump(code, at) {
            code[at] = joined;
        }
    }
}

/// Returns the step that sets a constant and makes the jumps that it decides, if it decides any.
fn jump(code: &[Step], at: usize) -> Option<Step> {
    let set = code.get(at)?;
    let value = constant(set)?;
    let mut next = at + 1;
    for _ in 0..MOST_JUMPS {
        match code
            .get(next)
            .and_then(|step| decided(step, set.dst, value))
        {
            Some(true) => next = next.checked_add_signed(code[next].offset as isize + 1)?,
            Some(false) => next += 1,
            None => break,
        }
    }
    let offset = i32::try_from(next.checked_sub(at + 1)?).ok();
    let offset = offset.filter(|&by| by > 0)?;
    Some(Step {
        operation: Operation::SetJump,
        immediate: value,
        offset,
        register: false,
        ..*set
    })
}

/// Returns the constant to which a step sets a register.
pub fn constant(step: &Step) -> Option<u64> {
    match step.operation {
        Operation::Mov64 if !step.register => Some(step.immediate),
        Operation::Mov32 if !step.register => Some(u64::from(step.immediate as u32)),
        _ => None,
    }
}

/// Says whether a jump is taken, if only a register with a known value decides that.
pub fn decided(step: &Step, register: u8, value: u64) -> Option<bool> {
    use Operation as O;
    if step.operation == O::Jump {
        return Some(true);
    }
    if step.register || step.dst != register {
        return None;
    }
    let (value32, operand32) = (value as u32, step.immediate as u32);
    Some(match step.operation {
        O::IfEq64 => value == step.immediate,
        O::IfNe64 => value != step.immediate,
        O::IfSignedGt64 => value.cast_signed() > step.immediate.cast_signed(),
        O::IfEq32 => value32 == operand32,
        O::IfNe32 => value32 != operand32,
        O::IfSignedGt32 => value32.cast_signed() > operand32.cast_signed(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::{Raw, decode};

    fn step(opcode: u8, dst: u8, src: u8, offset: i16, imm: i32) -> Step {
        let raw = Raw {
            opcode,
            dst,
            src,
            offset,
            imm,
        };
        decode(raw).unwrap()
    }

    const MOV64: u8 = 0xb7;
    const IF_EQ32: u8 = 0x16;
    const IF_SIGNED_GT32: u8 = 0x66;
    const JUMP: u8 = 0x05;
    const EXIT: u8 = 0x95;

    /// A `switch` over a constant that only the loader knows, as for the width of a bit field.
    #[test]
    fn a_constant_decides_the_jumps_behind_it() {
        let mut code = [
            step(MOV64, 2, 0, 0, 8),
            step(IF_SIGNED_GT32, 2, 0, 1, 3), // taken
            step(EXIT, 0, 0, 0, 0),
            step(IF_EQ32, 2, 0, 5, 4), // not taken
            step(JUMP, 0, 0, 1, 0),
            step(EXIT, 0, 0, 0, 0),
            step(IF_EQ32, 3, 0, 0, 8), // another register
            step(EXIT, 0, 0, 0, 0),
        ];
        join(&mut code);
        assert_eq!(code[0].operation, Operation::SetJump);
        assert_eq!((code[0].dst, code[0].immediate, code[0].offset), (2, 8, 5));
    }

    #[test]
    fn a_circle_of_jumps_is_left_to_the_machine() {
        let mut code = [step(MOV64, 2, 0, 0, 8), step(JUMP, 0, 0, -1, 0)];
        join(&mut code);
        assert_eq!(code[1].operation, Operation::Jump);
    }
}
