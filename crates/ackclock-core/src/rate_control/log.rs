//! The sender's record of the packets it has sent.

use ackclock_spec::units::Time;
use std::collections::VecDeque;

/// State of a sent packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// No information yet.
    Unknown,
    /// It has arrived.
    Received,
    /// Deemed lost.
    Lost,
}

/// The effect of a reported arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The packet was unknown before.
    Received,
    /// The packet was deemed lost, in error; it still counts as lost.
    SpuriousLoss,
    /// The packet was known to have arrived, was forgotten, or was never sent.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    status: Status,
    /// True if it was reported to have arrived after it was deemed lost.
    spurious: bool,
    limit: Time,
}

/// The sent packets by number, each with the time by which feedback is expected. Packets before the
/// first unknown one are kept for a while, so that spurious losses are detected.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// Number of the first entry.
    first: u64,
    /// Smallest unknown number; that of the next packet if there is none.
    unknown: u64,
}

/// Number of packets kept before the first unknown one: as many as the widest vector reports, and
/// as many again that are late.
const REMEMBERED: u64 = 128;

impl Log {
    /// Returns the number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
    /// Returns the smallest unknown number; that of the next packet if there is none.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Records a sent packet whose feedback is expected before `limit`.
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

    /// Returns the state of a packet; `None` if it was forgotten or never sent.
    pub fn status(&self, number: u64) -> Option<Status> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get(index).map(|entry| entry.status)
    }
    /// Returns the time by which feedback on a packet is expected.
    pub fn limit(&self, number: u64) -> Option<Time> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get(index).map(|entry| entry.limit)
    }

    /// Records an arrival. A packet deemed lost stays lost: history does not change.
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

    /// Deems a packet lost. Returns true if it was unknown.
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
