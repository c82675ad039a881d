//! The process that becomes a host, and serves the supervisor's requests until the supervisor ends
//! it or is gone.

use crate::device::{NAME, TRANSMIT_QUEUE};
use crate::namespace::{self, Entered};
use crate::netlink::{Metrics, Netlink, Route};
use crate::protocol::{
    Channel, Configuration, DeviceChoice, DeviceStatistics, HostFacts, Refusal, ReportEntry,
    Request, Response, Step, readable,
};
use crate::settings::{self, KernelAnswer};
use crate::system::child_signal;
use crate::{packet_socket, tun};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use rustix::process::{WaitOptions, wait};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

/// Answers the requests that a host's program adds to the protocol.
pub type Extension<'a> = &'a mut dyn FnMut(Value) -> Result<Value, String>;

/// Exit status of a program that was not started by a supervisor.
const NOT_A_HOST: i32 = 2;
/// Exit status of a host that was refused something or lost its supervisor.
const FAILED: i32 = 1;

/// Becomes a host for the supervisor at the other end of standard input
/// ([`crate::host::Host::start`]).
///
/// Returns the exit status, in the process that was started, once the host has ended. The process
/// must have one thread. `extension` runs in the host's first process. It must wait for the
/// children that it starts before it returns; any others are reaped.
pub fn serve_standard_input(extension: Extension<'_>) -> i32 {
    let supervised = take_standard_input().and_then(|channel| {
        namespace::end_with_parent()?;
        let (request, _) = channel.receive::<Request>(None)?;
        Ok((channel, request))
    });
    let Ok((channel, Request::Start(choice))) = supervised else {
        eprintln!("this program is a host of an emulation; ackclock starts it by itself");
        return NOT_A_HOST;
    };
    match namespace::enter() {
        Err(refusal) => refuse(&channel, refusal),
        Ok(entered) => {
            let first = |channel| run(channel, choice, entered, extension);
            namespace::run_first_process(channel, first).unwrap_or_else(|refusal| {
                eprintln!("ackclock: {refusal}");
                FAILED
            })
        }
    }
}

/// Takes the connection to the supervisor from standard input, and makes standard input empty.
fn take_standard_input() -> io::Result<Channel> {
    let connection = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    sockopt::socket_type(&connection)?; // fails unless it is a socket
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Channel::from(connection))
}

fn refuse(channel: &Channel, refusal: Refusal) -> i32 {
    // If the supervisor is gone, there is nobody to tell.
    let _ = channel.send(&Response::Refused(refusal), None);
    FAILED
}

/// Runs the first process until the host ends.
fn run(channel: Channel, choice: DeviceChoice, entered: Entered, extension: Extension<'_>) -> i32 {
    let started = child_signal::open()
        .map_err(namespace::process_refused)
        .and_then(|ended_children| {
            let (inside, device, facts) = Inside::prepare(choice, entered)?;
            Ok((ended_children, inside, device, facts))
        });
    let (ended_children, mut inside, device, facts) = match started {
        Ok(started) => started,
        Err(refusal) => return refuse(&channel, refusal),
    };
    let sent = channel.send(&Response::Ready(facts), Some(device.as_fd()));
    drop(device); // from here on the emulator holds its last descriptor
    match sent.and_then(|()| serve(&channel, &ended_children, &mut inside, extension)) {
        Ok(()) => 0,
        Err(_) => FAILED, // the supervisor is gone
    }
}

/// Answers requests until the supervisor sends `Exit` or is gone. Reaps orphaned processes.
fn serve(
    channel: &Channel,
    ended: &File,
    inside: &mut Inside,
    extension: Extension<'_>,
) -> io::Result<()> {
    loop {
        let [asked, reap] = readable([channel.as_fd(), ended.as_fd()], None)?;
        if reap {
            reap_children(ended)?;
        }
        if asked {
            let (request, _) = channel.receive::<Request>(None)?;
            let last = request == Request::Exit;
            channel.send(&inside.answer(request, extension), None)?;
            if last {
                return Ok(());
            }
        }
    }
}

fn reap_children(mut ended: &File) -> io::Result<()> {
    // One pending signal stands for any number of children; its details on the first are not
    // needed.
    match ended.read(&mut [0; size_of::<libc::signalfd_siginfo>()]) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
        _ => {}
    }
    // ECHILD: there are no more children.
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    Ok(())
}

/// A host from within.
#[derive(Debug)]
struct Inside {
    namespace: Netlink,
    /// Namespace of the emulator's end of a pair.
    other_namespace: Option<Netlink>,
    device: u32,
    report: Vec<ReportEntry>,
}

impl Inside {
    fn prepare(
        choice: DeviceChoice,
        entered: Entered,
    ) -> Result<(Inside, OwnedFd, HostFacts), Refusal> {
        let settings_refused = |error| refused(Step::Settings, "cannot switch off IPv6", &error);
        settings::forbid_ipv6().map_err(settings_refused)?;
        let tun = match choice {
            DeviceChoice::PacketSocket => None,
            DeviceChoice::Tun | DeviceChoice::Automatic => Some(tun::create(NAME)),
        };
        let (descriptor, facts, other_namespace, tun_refused) = match tun {
            Some(Ok((node, facts))) => (node, facts, None, None),
            Some(Err(error)) if choice == DeviceChoice::Tun => return Err(tun_refusal(&error)),
            not_to_be_had => {
                let pair = packet_socket::create(NAME).map_err(|error| {
                    refused(
                        Step::Device,
                        "cannot create a veth pair with a packet socket",
                        &error,
                    )
                })?;
                let reason = not_to_be_had
                    .and_then(Result::err)
                    .map(|error| tun_refusal(&error).reason);
                (pair.socket, pair.facts, Some(pair.other_namespace), reason)
            }
        };
        let set_up = || -> io::Result<(Netlink, u32)> {
            let mut namespace = Netlink::open()?;
            let loopback = namespace.interface("lo")?;
            namespace.set_up(loopback.index, true)?;
            let device = namespace.interface(NAME)?;
            namespace.set_transmit_queue(device.index, TRANSMIT_QUEUE)?;
            namespace.set_up(device.index, false)?;
            Ok((namespace, device.index))
        };
        let (namespace, device) = set_up()
            .map_err(|error| refused(Step::Device, "cannot set up the interfaces", &error))?;
        let mut inside = Inside {
            namespace,
            other_namespace,
            device,
            report: Vec::new(),
        };
        inside.apply_settings(&settings::always());
        let host = HostFacts {
            user_namespace: entered.user_namespace,
            no_new_privileges: entered.no_new_privileges,
            device: facts,
            tun_refused,
        };
        Ok((inside, descriptor, host))
    }

    fn answer(&mut self, request: Request, extension: Extension<'_>) -> Response {
        match request {
            Request::Start(_) => Response::Failed("it is a host already".into()),
            Request::Configure(configuration) => {
                let before = self.report.len();
                self.configure(&configuration);
                Response::Report(self.report[before..].to_vec())
            }
            Request::Report => Response::Report(self.report.clone()),
            Request::Statistics => match self.statistics() {
                Ok(statistics) => Response::Statistics(statistics),
                Err(error) => Response::Failed(format!("the interfaces say nothing: {error}")),
            },
            Request::CongestionControls(names) => Response::CongestionControls(
                names.into_iter().map(with_congestion_control).collect(),
            ),
            Request::Extension(value) => match extension(value) {
                Ok(value) => Response::Extension(value),
                Err(reason) => Response::Failed(reason),
            },
            Request::Exit => Response::Ending,
        }
    }

    fn configure(&mut self, configuration: &Configuration) {
        self.apply_settings(&configuration.settings);
        if let Some(mtu) = configuration.mtu_bytes {
            let outcome = self.set_mtu(mtu).map_or_else(as_refused, accepted);
            self.note("mtu_bytes".into(), mtu.to_string(), outcome);
        }
        for address in &configuration.addresses {
            let done = self.namespace.add_address(self.device, *address);
            let outcome = done.map_or_else(as_refused, |()| accepted(format!("{address}/32")));
            self.note(
                format!("address {address}"),
                format!("{address}/32"),
                outcome,
            );
        }
        for route in &configuration.routes {
            self.add_route(route);
        }
    }

    fn note(&mut self, name: String, asked: String, outcome: KernelAnswer) {
        self.report.push(ReportEntry {
            name,
            asked,
            outcome,
        });
    }

    fn apply_settings(&mut self, settings: &[settings::Setting]) {
        for setting in settings {
            self.note(
                setting.0.clone(),
                setting.1.clone(),
                settings::apply(setting),
            );
        }
    }

    /// Sets the device's MTU, and that of the other end of a pair; returns the kernel's value.
    fn set_mtu(&mut self, bytes: u32) -> io::Result<String> {
        self.namespace.set_mtu(self.device, bytes)?;
        if let Some(other) = &mut self.other_namespace {
            let end = other.interface(packet_socket::OTHER_END)?;
            other.set_mtu(end.index, bytes)?;
        }
        Ok(self.namespace.interface(NAME)?.mtu.to_string())
    }

    /// Adds a route. The kernel accepts a route as a whole or not at all. If it refuses, tries
    /// without metrics, then with each metric alone, to find those that it refuses.
    fn add_route(&mut self, route: &Route) {
        let name = format!("route {}/{}", route.destination, route.prefix);
        let asked = route
            .source
            .map_or("from any".to_owned(), |source| format!("from {source}"));
        let mut taken = route.clone();
        let mut outcome = self.namespace.put_route(self.device, &taken);
        let mut reasons = Vec::new();
        if outcome.is_err() && route.metrics != Metrics::default() {
            taken.metrics = Metrics::default();
            for (metric, _, alone) in route.metrics.single() {
                let tried = Route {
                    metrics: alone.clone(),
                    ..route.clone()
                };
                match self.namespace.put_route(self.device, &tried) {
                    Ok(()) => taken.metrics.add(alone),
                    Err(error) => reasons.push((metric, error.to_string())),
                }
            }
            outcome = self.namespace.put_route(self.device, &taken);
        }
        let there = outcome.is_ok();
        self.note(
            name.clone(),
            asked.clone(),
            outcome.map_or_else(as_refused, |()| accepted(asked)),
        );
        if !there {
            return;
        }
        let has = self
            .namespace
            .route_metrics(route.destination)
            .unwrap_or_default()
            .single();
        for (metric, asked, _) in route.metrics.single() {
            let reason = reasons
                .iter()
                .find(|(refused, _)| *refused == metric)
                .map(|(_, reason)| reason.clone());
            let value = has
                .iter()
                .find(|(there, ..)| *there == metric)
                .map(|(_, value, _)| value.clone());
            let outcome = match (reason, value) {
                (Some(reason), _) => KernelAnswer::Refused { reason },
                (None, Some(value)) => accepted(value),
                (None, None) => KernelAnswer::Refused {
                    reason: "the kernel accepted it but does not have it".into(),
                },
            };
            self.note(format!("{name} {metric}"), asked, outcome);
        }
    }

    fn statistics(&mut self) -> io::Result<Vec<DeviceStatistics>> {
        let mut interfaces = vec![self.namespace.interface(NAME)?];
        if let Some(other) = &mut self.other_namespace {
            interfaces.push(other.interface(packet_socket::OTHER_END)?);
        }
        let statistics = |interface: crate::netlink::Interface| DeviceStatistics {
            name: interface.name,
            discipline: interface.discipline,
            counters: interface.counters,
        };
        Ok(interfaces.into_iter().map(statistics).collect())
    }
}

fn accepted(value: String) -> KernelAnswer {
    KernelAnswer::Accepted { value }
}

fn as_refused(error: io::Error) -> KernelAnswer {
    KernelAnswer::Refused {
        reason: error.to_string(),
    }
}

/// Tests if a socket in this namespace may use a congestion control.
fn with_congestion_control(name: String) -> (String, KernelAnswer) {
    let outcome = || -> io::Result<String> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            flags,
            Some(ipproto::TCP),
        )?;
        sockopt::set_tcp_congestion(&socket, &name)?;
        Ok(sockopt::tcp_congestion(&socket)?)
    }();
    let outcome = match outcome {
        Ok(value) => accepted(value),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => KernelAnswer::NotInThisKernel,
        Err(error) => as_refused(error),
    };
    (name, outcome)
}

fn refused(step: Step, attempt: &str, error: &io::Error) -> Refusal {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run as root",
        Some(libc::EOPNOTSUPP | libc::EAFNOSUPPORT | libc::ENODEV) => {
            "use a kernel with CONFIG_VETH and CONFIG_PACKET, \
             or load the modules veth and af_packet"
        }
        _ => "try again; if it fails again, please report it",
    };
    Refusal {
        step,
        reason: format!("{attempt} ({error})"),
        error: error.raw_os_error(),
        remedy: remedy.into(),
    }
}

fn tun_refusal(error: &io::Error) -> Refusal {
    let remedy = match error.raw_os_error() {
        Some(libc::EACCES) => format!(
            "make it readable and writable for all users, as most systems do: chmod 0666 {}",
            tun::NODE
        ),
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "load the module: modprobe tun".into(),
        _ => "give the container the device, or use --device packet_socket".into(),
    };
    Refusal {
        step: Step::Device,
        reason: format!("{} gives no interface ({error})", tun::NODE),
        error: error.raw_os_error(),
        remedy,
    }
}
