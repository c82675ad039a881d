//! The laws of elements, one sentence each. The contract tests check them on every registered
//! element; a test that fails prints the element, the law that it breaks and the numbers.
//!
//! A law that a legitimate element breaks is wrong: restate it here.

use proptest::test_runner::TestCaseError;
use std::fmt::Display;

/// A sentence that holds for every element of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Law(&'static str);

impl Law {
    /// Panics unless the law holds for an element; `numbers` says by what they differ.
    #[track_caller]
    pub fn check(self, element: &impl Display, holds: bool, numbers: impl FnOnce() -> String) {
        assert!(holds, "{}", self.broken_by(element, &numbers()));
    }

    /// Fails a case of a property unless the law holds for an element.
    ///
    /// # Errors
    /// The law is broken.
    pub fn test(
        self,
        element: &impl Display,
        holds: bool,
        numbers: impl FnOnce() -> String,
    ) -> Result<(), TestCaseError> {
        match holds {
            true => Ok(()),
            false => Err(TestCaseError::fail(self.broken_by(element, &numbers()))),
        }
    }

    fn broken_by(self, element: &impl Display, numbers: &str) -> String {
        format!(
            "{element} breaks a law.\n  law:   {}\n  found: {numbers}",
            self.0
        )
    }
}

/// Windows are in segments; a product is the bandwidth-delay product of the bench.
pub mod controls {
    use super::Law;

    pub const NEVER_FALLS: Law = Law("While nothing is wrong, no ACK lowers the window.");
    pub const GROWS: Law =
        Law("While nothing is wrong, a window of 10 has at least 13 after 12 round trips.");
    pub const FILLS: Law =
        Law("Over a buffer of one product, the link is used to 90 % after 100 round trips.");
    pub const IS_BOUNDED: Law =
        Law("Over a buffer of one product, the window is at most four after 100 round trips.");
    pub const STANDS: Law = Law(
        "In a buffer of eight products, a window of two is at least 1.5 after 12 round trips, or \
        when it has three.",
    );
    pub const REACTS: Law = Law(
        "A congestion that the facts do not call ignored lowers the window by a tenth, within as \
        many ACKs as it has segments.",
    );
    pub const LOSS_FACTS_AGREE: Law =
        Law("Who reacts to a loss does not keep all, and who keeps all does not react.");
    pub const STATED_GROWTH: Law =
        Law("A constant growth is within 10 % of what the facts state, over 20 round trips.");
    pub const STATED_LEAST_RTT: Law =
        Law("The shortest round trip at which the stated growth holds is at most the bench's.");
    pub const STATED_DELAY: Law = Law(
        "Twenty round trips of 200 ms in a queue lower the window of a control that states to \
        react to delay, and raise that of one that states not to.",
    );
    pub const RESTORES: Law = Law(
        "A loss that was none costs nothing: the window is at least 90 % of that before, and no \
        larger.",
    );
    pub const UNDO_RAISES: Law = Law("An undo does not lower the window.");
    pub const FILLS_AFTER_UNDO: Law =
        Law("100 round trips after an undo, the window is at least 90 % of a product.");
    pub const TIMEOUT_LEAVES_LOSS_WINDOW: Law =
        Law("A timeout leaves the transport's loss window: one segment on the bench.");
    pub const FILLS_AFTER_TIMEOUT: Law =
        Law("Within 100 round trips of a timeout, the window has 90 % of a product.");
    pub const UNUSED_STAYS: Law = Law(
        "A window that is not used does not grow: it has at most 10, or three times what the \
        application sends, and four bursts of two more if the control paces.",
    );
    pub const ONE_SEGMENT: Law = Law("The window is at least one segment, whatever happens.");
    pub const IS_FINITE: Law = Law("The window is below 2^62 bytes, whatever happens.");
    pub const HAS_MODE: Law = Law("The state has a mode.");
    pub const CONGESTION_LOWERS: Law = Law("A loss or a mark does not raise the window.");
    pub const IDLE_LOWERS: Law =
        Law("After idling, the window is no larger than before and than the transport's limit.");
    pub const IS_DETERMINISTIC: Law = Law("The same signals give the same windows and states.");
    pub const STATED_SHARE: Law = Law("A loss or a mark leaves the share of the window stated.");
    pub const NEEDS_PACE: Law = Law("Who has a pace says in its needs that it is to be read.");
    pub const STATED_PACING: Law = Law("A control paces if and only if its facts state so.");
}

pub mod links {
    use super::Law;

    pub const FINISHES_LATER: Law = Law("A link does not finish before it starts.");
    pub const RATE_OF_TIME: Law = Law(
        "The rate is a function of time alone, or of time and what was served if the facts say so.",
    );
    pub const MEAN_OF_NO_TIME: Law = Law("The mean rate of no time is the rate.");
    pub const MEANS_ADD_UP: Law =
        Law("The data of two halves is that of the whole, to a bit per second.");
    pub const IS_REPRODUCIBLE: Law = Law("The same questions have the same answers.");
    pub const MORE_TAKES_LONGER: Law = Law("More data does not finish earlier.");
    pub const SENDS: Law = Law("The samples of a link send a packet within a century.");
    pub const ENDS: Law = Law("A link answers at the end of time without overflow.");
    pub const STATED_HIGHEST: Law = Law("The rate never exceeds the highest rate stated.");
    pub const STATED_CONSTANT: Law = Law("A link that states not to vary has one rate.");
    pub const STATED_MEAN: Law = Law("The mean rate of 20,000 s is within 2 % of that stated.");
}

pub mod queues {
    use super::Law;

    pub const CONSERVES: Law =
        Law("Every packet was dropped and reported once, or waits, or was handed out.");
    pub const FREES: Law = Law("The packets alive are those that wait and the one in service.");
    pub const COUNTS_BYTES: Law = Law("A queue without packets has no bytes, and no other.");
    pub const DOES_NOT_REST: Law =
        Law("An idle link gets a packet that waits, unless the queue says when it lets it go.");
    pub const DROPS_AS_QUEUE: Law = Law("A queue drops nothing for an impairment's reason.");
    pub const STATED_CAPACITY: Law = Law("A queue has the capacity stated, and keeps no more.");
    pub const STATED_TAIL: Law = Law(
        "Where the tail is dropped, a burst leaves 90 % of the capacity, loses its last packet, \
        and only to a full queue.",
    );
    pub const STATED_EARLY: Law = Law("Where drops come early, a burst loses its last packet.");
    pub const STATED_MARKS: Law =
        Law("In an overload, a queue marks packets if and only if it states so.");
    pub const MARKS_CAPABLE: Law = Law("A queue marks no packet that is not capable of ECN.");
    pub const TAIL_IS_NOT_EARLY: Law =
        Law("A queue that states to drop at the tail drops nothing before it is full.");
    pub const STATED_RATE: Law = Law(
        "A queue lets pass the rate stated, within 5 %, and all that the link can if it states \
        none.",
    );
}

pub mod impairments {
    use super::Law;

    pub const SPARES_ACKS: Law = Law("By default, an ACK passes and changes nothing.");
    pub const IS_REPRODUCIBLE: Law = Law("The same packets are judged alike.");
    pub const DELAYS_AFTER_LINK: Law = Law("Who delays packets stands after the link.");
    pub const DELAY_IS_FINITE: Law = Law("A delay is finite, at the end of time too.");
    pub const STATED_ORDER: Law = Law("Packets are reordered if and only if stated.");
    pub const STATED_SPACING: Law =
        Law("Losses come by chance, in bursts, or evenly spaced, as stated.");
    pub const STATED_SIDE: Law = Law("An impairment stands on the side of the link stated.");
    pub const STATED_DELAY: Law = Law("Packets are delayed if and only if stated.");
    pub const STATED_DUPLICATES: Law = Law("Packets are duplicated if and only if stated.");
    pub const STATED_ECN: Law = Law("The ECN field is rewritten if and only if stated.");
    pub const STATED_LOSS: Law = Law("The share lost is within 10 % of that stated.");
    pub const STATED_PACKETS: Law = Law("Data or ACKs all pass, if they are not those stated.");
}

pub mod sources {
    use super::Law;

    pub const IN_ORDER: Law = Law("Writes are in order, and do not change until they are taken.");
    pub const IS_REPRODUCIBLE: Law = Law("The same stream gives the same writes.");
    pub const ENDS_FOR_GOOD: Law = Law("A write is due if and only if there is one.");
    pub const UDP_IS_FINITE: Law = Law("Only a source for controlled transports is unlimited.");
    pub const WRITES_SOMETHING: Law = Law("A write has at least a byte.");
    pub const ADDS_UP: Law = Law("The writes add up to the total.");
    pub const STATED_SIZE: Law =
        Law("A source is finite, greedy and of the size stated, and so are its packets.");
}
