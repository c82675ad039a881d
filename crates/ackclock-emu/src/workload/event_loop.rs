//! Waiting: for sockets to be ready, for the next moment at which something is due, or to be told
//! to end.

use super::monotonic_ns;
use super::plan::Plan;
use super::punctuality::{Punctuality, Watch};
use crate::schedule::become_real_time_host;
use ackclock_core::units::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the descriptor is called through which a loop is told to end.
const TOLD: u64 = u64::MAX;
/// Most sockets looked at in one turn; the others are looked at in the next.
const MOST_EVENTS: usize = 64;

/// What happened on a socket: the number it was added with, and what it is ready for.
pub(super) type Ready = (u64, epoll::EventFlags);

/// The run's clock and the sockets of one loop.
#[derive(Debug)]
pub(super) struct Waiting {
    epoll: OwnedFd,
    begin_ns: u64,
    end_ns: u64,
    watch: Watch,
    told: bool,
    ready: Vec<Ready>,
}

impl Waiting {
    /// A clock whose zero is the plan's begin, and no socket but the one that tells to end. The
    /// calling thread gets the priority that it needs, where it may have it.
    pub(super) fn new(plan: &Plan, told: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let ordinary = become_real_time_host().err().map(|error| error.to_string());
        // Without this the kernel wakes up to 50 µs late, to save wake-ups (prctl(2),
        // PR_SET_TIMERSLACK).
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let waiting = Waiting {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            begin_ns: plan.begin_ns,
            end_ns: plan.begin_ns.saturating_add(plan.duration_ns),
            watch: Watch::start(plan.bridged_ns, ordinary, monotonic_ns()),
            told: false,
            ready: Vec::with_capacity(MOST_EVENTS),
        };
        if let Some(told) = told {
            waiting.add(told, TOLD, epoll::EventFlags::IN)?;
        }
        Ok(waiting)
    }

    /// The time since the run began; zero before.
    pub(super) fn now(&self) -> Time {
        self.since_begin(monotonic_ns())
    }
    /// The run's time at an instant of CLOCK_MONOTONIC; zero before it began.
    pub(super) fn since_begin(&self, instant_ns: u64) -> Time {
        Time::from_nanos(instant_ns.saturating_sub(self.begin_ns))
    }
    /// Whether it was told to end, or whoever could tell is gone.
    pub(super) const fn is_told(&self) -> bool {
        self.told
    }

    /// Waits for what `flags` say of a socket, errors and the end of the connection always among
    /// it.
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
    /// Waits for something else of a socket.
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

    /// How the thread was kept from its work, from the run's begin to its end.
    pub(super) fn punctuality(&self) -> Punctuality {
        self.watch.found().clone()
    }

    /// Waits until the run begins, or until it is told to end.
    pub(super) fn wait_for_begin(&mut self) -> io::Result<()> {
        while !self.told && monotonic_ns() < self.begin_ns {
            self.wait_until_instant(self.begin_ns)?;
        }
        Ok(())
    }
    /// Waits until a socket is ready or `until` has come. May return early, with no socket ready.
    pub(super) fn wait(&mut self, until: Time) -> io::Result<()> {
        self.wait_until_instant(self.begin_ns.saturating_add(until.as_nanos()))
    }
    /// What the last waiting has found.
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
        let found = poll(&mut sockets, Some(&timeout));
        let woken_ns = monotonic_ns();
        if woken_ns >= self.begin_ns && asked_ns < self.end_ns {
            // What was due before it was asked for is not the machine's fault.
            self.watch
                .note(woken_ns, woken_ns.saturating_sub(instant_ns.max(asked_ns)));
        }
        match found {
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
                self.told = true;
            } else {
                self.ready.push((number, flags));
            }
        }
        Ok(())
    }
}
