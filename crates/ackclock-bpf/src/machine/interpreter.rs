//! The instructions of RFC 9669.

use super::{MOST_INSTRUCTIONS, Registers, State};
use crate::instruction::Operation;
use crate::memory::{self, FRAME, MOST_FRAMES, address};
use crate::program::Program;
use crate::refusal::Refusal;

impl State {
    /// Runs a function with its arguments in `registers`, in the frame of that depth.
    #[allow(clippy::cognitive_complexity)] // one arm for each instruction
    pub(super) fn run(
        &mut self,
        program: &Program,
        entry: usize,
        registers: &mut Registers,
        depth: usize,
    ) -> Result<u64, Refusal> {
        use Operation as O;
        registers[10] = address(memory::STACK, FRAME * depth as u32);
        let code = &program.code[..];
        let mut next = entry;
        // Instructions are counted where the code jumps: between jumps it comes to an end.
        let mut counted = entry;
        loop {
            let at = next;
            let fail = |reason: String| Err(Refusal::new(reason).at(program.lines.of(at)));
            let Some(step) = code.get(at) else {
                return fail("jumps out of its code".into());
            };
            next += 1;
            // Each arm reads what it needs: that is a third faster than to read all before.
            let (offset, immediate) = (step.offset, step.immediate);
            let (to, from) = (usize::from(step.dst & 15), usize::from(step.src & 15));
            macro_rules! dst {
                () => {
                    registers[to]
                };
            }
            macro_rules! src {
                () => {
                    registers[from]
                };
            }
            macro_rules! operand {
                () => {
                    if step.register { src!() } else { immediate }
                };
            }
            macro_rules! set {
                ($value:expr) => {
                    registers[to] = $value
                };
            }
            macro_rules! set32 {
                ($value:expr) => {
                    registers[to] = u64::from($value)
                };
            }
            macro_rules! count {
                () => {
                    match self.left.checked_sub((next - counted) as u64) {
                        Some(left) => self.left = left,
                        None => {
                            return fail(format!(
                                "ran {MOST_INSTRUCTIONS} instructions without an end"
                            ));
                        }
                    }
                };
            }
            macro_rules! jump_if {
                ($condition:expr) => {
                    if $condition {
                        count!();
                        next = (next as i64 + i64::from(offset)) as usize;
                        counted = next;
                    }
                };
            }
            macro_rules! load {
                ($bytes:literal, $value:expr) => {{
                    let place = src!().wrapping_add(i64::from(offset).cast_unsigned());
                    match self.memory.load::<$bytes>(place) {
                        Some(bytes) => registers[to] = $value(bytes),
                        None => return fail(self.memory.complaint(place, $bytes, false)),
                    }
                }};
            }
            macro_rules! store {
                ($bytes:literal, $type:ty) => {{
                    let place = dst!().wrapping_add(i64::from(offset).cast_unsigned());
                    let value = (operand!() as $type).to_le_bytes();
                    if self.memory.store::<$bytes>(place, value).is_none() {
                        return fail(self.memory.complaint(place, $bytes, true));
                    }
                }};
            }
            macro_rules! dst32 {
                () => {
                    dst!() as u32
                };
            }
            macro_rules! operand32 {
                () => {
                    operand!() as u32
                };
            }
            match step.operation {
                O::Add64 => set!(dst!().wrapping_add(operand!())),
                O::Sub64 => set!(dst!().wrapping_sub(operand!())),
                O::Mul64 => set!(dst!().wrapping_mul(operand!())),
                O::Div64 => set!(dst!().checked_div(operand!()).unwrap_or(0)),
                O::Or64 => set!(dst!() | operand!()),
                O::And64 => set!(dst!() & operand!()),
                O::Lsh64 => set!(dst!() << (operand!() & 63)),
                O::Rsh64 => set!(dst!() >> (operand!() & 63)),
                O::Neg64 => set!(dst!().wrapping_neg()),
                O::Mod64 => set!(dst!().checked_rem(operand!()).unwrap_or(dst!())),
                O::Xor64 => set!(dst!() ^ operand!()),
                O::Mov64 => set!(operand!()),
                O::Arsh64 => set!((dst!().cast_signed() >> (operand!() & 63)).cast_unsigned()),
                O::SignedDiv64 => set!(match operand!().cast_signed() {
                    0 => 0,
                    by => dst!().cast_signed().wrapping_div(by).cast_unsigned(),
                }),
                O::SignedMod64 => set!(match operand!().cast_signed() {
                    0 => dst!(),
                    by => dst!().cast_signed().wrapping_rem(by).cast_unsigned(),
                }),
                O::Mov64From8 => set!(i64::from(operand!() as i8).cast_unsigned()),
                O::Mov64From16 => set!(i64::from(operand!() as i16).cast_unsigned()),
                O::Mov64From32 => set!(i64::from(operand!() as i32).cast_unsigned()),
                O::Add32 => set32!(dst32!().wrapping_add(operand32!())),
                O::Sub32 => set32!(dst32!().wrapping_sub(operand32!())),
                O::Mul32 => set32!(dst32!().wrapping_mul(operand32!())),
                O::Div32 => set32!(dst32!().checked_div(operand32!()).unwrap_or(0)),
                O::Or32 => set32!(dst32!() | operand32!()),
                O::And32 => set32!(dst32!() & operand32!()),
                O::Lsh32 => set32!(dst32!() << (operand32!() & 31)),
                O::Rsh32 => set32!(dst32!() >> (operand32!() & 31)),
                O::Neg32 => set32!(dst32!().wrapping_neg()),
                O::Mod32 => set32!(dst32!().checked_rem(operand32!()).unwrap_or(dst32!())),
                O::Xor32 => set32!(dst32!() ^ operand32!()),
                O::Mov32 => set32!(operand32!()),
                O::Arsh32 => {
                    set32!((dst32!().cast_signed() >> (operand32!() & 31)).cast_unsigned())
                }
                O::SignedDiv32 => set32!(match operand32!().cast_signed() {
                    0 => 0,
                    by => dst32!().cast_signed().wrapping_div(by).cast_unsigned(),
                }),
                O::SignedMod32 => set32!(match operand32!().cast_signed() {
                    0 => dst32!(),
                    by => dst32!().cast_signed().wrapping_rem(by).cast_unsigned(),
                }),
                O::Mov32From8 => set32!(i32::from(operand!() as i8).cast_unsigned()),
                O::Mov32From16 => set32!(i32::from(operand!() as i16).cast_unsigned()),
                O::Keep16 => set!(dst!() & 0xffff),
                O::Keep32 => set32!(dst32!()),
                O::Keep64 => {}
                O::Swap16 => set!((dst!() as u16).swap_bytes().into()),
                O::Swap32 => set32!(dst32!().swap_bytes()),
                O::Swap64 => set!(dst!().swap_bytes()),
                O::Load8 => load!(1, |bytes| u64::from(u8::from_le_bytes(bytes))),
                O::Load16 => load!(2, |bytes| u64::from(u16::from_le_bytes(bytes))),
                O::Load32 => load!(4, |bytes| u64::from(u32::from_le_bytes(bytes))),
                O::Load64 => load!(8, u64::from_le_bytes),
                O::Load8Signed => load!(1, |b| i64::from(i8::from_le_bytes(b)).cast_unsigned()),
                O::Load16Signed => load!(2, |b| i64::from(i16::from_le_bytes(b)).cast_unsigned()),
                O::Load32Signed => load!(4, |b| i64::from(i32::from_le_bytes(b)).cast_unsigned()),
                O::Store8 => store!(1, u8),
                O::Store16 => store!(2, u16),
                O::Store32 => store!(4, u32),
                O::Store64 => store!(8, u64),
                O::Atomic32 | O::Atomic64 => {
                    let place = dst!().wrapping_add(i64::from(offset).cast_unsigned());
                    let wide = step.operation == O::Atomic64;
                    let kind = immediate as u32;
                    let Some(old) = self.atomic(place, kind, wide, src!(), registers[0]) else {
                        let size = if wide { 8 } else { 4 };
                        return fail(self.memory.complaint(place, size, true));
                    };
                    if kind == 0xf1 {
                        registers[0] = old;
                    } else if kind & 1 != 0 {
                        registers[from] = old;
                    }
                }
                O::Jump => jump_if!(true),
                O::IfEq64 => jump_if!(dst!() == operand!()),
                O::IfGt64 => jump_if!(dst!() > operand!()),
                O::IfGe64 => jump_if!(dst!() >= operand!()),
                O::IfSet64 => jump_if!(dst!() & operand!() != 0),
                O::IfNe64 => jump_if!(dst!() != operand!()),
                O::IfSignedGt64 => jump_if!(dst!().cast_signed() > operand!().cast_signed()),
                O::IfSignedGe64 => jump_if!(dst!().cast_signed() >= operand!().cast_signed()),
                O::IfLt64 => jump_if!(dst!() < operand!()),
                O::IfLe64 => jump_if!(dst!() <= operand!()),
                O::IfSignedLt64 => jump_if!(dst!().cast_signed() < operand!().cast_signed()),
                O::IfSignedLe64 => jump_if!(dst!().cast_signed() <= operand!().cast_signed()),
                O::IfEq32 => jump_if!(dst32!() == operand32!()),
                O::IfGt32 => jump_if!(dst32!() > operand32!()),
                O::IfGe32 => jump_if!(dst32!() >= operand32!()),
                O::IfSet32 => jump_if!(dst32!() & operand32!() != 0),
                O::IfNe32 => jump_if!(dst32!() != operand32!()),
                O::IfSignedGt32 => {
                    jump_if!(dst32!().cast_signed() > operand32!().cast_signed())
                }
                O::IfSignedGe32 => {
                    jump_if!(dst32!().cast_signed() >= operand32!().cast_signed())
                }
                O::IfLt32 => jump_if!(dst32!() < operand32!()),
                O::IfLe32 => jump_if!(dst32!() <= operand32!()),
                O::IfSignedLt32 => {
                    jump_if!(dst32!().cast_signed() < operand32!().cast_signed())
                }
                O::IfSignedLe32 => {
                    jump_if!(dst32!().cast_signed() <= operand32!().cast_signed())
                }
                O::CallLocal => {
                    if depth == MOST_FRAMES {
                        return fail(format!("calls functions {MOST_FRAMES} deep"));
                    }
                    let mut inner = [0; 16];
                    inner[1..6].copy_from_slice(&registers[1..6]);
                    count!();
                    registers[0] = self.run(program, immediate as usize, &mut inner, depth + 1)?;
                    counted = next;
                }
                O::CallHost => {
                    let arguments = [1, 2, 3, 4, 5].map(|register| registers[register]);
                    count!();
                    counted = next;
                    match self.host(program, immediate, arguments, depth) {
                        Ok(answer) => registers[0] = answer,
                        Err(refusal) => return Err(refusal.at(program.lines.of(at))),
                    }
                }
                O::Exit => {
                    count!();
                    return Ok(registers[0]);
                }
                O::Forbidden => {
                    let reason = program.forbidden.get(immediate as usize);
                    return fail(reason.cloned().unwrap_or_default());
                }
                O::SetWide => {
                    registers[to] = immediate;
                    next += 1;
                }
                O::Filler => {}
                O::SetJump => {
                    registers[to] = immediate;
                    jump_if!(true);
                }
            }
        }
    }

    /// Executes an atomic operation. Returns the value before it; `None` if the place is not the
    /// program's to write.
    fn atomic(
        &mut self,
        place: u64,
        kind: u32,
        wide: bool,
        operand: u64,
        expected: u64,
    ) -> Option<u64> {
        let mask = if wide { u64::MAX } else { u32::MAX.into() };
        let old = if wide {
            u64::from_le_bytes(self.memory.load(place)?)
        } else {
            u32::from_le_bytes(self.memory.load(place)?).into()
        };
        let new = match kind & !1 {
            0x00 => old.wrapping_add(operand),
            0x40 => old | operand,
            0x50 => old & operand,
            0xa0 => old ^ operand,
            0xe0 => operand,
            _ if old == expected & mask => operand,
            _ => old,
        };
        if wide {
            self.memory.store(place, new.to_le_bytes())?;
        } else {
            self.memory.store(place, (new as u32).to_le_bytes())?;
        }
        Some(old)
    }
}
