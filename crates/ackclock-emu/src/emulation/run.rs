//! One run from beginning to end: hosts, self-test, flows, tables.

use super::description::{self, Description};
use super::drive::{Supervisor, drive};
use super::host_pair::Pair;
use super::self_test::self_test;
use super::tables::{Finished, complaints};
use super::telemetry::{Names, Telemetry};
use super::{Failure, Options};
use crate::addresses;
use crate::background::Background;
use crate::capture::Captures;
use crate::driver::Driver;
use crate::fidelity;
use crate::kernel_control::Loaded;
use crate::real_time::Outputs;
use crate::record;
use crate::workload::{LoadedNames, Plan, Readings};
use ackclock_core::result::Table;
use ackclock_scenario::job::Job;
use ackclock_scenario::network::Instance;
use ackclock_spec::units::Time;
use std::fs::{self, File};
use std::io;
use std::net::SocketAddrV4;

/// Port on which receivers listen, each on an address of its own.
const PORT: u16 = 5000;

/// Observer of a run.
pub trait Watch {
    /// Takes rows of the table `tcp_info` as they come.
    ///
    /// # Errors
    /// They cannot be stored; the run ends.
    fn take_tcp_info(&mut self, rows: Table) -> io::Result<()>;
    /// Takes the progress of the run, and the bytes delivered to the receivers so far, headers
    /// included. Returns `false` to end the run.
    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool;
}

/// The outcome of a run.
#[derive(Debug)]
pub struct EmulationOutcome {
    /// All tables except `tcp_info`.
    pub tables: Vec<(&'static str, Table)>,
    /// True if the run lasted as long as planned.
    pub complete: bool,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
}

/// Carries out a run. The calling thread must live on: the hosts end with it.
///
/// # Errors
/// The reason why there is no result. Record and captures keep what they hold by then.
pub fn emulate(
    job: &Job<'_>,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<EmulationOutcome, Failure> {
    start(job, options)?.run(job, options, watch)
}

/// The started hosts of a run.
#[derive(Debug)]
pub struct Started {
    loaded: Loaded,
    pair: Pair,
    description: Description,
}

/// Loads the controls of a run and starts its hosts. The calling thread must carry out the run: the
/// hosts end with it.
/// Starting occupies a processor for a while, which concurrent runs would miss, so start runs one
/// after the other.
///
/// # Errors
/// The reason why controls or hosts cannot be started.
pub fn start(job: &Job<'_>, options: &Options) -> Result<Started, Failure> {
    let description = Description::of(job.scenario, &job.instances())?;
    let loaded = Loaded::load(job, options)?;
    let mut pair = Pair::start(options)?;
    pair.configure(&description)?;
    Ok(Started {
        loaded,
        pair,
        description,
    })
}

impl Started {
    /// Carries out the run for which the hosts were started.
    ///
    /// # Errors
    /// As [`emulate`].
    pub fn run(
        self,
        job: &Job<'_>,
        options: &Options,
        watch: &mut dyn Watch,
    ) -> Result<EmulationOutcome, Failure> {
        let Started {
            loaded,
            mut pair,
            description,
        } = self;
        let (scenario, labels) = (job.scenario, job.labels());
        let network = job.network();
        let instances = job.instances();
        let test = self_test(&mut pair, job)?;

        let mut plan = plan_of(job, &instances, &loaded.names());
        plan.bridged_ns = fidelity::bridged(description::base_rtt(scenario)).as_nanos();
        let driver = Driver::new(network, scenario.sample_interval, labels)
            .with_warmup(Time::ZERO + scenario.warmup);
        let names = Names::of(scenario, &instances);
        let mut recording = Recording {
            telemetry: Telemetry::new(scenario, names, labels),
            watch,
        };
        let mut driven = drive(
            &mut pair,
            plan,
            driver,
            outputs(job, options)?,
            &mut recording,
        )?;
        let (names, summaries, [samples, events]) = recording.telemetry.finish();
        let hops = driven.report.driver.take_table();
        let finished = Finished {
            scenario,
            labels,
            instances: &instances,
            names: &names,
            driven: &driven,
        };
        let fidelity_row = finished.fidelity(description.mtu, &test, pair.device());
        let groups: Vec<&str> = scenario
            .flows
            .iter()
            .map(|flow| flow.name.as_str())
            .collect();
        let delays = driven.report.driver.delay_table(labels, &groups);
        let mut tables = vec![
            ("flows", finished.flows(&summaries)),
            ("samples", samples),
            ("hops", hops),
            ("events", events),
            ("fidelity", fidelity_row),
            ("lateness", finished.lateness()),
            ("settings", finished.settings(&pair, &description.different)),
            ("counters", finished.counters()),
        ];
        tables.extend(delays.map(|delays| ("delays", delays)));
        let classes = driven.report.driver.class_table(labels);
        tables.extend(classes.map(|classes| ("classes", classes)));
        let mut warnings = complaints(&names, &driven.sending.flows, &driven.receiving.flows);
        if driven.sending.missed_samples > 0 {
            warnings.push(format!(
                "readings of tcp_info skipped for lack of time: {}",
                driven.sending.missed_samples
            ));
        }
        let complete = !driven.report.stopped;
        pair.exit()?;
        warnings.extend(loaded.finish(driven.begin_ns)?);
        Ok(EmulationOutcome {
            tables,
            complete,
            warnings,
        })
    }
}

fn plan_of(job: &Job<'_>, instances: &[Instance], loaded: &LoadedNames) -> Plan {
    let mut plan = Plan::of(job.scenario, job.replicate, 0);
    for (position, instance) in (0..).zip(instances) {
        let addresses = (
            SocketAddrV4::new(addresses::sender(position), 0),
            SocketAddrV4::new(addresses::receiver(position), PORT),
        );
        plan.add(
            job.scenario,
            (instance.group as usize, instance.number),
            instance.start,
            addresses,
            loaded,
        );
    }
    plan
}

/// Creates the record and, if requested, the captures.
fn outputs(job: &Job<'_>, options: &Options) -> Result<Outputs, Failure> {
    let record = record::file_of(&options.folder, job);
    let captures = options.folder.join("pcap");
    let create = || -> io::Result<Outputs> {
        fs::create_dir_all(record.parent().unwrap_or(&options.folder))?;
        let record = Background::new(File::create(record)?)?;
        let captures = if options.captures {
            fs::create_dir_all(&captures)?;
            Captures::in_folder(&captures, &format!("{}-", job.name()))?
        } else {
            Captures::default()
        };
        Ok(Outputs {
            record: Some(Box::new(record)),
            captures,
            ..Outputs::default()
        })
    };
    create().map_err(|error| {
        Failure::Broken(format!(
            "{}: cannot be written ({error})",
            options.folder.display()
        ))
    })
}

/// Converts readings of flows into rows and passes them to the observer.
struct Recording<'a> {
    telemetry: Telemetry,
    watch: &'a mut dyn Watch,
}

impl Supervisor for Recording<'_> {
    fn take_readings(&mut self, readings: Readings) -> io::Result<()> {
        let rows = self.telemetry.take(&readings);
        if readings.tcp_info.is_empty() {
            return Ok(());
        }
        self.watch.take_tcp_info(rows)
    }
    fn proceed(&mut self, elapsed: Time, delivered_bytes: u64) -> bool {
        self.watch.proceed(elapsed, delivered_bytes)
    }
}
