//! Timestamps that one side has sent and the other echoes (RFC 7323 section 3), with the times at
//! which they passed.

use std::collections::VecDeque;

/// Most timestamps remembered. They accumulate if nothing is echoed because only one direction was
/// captured. With more than this many per round trip there are no samples.
const MOST: usize = 8192;

/// A timestamp that has been echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Time at which the first packet with it passed, in nanoseconds.
    pub sent_at: u64,
    /// True if this is the first echo of it.
    pub first: bool,
    /// True if no newer timestamp has passed.
    pub newest: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    value: u32,
    sent_at: u64,
    echoed: bool,
}

/// Most entries of each list of packets out of order: timestamps that were echoed before they
/// passed, and those of late packets. Packets with the same time have no order.
const OUT_OF_ORDER: usize = 8;

/// Timestamps sent that may still be echoed.
#[derive(Clone, Debug, Default)]
pub struct TimestampEchoes {
    sent: VecDeque<Stamp>,
    /// Latest timestamp that was echoed, or the oldest that is known.
    latest_echoed: Option<u32>,
    /// Timestamps that passed after later ones.
    late: VecDeque<u32>,
    /// Timestamps recently echoed that have not passed, and the number of all such timestamps.
    unseen: VecDeque<u32>,
    missed: u64,
}

fn remember(last: &mut VecDeque<u32>, value: u32) {
    if last.len() == OUT_OF_ORDER {
        last.pop_front();
    }
    last.push_back(value);
}

/// True if a timestamp is later than another (RFC 7323 section 5.2).
pub const fn is_later(value: u32, than: u32) -> bool {
    (value.wrapping_sub(than) as i32) > 0
}

impl TimestampEchoes {
    /// Records a packet with this timestamp.
    pub fn pass(&mut self, value: u32, at: u64) {
        if let Some(place) = self.unseen.iter().position(|unseen| *unseen == value) {
            self.unseen.remove(place);
            self.missed -= 1;
        }
        self.latest_echoed.get_or_insert(value);
        // Most clocks tick more slowly than packets come, and some packets are late.
        if let Some(last) = self.sent.back()
            && !is_later(value, last.value)
        {
            if value != last.value {
                remember(&mut self.late, value);
            }
            return;
        }
        if self.sent.len() == MOST
            && let Some(oldest) = self.sent.pop_front()
        {
            self.latest_echoed = Some(oldest.value);
        }
        self.sent.push_back(Stamp {
            value,
            sent_at: at,
            echoed: false,
        });
    }

    /// Handles an echo of this timestamp. Older ones will not be echoed any more, except by late
    /// packets.
    pub fn echo(&mut self, value: u32) -> Option<Echo> {
        while let Some(front) = self.sent.front()
            && is_later(value, front.value)
        {
            self.sent.pop_front();
        }
        let is_news = self
            .latest_echoed
            .is_some_and(|latest| is_later(value, latest));
        if is_news {
            self.latest_echoed = Some(value);
        }
        let newest = self.sent.len() == 1;
        let Some(stamp) = self.sent.front_mut().filter(|stamp| stamp.value == value) else {
            if is_news && !self.late.contains(&value) {
                self.missed += 1;
                remember(&mut self.unseen, value);
            }
            return None;
        };
        let first = !std::mem::replace(&mut stamp.echoed, true);
        Some(Echo {
            sent_at: stamp.sent_at,
            first,
            newest,
        })
    }

    /// Returns the least number of packets that the capture missed: their timestamps were echoed
    /// but have not passed.
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_finds_the_first_packet_of_its_stamp() {
        let mut stamps = TimestampEchoes::default();
        stamps.pass(u32::MAX, 1);
        stamps.pass(u32::MAX, 2);
        stamps.pass(3, 5); // wrapped
        stamps.pass(2, 6); // late
        let echo = |sent_at, first, newest| {
            Some(Echo {
                sent_at,
                first,
                newest,
            })
        };
        assert_eq!(stamps.echo(u32::MAX), echo(1, true, false));
        assert_eq!(stamps.echo(u32::MAX), echo(1, false, false));
        assert_eq!(stamps.echo(3), echo(5, true, true));
        assert_eq!(stamps.echo(u32::MAX), None, "older ones are forgotten");
        assert_eq!(stamps.echo(7), None, "never seen");
    }

    #[test]
    fn what_is_echoed_and_never_passed_is_missed() {
        let mut stamps = TimestampEchoes::default();
        stamps.echo(4);
        assert_eq!(
            stamps.missed(),
            0,
            "of what was before the capture nobody knows"
        );
        stamps.pass(5, 1);
        [8, 11, 10]
            .into_iter()
            .for_each(|value| stamps.pass(value, 2));
        [5, 7, 7, 8, 9, 10, 11, 13, 12]
            .into_iter()
            .for_each(|value| {
                stamps.echo(value);
            });
        assert_eq!(stamps.missed(), 3, "7, 9 and 13; 10 was late, 12 is");
        stamps.pass(13, 3);
        assert_eq!(stamps.missed(), 2, "it came after its echo");
    }

    #[test]
    fn what_is_never_echoed_does_not_pile_up() {
        let mut stamps = TimestampEchoes::default();
        (0..3 * MOST as u32).for_each(|value| stamps.pass(value, 0));
        assert_eq!(stamps.sent.len(), MOST);
        assert_eq!(stamps.echo(5), None);
        assert!(stamps.echo(3 * MOST as u32 - 1).is_some());
    }
}
