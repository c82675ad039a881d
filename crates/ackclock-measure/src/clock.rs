//! Correction of capture times: a record with a wrong time, a clock that was set back.
//!
//! One packet is held back, since only the next one shows if its time is out of line.

use ackclock_pcap::CapturedPacket;
use ackclock_pcap::packet::LATEST_NS;
use ackclock_spec::units::Span;

/// Largest disorder of records. They are not in exact order: buffers of several processors are
/// written one after the other. If a time is further off, it is wrong or the clock was set. We
/// chose the value.
const ORDER: Span = Span::from_millis(1_000);

/// Corrections of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Packets whose time differed widely from both neighbours, and was replaced by that of a
    /// neighbour.
    pub wrong_times: u64,
    /// Number of times that the clock was set back.
    pub set_back: u64,
    /// Largest step back in nanoseconds.
    pub largest_step: u64,
}

/// Corrects times. Corrected times never step back by more than `ORDER`, and a single wrong time
/// changes no other. None is later than [`LATEST_NS`], however often the clock is set back.
#[derive(Debug, Default)]
pub struct Clock {
    held: Option<CapturedPacket>,
    /// Latest corrected time.
    latest: Option<u64>,
    /// Offset added to all times since the clock was set back.
    shift: u64,
    repairs: Repairs,
}

impl Clock {
    /// Takes a packet and returns the previous one, corrected.
    pub fn pass(&mut self, packet: &CapturedPacket) -> Option<CapturedPacket> {
        let next = self.shifted(packet);
        let held = self.held.replace(packet.clone());
        held.map(|held| self.settle(held, Some(next)))
    }

    /// Returns the last packet.
    pub fn finish(&mut self) -> Option<CapturedPacket> {
        let held = self.held.take();
        held.map(|held| self.settle(held, None))
    }

    /// Returns the corrections so far.
    pub const fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// Returns the time of a packet on the clock as it was before it was set back.
    fn shifted(&self, packet: &CapturedPacket) -> u64 {
        packet.at_ns.saturating_add(self.shift).min(LATEST_NS)
    }

    /// Corrects the time of a packet, given the next time.
    fn settle(&mut self, mut packet: CapturedPacket, next: Option<u64>) -> CapturedPacket {
        let order = ORDER.as_nanos();
        let mut at = self.shifted(&packet);
        let latest = self.latest.unwrap_or(0);
        let is_before = |time: u64, other: u64| time.saturating_add(order) < other;
        if let Some(next) = next
            && is_before(next, at)
            && (self.latest.is_none() || !is_before(next, latest))
        {
            // The packet is ahead of the next one, which is in line with those before.
            self.repairs.wrong_times += 1;
            at = next.max(latest);
        } else if is_before(at, latest) {
            if next.is_some_and(|next| !is_before(next, latest)) {
                self.repairs.wrong_times += 1;
            } else {
                // The packets that follow are behind too: time continues from the latest.
                self.repairs.set_back += 1;
                self.repairs.largest_step = self.repairs.largest_step.max(latest - at);
                self.shift = self.shift.saturating_add(latest - at);
            }
            at = latest;
        }
        self.latest = Some(latest.max(at));
        packet.at_ns = at;
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::Ecn;
    use ackclock_pcap::packet::{Segment, Transport};

    /// Returns corrected times in seconds, and the corrections.
    fn passed(seconds: &[f64]) -> (Vec<f64>, Repairs) {
        let mut clock = Clock::default();
        let mut out = Vec::new();
        for at in seconds {
            let packet = CapturedPacket {
                at_ns: (at * 1e9) as u64,
                source: "10.0.0.1:1".parse().unwrap(),
                destination: "10.0.0.2:2".parse().unwrap(),
                ip_bytes: 40,
                identification: 0,
                ecn: Ecn::NotCapable,
                transport: Transport::Tcp(Segment::default()),
            };
            out.extend(clock.pass(&packet));
        }
        out.extend(clock.finish());
        let times = out.iter().map(|packet| packet.at_ns as f64 / 1e9).collect();
        (times, clock.repairs())
    }

    fn repairs(wrong_times: u64, set_back: u64, largest_step: u64) -> Repairs {
        Repairs {
            wrong_times,
            set_back,
            largest_step: largest_step * 1_000_000_000,
        }
    }

    #[test]
    fn times_in_about_their_order_are_left_alone() {
        let times = [5.0, 5.5, 5.25, 4.75, 5.5, 900_000.0, 900_000.5];
        assert_eq!(passed(&times), (times.to_vec(), Repairs::default()));
    }

    #[test]
    fn a_single_wrong_time_becomes_that_of_a_neighbour() {
        assert_eq!(
            passed(&[1.0, 1.5, 2_000.0, 2.0, 2.5]),
            (vec![1.0, 1.5, 2.0, 2.0, 2.5], repairs(1, 0, 0))
        );
        assert_eq!(
            passed(&[100.0, 100.5, 3.0, 101.0]),
            (vec![100.0, 100.5, 100.5, 101.0], repairs(1, 0, 0))
        );
        assert_eq!(
            passed(&[2_000.0, 2.0, 2.5]),
            (vec![2.0, 2.0, 2.5], repairs(1, 0, 0)),
            "the first one"
        );
    }

    #[test]
    fn set_backs_that_add_up_end_at_the_latest_time() {
        let times: Vec<f64> = (0..20).flat_map(|_| [4e9, 4e9, 0.0, 0.0]).collect();
        let (times, repairs) = passed(&times);
        assert!(times.is_sorted());
        assert_eq!(times.last(), Some(&(LATEST_NS as f64 / 1e9)));
        assert!(repairs.set_back > 2);
    }

    #[test]
    fn time_goes_on_when_the_clock_is_set_back() {
        let (times, found) = passed(&[100.0, 101.0, 50.0, 51.0, 52.5]);
        assert_eq!(times, [100.0, 101.0, 101.0, 102.0, 103.5]);
        assert_eq!(found, repairs(0, 1, 51));
    }
}
