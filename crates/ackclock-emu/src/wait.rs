//! Waiting for packets, for the end and for a moment, to the nanosecond.

use ackclock_core::units::Span;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::{Errno, write};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a loop from another thread: a flag, and an eventfd(2) that wakes the loop. Copies are of one and the same.
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

/// Waits for any of a few descriptors.
pub struct Waiter {
    epoll: Option<OwnedFd>,
    ready: Vec<epoll::Event>,
}

const DESCRIPTORS: usize = 3;

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("epoll", &self.epoll)
            .finish_non_exhaustive()
    }
}

impl Waiter {
    /// Waits for these to be readable.
    ///
    /// # Errors
    /// What epoll_create(2) and epoll_ctl(2) say.
    pub fn new(descriptors: [BorrowedFd<'_>; DESCRIPTORS]) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, descriptor) in (0..).zip(descriptors) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&epoll, descriptor, data, epoll::EventFlags::IN)?;
        }
        Ok(Waiter {
            epoll: Some(epoll),
            ready: Vec::with_capacity(DESCRIPTORS),
        })
    }

    /// Waits until one of them, the same as those of [`Waiter::new`], is readable, or for that long. Signals wake it too.
    ///
    /// # Errors
    /// What epoll_pwait2(2) says, or ppoll(2) where the kernel (before 5.11) has not the former.
    pub fn wait(&mut self, descriptors: [BorrowedFd<'_>; DESCRIPTORS], most: Span) -> io::Result<()> {
        let nanos = most.as_nanos().min(i64::MAX as u64);
        let timeout = Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        if let Some(epoll) = &self.epoll {
            self.ready.clear();
            match epoll::wait(epoll, spare_capacity(&mut self.ready), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => return Ok(()),
                Err(Errno::NOSYS) => self.epoll = None,
                Err(error) => return Err(error.into()),
            }
        }
        let mut ready = descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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

    #[test]
    fn who_is_told_to_stop_wakes_whatever_the_kernel_can() {
        for old_kernel in [false, true] {
            let stops = [(); DESCRIPTORS].map(|()| Stop::new().unwrap());
            let descriptors = || [stops[0].as_fd(), stops[1].as_fd(), stops[2].as_fd()];
            let mut waiter = Waiter::new(descriptors()).unwrap();
            if old_kernel {
                waiter.epoll = None;
            }
            waiter.wait(descriptors(), Span::from_nanos(1)).unwrap();
            assert!(stops.iter().all(|stop| !stop.is_given()));
            stops[2].clone().give();
            // Would not end otherwise.
            waiter.wait(descriptors(), Span::FOREVER).unwrap();
            assert!(stops[2].is_given() && !stops[0].is_given());
        }
    }
}
