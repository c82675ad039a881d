//! One side of a connection of a stack that others wrote, whether it is called in this process or
//! answers from another.

use crate::abi::{Statistics, UNKNOWN};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt::Debug;

/// A side that is called, and says what the call led to.
pub trait Object: Debug + Send {
    /// Calls it at `now`, in nanoseconds, and puts into `outcome` what follows.
    fn call(&mut self, now: u64, call: Call<'_>, outcome: &mut Outcome);
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call<'a> {
    /// It opens the connection.
    Open,
    /// A datagram has arrived, with this ECN field.
    Datagram(&'a [u8], u8),
    /// Its time has come.
    Timeout,
    /// The application adds bytes, [`UNKNOWN`] if there is no end of them; true if no more come.
    Write(u64, bool),
}

/// The consequences of a call.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Datagrams that leave, after those of earlier calls that have not been taken.
    pub datagrams: Datagrams,
    /// When to call it next, in nanoseconds; [`UNKNOWN`] if never.
    pub wake: u64,
    /// Bytes that it has handed to the application.
    pub delivered: u64,
    /// Numbers that it gives of itself.
    pub statistics: Statistics,
    /// The first reason why it cannot go on.
    pub fault: Option<String>,
}

impl Default for Outcome {
    fn default() -> Self {
        Outcome {
            datagrams: Datagrams::default(),
            wake: UNKNOWN,
            delivered: 0,
            statistics: Statistics::NONE,
            fault: None,
        }
    }
}

impl Outcome {
    /// Adds what a later call led to.
    pub fn follow(&mut self, later: Outcome) {
        self.datagrams.append(later.datagrams);
        let first = self.fault.take();
        self.fault = first.or(later.fault);
        (self.wake, self.delivered) = (later.wake, later.delivered);
        self.statistics = later.statistics;
    }

    /// Keeps the first reason why it cannot go on.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.fault.get_or_insert_with(|| reason.into());
    }
}

/// Datagrams that wait to leave.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Their bytes, one after the other, from `begin` on.
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    begin: usize,
    /// Length and ECN field of each.
    lengths: VecDeque<(u16, u8)>,
}

impl Datagrams {
    /// True if no datagram waits.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns the number of datagrams that wait.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Adds a train: datagrams of `segment` bytes, but perhaps the last.
    pub fn push(&mut self, train: &[u8], segment: usize, ecn: u8) {
        self.bytes.extend_from_slice(train);
        let lengths = train
            .chunks(segment)
            .map(|datagram| (datagram.len() as u16, ecn));
        self.lengths.extend(lengths);
    }

    /// Adds datagrams.
    fn append(&mut self, mut others: Datagrams) {
        self.bytes.extend_from_slice(&others.bytes[others.begin..]);
        self.lengths.append(&mut others.lengths);
    }

    /// Moves the next datagram to the end of `payload`, and returns its ECN field.
    pub fn next(&mut self, payload: &mut Vec<u8>) -> Option<u8> {
        let (length, ecn) = self.lengths.pop_front()?;
        let end = self.begin + usize::from(length);
        payload.extend_from_slice(&self.bytes[self.begin..end]);
        self.begin = end;
        if self.lengths.is_empty() {
            self.bytes.clear();
            self.begin = 0;
        }
        Some(ecn)
    }
}
