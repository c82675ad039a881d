//! Waiting for packets, for a stop signal and for a time, to the nanosecond.

use ackclock_spec::units::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a loop from another thread: a flag, and an eventfd(2) that wakes the loop. Clones share
/// both.
#[derive(Clone, Debug)]
pub struct Stop(Arc<(AtomicBool, OwnedFd)>);

impl Stop {
    /// Creates a stop signal that is not set.
    ///
    /// # Errors
    /// Errors of eventfd(2).
    pub fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stop(Arc::new((AtomicBool::new(false), descriptor))))
    }
    /// Stops the loop, or the next one to start. Cannot be undone.
    pub fn give(&self) {
        self.0.0.store(true, Ordering::Release);
        // Fails only if the counter is full, and then the loop has already been woken.
        let _ = write(&self.0.1, &1_u64.to_ne_bytes());
    }
    /// True if the stop signal is set.
    pub fn is_given(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }
}

/// Waits until one of the descriptors is readable, or for the time `most`. Signals wake it too.
///
/// Uses ppoll(2), whose timeout has nanoseconds in every kernel. epoll_pwait2(2) would do as well,
/// but before Linux 5.11 the library silently falls back to whole milliseconds. With three
/// descriptors it has no advantage.
///
/// # Errors
/// Errors of ppoll(2).
pub fn wait<const N: usize>(descriptors: [BorrowedFd<'_>; N], most: Span) -> io::Result<()> {
    let nanos = most.as_nanos().min(i64::MAX as u64);
    let timeout = Timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    let mut ready =
        descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    match poll(&mut ready, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True if reading would not block, because there is data or the end.
///
/// # Errors
/// Errors of poll(2).
pub fn is_ready(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    let mut ready = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    match poll(&mut ready, Some(&Timespec::default())) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.1.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn who_is_told_to_stop_wakes() {
        let stops = [(); 3].map(|()| Stop::new().unwrap());
        let wait_for = |most| wait(stops.each_ref().map(AsFd::as_fd), most).unwrap();
        wait_for(Span::from_nanos(1));
        assert!(stops.iter().all(|stop| !stop.is_given()));
        stops[2].clone().give();
        wait_for(Span::FOREVER); // would not end otherwise
        assert!(stops[2].is_given() && !stops[0].is_given());
    }

    /// Even on a busy machine one of so many short waits ends in time, unless all of them are
    /// rounded up.
    #[test]
    fn a_wait_is_not_rounded_to_milliseconds() {
        let (stop, clock) = (Stop::new().unwrap(), Clock::start());
        let is_short = |_| {
            let before = clock.now();
            wait([stop.as_fd()], Span::from_micros(10)).unwrap();
            clock.now().since(before) < Span::from_micros(900)
        };
        assert!((0..10_000).any(is_short));
    }
}
