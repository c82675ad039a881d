//! What somebody who measures may choose.

use ackclock_core::units::Span;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Numbers of point and replicate in every row; zeros for a capture from elsewhere.
    pub labels: (i64, i64),
    /// The moment that is time zero in the tables, in nanoseconds since the beginning of 1970;
    /// `None` for that of the first packet.
    pub origin_ns: Option<u64>,
    /// Averages in `flows` are over what comes after this.
    pub warmup: Span,
    /// Time between two rows of `samples` of a direction.
    pub sample_interval: Span,
    /// After so much silence a connection is over.
    pub idle: Span,
    /// The least retransmission timeout that senders are taken to have. Linux has 200 ms, the RFC
    /// (6298 section 2.4) has a second; with less than the truth a timeout is still known as one.
    pub rto_minimum: Span,
    /// Whether the capture is known to have been taken at the senders, even where its times cannot
    /// tell.
    pub at_senders: bool,
    /// Whether to fill the table `segments`.
    pub segments: bool,
    /// How many rows there should be before they are handed out.
    pub chunk_rows: usize,
    /// How many connections are followed at a time. If there are more, those that have been silent
    /// for the longest time are ended early.
    pub most_live: usize,
    /// The same of connections that carried no payload and of which one side was never heard, or
    /// that were reset or closed: a scan of ports, a flood of SYNs. Those that are too many get no
    /// row.
    pub most_empty: usize,
    /// How many such connections get a row in all.
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
            chunk_rows: 50_000,
            most_live: 32_768,
            most_empty: 4_096,
            most_empty_rows: 32_768,
        }
    }
}
