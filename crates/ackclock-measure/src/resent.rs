//! Packets lately sent again, to be found when it turns out that one was sent needlessly.

use std::collections::VecDeque;

/// How many are remembered: more than a window has, mostly.
const MOST: usize = 512;

#[derive(Clone, Copy, Debug)]
struct Again {
    low: u64,
    high: u64,
    needless: bool,
    arrived: bool,
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
        self.0.push_back(Again {
            low,
            high,
            needless,
            arrived: false,
        });
    }

    /// It turns out that what covers `number` was sent needlessly. Says whether that is news of a
    /// packet sent again: the network duplicates packets too.
    pub fn note_needless(&mut self, number: u64) -> bool {
        let again = self.find(number, |again| !again.needless);
        again.is_some_and(|again| !std::mem::replace(&mut again.needless, true))
    }

    /// The receiver says that it got what covers `number` twice. Says whether that is news, and
    /// whether it is that it was needless.
    pub fn note_arrived(&mut self, number: u64) -> (bool, bool) {
        match self.find(number, |again| !again.arrived) {
            Some(again) => {
                again.arrived = true;
                (true, !std::mem::replace(&mut again.needless, true))
            }
            None => (false, false),
        }
    }

    fn find(&mut self, number: u64, fits: impl Fn(&Again) -> bool) -> Option<&mut Again> {
        let covers = |again: &Again| again.low <= number && number < again.high;
        self.0
            .iter_mut()
            .rev()
            .find(|again| covers(again) && fits(again))
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
        assert_eq!(
            resent.note_arrived(15),
            (true, false),
            "known to be needless, not to have arrived"
        );
        assert_eq!(resent.note_arrived(15), (false, false));
        resent.push(40, 50, false);
        assert_eq!(resent.note_arrived(40), (true, true));
    }
}
