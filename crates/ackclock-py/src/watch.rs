//! Work on another thread, watched by this one, which Python's signals reach.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval of progress reports and signal checks.
const WATCH: Duration = Duration::from_millis(100);

/// Does the work, and calls `tell` ten times a second and once when it is done.
///
/// At Ctrl-C, or if `tell` fails, calls `stop`, which must end the work soon. At Ctrl-C, returns
/// the result of the work so far; passes on a failure of `tell`.
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
        let done = Mutex::new(done); // `detach` takes only values that can be shared
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
