//! What a sender knows of the packets it has sent.

use crate::units::Time;
use std::collections::VecDeque;

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Nothing yet.
    Unknown,
    /// It has arrived.
    Received,
    /// It is held lost.
    Lost,
}

/// What news of an arrival means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It had been unknown.
    Received,
    /// It had been held lost, in error, and still counts as lost.
    SpuriousLoss,
    /// It was known already, or is forgotten, or has never been sent.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    status: Status,
    /// Whether news came that it had arrived after it had been held lost.
    spurious: bool,
    limit: Time,
}

/// The packets sent, by number, each with the moment up to which there may be news of it. Those
/// before the first that is unknown are remembered for a while, so that a loss that was none is
/// noticed.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// The number of the first entry.
    first: u64,
    /// The smallest number that is unknown; that of the next packet if none is.
    unknown: u64,
}

/// How many packets before the first unknown one are remembered: as many as the widest vector
/// speaks of, and as many again that are late.
const REMEMBERED: u64 = 128;

impl Log {
    /// The number that the next packet gets.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
    /// The smallest number that is unknown; that of the next packet if none is.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// A packet is sent, of which news is expected before `limit`.
    pub fn push(&mut self, limit: Time) {
        self.entries.push_back(Entry {
            status: Status::Unknown,
            spurious: false,
            limit,
        });
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = number.checked_sub(self.first)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// What is known of a packet; nothing of one that has been forgotten or not been sent.
    pub fn status(&self, number: u64) -> Option<Status> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get(index).map(|entry| entry.status)
    }
    /// Up to when there may be news of a packet.
    pub fn limit(&self, number: u64) -> Option<Time> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get(index).map(|entry| entry.limit)
    }

    /// It has arrived. One that is held lost stays lost: history is not changed.
    pub fn receive(&mut self, number: u64) -> News {
        let news = match self.entry(number) {
            Some(entry) if entry.status == Status::Unknown => {
                entry.status = Status::Received;
                News::Received
            }
            Some(entry) if entry.status == Status::Lost && !entry.spurious => {
                entry.spurious = true;
                News::SpuriousLoss
            }
            _ => return News::Nothing,
        };
        self.advance();
        news
    }

    /// It is held lost from now on; whether it had been unknown.
    pub fn lose(&mut self, number: u64) -> bool {
        match self.entry(number) {
            Some(entry) if entry.status == Status::Unknown => entry.status = Status::Lost,
            _ => return false,
        }
        self.advance();
        true
    }

    fn advance(&mut self) {
        while self
            .status(self.unknown)
            .is_some_and(|status| status != Status::Unknown)
        {
            self.unknown += 1;
        }
        while self.first + REMEMBERED < self.unknown {
            self.entries.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(count: u64) -> Log {
        let mut log = Log::default();
        (0..count).for_each(|number| log.push(Time::from_nanos(number)));
        log
    }

    #[test]
    fn each_packet_is_settled_once() {
        let mut log = sent(4);
        assert_eq!(log.receive(1), News::Received);
        assert_eq!(log.receive(1), News::Nothing);
        assert_eq!((log.unknown(), log.next()), (0, 4));
        assert!(log.lose(0) && !log.lose(0) && !log.lose(1));
        assert_eq!(log.unknown(), 2);
        assert_eq!(
            (log.receive(0), log.receive(0)),
            (News::SpuriousLoss, News::Nothing)
        );
        assert_eq!(log.status(0), Some(Status::Lost), "history is not changed");
        assert_eq!(
            (log.receive(4), log.lose(4), log.limit(3)),
            (News::Nothing, false, Some(Time::from_nanos(3)))
        );
    }

    #[test]
    fn what_is_long_settled_is_forgotten() {
        let mut log = sent(1000);
        (0..1000)
            .rev()
            .for_each(|number| assert_eq!(log.receive(number), News::Received));
        assert_eq!((log.unknown(), log.next()), (1000, 1000));
        assert_eq!(log.entries.len() as u64, REMEMBERED);
        assert_eq!(
            (log.status(0), log.status(999)),
            (None, Some(Status::Received))
        );
    }
}
