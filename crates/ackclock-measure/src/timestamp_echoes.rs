//! Timestamps that one side has sent and the other echoes (RFC 7323 section 3), and when they passed.

use std::collections::VecDeque;

/// How many are remembered at most. Where nothing is echoed, as one way only was captured, they pile up; beyond this many within a round trip
/// there are no samples.
const MOST: usize = 8192;

/// A timestamp that has been echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// When a packet with it passed first, in nanoseconds.
    pub sent_at: u64,
    /// Whether this is the first echo.
    pub first: bool,
    /// Whether no later one has passed.
    pub newest: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    value: u32,
    sent_at: u64,
    echoed: bool,
}

/// The timestamps sent that may still be echoed.
#[derive(Clone, Debug, Default)]
pub struct TimestampEchoes(VecDeque<Stamp>);

/// Whether a timestamp is later than another (RFC 7323 section 5.2).
pub const fn is_later(value: u32, than: u32) -> bool {
    (value.wrapping_sub(than) as i32) > 0
}

impl TimestampEchoes {
    /// A packet with this timestamp passes.
    pub fn pass(&mut self, value: u32, at: u64) {
        // Most clocks tick more slowly than packets come; and some packets are late.
        if self.0.back().is_some_and(|last| !is_later(value, last.value)) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Stamp {
            value,
            sent_at: at,
            echoed: false,
        });
    }

    /// The other side echoes this one. Older ones will not be echoed any more, but for late packets.
    pub fn echo(&mut self, value: u32) -> Option<Echo> {
        while let Some(front) = self.0.front()
            && is_later(value, front.value)
        {
            self.0.pop_front();
        }
        let stamp = self.0.front_mut().filter(|stamp| stamp.value == value)?;
        let first = !std::mem::replace(&mut stamp.echoed, true);
        Some(Echo {
            sent_at: stamp.sent_at,
            first,
            newest: self.0.len() == 1,
        })
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
    fn what_is_never_echoed_does_not_pile_up() {
        let mut stamps = TimestampEchoes::default();
        (0..3 * MOST as u32).for_each(|value| stamps.pass(value, 0));
        assert_eq!(stamps.0.len(), MOST);
        assert_eq!(stamps.echo(5), None);
        assert!(stamps.echo(3 * MOST as u32 - 1).is_some());
    }
}
