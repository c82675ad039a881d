//! Namespaces: turns a new process into the first process of its own namespaces.

use crate::protocol::{Channel, Refusal, Response, Step};
use crate::system::{fork, unshare};
use rustix::io::Errno;
use rustix::process::{
    Signal, WaitOptions, getegid, geteuid, set_parent_process_death_signal, waitpid,
};
use rustix::thread::set_no_new_privs;
use std::cell::Cell;
use std::fs;
use std::io::{self, Read, Write};

/// Exit status of a process that ends because another one has ended.
const ENDED: i32 = 1;

/// Outcome of entering the namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    /// True if a user namespace was needed.
    pub(crate) user_namespace: bool,
    /// True if no process can gain privileges from here on.
    pub(crate) no_new_privileges: bool,
}

/// Makes the kernel kill the calling process when the thread that started it ends for any reason.
pub(crate) fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Moves the calling process into a network namespace and its next child into a PID namespace. Uses
/// a user namespace if privileges are missing.
pub(crate) fn enter() -> Result<Entered, Refusal> {
    let user_namespace = match unshare::network_and_process_namespaces() {
        Ok(()) => false,
        Err(Errno::PERM) => {
            enter_user_namespace()?;
            true
        }
        Err(error) => return Err(namespaces_refused(error)),
    };
    Ok(Entered {
        user_namespace,
        no_new_privileges: set_no_new_privs(true).is_ok(),
    })
}

/// Enters a user namespace in which the current user is root, with the other namespaces inside
/// (user_namespaces(7)).
fn enter_user_namespace() -> Result<(), Refusal> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare::user_namespace().map_err(|error| user_namespace_refused(error.into()))?;
    for (file, text) in [
        // Without this an unprivileged process may not write the group map.
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text).map_err(user_namespace_refused)?;
    }
    unshare::network_and_process_namespaces()
        .map_err(|error| user_namespace_refused(error.into()))?;
    // The new credentials may have cleared it, prctl(2).
    end_with_parent().map_err(user_namespace_refused)
}

fn namespaces_refused(error: Errno) -> Refusal {
    Refusal {
        step: Step::Namespaces,
        reason: format!(
            "cannot create network and PID namespaces (unshare: {})",
            io::Error::from(error)
        ),
        error: Some(error.raw_os_error()),
        remedy: match error {
            Errno::NOSPC | Errno::USERS => {
                "raise user.max_net_namespaces and user.max_pid_namespaces".into()
            }
            _ => "use a kernel with CONFIG_NET_NS and CONFIG_PID_NS".into(),
        },
    }
}

fn user_namespace_refused(error: io::Error) -> Refusal {
    Refusal {
        step: Step::UserNamespace,
        reason: format!("user namespaces need root here ({error})"),
        error: error.raw_os_error(),
        remedy: user_namespace_remedy(|name| fs::read_to_string(format!("/proc/sys/{name}")).ok()),
    }
}

/// Returns the remedy that enables user namespaces, from the settings with which distributions
/// disable them.
fn user_namespace_remedy(setting: impl Fn(&str) -> Option<String>) -> String {
    let is = |name: &str, value: &str| setting(name).is_some_and(|actual| actual.trim() == value);
    let cure = if is("user/max_user_namespaces", "0") {
        "set the sysctl user.max_user_namespaces to 1000"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "set the sysctl kernel.unprivileged_userns_clone to 1"
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0"
    } else {
        "in a container give it CAP_SYS_ADMIN and CAP_NET_ADMIN"
    };
    format!("run as root, or {cure}")
}

/// Forks the first process of the PID namespace, which runs `first`. Reports its id to the
/// supervisor, and waits until it ends. Returns the exit status.
pub(crate) fn run_first_process(
    channel: Channel,
    first: impl FnOnce(Channel) -> i32,
) -> Result<i32, Refusal> {
    let (mut gate, opener) = io::pipe().map_err(process_refused)?;
    // After the fork each process has its own copy of these cells.
    let (channel, opener) = (Cell::new(Some(channel)), Cell::new(Some(opener)));
    let child = fork::fork_into(|| {
        drop(opener.take());
        // If the parent ended before this process asked to end with it, the gate's other end is
        // closed.
        if end_with_parent().is_err() || gate.read_exact(&mut [0]).is_err() {
            return ENDED;
        }
        channel.take().map_or(ENDED, first)
    })
    .map_err(process_refused)?;
    if let (Some(channel), Some(mut opener)) = (channel.take(), opener.take()) {
        let id = Response::Started(child.as_raw_nonzero().get());
        channel
            .send(&id, None)
            .and_then(|()| opener.write_all(&[0]))
            .map_err(process_refused)?;
    }
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(process_refused(error.into())),
            Ok(ended) => {
                return Ok(ended
                    .and_then(|(_, status)| status.exit_status())
                    .unwrap_or(ENDED));
            }
        }
    }
}

pub(crate) fn process_refused(error: io::Error) -> Refusal {
    Refusal {
        step: Step::Process,
        reason: format!("cannot set up the host's process ({error})"),
        error: error.raw_os_error(),
        remedy: "start the host as a program of its own, with one thread".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_names_what_switched_user_namespaces_off() {
        let remedy = |name: &'static str, value: &'static str| {
            user_namespace_remedy(move |asked| (asked == name).then(|| format!("{value}\n")))
        };
        assert!(
            remedy("user/max_user_namespaces", "0").contains("user.max_user_namespaces to 1000")
        );
        assert!(remedy("user/max_user_namespaces", "100").contains("container"));
        assert!(
            remedy("kernel/unprivileged_userns_clone", "0")
                .contains("unprivileged_userns_clone to 1")
        );
        assert!(remedy("kernel/apparmor_restrict_unprivileged_userns", "1").contains("apparmor"));
    }
}
