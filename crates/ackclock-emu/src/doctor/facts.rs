//! Facts about this machine, without judgement.

use crate::files::compiler;
use crate::host::{Host, HostError};
use crate::program::HostProgram;
use crate::protocol::{Configuration, DeviceChoice, HostFacts, Refusal, Step};
use crate::schedule;
use crate::settings::{ACCURATE_ECN, KernelAnswer};
use rustix::thread::{CapabilitySet, capabilities};
use rustix::time::{ClockId, clock_getres};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) kernel: String,
    /// Ticks per second.
    pub(super) tick_hz: u64,
    pub(super) timer_resolution_ns: u64,
    pub(super) processors: usize,
    pub(super) tun: Result<HostFacts, Refusal>,
    pub(super) packet_socket: Result<HostFacts, Refusal>,
    /// The kernel's answer to a thread that asks for real-time priority.
    pub(super) real_time: Result<(), String>,
    pub(super) real_time_share: Option<f64>,
    /// The kernel's answer to a request that keeps processors awake.
    pub(super) wakefulness: Result<(), String>,
    /// The kernel's controls, and its answer to a socket in a host that asks for them.
    pub(super) controls: Vec<(String, KernelAnswer)>,
    /// The kernel's answer to a host that asks for accurate ECN; `None` without a host.
    pub(super) accurate_ecn: Option<KernelAnswer>,
    /// The value of `tcp_ecn` outside of hosts.
    pub(super) own_ecn: Option<String>,
    /// Controls that are modules and not loaded.
    pub(super) loadable_controls: Vec<String>,
    pub(super) type_information: bool,
    pub(super) may_load_programs: bool,
    /// The program that loads controls into the kernel.
    pub(super) loader: Option<PathBuf>,
    /// The compiler of controls.
    pub(super) compiler: Option<PathBuf>,
}

impl Facts {
    pub(super) fn gather(program: &HostProgram, loader: Option<&Path>) -> Facts {
        let registered = registered_controls();
        let (mut controls, mut accurate_ecn) = (None, None);
        let mut try_host = |choice| {
            Host::start(program, choice)
                .map_err(as_refusal)
                .map(|(mut host, _device)| {
                    let answered = host.congestion_controls(&registered).ok();
                    controls = controls.take().or(answered);
                    accurate_ecn = accurate_ecn.take().or_else(|| ask_accurate_ecn(&mut host));
                    host.facts().clone()
                })
        };
        let (tun, packet_socket) = (
            try_host(DeviceChoice::Tun),
            try_host(DeviceChoice::PacketSocket),
        );
        Facts {
            kernel: kernel(),
            tick_hz: 1_000_000_000 / resolution_ns(ClockId::MonotonicCoarse).max(1),
            timer_resolution_ns: resolution_ns(ClockId::Monotonic),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            tun,
            packet_socket,
            real_time: schedule::try_real_time(),
            real_time_share: schedule::real_time_share(),
            wakefulness: schedule::Wakefulness::request()
                .map(drop)
                .map_err(|error| error.to_string()),
            loadable_controls: loadable_controls(
                &Path::new("/lib/modules").join(release()),
                &registered,
            ),
            controls: controls.unwrap_or_default(),
            accurate_ecn,
            own_ecn: fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn")
                .ok()
                .map(|value| value.trim().to_owned()),
            type_information: Path::new("/sys/kernel/btf/vmlinux").exists(),
            may_load_programs: capabilities(None).is_ok_and(|sets| {
                sets.effective.contains(CapabilitySet::SYS_ADMIN)
                    || sets
                        .effective
                        .contains(CapabilitySet::BPF | CapabilitySet::NET_ADMIN)
            }),
            loader: loader.map(Path::to_owned),
            compiler: compiler(),
        }
    }
}

/// Asks a host for accurate ECN (RFC 9768). Returns the kernel's answer.
fn ask_accurate_ecn(host: &mut Host) -> Option<KernelAnswer> {
    let (name, value) = ACCURATE_ECN;
    let configuration = Configuration {
        settings: vec![(name.into(), value.into())],
        ..Configuration::default()
    };
    let answers = host.configure(configuration).ok()?;
    answers
        .into_iter()
        .find(|entry| entry.name == name && entry.asked == value)
        .map(|entry| entry.outcome)
}

/// Returns name and release of the kernel.
pub(crate) fn kernel() -> String {
    let system = rustix::system::uname();
    format!("{} {}", system.sysname().to_string_lossy(), release())
}

fn release() -> String {
    let system = rustix::system::uname();
    system.release().to_string_lossy().into_owned()
}

/// Returns the resolution of a clock; the coarse clock moves once per tick, clock_getres(2).
fn resolution_ns(clock: ClockId) -> u64 {
    let resolution = clock_getres(clock);
    resolution.tv_sec.cast_unsigned() * 1_000_000_000 + resolution.tv_nsec.cast_unsigned()
}

fn as_refusal(error: HostError) -> Refusal {
    match error {
        HostError::Refused(refusal) => refusal,
        other => Refusal {
            step: Step::Program,
            reason: other.to_string(),
            error: None,
            remedy: "try again; if it fails again, please report it".into(),
        },
    }
}

/// Returns the names of the congestion controls that the kernel offers.
pub(crate) fn registered_controls() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    let names: BTreeSet<&str> = list.split_whitespace().collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the unregistered controls with a file `tcp_NAME.ko`, perhaps compressed. Some such files
/// are not controls.
fn loadable_controls(modules: &Path, registered: &[String]) -> Vec<String> {
    let files = fs::read_dir(modules.join("kernel/net/ipv4"))
        .into_iter()
        .flatten()
        .flatten();
    let names: BTreeSet<String> = files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            Some(name.strip_prefix("tcp_")?.split_once(".ko")?.0.to_owned())
        })
        .collect();
    let others = ["diag", "probe", "sigpool"];
    names
        .into_iter()
        .filter(|name| !registered.contains(name) && !others.contains(&&**name))
        .collect()
}
