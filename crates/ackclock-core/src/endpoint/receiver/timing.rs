//! Rules of Linux by which ACKs leave earlier or later than by RFC 5681.

use super::super::parameters::TcpParameters;
use super::window_growth::WindowGrowth;
use ackclock_spec::units::Span;

/// Segments beyond a hole that are acknowledged at once, and most that share an ACK after them
/// (`TCP_FASTRETRANS_THRESH` and `tcp_comp_sack_nr` of Linux).
const PROMPT_BEYOND_HOLE: u32 = 3;
const MOST_HELD: u32 = 44;

/// Blocks that one ACK is expected to report for certain (`TCP_SACK_BLOCKS_EXPECTED`): it has room
/// for three, and the ACK before may be lost. Linux keeps to it since 5.8.
pub(super) const EXPECTED_BLOCKS: usize = 2;

/// Further rules of Linux's ACKs; a receiver without any has none of this.
#[derive(Debug)]
pub(super) struct Timing {
    /// Tick of the clock that the delayed ACK waits for; zero for an exact timer.
    pub(super) tick: Span,
    pub(super) growth: Option<WindowGrowth>,
    /// Longest wait of an ACK of segments beyond a hole; zero if none waits.
    beyond_hole: Span,
    /// The hole's first segment, and how many segments beyond it were acknowledged at once.
    hole: u64,
    prompt: u32,
    /// Segments beyond the hole since the last ACK.
    pub(super) held: u32,
}

impl Timing {
    pub(super) fn new(parameters: &TcpParameters) -> Option<Timing> {
        let (tick, beyond_hole) = (
            parameters.timer.timer_tick,
            parameters.receiver.delayed_ack.beyond_hole,
        );
        let grows = parameters.receiver.receive_buffer_growth;
        (tick > Span::ZERO || beyond_hole > Span::ZERO || grows).then(|| Timing {
            tick,
            growth: grows.then(|| WindowGrowth::new(parameters.connection.mss)),
            beyond_hole,
            hole: u64::MAX,
            prompt: 0,
            held: 0,
        })
    }

    /// True if the ACK of a segment beyond the hole before `next` waits for more of them.
    pub(super) fn holds_back(&mut self, next: u64) -> bool {
        if self.beyond_hole == Span::ZERO {
            return false;
        }
        if self.hole != next {
            (self.hole, self.prompt, self.held) = (next, 0, 0);
        }
        if self.prompt < PROMPT_BEYOND_HOLE {
            self.prompt += 1;
            return false;
        }
        self.held += 1;
        self.held <= MOST_HELD
    }

    /// Returns how long an ACK beyond a hole waits at most.
    pub(super) fn wait(&self) -> Span {
        match &self.growth {
            Some(growth) => self.beyond_hole.min(growth.round_trip() / 3),
            None => self.beyond_hole,
        }
    }
}
