//! Waiting until sockets are ready, a timer expires, or the loop is told to end.

use super::monotonic_ns;
use super::plan::Plan;
use super::punctuality::{Punctuality, Watch};
use crate::schedule::become_real_time_host;
use ackclock_spec::units::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Number of the descriptor through which a loop is told to end.
const TOLD: u64 = u64::MAX;
/// Most sockets handled in one turn; the others are handled in the next.
const MOST_EVENTS: usize = 64;

/// Number of a socket, as given when it was added, and its events.
pub(super) type Ready = (u64, epoll::EventFlags);

/// The run's clock and the sockets of one loop.
#[derive(Debug)]
pub(super) struct Waiting {
    epoll: OwnedFd,
    begin_ns: u64,
    end_ns: u64,
    watch: Watch,
    told_to_end: bool,
    ready: Vec<Ready>,
}

impl Waiting {
    /// Creates a clock whose zero is the plan's beginning, without sockets except the one that
    /// tells to end. Raises the priority of the calling thread if permitted.
    pub(super) fn new(plan: &Plan, stop: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let ordinary = become_real_time_host().err().map(|error| error.to_string());
        // Without this the kernel wakes up to 50 µs late, to save wake-ups (prctl(2),
        // PR_SET_TIMERSLACK).
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let waiting = Waiting {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            begin_ns: plan.begin_ns,
            end_ns: plan.begin_ns.saturating_add(plan.duration_ns),
            watch: Watch::start(plan.bridged_ns, ordinary, monotonic_ns()),
            told_to_end: false,
            ready: Vec::with_capacity(MOST_EVENTS),
        };
        if let Some(stop) = stop {
            waiting.add(stop, TOLD, epoll::EventFlags::IN)?;
        }
        Ok(waiting)
    }

    /// Returns the time since the run began; 0 before.
    pub(super) fn now(&self) -> Time {
        self.since_begin(monotonic_ns())
    }
    /// Returns the run's time at a time of CLOCK_MONOTONIC; 0 before the run began.
    pub(super) fn since_begin(&self, instant_ns: u64) -> Time {
        Time::from_nanos(instant_ns.saturating_sub(self.begin_ns))
    }
    /// True if the loop was told to end, or the other end of that descriptor is closed.
    pub(super) const fn is_told_to_end(&self) -> bool {
        self.told_to_end
    }

    /// Adds a socket with the events in `flags`; errors and hang-ups are always included.
    pub(super) fn add(
        &self,
        socket: impl AsFd,
        number: u64,
        flags: epoll::EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(number),
            flags,
        )?)
    }
    /// Changes the events of a socket.
    pub(super) fn change(
        &self,
        socket: impl AsFd,
        number: u64,
        flags: epoll::EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(number),
            flags,
        )?)
    }

    /// Returns the delays of the thread, from the run's beginning to its end.
    pub(super) fn punctuality(&self) -> Punctuality {
        self.watch.measured().clone()
    }

    /// Waits until the run begins, or until told to end.
    pub(super) fn wait_for_begin(&mut self) -> io::Result<()> {
        while !self.told_to_end && monotonic_ns() < self.begin_ns {
            self.wait_until_instant(self.begin_ns)?;
        }
        Ok(())
    }
    /// Waits until a socket is ready or until the time `until`. May return early without a ready
    /// socket.
    pub(super) fn wait(&mut self, until: Time) -> io::Result<()> {
        self.wait_until_instant(self.begin_ns.saturating_add(until.as_nanos()))
    }
    /// Returns the sockets that the last wait found ready.
    pub(super) fn take_ready(&mut self) -> Vec<Ready> {
        std::mem::take(&mut self.ready)
    }

    fn wait_until_instant(&mut self, instant_ns: u64) -> io::Result<()> {
        let asked_ns = monotonic_ns();
        let left = Span::from_nanos(instant_ns.saturating_sub(asked_ns));
        let timeout = Timespec {
            tv_sec: (left.as_nanos() / 1_000_000_000).cast_signed(),
            tv_nsec: (left.as_nanos() % 1_000_000_000) as i64,
        };
        self.ready.clear();
        // ppoll(2) takes nanoseconds on every kernel; epoll_wait(2) only milliseconds before Linux
        // 5.11.
        let mut sockets = [PollFd::new(&self.epoll, PollFlags::IN)];
        let polled = poll(&mut sockets, Some(&timeout));
        let woken_ns = monotonic_ns();
        if woken_ns >= self.begin_ns && asked_ns < self.end_ns {
            // Lateness before the wait was requested is not the machine's fault.
            self.watch
                .note(woken_ns, woken_ns.saturating_sub(instant_ns.max(asked_ns)));
        }
        match polled {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = Vec::with_capacity(MOST_EVENTS);
        let at_once = Timespec::default();
        let space = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, space, Some(&at_once)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let (number, flags) = (event.data.u64(), event.flags);
            if number == TOLD {
                self.told_to_end = true;
            } else {
                self.ready.push((number, flags));
            }
        }
        Ok(())
    }
}
