//! Flows between sockets of this machine's kernel. Each case runs in a process and a network
//! namespace of its own. The namespace has only the loopback interface and ends with the process.
//! If none can be created, the cases are skipped, and say so.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod sessions;

/// Exit status of a case that cannot run on this machine.
#[cfg(target_os = "linux")]
const SKIPPED: i32 = 77;

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
    let mut failed = 0;
    for (name, _) in all() {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let program = std::env::current_exe().expect("the test knows where it is");
        let status = std::process::Command::new(program)
            .args(["--inside", name])
            .status()
            .expect("the test can start itself");
        let outcome = match status.code() {
            Some(0) => "ok",
            Some(SKIPPED) => "SKIPPED",
            _ => {
                failed += 1;
                "FAILED"
            }
        };
        println!("test {name} ... {outcome}");
    }
    assert_eq!(failed, 0, "cases failed");
}

/// Yields all cases by name.
#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = &'static (&'static str, fn())> {
    cases::CASES.iter().chain(sessions::CASES)
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
