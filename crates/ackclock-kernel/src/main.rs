//! Loads a congestion control into the running kernel, holds it, and records its calls.
//!
//! ```text
//! ackclock-kernel-host OBJECT NAME RECORDS [PARAMETER=VALUE …]
//! ackclock-kernel-host check OBJECT [PARAMETER=VALUE …]
//! ```
//!
//! The object is one of `ackclock.bpf.h`. Sockets know the control as NAME until standard input
//! ends; then calls not written yet are written, and the program ends. If it is killed, the kernel
//! takes the control back: nothing is pinned. Connections that have it keep it to their end.
//!
//! Each answer is one line of JSON on standard output: `{"loaded": …}`, then `{"recorded": …}`; or
//! `{"refused": …}` and the exit code of the refusal ([`Refusal`]).

mod load;
mod records;
mod refusal;
mod text;
mod verifier;

use load::Control;
use refusal::Refusal;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "ackclock-kernel-host OBJECT NAME RECORDS [PARAMETER=VALUE ...], or \
    ackclock-kernel-host check OBJECT [PARAMETER=VALUE ...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check", object, ref parameters @ ..] => check(Path::new(object), parameters),
        [object, name, records, ref parameters @ ..] => {
            hold(Path::new(object), name, Path::new(records), parameters)
        }
        _ => Err(Refusal::wrong(format!("usage: {USAGE}"))),
    };
    match done {
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

/// Loads a control, prints the verifier's verdict, and unloads it.
fn check(object: &Path, parameters: &[&str]) -> Result<(), Refusal> {
    let name = format!("acc_{:06x}", std::process::id() & 0xff_ffff);
    let control = Control::load(object, &name, parameters)?;
    answer(&json!({ "loaded": control.described() }));
    Ok(())
}

/// Loads a control and records its calls until standard input ends.
fn hold(object: &Path, name: &str, file: &Path, parameters: &[&str]) -> Result<(), Refusal> {
    let control = Control::load(object, name, parameters)?;
    let records = records::Recorder::new(&control, file)?;
    answer(&json!({ "loaded": control.described() }));
    let written = records.record_until_input_ends()?;
    let missed = control.missed()?;
    answer(&json!({ "recorded": { "records": written, "missed": missed } }));
    Ok(())
}
