//! A voice call: packets of speech while somebody talks, and of comfort noise while nobody does.

use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use ackclock_spec::prelude::*;

parameters! {
    /// Parameters. A call is met in its midst: talking with its long-run probability, and inside
    /// the time between two packets. A change of state interrupts the time between two packets of
    /// a state and does not restart it, so that the long-run rate is exact.
    pub struct Voip {
        /// Payload of a packet of speech.
        pub talking_packet: Bytes = Bytes(33),
        /// Time between two packets of speech.
        pub talking_interval: Span = Span::from_millis(20),
        /// Payload of a packet of comfort noise.
        pub silent_packet: Bytes = Bytes(7),
        /// Time between two packets of comfort noise.
        pub silent_interval: Span = Span::from_millis(160),
        /// Mean length of the times in which somebody talks, which are exponential.
        pub mean_talking: Span = Span::from_millis(1250),
        /// Mean length of the times in which nobody talks, which are exponential; zero for none.
        pub mean_silent: Span = Span::from_millis(1250),
    }
}

/// Most changes of state that a packet of speech may take, on average.
const MOST_CHANGES: u64 = 1_000_000;

impl Element<TrafficKind> for Voip {
    const NAME: &'static str = "voip";
    const LABEL: &'static str = "voice call";
    const SUMMARY: &'static str = "Sends a small packet every 20 ms while somebody talks, and a \
        smaller one every 160 ms while nobody does.";
    const REFERENCE: &'static str = "IEEE 802.11-14/0571r12, 11ax Evaluation Methodology: its \
        traffic model of VoIP, without the jitter of the network";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_above_zero("talking_packet", self.talking_packet, "33 bytes"),
            check_above_zero("talking_interval", self.talking_interval, "20 ms"),
            check_above_zero("silent_packet", self.silent_packet, "7 bytes"),
            check_above_zero("silent_interval", self.silent_interval, "160 ms"),
            check_above_zero("mean_talking", self.mean_talking, "1.25 s"),
            consistent(
                self.mean_talking * MOST_CHANGES >= self.talking_interval,
                "mean_talking",
                &self.mean_talking,
                &["talking_interval"],
                "is too short: a packet may take a million such times; lengthen it",
            ),
        ])
    }

    fn facts(&self) -> TrafficFacts {
        let rate = |packet: Bytes, interval: Span| packet.as_f64() * 8.0 / interval.as_seconds();
        let talking = rate(self.talking_packet, self.talking_interval);
        let silent = rate(self.silent_packet, self.silent_interval);
        let share = self.talking_share();
        TrafficFacts {
            mean_bit_per_s: Stated::Some(share * talking + (1.0 - share) * silent),
            packet_bytes: match self.talking_packet == self.silent_packet {
                true => Stated::Some(self.talking_packet.0),
                false => Stated::Unknown,
            },
            ..TrafficFacts::paced(None)
        }
    }
}

impl Voip {
    /// Returns the long-run share of the time in which somebody talks.
    fn talking_share(&self) -> f64 {
        let (talking, silent) = (
            self.mean_talking.as_seconds(),
            self.mean_silent.as_seconds(),
        );
        talking / (talking + silent)
    }
}

impl Factory<TrafficKind> for Voip {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let mut stream = context.place.stream();
        let state_of = |stream: &mut Stream, packet, interval, mean| State {
            packet,
            interval,
            mean,
            left: stream.uniform_span(interval),
        };
        let talks = stream.uniform() < self.talking_share();
        let talking = state_of(
            &mut stream,
            self.talking_packet,
            self.talking_interval,
            self.mean_talking,
        );
        let silent = state_of(
            &mut stream,
            self.silent_packet,
            self.silent_interval,
            self.mean_silent,
        );
        let (state, other) = match talks {
            true => (talking, silent),
            false => (silent, talking),
        };
        let mut traffic = VoipTraffic {
            now: Time::ZERO,
            until: Time::ZERO,
            at: Time::ZERO,
            // An exponential time has the same law from its midst on as from its start.
            state,
            other,
            stream,
        };
        traffic.until = Time::ZERO + traffic.draw();
        traffic.find();
        Box::new(traffic)
    }

    fn draws(&self) -> bool {
        true
    }
}

/// A state of a call.
#[derive(Debug)]
struct State {
    packet: Bytes,
    interval: Span,
    mean: Span,
    /// Time in this state until its next packet.
    left: Span,
}

#[derive(Debug)]
struct VoipTraffic {
    stream: Stream,
    state: State,
    other: State,
    /// Time since which the current state holds, or of its last packet; then the end of the state.
    now: Time,
    until: Time,
    /// Departure time of the next packet.
    at: Time,
}

impl VoipTraffic {
    /// Draws the length of the current state.
    fn draw(&mut self) -> Span {
        self.stream.exponential_span(self.state.mean)
    }

    /// Advances to the state in which the next packet is due, and finds its time.
    fn find(&mut self) {
        loop {
            let rest = self.until.since(self.now);
            if self.state.left < rest || self.until.is_never() {
                self.at = self.now + self.state.left;
                return;
            }
            self.state.left = self.state.left - rest;
            self.now = self.until;
            std::mem::swap(&mut self.state, &mut self.other);
            self.until = self.now + self.draw();
        }
    }
}

impl Traffic for VoipTraffic {
    fn transports(&self) -> Transports {
        Transports::Any
    }
    fn poll_timeout(&self) -> Time {
        self.at
    }
    fn poll_write(&mut self) -> Option<Write> {
        if self.at.is_never() {
            return None;
        }
        self.now = self.at;
        self.state.left = self.state.interval;
        let packet = self.state.packet;
        self.find();
        Some(Write::Bytes(packet))
    }
    fn total(&self) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::facts::TrafficFacts;
    use crate::traffic::{TrafficContext, TrafficKind, Write, tests};
    use ackclock_spec::registry::{Element, StreamScope};
    use ackclock_spec::stated::Stated;
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::{Bytes, Time};
    use serde_json::{Value, json};

    /// Returns times in seconds and sizes of the packets of the first seconds.
    fn packets(tree: Value, seed: u64, seconds: f64) -> Vec<(f64, u64)> {
        let streams = Streams::new(seed, 0);
        let place = StreamScope {
            streams: &streams,
            name: "flow/call/traffic",
        };
        let context = TrafficContext {
            place,
            mss: tests::MSS,
        };
        let mut call = tests::choose(tree).unwrap().build(context);
        let mut packets = Vec::new();
        while call.poll_timeout() < Time::from_seconds(seconds) {
            let at = call.poll_timeout().as_seconds();
            match call.poll_write() {
                Some(Write::Bytes(Bytes(size))) => packets.push((at, size)),
                other => panic!("{other:?}"),
            }
        }
        packets
    }

    #[test]
    fn it_states_the_mean_rate_and_keeps_it() {
        let facts: TrafficFacts = Element::<TrafficKind>::facts(&super::Voip::default());
        assert_eq!(facts.mean_bit_per_s, Stated::Some(6775.0));
        // Half of the time at 13,200 bit/s, half at 350. Over n times of each state the share of
        // talking has a relative error of about 1/sqrt(2 n): 1.6 % of it at one standard error.
        let seconds = 10_000.0;
        let bits: u64 = packets(json!({ "kind": "voip" }), 1, seconds)
            .iter()
            .map(|(_, size)| size * 8)
            .sum();
        let rate = bits as f64 / seconds;
        let standard_error = (13_200.0 - 350.0) * 0.5 / (seconds / 1.25_f64).sqrt();
        assert!((rate - 6775.0).abs() < 4.0 * standard_error, "{rate}");
    }

    #[test]
    fn the_states_take_half_of_the_time_each() {
        let sent = packets(json!({ "kind": "voip" }), 2, 10_000.0);
        let spoken = sent.iter().filter(|(_, size)| *size == 33).count() as f64 * 0.020;
        let noise = sent.iter().filter(|(_, size)| *size == 7).count() as f64 * 0.160;
        assert!((spoken + noise - 10_000.0).abs() < 1.0, "{spoken} {noise}");
        assert!((spoken - 5000.0).abs() < 4.0 * 0.5 * (1.25_f64 * 10_000.0).sqrt());
    }

    #[test]
    fn speech_comes_every_20_ms_within_a_state() {
        let sent = packets(json!({ "kind": "voip" }), 3, 1000.0);
        let together = sent
            .windows(2)
            .filter(|two| two[0].1 == 33 && two[1].1 == 33);
        let gaps: Vec<f64> = together.map(|two| two[1].0 - two[0].0).collect();
        // All but those with a silence in between that was too short for a packet.
        let even = gaps
            .iter()
            .filter(|gap| (**gap - 0.020).abs() < 1e-6)
            .count();
        assert!(even as f64 > 0.98 * gaps.len() as f64);
        assert!(gaps.iter().all(|gap| *gap > 0.020 - 1e-6));
    }

    #[test]
    fn without_silence_it_is_a_constant_bit_rate() {
        let tree = json!({ "kind": "voip", "mean_silent": "0 s" });
        let sent = packets(tree, 4, 100.0);
        assert!(sent.iter().all(|(_, size)| *size == 33));
        let gaps = sent.windows(2).map(|two| two[1].0 - two[0].0);
        assert!(gaps.into_iter().all(|gap| (gap - 0.020).abs() < 1e-6));
    }

    #[test]
    fn many_calls_begin_in_the_midst() {
        let speaking = (0..4000)
            .filter(|seed| {
                packets(json!({ "kind": "voip" }), *seed, 0.02)
                    .iter()
                    .any(|p| p.1 == 33)
            })
            .count();
        // Half of them talk at first; of the others, few begin to talk within 20 ms.
        assert!(
            (speaking as f64 - 2000.0).abs() < 4.0 * 31.6 + 35.0,
            "{speaking}"
        );
    }

    #[test]
    fn degenerate_calls_are_refused() {
        let refused = |field: &str, value: &str| {
            let mut tree = json!({ "kind": "voip" });
            tree[field] = json!(value);
            tests::choose(tree).unwrap_err().key()
        };
        for (field, value) in [
            ("talking_packet", "0 bytes"),
            ("silent_packet", "0 bytes"),
            ("talking_interval", "0 s"),
            ("silent_interval", "0 s"),
            ("mean_talking", "0 s"),
        ] {
            assert_eq!(refused(field, value), format!("out-of-range {field}"));
        }
        assert_eq!(
            refused("mean_talking", "10 ns"),
            "contradiction mean_talking"
        );
    }
}
