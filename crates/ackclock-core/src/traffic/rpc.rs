//! Remote procedure calls: a client asks, waits for the response, and asks again.

use super::dialogue::{Exchange, Habit, Pause, Pauses, Server, Wish, check_request};
use super::facts::TrafficFacts;
use super::{Traffic, TrafficContext, TrafficKind};
use crate::size::Size;
use ackclock_spec::prelude::*;
use serde_json::{Value, json};

parameters! {
    /// Parameters. A client keeps a number of requests under way: each response leads to the next
    /// request, at once or after an idle time. A request is a packet of the return route.
    #[schemars(example = json!({ "response": "20 kB" }))]
    #[schemars(example = json!({ "response": { "kind": "web_search" }, "outstanding": 4 }))]
    pub struct Rpc {
        /// Payload of a request, at most 1400 bytes.
        pub request: Bytes = Bytes(328),
        /// Size of a response: an amount, or a distribution from which each draws its own.
        #[schemars(schema_with = "crate::size::schema", extend("examples" = ["20 kB"]))]
        pub response: Value = json!({ "kind": "web_search" }),
        /// Requests under way at the same time.
        #[schemars(extend("minimum" = 1))]
        pub outstanding: u32 = 1,
        /// Mean time from the arrival of a request until the server begins its response.
        pub mean_think: Span = Span::ZERO,
        /// Distribution of these times.
        pub think_distribution: Pauses = Pauses::Exponential,
        /// Mean time from the arrival of a response until the client's next request.
        pub mean_idle: Span = Span::ZERO,
        /// Distribution of these times.
        pub idle_distribution: Pauses = Pauses::Exponential,
        /// Number of requests after which it ends; without one it goes on.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("minimum" = 1))]
        pub requests: Option<u64> = None,
        /// The parsed size.
        #[serde(skip)]
        pub chosen: Option<Size> = None,
    }
}

/// Most requests under way.
const MOST: u32 = 10_000;

impl Element<TrafficKind> for Rpc {
    const NAME: &'static str = "rpc";
    const LABEL: &'static str = "remote procedure calls";
    const SUMMARY: &'static str = "A client asks, waits for the response, idles and asks again, \
        with some requests under way at a time; over TCP only.";
    const REFERENCE: &'static str = "the closed loop of Schroeder, Wierman, Harchol-Balter (2006), \
        NSDI; the request is that of ns-3's three-gpp-http";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        self.chosen = Some(Size::check("response", &mut self.response, files)?);
        let number = "is out of range; choose 1 to 10000, for example 1";
        every([
            check_request(self.request),
            in_range(
                (1..=MOST).contains(&self.outstanding),
                "outstanding",
                &self.outstanding,
                number,
            ),
            in_range(
                self.requests != Some(0),
                "requests",
                &self.requests,
                "is less than 1; for example 100, or remove it",
            ),
        ])
    }

    fn facts(&self) -> TrafficFacts {
        TrafficFacts::asked_for(self.requests.is_some())
    }
}

impl Rpc {
    fn think(&self) -> Pause {
        Pause {
            mean: self.mean_think,
            law: self.think_distribution,
        }
    }
    fn idle(&self) -> Pause {
        Pause {
            mean: self.mean_idle,
            law: self.idle_distribution,
        }
    }
}

impl Factory<TrafficKind> for Rpc {
    fn build(&self, context: TrafficContext<'_>) -> Box<dyn Traffic> {
        let Some(size) = self.chosen.clone() else {
            unreachable!("the check reads the size");
        };
        let calls = Calls {
            idle: self.idle(),
            left: self.requests.unwrap_or(u64::MAX),
            due: vec![Time::ZERO; self.outstanding as usize],
            stream: Pause::stream_of(
                context.place.streams,
                context.place.name,
                size.draws() || self.idle().draws(),
            ),
            size,
        };
        let think = self.think();
        Box::new(Server::new(Box::new(calls), self.request, think, &context))
    }

    fn draws(&self) -> bool {
        let sizes = self.chosen.as_ref().is_some_and(Size::draws);
        sizes || self.think().draws() || self.idle().draws()
    }
}

/// The habit of a client that asks again after each response.
#[derive(Debug)]
pub(super) struct Calls {
    pub size: Size,
    pub idle: Pause,
    /// Requests that it will still make.
    pub left: u64,
    /// Times of the next requests, one for each that is not under way; the earliest is last.
    pub due: Vec<Time>,
    pub stream: Stream,
}

impl Habit for Calls {
    fn due(&self) -> Time {
        match self.left {
            0 => Time::NEVER,
            _ => self.due.last().copied().unwrap_or(Time::NEVER),
        }
    }
    fn ask(&mut self, _now: Time) -> Wish {
        self.due.pop();
        self.left -= 1;
        Wish::of("response", self.size.draw(&mut self.stream))
    }
    fn on_answer(&mut self, now: Time, _: &mut Exchange) {
        let at = now + self.idle.draw(&mut self.stream);
        let place = self.due.partition_point(|due| *due > at);
        self.due.insert(place, at);
    }
    fn has_asked_all(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialogue::testing::{played, taken_s};
    use super::super::tests;
    use ackclock_spec::units::BitRate;
    use serde_json::{Value, json};

    fn link(mbit_per_s: f64) -> BitRate {
        BitRate::from_mbit_per_s(mbit_per_s)
    }

    #[test]
    fn it_asks_again_when_it_has_the_response() {
        // 10 segments of 1448 bytes take 11.584 ms at 10 Mbit/s.
        let tree = json!({ "kind": "rpc", "response": "14480 bytes" });
        let exchanges = played(tree, 1, link(10.0), 1.0);
        assert_eq!(exchanges.len(), 87);
        for (exchange, number) in exchanges.iter().zip(0_u64..86) {
            assert_eq!(exchange.request.number, number);
            assert_eq!(exchange.asked.as_nanos(), number * 11_584_000);
            assert!((taken_s(exchange) - 0.011_584).abs() < 1e-9);
        }
    }

    #[test]
    fn the_end_of_a_response_is_padded_to_a_segment() {
        let tree = json!({ "kind": "rpc", "response": "1 byte", "requests": 3 });
        let exchanges = played(tree, 1, link(1.448 * 8.0), 1.0);
        assert_eq!(exchanges.len(), 3);
        assert!((taken_s(&exchanges[2]) - 0.001).abs() < 1e-9);
    }

    /// Throughput of a closed loop of n with think time Z and service time S: min(n/(Z + S), 1/S)
    /// is its bound, and constant times reach it.
    #[test]
    fn a_loop_without_chance_reaches_the_bound_of_its_population() {
        for (n, expected) in [(1, 1.0 / 0.013), (10, 10.0 / 0.013), (40, 1000.0)] {
            let tree = json!({
                "kind": "rpc", "response": "1448 bytes", "outstanding": n,
                "mean_think": "12 ms", "think_distribution": "constant",
            });
            let exchanges = played(tree, 1, link(1.448 * 8.0), 10.0);
            let done = exchanges.iter().filter(|call| call.answered.is_some());
            let rate = done.count() as f64 / 10.0;
            assert!((rate / expected - 1.0).abs() < 0.01, "{n}: {rate}");
        }
    }

    #[test]
    fn idle_times_have_their_mean() {
        let tree = json!({ "kind": "rpc", "response": "1448 bytes", "mean_idle": "100 ms" });
        let exchanges = played(tree, 3, link(1e4), 2000.0);
        // Exponential, 20,000 of them: 4 standard errors are 2.8 %.
        let rate = exchanges.len() as f64 / 2000.0;
        assert!((rate - 10.0).abs() < 0.28, "{rate}");
    }

    #[test]
    fn a_seed_fixes_every_request() {
        let tree = json!({ "kind": "rpc", "outstanding": 3, "mean_think": "5 ms" });
        let play = |seed| played(tree.clone(), seed, link(100.0), 10.0);
        assert_eq!(play(5), play(5));
        assert_ne!(play(5), play(6));
    }

    #[test]
    fn degenerate_loops_are_refused() {
        let refused = |field: &str, value: Value| {
            let mut tree = json!({ "kind": "rpc" });
            tree[field] = value;
            tests::choose(tree).unwrap_err().key()
        };
        assert_eq!(refused("request", json!("0 bytes")), "out-of-range request");
        assert_eq!(refused("request", json!("2 kB")), "out-of-range request");
        assert_eq!(refused("outstanding", json!(0)), "out-of-range outstanding");
        assert_eq!(refused("requests", json!(0)), "out-of-range requests");
        assert_eq!(
            refused("response", json!("0 bytes")),
            "out-of-range response"
        );
        assert_eq!(
            refused("response", json!({ "kind": "x" })),
            "unknown-name response.kind"
        );
    }
}
