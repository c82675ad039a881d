//! The time at which a permitted segment leaves: pacing, jitter, and the burst it belongs to.

use super::super::pacing::{Jitter, Pacer};
use super::super::parameters::SendingParameters;
use super::bursts::Burst;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Span, Time};

/// The sender's account of its transmissions.
#[derive(Debug)]
pub(super) struct Transmission {
    /// Time at which pacing or jitter releases the next segment; never if none waits.
    pub release_at: Time,
    /// Time of the last transmission or idle restart.
    pub active_at: Time,
    /// Number of segments that may still be sent before the next event, and its maximum.
    pub burst_left: u32,
    max_burst: u32,
    /// The burst of the last new segment, if the sender has bursts.
    pub burst: Burst,
    pub pacer: Pacer,
    pub jitter: Option<Box<Jitter>>,
}

impl Transmission {
    pub fn new(parameters: &SendingParameters, jitter: Stream) -> Self {
        let max_burst = match parameters.max_burst.0 {
            0 => u32::MAX,
            most => most,
        };
        let most = parameters.send_jitter;
        Transmission {
            release_at: Time::NEVER,
            active_at: Time::NEVER,
            burst_left: max_burst,
            max_burst,
            burst: Burst::new(parameters.segmentation_offload),
            pacer: Pacer::default(),
            jitter: (most > Span::ZERO).then(|| Box::new(Jitter::new(jitter, most))),
        }
    }

    /// Allows the segments that may be sent in response to one event.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn begin_event(&mut self) {
        self.burst_left = self.max_burst;
        self.burst.held = false;
    }

    /// Forgets the jitter of segments that could have left already.
    #[inline(always)] // runs for every packet, where a call costs more than the work
    pub fn forget_jitter(&mut self) {
        if let Some(jitter) = &mut self.jitter {
            jitter.forget();
        }
    }
}
