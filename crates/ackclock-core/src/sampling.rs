//! The time series of shared hops, written the same way whatever drives the hops.

use crate::hop::Hop;
use crate::link::Link;
use crate::observe::HopLosses;
use crate::result::{HopRow, Table};
use crate::units::{BitRate, Time};

/// The table `hops` in the making.
#[derive(Debug)]
pub struct HopSeries {
    point: i64,
    replicate: i64,
    hops: Vec<Metered>,
    table: Table,
}

/// A link's capacity is summed up to so many changes of its rate between two samples, about a
/// millisecond's work: one that changes each millisecond may be idle for a century, which takes no
/// time otherwise.
const MOST_CHANGES: u64 = 100_000;

/// A shared hop as the table knows it.
#[derive(Debug)]
struct Metered {
    name: String,
    /// The link itself may be asked only about the future; nothing where it depends on others who
    /// contend.
    meter: Option<Box<dyn Link>>,
    /// How much it could have sent until when, not a number if that is not known. Summed up here:
    /// the mean since the start would be read from the start each time.
    integral_bytes: f64,
    until: Time,
}

/// A service ends up to a nanosecond early, which is so much at the highest rate there can be.
const NANOSECOND_BYTES: f64 = 1250.0;

fn bit_per_s(rate: Option<BitRate>) -> f64 {
    rate.map_or(f64::NAN, |rate| rate.as_bit_per_s() as f64)
}

impl Metered {
    fn new((name, meter): (String, Option<Box<dyn Link>>)) -> Self {
        Metered {
            name,
            meter,
            integral_bytes: 0.0,
            until: Time::ZERO,
        }
    }

    /// The capacity up to `now`.
    fn go_on(&mut self, now: Time, hop: &Hop) -> f64 {
        let meter = self.meter.as_deref();
        let mean = meter.and_then(|meter| meter.mean_rate_within(self.until, now, MOST_CHANGES));
        self.integral_bytes += bit_per_s(mean) / 8.0 * now.since(self.until).as_seconds();
        self.until = now;
        let capacity = self.integral_bytes + hop.excess(now);
        if cfg!(debug_assertions) && self.meter.as_ref().is_some_and(|meter| meter.is_exact()) {
            let served = hop.counters().served_bytes.as_f64();
            // The means are rounded down to a bit per second.
            let rounding = now.as_seconds() / 8.0 + 1e-9 * capacity + NANOSECOND_BYTES;
            assert!(
                capacity.is_nan() || served <= capacity + rounding,
                "{} has sent {served} bytes and could have sent {capacity}",
                self.name
            );
        }
        capacity
    }
}

impl HopSeries {
    /// No rows yet. Names and meters are those of a [`Network`](crate::network::Network); every row
    /// begins with `labels`.
    pub fn new(
        (point, replicate): (i64, i64),
        names: Vec<String>,
        meters: Vec<Option<Box<dyn Link>>>,
    ) -> Self {
        HopSeries {
            point,
            replicate,
            hops: names.into_iter().zip(meters).map(Metered::new).collect(),
            table: HopRow::table(),
        }
    }

    /// How many hops are shared; they have the first numbers.
    pub const fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Appends a row of the shared hop of that number, which has caught up to `now`. `now` never
    /// runs backwards.
    pub fn write(&mut self, now: Time, number: usize, hop: &Hop, losses: &HopLosses) {
        let metered = &mut self.hops[number];
        let capacity_bytes = metered.go_on(now, hop);
        let (counters, backlog) = (hop.counters(), hop.backlog());
        HopRow {
            point: self.point,
            replicate: self.replicate,
            hop: &metered.name,
            time_s: now.as_seconds(),
            backlog_packets: backlog.packets as i64,
            backlog_bytes: backlog.bytes.0 as i64,
            limit_packets: hop.limit(now).unwrap_or(f64::NAN),
            arrivals: counters.arrivals as i64,
            departures: counters.departures as i64,
            served_bytes: counters.served_bytes.0 as i64,
            busy_s: hop.busy(now).as_seconds(),
            drops_queue: losses.queue as i64,
            drops_aqm: losses.aqm as i64,
            drops_impairment: losses.impairment as i64,
            drops_retries: losses.retries as i64,
            marks: losses.marks as i64,
            rate_bit_per_s: bit_per_s(metered.meter.as_ref().map(|meter| meter.rate(now))),
            capacity_bytes,
        }
        .push(&mut self.table);
    }

    /// The rows, which are taken out.
    pub fn take_table(&mut self) -> Table {
        std::mem::replace(&mut self.table, HopRow::table())
    }
}
