//! Work on another thread while this one, which Python's signals reach, watches.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often progress is told and signals are looked at.
const WATCH: Duration = Duration::from_millis(100);

/// Does the work, calls `tell` ten times a second and once when it is done. At Ctrl-C, or if `tell`
/// fails, `stop` is to end the work soon; what came of it by then is the answer at Ctrl-C, a
/// failure of `tell` is passed on.
pub fn watch<R: Send>(
    py: Python<'_>,
    stop: impl Fn(),
    mut tell: impl FnMut() -> PyResult<()>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    std::thread::scope(|scope| {
        let (working, done) = channel::<()>();
        let worker = scope.spawn(move || {
            let _until_the_end = working;
            work()
        });
        let done = Mutex::new(done); // what may be taken into `detach` could be shared
        let mut failure = None;
        loop {
            let is_done = py.detach(|| {
                let done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.recv_timeout(WATCH) == Err(RecvTimeoutError::Disconnected)
            });
            if let Err(error) = py.check_signals().and_then(|()| tell()) {
                stop();
                if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    failure = Some(error);
                }
            }
            if is_done {
                break;
            }
        }
        let result = py.detach(|| worker.join());
        match (failure, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
