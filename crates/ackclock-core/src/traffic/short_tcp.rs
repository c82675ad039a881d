//! A short TCP flow of tests of interactive media: files with idle times between them.

use super::dialogue::{Pause, Server};
use super::facts::TrafficFacts;
use super::rpc::Calls;
use super::{Traffic, TrafficContext, TrafficKind};
use crate::size::Size;
use crate::size::uniform::Uniform;
use ackclock_spec::prelude::*;
use ackclock_spec::registry::choose;
use serde_json::json;

parameters! {
    /// Parameters. The files come over one connection: a client asks for the next when its idle
    /// time is over. Several such flows are a `count`.
    pub struct ShortTcp {
        /// Smallest file.
        pub low: Bytes = Bytes(30_000),
        /// Largest file; all sizes in between are equally likely.
        pub high: Bytes = Bytes(50_000),
        /// Mean length of the exponential idle times, from the arrival of a file to the request for
        /// the next.
        pub mean_idle: Span = Span::from_millis(10_000),
        /// True if the first file is asked for at the start of the flow, false if after an idle
        /// time.
        pub starts_on: bool = true,
        /// The parsed size.
        #[serde(skip)]
        pub chosen: Option<Size> = None,
    }
}

/// Payload of a request for a file.
const REQUEST: Bytes = Bytes(328);

impl Element<TrafficKind> for ShortTcp {
    const NAME: &'static str = "short_tcp";
    const LABEL: &'static str = "short TCP flow";
    const SUMMARY: &'static str = "Files of 30 to 50 kB with idle times of 10 s between them, as \
        in tests of interactive media; over TCP only.";
    const REFERENCE: &'static str = "RFC 8868 section 5.1; RFC 8867 section 5.7 has ten of them";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let tree = json!({ "kind": Uniform::NAME, "low": self.low, "high": self.high });
        self.chosen = Some(Size::Law(choose(&tree, files)?));
        Ok(())
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts::asked_for(false)
    }
}

impl Factory<TrafficKind> for ShortTcp {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let Some(size) = self.chosen.clone() else {
            unreachable!("the check reads the size");
        };
        let idle = Pause::exponential(self.mean_idle);
        let mut stream = context.place.stream();
        let first = match self.starts_on {
            true => Span::ZERO,
            false => idle.draw(&mut stream),
        };
        let calls = Calls {
            size,
            idle,
            left: u64::MAX,
            due: vec![Time::ZERO + first],
            stream,
        };
        Box::new(Server::new(Box::new(calls), REQUEST, Pause::NONE, &context))
    }

    fn draws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialogue::testing::{played, taken_s};
    use super::super::tests;
    use ackclock_spec::units::BitRate;
    use serde_json::json;

    #[test]
    fn files_and_idle_times_have_their_laws() {
        let rate = BitRate::from_mbit_per_s(2.0);
        let files = played(json!({ "kind": "short_tcp" }), 1, rate, 100_000.0);
        let sizes: Vec<f64> = files
            .iter()
            .map(|file| file.request.response.as_f64())
            .collect();
        assert!(sizes.iter().all(|size| (30e3..=50e3).contains(size)));
        let n = sizes.len() as f64;
        let mean = sizes.iter().sum::<f64>() / n;
        let deviation = 20e3 / 12_f64.sqrt();
        assert!((mean - 40e3).abs() < 4.0 * deviation / n.sqrt(), "{mean}");
        let idle: Vec<f64> = files
            .windows(2)
            .map(|two| two[1].asked.since(two[0].answered.unwrap()).as_seconds())
            .collect();
        let mean = idle.iter().sum::<f64>() / idle.len() as f64;
        assert!((mean - 10.0).abs() < 4.0 * 10.0 / n.sqrt(), "{mean}");
        // 40 kB at 2 Mbit/s, in whole segments.
        assert!(
            files
                .iter()
                .take(100)
                .all(|file| (0.12..0.21).contains(&taken_s(file)))
        );
    }

    #[test]
    fn it_may_start_idle() {
        let rate = BitRate::from_mbit_per_s(2.0);
        let first = |seed, on: bool| {
            let tree = json!({ "kind": "short_tcp", "starts_on": on });
            played(tree, seed, rate, 1000.0)[0].asked.as_seconds()
        };
        assert_eq!(first(1, true), 0.0);
        let mean = (0..400).map(|seed| first(seed, false)).sum::<f64>() / 400.0;
        assert!((mean - 10.0).abs() < 4.0 * 10.0 / 20.0, "{mean}");
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        let tree = json!({ "kind": "short_tcp", "low": "60 kB" });
        assert_eq!(tests::choose(tree).unwrap_err().key(), "contradiction high");
    }
}
