//! Length of rounds.

use super::{Strategy, Tfrcp};
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::Span;

/// The shortest round: a thousand decisions per second suffice for any path.
pub(super) const SHORTEST: Span = Span::from_millis(1);

/// Chooses the length of each round.
#[derive(Debug)]
pub(super) enum Rounds {
    /// S1: M.
    Constant(Span),
    /// S2: K round-trip times.
    RoundTrips(f64),
    /// S3: c + U[0, d].
    Random {
        minimum: Span,
        spread: Span,
        stream: Stream,
    },
}

impl Rounds {
    /// Creates the rule from checked parameters. Random lengths use the stream of `place`.
    pub fn new(parameters: &Tfrcp, place: StreamScope<'_>) -> Self {
        match parameters.strategy {
            Strategy::Constant => Rounds::Constant(parameters.round.unwrap_or(SHORTEST)),
            Strategy::RoundTrips => Rounds::RoundTrips(parameters.round_trips.unwrap_or(1.0)),
            Strategy::Random => Rounds::Random {
                minimum: parameters.round_minimum.unwrap_or(SHORTEST),
                spread: parameters.round_spread.unwrap_or(Span::ZERO),
                stream: place.stream(),
            },
        }
    }

    /// Returns the length of the round that begins now; `None` if it depends on the round-trip time
    /// and there is no sample yet.
    pub fn length(&mut self, rtt: Option<Span>) -> Option<Span> {
        let length = match self {
            Rounds::Constant(length) => *length,
            Rounds::RoundTrips(number) => Span::from_seconds(*number * rtt?.as_seconds()),
            Rounds::Random {
                minimum,
                spread,
                stream,
            } => *minimum + stream.uniform_span(*spread),
        };
        Some(length.max(SHORTEST))
    }
}
