//! Packets lately sent again, to be found when it turns out that one was sent needlessly.

use std::collections::VecDeque;

/// How many are remembered: more than a window has, mostly.
const MOST: usize = 512;

#[derive(Clone, Copy, Debug)]
struct Again {
    low: u64,
    high: u64,
    needless: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Resent(VecDeque<Again>);

impl Resent {
    /// What lies between `low` and `high` was sent again; `needless` if that is known at once.
    pub fn push(&mut self, low: u64, high: u64, needless: bool) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Again { low, high, needless });
    }

    /// It turns out that what covers `number` was sent needlessly. Says whether that is news of a packet sent again: the network duplicates packets too.
    pub fn note_needless(&mut self, number: u64) -> bool {
        let fits = |again: &&mut Again| !again.needless && again.low <= number && number < again.high;
        match self.0.iter_mut().rev().find(fits) {
            Some(again) => {
                again.needless = true;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_needless_once() {
        let mut resent = Resent::default();
        resent.push(0, 10, false);
        resent.push(10, 20, true);
        resent.push(0, 10, false);
        assert!(resent.note_needless(5) && resent.note_needless(5) && !resent.note_needless(5));
        assert!(!resent.note_needless(15), "known before");
        assert!(!resent.note_needless(30), "not sent again");
    }
}
