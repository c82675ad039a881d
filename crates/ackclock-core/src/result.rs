//! The tables that every method fills: predict, simulate, emulate and measure.
//!
//! The name of a column ends in its unit. A value that a method cannot know is not a number (NaN,
//! null in the files), never zero.

/// One column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Numbers; NaN if unknown.
    Number(Vec<f64>),
    /// Whole numbers, always known.
    Integer(Vec<i64>),
    /// Words that repeat, each stored once.
    Text(Words),
}

/// Two unknown numbers (NaN) are equal.
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
    /// Returns the number of bytes that a row takes.
    pub fn row_bytes(&self) -> usize {
        let cell = |column: &Column| match column {
            Column::Number(_) | Column::Integer(_) => 8,
            Column::Text(_) => 4,
        };
        self.0.iter().map(|(_, column)| cell(column)).sum()
    }

    /// Appends the rows of a table of the same kind.
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

/// A Rust type whose values are the cells of a column.
pub trait Cell {
    /// The cell of an unknown value: NaN for a number, zero for a whole number, an empty word.
    const UNKNOWN: Self;
    /// Returns an empty column.
    fn column() -> Column;
    /// Appends the value to a column.
    fn push(self, column: &mut Column);
    /// Appends values to a column.
    fn extend(cells: impl Iterator<Item = Self>, column: &mut Column);
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
    fn extend(cells: impl Iterator<Item = Self>, column: &mut Column) {
        if let Column::Number(rows) = column {
            rows.extend(cells);
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
    fn extend(cells: impl Iterator<Item = Self>, column: &mut Column) {
        if let Column::Integer(rows) = column {
            rows.extend(cells);
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
    fn extend(cells: impl Iterator<Item = Self>, column: &mut Column) {
        if let Column::Text(rows) = column {
            cells.for_each(|word| rows.push(word));
        }
    }
}

/// Name and meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Name of the column, ending in its unit.
    pub name: &'static str,
    /// One or two sentences.
    pub summary: &'static str,
}

/// Defines a row type with one field per column, its table, and the descriptions of its columns.
/// The `///` lines of a field are the description of its column.
macro_rules! rows {
    (
        $(#[$attribute:meta])* $row:ident$(<$lifetime:lifetime>)? {
            $($(#[doc = $summary:literal])+ $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $row$(<$lifetime>)? {
            $($(#[doc = $summary])+ pub $field: $type,)*
        }
        impl$(<$lifetime>)? $row$(<$lifetime>)? {
            /// Descriptions of the columns, in order.
            pub const COLUMNS: &'static [ColumnDescription] =
                &[
                    $(
                        ColumnDescription {
                            name: stringify!($field),
                            summary: concat!($($summary),+).trim_ascii()
                        },
                    )*
                ];

            /// A row whose every value is unknown, to be filled in.
            pub const UNKNOWN: Self = Self { $($field: <$type as Cell>::UNKNOWN,)* };

            /// Returns a table without rows.
            pub fn table() -> Table {
                Table(vec![$((stringify!($field), <$type as Cell>::column()),)*])
            }
            /// Appends this row to a table.
            pub fn push(self, table: &mut Table) {
                let mut columns = table.0.iter_mut();
                $(if let Some((_, column)) = columns.next() { self.$field.push(column); })*
            }
            /// Appends rows to a table, column by column, which takes less time than row by row.
            pub fn push_all(rows: &[Self], table: &mut Table) {
                let mut columns = table.0.iter_mut();
                $(
                    if let Some((_, column)) = columns.next() {
                        Cell::extend(rows.iter().map(|row| row.$field), column);
                    }
                )*
            }
        }
    };
}

mod counters;
mod emulation;
mod measure;
mod words;
pub use counters::{COUNTERS, CounterRow};
pub use emulation::{FidelityRow, LatenessRow, SettingRow, TcpInfoRow};
pub use measure::{
    ConnectionRow, DatagramRow, LimitPeriodRow, RateEstimateRow, RttHistogramRow, SegmentRow,
};
pub use words::Words;

rows! {
    /// One flow of one replicate. Means are over the measured interval, counts over the whole run.
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
        /// Time at which it started.
        start_s: f64,
        /// Time at which its last byte arrived, or at which it was stopped.
        end_s: f64,
        /// Time from the start to the arrival of the last byte of a finite transfer.
        completion_time_s: f64,
        /// Length of the measured interval: the time after warm-up in which the flow was active.
        measured_s: f64,
        /// Payload handed to the application in order, each byte once.
        goodput_bit_per_s: f64,
        /// Bytes that arrived at the receiver, headers included; in a capture, bytes that passed
        /// the capture point.
        throughput_bit_per_s: f64,
        /// Payload handed to the application; in a capture, payload acknowledged.
        delivered_bytes: i64,
        /// Data packets sent, retransmissions included.
        sent_packets: i64,
        /// Data packets retransmitted.
        retransmitted_packets: f64,
        /// Packets of the flow dropped at any hop, ACKs included; unknown in a capture.
        dropped_packets: f64,
        /// Dropped packets that were ACKs or answers to SYNs.
        dropped_acks: f64,
        /// Fast retransmits: reactions to duplicate ACKs or SACK.
        fast_retransmits: f64,
        /// Expirations of the retransmission timer.
        timeouts: f64,
        /// Reductions of the congestion window on ECN echoes.
        ecn_reactions: f64,
        /// Mean round-trip time; in an emulation, the time average of the smoothed round-trip time.
        rtt_mean_s: f64,
        /// Smallest round-trip time of the whole run.
        rtt_min_s: f64,
        /// Largest round-trip time of the whole run.
        rtt_max_s: f64,
        /// Packets that a sender with rate control deems lost; unknown if the receiver measures the
        /// losses.
        lost_packets: f64,
        /// Packets deemed lost whose arrival was reported later.
        spurious_losses: f64,
        /// Mean congestion window over the sampling times.
        cwnd_mean_bytes: f64,
    }
}

rows! {
    /// One flow at one sampling time. Counts are since the start of the run.
    SampleRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Sampling time.
        time_s: f64,
        /// Congestion window.
        cwnd_bytes: f64,
        /// Slow-start threshold.
        ssthresh_bytes: f64,
        /// Payload in flight.
        in_flight_bytes: f64,
        /// Latest sample of the round-trip time.
        rtt_s: f64,
        /// Smoothed round-trip time.
        smoothed_rtt_s: f64,
        /// Retransmission timeout.
        rto_s: f64,
        /// Payload handed to the application; in an emulation or a capture, payload acknowledged.
        delivered_bytes: i64,
        /// Data packets sent.
        sent_packets: i64,
        /// Data packets retransmitted.
        retransmitted_packets: f64,
        /// State of the congestion control or rate control, in its own terms.
        mode: &'a str,
        /// Rate of the path as the control estimates it, if it does.
        rate_estimate_bit_per_s: f64,
        /// Payload per second that a rate control allows.
        allowed_rate_bit_per_s: f64,
        /// Loss rate as the rate control defines it: of packets or of loss events.
        loss_event_rate: f64,
    }
}

rows! {
    /// Number of bursts of one length that a flow sent.
    BurstRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Packets sent between two readings of the clock; 4096 stands for 4096 or more.
        packets: i64,
        /// Number of bursts of this length.
        bursts: i64,
    }
}

rows! {
    /// One shared hop at one sampling time. Counts are since the start of the run.
    HopRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the hop.
        hop: &'a str,
        /// Sampling time.
        time_s: f64,
        /// Packets waiting, without the one in service.
        backlog_packets: i64,
        /// Bytes waiting.
        backlog_bytes: i64,
        /// Limit of the queue, if the queue adapts it; null for other queues.
        limit_packets: f64,
        /// Packets that arrived at the hop.
        arrivals: i64,
        /// Packets that left the hop, after its propagation delay.
        departures: i64,
        /// Bytes that the link has sent.
        served_bytes: i64,
        /// Time in which the link was busy; for a contender for a medium, time in which it had a
        /// packet to send.
        busy_s: f64,
        /// Packets dropped because the queue was full.
        drops_queue: i64,
        /// Packets dropped by the queue discipline before the queue was full.
        drops_aqm: i64,
        /// Packets lost by impairments.
        drops_impairment: i64,
        /// Packets that a medium dropped after too many collisions.
        drops_retries: i64,
        /// Packets marked (CE).
        marks: i64,
        /// Rate of the link. Rate and capacity are unknown if the hop contends for a medium, or
        /// follows feedback by the rules of an ABR source.
        rate_bit_per_s: f64,
        /// Bytes that the link could have sent: the integral of its rate. A packet on a feedback
        /// link is served at the rate at which it began. Unknown from the first sampling interval
        /// on in which the rate changed more than 100,000 times.
        capacity_bytes: f64,
    }
}

rows! {
    /// One shared medium at one sampling time. Counts are since the start of the run. Idle, success
    /// and collision time add up to `time_s`, to the nanosecond.
    MediumRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the medium.
        medium: &'a str,
        /// Sampling time.
        time_s: f64,
        /// Time in which no station transmitted, including the stations' waits before they
        /// transmit.
        idle_ns: i64,
        /// Time of successful exchanges, acknowledgements included.
        success_ns: i64,
        /// Time of collisions; with EIFS, until an acknowledgement would have ended.
        collision_ns: i64,
        /// Successful exchanges.
        successes: i64,
        /// Collisions between stations, each counted once however many stations took part.
        collisions: i64,
        /// Transmissions.
        attempts: i64,
        /// Internal collisions: a higher class of the same station transmitted instead of a lower
        /// one.
        internal_collisions: i64,
        /// Packets dropped after too many collisions.
        retry_drops: i64,
    }
}

rows! {
    /// One contender for a medium, in one replicate. Service times are of packets sent after
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
        /// Name of the flow group, if the hop belongs to one flow.
        flow: &'a str,
        /// Number of the instance in its group, if the hop belongs to one flow.
        instance: i64,
        /// Number of its station at the medium. Contenders with the same number share a station.
        station: i64,
        /// Transmissions.
        attempts: i64,
        /// Transmissions that succeeded.
        successes: i64,
        /// Transmissions that collided with another station's.
        collisions: i64,
        /// Internal collisions: a higher class of the same station transmitted instead.
        internal_collisions: i64,
        /// Packets dropped after too many collisions, internal or not.
        retry_drops: i64,
        /// Time on the air: successful exchanges as a whole, and the frames that collided.
        airtime_s: f64,
        /// Mean service time of packets sent: from the head of the queue to the end of the
        /// exchange.
        service_time_mean_s: f64,
        /// Standard deviation of the service time.
        service_time_sd_s: f64,
    }
}

rows! {
    /// State of one flow's congestion control after one event.
    ControlStateRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Time of the event.
        time_s: f64,
        /// Event: `open`, `ack`, `sent`, `lost` (one segment), `loss`, `mark`, `timeout`, `undo`,
        /// `recovery_end` or `idle_restart`. Rows of `sent` and `lost` are written only if they
        /// change something.
        event: &'a str,
        /// State of the control, in its own terms.
        mode: &'a str,
        /// Phase within that state, if it has phases.
        phase: &'a str,
        /// State before this one, which may have begun and ended with the same event; empty if the
        /// control does not tell.
        previous_mode: &'a str,
        /// State of the loss recovery at the last ACK: `open`, `cwr`, `recovery` or `loss`.
        recovery: &'a str,
        /// Congestion window.
        cwnd_bytes: f64,
        /// Slow-start threshold.
        ssthresh_bytes: f64,
        /// Pacing rate, if the control sets one.
        pacing_rate_bit_per_s: f64,
        /// Payload in flight; unknown at `open`, `lost`, `recovery_end` and `idle_restart`.
        in_flight_bytes: f64,
        /// Payload delivered so far, by the last ACK.
        delivered_bytes: f64,
        /// Payload that this ACK shows to be lost.
        newly_lost_bytes: f64,
        /// Round-trip time of the last segment that this ACK shows to have arrived.
        rtt_s: f64,
        /// Delivery rate that this ACK shows.
        sample_bit_per_s: f64,
        /// 1 if the application limited that sample, else 0.
        sample_app_limited: f64,
        /// Largest bandwidth measured lately.
        max_bw_bit_per_s: f64,
        /// Bandwidth in use, after all bounds.
        bw_bit_per_s: f64,
        /// Bound on the bandwidth by recent losses; null if there is none.
        bw_shortterm_bit_per_s: f64,
        /// Bound on the payload in flight that the path has shown to bear; null if there is none.
        inflight_longterm_bytes: f64,
        /// Bound on the payload in flight by recent losses; null if there is none.
        inflight_shortterm_bytes: f64,
        /// Smallest round-trip time measured lately.
        min_rtt_s: f64,
        /// Payload that arrives beyond what the bandwidth explains (ACK aggregation).
        extra_acked_bytes: f64,
        /// Pacing rate over bandwidth.
        pacing_gain: f64,
        /// Congestion window over the bandwidth-delay product.
        cwnd_gain: f64,
        /// Number of round trips so far.
        round_count: f64,
        /// Bandwidth that a round must exceed by a factor for the pipe not to be full.
        full_bw_bit_per_s: f64,
        /// Rounds without such growth.
        full_bw_count: f64,
        /// 1 if the bandwidth has stopped growing since the last probe began, else 0.
        full_bw_now: f64,
        /// 1 if it has ever stopped growing, else 0.
        full_bw_reached: f64,
        /// 1 from sending after an idle time until the next ACK, else 0.
        idle_restart: f64,
        /// State to which an undo of the last reaction returns; empty if there is none.
        undo_mode: &'a str,
        /// Most data in flight since the last reduction, by which rate-limited increase bounds the
        /// window (`max_fs`).
        max_fs_bytes: f64,
    }
}

rows! {
    /// One call of a control's program, as its header records it (`struct ackclock_call`): what
    /// went in and what came out. Windows are in segments.
    ControlCallRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Time of the call.
        time_s: f64,
        /// Kind of call: `init`, `pkts_acked`, `cong_avoid`, `ssthresh`, `set_state`, `cwnd_event`,
        /// `undo_cwnd` or `cong_control`.
        kind: &'a str,
        /// State of loss recovery before the call: `open`, `disorder`, `cwr`, `recovery` or `loss`.
        state: &'a str,
        /// 1 if the window limited the sender, else 0.
        limited: i64,
        /// Time on the clock that the program reads, in nanoseconds.
        now_ns: i64,
        /// Local port; it tells the connections of a run apart.
        port: i64,
        /// First argument: segments acknowledged (`pkts_acked`), the ACK's number (`cong_avoid`),
        /// the new state (`set_state`), the event (`cwnd_event`) or segments of a rate sample
        /// (`cong_control`).
        argument_0: i64,
        /// Second argument: bytes of a flight (`pkts_acked`), segments newly acknowledged
        /// (`cong_avoid`) or microseconds of a rate sample (`cong_control`).
        argument_1: i64,
        /// Round-trip time of an ACK in microseconds; negative if none was measured.
        rtt_us: i64,
        /// Answer of `ssthresh` and `undo_cwnd`; of `cong_control` the pacing rate in bytes per
        /// second.
        result: i64,
        /// Congestion window before the call.
        cwnd_before: i64,
        /// Acknowledged segments that had not opened it.
        cwnd_cnt_before: i64,
        /// Slow-start threshold before the call; 2147483647 if it is not set.
        ssthresh_before: i64,
        /// Congestion window after the call.
        cwnd_after: i64,
        /// Acknowledged segments that have not opened it.
        cwnd_cnt_after: i64,
        /// Slow-start threshold after the call.
        ssthresh_after: i64,
        /// Smoothed round-trip time in 1/8 microseconds; 0 if none was measured.
        srtt_us8: i64,
        /// Payload of a full segment.
        mss: i64,
        /// Segments that are not acknowledged cumulatively.
        packets_out: i64,
        /// Those acknowledged selectively.
        sacked_out: i64,
        /// Those deemed lost.
        lost_out: i64,
        /// Those sent again and in flight.
        retrans_out: i64,
        /// Segments delivered so far.
        delivered: i64,
        /// Most segments in flight in the last window.
        max_packets_out: i64,
        /// First byte that is not acknowledged.
        snd_una: i64,
        /// Next byte to send.
        snd_nxt: i64,
        /// When the socket last looked at its clock, in microseconds.
        mstamp_us: i64,
        /// Ticks of the coarse clock.
        jiffies: i64,
        /// Time until pacing lets the next segment leave, in microseconds.
        departure_us: i64,
        /// Segments found lost so far.
        lost: i64,
        /// Smallest round-trip time so far, in microseconds; 4294967295 if none is known.
        min_rtt_us: i64,
        /// Segments delivered when the sampled one was sent (`cong_control`, as all that follow).
        prior_delivered: i64,
        /// Segments that this ACK shows to be delivered.
        acked_sacked: i64,
        /// Segments that this ACK shows to be lost.
        losses: i64,
        /// Segments in flight before this ACK.
        prior_in_flight: i64,
        /// Sum of 1 if the application limited the sampled flight, 2 if the receiver may have
        /// delayed this ACK, and in all calls 4 if the application limits the sender.
        limits: i64,
        /// Random draw of a control that the kernel has, plus 1; else 0.
        drawn: i64,
    }
}

rows! {
    /// One reaction of a sender to congestion or to a closed receive window.
    EventRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Time of the event.
        time_s: f64,
        /// Kind of event.
        kind: &'a str,
        /// Congestion window before the event.
        cwnd_before_bytes: f64,
        /// Congestion window after the event.
        cwnd_after_bytes: f64,
        /// Slow-start threshold after the event.
        ssthresh_after_bytes: f64,
        /// Payload in flight.
        in_flight_bytes: f64,
    }
}

rows! {
    /// Flow control of one flow of one replicate. Times and counts are over the whole run.
    FlowControlRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Time in which the receive window kept data from leaving that the congestion window
        /// allowed.
        receive_window_limited_s: f64,
        /// Time in which the receive window had no room, nothing was in flight, and data waited.
        window_closed_s: f64,
        /// Number of such times.
        window_closings: i64,
        /// Probes that the sender sent to ask for a closed window.
        window_probes: i64,
        /// ACKs that advertised a window of zero after another.
        zero_windows: i64,
        /// ACKs that only the reading application caused.
        window_updates: i64,
        /// Most payload that waited for the application.
        most_unread_bytes: i64,
    }
}

rows! {
    /// One request of a client. Unknown values are null.
    RequestRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Number of the request among those of the instance.
        request: i64,
        /// Kind of response: `response`, `chunk`, `main_object` or `embedded_object`.
        kind: &'a str,
        /// Number of its page among those of the instance.
        page: f64,
        /// Time of the request.
        asked_s: f64,
        /// Time at which the first byte of the response had arrived.
        begun_s: f64,
        /// Time at which the response had arrived.
        answered_s: f64,
        /// Payload of the request.
        request_bytes: i64,
        /// Size of the response. Its last segment is padded.
        response_bytes: i64,
        /// Times that the request was lost and sent again.
        sent_again: i64,
        /// Rate of the video in a chunk.
        rate_bit_per_s: f64,
        /// Video in the buffer once the chunk had arrived.
        buffer_s: f64,
        /// Time without video before the chunk arrived; 0 for the first chunk.
        stall_s: f64,
        /// Time from the first request of a page to the arrival of its last object, in the row of
        /// that object.
        page_time_s: f64,
    }
}

rows! {
    /// One step of one packet through the network.
    PacketRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Time of the step.
        time_s: f64,
        /// Step: `send`, `arrive`, `drop`, `mark` or `receive`.
        event: &'a str,
        /// Name of the hop; empty at the endpoints.
        hop: &'a str,
        /// Name of the flow group.
        flow: &'a str,
        /// Number of the instance in its group.
        instance: i64,
        /// Kind of packet.
        kind: &'a str,
        /// Number of the segment; for an ACK, the number of the next segment expected.
        sequence: i64,
        /// Length on the wire.
        size_bytes: i64,
    }
}

rows! {
    /// One bucket of the histogram of the queueing delays of packets of one flow group in one class
    /// of a queue.
    DelayRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the hop.
        hop: &'a str,
        /// Name of the flow group.
        flow: &'a str,
        /// Class of the queue that the packets joined; empty if the queue has no classes.
        class: &'a str,
        /// Shortest delay of the bucket.
        low_s: f64,
        /// Longest delay of the bucket, at most a 128th longer.
        high_s: f64,
        /// Packets with such a delay.
        packets: i64,
    }
}

rows! {
    /// One class of a queue, with counts of one replicate.
    ClassRow<'a> {
        /// Number of the sweep's point.
        point: i64,
        /// Number of the replicate.
        replicate: i64,
        /// Name of the hop.
        hop: &'a str,
        /// Class of the queue.
        class: &'a str,
        /// Packets that arrived for it, whether they joined or not.
        arrivals: i64,
        /// Packets that it marked (CE). One that arrived marked does not count.
        marks: i64,
        /// Packets that it dropped, those that found no room included.
        drops: i64,
    }
}

/// All tables: name, meaning of a row, columns.
pub const TABLES: &[(&str, &str, &[ColumnDescription])] = &[
    (
        "flows",
        "One flow of one replicate; averages over the measured interval, counts over the whole \
        run.",
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
        "delays",
        "One bucket of the histogram of the times that packets waited in a queue until their \
        service began. Packets that arrive after the warm-up and are sent; hops with \
        `packet_delays = true`.",
        DelayRow::COLUMNS,
    ),
    (
        "classes",
        "One class of a queue in one replicate; counts over the whole run. Hops whose queue has \
        classes (`dualpi2`) only.",
        ClassRow::COLUMNS,
    ),
    (
        "media",
        "One shared medium at one sampling time; counts since the start; the three times add up to \
        `time_s`. Simulations with media only.",
        MediumRow::COLUMNS,
    ),
    (
        "contenders",
        "One contender for a medium, of one replicate; service times after warm-up, counts over \
        the whole run. Simulations with media only.",
        ContenderRow::COLUMNS,
    ),
    (
        "events",
        "One reaction of a sender to congestion or to a closed receive window.",
        EventRow::COLUMNS,
    ),
    (
        "flow_control",
        "Flow control of one flow of one replicate; flows with `read_rate` only. Simulations only; \
        `tcp_info` and `counters` have the same of emulations.",
        FlowControlRow::COLUMNS,
    ),
    (
        "requests",
        "One request of a client and its response; flows whose traffic is a closed loop (`rpc`, \
        `chunks`, `pages`, `short_tcp`) only. Simulations only.",
        RequestRow::COLUMNS,
    ),
    (
        "control_states",
        "State of a congestion control after one event, of flows with `control_states = true`. \
        Simulations only.",
        ControlStateRow::COLUMNS,
    ),
    (
        "control_calls",
        "One call of a congestion control's program, of flows with `control_calls = true`. \
        Simulations only; `calls_of` has the same of emulations.",
        ControlCallRow::COLUMNS,
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
        "counters",
        "One counter of loss recovery in one run, as `nstat` has it: all TCP flows of a host \
        together. Simulations count what their senders do.",
        CounterRow::COLUMNS,
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
        "One bucket of the distribution of round-trip times of one direction of a connection. \
        Captures only.",
        RttHistogramRow::COLUMNS,
    ),
    (
        "datagrams",
        "One direction of one UDP flow, such as QUIC: what an encrypted capture tells. Captures \
        with UDP only.",
        DatagramRow::COLUMNS,
    ),
    (
        "rate_estimates",
        "One rate estimate of one direction of a connection at one sampling time; with \
        --estimators, captures near the sender only.",
        RateEstimateRow::COLUMNS,
    ),
    (
        "segments",
        "One mark of a time-sequence plot; with --segments, captures only.",
        SegmentRow::COLUMNS,
    ),
];
