//! RFC 5348, section by section. `docs/notes/tfrc-rfc5348.md` lists requirements that do not apply.

use ackclock_spec::units::{Bytes, Span, Time};

mod section_4_feedback;
mod section_4_sender;
mod section_5;
mod section_6;
mod section_7;

const RTT: Span = Span::from_millis(100);
const SEGMENT: Bytes = Bytes(1000);

fn ms(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

#[track_caller]
fn close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value - expected).abs() <= relative * expected.abs(),
        "{value} instead of {expected}"
    );
}
