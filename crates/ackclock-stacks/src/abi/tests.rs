use super::*;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Writes an assertion in C for the place of each field.
macro_rules! places {
    ($text:ident, $c:literal, $rust:ty: $($field:ident)*) => {
        let size = size_of::<$rust>();
        writeln!($text, "_Static_assert(sizeof({}) == {size}, \"size\");", $c).unwrap();
        $(writeln!(
            $text,
            "_Static_assert(offsetof({}, {}) == {}, \"{}\");",
            $c, stringify!($field), offset_of!($rust, $field), stringify!($field)
        ).unwrap();)*
    };
}

#[test]
fn the_header_has_the_same_fields_in_the_same_places() {
    let mut text = String::from("#include \"ackclock_stack.h\"\n");
    places!(text, "ackclock_config", Config: size opens sends encrypts discovers_mtu trains header
        receive_window seed control options);
    places!(text, "ackclock_stack", Table: abi size flags name version controls create destroy open
        handle_datagram handle_timeout poll_transmit poll_timeout write delivered statistics fault);
    let numbers = [
        (Number::Cwnd, "cwnd"),
        (Number::Ssthresh, "ssthresh"),
        (Number::InFlight, "in_flight"),
        (Number::LatestRtt, "latest_rtt"),
        (Number::SmoothedRtt, "smoothed_rtt"),
        (Number::Timeout, "timeout"),
        (Number::PacingRate, "pacing_rate"),
        (Number::LostPackets, "lost_packets"),
        (Number::CongestionEvents, "congestion_events"),
        (Number::Timeouts, "timeouts"),
    ];
    assert_eq!(numbers.len(), Statistics::NUMBERS);
    places!(text, "ackclock_statistics", Statistics: size);
    for (place, name) in numbers {
        let offset = offset_of!(Statistics, numbers) + 8 * place as usize;
        writeln!(
            text,
            "_Static_assert(offsetof(ackclock_statistics, {name}) == {offset}, \"{name}\");"
        )
        .unwrap();
    }
    writeln!(
        text,
        "_Static_assert(ACKCLOCK_STACK_ABI == {VERSION}, \"version\");\n\
        _Static_assert(ACKCLOCK_PROCESS_STATE == {PROCESS_STATE}, \"flag\");"
    )
    .unwrap();
    let source = tempfile::Builder::new().suffix(".c").tempfile().unwrap();
    std::fs::write(source.path(), text).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/stacks");
    let done = Command::new("cc")
        .arg("-fsyntax-only")
        .arg("-I")
        .arg(headers)
        .arg(source.path())
        .output()
        .expect("Rust links with a C compiler");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
