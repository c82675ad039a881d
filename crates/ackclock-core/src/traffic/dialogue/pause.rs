//! Times of waiting with a given mean.

use ackclock_spec::prelude::*;
use ackclock_spec::streams::Streams;

/// Distribution of times with a given mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pauses {
    /// Constant.
    Constant,
    /// Exponential.
    Exponential,
}

/// A law of times.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Pause {
    pub mean: Span,
    pub law: Pauses,
}

impl Pause {
    pub const NONE: Pause = Pause {
        mean: Span::ZERO,
        law: Pauses::Constant,
    };

    pub const fn exponential(mean: Span) -> Self {
        Pause {
            mean,
            law: Pauses::Exponential,
        }
    }

    /// Returns the stream of a name; if nothing draws from it, one that does not depend on the
    /// seed, so that the source does not either.
    pub fn stream_of(streams: &Streams, name: &str, draws: bool) -> Stream {
        match draws {
            true => streams.stream(name),
            false => Streams::new(0, 0).stream(name),
        }
    }

    /// Draws a time.
    pub fn draw(self, stream: &mut Stream) -> Span {
        match self.law {
            Pauses::Constant => self.mean,
            Pauses::Exponential => stream.exponential_span(self.mean),
        }
    }

    /// True if its times are random.
    pub fn draws(self) -> bool {
        self.law == Pauses::Exponential && self.mean > Span::ZERO
    }
}
