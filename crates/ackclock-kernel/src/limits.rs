//! Limits on loading, set before an object is read: a library in C reads it, and a kernel.
#![expect(unsafe_code, reason = "limits, signals and polls of the system")]

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Most seconds of processor time of the library. It takes up to 0.02 s for a control that comes
/// with ackclock.
const LIBRARY_S: libc::time_t = 1;
/// Most seconds of processor time with those of the kernel. Its verifier takes up to 0.05 s for
/// such a control, and some seconds until it calls one too large.
const PROCESSOR_S: u64 = 20;
/// Most bytes that the library may hold. The types of a kernel take some ten megabytes.
const MEMORY_BYTES: u64 = 256 << 20;

/// Signals by which loading ends, and the answer: one line of JSON. A handler may not make text.
const TOO_LONG: &str = "{\"refused\":{\"blame\":\"control\",\"reason\":\"loading it takes more \
    processor time than 1 s, or 20 s with the kernel's; make it simpler\",\"log\":\"\"}}\n";
pub const BROKEN: &str = "the library that loads it (libbpf) fails at it; compile it again";
const ABORTED: &str = "{\"refused\":{\"blame\":\"control\",\"reason\":\"the library that loads it \
    (libbpf) fails at it; compile it again\",\"log\":\"\"}}\n";
const ENDS: [(libc::c_int, &str); 7] = [
    (libc::SIGVTALRM, TOO_LONG),
    (libc::SIGXCPU, TOO_LONG),
    (libc::SIGABRT, ABORTED),
    (libc::SIGBUS, ABORTED),
    (libc::SIGFPE, ABORTED),
    (libc::SIGILL, ABORTED),
    (libc::SIGSEGV, ABORTED),
];
/// Exit codes: of a refusal, and if nobody reads it.
const REFUSED: libc::c_int = 2;
const UNREAD: libc::c_int = 1;

/// True while an object is loaded.
static LOADING: AtomicBool = AtomicBool::new(false);

/// The limits, for as long as this lives.
#[derive(Debug)]
pub struct Limited(());

impl Limited {
    /// Sets the limits. From now on the process also ends when nobody reads its answer any more.
    /// It writes nothing but answers: a failure would have words of its own on standard error.
    ///
    /// # Errors
    /// The system does not set one.
    pub fn begin() -> io::Result<Limited> {
        silence()?;
        set(libc::RLIMIT_CPU, Some(PROCESSOR_S))?;
        set(libc::RLIMIT_DATA, Some(MEMORY_BYTES))?;
        for (signal, _) in ENDS {
            handle(signal, end as *const () as libc::sighandler_t)?;
        }
        set_timer(LIBRARY_S)?;
        LOADING.store(true, Ordering::Relaxed);
        thread::Builder::new().spawn(end_with_reader)?;
        Ok(Limited(()))
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        LOADING.store(false, Ordering::Relaxed);
        let _ = set_timer(0);
        for (signal, _) in ENDS {
            let _ = handle(signal, libc::SIG_DFL);
        }
        // A limit that stays makes a long run end early, with a signal that its supervisor sees.
        let _ = set(libc::RLIMIT_CPU, None);
        let _ = set(libc::RLIMIT_DATA, None);
    }
}

/// Sets a limit to a value, or to the most that this process may have.
fn set(resource: libc::__rlimit_resource_t, most: Option<u64>) -> io::Result<()> {
    // SAFETY: both calls get a pointer to a structure that lives.
    let done = unsafe {
        let mut limit: libc::rlimit = zeroed();
        if libc::getrlimit(resource, &raw mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_cur = most.map_or(limit.rlim_max, |most| most.min(limit.rlim_max));
        libc::setrlimit(resource, &raw const limit)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Closes standard error.
fn silence() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    // SAFETY: both descriptors are open.
    match unsafe { libc::dup2(nowhere.as_raw_fd(), libc::STDERR_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Sends SIGVTALRM after so many seconds of processor time without the kernel's; 0 for never.
fn set_timer(seconds: libc::time_t) -> io::Result<()> {
    // SAFETY: the structure is whole.
    let done = unsafe {
        let mut timer: libc::itimerval = zeroed();
        timer.it_value.tv_sec = seconds;
        libc::setitimer(libc::ITIMER_VIRTUAL, &raw const timer, null_mut())
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn handle(signal: libc::c_int, action: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: the structure is whole, and the handler calls only what a handler may.
    let done = unsafe {
        let mut handler: libc::sigaction = zeroed();
        handler.sa_sigaction = action;
        handler.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const handler, null_mut())
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Answers and ends the process, whatever it was doing.
extern "C" fn end(signal: libc::c_int) {
    let answer = ENDS.iter().find(|(end, _)| *end == signal);
    let answer = answer.map_or("", |(_, answer)| answer);
    // SAFETY: write(2) and _exit(2) may be called in a handler; the text lives.
    unsafe {
        libc::write(libc::STDOUT_FILENO, answer.as_ptr().cast(), answer.len());
        libc::_exit(REFUSED);
    }
}

/// Ends the process, if an object is being loaded, once the reader of standard output is gone.
fn end_with_reader() {
    let mut output = libc::pollfd {
        fd: libc::STDOUT_FILENO,
        events: 0, // errors are reported unasked
        revents: 0,
    };
    // SAFETY: the structure lives, and _exit(2) may be called anywhere.
    unsafe {
        if libc::poll(&raw mut output, 1, -1) == 1 && LOADING.load(Ordering::Relaxed) {
            libc::_exit(UNREAD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_answer_is_a_line_of_json_with_the_limit() {
        for (_, answer) in ENDS {
            let value: serde_json::Value = serde_json::from_str(answer).unwrap();
            assert_eq!(value["refused"]["blame"], "control");
            assert_eq!(answer.lines().count(), 1);
        }
        let seconds = format!("than {LIBRARY_S} s, or {PROCESSOR_S} s with");
        assert!(TOO_LONG.contains(&seconds));
        assert!(ABORTED.contains(BROKEN));
    }

    /// Does one of these in a process of its own, within the limits.
    #[test]
    fn time_memory_and_a_crash_end_with_an_answer() {
        const ASKED: &str = "ACKCLOCK_BEYOND_LIMITS";
        match std::env::var(ASKED).as_deref() {
            Ok("time") => {
                let _limited = Limited::begin().unwrap();
                loop {
                    std::hint::spin_loop();
                }
            }
            Ok("memory") => {
                let _limited = Limited::begin().unwrap();
                std::hint::black_box(vec![1_u8; 2 * MEMORY_BYTES as usize]);
            }
            Ok(_) => {
                let _limited = Limited::begin().unwrap();
                std::process::abort();
            }
            Err(_) => {
                let own = "limits::tests::time_memory_and_a_crash_end_with_an_answer";
                for (asked, answer) in [("time", TOO_LONG), ("memory", ABORTED), ("crash", ABORTED)]
                {
                    let mut command = Command::new(std::env::current_exe().unwrap());
                    let command = command
                        .args(["--exact", own, "--nocapture"])
                        .env(ASKED, asked);
                    let output = command.output().unwrap();
                    assert_eq!(output.status.code(), Some(REFUSED), "{asked}");
                    let text = String::from_utf8(output.stdout).unwrap();
                    assert!(text.ends_with(answer), "{asked}: {text}");
                }
            }
        }
    }
}
