//! Late timers: the rate is kept all the same, and bursts are no larger than the lateness explains.

use super::path::{Path, address, key};
use crate::bursts::Bursts;
use crate::session::{Sender, SenderSettings, Source, on_wire};
use ackclock_core::datagram::DatagramParameters;
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::choose;
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{BitRate, Bytes, Span, Time};
use serde_json::json;

const CATCH_UP: Span = Span::from_millis(10);

/// Returns a sender with a session that sends at the rate of its cap for a long time. Nobody
/// answers, which it notices later.
fn opened(most: BitRate, tick: Span) -> Sender {
    let settings = SenderSettings {
        key: key(),
        // The first round is longer than the test, at a rate above every cap.
        controls: vec![
            choose(
                &json!({ "kind": "tfrcp", "initial_rate": "100000 packets/s", "round": "100 s" }),
                &NoFiles,
            )
            .unwrap(),
        ],
        most: Some(most),
        datagrams: DatagramParameters {
            granularity: tick,
            ..DatagramParameters::default()
        },
        catch_up: CATCH_UP,
        finer_ticks: true,
        streams: Streams::new(1, 0),
        place: "flow/0".into(),
        anywhere: false,
    };
    let mut sender = Sender::new(settings, Source::Synthetic(None), &[1; 32]);
    let mut receiver = Path::receiver(Time::ZERO, "tfrcp", key());
    let (mut asked, mut answer) = (Vec::new(), Vec::new());
    while receiver.poll_transmit(Time::ZERO, &mut asked).is_some() {
        sender.handle_datagram(Time::ZERO, address(7001), &asked, &mut answer);
        if !answer.is_empty() {
            receiver.handle_datagram(Time::ZERO, &answer, false, &mut Vec::new());
        }
        asked.clear();
    }
    sender
}

/// Longest time in seconds before the sender notices the silence.
const LONGEST: f64 = 9.0;

/// Runs the sender for some time, at most [`LONGEST`]. Each wake-up is late by `late`. Returns the
/// packets that left, and their bursts.
fn leaving(sender: &mut Sender, seconds: f64, mut late: impl FnMut() -> Span) -> (u64, Bursts) {
    let mut output = Vec::new();
    let mut now = Time::ZERO;
    while now < Time::from_seconds(seconds) {
        output.clear();
        while sender.poll_transmit(now, &mut output).is_some() {
            output.clear();
        }
        let due = sender.poll_timeout().max(now);
        now = due + late();
    }
    let report = sender.report().unwrap();
    (report.statistics.sent, report.bursts)
}

/// Returns the cap that allows this many packets of 1000 bytes per second.
fn cap(packets_per_s: f64) -> BitRate {
    BitRate::from_bit_per_s((packets_per_s * on_wire(1000).as_f64() * 8.0).ceil() as u64)
}

#[test]
fn the_mean_rate_is_kept_by_coarse_and_late_timers() {
    let mut late = Streams::new(3, 0).stream("late");
    for milliseconds in [0, 1, 10, 20] {
        let tick = Span::from_millis(milliseconds);
        for rate in [49.0, 50.0, 333.0, 12_345.6] {
            // On time; late by up to half a tick; and sometimes as late as may be caught up.
            for most in [Span::ZERO, tick / 2, CATCH_UP] {
                let mut sender = opened(cap(rate), tick);
                // At high rates two seconds are enough: a hundred late timers, and so many packets
                // that one more or less does not count.
                let seconds = (3000.0_f64 / rate).clamp(2.0, LONGEST);
                let mut count = 0;
                let (sent, bursts) = leaving(&mut sender, seconds, || {
                    count += 1;
                    if most < CATCH_UP || count % 20 == 0 {
                        late.uniform_span(most)
                    } else {
                        Span::ZERO
                    }
                });
                let error = sent as f64 / (rate * seconds) - 1.0;
                // One packet more or less at the ends, where there are few.
                let allowed = 0.01_f64.max(1.5 / (rate * seconds));
                assert!(
                    error.abs() < allowed,
                    "{milliseconds} ms, {rate}, late by {most:?}: {error}"
                );
                let explained = rate * (tick + most).as_seconds();
                let largest = bursts.largest() as f64;
                assert!(
                    largest <= 2.0 * explained.ceil() + 2.0,
                    "{milliseconds} ms, {rate}, {most:?}: {largest}"
                );
            }
        }
    }
}

/// A long pause of the program is not made up for.
#[test]
fn a_long_pause_is_not_made_up_for() {
    let rate = 1000.0;
    let mut sender = opened(cap(rate), Span::from_millis(1));
    let mut count = 0;
    let (sent, bursts) = leaving(&mut sender, LONGEST, || {
        count += 1;
        if count == 1000 {
            Span::from_millis(3000)
        } else {
            Span::ZERO
        }
    });
    assert!(sent as f64 <= rate * (LONGEST - 3.0 + 0.02), "{sent}");
    assert!(sent as f64 >= rate * (LONGEST - 3.0) * 0.99, "{sent}");
    let most = rate * (CATCH_UP.as_seconds() + 0.002) * 2.0;
    assert!(bursts.largest() as f64 <= most, "{}", bursts.largest());
    assert!(sender.report().unwrap().statistics.sent_bytes == Bytes(sent * 1000));
}

/// TFRC lets at most a round trip's worth of packets leave together (RFC 5348 section 4.6). On a
/// path much shorter than a tick, that would be a packet or a few per tick. The rate would fall
/// further and further, since TFRC allows only twice the receive rate.
#[test]
fn a_tick_longer_than_the_round_trip_neither_slows_down_nor_makes_bursts() {
    for micros in [50, 100, 200, 700] {
        for packets_per_s in [2_500.0, 25_000.0] {
            let round_trip = Span::from_micros(micros);
            let mut path = Path::with("tfrc", Source::Synthetic(None), cap(packets_per_s), key());
            path.weather.delay = round_trip / 2;
            // It takes about a second until there is a round-trip time.
            path.run_for(1.2);
            let sent = |path: &Path| path.sender.report().unwrap().statistics.sent as f64;
            let before = sent(&path);
            path.run_for(0.1);
            let rate = (sent(&path) - before) / 0.1;
            let case = format!("{micros} µs, {packets_per_s}: {rate}");
            assert!((rate / packets_per_s - 1.0).abs() < 0.02, "{case}");
            let largest = path.sender.report().unwrap().bursts.largest() as f64;
            let worth = packets_per_s * round_trip.as_seconds();
            assert!(largest <= worth.max(1.0), "{case}, {largest}");
        }
    }
}
