//! Controls as classes in Python: the files of scenarios with them, and calls of their objects.

use ackclock_bpf::layout::{ack_sample, socket};
use ackclock_bpf::{Argument, Callback};
use ackclock_core::programs::control::Algorithm;
use ackclock_core::programs::python::Class;
use ackclock_emu::files::Folder;
use ackclock_spec::files::Files;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Files relative to a folder, and classes in them.
pub struct Scripts(pub Folder);

impl Files for Scripts {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.read(name)
    }
    fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        self.0.object(name)
    }
    fn class(&self, name: &str, class: &str) -> Result<Box<dyn Any>, String> {
        let class: Arc<dyn Class> = Arc::new(PythonClass {
            file: self.0.path(name)?,
            name: class.into(),
        });
        Ok(Box::new(class))
    }
}

/// A class of a file, which is loaded when the first object is made.
#[derive(Debug)]
struct PythonClass {
    file: PathBuf,
    name: String,
}

impl PythonClass {
    fn object(&self, parameters: &BTreeMap<String, f64>) -> Result<Py<PyAny>, String> {
        Python::attach(|py| {
            let make = || -> PyResult<Py<PyAny>> {
                let module = py.import("ackclock.controls.python")?;
                let file = self.file.display().to_string();
                let class = module.call_method1("load", (file, &self.name))?;
                let keywords = PyDict::new(py);
                for (name, value) in parameters {
                    keywords.set_item(name, value)?;
                }
                Ok(class.call((), Some(&keywords))?.unbind())
            };
            make().map_err(|error| in_one_line(py, &error))
        })
    }
}

impl Class for PythonClass {
    fn check(&self, parameters: &BTreeMap<String, f64>) -> Result<(), String> {
        self.object(parameters).map(drop)
    }
    fn make(&self, parameters: &BTreeMap<String, f64>) -> Box<dyn Algorithm> {
        let object = self.object(parameters);
        let has = |callback: Callback| {
            let object = object.as_ref().ok();
            object.is_some_and(|object| {
                Python::attach(|py| object.bind(py).hasattr(callback.name()).unwrap_or(false))
            })
        };
        let mut hooks = [false; Callback::COUNT];
        for callback in HOOKS {
            hooks[callback as usize] = has(callback);
        }
        Box::new(PythonAlgorithm {
            object,
            hooks,
            fields: vec![0; socket::FIELDS.len()],
            sample: [0; 3],
            now_ns: 0,
        })
    }
}

/// The callbacks that a class may have.
const HOOKS: [Callback; 7] = [
    Callback::Init,
    Callback::PktsAcked,
    Callback::CongAvoid,
    Callback::Ssthresh,
    Callback::SetState,
    Callback::CwndEvent,
    Callback::UndoCwnd,
];

/// An object of a class, and the socket that it sees.
#[derive(Debug)]
struct PythonAlgorithm {
    /// The object, or the reason why there is none.
    object: Result<Py<PyAny>, String>,
    hooks: [bool; Callback::COUNT],
    fields: Vec<u64>,
    sample: [u64; 3],
    now_ns: u64,
}

impl Algorithm for PythonAlgorithm {
    fn has(&self, callback: Callback) -> bool {
        self.hooks[callback as usize]
    }
    fn has_long_cong_control(&self) -> bool {
        false
    }
    fn set_time(&mut self, nanos: u64) {
        self.now_ns = nanos;
    }
    fn ticks(&self) -> u64 {
        self.now_ns / 4_000_000
    }
    fn get(&self, field: u32) -> u64 {
        self.fields[field as usize]
    }
    fn set(&mut self, field: u32, value: u64) {
        self.fields[field as usize] = value;
    }
    fn set_ack_sample(&mut self, field: u32, value: u64) {
        self.sample[field as usize] = value;
    }
    fn set_rate_sample(&mut self, _: u32, _: u64) {}

    fn call(&mut self, callback: Callback, arguments: &[Argument]) -> Result<u64, String> {
        let object = match &self.object {
            Ok(object) => object,
            Err(reason) => return Err(format!("init: {reason}")),
        };
        if !self.has(callback) {
            return Ok(0);
        }
        let (window, answer) = Python::attach(|py| {
            self.called(py, object.bind(py), callback, arguments)
                .map_err(|error| format!("{}: {}", callback.name(), in_one_line(py, &error)))
        })?;
        let [cwnd, cwnd_cnt, ssthresh] = window;
        self.set(socket::SND_CWND, cwnd.max(1).into());
        self.set(socket::SND_CWND_CNT, cwnd_cnt.into());
        self.set(socket::SND_SSTHRESH, ssthresh.into());
        Ok(answer.into())
    }
}

impl PythonAlgorithm {
    /// Calls a method. Returns cwnd, cwnd_cnt and ssthresh after it, and its answer.
    fn called(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        callback: Callback,
        arguments: &[Argument],
    ) -> PyResult<([u32; 3], u32)> {
        let call = self.described(py, callback, arguments)?;
        let answer = object.call_method1(callback.name(), (&call,))?;
        let whole = |name: &str, value: Bound<'_, PyAny>| -> PyResult<u32> {
            value.extract().map_err(|_| {
                PyValueError::new_err(format!("{name} is {value}, not a number of whole segments"))
            })
        };
        let field = |name: &str| whole(name, call.getattr(name)?);
        let window = [field("cwnd")?, field("cwnd_cnt")?, field("ssthresh")?];
        let answers = matches!(callback, Callback::Ssthresh | Callback::UndoCwnd);
        let answer = if answers {
            whole("the answer", answer)?
        } else {
            0
        };
        Ok((window, answer))
    }

    /// Returns what a method hears: an object with the fields of `struct ackclock_call`.
    fn described<'py>(
        &self,
        py: Python<'py>,
        callback: Callback,
        arguments: &[Argument],
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(py);
        let number = |at: usize| match arguments.get(at) {
            Some(Argument::Number(number)) => *number,
            _ => 0,
        };
        let (mut rtt_us, mut argument) = (-1, [number(1), number(2)]);
        if callback == Callback::PktsAcked {
            let sample = |field: u32| self.sample[field as usize];
            rtt_us = sample(ack_sample::RTT_US).cast_signed();
            argument = [
                sample(ack_sample::PKTS_ACKED),
                sample(ack_sample::IN_FLIGHT),
            ];
        }
        fields.set_item(intern!(py, "now_ns"), self.now_ns)?;
        fields.set_item(intern!(py, "argument"), PyTuple::new(py, argument)?)?;
        fields.set_item(intern!(py, "rtt_us"), rtt_us)?;
        fields.set_item(intern!(py, "state"), self.get(socket::CA_STATE))?;
        let limited = self.get(socket::IS_CWND_LIMITED) != 0;
        fields.set_item(intern!(py, "limited"), limited)?;
        let srtt_us = self.get(socket::SRTT_US) as f64 / 8.0;
        fields.set_item(intern!(py, "srtt_us"), srtt_us)?;
        for (name, field) in [
            (intern!(py, "cwnd"), socket::SND_CWND),
            (intern!(py, "cwnd_cnt"), socket::SND_CWND_CNT),
            (intern!(py, "ssthresh"), socket::SND_SSTHRESH),
            (intern!(py, "mss"), socket::MSS_CACHE),
            (intern!(py, "packets_out"), socket::PACKETS_OUT),
            (intern!(py, "sacked_out"), socket::SACKED_OUT),
            (intern!(py, "lost_out"), socket::LOST_OUT),
            (intern!(py, "retrans_out"), socket::RETRANS_OUT),
            (intern!(py, "delivered"), socket::DELIVERED),
            (intern!(py, "max_packets_out"), socket::MAX_PACKETS_OUT),
        ] {
            fields.set_item(name, self.get(field))?;
        }
        let types = py.import(intern!(py, "types"))?;
        let namespace = types.getattr(intern!(py, "SimpleNamespace"))?;
        namespace.call((), Some(&fields))
    }
}

/// Returns an error on one line, with the last line of a file of the user's.
fn in_one_line(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map(|name| name.to_string());
    let text = error.value(py).to_string();
    let text = text.lines().next().unwrap_or_default().to_owned();
    let mut place = String::new();
    let mut next = error.traceback(py).map(Bound::into_any);
    while let Some(level) = next.filter(|level| !level.is_none()) {
        let frame = level
            .getattr("tb_frame")
            .and_then(|frame| frame.getattr("f_code"));
        let file = frame.and_then(|code| code.getattr("co_filename")?.extract::<String>());
        let line = level
            .getattr("tb_lineno")
            .and_then(|line| line.extract::<u32>());
        if let (Ok(file), Ok(line)) = (file, line) {
            let name = file.rsplit('/').next().unwrap_or_default();
            place = format!(" ({name}:{line})");
        }
        next = level.getattr("tb_next").ok();
    }
    format!("{}: {text}{place}", kind.unwrap_or_default())
}
