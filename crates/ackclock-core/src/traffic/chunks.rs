//! Video on demand: a client fetches chunks of video, each at a rate that it chooses.

use super::dialogue::{Exchange, Habit, Pause, Server, Wish, check_request};
use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind};
use ackclock_spec::prelude::*;
use std::collections::VecDeque;

parameters! {
    /// Parameters. The client fetches one chunk after the other, and waits while its buffer is
    /// full. Playback begins when the first chunk has arrived, and stands still while the buffer is
    /// empty. Chunks of one rate are equally large.
    pub struct Chunks {
        /// Length of the video in a chunk.
        pub chunk: Span = Span::from_millis(4000),
        /// Number of chunks after which it ends; 0 goes on for ever.
        pub number: u64 = 48,
        /// Rates of the video, in rising order.
        pub rates: Vec<BitRate> = usual_rates(),
        /// Rule that chooses the rate of the next chunk.
        pub abr: Abr = Abr::BufferBased,
        /// Rate of every chunk, one of `rates`; for `abr = "fixed"` only.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fixed_rate: Option<BitRate> = None,
        /// Video in the buffer up to which the lowest rate is chosen; for `abr = "buffer_based"`.
        pub reservoir: Span = Span::from_millis(5000),
        /// Video beyond the reservoir with which the highest rate is reached; for `abr =
        /// "buffer_based"`.
        pub cushion: Span = Span::from_millis(10_000),
        /// Chunks whose harmonic mean of throughputs is the estimate; for `abr = "rate_based"`.
        #[schemars(extend("minimum" = 1))]
        pub remembered: u32 = 5,
        /// Video with which the buffer is full.
        pub buffer: Span = Span::from_millis(60_000),
        /// Unit of the time that the client waits while its buffer is full; zero to wait exactly.
        pub wait_step: Span = Span::from_millis(500),
        /// Payload of a request, at most 1400 bytes.
        pub request: Bytes = Bytes(328),
    }
}

/// Rates of the video of Pensieve's simulations, in bit/s.
const PENSIEVE: [u64; 6] = [300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000];

fn usual_rates() -> Vec<BitRate> {
    PENSIEVE.map(BitRate::from_bit_per_s).to_vec()
}

/// Rule of adaptive bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Abr {
    /// Always `fixed_rate`.
    Fixed,
    /// The lowest rate up to the reservoir, the highest from reservoir and cushion on, and in
    /// between the index of the rate grows linearly with the buffer.
    BufferBased,
    /// The highest rate that the throughput of the last chunks bears; the lowest at first.
    RateBased,
}

impl Element<TrafficKind> for Chunks {
    const NAME: &'static str = "chunks";
    const LABEL: &'static str = "video on demand";
    const SUMMARY: &'static str = "A client fetches chunks of video as fast as possible until its \
        buffer is full, at rates that it adapts; over TCP only.";
    const REFERENCE: &'static str = "Mao, Netravali, Alizadeh (2017), Pensieve, SIGCOMM: lengths, \
        rates, buffer; buffer-based: Huang et al. (2014), SIGCOMM";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let rising = self.rates.windows(2).all(|two| two[0] < two[1]);
        let sends = self.rates.first().is_some_and(|rate| *rate > BitRate::ZERO);
        let fixed = self.abr == Abr::Fixed;
        let offered = self
            .fixed_rate
            .is_none_or(|rate| self.rates.contains(&rate));
        if fixed && self.fixed_rate.is_none() {
            let remedy = "one of rates, for example fixed_rate = \"1850 kbit/s\"";
            return Err(ackclock_spec::error::Error::missing("fixed_rate", remedy));
        }
        every([
            check_request(self.request),
            check_above_zero("chunk", self.chunk, "4 s"),
            check_above_zero("buffer", self.buffer, "60 s"),
            check_at_least_one("remembered", self.remembered, "5"),
            in_range(
                rising && sends,
                "rates",
                &self.rates,
                "are not in rising order from above 0; for example [\"1 Mbit/s\", \"2 Mbit/s\"]",
            ),
            consistent(
                fixed || self.fixed_rate.is_none(),
                "fixed_rate",
                &self.fixed_rate,
                &["abr"],
                "goes with abr = \"fixed\" only; remove one of the two",
            ),
            consistent(
                offered,
                "fixed_rate",
                &self.fixed_rate,
                &["rates"],
                "is not one of the rates",
            ),
        ])
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts::asked_for(self.number > 0)
    }
}

impl Factory<TrafficKind> for Chunks {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let viewer = Viewer {
            parameters: self.clone(),
            asked: 0,
            due: Time::ZERO,
            since: None,
            buffer: Span::ZERO,
            throughputs: VecDeque::new(),
        };
        Box::new(Server::new(
            Box::new(viewer),
            self.request,
            Pause::NONE,
            &context,
        ))
    }
}

/// The habit of a client that plays video.
#[derive(Debug)]
struct Viewer {
    parameters: Chunks,
    /// Chunks asked for.
    asked: u64,
    due: Time,
    /// When the last chunk arrived, and the video in the buffer then.
    since: Option<Time>,
    buffer: Span,
    /// Throughputs of the last chunks, in bit/s.
    throughputs: VecDeque<f64>,
}

impl Viewer {
    /// Returns the video in the buffer.
    fn level(&self, now: Time) -> Span {
        self.since
            .map_or(Span::ZERO, |since| self.buffer - now.since(since))
    }

    /// Returns the rate of the next chunk.
    fn rate(&self, now: Time) -> BitRate {
        let Chunks { rates, abr, .. } = &self.parameters;
        let index = match abr {
            Abr::Fixed => return self.parameters.fixed_rate.unwrap_or(rates[0]),
            Abr::BufferBased => self.index_by_buffer(now),
            Abr::RateBased => {
                let estimate = self.estimate();
                let bearable = rates
                    .iter()
                    .filter(|rate| rate.as_bit_per_s() as f64 <= estimate);
                bearable.count().saturating_sub(1)
            }
        };
        rates[index]
    }

    fn index_by_buffer(&self, now: Time) -> usize {
        let p = &self.parameters;
        let (level, last) = (self.level(now), p.rates.len() - 1);
        if level < p.reservoir {
            0
        } else if level >= p.reservoir + p.cushion {
            last
        } else {
            let share = (level - p.reservoir).as_seconds() / p.cushion.as_seconds();
            ((last as f64 * share) as usize).min(last)
        }
    }

    /// Returns the harmonic mean of the last throughputs, in bit/s; zero before the first.
    fn estimate(&self) -> f64 {
        let inverse: f64 = self.throughputs.iter().map(|rate| 1.0 / rate).sum();
        match self.throughputs.len() {
            0 => 0.0,
            number => number as f64 / inverse,
        }
    }

    /// Returns how long the client waits until its buffer has room.
    fn wait(&self) -> Span {
        let (excess, step) = (
            self.buffer - self.parameters.buffer,
            self.parameters.wait_step,
        );
        match step.as_nanos() {
            0 => excess,
            step => Span::from_nanos(excess.as_nanos().next_multiple_of(step)),
        }
    }
}

impl Habit for Viewer {
    fn due(&self) -> Time {
        self.due
    }
    fn ask(&mut self, now: Time) -> Wish {
        self.due = Time::NEVER;
        self.asked += 1;
        let rate = self.rate(now);
        let size = rate.size_in(self.parameters.chunk);
        Wish {
            rate: Some(rate),
            ..Wish::of("chunk", size.max(Bytes(1)))
        }
    }
    fn on_answer(&mut self, now: Time, exchange: &mut Exchange) {
        let level = self.level(now);
        exchange.stall = Some(
            self.since
                .map_or(Span::ZERO, |since| now.since(since) - self.buffer),
        );
        self.since = Some(now);
        self.buffer = level + self.parameters.chunk;
        exchange.buffer = Some(self.buffer);
        let bits = exchange.request.response.as_f64() * 8.0;
        let seconds = now.since(exchange.asked).as_seconds();
        if self.throughputs.len() == self.parameters.remembered as usize {
            self.throughputs.pop_front();
        }
        self.throughputs.push_back(bits / seconds);
        if !self.has_asked_all() {
            self.due = now + self.wait();
        }
    }
    fn has_asked_all(&self) -> bool {
        self.parameters.number > 0 && self.asked == self.parameters.number
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialogue::Exchange;
    use super::super::dialogue::testing::{played, taken_s};
    use super::super::tests;
    use ackclock_spec::units::{BitRate, Bytes};
    use serde_json::{Value, json};

    fn fixed(more: &Value) -> Value {
        let mut tree = json!({ "kind": "chunks", "abr": "fixed", "fixed_rate": "1850 kbit/s" });
        for (name, value) in more.as_object().unwrap() {
            tree[name] = value.clone();
        }
        tree
    }
    fn link(mbit_per_s: f64) -> BitRate {
        BitRate::from_mbit_per_s(mbit_per_s)
    }
    /// Time between the arrival of a chunk and the request for the next, in seconds.
    fn waits(chunks: &[Exchange]) -> Vec<f64> {
        let wait = |two: &[Exchange]| two[1].asked.since(two[0].answered.unwrap()).as_seconds();
        chunks.windows(2).map(wait).collect()
    }

    /// 925,000 bytes at 1850 kbit/s: 0.74 s of 4 at 10 Mbit/s.
    #[test]
    fn chunks_have_their_size_and_the_buffer_fills() {
        let chunks = played(fixed(&json!({})), 1, link(10.0), 1e4);
        assert_eq!(chunks.len(), 48);
        assert_eq!(chunks[7].request.response, Bytes(925_000));
        // In 639 segments of 1448 bytes.
        assert!((taken_s(&chunks[7]) - 0.740_217_6).abs() < 1e-6);
        let waits = waits(&chunks);
        let first = waits.iter().position(|wait| *wait > 0.0).unwrap();
        // Each chunk adds 4 s and takes 0.74 s: above 60 s with the 19th.
        assert_eq!(first, 18);
        assert!(
            chunks
                .iter()
                .all(|chunk| chunk.stall.unwrap().as_seconds() == 0.0)
        );
    }

    /// With downloads in no time, 15 chunks of 4 s fill the buffer of 60 s.
    #[test]
    fn over_a_fast_link_fifteen_chunks_fill_the_buffer() {
        let tree = fixed(&json!({ "wait_step": "0 s" }));
        let chunks = played(tree, 1, link(1e5), 1e4);
        let waits = waits(&chunks);
        assert!(waits[..14].iter().all(|wait| *wait == 0.0));
        assert!(waits[14] < 0.01 && waits[15] > 3.9, "{waits:?}");
        // Idle 4 s minus the download, for each chunk.
        for (chunk, wait) in chunks[16..].iter().zip(&waits[16..]) {
            assert!((wait - (4.0 - taken_s(chunk))).abs() < 1e-6);
        }
    }

    #[test]
    fn steps_round_the_wait_up_and_leave_its_mean() {
        let chunks = played(fixed(&json!({ "number": 1000 })), 1, link(10.0), 1e4);
        let waits = &waits(&chunks)[20..];
        for wait in waits {
            assert!((wait / 0.5 - (wait / 0.5).round()).abs() < 1e-6, "{wait}");
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((mean - (4.0 - 0.740_217_6)).abs() < 0.01, "{mean}");
    }

    #[test]
    fn a_slow_link_stalls_for_what_the_download_exceeds() {
        // 925,272 bytes take 5 s.
        let rate = BitRate::from_bit_per_s(925_272 * 8 / 5);
        let chunks = played(fixed(&json!({ "number": 10 })), 1, rate, 1e4);
        assert_eq!(
            chunks[0].stall.unwrap().as_seconds(),
            0.0,
            "before playback"
        );
        for chunk in &chunks[1..] {
            assert!((chunk.stall.unwrap().as_seconds() - 1.0).abs() < 1e-3);
            assert!((chunk.buffer.unwrap().as_seconds() - 4.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_rate_grows_with_the_buffer() {
        let chunks = played(json!({ "kind": "chunks", "number": 8 }), 1, link(1e4), 1e4);
        let rates: Vec<u64> = chunks
            .iter()
            .map(|chunk| chunk.rate.unwrap().as_bit_per_s() / 1000)
            .collect();
        // Buffers of 0, 4, 8, 12, 16 s less what the downloads took: the index is 5 (B - 5)/10.
        assert_eq!(rates, [300, 300, 750, 1850, 4300, 4300, 4300, 4300]);
    }

    #[test]
    fn the_rate_is_what_the_throughput_bears() {
        for (mbit_per_s, expected) in [(0.1, 300), (1.0, 750), (2.0, 1850), (50.0, 4300)] {
            let tree = json!({ "kind": "chunks", "number": 6, "abr": "rate_based" });
            let chunks = played(tree, 1, link(mbit_per_s), 1e4);
            let rate = |at: usize| chunks[at].rate.unwrap().as_bit_per_s() / 1000;
            assert_eq!((rate(0), rate(5)), (300, expected));
        }
    }

    #[test]
    fn what_is_no_longer_remembered_decides_nothing() {
        let tree = json!({ "kind": "chunks", "number": 3, "abr": "rate_based", "remembered": 1 });
        let chunks = played(tree, 1, link(3.0), 1e4);
        assert_eq!(chunks[2].rate.unwrap().as_bit_per_s(), 2_850_000);
    }

    #[test]
    fn degenerate_videos_are_refused() {
        let refused = |field: &str, value: Value| {
            let mut tree = json!({ "kind": "chunks" });
            tree[field] = value;
            tests::choose(tree).unwrap_err().key()
        };
        assert_eq!(refused("chunk", json!("0 s")), "out-of-range chunk");
        assert_eq!(refused("buffer", json!("0 s")), "out-of-range buffer");
        assert_eq!(refused("rates", json!([])), "out-of-range rates");
        let falling = json!(["2 Mbit/s", "1 Mbit/s"]);
        assert_eq!(refused("rates", falling), "out-of-range rates");
        assert_eq!(refused("abr", json!("fixed")), "missing fixed_rate");
        let rate = json!("300 kbit/s");
        assert_eq!(refused("fixed_rate", rate), "contradiction fixed_rate");
        let mut tree = json!({ "kind": "chunks", "abr": "fixed", "fixed_rate": "1 Mbit/s" });
        assert_eq!(
            tests::choose(tree.clone()).unwrap_err().key(),
            "contradiction fixed_rate"
        );
        tree["fixed_rate"] = json!("300 kbit/s");
        assert!(tests::choose(tree).is_ok());
    }
}
