//! Recent retransmissions, to be found when one turns out to be spurious.

use std::collections::VecDeque;

/// Number of retransmissions remembered: more than most windows have.
const MOST: usize = 512;

#[derive(Clone, Copy, Debug)]
struct Again {
    low: u64,
    high: u64,
    needless: bool,
    arrived: bool,
}

/// The latest retransmissions of a direction.
#[derive(Clone, Debug, Default)]
pub struct Resent(VecDeque<Again>);

impl Resent {
    /// Records a retransmission of the numbers between `low` and `high`; `needless` if it is known
    /// at once to be spurious.
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

    /// Marks the retransmission of `number` as spurious. Returns true if there is one that was not
    /// marked yet: the network duplicates packets too.
    pub fn note_needless(&mut self, number: u64) -> bool {
        let again = self.find(number, |again| !again.needless);
        again.is_some_and(|again| !std::mem::replace(&mut again.needless, true))
    }

    /// Records that `number` arrived twice. Returns two flags: true if that is new; true if the
    /// retransmission was not known to be spurious before.
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
