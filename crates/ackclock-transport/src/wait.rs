//! Waiting for packets, for the end and for a moment, to the nanosecond.

use ackclock_core::units::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a loop from another thread: a flag, and an eventfd(2) that wakes the loop. Copies are of
/// one and the same.
#[derive(Clone, Debug)]
pub struct Stop(Arc<(AtomicBool, OwnedFd)>);

impl Stop {
    /// One that has not been given.
    ///
    /// # Errors
    /// What eventfd(2) says.
    pub fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stop(Arc::new((AtomicBool::new(false), descriptor))))
    }
    /// Ends the loop, or the next one to come. Cannot be taken back.
    pub fn give(&self) {
        self.0.0.store(true, Ordering::Release);
        // Fails only when the counter is full: then it has been written before.
        let _ = write(&self.0.1, &1_u64.to_ne_bytes());
    }
    /// Whether it has been given.
    pub fn is_given(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }
}

/// Waits until one of the descriptors is readable, or for that long. Signals wake it too.
///
/// ppoll(2), whose timeout every kernel takes in nanoseconds. epoll_pwait2(2) would do as well, but
/// where it may be missing (before Linux 5.11) the library falls back on whole milliseconds without
/// a word, and with three descriptors there is nothing to gain.
///
/// # Errors
/// What ppoll(2) says.
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

/// Whether reading would not wait: there is something, or the end.
///
/// # Errors
/// What poll(2) says.
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

    /// However busy the machine is, it lets one of so many short waits end in time, unless all of
    /// them are rounded up.
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
