//! The time series of shared hops. All methods that drive hops write it the same way.

use crate::hop::Hop;
use crate::link::Link;
use crate::observe::HopLosses;
use crate::result::{ClassRow, DelayRow, HopRow, Table};
use ackclock_spec::units::{BitRate, Time};

/// Returns the table `delays` of shared hops with these names, `None` if no hop records delays.
/// Every row begins with `labels`; `flows` are the names of the flow groups.
pub fn delay_table<'a>(
    (point, replicate): (i64, i64),
    hops: impl Iterator<Item = (&'a str, &'a Hop)>,
    flows: &[&str],
) -> Option<Table> {
    let recorded: Vec<_> = hops
        .filter_map(|(name, hop)| Some((name, hop.delays()?)))
        .collect();
    if recorded.is_empty() {
        return None;
    }
    let mut table = DelayRow::table();
    for (hop, delays) in recorded {
        for (group, class, histogram) in delays {
            for (low, high, packets) in histogram.buckets() {
                DelayRow {
                    point,
                    replicate,
                    hop,
                    flow: flows[group as usize],
                    class,
                    low_s: low.as_seconds(),
                    high_s: high.as_seconds(),
                    packets: packets as i64,
                }
                .push(&mut table);
            }
        }
    }
    Some(table)
}

/// Returns the table `classes` of shared hops with these names, `None` if no queue has classes.
/// Every row begins with `labels`.
pub fn class_table<'a>(
    (point, replicate): (i64, i64),
    hops: impl Iterator<Item = (&'a str, &'a Hop)>,
) -> Option<Table> {
    let mut table = None;
    for (hop, classes) in hops.map(|(name, hop)| (name, hop.classes())) {
        for (class, counts) in classes {
            ClassRow {
                point,
                replicate,
                hop,
                class,
                arrivals: counts.arrivals as i64,
                marks: counts.marks as i64,
                drops: counts.drops as i64,
            }
            .push(table.get_or_insert_with(ClassRow::table));
        }
    }
    table
}

/// The table `hops`, to which rows are appended.
#[derive(Debug)]
pub struct HopSeries {
    point: i64,
    replicate: i64,
    hops: Vec<Metered>,
    table: Table,
}

/// Most changes of a link's rate between two samples over which its capacity is summed, about a
/// millisecond's work. A link whose rate changes every millisecond may be idle for a century, and
/// skipping that time costs nothing otherwise.
const MOST_CHANGES: u64 = 100_000;

/// A shared hop as the table knows it.
#[derive(Debug)]
struct Metered {
    name: String,
    /// A second instance of the link, because the link itself may be asked only about the future.
    /// `None` if the rate depends on what is served, here or by other contenders.
    meter: Option<Box<dyn Link>>,
    /// Bytes that the link could have sent up to `until`, NaN if unknown. It is summed here, since
    /// the link would compute a mean since the start from the start each time.
    integral_bytes: f64,
    until: Time,
}

/// Bytes sent in a nanosecond at the highest possible rate: a service ends up to a nanosecond
/// early.
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

    /// Returns the capacity up to `now`.
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

    /// Returns the row of the hop.
    fn row(
        &mut self,
        (point, replicate): (i64, i64),
        now: Time,
        hop: &Hop,
        losses: &HopLosses,
    ) -> HopRow<'_> {
        let capacity_bytes = self.go_on(now, hop);
        let (counters, backlog) = (hop.counters(), hop.backlog());
        HopRow {
            point,
            replicate,
            hop: &self.name,
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
            rate_bit_per_s: bit_per_s(self.meter.as_ref().map(|meter| meter.rate(now))),
            capacity_bytes,
        }
    }
}

impl HopSeries {
    /// Begins a table without rows. Names and meters are those of a network. Every row begins with
    /// `labels`.
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

    /// Returns the number of shared hops; they have the first numbers.
    pub const fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Appends a row for each of the shared hops, which must have caught up to `now`. `now` never
    /// decreases.
    pub fn write<'a>(
        &mut self,
        now: Time,
        hops: impl Iterator<Item = &'a Hop>,
        losses: &[HopLosses],
    ) {
        let HopSeries {
            point,
            replicate,
            hops: series,
            table,
        } = self;
        let labels = (*point, *replicate);
        let rows: Vec<HopRow<'_>> = series
            .iter_mut()
            .zip(hops)
            .zip(losses)
            .map(|((metered, hop), losses)| metered.row(labels, now, hop, losses))
            .collect();
        HopRow::push_all(&rows, table);
    }

    /// Returns the names of the shared hops.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hops.iter().map(|hop| hop.name.as_str())
    }

    /// Takes the rows out.
    pub fn take_table(&mut self) -> Table {
        std::mem::replace(&mut self.table, HopRow::table())
    }
}
