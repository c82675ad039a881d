//! Loads a congestion control into the running kernel, holds it, and records its calls.
//!
//! ```text
//! ackclock-kernel-host OBJECT NAME RECORDS [PARAMETER=VALUE …]
//! ackclock-kernel-host check OBJECT [PARAMETER=VALUE …]
//! ```
//!
//! OBJECT is a file, or `-` for standard input. While it is loaded, processor time and memory have
//! limits ([`limits`]), and the program ends when nobody reads its answer any more. The object is
//! one of `ackclock.bpf.h`. Sockets know the control as NAME until standard input ends; then calls
//! not written yet are written, and the program ends. If it is killed, the kernel takes the control
//! back: nothing is pinned. Connections that have it keep it to their end.
//!
//! Each answer is one line of JSON on standard output: `{"loaded": …}`, then `{"recorded": …}`; or
//! `{"refused": …}` and the exit code of the refusal ([`Refusal`]).

mod limits;
mod load;
mod object;
mod records;
mod refusal;
mod text;
mod verifier;

use limits::Limited;
use load::Control;
use object::ObjectFile;
use refusal::Refusal;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "ackclock-kernel-host OBJECT NAME RECORDS [PARAMETER=VALUE ...], or \
    ackclock-kernel-host check OBJECT [PARAMETER=VALUE ...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = catch_unwind(|| match arguments[..] {
        ["check", object, ref parameters @ ..] => check(object, parameters),
        [object, name, records, ref parameters @ ..] => {
            hold(object, name, Path::new(records), parameters)
        }
        _ => Err(Refusal::wrong(format!("usage: {USAGE}"))),
    });
    match done.unwrap_or_else(|_| Err(Refusal::wrong(limits::BROKEN))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            answer(&refusal.as_json());
            refusal.code()
        }
    }
}

/// Writes one answer. Who asked may have gone, and then nobody needs it.
fn answer(value: &Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

/// Loads a control within the limits.
fn load(object: &str, name: &str, parameters: &[&str]) -> Result<Control, Refusal> {
    let _limited = Limited::begin()
        .map_err(|error| Refusal::lacking(format!("loading cannot be limited ({error})")))?;
    Control::load(&ObjectFile::read(object)?, name, parameters)
}

/// Loads a control, prints the verifier's verdict, and unloads it.
fn check(object: &str, parameters: &[&str]) -> Result<(), Refusal> {
    let name = format!("acc_{:06x}", std::process::id() & 0xff_ffff);
    let control = load(object, &name, parameters)?;
    answer(&json!({ "loaded": control.described() }));
    Ok(())
}

/// Loads a control and records its calls until standard input ends.
fn hold(object: &str, name: &str, file: &Path, parameters: &[&str]) -> Result<(), Refusal> {
    let control = load(object, name, parameters)?;
    let records = records::Recorder::new(&control, file)?;
    answer(&json!({ "loaded": control.described() }));
    let written = records.record_until_input_ends()?;
    let missed = control.missed()?;
    answer(&json!({ "recorded": { "records": written, "missed": missed } }));
    Ok(())
}
