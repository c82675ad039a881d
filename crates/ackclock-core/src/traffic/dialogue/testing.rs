//! A network without a sender: requests arrive at once, and responses arrive at a rate.

use super::{Client, Exchange};
use crate::traffic::{TrafficContext, Write, tests};
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Time};
use serde_json::Value;

/// Returns the exchanges of a client until that time, one response arriving after the other at that
/// rate.
pub fn played(tree: Value, seed: u64, rate: BitRate, seconds: f64) -> Vec<Exchange> {
    let streams = Streams::new(seed, 0);
    let place = StreamScope {
        streams: &streams,
        name: "flow/client/traffic",
    };
    let context = TrafficContext {
        place,
        mss: tests::MSS,
    };
    let mut server = tests::choose(tree).unwrap().build(context);
    let mut client: Box<Client> = server.take_client().unwrap();
    let (mut arrived, mut busy_until, end) = (0, Time::ZERO, Time::from_seconds(seconds));
    loop {
        let (asks, writes) = (client.poll_timeout(), server.poll_timeout());
        let now = asks.min(writes.max(busy_until));
        if now > end || now.is_never() {
            return client.exchanges().to_vec();
        }
        if asks <= now {
            let request = client.poll_request(now).unwrap();
            server.on_request(now, &request);
            continue;
        }
        let Some(Write::Bytes(Bytes(response))) = server.poll_write() else {
            panic!("a response");
        };
        // Whoever asks meanwhile is asked at the end: these habits ask after a response.
        busy_until = now + rate.serialization(Bytes(response));
        while client.poll_timeout() < busy_until {
            let now = client.poll_timeout();
            let request = client.poll_request(now).unwrap();
            server.on_request(now, &request);
        }
        arrived += response;
        client.on_received(busy_until, Bytes(arrived));
    }
}

/// Returns the time that each exchange took, in seconds.
pub fn taken_s(exchange: &Exchange) -> f64 {
    exchange
        .answered
        .unwrap()
        .since(exchange.asked)
        .as_seconds()
}
