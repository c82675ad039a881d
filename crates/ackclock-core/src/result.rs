//! The tables every way of answering fills. Columns end in their unit; what a way cannot know is
//! not a number (NaN, null in the files), never zero.

/// One column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Numbers; NaN is unknown.
    Number(Vec<f64>),
    /// Whole numbers, always known.
    Integer(Vec<i64>),
    /// Words from a short list.
    Text(Words),
}

/// What is unknown in both is the same.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Column::Number(one), Column::Number(other)) => {
                let same =
                    |(one, other): (&f64, &f64)| one == other || (one.is_nan() && other.is_nan());
                one.len() == other.len() && one.iter().zip(other).all(same)
            }
            (Column::Integer(one), Column::Integer(other)) => one == other,
            (Column::Text(one), Column::Text(other)) => one == other,
            _ => false,
        }
    }
}

impl Column {
    fn append(&mut self, other: Column) {
        match (self, other) {
            (Column::Number(rows), Column::Number(more)) => rows.extend(more),
            (Column::Integer(rows), Column::Integer(more)) => rows.extend(more),
            (Column::Text(rows), Column::Text(more)) => rows.append(more),
            _ => unreachable!("tables of one kind have the same columns"),
        }
    }
}

/// A table: named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(&'static str, Column)>);

impl Table {
    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> usize {
        let cell = |column: &Column| match column {
            Column::Number(_) | Column::Integer(_) => 8,
            Column::Text(_) => 4,
        };
        self.0.iter().map(|(_, column)| cell(column)).sum()
    }

    /// Puts the rows of a table of the same kind below these.
    pub fn append(&mut self, other: Table) {
        if self.0.is_empty() {
            self.0 = other.0;
            return;
        }
        for ((name, rows), (other_name, more)) in self.0.iter_mut().zip(other.0) {
            debug_assert_eq!(
                *name, other_name,
                "tables of one kind have the same columns"
            );
            rows.append(more);
        }
    }
}

/// How a Rust value becomes a cell.
pub trait Cell {
    /// What a cell holds of which nothing is known: NaN; a whole number is zero, a word empty.
    const UNKNOWN: Self;
    /// An empty column.
    fn column() -> Column;
    /// Appends the value.
    fn push(self, column: &mut Column);
}

impl Cell for f64 {
    const UNKNOWN: f64 = f64::NAN;
    fn column() -> Column {
        Column::Number(Vec::new())
    }
    fn push(self, column: &mut Column) {
        if let Column::Number(rows) = column {
            rows.push(self);
        }
    }
}
impl Cell for i64 {
    const UNKNOWN: i64 = 0;
    fn column() -> Column {
        Column::Integer(Vec::new())
    }
    fn push(self, column: &mut Column) {
        if let Column::Integer(rows) = column {
            rows.push(self);
        }
    }
}
impl<'a> Cell for &'a str {
    const UNKNOWN: &'a str = "";
    fn column() -> Column {
        Column::Text(Words::default())
    }
    fn push(self, column: &mut Column) {
        if let Column::Text(rows) = column {
            rows.push(self);
        }
    }
}

/// What a column is called and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Its name, ending in its unit.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// A row type: one field per column, a table of such rows, and what the columns hold.
macro_rules! rows {
    ($(#[$attribute:meta])* $row:ident$(<$lifetime:lifetime>)? { $($(#[doc = $summary:literal])+ $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $row$(<$lifetime>)? {
            $($(#[doc = $summary])+ pub $field: $type,)*
        }
        impl$(<$lifetime>)? $row$(<$lifetime>)? {
            /// The columns in their order.
            pub const COLUMNS: &'static [ColumnDescription] =
                &[$(ColumnDescription { name: stringify!($field), summary: concat!($($summary),+).trim_ascii() },)*];

            /// A row of which nothing is known, to be filled in.
            pub const UNKNOWN: Self = Self { $($field: <$type as Cell>::UNKNOWN,)* };

            /// A table without rows.
            pub fn table() -> Table {
                Table(vec![$((stringify!($field), <$type as Cell>::column()),)*])
            }
            /// Appends this row.
            pub fn push(self, table: &mut Table) {
                let mut columns = table.0.iter_mut();
                $(if let Some((_, column)) = columns.next() { self.$field.push(column); })*
            }
        }
    };
}

mod emulation;
mod measure;
mod words;
pub use emulation::{FidelityRow, LatenessRow, SettingRow, TcpInfoRow};
pub use measure::{ConnectionRow, LimitPeriodRow, RateEstimateRow, RttHistogramRow, SegmentRow};
pub use words::Words;

rows! {
    /// One flow of one replicate. Averages are over the measured interval, counts over the whole
    /// run.
    FlowRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Name of the congestion control or rate control, or `udp`.
        control: &'a str,
        /// When it started.
        start_s: f64,
        /// When its last byte arrived, or when it was stopped.
        end_s: f64,
        /// From the start to the arrival of the last byte of a finite transfer.
        completion_time_s: f64,
        /// Length of the measured interval: after warm-up, while the flow was active.
        measured_s: f64,
        /// Payload handed to the application in order, each byte once.
        goodput_bit_per_s: f64,
        /// Everything that arrived at the receiver, headers included; of a capture what passed it.
        throughput_bit_per_s: f64,
        /// Payload handed to the application; of a capture what has been acknowledged.
        delivered_bytes: i64,
        /// Data packets sent, retransmissions included.
        sent_packets: i64,
        /// Data packets sent again.
        retransmitted_packets: f64,
        /// Packets of the flow dropped anywhere, ACKs included; a capture does not know.
        dropped_packets: f64,
        /// Of these, ACKs and answers to SYNs.
        dropped_acks: f64,
        /// Reactions to duplicate ACKs or SACK.
        fast_retransmits: f64,
        /// Expirations of the retransmission timer.
        timeouts: f64,
        /// Reactions to ECN echoes.
        ecn_reactions: f64,
        /// Mean round-trip time; of an emulation the mean of the smoothed one over time.
        rtt_mean_s: f64,
        /// Smallest round-trip time of the whole run.
        rtt_min_s: f64,
        /// Largest round-trip time of the whole run.
        rtt_max_s: f64,
        /// Packets that a sender under rate control holds lost; unknown where its receiver measures
        /// the loss.
        lost_packets: f64,
        /// Of these, packets that news came of later.
        spurious_losses: f64,
        /// Mean congestion window at the sampling times.
        cwnd_mean_bytes: f64,
    }
}

rows! {
    /// One flow at one sampling time; counts since the start.
    SampleRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// When.
        time_s: f64,
        /// Congestion window.
        cwnd_bytes: f64,
        /// Slow-start threshold.
        ssthresh_bytes: f64,
        /// Outstanding data.
        in_flight_bytes: f64,
        /// Last round-trip time measured.
        rtt_s: f64,
        /// Smoothed round-trip time.
        smoothed_rtt_s: f64,
        /// Retransmission timeout.
        rto_s: f64,
        /// Payload handed to the application; of an emulation or a capture what has been
        /// acknowledged.
        delivered_bytes: i64,
        /// Data packets sent.
        sent_packets: i64,
        /// Data packets sent again.
        retransmitted_packets: f64,
        /// What the control thinks it is doing.
        mode: &'a str,
        /// Rate that the control believes the path gives, if it estimates one.
        rate_estimate_bit_per_s: f64,
        /// Payload per second that a rate control allows.
        allowed_rate_bit_per_s: f64,
        /// What a rate control takes for the loss rate, by its own definition: packets lost, or
        /// loss events.
        loss_event_rate: f64,
    }
}

rows! {
    /// How often so many packets left together.
    BurstRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Packets that left together, between two looks at the clock; 4096 stands for more, too.
        packets: i64,
        /// How often.
        bursts: i64,
    }
}

rows! {
    /// One shared hop at one sampling time; counts since the start.
    HopRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the hop.
        hop: &'a str,
        /// When.
        time_s: f64,
        /// Packets waiting, the one in service not counted.
        backlog_packets: i64,
        /// Bytes waiting.
        backlog_bytes: i64,
        /// Limit of a queue that moves it; null of others.
        limit_packets: f64,
        /// Packets that came.
        arrivals: i64,
        /// Packets that left, propagation delay included.
        departures: i64,
        /// Bytes the link has sent.
        served_bytes: i64,
        /// Time the link was busy; of a contender for a medium, time it had something to send.
        busy_s: f64,
        /// Packets dropped because the queue was full.
        drops_queue: i64,
        /// Packets dropped by a queue discipline.
        drops_aqm: i64,
        /// Packets lost by impairments.
        drops_impairment: i64,
        /// Packets that a medium gave up after too many collisions.
        drops_retries: i64,
        /// Packets marked.
        marks: i64,
        /// Rate of the link; unknown where it contends for a medium, as is the capacity.
        rate_bit_per_s: f64,
        /// Bytes the link could have sent: the integral of its rate, where a packet of a feedback
        /// link keeps the one it began with. Unknown once that has changed more than 100,000 times
        /// between two samples.
        capacity_bytes: f64,
    }
}

rows! {
    /// One shared medium at one sampling time. Counts are since the start. The three times make up
    /// all of `time_s`, to the nanosecond.
    MediumRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the medium.
        medium: &'a str,
        /// When.
        time_s: f64,
        /// Time in which nobody sent; what stations wait before they do is in it.
        idle_ns: i64,
        /// Time of exchanges that succeeded, acknowledgements included.
        success_ns: i64,
        /// Time of collisions; with EIFS up to where an acknowledgement would have ended.
        collision_ns: i64,
        /// Exchanges that succeeded.
        successes: i64,
        /// Collisions between stations, each counted once however many took part.
        collisions: i64,
        /// Transmissions.
        attempts: i64,
        /// Times when a higher class of the same station sent in the place of a lower.
        internal_collisions: i64,
        /// Packets given up after too many collisions.
        retry_drops: i64,
    }
}

rows! {
    /// One contender for a medium, of one replicate. Service times are those of packets sent after
    /// warm-up, counts over the whole run.
    ContenderRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the medium.
        medium: &'a str,
        /// Name of the hop.
        hop: &'a str,
        /// Name of the flow group, if the hop is a single flow's.
        flow: &'a str,
        /// Number of the instance in its group, if so.
        instance: i64,
        /// Number of its station at the medium: those with the same share one.
        station: i64,
        /// Transmissions.
        attempts: i64,
        /// Of these, the ones that succeeded.
        successes: i64,
        /// Of these, the ones that collided with another station's.
        collisions: i64,
        /// Times when a higher class of the same station sent in its place.
        internal_collisions: i64,
        /// Packets given up after too many collisions of either kind.
        retry_drops: i64,
        /// Time on the air: of whole exchanges that succeeded, and of the frames that collided.
        airtime_s: f64,
        /// Mean time from the head of the line to the end of the exchange, of packets sent.
        service_time_mean_s: f64,
        /// Its standard deviation.
        service_time_sd_s: f64,
    }
}

rows! {
    /// One reaction of a sender to congestion.
    EventRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// When.
        time_s: f64,
        /// What.
        kind: &'a str,
        /// Congestion window before.
        cwnd_before_bytes: f64,
        /// Congestion window after.
        cwnd_after_bytes: f64,
        /// Slow-start threshold after.
        ssthresh_after_bytes: f64,
        /// Outstanding data.
        in_flight_bytes: f64,
    }
}

rows! {
    /// One step of one packet.
    PacketRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// When.
        time_s: f64,
        /// What: `send`, `arrive`, `drop`, `mark`, `receive`.
        event: &'a str,
        /// At which hop; empty at the endpoints.
        hop: &'a str,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// What it is.
        kind: &'a str,
        /// Number of the segment, or the next one expected.
        sequence: i64,
        /// Length on the wire.
        size_bytes: i64,
    }
}

/// Every table: its name, what a row is, its columns.
pub const TABLES: &[(&str, &str, &[ColumnDescription])] = &[
    (
        "flows",
        "One flow of one replicate; averages over the measured interval, counts over the whole run.",
        FlowRow::COLUMNS,
    ),
    (
        "samples",
        "One flow at one sampling time; counts since the start.",
        SampleRow::COLUMNS,
    ),
    (
        "bursts",
        "Histogram of the number of packets that left together; `ackclock send` only.",
        BurstRow::COLUMNS,
    ),
    (
        "hops",
        "One shared hop at one sampling time; counts since the start.",
        HopRow::COLUMNS,
    ),
    (
        "media",
        "One shared medium at one sampling time; counts since the start; the three times add up to `time_s`. Simulations with media only.",
        MediumRow::COLUMNS,
    ),
    (
        "contenders",
        "One contender for a medium, of one replicate; service times after warm-up, counts over the whole run. Simulations with media only.",
        ContenderRow::COLUMNS,
    ),
    (
        "events",
        "One reaction of a sender to congestion.",
        EventRow::COLUMNS,
    ),
    (
        "packets",
        "One event of one packet; with --packets.",
        PacketRow::COLUMNS,
    ),
    (
        "tcp_info",
        "One connection at one reading of the kernel's `tcp_info`, every 10 ms. Emulations only.",
        TcpInfoRow::COLUMNS,
    ),
    (
        "fidelity",
        "The fidelity of one run. Emulations only.",
        FidelityRow::COLUMNS,
    ),
    (
        "lateness",
        "One bucket of the histogram of packet lateness of one run. Emulations only.",
        LatenessRow::COLUMNS,
    ),
    (
        "settings",
        "One kernel setting: what the scenario asks for and what the kernel does. Emulations only.",
        SettingRow::COLUMNS,
    ),
    (
        "connections",
        "One direction of one connection. Captures only.",
        ConnectionRow::COLUMNS,
    ),
    (
        "limit_periods",
        "One period in which a single factor limited one direction of a connection. Captures only.",
        LimitPeriodRow::COLUMNS,
    ),
    (
        "rtt_histogram",
        "One bucket of the distribution of round-trip times of one direction of a connection. Captures only.",
        RttHistogramRow::COLUMNS,
    ),
    (
        "rate_estimates",
        "One rate estimate of one direction of a connection at one sampling time; with --estimators, captures near the sender only.",
        RateEstimateRow::COLUMNS,
    ),
    (
        "segments",
        "One mark of a time-sequence plot; with --segments, captures only.",
        SegmentRow::COLUMNS,
    ),
];
