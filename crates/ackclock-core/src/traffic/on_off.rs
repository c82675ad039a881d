//! On-off traffic: constant bit rate in on periods, silence in off periods, both of random length.

use super::cbr::{PacketClock, check_packet_size};
use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind, Transports, Write};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. An off period interrupts the time between two packets and does not restart it. So
/// the long-run rate is exactly `rate` times the share of time in on periods, however short these
/// are compared with the time between packets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate of the payload in on periods, without headers.
    pub rate: BitRate,
    /// Mean length of on periods.
    pub mean_on: Span,
    /// Mean length of off periods; zero for none.
    pub mean_off: Span,
    /// Distribution of the lengths of on periods.
    #[serde(default = "exponential")]
    pub on_distribution: Lengths,
    /// Distribution of the lengths of off periods.
    #[serde(default = "exponential")]
    pub off_distribution: Lengths,
    /// Shape of Pareto distributions, above 1. Up to 2 the variance is infinite, so that many such
    /// sources together are self-similar.
    #[serde(default = "usual_shape")]
    pub shape: f64,
    /// Payload of each packet; by default a full packet (the flow's mss).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// True if the source begins with an on period.
    #[serde(default = "yes")]
    pub starts_on: bool,
    /// True if the source begins in its stationary state, whatever `starts_on` says: on with its
    /// long-run probability, inside a period, and inside a packet. The transient of many sources
    /// that start at the same time is very long if their periods have a heavy tail. It falls no
    /// faster than the time to the power of 1 - shape.
    #[serde(default)]
    pub stationary: bool,
}

/// Distribution of lengths with a given mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// Constant.
    Constant,
    /// Exponential.
    Exponential,
    /// Pareto with the parameter `shape`.
    Pareto,
}

fn exponential() -> Lengths {
    Lengths::Exponential
}
fn usual_shape() -> f64 {
    1.5
}
fn yes() -> bool {
    true
}

/// Most on periods that one packet may take, on average.
const MOST_PERIODS: u64 = 1_000_000;
/// Largest packet if its size is not given.
const LARGEST_PACKET: Bytes = Bytes(65_535);

impl Element<TrafficKind> for OnOff {
    const NAME: &'static str = "on_off";
    const LABEL: &'static str = "on-off";
    const SUMMARY: &'static str =
        "Sends at a constant rate in on periods and nothing in off periods, both of random length.";
    const REFERENCE: &'static str =
        "Willinger, Taqqu, Sherman, Wilson 1997, IEEE/ACM Transactions on Networking 5(1)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let pareto = [self.on_distribution, self.off_distribution].contains(&Lengths::Pareto);
        let size = self.packet_size.unwrap_or(LARGEST_PACKET);
        let spacing = self.rate.serialization(size);
        let sends = self.rate == BitRate::ZERO || self.usual_on() * MOST_PERIODS >= spacing;
        let too_short = format!(
            "is too short: at this rate a packet may take {} of the on time; lengthen it",
            json!(spacing)
        );
        every([
            check_packet_size(self.packet_size),
            in_range(
                !pareto || self.shape > 1.0 && self.shape.is_finite(),
                "shape",
                &self.shape,
                "gives an infinite mean; choose a shape above 1, for example 1.5",
            ),
            consistent(
                sends,
                "mean_on",
                &self.mean_on,
                &["rate", "packet_size", "shape"],
                &too_short,
            ),
        ])
    }

    fn facts(&self) -> TrafficFacts {
        let (on, off) = (self.mean_on.as_seconds(), self.mean_off.as_seconds());
        let mean = self.rate.as_bit_per_s() as f64 * on / (on + off);
        TrafficFacts {
            mean_bit_per_s: match mean.is_finite() {
                true => Stated::Some(mean),
                false => Stated::Unknown,
            },
            ..TrafficFacts::paced(self.packet_size)
        }
    }
}

impl OnOff {
    /// Returns the length that most on periods reach: the mean, or the smallest length of a heavy
    /// tail.
    fn usual_on(&self) -> Span {
        match self.on_distribution {
            Lengths::Constant | Lengths::Exponential => self.mean_on,
            Lengths::Pareto => {
                Span::from_seconds(self.mean_on.as_seconds() * (self.shape - 1.0) / self.shape)
            }
        }
    }
}

impl Factory<TrafficKind> for OnOff {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let mut traffic = OnOffTraffic {
            clock: PacketClock::new(self.rate, self.packet_size.unwrap_or(context.mss)),
            stream: context.place.stream(),
            began: Time::ZERO,
            on_time: Time::ZERO,
            on_until: Time::ZERO,
            at: Time::ZERO,
            parameters: self.clone(),
        };
        if self.stationary {
            traffic.begin_in_the_midst();
            return Box::new(traffic);
        }
        if !self.starts_on {
            traffic.began = Time::ZERO + traffic.draw_off();
        }
        let on = traffic.draw_on();
        traffic.on_until = Time::ZERO + on;
        traffic.find();
        Box::new(traffic)
    }

    fn draws(&self) -> bool {
        let lengths = [self.on_distribution, self.off_distribution];
        self.stationary || lengths != [Lengths::Constant; 2]
    }
}

#[derive(Debug)]
struct OnOffTraffic {
    parameters: OnOff,
    stream: Stream,
    /// Ticks in on time, as if there were no off periods.
    clock: PacketClock,
    /// Start of the current on period; then its start and its end in on time.
    began: Time,
    on_time: Time,
    on_until: Time,
    /// Departure time of the next packet.
    at: Time,
}

impl OnOffTraffic {
    fn draw(stream: &mut Stream, lengths: Lengths, mean: Span, shape: f64) -> Span {
        match lengths {
            Lengths::Constant => mean,
            Lengths::Exponential => stream.exponential_span(mean),
            Lengths::Pareto => {
                let nanos = stream.pareto(mean.as_nanos() as f64, shape);
                Span::from_nanos(libm::round(nanos) as u64)
            }
        }
    }
    fn draw_on(&mut self) -> Span {
        let p = &self.parameters;
        Self::draw(&mut self.stream, p.on_distribution, p.mean_on, p.shape)
    }
    fn draw_off(&mut self) -> Span {
        let p = &self.parameters;
        Self::draw(&mut self.stream, p.off_distribution, p.mean_off, p.shape)
    }

    /// Draws the rest of a period at a random time; longer periods are met more often. The rest of
    /// a length X is uniform in X, where X is drawn from its density times X (Feller, volume II,
    /// XI.4). For Pareto, that is Pareto with a shape of one less.
    fn draw_rest(&mut self, lengths: Lengths, mean: Span) -> Span {
        let nanos = mean.as_nanos() as f64;
        let rest = match lengths {
            Lengths::Constant => self.stream.uniform() * nanos,
            Lengths::Exponential => self.stream.exponential(nanos),
            Lengths::Pareto => {
                let shape = self.parameters.shape;
                let minimum = nanos * (shape - 1.0) / shape;
                let length = minimum * libm::pow(1.0 - self.stream.uniform(), -1.0 / (shape - 1.0));
                self.stream.uniform() * length
            }
        };
        Span::from_nanos(libm::round(rest) as u64)
    }

    fn begin_in_the_midst(&mut self) {
        let p = self.parameters.clone();
        let (on, off) = (p.mean_on.as_seconds(), p.mean_off.as_seconds());
        let is_on = self.stream.uniform() * (on + off) < on;
        if !self.clock.at().is_never() {
            self.on_time = Time::ZERO
                + self
                    .stream
                    .uniform_span(p.rate.serialization(self.clock.size()));
            self.clock.tick(); // the packet in which the source begins
        }
        let left = if is_on {
            self.draw_rest(p.on_distribution, p.mean_on)
        } else {
            self.began = Time::ZERO + self.draw_rest(p.off_distribution, p.mean_off);
            self.draw_on()
        };
        self.on_until = self.on_time + left;
        self.find();
    }

    /// Advances to the on period in which the clock ticks next, and finds that time.
    fn find(&mut self) {
        let tick = self.clock.at();
        while tick >= self.on_until && !tick.is_never() && !self.began.is_never() {
            let off = self.draw_off();
            self.began = self.began + self.on_until.since(self.on_time) + off;
            self.on_time = self.on_until;
            self.on_until = self.on_until + self.draw_on();
        }
        self.at = if tick.is_never() {
            Time::NEVER
        } else {
            self.began + tick.since(self.on_time)
        };
    }
}

impl Traffic for OnOffTraffic {
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
        self.clock.tick();
        self.find();
        Some(Write::Bytes(self.clock.size()))
    }
    fn total(&self) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::traffic::{Traffic, TrafficContext, Write, tests};
    use ackclock_spec::registry::StreamScope;
    use ackclock_spec::streams::Streams;
    use ackclock_spec::units::{Bytes, Span, Time};
    use serde_json::{Value, json};

    const RATE: f64 = 1e6;

    fn source(on: &str, off: &str, shape: f64) -> Box<dyn Traffic> {
        tests::build(
            json!({ "kind": "on_off", "rate": "1 Mbit/s", "mean_on": "300 ms", "mean_off": "700 ms",
            "on_distribution": on, "off_distribution": off, "shape": shape,
            "packet_size": "125 bytes" }),
        )
    }

    /// Returns the rate over that many seconds, as a share of the rate in on periods.
    fn share(source: &mut dyn Traffic, seconds: f64) -> f64 {
        let mut bits = 0.0;
        while source.poll_timeout() < Time::from_seconds(seconds) {
            match source.poll_write() {
                Some(Write::Bytes(bytes)) => bits += bytes.as_f64() * 8.0,
                other => panic!("{other:?}"),
            }
        }
        bits / seconds / RATE
    }

    #[test]
    fn constant_periods_are_exact() {
        // Packets of 1 ms, 300 in each on period of 300 ms, one period per second.
        let mut source = source("constant", "constant", 1.5);
        for k in 0..3000_u64 {
            let expected = k / 300 * 1_000_000_000 + k % 300 * 1_000_000;
            assert_eq!(source.poll_timeout(), Time::from_nanos(expected));
            assert_eq!(source.poll_write(), Some(Write::Bytes(Bytes(125))));
        }
    }

    #[test]
    fn spacing_is_counted_in_on_time() {
        // A packet takes 1 ms of on time, an on period is 0.3 ms: one packet in 10/3 periods.
        let mut source = tests::build(
            json!({ "kind": "on_off", "rate": "1 Mbit/s", "mean_on": "300 us",
            "mean_off": "700 us", "on_distribution": "constant", "off_distribution": "constant",
            "packet_size": "125 bytes" }),
        );
        let observed = share(&mut *source, 30.0);
        assert!((observed - 0.3).abs() < 1e-4, "{observed}");
    }

    #[test]
    fn the_duty_cycle_is_that_of_the_means() {
        let n = 20_000.0; // periods of one second
        for (on, off, shape, variance) in [
            // Variance of the share, by the renewal theorem: Var(off·mean_on − on·mean_off) /
            // cycle² per cycle.
            (
                "exponential",
                "exponential",
                1.5,
                2.0 * (0.3_f64 * 0.7).powi(2),
            ),
            ("constant", "exponential", 1.5, (0.3_f64 * 0.7).powi(2)),
            // Pareto of shape 3: variance = mean²/(shape (shape − 2)) = mean²/3.
            ("pareto", "pareto", 3.0, 2.0 * (0.3_f64 * 0.7).powi(2) / 3.0),
        ] {
            let observed = share(&mut *source(on, off, shape), n);
            let sigma = libm::sqrt(variance / n);
            assert!(
                (observed - 0.3).abs() < 4.0 * sigma,
                "{on} {off}: {observed}, sigma {sigma}"
            );
        }
    }

    #[test]
    fn heavy_tails_are_heavy() {
        // The longest silence in the same number of periods grows with the tail.
        let longest = |off: &str| {
            let mut source = source("constant", off, 1.5);
            let (mut last, mut longest) = (Time::ZERO, 0.0_f64);
            while source.poll_timeout() < Time::from_seconds(2_000.0) {
                longest = longest.max(source.poll_timeout().since(last).as_seconds());
                last = source.poll_timeout();
                source.poll_write();
            }
            longest
        };
        assert!(longest("pareto") > 2.0 * longest("exponential"));
        assert!(longest("exponential") > 2.0 * longest("constant"));
    }

    /// Returns the share of on time in the second that begins at `second`, over many sources, and
    /// its standard deviation.
    fn share_at(second: u64, tree: &Value) -> (f64, f64) {
        let n = 4000;
        let chosen = tests::choose(tree.clone()).unwrap();
        let shares: Vec<f64> = (0..n)
            .map(|seed| {
                let streams = Streams::new(seed, 0);
                let place = StreamScope {
                    streams: &streams,
                    name: "flow/test/traffic",
                };
                let mut source = chosen.build(TrafficContext {
                    place,
                    mss: tests::MSS,
                });
                let (from, until) = (
                    Time::from_seconds(second as f64),
                    Time::from_seconds(second as f64 + 1.0),
                );
                let mut packets = 0.0;
                while source.poll_timeout() < until {
                    packets += f64::from(source.poll_timeout() >= from);
                    source.poll_write();
                }
                packets / 100.0
            })
            .collect();
        let mean = shares.iter().sum::<f64>() / n as f64;
        let variance = shares
            .iter()
            .map(|share| (share - mean).powi(2))
            .sum::<f64>()
            / n as f64;
        (mean, libm::sqrt(variance / n as f64))
    }

    #[test]
    fn a_stationary_source_is_on_as_often_at_first_as_ever_after() {
        // 100 packets a second while it is on, which is a third of the time.
        for (on, off) in [
            ("pareto", "pareto"),
            ("exponential", "constant"),
            ("constant", "pareto"),
            ("pareto", "exponential"),
        ] {
            let tree = json!({ "kind": "on_off", "rate": "100 kbit/s", "packet_size": "125 bytes",
                "mean_on": "1 s", "mean_off": "2 s",
                "shape": 1.2, "on_distribution": on, "off_distribution": off, "stationary": true });
            for second in [0, 1, 30] {
                let (share, sigma) = share_at(second, &tree);
                assert!(
                    (share - 1.0 / 3.0).abs() < 4.0 * sigma,
                    "{on} {off} {second}: {share} ± {sigma}"
                );
            }
        }
        // A source that is not stationary is different: with tails so heavy it is on too often for
        // long.
        let anew = json!({ "kind": "on_off", "rate": "100 kbit/s", "packet_size": "125 bytes",
                "mean_on": "1 s", "mean_off": "2 s",
            "shape": 1.2, "on_distribution": "pareto", "off_distribution": "pareto" });
        let (share, sigma) = share_at(0, &anew);
        assert!(share - 1.0 / 3.0 > 10.0 * sigma);
    }

    #[test]
    fn a_stationary_source_without_off_periods_is_a_clock_of_any_phase() {
        let tree = json!({ "kind": "on_off", "rate": "100 kbit/s", "packet_size": "125 bytes",
                "mean_on": "1 s", "mean_off": "0 s",
            "stationary": true });
        let mut source = tests::build(tree);
        let first = source.poll_timeout();
        assert!(first <= Time::from_seconds(0.01));
        for k in 0..1000 {
            assert_eq!(source.poll_timeout(), first + Span::from_millis(10) * k);
            source.poll_write();
        }
        let silent = json!({
            "kind": "on_off",
            "rate": "0 bit/s",
            "mean_on": "1 s",
            "mean_off": "1 s",
            "stationary": true
        });
        assert!(tests::build(silent).poll_timeout().is_never());
    }

    #[test]
    fn it_may_start_off() {
        let tree = json!({ "kind": "on_off", "rate": "1 Mbit/s",
            "mean_on": "1 s", "mean_off": "2 s",
            "off_distribution": "constant", "starts_on": false });
        assert_eq!(tests::build(tree).poll_timeout(), Time::from_seconds(2.0));
    }

    #[test]
    fn what_would_hang_is_refused_and_what_never_sends_says_so() {
        let tree = |field: &str, value: Value| {
            let mut tree = json!({ "kind": "on_off", "rate": "1 kbit/s",
            "mean_on": "1 s", "mean_off": "1 s",
                "on_distribution": "pareto" });
            tree[field] = value;
            tree
        };
        for (field, value) in [
            ("mean_on", json!("0 s")),
            ("mean_on", json!("1 ns")),
            ("shape", json!(1.0)),
            ("shape", json!(0.5)),
            ("packet_size", json!("0 bytes")),
        ] {
            assert_eq!(
                tests::choose(tree(field, value)).unwrap_err().field(),
                field
            );
        }
        assert!(
            tests::build(tree("rate", json!("0 bit/s")))
                .poll_timeout()
                .is_never()
        );
        let mut rare = tests::build(tree("mean_off", json!("100000 d")));
        let mut writes = 0;
        while rare.poll_write().is_some() {
            writes += 1;
            assert!(writes < 1_000_000, "the end of time comes");
        }
        assert!(rare.poll_timeout().is_never());
    }
}
