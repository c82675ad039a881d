//! The time series of shared hops, written the same way whatever drives the hops.

use crate::hop::Hop;
use crate::link::Link;
use crate::observe::HopLosses;
use crate::result::{HopRow, Table};
use crate::units::Time;

/// The table `hops` in the making.
#[derive(Debug)]
pub struct HopSeries {
    point: i64,
    replicate: i64,
    /// Name and meter of each shared hop: the link itself may be asked only about the future.
    hops: Vec<(String, Box<dyn Link>)>,
    table: Table,
}

impl HopSeries {
    /// No rows yet. Names and meters are those of a [`Network`](crate::network::Network); every row begins with `labels`.
    pub fn new((point, replicate): (i64, i64), names: Vec<String>, meters: Vec<Box<dyn Link>>) -> Self {
        HopSeries {
            point,
            replicate,
            hops: names.into_iter().zip(meters).collect(),
            table: HopRow::table(),
        }
    }

    /// How many hops are shared; they have the first numbers.
    pub const fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Appends a row of the shared hop of that number, which has caught up to `now`. `now` never runs backwards.
    pub fn write(&mut self, now: Time, number: usize, hop: &Hop, losses: &HopLosses) {
        let (name, meter) = &self.hops[number];
        let (counters, backlog) = (hop.counters(), hop.backlog());
        HopRow {
            point: self.point,
            replicate: self.replicate,
            hop: name,
            time_s: now.as_seconds(),
            backlog_packets: backlog.packets as i64,
            backlog_bytes: backlog.bytes.0 as i64,
            arrivals: counters.arrivals as i64,
            departures: counters.departures as i64,
            served_bytes: counters.served_bytes.0 as i64,
            busy_s: hop.busy(now).as_seconds(),
            drops_queue: losses.queue as i64,
            drops_aqm: losses.aqm as i64,
            drops_impairment: losses.impairment as i64,
            marks: losses.marks as i64,
            rate_bit_per_s: meter.rate(now).as_bit_per_s() as f64,
        }
        .push(&mut self.table);
    }

    /// The rows, which are taken out.
    pub fn take_table(&mut self) -> Table {
        std::mem::replace(&mut self.table, HopRow::table())
    }
}
