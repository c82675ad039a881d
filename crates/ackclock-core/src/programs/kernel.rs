//! A control that the Linux kernel runs: one of its own, or a BPF program that ackclock loads.

use super::control::ProgramControl;
use crate::congestion::facts::{ControlFacts, ControlProgram, LinuxControl, ProgramSource};
use crate::congestion::{CongestionControl, ControlContext, ControlKind};
use ackclock_bpf::{Callback, Machine, Program};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::{check_digest, read_checked};
use ackclock_spec::limits;
use ackclock_spec::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

// The limits are those of the floor. The reader of objects repeats two of them, as it depends on no
// other crate: what loads controls as root is built from it and from little else.
const _: () = assert!(ackclock_bpf::limits::OBJECT_BYTES as u64 == limits::CONTROL_BYTES);
const _: () = assert!(ackclock_bpf::limits::QUOTED_CHARACTERS as u64 == limits::QUOTED_CHARACTERS);

/// Longest name of a control in Linux (TCP_CA_NAME_MAX, less the terminating zero).
const LONGEST_NAME: usize = 15;
/// Ends of the names of files that hold a program: C source, and what a compiler makes of it.
const SOURCE: &str = ".bpf.c";
const OBJECT: &str = ".bpf.o";

/// The header that programs include, as text.
pub const HEADER: &str = include_str!("../../bpf/ackclock.bpf.h");

/// A program that comes with ackclock.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name in a scenario's `shipped`.
    pub name: &'static str,
    /// C source.
    pub source: &'static str,
    /// Object that the compiler made of it.
    pub object: &'static [u8],
}

macro_rules! shipped {
    ($name:literal) => {
        Shipped {
            name: $name,
            source: include_str!(concat!("../../bpf/", $name, ".bpf.c")),
            object: include_bytes!(concat!("../../bpf/", $name, ".bpf.o")),
        }
    };
}

/// The programs that come with ackclock.
pub const SHIPPED: &[Shipped] = &[
    shipped!("aimd"),
    shipped!("reno"),
    shipped!("cubic"),
    shipped!("vegas"),
    shipped!("westwood_crb"),
    shipped!("westwood_re"),
    shipped!("westwood_abse"),
    shipped!("delivery_rate"),
    shipped!("linux_bbr"),
];

/// Parameters.
///
/// One of `name`, `shipped` and `file` says which control. `ackclock doctor` lists the controls
/// that the kernel of this machine has by itself; a socket cannot set their parameters. A program
/// of `shipped` or `file` is loaded for the run, which needs Linux 6.4 and privileges. `predict`
/// says that it is unknown how the window grows and falls.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("examples" = [{ "name": "bbr" }, { "shipped": "aimd" }]))]
pub struct Kernel {
    /// Name as in `net.ipv4.tcp_available_congestion_control`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15))]
    pub name: Option<String>,
    /// Name of a program that comes with ackclock: `aimd`, `reno`, `cubic`, `vegas`,
    /// `westwood_crb`, `westwood_re`, `westwood_abse`, `delivery_rate` or `linux_bbr`. The last is
    /// the kernel's own `bbr` with a record of its calls, and runs in emulations only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipped: Option<String>,
    /// File of your own program: C source, `.bpf.c`, or an object, `.bpf.o`. It includes
    /// `ackclock.bpf.h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Values of the program's parameters, integers by name; the program has a default for each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, i64>,
    /// Digest of the file, which is filled in. If given, the file must have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The program as the engine runs it.
    #[serde(skip)]
    #[schemars(skip)]
    run: Run,
}

/// The engine's part in a control of the kernel.
#[derive(Clone, Debug, Default)]
enum Run {
    /// Nothing: only the kernel has it.
    #[default]
    InKernel,
    /// Run its program.
    Program(Arc<Program>),
    /// Nothing, for this reason.
    Refused(Box<Error>),
}

impl Element<ControlKind> for Kernel {
    const NAME: &'static str = "kernel";
    const LABEL: &'static str = "control of the kernel";
    const SUMMARY: &'static str = "Is a control that the Linux kernel has, or a BPF program that \
        `ackclock emulate` loads into it.";
    const REFERENCE: &'static str = "tcp(7), TCP_CONGESTION; docs.kernel.org/bpf, struct_ops";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.check_choice(files)?;
        let Some(chosen) = self.program() else {
            return Ok(());
        };
        self.run = match chosen.object(files) {
            Ok(object) => self.fit(&object)?,
            Err(error) => Run::Refused(Box::new(error)),
        };
        Ok(())
    }

    fn facts(&self) -> ControlFacts {
        let program = self.program();
        let title = match &program {
            Some(program) => format!("bpf:{}", program.title()),
            None => format!(
                "{}:{}",
                Self::NAME,
                self.name.as_deref().unwrap_or_default()
            ),
        };
        let runs = match &self.run {
            Run::Program(program) => Some(program),
            Run::InKernel | Run::Refused(_) => None,
        };
        ControlFacts {
            title: Stated::Some(title),
            paces: runs.map(|program| program.has(Callback::CongControl)),
            linux: Stated::Some(LinuxControl {
                name: self.name.clone().unwrap_or_default(),
                program: program.map(Box::new).into(),
                differences: Vec::new(),
                other_rules: Vec::new(),
                slow_start_ends_early: None,
                reno_friendly_speedup: None,
            }),
            ..ControlFacts::default() // unknown
        }
    }
}

impl Factory<ControlKind> for Kernel {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let Run::Program(program) = &self.run else {
            unreachable!("the simulator refuses what the engine cannot make");
        };
        let seed = context.place.stream().bits();
        let machine = Machine::new(Arc::clone(program), seed);
        Box::new(ProgramControl::new(machine, &context))
    }

    fn refusal(&self) -> Option<Error> {
        match &self.run {
            Run::Program(_) => None,
            Run::Refused(error) => Some((**error).clone()),
            Run::InKernel => {
                let remedy = "runs in ackclock emulate only; to simulate, choose another kind, for \
                    example reno, or a program by shipped or file";
                let error = Error::new("name", &json!(self.name), remedy);
                Some(error.coded(Code::Unsupported))
            }
        }
    }
}

impl Kernel {
    /// Returns the program that a run loads; `None` for a control that the kernel has.
    fn program(&self) -> Option<ControlProgram> {
        let source = match (&self.name, &self.shipped) {
            (Some(_), _) => return None,
            (None, Some(name)) => ProgramSource::Shipped { name: name.clone() },
            (None, None) => ProgramSource::File {
                file: self.file.clone()?,
            },
        };
        Some(ControlProgram {
            source,
            parameters: self.parameters.clone(),
            object: match &self.run {
                Run::Program(program) => Stated::Some(format!("{:016x}", program.digest())),
                Run::InKernel | Run::Refused(_) => Stated::None,
            },
            records_calls: match &self.run {
                Run::Program(program) => program.records(),
                Run::InKernel | Run::Refused(_) => false,
            },
        })
    }

    /// Reads an object, and sets its parameters.
    fn fit(&self, object: &[u8]) -> Result<Run> {
        let mut program = match Program::read(object) {
            Ok(program) => program,
            Err(refusal) => {
                let (field, value) = match &self.shipped {
                    Some(name) => ("shipped", Some(name)),
                    None => ("file", self.file.as_ref()),
                };
                let remedy = format!("cannot be simulated: it {refusal}");
                let error = Error::new(field, &json!(value), &remedy);
                return Ok(Run::Refused(Box::new(error.coded(Code::Unsupported))));
            }
        };
        program.set_recording(false);
        let mut set = |(name, value): (&String, &i64)| {
            let field = format!("parameters.{name}");
            let Some(parameter) = program
                .parameters()
                .find(|parameter| parameter.name == *name)
                .cloned()
            else {
                let names = program
                    .parameters()
                    .map(|parameter| parameter.name.as_str());
                return Err(Error::unknown_name(
                    &field,
                    &json!(name),
                    "parameter",
                    names,
                ));
            };
            let (least, most) = parameter.range();
            let fits = (least..=most).contains(&i128::from(*value));
            in_range(fits, &field, value, &format!("is not {least} to {most}"))?;
            program.set(&parameter, i128::from(*value));
            Ok(())
        };
        let results: Vec<Result<()>> = self.parameters.iter().map(&mut set).collect();
        every(results)?;
        Ok(Run::Program(Arc::new(program)))
    }

    /// Checks that one of the three fields says which control.
    fn check_choice(&mut self, files: &dyn Files) -> Result<()> {
        match (&self.name, &self.shipped, &self.file) {
            (Some(name), None, None) => every([
                check_name(name),
                consistent(
                    self.parameters.is_empty(),
                    "parameters",
                    &self.parameters,
                    &["name"],
                    "cannot be set on a control that the kernel has; remove it",
                ),
            ]),
            (None, Some(name), None) => find(name).map(drop),
            (None, None, Some(_)) => self.check_file(files),
            (None, None, None) => Err(Error::missing(
                "name",
                "for example \"bbr\"; or choose a program by shipped or file",
            )),
            (Some(name), ..) => Err(Error::contradiction(
                "name",
                &json!(name),
                "stands beside shipped or file; keep one of them",
            )),
            (None, Some(name), Some(_)) => Err(Error::contradiction(
                "shipped",
                &json!(name),
                "stands beside file; keep one of them",
            )),
        }
    }

    fn check_file(&mut self, files: &dyn Files) -> Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if file.ends_with(SOURCE) {
            let remedy = "name a control in C, for example mine.bpf.c";
            read_checked(files, file, &mut self.digest, remedy).map(drop)
        } else if file.ends_with(OBJECT) {
            let object = object(files, file)?;
            check_digest(&object, file, &mut self.digest)
        } else {
            let remedy = "is neither C source (.bpf.c) nor an object (.bpf.o); rename it";
            in_range(false, "file", file, remedy)
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let fits = (1..=LONGEST_NAME).contains(&name.len());
    let remedy = "is not a name of a kernel's control; for example \"bbr\"";
    in_range(fits && name.bytes().all(is_part), "name", name, remedy)
}

fn find(name: &str) -> Result<&'static Shipped> {
    let names = || SHIPPED.iter().map(|program| program.name);
    let program = SHIPPED.iter().find(|program| program.name == name);
    program.ok_or_else(|| Error::unknown_name("shipped", &json!(name), "program", names()))
}

fn object(files: &dyn Files, file: &str) -> Result<Vec<u8>> {
    files.object(file).map_err(|why| {
        let remedy = format!("cannot be used ({why})");
        Error::new("file", &json!(file), &remedy).coded(Code::File)
    })
}

impl ControlProgram {
    /// Returns the name in tables: that of the program, or of its file without the end.
    pub fn title(&self) -> &str {
        match &self.source {
            ProgramSource::Shipped { name } => name,
            ProgramSource::File { file } => {
                let base = file.rsplit('/').next().unwrap_or_default();
                let stem = base.strip_suffix(SOURCE).or(base.strip_suffix(OBJECT));
                stem.unwrap_or(base)
            }
        }
    }

    /// Returns the compiled object.
    ///
    /// # Errors
    /// The file cannot be read or compiled, or no such program comes with ackclock.
    pub fn object(&self, files: &dyn Files) -> Result<Vec<u8>> {
        match &self.source {
            ProgramSource::Shipped { name } => Ok(find(name)?.object.to_vec()),
            ProgramSource::File { file } => object(files, file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::choose;
    use serde_json::json;

    #[test]
    fn a_name_is_what_a_socket_takes() {
        let key = |name: &str| {
            let tree = json!({ "kind": "kernel", "name": name });
            choose::<ControlKind>(&tree, &NoFiles)
                .map(|_| ())
                .map_err(|error| error.key())
        };
        for name in ["bbr", "cubic", "acc_1f2e3d", "a-b", "x", "fifteen_letters"] {
            assert_eq!(key(name), Ok(()), "{name}");
        }
        for name in ["", "sixteen_letters_", "b b", "../bbr", "bbr\0", "\u{fc}"] {
            assert_eq!(key(name), Err("out-of-range name".into()), "{name}");
        }
    }

    /// A program's files: any source, and one object.
    struct Programs;

    impl Files for Programs {
        fn read(&self, name: &str) -> std::result::Result<String, String> {
            Ok(format!("/* {name} */"))
        }
        fn object(&self, name: &str) -> std::result::Result<Vec<u8>, String> {
            let there = name.ends_with("there.bpf.o") || name.ends_with(".bpf.c");
            there
                .then(|| b"ELF".to_vec())
                .ok_or_else(|| "no such file".into())
        }
    }

    #[test]
    fn one_of_three_fields_says_which_control() {
        let key = |mut tree: serde_json::Value| {
            tree["kind"] = "kernel".into();
            choose::<ControlKind>(&tree, &Programs)
                .map(|_| ())
                .map_err(|error| error.key())
        };
        for right in [
            json!({ "shipped": "aimd" }),
            json!({ "shipped": "aimd", "parameters": { "alpha": 2 } }),
            json!({ "file": "mine.bpf.c", "parameters": {} }),
            json!({ "file": "there.bpf.o" }),
        ] {
            assert_eq!(key(right.clone()), Ok(()), "{right}");
        }
        for (wrong, expected) in [
            (json!({}), "missing name"),
            (
                json!({ "name": "bbr", "file": "a.bpf.c" }),
                "contradiction name",
            ),
            (
                json!({ "shipped": "aimd", "file": "a.bpf.c" }),
                "contradiction shipped",
            ),
            (
                json!({ "name": "bbr", "parameters": { "a": 1 } }),
                "contradiction parameters",
            ),
            (json!({ "shipped": "aimb" }), "unknown-name shipped"),
            (json!({ "file": "mine.c" }), "out-of-range file"),
            (json!({ "file": "absent.bpf.o" }), "file file"),
            (json!({ "file": "a.bpf.c", "digest": "0" }), "file digest"),
            (
                json!({ "file": "a.bpf.c", "parameters": { "a": 1.5 } }),
                "wrong-type parameters.a",
            ),
        ] {
            assert_eq!(key(wrong.clone()), Err(expected.into()), "{wrong}");
        }
    }

    #[test]
    fn a_program_is_titled_by_its_name_or_its_file() {
        let title = |mut tree: serde_json::Value| {
            tree["kind"] = "kernel".into();
            choose::<ControlKind>(&tree, &Programs)
                .unwrap()
                .facts
                .title
                .some()
                .cloned()
        };
        assert_eq!(title(json!({ "shipped": "aimd" })).unwrap(), "bpf:aimd");
        assert_eq!(
            title(json!({ "file": "c/mine.bpf.c" })).unwrap(),
            "bpf:mine"
        );
        assert_eq!(
            title(json!({ "file": "c/there.bpf.o" })).unwrap(),
            "bpf:there"
        );
    }

    #[test]
    fn an_object_that_comes_with_ackclock_is_one_for_bpf() {
        const BPF: [u8; 2] = [247, 0]; // e_machine, little-endian
        for shipped in SHIPPED {
            assert_eq!(&shipped.object[..4], b"\x7fELF", "{}", shipped.name);
            assert_eq!(shipped.object[18..20], BPF, "{}", shipped.name);
            assert!(shipped.source.contains(".bpf.h\""), "{}", shipped.name);
        }
    }

    /// Even of `cubic` nothing is known: the kernel's is not the engine's.
    #[test]
    fn nothing_but_the_name_is_known_of_it() {
        let tree = json!({ "kind": "kernel", "name": "cubic" });
        let chosen = choose::<ControlKind>(&tree, &NoFiles).unwrap();
        assert!(!chosen.is_simulated());
        let facts = ControlFacts {
            title: Stated::Some("kernel:cubic".into()),
            linux: chosen.facts.linux.clone(),
            ..ControlFacts::default()
        };
        assert_eq!(chosen.facts, facts);
        let linux = facts.linux.some().unwrap();
        assert_eq!((&*linux.name, linux.differences.len()), ("cubic", 0));
        assert_eq!(
            (linux.slow_start_ends_early, linux.reno_friendly_speedup),
            (None, None)
        );
    }
}
