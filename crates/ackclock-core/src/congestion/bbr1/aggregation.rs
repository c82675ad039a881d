//! ACK aggregation: how much more arrives at once than the bandwidth explains
//! (`bbr_update_ack_aggregation` of Linux).

use super::BANDWIDTH_BITS;
use super::parameters::Bbr1;
use ackclock_spec::units::Time;

/// Largest count of an epoch, in segments (`bbr_ack_epoch_acked_reset_thresh`).
const LONGEST_EPOCH: u64 = 1 << 20;

/// The largest excess in the present window of rounds and in the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    most: [u64; 2],
    present: usize,
    rounds: u64,
    epoch: Time,
    acked: u64,
}

impl Default for Aggregation {
    fn default() -> Self {
        Aggregation {
            most: [0; 2],
            present: 0,
            rounds: 0,
            epoch: Time::ZERO,
            acked: 0,
        }
    }
}

impl Aggregation {
    /// Returns the largest excess, in segments.
    pub fn most(&self) -> u64 {
        self.most[0].max(self.most[1])
    }

    /// Begins a new epoch.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0);
    }

    /// Takes in an ACK of `acked` segments; `cwnd` bounds the excess.
    pub fn update(
        &mut self,
        parameters: &Bbr1,
        now: Time,
        acked: u64,
        round_start: bool,
        (bandwidth, cwnd): (u64, u64),
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= parameters.aggregation_rounds {
                self.rounds = 0;
                self.present = 1 - self.present;
                self.most[self.present] = 0;
            }
        }
        let micros = u128::from(now.since(self.epoch).as_nanos() / 1000);
        let mut expected = ((u128::from(bandwidth) * micros) >> BANDWIDTH_BITS) as u64;
        if self.acked <= expected || self.acked + acked >= LONGEST_EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(LONGEST_EPOCH - 1);
        let excess = self.acked.saturating_sub(expected).min(cwnd);
        let most = &mut self.most[self.present];
        *most = (*most).max(excess);
    }
}
