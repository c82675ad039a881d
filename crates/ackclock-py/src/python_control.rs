//! Controls as classes in Python: the files of scenarios with them, and calls of their objects.

use ackclock_bpf::layout::{ack_sample, socket};
use ackclock_bpf::{Argument, Callback};
use ackclock_core::programs::control::Algorithm;
use ackclock_core::programs::python::Class;
use ackclock_emu::files::Folder;
use ackclock_spec::files::Files;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
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
        let made = self.object(parameters).and_then(|object| {
            Python::attach(|py| {
                Methods::of(object.bind(py)).map_err(|error| in_one_line(py, &error))
            })
        });
        let (methods, failure) = match made {
            Ok(methods) => (Some(methods), String::new()),
            Err(reason) => (None, reason),
        };
        Box::new(PythonAlgorithm {
            methods,
            failure,
            fields: vec![0; socket::FIELDS.len()],
            sample: [0; 3],
            now_ns: 0,
            paces: false,
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

/// The methods of an object, looked up once, and the call that each of them takes.
#[derive(Debug)]
struct Methods {
    bound: [Option<Py<PyAny>>; Callback::COUNT],
    call: Py<Call>,
}

impl Methods {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Methods> {
        let mut bound = [const { None }; Callback::COUNT];
        for callback in HOOKS {
            let method = object.getattr_opt(callback.name())?;
            bound[callback as usize] = method.map(Bound::unbind);
        }
        let call = Py::new(object.py(), Call::default())?;
        Ok(Methods { bound, call })
    }
}

/// A call of a method: what the sender knows, and the window, which the method may change.
///
/// It is the same object for all calls of a connection.
#[pyclass(module = "ackclock.controls", get_all)]
#[derive(Debug, Default)]
pub struct Call {
    now_ns: u64,
    argument: (u64, u64),
    rtt_us: i64,
    state: u64,
    limited: bool,
    srtt_us: f64,
    cwnd: u32,
    cwnd_cnt: u32,
    ssthresh: u32,
    pacing_rate: Option<u64>,
    mss: u64,
    packets_out: u64,
    sacked_out: u64,
    lost_out: u64,
    retrans_out: u64,
    delivered: u64,
    max_packets_out: u64,
}

#[pymethods]
impl Call {
    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd = segments("cwnd", value)?;
        Ok(())
    }
    #[setter]
    fn set_cwnd_cnt(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd_cnt = segments("cwnd_cnt", value)?;
        Ok(())
    }
    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.ssthresh = segments("ssthresh", value)?;
        Ok(())
    }
    /// Sets the pacing rate in bytes per second; `None` leaves pacing to the sender.
    #[setter]
    fn set_pacing_rate(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if value.is_none() {
            self.pacing_rate = None;
            return Ok(());
        }
        let rate: Option<f64> = value.extract().ok();
        let rate = rate.filter(|rate| *rate >= 1.0 && rate.is_finite());
        let rate = rate.ok_or_else(|| {
            let sentence = format!("pacing_rate is {value}, not a rate of 1 byte/s or more");
            PyValueError::new_err(sentence)
        })?;
        self.pacing_rate = Some(rate as u64); // saturates
        Ok(())
    }
}

/// Reads a number of whole segments.
fn segments(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    value.extract().map_err(|_| {
        PyValueError::new_err(format!("{name} is {value}, not a number of whole segments"))
    })
}

/// An object of a class, and the socket that it sees.
#[derive(Debug)]
struct PythonAlgorithm {
    /// The methods of the object; none if there is no object.
    methods: Option<Methods>,
    /// The reason why there is none.
    failure: String,
    fields: Vec<u64>,
    sample: [u64; 3],
    now_ns: u64,
    paces: bool,
}

impl Algorithm for PythonAlgorithm {
    fn has(&self, callback: Callback) -> bool {
        let methods = self.methods.as_ref();
        methods.is_some_and(|methods| methods.bound[callback as usize].is_some())
    }
    fn has_long_cong_control(&self) -> bool {
        false
    }
    fn paces(&self) -> bool {
        self.paces
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
        let Some(methods) = &self.methods else {
            return Err(format!("init: {}", self.failure));
        };
        let Some(method) = &methods.bound[callback as usize] else {
            return Ok(0);
        };
        let (call, answer) = Python::attach(|py| {
            self.called(py, methods, method.bind(py), callback, arguments)
                .map_err(|error| format!("{}: {}", callback.name(), in_one_line(py, &error)))
        })?;
        let [cwnd, cwnd_cnt, ssthresh] = call.0.map(u64::from);
        self.set(socket::SND_CWND, cwnd.max(1));
        self.set(socket::SND_CWND_CNT, cwnd_cnt);
        self.set(socket::SND_SSTHRESH, ssthresh);
        self.paces = call.1.is_some();
        self.set(socket::PACING_RATE, call.1.unwrap_or(u64::MAX));
        Ok(answer.into())
    }
}

/// cwnd, cwnd_cnt and ssthresh after a call, and the pacing rate.
type After = ([u32; 3], Option<u64>);

impl PythonAlgorithm {
    /// Calls a method. Returns the window and the pacing rate after it, and its answer.
    fn called(
        &self,
        py: Python<'_>,
        methods: &Methods,
        method: &Bound<'_, PyAny>,
        callback: Callback,
        arguments: &[Argument],
    ) -> PyResult<(After, u32)> {
        let call = methods.call.bind(py);
        let mut heard = call.try_borrow_mut()?;
        self.describe(&mut heard, callback, arguments);
        drop(heard); // the method writes into it
        let answer = method.call1((call,))?;
        let answer = match callback {
            Callback::Ssthresh | Callback::UndoCwnd => answered(method, &answer)?,
            _ => 0,
        };
        let call = call.try_borrow()?;
        let window = [call.cwnd, call.cwnd_cnt, call.ssthresh];
        Ok(((window, call.pacing_rate), answer))
    }

    /// Writes into a call what a method hears: the fields of `struct ackclock_call`.
    fn describe(&self, call: &mut Call, callback: Callback, arguments: &[Argument]) {
        let number = |at: usize| match arguments.get(at) {
            Some(Argument::Number(number)) => *number,
            _ => 0,
        };
        (call.rtt_us, call.argument) = (-1, (number(1), number(2)));
        if callback == Callback::PktsAcked {
            let sample = |field: u32| self.sample[field as usize];
            call.rtt_us = sample(ack_sample::RTT_US).cast_signed();
            call.argument = (
                sample(ack_sample::PKTS_ACKED),
                sample(ack_sample::IN_FLIGHT),
            );
        }
        let segments = |field: u32| self.get(field).min(u32::MAX.into()) as u32;
        call.now_ns = self.now_ns;
        call.state = self.get(socket::CA_STATE);
        call.limited = self.get(socket::IS_CWND_LIMITED) != 0;
        call.srtt_us = self.get(socket::SRTT_US) as f64 / 8.0;
        call.cwnd = segments(socket::SND_CWND);
        call.cwnd_cnt = segments(socket::SND_CWND_CNT);
        call.ssthresh = segments(socket::SND_SSTHRESH);
        call.mss = self.get(socket::MSS_CACHE);
        call.packets_out = self.get(socket::PACKETS_OUT);
        call.sacked_out = self.get(socket::SACKED_OUT);
        call.lost_out = self.get(socket::LOST_OUT);
        call.retrans_out = self.get(socket::RETRANS_OUT);
        call.delivered = self.get(socket::DELIVERED);
        call.max_packets_out = self.get(socket::MAX_PACKETS_OUT);
    }
}

/// Reads the answer of a method; an error names the line of the method.
fn answered(method: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>) -> PyResult<u32> {
    let Err(error) = segments("the answer", answer) else {
        return answer.extract();
    };
    let text = |name: &str| -> PyResult<String> {
        let code = method.getattr("__code__")?;
        Ok(code.getattr(name)?.to_string())
    };
    let (Ok(file), Ok(line)) = (text("co_filename"), text("co_firstlineno")) else {
        return Err(error);
    };
    let words = error.value(method.py()).to_string();
    let sentence = format!("{words} ({}:{line})", last_part(&file));
    Err(PyValueError::new_err(sentence))
}

fn last_part(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
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
            place = format!(" ({}:{line})", last_part(&file));
        }
        next = level.getattr("tb_next").ok();
    }
    format!("{}: {text}{place}", kind.unwrap_or_default())
}
