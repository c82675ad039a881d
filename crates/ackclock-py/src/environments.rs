//! Runs that a program steers: the engine's part of `ackclock.gym`.

use crate::{Place, refuse, scenario_in};
use ackclock_core::congestion::external::External;
use ackclock_core::congestion::steered::Order;
use ackclock_core::transport::Tcp;
use ackclock_emu::files::Folder;
use ackclock_scenario::{Instances, Scenario};
use ackclock_sim::environment::many::{self, Beginning, Path};
use ackclock_sim::environment::{Clock, NAMES};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::units::{BitRate, Bytes, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Environments of a program, which its threads step together.
#[pyclass(frozen)]
pub struct Environments(std::sync::Mutex<Held>);

struct Held {
    environments: many::Environments,
    /// Values that all observe; those of environments that stand are kept.
    observed: Vec<f64>,
    orders: Vec<Order>,
}

#[pymethods]
impl Environments {
    /// Makes `count` environments of these points, whose learners are the flows `flow`.
    #[new]
    #[pyo3(signature = (points, place, flow, *, count, clock, threads))]
    fn new(
        points: Vec<String>,
        place: Place,
        flow: &str,
        count: usize,
        clock: (String, f64),
        threads: usize,
    ) -> PyResult<Self> {
        let clock = clock_of(&clock)?;
        let folder = Folder::from(place);
        let (mut paths, mut learners) = (Vec::new(), None);
        for tree in points {
            let scenario = scenario_in(&tree, folder.clone())?;
            let (group, instances) = learners_of(&scenario, flow).map_err(refuse)?;
            if *learners.get_or_insert(instances) != instances {
                let sentence = "differs between points; learners are as many at each";
                return Err(refuse(at(flow, "count", sentence)));
            }
            paths.push(Path { scenario, group });
        }
        let learners = learners.unwrap_or_default();
        let environments = many::Environments::new(paths, learners, count, clock, threads);
        Ok(Environments(std::sync::Mutex::new(Held {
            observed: vec![f64::NAN; count * environments.width()],
            orders: vec![Order::default(); count * learners],
            environments,
        })))
    }

    /// Begins environments again, each with the number of its path and a seed. Returns what all
    /// environments observe: 64-bit floats by environment, learner and column.
    fn reset<'py>(
        &self,
        py: Python<'py>,
        begun: Vec<(usize, usize, u64)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut held = self.held();
        let held = &mut *held;
        let (count, paths) = (held.environments.count(), held.environments.paths());
        let is_here =
            |(environment, path, _): &(usize, usize, u64)| *environment < count && *path < paths;
        if !begun.iter().all(is_here) {
            return Err(PyValueError::new_err(
                "there is no such environment or path",
            ));
        }
        py.detach(|| {
            let beginnings: Vec<Beginning> = begun
                .iter()
                .map(|&(environment, path, seed)| Beginning {
                    environment,
                    path,
                    seed,
                })
                .collect();
            let width = held.environments.width();
            let mut rows = vec![f64::NAN; begun.len() * width];
            held.environments.reset(&beginnings, &mut rows);
            for ((number, _, _), row) in begun.iter().zip(rows.chunks(width)) {
                held.observed[number * width..][..width].copy_from_slice(row);
            }
        });
        Ok(as_bytes(py, &held.observed))
    }

    /// Gives orders, and steps all environments but those that stand. Orders are two 64-bit floats
    /// for each learner, window in bytes and rate in bit/s; NaN leaves what there is. `stands` has
    /// a byte for each environment. Returns what all environments observe.
    fn step<'py>(
        &self,
        py: Python<'py>,
        orders: &[u8],
        stands: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut held = self.held();
        let held = &mut *held;
        if orders.len() != held.orders.len() * 16 || stands.len() != held.environments.count() {
            return Err(PyValueError::new_err(
                "the number of orders is not that of learners",
            ));
        }
        for (order, given) in held.orders.iter_mut().zip(orders.chunks_exact(16)) {
            *order = Order {
                cwnd: number(&given[..8]).map(Bytes),
                rate: number(&given[8..]).map(BitRate::from_bit_per_s),
            };
        }
        let stands: Vec<bool> = stands.iter().map(|&stands| stands != 0).collect();
        py.detach(|| {
            held.environments
                .step(&held.orders, &stands, &mut held.observed);
        });
        Ok(as_bytes(py, &held.observed))
    }

    /// Returns what waits at each shared hop of an environment, in bytes.
    fn backlogs(&self, environment: usize) -> PyResult<Vec<u64>> {
        let mut held = self.held();
        if environment >= held.environments.count() {
            return Err(PyValueError::new_err("there is no such environment"));
        }
        Ok(held.environments.backlogs(environment))
    }

    /// Returns the number of learners of an environment.
    fn learners(&self) -> usize {
        self.held().environments.width() / NAMES.len()
    }
}

impl Environments {
    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns the names of what a learner observes, with units.
#[pyfunction]
pub fn observed_columns() -> Vec<&'static str> {
    NAMES.to_vec()
}

/// Reads a number; `None` for what is not finite.
fn number(bytes: &[u8]) -> Option<u64> {
    let value = f64::from_le_bytes(bytes.try_into().ok()?);
    value.is_finite().then_some(value as u64)
}

fn as_bytes<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    PyBytes::new(py, &bytes)
}

fn clock_of((name, value): &(String, f64)) -> PyResult<Clock> {
    Ok(match name.as_str() {
        "round_trips" => Clock::RoundTrips(*value),
        "seconds" => Clock::Fixed(Span::from_seconds(*value)),
        "acks" => Clock::Acks(*value as u32),
        "congestion" => Clock::Congestion,
        _ => return Err(PyValueError::new_err("there is no such clock")),
    })
}

fn at(flow: &str, field: &str, sentence: &str) -> Error {
    Error::message(&format!("flows.{flow}.{field}"), sentence).coded(Code::Unsupported)
}

/// Returns the number of the learners' group and of its instances. Refuses a scenario that the
/// engine cannot run.
fn learners_of(scenario: &Scenario, flow: &str) -> Result<(usize, usize), Error> {
    let mut learners = None;
    for (number, group) in scenario.flows.iter().enumerate() {
        let tcp: Option<&Tcp> = group.transport.parameters();
        let is_external = tcp.is_some_and(|tcp| tcp.control.parameters::<External>().is_some());
        if group.name == flow && is_external {
            let Instances::Count(count) = group.instances else {
                return Err(at(flow, "arrivals", "is not for learners; give a count"));
            };
            learners = Some((number, count as usize));
        } else if let Some(refusal) = group.transport.refusal() {
            return Err(refusal.within(&format!("flows.{}.transport", group.name)));
        }
    }
    learners.ok_or_else(|| at(flow, "transport", "is not TCP; learners control a TCP flow"))
}
