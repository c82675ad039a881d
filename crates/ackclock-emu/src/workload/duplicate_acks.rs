//! Filter that hides duplicate ACKs from a sending socket, so that only its timer detects losses,
//! as before fast retransmit (Jacobson 1988).
//!
//! No kernel setting does this. `net.ipv4.tcp_reordering` only sets the number of duplicates for
//! the first loss. Without SACK a connection lowers its own threshold to the segments in flight as
//! soon as it gets more duplicates than these can cause (tcp_check_reno_reordering, seen in Linux
//! 6.18). Spurious retransmissions after a timeout cause such duplicates. A program at the socket
//! sees each segment before the kernel's TCP does.

use crate::system::bpf::{self, Instruction};
use crate::system::socket_option;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Hides duplicate ACKs from a socket for its whole life.
///
/// # Errors
/// EPERM without CAP_BPF in the initial user namespace; other errors of bpf(2) and setsockopt(2).
pub(super) fn ignore(socket: impl AsFd) -> io::Result<()> {
    let last = bpf::one_value(LAST_BYTES)?;
    let program = bpf::socket_filter(&filter(&last))?;
    // The socket keeps the program alive, and the program its map.
    let descriptor = program.as_raw_fd().to_ne_bytes();
    socket_option::set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &descriptor)
}

/// Size of the state: the acknowledgment number last passed to TCP, in network byte order, and its
/// window, four bytes each.
const LAST_BYTES: u32 = 8;

/// Offset and length of the part of the TCP header that is loaded: acknowledgment number, header
/// length, flags and window.
const FROM: i32 = 8;
const LENGTH: i32 = 8;
// Offsets of these fields on the stack, and of the map's only key.
const NUMBER: i16 = -8;
const HEADER_WORDS: i16 = -4;
const FLAGS: i16 = -3;
const WINDOW: i16 = -2;
const KEY: i16 = -12;

/// Flags of an ACK without other flags.
const ACK_ALONE: i32 = 0x10;
/// Return value that passes the whole packet: more bytes than any packet has.
const ALL: i32 = i32::MAX;

// Kernel functions.
const LOOK_UP: i32 = 1;
const LOAD_BYTES: i32 = 26;

// Opcodes.
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const SHIFT_LEFT: u8 = 0x67;
const SHIFT_RIGHT: u8 = 0x77;
const FROM_NETWORK: u8 = 0xdc;
const LOAD_BYTE: u8 = 0x71;
const LOAD_HALF: u8 = 0x69;
const LOAD_WORD: u8 = 0x61;
const STORE_WORD: u8 = 0x63;
const STORE_ZERO: u8 = 0x62;
const MAP: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const IF_EQUAL: u8 = 0x15;
const IF_UNEQUAL: u8 = 0x55;
const IF_UNEQUAL_REGISTERS: u8 = 0x5d;
const IF_ABOVE_REGISTER: u8 = 0x2d;

/// Register that holds the packet, preserved by calls, and the frame pointer of the stack.
const PACKET: u8 = 6;
const STACK: u8 = 10;

// Jump targets.
const SHOW: usize = 31;
const PASS: usize = 33;

/// Returns a program that drops duplicate ACKs and passes everything else. Duplicate ACKs carry no
/// data, repeat the last acknowledgment number and do not enlarge the window (FLAG_NOT_DUP in
/// tcp_ack).
#[rustfmt::skip]
fn filter(last: &OwnedFd) -> Vec<Instruction> {
    let mut program = Program(Vec::new());
    let p = &mut program;
    p.step(COPY, PACKET, 1, 0, 0);
    p.step(SET, 2, 0, 0, FROM);
    p.step(COPY, 3, STACK, 0, 0);
    p.step(ADD, 3, 0, 0, NUMBER.into());
    p.step(SET, 4, 0, 0, LENGTH);
    p.step(CALL, 0, 0, 0, LOAD_BYTES);
    p.jump(IF_UNEQUAL, 0, 0, 0, PASS);
    p.step(LOAD_BYTE, 1, STACK, FLAGS, 0);
    p.jump(IF_UNEQUAL, 1, 0, ACK_ALONE, PASS);
    // There is no payload if the header is as long as the segment. That length is the first word of
    // a program's packet context.
    p.step(LOAD_BYTE, 1, STACK, HEADER_WORDS, 0);
    p.step(SHIFT_RIGHT, 1, 0, 0, 4);
    p.step(SHIFT_LEFT, 1, 0, 0, 2);
    p.step(LOAD_WORD, 2, PACKET, 0, 0);
    p.jump(IF_UNEQUAL_REGISTERS, 1, 2, 0, PASS);
    p.step(STORE_ZERO, STACK, 0, KEY, 0);
    p.step(MAP, 1, 1, 0, last.as_raw_fd());
    p.step(0, 0, 0, 0, 0); // the second half of the address
    p.step(COPY, 2, STACK, 0, 0);
    p.step(ADD, 2, 0, 0, KEY.into());
    p.step(CALL, 0, 0, 0, LOOK_UP);
    p.jump(IF_EQUAL, 0, 0, 0, PASS); // the verifier requires this check
    p.step(LOAD_WORD, 1, STACK, NUMBER, 0);
    p.step(LOAD_HALF, 3, STACK, WINDOW, 0);
    p.step(FROM_NETWORK, 3, 0, 0, 16);
    p.step(LOAD_WORD, 2, 0, 0, 0);
    p.step(LOAD_WORD, 4, 0, 4, 0);
    p.jump(IF_UNEQUAL_REGISTERS, 1, 2, 0, SHOW);
    p.jump(IF_ABOVE_REGISTER, 3, 4, 0, SHOW);
    p.jump(IF_EQUAL, 3, 0, 0, SHOW); // a zero window is passed too
    p.step(SET, 0, 0, 0, 0);
    p.step(EXIT, 0, 0, 0, 0);
    p.here(SHOW);
    p.step(STORE_WORD, 0, 1, 0, 0);
    p.step(STORE_WORD, 0, 3, 4, 0);
    p.here(PASS);
    p.step(SET, 0, 0, 0, ALL);
    p.step(EXIT, 0, 0, 0, 0);
    program.0
}

struct Program(Vec<Instruction>);

impl Program {
    fn step(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.0
            .push(Instruction::new(code, to, from, offset, immediate));
    }
    fn jump(&mut self, code: u8, register: u8, other: u8, immediate: i32, to: usize) {
        let over = (to - self.0.len() - 1) as i16;
        self.step(code, register, other, over, immediate);
    }
    fn here(&self, label: usize) {
        assert_eq!(self.0.len(), label, "where is jumped to");
    }
}
