//! The machine on programs that clang compiled: those that come with ackclock, and the one in
//! `tests/programs`, of which `machine.bpf.o` is compiled by
//! `clang -O2 -g -target bpf -mcpu=v3`, then `llvm-strip -g`.

mod any_bytes;

use ackclock_bpf::layout::socket;
use ackclock_bpf::twin::{self, MAGIC, RECORD};
use ackclock_bpf::{Argument, Callback, Machine, Program};
use std::sync::Arc;

const AIMD: &[u8] = include_bytes!("../../ackclock-core/bpf/aimd.bpf.o");
const OWN: &[u8] = include_bytes!("programs/machine.bpf.o");
const UNKNOWN: &[u8] = include_bytes!("programs/unknown.bpf.o");
const COPYING: &[u8] = include_bytes!("programs/copying.bpf.o");
const ENDLESS: &[u8] = include_bytes!("programs/endless.bpf.o");

fn machine(object: &[u8], parameters: &[(&str, i128)], records: bool) -> Machine {
    let mut program = Program::read(object).unwrap();
    program.set_recording(records);
    for (name, value) in parameters {
        let parameter = program
            .parameters()
            .find(|parameter| parameter.name == *name)
            .cloned();
        program.set(&parameter.unwrap(), *value);
    }
    let mut machine = Machine::new(Arc::new(program), 1);
    if records {
        machine.keep_records();
    }
    for (field, value) in [
        (socket::SND_CWND, 10),
        (socket::SND_SSTHRESH, 0x7fff_ffff),
        (socket::SND_CWND_CLAMP, u32::MAX.into()),
        (socket::IS_CWND_LIMITED, 1),
        (socket::MSS_CACHE, 1448),
    ] {
        machine.set(field, value);
    }
    machine.call(Callback::Init, &[Argument::Socket]).unwrap();
    machine
}

fn acknowledge(machine: &mut Machine, segments: u64) {
    let numbers = [
        Argument::Socket,
        Argument::Number(0),
        Argument::Number(segments),
    ];
    machine.call(Callback::CongAvoid, &numbers).unwrap();
}

fn windows(machine: &Machine) -> (u64, u64, u64) {
    let [cwnd, count, ssthresh] = [socket::SND_CWND, socket::SND_CWND_CNT, socket::SND_SSTHRESH]
        .map(|field| machine.get(field));
    (cwnd, count, ssthresh)
}

/// By hand: RFC 5681 section 3.1 in whole segments.
#[test]
fn aimd_computes_what_its_source_says() {
    let mut machine = machine(AIMD, &[], false);
    acknowledge(&mut machine, 2);
    assert_eq!(windows(&machine), (12, 0, 0x7fff_ffff));
    machine.set(socket::SND_SSTHRESH, 13);
    acknowledge(&mut machine, 4); // one to ssthresh, three of thirteen are counted
    assert_eq!(windows(&machine), (13, 3, 13));
    acknowledge(&mut machine, 10);
    assert_eq!(windows(&machine), (14, 0, 13));
    let ssthresh = machine.call(Callback::Ssthresh, &[Argument::Socket]);
    assert_eq!(ssthresh, Ok(7));
    machine.set(socket::SND_CWND, 7);
    let undone = machine.call(Callback::UndoCwnd, &[Argument::Socket]);
    assert_eq!(undone, Ok(14));
}

#[test]
fn parameters_have_names_ranges_and_defaults() {
    let program = Program::read(AIMD).unwrap();
    let described: Vec<_> = program
        .parameters()
        .map(|parameter| {
            (
                parameter.name.as_str(),
                parameter.range(),
                program.value(parameter),
            )
        })
        .collect();
    let range = (0, u32::MAX.into());
    assert_eq!(
        described,
        [("alpha", range, 1), ("beta_percent", range, 50)]
    );
    let mut machine = machine(AIMD, &[("beta_percent", 70)], false);
    assert_eq!(machine.call(Callback::Ssthresh, &[Argument::Socket]), Ok(7));
}

/// `machine.bpf.c`: kernel functions, a function of its own, an atomic sum, a bit field, a ring
/// buffer, constants and memory in the socket.
#[test]
fn a_program_reaches_all_that_the_machine_has() {
    let mut machine = machine(OWN, &[("beta_num", 717)], true);
    machine.set(socket::CA_STATE, 3);
    acknowledge(&mut machine, 2);
    machine.set(socket::SND_SSTHRESH, 5);
    acknowledge(&mut machine, 12);
    assert_eq!(windows(&machine), (13, 0, 5));
    assert_eq!(machine.take_records().len(), 2 * 16);
    let ssthresh = machine.call(Callback::Ssthresh, &[Argument::Socket]);
    assert_eq!(ssthresh, Ok(13 * 717 / 1024));
    let sample = [Argument::Socket, Argument::AckSample];
    machine.set_ack_sample(ackclock_bpf::layout::ack_sample::RTT_US, 40_000);
    machine.call(Callback::PktsAcked, &sample).unwrap();
    let kept = machine.call(Callback::UndoCwnd, &[Argument::Socket]);
    assert_eq!(kept, Ok(40_000));
    let none = (-1_i64).cast_unsigned();
    machine.set_ack_sample(ackclock_bpf::layout::ack_sample::RTT_US, none);
    machine.call(Callback::PktsAcked, &sample).unwrap();
    let kept = machine.call(Callback::UndoCwnd, &[Argument::Socket]);
    assert_eq!(kept, Ok(40_000), "no round-trip time was measured");
}

/// The callback of an event to which the author does not listen only records.
#[test]
fn an_event_without_a_function_is_heard_only_to_be_recorded() {
    use Callback as C;
    let mut machine = machine(AIMD, &[], false);
    let events = [C::PktsAcked, C::SetState, C::CwndEvent, C::Release];
    assert!(events.iter().all(|&event| !machine.listens(event)));
    assert!(
        [C::Init, C::CongAvoid, C::Ssthresh]
            .iter()
            .all(|&callback| machine.listens(callback))
    );
    assert!(
        !machine.listens(C::CongControl),
        "there is no such callback"
    );
    machine.keep_records();
    assert!(events.iter().all(|&event| machine.listens(event)));
    let state = [Argument::Socket, Argument::Number(3)];
    machine.call(C::SetState, &state).unwrap();
    let [call] = twin::Call::all(&machine.take_records()).collect::<Vec<_>>()[..] else {
        panic!("one call, one record");
    };
    assert_eq!((call.callback(), call.arguments[0]), (Some(C::SetState), 3));
}

#[test]
fn a_field_of_which_the_engine_knows_nothing_is_refused_by_name() {
    let refusal = Program::read(UNKNOWN).unwrap_err();
    assert_eq!(
        refusal.reason,
        "uses tcp_sock.rcv_ooopack, of which the engine knows nothing"
    );
    let line = refusal.line.unwrap();
    assert_eq!(line.file, "unknown.bpf.c");
    assert!(line.text.contains("rcv_ooopack"), "{}", line.text);
}

#[test]
fn a_call_without_an_end_and_a_wild_pointer_are_faults() {
    let mut machine = machine(ENDLESS, &[], false);
    let fault = machine.call(Callback::Ssthresh, &[Argument::Socket]);
    let fault = fault.unwrap_err().to_string();
    assert!(
        fault.starts_with("ssthresh: ran 1000000 instructions without an end (endless.bpf.c:"),
        "{fault}"
    );
    let fault = machine.call(Callback::UndoCwnd, &[Argument::Socket]);
    let fault = fault.unwrap_err().to_string();
    assert!(
        fault.starts_with("undo_cwnd: reads through a null pointer (endless.bpf.c:"),
        "{fault}"
    );
    let numbers = [Argument::Socket, Argument::Number(0), Argument::Number(1)];
    let fault = machine.call(Callback::CongAvoid, &numbers);
    let fault = fault.unwrap_err().to_string();
    assert!(
        fault.contains("writes a field of the socket that the kernel lets no control write"),
        "{fault}"
    );
}

/// A copy takes its time, however few instructions ask for it.
#[test]
fn a_call_that_copies_without_an_end_is_a_fault() {
    let mut machine = machine(COPYING, &[], false);
    let fault = machine.call(Callback::Ssthresh, &[Argument::Socket]);
    let fault = fault.unwrap_err().to_string();
    assert!(
        fault.starts_with("ssthresh: copies more bytes than a call may"),
        "{fault}"
    );
}

#[test]
fn what_is_no_object_is_refused() {
    for bytes in [&b""[..], b"\x7fELF", &AIMD[..200], b"int main() {}"] {
        let refusal = Program::read(bytes).unwrap_err();
        assert!(refusal.reason.contains("object for BPF"), "{refusal}");
    }
}

/// Whatever byte is wrong, reading and running end, and never by a panic.
#[test]
fn a_damaged_object_does_no_harm() {
    for at in (0..AIMD.len()).step_by(7) {
        let mut damaged = AIMD.to_vec();
        damaged[at] ^= 0x55;
        any_bytes::object(&damaged);
    }
}

/// A record of 4,000 calls by a machine: growth, losses, timeouts and undos.
fn record(parameters: &[(&str, i128)]) -> Vec<u8> {
    let mut machine = machine(AIMD, parameters, true);
    let mut random = 7_u64;
    let mut draw = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % most
    };
    for call in 0..4_000 {
        machine.set_clock(1_000_000 + call * 500_000);
        match draw(100) {
            which @ (0 | 3) => {
                let answer = machine
                    .call(Callback::Ssthresh, &[Argument::Socket])
                    .unwrap();
                machine.set(socket::SND_SSTHRESH, answer);
                // As the kernel does: after a loss, and after a timeout.
                machine.set(socket::SND_CWND, if which == 0 { answer } else { 1 });
            }
            1 => {
                let answer = machine
                    .call(Callback::UndoCwnd, &[Argument::Socket])
                    .unwrap();
                machine.set(socket::SND_CWND, answer);
            }
            2 => {
                let state = [Argument::Socket, Argument::Number(3)];
                machine.call(Callback::SetState, &state).unwrap();
            }
            _ => acknowledge(&mut machine, 1 + draw(3)),
        }
    }
    [&MAGIC[..], &machine.take_records()].concat()
}

fn aimd(parameters: &[(&str, i128)]) -> Arc<Program> {
    Arc::new(machine(AIMD, parameters, false).program().clone())
}

#[test]
fn a_record_given_again_is_answered_alike() {
    let record = record(&[]);
    let comparison = twin::compare(&aimd(&[]), &record).unwrap();
    assert_eq!(comparison.calls, 4_001);
    assert_eq!(comparison.equal, comparison.calls);
    assert_eq!(comparison.connections, 1);
    assert!(comparison.first.is_none());
    let of = |name: &str| {
        comparison
            .kinds
            .iter()
            .find(|(kind, _)| *kind == name)
            .unwrap()
            .1
    };
    assert!(of("ssthresh") > 10 && of("undo_cwnd") > 10 && of("cong_avoid") > 3_000);
    assert!(
        comparison.moved >= of("ssthresh"),
        "a reduction is the kernel's"
    );
}

/// β = 0.49 shows at the first reduction, and nowhere before.
#[test]
fn a_wrong_share_is_caught_at_the_first_reduction() {
    let record = record(&[]);
    let comparison = twin::compare(&aimd(&[("beta_percent", 49)]), &record).unwrap();
    let first = comparison.first.unwrap();
    assert_eq!(first.call.callback(), Some(Callback::Ssthresh));
    let reductions = record[MAGIC.len()..].chunks_exact(RECORD);
    let position = reductions.clone().position(|call| call[14] == 5).unwrap();
    assert_eq!(first.call.number, position as u64 + 1);
    assert_eq!(first.before.len(), 10);
    assert_eq!(first.before[9].number + 1, first.call.number);
    assert_ne!(first.result, first.call.result);
}

/// A threshold off by one shows at the call in which slow start reaches it.
#[test]
fn an_end_of_slow_start_off_by_one_is_caught_where_it_shows() {
    const OFF_BY_ONE: &[u8] = include_bytes!("programs/off_by_one.bpf.o");
    let wrong = Arc::new(Program::read(OFF_BY_ONE).unwrap());
    let comparison = twin::compare(&wrong, &record(&[])).unwrap();
    let first = comparison.first.unwrap();
    assert_eq!(first.call.callback(), Some(Callback::CongAvoid));
    assert!(first.call.before.cwnd < first.call.before.ssthresh);
    assert!(first.call.after.cwnd >= first.call.before.ssthresh);
}

#[test]
fn a_record_that_is_cut_short_is_refused() {
    let record = record(&[]);
    let cut = twin::compare(&aimd(&[]), &record[..record.len() - 5]).unwrap_err();
    assert!(
        cut.reason.contains("ends within a call, after 4000 calls"),
        "{cut}"
    );
    let other = twin::compare(&aimd(&[]), &record[1..]).unwrap_err();
    assert_eq!(other.reason, "is not a record of calls");
}
