//! Rows on their way from the engine to Python: few at a time, whatever their number.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two checks of the request to stop while rows wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Chunks of rows that have not been taken yet.
pub struct Waiting<T> {
    chunks: Mutex<Vec<T>>,
    taken: Condvar,
    most: usize,
}

impl<T> Waiting<T> {
    /// Makes an empty one, which holds so many chunks at most.
    pub const fn new(most: usize) -> Self {
        Waiting {
            chunks: Mutex::new(Vec::new()),
            taken: Condvar::new(),
            most,
        }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<T>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a chunk. Waits while there are many, unless the work is to stop.
    pub fn put(&self, chunk: T, is_stopped: impl Fn() -> bool) {
        let mut chunks = self.chunks();
        while chunks.len() >= self.most && !is_stopped() {
            let woken = self.taken.wait_timeout(chunks, PATIENCE);
            chunks = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        chunks.push(chunk);
    }

    /// Takes all chunks, in their order.
    pub fn take(&self) -> Vec<T> {
        let chunks = std::mem::take(&mut *self.chunks());
        self.taken.notify_all();
        chunks
    }
}
