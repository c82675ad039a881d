//! Judgement of the facts about a machine. Does no input or output.

use super::facts::Facts;
use super::{Examination, Finding, State};
use crate::kernel_control;
use crate::protocol::{HostFacts, Refusal, Step};
use crate::settings::KernelAnswer;

/// Timer resolution in nanoseconds above which every delay is late.
const COARSE_TIMER_NS: u64 = 1000;
/// Receive buffer, in bytes as the kernel counts them, that a burst of a few hundred packets does
/// not overflow.
const ENOUGH_BUFFER_BYTES: u64 = 2 << 20;
/// Controls that scenarios commonly use.
const USUAL_CONTROLS: [&str; 2] = ["reno", "cubic"];

/// First release that takes a control back when its loader ends.
const LEAST_RELEASE: (u32, u32) = (6, 4);

pub(super) fn judge(facts: &Facts) -> Examination {
    let (namespaces, tun, packet_socket) = (
        namespaces(facts),
        device("tun", "TUN device", &facts.tun),
        packet_socket(facts),
    );
    let emulation = facts.tun.is_ok() || facts.packet_socket.is_ok();
    let findings = vec![
        namespaces,
        tun,
        packet_socket,
        real_time(facts),
        wakefulness(facts),
        controls(facts),
        kernel(facts),
        processors(facts),
        programs(facts),
    ];
    Examination {
        emulation,
        findings,
    }
}

pub(super) fn finding(
    name: &'static str,
    label: &'static str,
    state: State,
    description: String,
) -> Finding {
    Finding {
        name,
        label,
        state,
        description,
        remedy: None,
    }
}

impl Finding {
    pub(super) fn with_remedy(self, remedy: impl Into<String>) -> Finding {
        Finding {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

/// Returns the controls that a socket in a host may use.
pub(super) fn usable_controls(facts: &Facts) -> Vec<&str> {
    facts
        .controls
        .iter()
        .filter(|(_, outcome)| matches!(outcome, KernelAnswer::Accepted { .. }))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Judges namespaces: they are available if any host got as far as its device.
fn namespaces(facts: &Facts) -> Finding {
    let (name, label) = ("namespaces", "network namespaces");
    let hosts = [&facts.tun, &facts.packet_socket];
    if let Some(host) = hosts.iter().find_map(|host| host.as_ref().ok()) {
        let how = if host.user_namespace {
            "with a user namespace, without root"
        } else {
            "with privileges"
        };
        return finding(name, label, State::Yes, how.into());
    }
    match hosts.map(|host| host.as_ref().err()) {
        [Some(refusal), _] | [_, Some(refusal)] if refusal.step < Step::Settings => {
            finding(name, label, State::No, refusal.reason.clone()).with_remedy(&refusal.remedy)
        }
        _ => finding(name, label, State::Yes, "available".into()),
    }
}

fn device(name: &'static str, label: &'static str, host: &Result<HostFacts, Refusal>) -> Finding {
    match host {
        Ok(_) => finding(name, label, State::Yes, "a host with one started".into()),
        Err(refusal) if refusal.step < Step::Settings => finding(
            name,
            label,
            State::No,
            "not tried: it needs network namespaces".into(),
        ),
        Err(refusal) => {
            finding(name, label, State::No, refusal.reason.clone()).with_remedy(&refusal.remedy)
        }
    }
}

fn packet_socket(facts: &Facts) -> Finding {
    let (name, label) = ("packet_socket", "veth pair with a packet socket");
    let Some(bytes) = facts
        .packet_socket
        .as_ref()
        .ok()
        .and_then(|host| host.device.receive_buffer_bytes)
    else {
        return device(name, label, &facts.packet_socket);
    };
    let buffer = format!(
        "a host with one started; its receive buffer holds {} kB",
        bytes / 1000
    );
    if bytes >= ENOUGH_BUFFER_BYTES {
        finding(name, label, State::Yes, buffer)
    } else {
        finding(
            name,
            label,
            State::Partly,
            format!("{buffer}, which bursts may overflow"),
        )
        .with_remedy("set the sysctl net.core.rmem_max to 16777216, or run as root")
    }
}

fn real_time(facts: &Facts) -> Finding {
    let (name, label) = ("real_time", "real-time priority");
    match (&facts.real_time, facts.real_time_share) {
        (Err(reason), _) => {
            let refusal = format!(
                "SCHED_FIFO is refused ({reason}); packets may leave milliseconds late when the \
                machine is busy"
            );
            finding(name, label, State::No, refusal).with_remedy(
                "run as root, or give the user a limit rtprio of 1 in /etc/security/limits.conf",
            )
        }
        (Ok(()), None) => finding(name, label, State::Yes, "SCHED_FIFO".into()),
        (Ok(()), Some(share)) if share < 0.5 => {
            let limit = format!(
                "SCHED_FIFO, but stopped after {:.0} % of each period",
                share * 100.0
            );
            finding(name, label, State::Partly, limit)
                .with_remedy("set the sysctl kernel.sched_rt_runtime_us to 950000")
        }
        (Ok(()), Some(share)) => {
            let throttling = if share < 1.0 {
                format!("for at most {:.0} % of each second", share * 100.0)
            } else {
                "without limit".into()
            };
            finding(name, label, State::Yes, format!("SCHED_FIFO, {throttling}"))
        }
    }
}

fn wakefulness(facts: &Facts) -> Finding {
    let (name, label) = ("wakefulness", "processors kept awake");
    match &facts.wakefulness {
        Ok(()) => finding(
            name,
            label,
            State::Yes,
            "by a request to /dev/cpu_dma_latency".into(),
        ),
        Err(reason) => {
            let refusal = format!(
                "/dev/cpu_dma_latency: {reason}; waking a processor delays some packets, by \
                milliseconds in a virtual machine"
            );
            finding(name, label, State::No, refusal).with_remedy("run as root")
        }
    }
}

fn controls(facts: &Facts) -> Finding {
    let (name, label) = ("congestion_controls", "congestion controls");
    let usable = usable_controls(facts);
    if usable.is_empty() {
        return finding(
            name,
            label,
            State::No,
            "not tried: no host could be started".into(),
        );
    }
    let mut list = format!("hosts may use {}", usable.join(", "));
    if !facts.loadable_controls.is_empty() {
        list += &format!("; not loaded: {}", facts.loadable_controls.join(", "));
    }
    let modules = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!(" tcp_{name}"))
            .collect::<String>()
    };
    let missing: Vec<&str> = USUAL_CONTROLS
        .into_iter()
        .filter(|name| !usable.contains(name))
        .collect();
    if !missing.is_empty() {
        let remedy = format!("as root: modprobe -a{}", modules(&missing));
        finding(name, label, State::Partly, list).with_remedy(remedy)
    } else if let Some(first) = facts.loadable_controls.first() {
        finding(name, label, State::Yes, list).with_remedy(format!(
            "for more, as root: modprobe -a{} …",
            modules(&[first])
        ))
    } else {
        finding(name, label, State::Yes, list)
    }
}

fn kernel(facts: &Facts) -> Finding {
    let coarse = facts.timer_resolution_ns > COARSE_TIMER_NS;
    let timers = if coarse {
        "timers at ticks only"
    } else {
        "high-resolution timers"
    };
    let description = format!(
        "{}, {} ticks per second, {timers}",
        facts.kernel, facts.tick_hz
    );
    if coarse {
        finding("kernel", "kernel", State::Partly, description)
            .with_remedy("use a kernel with CONFIG_HIGH_RES_TIMERS, started without highres=off")
    } else {
        finding("kernel", "kernel", State::Yes, description)
    }
}

fn processors(facts: &Facts) -> Finding {
    let (name, label) = ("processors", "processors");
    match facts.processors {
        0 | 1 => finding(
            name,
            label,
            State::Partly,
            "one, shared by the emulator and the hosts".into(),
        )
        .with_remedy("use two processors, or stay below 100 Mbit/s"),
        many => finding(
            name,
            label,
            State::Yes,
            format!("{many} available to this process"),
        ),
    }
}

/// Judges if controls of scenarios can be loaded into the kernel.
fn programs(facts: &Facts) -> Finding {
    let (name, label) = ("bpf", "controls loaded into the kernel");
    let lacking = |reason: &str, remedy: &str| {
        finding(name, label, State::No, reason.into()).with_remedy(remedy)
    };
    if release_of(&facts.kernel).is_none_or(|release| release < LEAST_RELEASE) {
        let (major, minor) = LEAST_RELEASE;
        let reason =
            format!("before Linux {major}.{minor} a control outlives the run that loads it");
        return lacking(&reason, &format!("use Linux {major}.{minor} or later"));
    }
    if !facts.type_information {
        return lacking(
            "no type information: /sys/kernel/btf/vmlinux is not there",
            "use a kernel with CONFIG_DEBUG_INFO_BTF",
        );
    }
    if facts.loader.is_none() {
        return lacking(
            "ackclock-kernel-host, which loads them, is not installed",
            kernel_control::REMEDY,
        );
    }
    if !facts.may_load_programs {
        return lacking(
            "no privilege to load them",
            "run as root, or with CAP_BPF and CAP_NET_ADMIN",
        );
    }
    match &facts.compiler {
        Some(compiler) => {
            let compiled_by = format!(
                "with privileges; C source is compiled by {}",
                compiler.display()
            );
            finding(name, label, State::Yes, compiled_by)
        }
        None => finding(
            name,
            label,
            State::Partly,
            "those that come with ackclock, and objects; there is no clang for C source".into(),
        )
        .with_remedy("install clang; on Debian and Ubuntu: apt install clang"),
    }
}

/// Returns the version in "Linux 6.18.44-generic".
fn release_of(kernel: &str) -> Option<(u32, u32)> {
    let release = kernel.rsplit(' ').next()?;
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::device::{DeviceFacts, DeviceKind};

    fn host(kind: DeviceKind, buffer: Option<u64>) -> HostFacts {
        HostFacts {
            user_namespace: true,
            no_new_privileges: true,
            device: DeviceFacts {
                kind,
                ethernet: None,
                receive_buffer_bytes: buffer,
            },
            tun_refused: None,
        }
    }

    fn refusal(step: Step) -> Refusal {
        Refusal {
            step,
            reason: "the reason".into(),
            error: Some(1),
            remedy: "the remedy".into(),
        }
    }

    pub fn accepted(name: &str) -> (String, KernelAnswer) {
        (name.into(), KernelAnswer::Accepted { value: name.into() })
    }

    pub fn good() -> Facts {
        Facts {
            kernel: "Linux 6.18".into(),
            tick_hz: 250,
            timer_resolution_ns: 1,
            processors: 2,
            tun: Ok(host(DeviceKind::Tun, None)),
            packet_socket: Ok(host(DeviceKind::PacketSocket, Some(32 << 20))),
            real_time: Ok(()),
            real_time_share: Some(0.95),
            wakefulness: Ok(()),
            controls: vec![accepted("cubic"), accepted("reno")],
            accurate_ecn: Some(KernelAnswer::Accepted { value: "3".into() }),
            own_ecn: Some("2".into()),
            loadable_controls: vec![],
            type_information: true,
            may_load_programs: true,
            loader: Some("/usr/bin/ackclock-kernel-host".into()),
            compiler: Some("/usr/bin/clang".into()),
        }
    }

    pub fn of<'a>(examination: &'a Examination, name: &str) -> &'a Finding {
        examination
            .findings
            .iter()
            .find(|finding| finding.name == name)
            .unwrap()
    }

    #[test]
    fn a_good_machine_needs_no_remedy() {
        let examination = judge(&good());
        assert!(examination.emulation);
        for finding in &examination.findings {
            assert_eq!(
                (finding.state, &finding.remedy),
                (State::Yes, &None),
                "{}",
                finding.name
            );
        }
        assert_eq!(
            of(&examination, "real_time").description,
            "SCHED_FIFO, for at most 95 % of each second"
        );
        assert_eq!(
            of(&examination, "kernel").description,
            "Linux 6.18, 250 ticks per second, high-resolution timers"
        );
    }

    #[test]
    fn a_control_needs_kernel_loader_privilege_and_for_source_a_compiler() {
        let remedy = |facts: Facts| {
            let finding = programs(&facts);
            (finding.state, finding.remedy.unwrap_or_default())
        };
        let old = Facts {
            kernel: "Linux 6.3.13-generic".into(),
            ..good()
        };
        assert_eq!(remedy(old), (State::No, "use Linux 6.4 or later".into()));
        let bare = Facts {
            type_information: false,
            ..good()
        };
        assert_eq!(
            remedy(bare),
            (State::No, "use a kernel with CONFIG_DEBUG_INFO_BTF".into())
        );
        let without = Facts {
            loader: None,
            ..good()
        };
        let (state, cure) = remedy(without);
        assert_eq!(state, State::No);
        assert!(cure.contains("pip install 'ackclock[kernel]'"), "{cure}");
        assert!(cure.contains("make kernel"), "{cure}");
        let nobody = Facts {
            may_load_programs: false,
            ..good()
        };
        let root = "run as root, or with CAP_BPF and CAP_NET_ADMIN";
        assert_eq!(remedy(nobody), (State::No, root.into()));
        let only_objects = Facts {
            compiler: None,
            ..good()
        };
        assert_eq!(remedy(only_objects).0, State::Partly);
    }

    #[test]
    fn what_is_missing_has_a_remedy() {
        let poor = Facts {
            timer_resolution_ns: 4_000_000,
            processors: 1,
            packet_socket: Ok(host(DeviceKind::PacketSocket, Some(425_984))),
            tun: Err(refusal(Step::Device)),
            real_time: Err("EPERM".into()),
            wakefulness: Err("EACCES".into()),
            controls: vec![
                accepted("reno"),
                (
                    "bbr".into(),
                    KernelAnswer::Refused {
                        reason: "EPERM".into(),
                    },
                ),
            ],
            type_information: false,
            ..good()
        };
        let examination = judge(&poor);
        assert!(examination.emulation, "the packet socket is there");
        for finding in &examination.findings {
            assert_eq!(
                finding.state == State::Yes,
                finding.name == "namespaces",
                "{finding:?}"
            );
            assert_eq!(
                finding.state != State::Yes,
                finding.remedy.is_some(),
                "{finding:?}"
            );
        }
        assert_eq!(
            of(&examination, "tun").remedy.as_deref(),
            Some("the remedy")
        );
        assert_eq!(
            of(&examination, "congestion_controls").remedy.as_deref(),
            Some("as root: modprobe -a tcp_cubic")
        );
        assert!(
            !of(&examination, "congestion_controls")
                .description
                .contains("bbr")
        );
        assert!(
            of(&examination, "packet_socket")
                .description
                .contains("425 kB")
        );
    }

    #[test]
    fn without_namespaces_nothing_else_is_blamed() {
        let refused = || Err(refusal(Step::UserNamespace));
        let examination = judge(&Facts {
            tun: refused(),
            packet_socket: refused(),
            controls: vec![],
            ..good()
        });
        assert!(!examination.emulation);
        let namespaces = of(&examination, "namespaces");
        assert_eq!(
            (namespaces.state, namespaces.description.as_str()),
            (State::No, "the reason")
        );
        assert_eq!(namespaces.remedy.as_deref(), Some("the remedy"));
        for name in ["tun", "packet_socket", "congestion_controls"] {
            let finding = of(&examination, name);
            assert!(
                finding.description.starts_with("not tried:") && finding.remedy.is_none(),
                "{finding:?}"
            );
        }
        let refused = || Err(refusal(Step::Device));
        let examination = judge(&Facts {
            tun: refused(),
            packet_socket: refused(),
            controls: vec![],
            ..good()
        });
        assert!(!examination.emulation && of(&examination, "namespaces").state == State::Yes);
    }

    #[test]
    fn throttling_and_modules() {
        let facts = Facts {
            real_time_share: Some(0.1),
            loadable_controls: vec!["vegas".into()],
            ..good()
        };
        let examination = judge(&facts);
        assert_eq!(of(&examination, "real_time").state, State::Partly);
        let controls = of(&examination, "congestion_controls");
        assert_eq!(
            controls.description,
            "hosts may use cubic, reno; not loaded: vegas"
        );
        assert_eq!(
            controls.remedy.as_deref(),
            Some("for more, as root: modprobe -a tcp_vegas …")
        );
        let endless = judge(&Facts {
            real_time_share: Some(1.0),
            ..good()
        });
        assert_eq!(
            of(&endless, "real_time").description,
            "SCHED_FIFO, without limit"
        );
    }
}
