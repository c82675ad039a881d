//! The common parts of the RED variants: the average queue, the drop probability that follows from
//! it, and the choice of the packets.

use super::droptail::DropTail;
use super::{Admission, Occupancy};
use crate::observe::{Context, DropReason};
use crate::packet::PacketId;
use ackclock_spec::quantity::QueueLimit;
use ackclock_spec::streams::Stream;
use ackclock_spec::units::{Span, Time};

/// A FIFO queue behind such a choice.
#[derive(Debug)]
pub(super) struct EarlyDetection {
    /// Room of the queue.
    pub buffer: DropTail,
    /// Unit of the average.
    pub measure: Measure,
    pub average: Average,
    pub curve: Curve,
    pub spacing: Spacing,
    /// True if a random drop becomes a mark for an ECN-capable packet.
    pub ecn: bool,
    /// The shortest queue that drops or marks early.
    pub early_from: Level,
}

/// Unit of a queue's length; the packet in service does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Packets,
    Bytes,
    /// Wait of a packet behind the one in service.
    Seconds,
}

impl Measure {
    fn of(self, occupancy: &Occupancy) -> f64 {
        match self {
            Measure::Packets => occupancy.waiting.packets as f64,
            Measure::Bytes => occupancy.waiting.bytes.as_f64(),
            Measure::Seconds => (occupancy.wait - occupancy.residual_service).as_seconds(),
        }
    }
}

/// A queue length with its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub measure: Measure,
    pub value: f64,
}

impl Level {
    /// Returns none for an unlimited length.
    pub fn of(limit: QueueLimit) -> Option<Self> {
        let (measure, value) = match limit {
            QueueLimit::Packets(packets) => (Measure::Packets, packets as f64),
            QueueLimit::Bytes(bytes) => (Measure::Bytes, bytes.as_f64()),
            QueueLimit::Time(span) => (Measure::Seconds, span.as_seconds()),
            QueueLimit::Unlimited => return None,
        };
        Some(Level { measure, value })
    }
    fn is_reached(self, occupancy: &Occupancy) -> bool {
        self.measure.of(occupancy) >= self.value
    }
}

/// The exponentially weighted moving average of the queue that packets find on arrival (Floyd and
/// Jacobson 1993, figure 2).
#[derive(Debug)]
pub(super) struct Average {
    pub value: f64,
    weight: f64,
    /// s, in seconds: service time of a packet that could have come while the link was idle.
    typical: f64,
}

impl Average {
    pub fn new(weight: f64, typical: f64) -> Self {
        Average {
            value: 0.0,
            weight,
            typical,
        }
    }

    /// Updates the average with the queue that a packet finds: avg + w (q − avg). After idle time
    /// it is (1 − w)^m avg, as if m packets had come in that time, back to back, and had found the
    /// queue empty.
    fn update(&mut self, queue: f64, idle: Option<Span>) {
        match idle {
            None => self.value += self.weight * (queue - self.value),
            Some(idle) if self.value > 0.0 => {
                self.value *= libm::pow(1.0 - self.weight, idle.as_seconds() / self.typical);
            }
            Some(_) => {}
        }
    }
}

/// The drop probability as a function of the average queue.
#[derive(Debug)]
pub(super) struct Curve {
    /// min_th and max_th.
    pub low: f64,
    pub high: f64,
    /// max_p, at max_th.
    pub most: f64,
    /// True if it rises from there to 1 at twice max_th.
    pub gentle: bool,
}

/// The share of packets to drop at an average queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    Nothing,
    /// p_b: drop at random with that probability.
    Part(f64),
    Everything,
}

impl Curve {
    fn at(&self, average: f64) -> Share {
        let Curve {
            low, high, most, ..
        } = *self;
        if average < low {
            Share::Nothing
        } else if average < high {
            Share::Part(most * (average - low) / (high - low))
        } else if self.gentle && average < 2.0 * high {
            Share::Part(most + (1.0 - most) * (average - high) / high)
        } else {
            Share::Everything
        }
    }
}

/// Spaces the random drops. With a constant p_b, the number of packets from one drop to the next is
/// uniform on 1 … 1/p_b (Floyd and Jacobson 1993, section 7, method 2).
///
/// One number R is drawn for each drop, and the first packet whose number n has n p_b > R is
/// dropped. This is the paper's efficient algorithm, which gives p_b/(1 − n p_b) without a draw for
/// every packet.
///
/// With `wait`, the first 1/p_b packets after a drop are spared, so that the number is uniform on
/// 1/p_b … 2/p_b. This is `wait_` of ns-2, which is true unless a script says otherwise.
#[derive(Debug)]
pub(super) struct Spacing {
    stream: Stream,
    wait: bool,
    threshold: f64,
    /// Packets since the last random drop; zero if a number is to be drawn.
    count: u64,
}

impl Spacing {
    pub fn new(stream: Stream, wait: bool) -> Self {
        Spacing {
            stream,
            wait,
            threshold: 0.0,
            count: 0,
        }
    }

    fn strikes(&mut self, share: f64) -> bool {
        if self.count == 0 {
            self.threshold = self.stream.uniform() + f64::from(u8::from(self.wait));
        }
        self.count += 1;
        let strikes = self.count as f64 * share > self.threshold;
        if strikes {
            self.count = 0;
        }
        strikes
    }

    /// Restarts the count, because the average asks for no drop or a packet was dropped for another
    /// reason.
    fn restart(&mut self) {
        self.count = 0;
    }
}

impl Admission for EarlyDetection {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        let idle = occupancy.is_idle().then_some(occupancy.idle);
        self.average.update(self.measure.of(occupancy), idle);
        let share = if self.early_from.is_reached(occupancy) {
            self.curve.at(self.average.value)
        } else {
            Share::Nothing
        };
        if share == Share::Nothing {
            self.spacing.restart();
        }
        if !self.buffer.fits(context.packets[id].bytes(), occupancy) {
            self.spacing.restart();
            context.drop_packet(now, id, DropReason::QueueFull);
            return false;
        }
        let admitted = match share {
            Share::Nothing => true,
            Share::Part(share) => {
                !self.spacing.strikes(share) || (self.ecn && context.mark_packet(now, id))
            }
            Share::Everything => {
                self.spacing.restart();
                false
            }
        };
        if !admitted {
            context.drop_packet(now, id, DropReason::Aqm);
        }
        admitted
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::observe::Observer;
    use crate::packet::{Backlog, Ecn, FlowId, Packet, PacketKind, PacketPool};
    use ackclock_spec::quantity::QueueLimit;
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::Bytes;

    /// The packets dropped and marked, by their numbers.
    #[derive(Debug, Default)]
    pub struct Fates {
        pub drops: Vec<(u64, DropReason)>,
        pub marks: Vec<u64>,
    }

    impl Observer for Fates {
        fn dropped(&mut self, _: Time, packet: &Packet, reason: DropReason) {
            self.drops.push((packet.sequence, reason));
        }
        fn marked(&mut self, _: Time, packet: &Packet) {
            self.marks.push(packet.sequence);
        }
    }

    /// Returns the occupancy of that many waiting packets of 1000 bytes, 1 ms each, behind one with
    /// half a millisecond left.
    pub fn waiting(packets: u64) -> Occupancy {
        let backlog = |packets| Backlog {
            packets,
            bytes: Bytes(packets * 1000),
        };
        Occupancy {
            waiting: backlog(packets),
            in_service: backlog(1),
            residual_service: Span::from_micros(500),
            wait: Span::from_micros(500 + packets * 1000),
            idle: Span::ZERO,
        }
    }

    /// Offers a packet of that number at that moment.
    pub fn offer(
        queue: &mut dyn Admission,
        (at, number, ecn): (Time, u64, Ecn),
        occupancy: &Occupancy,
        fates: &mut Fates,
    ) -> bool {
        let mut packets = PacketPool::new();
        let mut packet = Packet::new(PacketKind::Data, FlowId(0), number, 1000, at);
        packet.set_ecn(ecn);
        let id = packets.insert(packet);
        let mut context = Context {
            packets: &mut packets,
            observer: fates,
        };
        queue.admit(at, id, occupancy, &mut context)
    }

    /// Makes a queue with thresholds 5 and 15 and a drop probability of 0.1 at the upper one. With
    /// weight 1, the average is the queue that the last packet found.
    fn detection(weight: f64, gentle: bool, ecn: bool) -> EarlyDetection {
        EarlyDetection {
            buffer: QueueLimit::Packets(100).into(),
            measure: Measure::Packets,
            average: Average::new(weight, 0.001),
            curve: Curve {
                low: 5.0,
                high: 15.0,
                most: 0.1,
                gentle,
            },
            spacing: Spacing::new(Streams::new(7, 0).stream("hop/test/queue"), false),
            ecn,
            early_from: Level {
                measure: Measure::Packets,
                value: 0.0,
            },
        }
    }

    /// Returns the fates of `n` packets that all find that many waiting.
    fn fates(queue: &mut EarlyDetection, packets: u64, n: u64, ecn: Ecn) -> Fates {
        let mut fates = Fates::default();
        for number in 0..n {
            offer(
                queue,
                (Time::ZERO, number, ecn),
                &waiting(packets),
                &mut fates,
            );
        }
        fates
    }

    #[test]
    fn the_average_follows_its_recursion() {
        let (mut queue, mut fates, mut expected) =
            (detection(0.002, false, false), Fates::default(), 0.0);
        for number in 0..2000 {
            let waits = number * 7 % 23;
            offer(
                &mut queue,
                (Time::ZERO, number, Ecn::NotCapable),
                &waiting(waits),
                &mut fates,
            );
            expected += 0.002 * (waits as f64 - expected);
            assert_eq!(queue.average.value, expected);
        }
        assert!(expected > 10.0, "dropped packets count, too: {expected}");
    }

    #[test]
    fn idle_time_counts_as_the_packets_that_might_have_come() {
        let mut fates = Fates::default();
        for (idle_ms, times) in [(0, 0), (1, 1), (10, 10), (3000, 3000)] {
            let mut queue = detection(0.002, false, false);
            queue.average.value = 4.0;
            let mut one_by_one = 4.0;
            (0..times).for_each(|_| one_by_one *= 1.0 - 0.002);
            let idle = Occupancy {
                idle: Span::from_millis(idle_ms),
                ..Occupancy::default()
            };
            assert!(offer(
                &mut queue,
                (Time::ZERO, 0, Ecn::NotCapable),
                &idle,
                &mut fates
            ));
            let average = queue.average.value;
            assert!(
                (average / one_by_one - 1.0_f64).abs() < 1e-10,
                "{average} {one_by_one}"
            );
        }
        // A busy link with nothing waiting is not idle.
        let mut queue = detection(0.25, false, false);
        queue.average.value = 4.0;
        offer(
            &mut queue,
            (Time::ZERO, 0, Ecn::NotCapable),
            &waiting(0),
            &mut fates,
        );
        assert_eq!(queue.average.value, 3.0);
    }

    #[test]
    fn a_queue_is_reckoned_in_packets_bytes_or_time() {
        assert_eq!(Measure::Packets.of(&waiting(7)), 7.0);
        assert_eq!(Measure::Bytes.of(&waiting(7)), 7000.0);
        assert!((Measure::Seconds.of(&waiting(7)) - 0.007).abs() < 1e-12);
    }

    #[test]
    fn the_share_rises_in_straight_lines() {
        for (gentle, at_20, at_30) in [
            (false, Share::Everything, Share::Everything),
            (true, Share::Part(0.1 + 0.9 * 5.0 / 15.0), Share::Everything),
        ] {
            let curve = detection(1.0, gentle, false).curve;
            assert_eq!(curve.at(4.999), Share::Nothing);
            assert_eq!(curve.at(5.0), Share::Part(0.0));
            assert_eq!(curve.at(10.0), Share::Part(0.05));
            assert_eq!((curve.at(20.0), curve.at(30.0)), (at_20, at_30));
        }
        let curve = detection(1.0, true, false).curve;
        let near = |share, other| {
            matches!(
                (share, other),
                (Share::Part(p), Share::Part(q)) if p < q && q - p < 1e-6
            )
        };
        assert!(
            near(curve.at(15.0 - 1e-6), curve.at(15.0 + 1e-6)),
            "no step at the threshold"
        );
    }

    #[test]
    fn gaps_are_uniform_up_to_the_inverse_of_the_share() {
        for (found, inverse) in [(6, 100_u64), (7, 50), (10, 20), (13, 12)] {
            // At 13 the probability is 0.08: gaps of 1 to 12 with 0.08 each, and 13 with the rest.
            let mut queue = detection(1.0, false, false);
            let drops = fates(&mut queue, found, 400_000, Ecn::NotCapable).drops;
            assert!(drops.iter().all(|(_, reason)| *reason == DropReason::Aqm));
            let numbers = std::iter::once(u64::MAX).chain(drops.iter().map(|(number, _)| *number));
            let numbers: Vec<u64> = numbers.collect();
            let gaps: Vec<u64> = numbers
                .windows(2)
                .map(|two| two[1].wrapping_sub(two[0]))
                .collect();
            let share = 0.1 * (found as f64 - 5.0) / 10.0;
            let n = gaps.len() as f64;
            for gap in 1..=inverse + 2 {
                let expected = (1.0 - (gap - 1) as f64 * share).clamp(0.0, share);
                let seen = gaps.iter().filter(|length| **length == gap).count() as f64;
                let deviation = (n * expected * (1.0 - expected)).sqrt();
                assert!(
                    (seen - n * expected).abs() <= 4.0 * deviation + 1e-9 * n,
                    "{found}: {seen} gaps of {gap} among {n}"
                );
            }
            assert!(gaps.iter().all(|gap| *gap <= inverse + 1));
        }
    }

    /// With `wait`, gaps are uniform on 1/p + 1 … 2/p: at 10 packets, p is 0.05.
    #[test]
    fn a_queue_that_waits_spares_the_packets_after_a_drop() {
        let mut queue = detection(1.0, false, false);
        queue.spacing.wait = true;
        let drops = fates(&mut queue, 10, 400_000, Ecn::NotCapable).drops;
        let numbers: Vec<u64> = drops.iter().map(|(number, _)| *number).collect();
        let gaps: Vec<u64> = numbers.windows(2).map(|two| two[1] - two[0]).collect();
        let n = gaps.len() as f64;
        for gap in 1..=45 {
            let expected = if (21..=40).contains(&gap) { 0.05 } else { 0.0 };
            let seen = gaps.iter().filter(|length| **length == gap).count() as f64;
            let deviation = (n * expected * (1.0 - expected)).sqrt();
            assert!(
                (seen - n * expected).abs() <= 4.0 * deviation,
                "{seen} gaps of {gap} among {n}"
            );
        }
    }

    #[test]
    fn with_the_second_slope_more_are_dropped_and_beyond_it_all() {
        let dropped = |average, gentle| {
            fates(
                &mut detection(1.0, gentle, false),
                average,
                30_000,
                Ecn::NotCapable,
            )
            .drops
            .len()
        };
        assert_eq!(dropped(4, true), 0);
        assert_eq!((dropped(15, false), dropped(29, false)), (30_000, 30_000));
        assert_eq!(dropped(30, true), 30_000);
        // p_b at 18 is 0.28: gaps of 1, 2 and 3 with that probability each, of 4 with the rest.
        let mean_gap = 0.28 * 6.0 + 0.16 * 4.0;
        let share = dropped(18, true) as f64 / 30_000.0;
        assert!((share * mean_gap - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn what_is_capable_is_marked_where_chance_strikes_and_dropped_where_everything_is() {
        let plain = fates(&mut detection(1.0, false, true), 10, 2000, Ecn::NotCapable);
        let capable = fates(&mut detection(1.0, false, true), 10, 2000, Ecn::Capable);
        let unasked = fates(&mut detection(1.0, false, false), 10, 2000, Ecn::Capable);
        let numbers = |drops: &[(u64, DropReason)]| {
            drops.iter().map(|(number, _)| *number).collect::<Vec<_>>()
        };
        assert!(plain.drops.len() > 100 && plain.marks.is_empty());
        assert_eq!(
            (capable.drops.len(), &capable.marks),
            (0, &numbers(&plain.drops)),
            "the same packets"
        );
        assert_eq!(
            (numbers(&unasked.drops), unasked.marks.len()),
            (numbers(&plain.drops), 0)
        );
        let over = fates(&mut detection(1.0, false, true), 15, 10, Ecn::Capable);
        assert_eq!((over.drops.len(), over.marks.len()), (10, 0));
    }

    #[test]
    fn a_full_buffer_drops_for_being_full() {
        let mut queue = detection(0.002, false, true);
        let fates = fates(&mut queue, 100, 5, Ecn::Capable);
        assert_eq!(
            fates.drops,
            (0..5)
                .map(|n| (n, DropReason::QueueFull))
                .collect::<Vec<_>>()
        );
        assert!(queue.average.value > 0.9, "they count in the average");
    }

    #[test]
    fn a_queue_shorter_than_that_drops_nothing_early() {
        let mut queue = detection(0.002, false, false);
        queue.average.value = 100.0;
        queue.early_from.value = 2.0;
        let dropped = |queue: &mut EarlyDetection, found| {
            fates(queue, found, 10, Ecn::NotCapable).drops.len()
        };
        assert_eq!(dropped(&mut queue, 1), 0);
        assert_eq!(dropped(&mut queue, 2), 10);
    }

    #[test]
    fn below_the_lower_threshold_counting_begins_anew() {
        let mut queue = detection(1.0, false, false);
        let mut fates_of = Fates::default();
        for number in 0..10_000 {
            // Nine packets between the thresholds, then one below. So no gap is longer than nine,
            // and at p_b = 0.05 fewer than half of the groups have a drop.
            let length = if number % 10 == 9 { 0 } else { 10 };
            offer(
                &mut queue,
                (Time::ZERO, number, Ecn::NotCapable),
                &waiting(length),
                &mut fates_of,
            );
        }
        // The first drop of each nine is at each place with probability 1/20.
        let struck = (0..1000)
            .filter(|ten| fates_of.drops.iter().any(|(number, _)| number / 10 == *ten))
            .count();
        assert!(
            (struck as f64 - 450.0).abs() < 4.0 * (1000.0_f64 * 0.45 * 0.55).sqrt(),
            "{struck}"
        );
    }
}
