//! Captures, for all that read them: files, errors, and the flows of the run that wrote them.

use crate::CaptureError;
use ackclock_emu::addresses::flow_of;
use ackclock_emu::ipv4::Direction;
use ackclock_measure::measurement::Naming;
use ackclock_pcap::{FlowAddresses, Reader};
use ackclock_spec::error::Code;
use pyo3::PyErr;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::net::{IpAddr, SocketAddr};

/// The run that wrote a capture: name and number of instances of each flow in the order of the
/// scenario, and the warm-up in seconds.
pub type Written = (Vec<(String, i64)>, f64);

/// A capture that cannot be read.
pub struct Unreadable {
    file: String,
    code: Code,
    sentence: String,
}

impl Unreadable {
    pub fn new(file: &str, code: Code, sentence: String) -> Self {
        let file = file.into();
        Unreadable {
            file,
            code,
            sentence,
        }
    }

    pub fn of_system(file: &str, error: &io::Error) -> Self {
        Unreadable::new(file, Code::File, cannot_open(error))
    }

    pub fn of_content(file: &str, error: &ackclock_pcap::CaptureError) -> Self {
        let code = match error {
            ackclock_pcap::CaptureError::Unsupported(_) => Code::Unsupported,
            _ => Code::File,
        };
        Unreadable::new(file, code, error.to_string())
    }

    pub fn raised(self) -> PyErr {
        CaptureError::new_err((self.code.name(), self.file, self.sentence))
    }
}

fn cannot_open(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file; choose a capture, or - for standard input".into(),
        _ => format!("cannot be read ({error}); choose another capture, or - for standard input"),
    }
}

/// Returns the naming of data by its two addresses, in captures that a method wrote of
/// these flows.
pub fn naming_of(flows: &[(String, i64)], method: &str) -> Option<Naming> {
    let instances = |(name, count): &(String, i64)| {
        (0..*count)
            .map(|instance| (name.clone(), instance))
            .collect()
    };
    let names: Vec<(String, i64)> = flows.iter().flat_map::<Vec<_>, _>(instances).collect();
    match method {
        "simulate" => {
            let pair = |number: u32| {
                let FlowAddresses { sender, receiver } = FlowAddresses::of(number);
                (SocketAddr::from(sender), SocketAddr::from(receiver))
            };
            let by_addresses: HashMap<_, _> = (0..).map(pair).zip(names).collect();
            Some(Box::new(move |source, destination| {
                by_addresses.get(&(source, destination)).cloned()
            }))
        }
        "emulate" => Some(Box::new(move |source, destination| {
            let (IpAddr::V4(source), IpAddr::V4(destination)) = (source.ip(), destination.ip())
            else {
                return None;
            };
            match flow_of(source, destination)? {
                (flow, Direction::Forward) => names.get(flow as usize).cloned(),
                _ => None,
            }
        })),
        _ => None,
    }
}

/// Opens a capture in a file.
pub fn open(name: &str) -> Result<Reader<BufReader<File>>, Unreadable> {
    let file = File::open(name).map_err(|error| Unreadable::of_system(name, &error))?;
    Reader::new(BufReader::new(file)).map_err(|error| Unreadable::of_content(name, &error))
}
