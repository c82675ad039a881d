//! Workload of the two hosts: the flows of a scenario on the kernel's own sockets, without external
//! programs.
//!
//! Both hosts get the same [`Plan`]. One runs [`Sending`], the other [`Receiving`]. Each prepares
//! its sockets, and refuses anything impossible before it sends. It then runs one loop in one
//! thread until the run is over, and returns a report. Times in plan and reports count from the
//! beginning of the run, a time of CLOCK_MONOTONIC in the plan, so that the hosts and the emulator
//! agree.

mod counters;
mod datagram;
mod due;
mod duplicate_acks;
mod event_loop;
mod offered;
mod plan;
mod punctuality;
mod readings;
mod receiving;
mod report;
mod schedule;
mod sending;
mod service;
mod settings;
mod stack;
mod tcp_info;

pub use counters::Counted;
pub(crate) use plan::SAMPLE_INTERVAL_NS;
pub use plan::{
    FlowPlan, LoadedNames, Plan, Refused, Session, TcpSocket, TransportPlan, UDP_HEADER_BYTES,
    header_bytes, linux_name, sends_timestamps,
};
pub use punctuality::Punctuality;
pub(crate) use punctuality::waited_of;
pub use readings::{DeliveredReading, EventReading, RateReading, Readings};
pub use receiving::Receiving;
pub use report::{
    Delays, Ending, ReceivedDatagram, ReceivedDatagrams, ReceivedFlow, ReceivingReport,
    SendingReport, SentDatagram, SentDatagrams, SentFlow, SentSession, SocketSetting,
};
pub use schedule::Schedule;
pub use sending::Sending;
pub use service::{Role, WorkloadAnswer, WorkloadReport, WorkloadRequest, WorkloadService};
pub use tcp_info::{ConnectionState, LossState, TcpInfo, TcpInfoColumns};

use std::io;

/// Takes blocks of readings as they fill up, so that a long run needs no more memory than a short
/// one.
pub type SampleSink<'a> = &'a mut dyn FnMut(Readings) -> io::Result<()>;

/// Returns the current time of CLOCK_MONOTONIC in nanoseconds, the clock of [`Plan::begin_ns`].
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
