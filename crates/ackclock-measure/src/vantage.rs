//! Position of the capture point on the path.

use ackclock_spec::units::Span;

/// Largest share of the round trip on one side for which the capture point counts as next to that
/// side. We chose the value: hosts take some of the time.
const NEAR: f64 = 0.1;

/// Position of the capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender.
    Sender,
    /// Between sender and receiver.
    Middle,
    /// At the receiver.
    Receiver,
    /// The round trip to one of the sides is unknown.
    Unknown,
}

impl Vantage {
    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Middle => "middle",
            Vantage::Receiver => "receiver",
            Vantage::Unknown => "unknown",
        }
    }

    /// Returns the position, given the least round trips from the capture point to the sender and
    /// to the receiver. It uses the least, since the sender's side includes time without data to
    /// send, and the receiver's side includes the delay of ACKs.
    pub fn of(sender_side: Option<Span>, receiver_side: Option<Span>) -> Self {
        let (Some(sender), Some(receiver)) = (sender_side, receiver_side) else {
            return Vantage::Unknown;
        };
        let near = (sender + receiver).as_nanos() as f64 * NEAR;
        if sender.as_nanos() as f64 <= near {
            Vantage::Sender
        } else if receiver.as_nanos() as f64 <= near {
            Vantage::Receiver
        } else {
            Vantage::Middle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_side_is_where_it_was_taken() {
        let of = |sender: u64, receiver: u64| {
            let vantage = Vantage::of(
                Some(Span::from_micros(sender)),
                Some(Span::from_micros(receiver)),
            );
            vantage.name()
        };
        assert_eq!(
            [of(20, 50_000), of(50_000, 20), of(20_000, 30_000)],
            ["sender", "receiver", "middle"]
        );
        assert_eq!(Vantage::of(None, Some(Span::ZERO)).name(), "unknown");
    }
}
