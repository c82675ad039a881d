//! Parameters of a measurement.

use ackclock_spec::units::Span;

/// Parameters of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Numbers of point and replicate in every row; zeros for a capture from elsewhere.
    pub labels: (i64, i64),
    /// Time zero of the tables, in nanoseconds since the beginning of 1970; `None` for the time of
    /// the first packet.
    pub origin_ns: Option<u64>,
    /// Warm-up, which averages in `flows` leave out.
    pub warmup: Span,
    /// Interval between two rows of `samples` of a direction.
    pub sample_interval: Span,
    /// Silence after which a connection is over.
    pub idle: Span,
    /// Least retransmission timeout assumed of senders. Linux has 200 ms; RFC 6298 section 2.4 has
    /// one second. If the value is too small, timeouts are still recognised.
    pub rto_minimum: Span,
    /// True if the capture is known to have been taken at the senders, even if its times do not
    /// show it.
    pub at_senders: bool,
    /// True to fill the table `segments`.
    pub segments: bool,
    /// Number of rows after which tables are handed out.
    pub chunk_rows: usize,
    /// Most connections followed at a time. If there are more, those that have been silent longest
    /// are ended early.
    pub most_live: usize,
    /// Most empty connections followed at a time, such as those of a port scan or a SYN flood. A
    /// connection is empty if it carried no payload, and one side was never seen or it was reset or
    /// closed. Those beyond the bound get no row.
    pub most_empty: usize,
    /// Most empty connections that get a row.
    pub most_empty_rows: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            labels: (0, 0),
            origin_ns: None,
            warmup: Span::ZERO,
            sample_interval: Span::from_millis(100),
            idle: Span::from_millis(600_000),
            rto_minimum: Span::from_millis(200),
            at_senders: false,
            segments: false,
            chunk_rows: 20_000,
            most_live: 32_768,
            most_empty: 4_096,
            most_empty_rows: 32_768,
        }
    }
}
