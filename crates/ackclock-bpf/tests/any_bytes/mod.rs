//! Properties that hold for any bytes. The fuzz target tries new bytes; `programs.rs` damages
//! objects that come with ackclock.

use ackclock_bpf::layout::socket;
use ackclock_bpf::{Argument, Callback, Machine, Program, check};
use std::sync::Arc;

/// Calls of a control, each with its arguments.
const CALLS: [(Callback, &[Argument]); 4] = [
    (Callback::Init, &[Argument::Socket]),
    (
        Callback::CongAvoid,
        &[Argument::Socket, Argument::Number(0), Argument::Number(1)],
    ),
    (Callback::Ssthresh, &[Argument::Socket]),
    (
        Callback::PktsAcked,
        &[Argument::Socket, Argument::AckSample],
    ),
];

/// Reads any bytes as an object and runs it. It is refused in one line, or each call ends with an
/// answer or a fault of one line. What the engine runs, the check before the kernel accepts.
pub fn object(data: &[u8]) {
    let program = match Program::read(data) {
        Ok(program) => program,
        Err(refusal) => {
            assert_eq!(refusal.to_string().lines().count(), 1, "{refusal:?}");
            return;
        }
    };
    assert_eq!(check(data), Ok(()));
    let mut machine = Machine::new(Arc::new(program), 1);
    machine.set(socket::SND_CWND, 10);
    for (callback, arguments) in CALLS {
        if let Err(fault) = machine.call(callback, arguments) {
            assert_eq!(fault.to_string().lines().count(), 1, "{fault:?}");
        }
    }
}
