//! Datagrams without a control: each write of the application leaves at once.

use crate::datagram::Once;
use crate::packet::Ecn;
use crate::traffic::Write;
use crate::transport::endpoint::{Arrived, Endpoint, Progress, Transmit};
use ackclock_spec::units::{Bytes, Time};
use std::collections::VecDeque;

/// Numbers and sends the writes of the application.
#[derive(Debug, Default)]
pub(super) struct PlainSender {
    pub(super) header: u16,
    /// Writes that are due and not yet sent.
    waiting: VecDeque<Bytes>,
    sent: u64,
}

impl PlainSender {
    pub(super) fn new(header: u16) -> Self {
        PlainSender {
            header,
            ..PlainSender::default()
        }
    }
}

impl Endpoint for PlainSender {
    fn write(&mut self, _: Time, write: Write) {
        match write {
            Write::Bytes(bytes) => self.waiting.push_back(bytes),
            Write::Unlimited => {} // the check of a scenario refuses such traffic
        }
    }
    fn stop(&mut self, _: Time) {
        self.waiting.clear();
    }
    fn handle_packet(&mut self, _: Time, _: &Arrived<'_>) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, now: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        let payload = self.waiting.pop_front()?;
        let number = self.sent;
        self.sent += 1;
        let size = payload.0.saturating_add(self.header.into());
        Some(Transmit {
            number,
            size: u16::try_from(size).unwrap_or(u16::MAX),
            stamp: now,
            ecn: Ecn::NotCapable,
            options: None,
        })
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn progress(&self) -> Progress {
        Progress {
            sent: self.sent,
            ..Progress::default()
        }
    }
}

/// Counts each datagram once.
#[derive(Debug)]
pub(super) struct PlainReceiver {
    header: u16,
    delivered: Bytes,
    once: Once,
}

impl PlainReceiver {
    pub(super) fn new(header: u16) -> Self {
        PlainReceiver {
            header,
            delivered: Bytes::ZERO,
            once: Once::default(),
        }
    }
}

impl Endpoint for PlainReceiver {
    fn handle_packet(&mut self, _: Time, arrived: &Arrived<'_>) {
        if self.once.is_new(arrived.packet.sequence) {
            let header = Bytes(self.header.into());
            self.delivered += arrived.packet.bytes().saturating_sub(header);
        }
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    fn delivered(&self) -> Bytes {
        self.delivered
    }
}
