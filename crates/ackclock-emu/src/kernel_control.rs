//! Programs loaded into the kernel as congestion controls, for one run.
//!
//! A program of its own loads them, holds them and records their calls, `ackclock-kernel-host`: it
//! needs libelf, which the engine does not. While it loads, it bounds itself in processor time and
//! memory, and it ends when nobody reads its answer any more. Then it ends when its standard input
//! does. So nobody holds a control whose run has ended, however it ended.

use crate::emulation::{Failure, Options};
use crate::protocol::readable;
use crate::workload::LoadedNames;
use ackclock_core::congestion::facts::{ControlProgram, ProgramSource};
use ackclock_core::transport::Tcp;
use ackclock_scenario::Scenario;
use ackclock_scenario::job::Job;
use ackclock_spec::error::{Code, Error};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Name of the program that loads controls.
pub const PROGRAM: &str = "ackclock-kernel-host";

/// The cure where it is missing.
pub(crate) const REMEDY: &str =
    "run pip install 'ackclock[kernel]', or make kernel in the source of ackclock";

/// Time between two looks whether a run is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The answers of the program, one a line.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Loaded(Value),
    Recorded(Recorded),
    Refused(Refused),
}

/// The number of calls recorded, and of those for which the kernel had no room.
#[derive(Clone, Copy, Deserialize)]
struct Recorded {
    records: u64,
    missed: u64,
}

#[derive(Deserialize)]
struct Refused {
    blame: Blame,
    reason: String,
}

/// The thing that has to change.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Blame {
    Control,
    Parameters,
    Machine,
}

/// The controls of a run in the kernel. They are gone when this value is.
#[derive(Debug, Default)]
pub(crate) struct Loaded(Vec<Running>);

/// One control with the process that holds it.
#[derive(Debug)]
struct Running {
    program: ControlProgram,
    name: String,
    description: Value,
    /// The file that describes the record, which is written at the end.
    summary: PathBuf,
    process: Child,
    answers: BufReader<ChildStdout>,
}

/// Checks that this machine can load every control of these points, by loading each for a moment.
pub(crate) fn check(points: &[Scenario], options: &Options) -> Result<(), Failure> {
    let mut checked: Vec<ControlProgram> = Vec::new();
    for (field, program) in points.iter().flat_map(programs_of) {
        if checked.contains(program) {
            continue;
        }
        checked.push(program.clone());
        let object = in_memory(&object_of(program, options, &field)?)?;
        let mut command = loader(options)?;
        command.args(["check", "-"]).args(settings(program));
        let (mut process, mut answers) = started(command.stdin(object))?;
        let answer = read_answer(&mut process, &mut answers, &options.stop);
        process.wait()?;
        if let Answer::Refused(refused) = answer? {
            return Err(refused.failure(&field, program));
        }
    }
    Ok(())
}

impl Loaded {
    /// Loads the controls of a run. Their objects and records lie beside the run's record.
    pub(crate) fn load(job: &Job<'_>, options: &Options) -> Result<Loaded, Failure> {
        let mut loaded = Loaded::default();
        for (field, program) in programs_of(job.scenario) {
            if loaded.0.iter().all(|running| running.program != *program) {
                let number = loaded.0.len();
                let running = Running::load(job, options, (&field, program), number)?;
                loaded.0.push(running);
            }
        }
        Ok(loaded)
    }

    /// Returns the names by which sockets choose the controls.
    pub(crate) fn names(&self) -> LoadedNames {
        let names = self.0.iter();
        names
            .map(|running| (running.program.clone(), running.name.clone()))
            .collect()
    }

    /// Takes the controls back and completes their records. Returns warnings.
    ///
    /// # Errors
    /// A record is incomplete.
    pub(crate) fn finish(self, begin_ns: u64) -> Result<Vec<String>, Failure> {
        let mut warnings = Vec::new();
        for mut running in self.0 {
            let recorded = running.finish(begin_ns)?;
            if recorded.missed > 0 {
                warnings.push(format!(
                    "the kernel had no room for {} of {} calls of bpf:{}: its record has gaps",
                    recorded.missed,
                    recorded.records + recorded.missed,
                    running.program.title()
                ));
            }
        }
        Ok(warnings)
    }
}

impl Running {
    fn load(
        job: &Job<'_>,
        options: &Options,
        (field, program): (&str, &ControlProgram),
        number: usize,
    ) -> Result<Running, Failure> {
        let folder = options.folder.join("record");
        let file = |end: &str| {
            let again = if number > 0 {
                format!("-{number}")
            } else {
                String::new()
            };
            folder.join(format!("{}.{}{again}.{end}", job.name(), program.title()))
        };
        fs::create_dir_all(&folder)?;
        let object = file("bpf.o");
        fs::write(&object, object_of(program, options, field)?)?;
        let name = format!(
            "acc_{:06x}",
            RandomState::new().hash_one(number) & 0xff_ffff
        );
        let mut command = loader(options)?;
        command
            .arg(&object)
            .arg(&name)
            .arg(file("calls"))
            .args(settings(program));
        let (mut process, mut answers) = started(command.stdin(Stdio::piped()))?;
        match read_answer(&mut process, &mut answers, &options.stop)? {
            Answer::Loaded(description) => Ok(Running {
                program: program.clone(),
                name,
                description,
                summary: file("json"),
                process,
                answers,
            }),
            Answer::Refused(refused) => Err(refused.failure(field, program)),
            Answer::Recorded(_) => Err(Failure::Broken(format!("{PROGRAM} recorded too early"))),
        }
    }

    fn finish(&mut self, begin_ns: u64) -> Result<Recorded, Failure> {
        drop(self.process.stdin.take());
        let answer = read_answer(
            &mut self.process,
            &mut self.answers,
            &AtomicBool::new(false),
        )?;
        self.process.wait()?;
        let recorded = match answer {
            Answer::Recorded(recorded) => recorded,
            Answer::Refused(refused) => return Err(Failure::Broken(refused.reason)),
            Answer::Loaded(_) => {
                return Err(Failure::Broken(format!("{PROGRAM} loaded a control twice")));
            }
        };
        let summary = json!({
            "control": self.program.title(),
            "parameters": self.description["parameters"],
            "name": self.name,
            "records": recorded.records,
            "missed": recorded.missed,
            "begin_ns": begin_ns,
        });
        fs::write(&self.summary, format!("{summary:#}\n"))?;
        Ok(recorded)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that has ended is not there to be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Refused {
    fn failure(self, field: &str, program: &ControlProgram) -> Failure {
        let place = match (self.blame, &program.source) {
            (Blame::Machine, _) => {
                return Failure::Lacking(format!("{}, or simulate", self.reason));
            }
            (Blame::Parameters, _) => "parameters",
            (Blame::Control, ProgramSource::Shipped { .. }) => "shipped",
            (Blame::Control, ProgramSource::File { .. }) => "file",
        };
        Error::message(&format!("{field}.{place}"), self.reason)
            .coded(Code::File)
            .into()
    }
}

/// Yields the programs that flows of a scenario ask for, each with the field of its control.
fn programs_of(scenario: &Scenario) -> impl Iterator<Item = (String, &ControlProgram)> {
    scenario.flows.iter().filter_map(|flow| {
        let tcp: &Tcp = flow.transport.parameters()?;
        let program = tcp.control.facts.linux.some()?.program.some()?.as_ref();
        Some((format!("flows.{}.transport.control", flow.name), program))
    })
}

fn object_of(program: &ControlProgram, options: &Options, field: &str) -> Result<Vec<u8>, Failure> {
    let object = program.object(&options.files);
    Ok(object.map_err(|error| error.within(field))?)
}

/// Returns the parameters as the program takes them.
fn settings(program: &ControlProgram) -> impl Iterator<Item = String> {
    let parameters: &BTreeMap<String, i64> = &program.parameters;
    parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
}

fn loader(options: &Options) -> Result<Command, Failure> {
    match &options.loader {
        Some(program) => Ok(Command::new(program)),
        None => Err(Failure::Lacking(format!(
            "the program {PROGRAM}, which loads a control into the kernel, is not installed; \
             {REMEDY}, or simulate"
        ))),
    }
}

/// Starts the loader. Ctrl-C, which a terminal sends to its whole group, shall end the run and not
/// the loader, which then completes its record.
fn started(command: &mut Command) -> io::Result<(Child, BufReader<ChildStdout>)> {
    let mut process = command.process_group(0).stdout(Stdio::piped()).spawn()?;
    match process.stdout.take() {
        Some(answers) => Ok((process, BufReader::new(answers))),
        None => Err(io::Error::other("a process without standard output")),
    }
}

/// Waits for an answer, or until the run is to stop; then the loader ends at once.
fn read_answer(
    process: &mut Child,
    answers: &mut BufReader<ChildStdout>,
    stop: &AtomicBool,
) -> Result<Answer, Failure> {
    while answers.buffer().is_empty() && !readable([answers.get_ref().as_fd()], Some(LOOK))?[0] {
        if stop.load(Ordering::Relaxed) {
            process.kill()?;
            process.wait()?;
            return Err(Failure::Broken(
                "interrupted while a control was loaded".into(),
            ));
        }
    }
    let mut line = String::new();
    answers.read_line(&mut line)?;
    if line.is_empty() {
        let status = process.wait()?;
        return Err(Failure::Broken(format!(
            "{PROGRAM} ended without an answer ({status})"
        )));
    }
    serde_json::from_str(&line).map_err(|error| {
        Failure::Broken(format!("{PROGRAM} answers what is not understood: {error}"))
    })
}

/// Returns a file that has no place on a disk, to be read from its start.
fn in_memory(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("control", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}
