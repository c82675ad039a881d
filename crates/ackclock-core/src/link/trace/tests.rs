//! Links that follow a trace: reading the files, and serving packets.

use super::delivery::{OPPORTUNITY, TUN_HEADER};
use super::*;
use ackclock_spec::registry;
use ackclock_spec::registry::StreamScope;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::Bytes;
use proptest::prelude::*;

/// Every file name returns this text.
struct Text<'a>(&'a str);
impl Files for Text<'_> {
    fn read(&self, name: &str) -> std::result::Result<String, String> {
        if name == "missing" {
            return Err("no such file".into());
        }
        Ok(self.0.into())
    }
}

fn choose(text: &str, tree: Value) -> Result<registry::Selection<LinkKind>> {
    let mut full = json!({ "kind": "trace", "file": "a.trace", "format": "csv" });
    for (field, value) in tree.as_object().unwrap() {
        full[field] = value.clone();
    }
    registry::choose::<LinkKind>(&full, &Text(text))
}
fn link(text: &str, tree: Value) -> Box<dyn Link> {
    choose(text, tree)
        .unwrap()
        .build(LinkContext::alone(StreamScope {
            streams: &Streams::new(1, 0),
            name: "hop/test/link",
        }))
}
fn mahimahi(text: &str) -> Box<dyn Link> {
    link(text, json!({ "format": "mahimahi" }))
}
const fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * NANOS_PER_MS)
}

#[test]
fn a_full_packet_takes_one_opportunity_and_the_trace_repeats() {
    // One opportunity a millisecond is Mahimahi's 12 Mbit/s.
    let mut link = mahimahi("1\n");
    let mut now = Time::ZERO;
    for k in 1..=10_000 {
        now = link.finish(now, Bytes(1500));
        assert_eq!(now, ms(k));
    }
    assert_eq!(link.rate(now), BitRate::from_mbit_per_s(12.0));
}

#[test]
fn opportunities_are_shared_and_joined() {
    let mut link = mahimahi("5\n7\n7\n20\n");
    // Sixteen packets of 90 bytes with their headers fill an opportunity; the seventeenth needs the
    // next.
    let mut now = Time::ZERO;
    for _ in 0..16 {
        now = link.finish(now, Bytes(90));
        assert_eq!(now, ms(5));
    }
    // The rest of the first opportunity at 7 ms and the second one there carry a packet of 2800
    // bytes.
    assert_eq!(link.finish(now, Bytes(90)), ms(7));
    assert_eq!(link.finish(ms(7), Bytes(2800)), ms(7));
    assert_eq!(link.finish(ms(7), Bytes(1500)), ms(20));
    // The next round: 25, 27, 27, 40. One packet takes four opportunities.
    assert_eq!(link.finish(ms(20), Bytes(4 * 1504 - 4)), ms(40));
}

#[test]
fn an_opportunity_with_nothing_to_send_is_lost() {
    let mut link = mahimahi("5\n7\n7\n20\n");
    assert_eq!(link.finish(ms(1), Bytes(100)), ms(5));
    // After a pause nothing is left of it, and the opportunities of that very moment are lost.
    assert_eq!(link.finish(ms(7), Bytes(100)), ms(20));
    assert_eq!(link.finish(ms(2_000_001), Bytes(100)), ms(2_000_005));
    assert_eq!(link.finish(ms(2_000_005), Bytes(100)), ms(2_000_005));
}

#[test]
fn a_trace_that_does_not_repeat_ends_in_silence() {
    let mut link = link("5\n7\n", json!({ "format": "mahimahi", "repeat": false }));
    assert_eq!(link.finish(Time::ZERO, Bytes(1500)), ms(5));
    assert_eq!(link.finish(ms(5), Bytes(1500)), ms(7));
    assert!(link.finish(ms(7), Bytes(1)).is_never());
    assert_eq!(link.rate(ms(10_000)), BitRate::ZERO);
    let mut link = self::link("5\n7\n", json!({ "format": "mahimahi", "repeat": false }));
    assert!(link.finish(Time::ZERO, Bytes(100_000)).is_never());
}

#[test]
fn a_century_of_idle_trace_is_no_wait() {
    let far = Time::from_seconds(3.2e9);
    let mut link = mahimahi("0\n1\n3\n");
    let finish = link.finish(far, Bytes(1500));
    assert!(finish > far && finish <= far + Span::from_millis(2));
    assert!(link.finish(finish, Bytes(u64::MAX / 2)).is_never());
    let mut link = self::link("time,rate\n0 s,1 Mbit/s\n1 ms,0 bit/s\n2 ms,\n", json!({}));
    let finish = link.finish(far, Bytes(1_000_000));
    // 125 bytes in the first of every two milliseconds.
    assert_eq!(finish.since(far), Span::from_nanos(15_999_000_000));
    assert!(link.finish(finish, Bytes(u64::MAX / 2)).is_never());
}

#[test]
fn rows_hold_until_the_next_and_repeat() {
    let rows = "time_s,rate_bit_per_s\n0,12e6\n1.5,3000000\n";
    let mut link = link(rows, json!({ "period": "2 s" }));
    let at = |seconds| link.rate(Time::from_seconds(seconds)).as_bit_per_s();
    assert_eq!(
        (at(0.0), at(1.499), at(1.5), at(1.999)),
        (12_000_000, 12_000_000, 3_000_000, 3_000_000)
    );
    assert_eq!(
        (at(2.0), at(3.5), at(2e9)),
        (12_000_000, 3_000_000, 12_000_000)
    );
    // A round carries 19.5 Mbit.
    let finish = link.finish(Time::ZERO, Bytes(1000 * 19_500_000 / 8));
    assert_eq!(finish, Time::from_seconds(2000.0));
    let mut once = self::link(rows, json!({ "repeat": false }));
    assert_eq!(
        once.finish(Time::from_seconds(10.0), Bytes(375_000)),
        Time::from_seconds(11.0)
    );
}

#[test]
fn both_headers_say_the_same() {
    let with_units = "time,rate\n0 s,12 Mbit/s\n1500 ms, 375 kB/s\n2 s,\n";
    let closed = "time_s,rate_bit_per_s\r\n0, 12000000\r\n1.5,3000000\r\n2,12000000\r\n";
    let mut links = [with_units, closed].map(|text| link(text, json!({})));
    let mut now = Time::ZERO;
    for size in 1..2000 {
        let [a, b] = links
            .each_mut()
            .map(|link| link.finish(now, Bytes(size * 10)));
        assert_eq!(a, b);
        now = a;
    }
    assert!(now > Time::from_seconds(4.0));
}

#[test]
fn one_row_is_a_constant_rate_and_zeros_are_an_outage_for_ever() {
    let mut constant = link("time,rate\n0 s,8 Mbit/s\n", json!({}));
    assert_eq!(
        constant.finish(Time::ZERO, Bytes(1_000_000)),
        Time::from_seconds(1.0)
    );
    let mut down = link("time,rate\n0 s,0 bit/s\n1 s,0 bit/s\n2 s,\n", json!({}));
    assert!(down.finish(Time::ZERO, Bytes(1)).is_never());
}

#[test]
fn a_trace_tells_its_length_and_its_rates_in_successive_intervals() {
    let read = |text: &str, tree: Value| {
        let mut trace: Trace = serde_json::from_value(tree).unwrap();
        trace.check(&Text(text)).unwrap();
        let mbit_per_s = |rate: BitRate| rate.as_bit_per_s() as f64 / 1e6;
        (
            trace.length().as_nanos() / NANOS_PER_MS,
            trace
                .mean_rates(Span::from_millis(2))
                .map(mbit_per_s)
                .collect::<Vec<_>>(),
        )
    };
    // 1500 bytes in 2 ms are 6 Mbit/s; an opportunity at the end of an interval counts. The rest of
    // the trace is shorter than an interval.
    let deliveries = read(
        "1\n2\n2\n3\n5\n",
        json!({ "file": "a", "format": "mahimahi" }),
    );
    assert_eq!(deliveries, (5, vec![18.0, 6.0]));
    let rows = "time,rate\n0 ms,8 Mbit/s\n3 ms,4 Mbit/s\n6 ms,8 Mbit/s\n";
    for repeat in [true, false] {
        let tree = json!({ "file": "a", "format": "csv", "repeat": repeat });
        assert_eq!(read(rows, tree), (6, vec![8.0, 6.0, 4.0]));
    }
    let tree = json!({ "file": "a", "format": "csv", "period": "8 ms" });
    assert_eq!(read(rows, tree), (8, vec![8.0, 6.0, 4.0, 8.0]));
    assert_eq!(
        read(
            "time,rate\n0 s,8 Mbit/s\n",
            json!({ "file": "a", "format": "csv" })
        ),
        (0, vec![])
    );
}

#[test]
fn a_malformed_trace_is_refused_with_file_and_line() {
    let csv = |rows: &str| choose(&format!("time,rate\n{rows}"), json!({})).unwrap_err();
    let deliveries = |text: &str| choose(text, json!({ "format": "mahimahi" })).unwrap_err();
    for (error, line) in [
        (deliveries(""), "1:"),
        (deliveries("1\n\n2\n"), "2:"),
        (deliveries("1\n2.5\n"), "2:"),
        (deliveries("1\n-2\n"), "2:"),
        (deliveries("99999999999999999999\n"), "1:"),
        (deliveries("7\n5\n"), "2:"),
        (deliveries("0\n0\n"), "2:"),
        (choose("", json!({})).unwrap_err(), "1:"),
        (choose("t,r\n", json!({})).unwrap_err(), "1:"),
        (csv(""), "2:"),
        (csv("0 s,\n"), "2:"),
        (csv("0 s\n"), "2:"),
        (csv("1 s,1 Mbit/s\n"), "2:"),
        (csv("0 s,1 Mbit/s\n0 s,2 Mbit/s\n"), "3:"),
        (csv("0 s,1 Mbit/s\n1 s,\n2 s,1 Mbit/s\n"), "3:"),
        (csv("0 s,1 Mbit/s\n1 s,2\n"), "3:"),
        (csv("0 s,1 Mbit/s\n1 s,2 Mbit/s\n"), "3:"),
        (
            choose("time_s,rate_bit_per_s\n0,1 Mbit/s\n", json!({})).unwrap_err(),
            "2:",
        ),
    ] {
        assert_eq!(error.key(), "file file", "{error}");
        assert!(
            error.sentence().starts_with(&format!("a.trace:{line}")),
            "{error}"
        );
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let rows = "time,rate\n0 s,1 Mbit/s\n1 s,2 Mbit/s\n";
    for (text, tree, expected) in [
        (rows, json!({ "period": "1 s" }), "out-of-range period"),
        (
            rows,
            json!({ "period": "2 s", "repeat": false }),
            "contradiction period",
        ),
        (
            "1",
            json!({ "period": "2 s", "format": "mahimahi" }),
            "contradiction period",
        ),
        (rows, json!({ "file": "missing" }), "file file"),
        (
            rows,
            json!({ "digest": "0", "repeat": false }),
            "file digest",
        ),
        (
            "time,rate\n0 s,1 Mbit/s\n1 s,\n",
            json!({ "repeat": false }),
            "file file",
        ),
    ] {
        let error = choose(text, tree).unwrap_err();
        assert_eq!(error.key(), expected, "{error}");
    }
}

#[test]
fn the_digest_pins_the_file() {
    let resolved = choose("1\n2\n", json!({ "format": "mahimahi" }))
        .unwrap()
        .resolved;
    assert!(registry::choose::<LinkKind>(&resolved, &Text("1\n2\n")).is_ok());
    let error = registry::choose::<LinkKind>(&resolved, &Text("1\n3\n")).unwrap_err();
    assert_eq!(error.field(), "digest");
}

/// Mahimahi's own loop: gives each opportunity in turn to the packets that wait. Returns when each
/// packet leaves.
fn reference(trace: &[u64], arrivals: &[(u64, u64)]) -> Vec<u64> {
    let mut done = Vec::new();
    let mut waiting = std::collections::VecDeque::new();
    let mut coming = arrivals.iter().peekable();
    let period = trace[trace.len() - 1];
    for opportunity in
        (0..).map(|k| k / trace.len() as u64 * period + trace[k as usize % trace.len()])
    {
        while let Some((at, size)) = coming.next_if(|(at, _)| *at < opportunity) {
            waiting.push_back((*at, size + TUN_HEADER));
        }
        if coming.peek().is_none() && waiting.is_empty() {
            break;
        }
        let mut room = OPPORTUNITY;
        while let Some((at, size)) = waiting.pop_front() {
            let sent = room.min(size);
            room -= sent;
            if sent < size {
                waiting.push_front((at, size - sent));
                break;
            }
            done.push(opportunity);
        }
    }
    done
}

proptest! {
    /// The link and the loop of `mm-link` agree on every packet. Arrivals are half a millisecond
    /// away from the opportunities.
    #[test]
    fn deliveries_are_those_of_mahimahi(
        mut trace in prop::collection::vec(0_u64..30, 1..20),
        arrivals in prop::collection::vec((0_u64..40, 1_u64..1501), 1..40),
    ) {
        trace.sort_unstable();
        trace.push(30);
        let text: String = trace.iter().map(|ms| format!("{ms}\n")).collect();
        let mut link = mahimahi(&text);
        let mut at = NANOS_PER_MS / 2;
        let arrivals: Vec<(u64, u64)> = arrivals.iter().map(|(gap, size)| {
            at += gap / 10 * NANOS_PER_MS; // mostly bursts
            (at, *size)
        }).collect();
        let nanos: Vec<u64> = trace.iter().map(|ms| ms * NANOS_PER_MS).collect();
        let mut free = Time::ZERO;
        let mut finishes = Vec::new();
        for (at, size) in &arrivals {
            free = link.finish(free.max(Time::from_nanos(*at)), Bytes(*size));
            finishes.push(free.as_nanos());
        }
        prop_assert_eq!(finishes, reference(&nanos, &arrivals));
    }
}

const LOG: &str = "\
Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,\
DL_bitrate,UL_bitrate,State,PINGAVG
2019.12.14_10.14.14,-8.4,51.9,0,B,11,5G,-96,-14,1,11,-78,2000,100,D,-
2019.12.14_10.14.15,-8.4,51.9,0,B,11,5G,-96,-14,1,11,-78,0,150,I,-
2019.12.14_10.14.16,-8.4,51.9,3,B,11,LTE,-97,-14,1,9,-79,6500,200,D,31
";

#[test]
fn a_drive_log_has_a_rate_a_second_while_something_is_downloaded() {
    let down = link(LOG, json!({ "format": "ucc_downlink" }));
    let rates = [0, 999, 1000, 1999, 2000].map(|at| down.rate(ms(at)).as_bit_per_s());
    assert_eq!(
        rates,
        [2_000_000, 2_000_000, 6_500_000, 6_500_000, 2_000_000]
    );
    let up = link(LOG, json!({ "format": "ucc_uplink", "repeat": false }));
    let rates = [0, 1000, 2000, 9000].map(|at| up.rate(ms(at)).as_bit_per_s());
    assert_eq!(rates, [100_000, 150_000, 200_000, 200_000]);
    let chosen = choose(LOG, json!({ "format": "ucc_downlink" })).unwrap();
    assert_eq!(chosen.facts.mean_bit_per_s, Some(4_250_000.0));
}

#[test]
fn another_file_than_a_drive_log_is_refused_with_its_line() {
    let reason = |text: &str| {
        let error = choose(text, json!({ "format": "ucc_downlink" })).unwrap_err();
        error.to_string()
    };
    assert!(reason("time,rate\n0 s,1 Mbit/s\n").contains(":1: the header has no columns"));
    let words = LOG.replace("6500", "fast");
    assert!(
        reason(&words).contains(":4: \"fast\" is not a rate"),
        "{}",
        reason(&words)
    );
    let idle = LOG.replace(",D,", ",I,");
    assert!(reason(&idle).contains("no row has a DL_bitrate above 0"));
}
