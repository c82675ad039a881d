//! Flows between sockets of this machine's kernel. Each case runs in a process and a network
//! namespace of its own. The namespace has only the loopback interface and ends with the process.
//! If none can be created, the cases are skipped, and say so.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod sessions;
#[cfg(target_os = "linux")]
mod stacks;

#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Exit status of a case that cannot run on this machine.
#[cfg(target_os = "linux")]
const SKIPPED: i32 = 77;

/// Cases that run at a time. They mostly wait, and none has to be done within some time.
#[cfg(target_os = "linux")]
const AT_A_TIME: usize = 4;

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [inside, name] = &arguments[..]
        && inside == "--inside"
    {
        return run_inside(name);
    }
    let wanted: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen: Vec<&str> = all()
        .map(|(name, _)| *name)
        .filter(|name| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())))
        .collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(name) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.fetch_add(usize::from(!passes(name)), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0, "cases failed");
}

/// Runs a case in a process of its own. Prints what it said and the outcome, together.
#[cfg(target_os = "linux")]
fn passes(name: &str) -> bool {
    let program = std::env::current_exe().expect("the test knows where it is");
    let ended = std::process::Command::new(program)
        .args(["--inside", name])
        .output()
        .expect("the test can start itself");
    let outcome = match ended.status.code() {
        Some(0) => "ok",
        Some(SKIPPED) => "SKIPPED",
        _ => "FAILED",
    };
    let output = [ended.stdout, ended.stderr].concat();
    println!(
        "{}test {name} ... {outcome}",
        String::from_utf8_lossy(&output)
    );
    outcome != "FAILED"
}

/// Yields all cases by name.
#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = &'static (&'static str, fn())> {
    let all = cases::CASES.iter().chain(sessions::CASES);
    all.chain(stacks::CASES)
}

#[cfg(target_os = "linux")]
fn run_inside(name: &str) {
    if let Err(error) = namespace::enter() {
        eprintln!("skipped {name}: no network namespace is to be had here: {error}");
        std::process::exit(SKIPPED);
    }
    let (_, case) = all()
        .find(|(known, _)| *known == name)
        .expect("the case is in the list");
    case();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("skipped: these sockets are Linux's");
}
