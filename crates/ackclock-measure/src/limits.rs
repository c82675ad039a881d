//! What keeps a sender from sending more, round trip by round trip.
//!
//! The question and most of the causes are those of T-RAT (Zhang, Breslau, Paxson, Shenker, "On the characteristics and origins of Internet flow
//! rates", SIGCOMM 2002); the rules are our own. Each looks at what one round trip has shown. They are asked in order, and the first that holds
//! is the answer. Their constants are chosen here and tried on simulated flows of known cause.
//!
//! Rules that look at outstanding data see less than there is where the capture was taken far from the sender and there are no timestamps.

/// What limits a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitingFactor {
    /// The application has nothing to send.
    Application,
    /// The receiver's window is full.
    ReceiveWindow,
    /// The sender's buffer holds no more.
    SenderBuffer,
    /// The congestion window.
    CongestionWindow,
    /// Some link is busy all the time, and a queue stands before it.
    BottleneckRate,
    /// The congestion window, which still grows by leaps.
    SlowStart,
    /// Losses are being repaired, or a timer runs.
    Recovery,
    /// None of these can be told.
    Unknown,
}

impl LimitingFactor {
    /// All of them, in the order of their numbers.
    pub const ALL: [LimitingFactor; 8] = [
        LimitingFactor::Application,
        LimitingFactor::ReceiveWindow,
        LimitingFactor::SenderBuffer,
        LimitingFactor::CongestionWindow,
        LimitingFactor::BottleneckRate,
        LimitingFactor::SlowStart,
        LimitingFactor::Recovery,
        LimitingFactor::Unknown,
    ];

    /// As written in tables.
    pub const fn name(self) -> &'static str {
        match self {
            LimitingFactor::Application => "application",
            LimitingFactor::ReceiveWindow => "receive_window",
            LimitingFactor::SenderBuffer => "sender_buffer",
            LimitingFactor::CongestionWindow => "congestion_window",
            LimitingFactor::BottleneckRate => "bottleneck_rate",
            LimitingFactor::SlowStart => "slow_start",
            LimitingFactor::Recovery => "recovery",
            LimitingFactor::Unknown => "unknown",
        }
    }
}

/// What one round trip has shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Packets with new data.
    pub sent: u32,
    /// Of these, those after which the receiver's window had no room for another.
    pub filled_window: u32,
    /// Of these, those shorter than a full segment.
    pub short: u32,
    /// Of these, those that no ACK can have released.
    pub unasked: u32,
    /// Of these, those that left at once when an ACK came.
    pub prompt: u32,
    /// The receiver's window was closed.
    pub zero_window: bool,
    /// Something was sent again or has not been repaired yet.
    pub recovering: bool,
    /// Data was outstanding, and for longer than a round trip nothing came or went.
    pub silent: bool,
    /// The share of the time in which nothing was outstanding.
    pub idle: f64,
    /// The most outstanding data, in bytes.
    pub peak: u64,
    /// The same of the round trip before in which data was sent; zero if there was none.
    pub previous_peak: u64,
    /// The least round-trip time over the least ever, if there was a sample.
    pub stretched: Option<f64>,
    /// For how many round trips the peak has been the same, within a segment.
    pub flat_rounds: u32,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
}

/// An application that leaves the connection empty for so much of the time is what limits it.
const IDLE: f64 = 0.25;

/// Slow start grows by half per round trip at least, even with delayed ACKs (RFC 5681 section 3.1); congestion avoidance by one segment.
const LEAP: f64 = 1.25;
const LEAP_SEGMENTS: u64 = 2;

/// A round trip so much longer than the least has a queue in it that does not drain.
const STRETCHED: f64 = 1.25;

/// Congestion avoidance with delayed ACKs takes two round trips for a segment; what stands still for this many is not growing.
const FLAT_ROUNDS: u32 = 12;

/// The share of packets that has to leave at once for the sender to be one that always has data.
const PROMPT: f64 = 0.9;

/// Whether the receiver's window has no room for another segment, and that because of what is outstanding: a window hardly larger than a segment, as within a
/// host, has none either when little is. All in bytes.
pub const fn window_is_full(outstanding: u64, window: u64, mss: u64) -> bool {
    outstanding + mss > window && 2 * outstanding >= window
}

/// What limited the sender; `None` if the round trip says nothing, so that what was before goes on.
pub fn judge(evidence: &Evidence) -> Option<LimitingFactor> {
    let rules: [(bool, LimitingFactor); 10] = [
        (evidence.recovering, LimitingFactor::Recovery),
        (receiver_has_no_room(evidence), LimitingFactor::ReceiveWindow),
        (evidence.silent, LimitingFactor::Recovery),
        (evidence.idle >= IDLE, LimitingFactor::Application),
        (grows_by_leaps(evidence), LimitingFactor::SlowStart),
        (leaves_at_will(evidence), LimitingFactor::Application),
        (queue_stands(evidence), LimitingFactor::BottleneckRate),
        (comes_in_pieces(evidence), LimitingFactor::Application),
        (
            stands_still(evidence) && always_has_data(evidence),
            LimitingFactor::SenderBuffer,
        ),
        (stands_still(evidence), LimitingFactor::Application),
    ];
    let first = rules.iter().find(|(holds, _)| *holds).map(|(_, limit)| *limit);
    first.or((evidence.sent > 0).then_some(LimitingFactor::CongestionWindow))
}

/// After most packets there was no room for another, or the window was closed.
fn receiver_has_no_room(evidence: &Evidence) -> bool {
    evidence.zero_window || (evidence.sent > 0 && 2 * evidence.filled_window >= evidence.sent)
}

/// The first data of a connection, or much more outstanding than a round trip before.
fn grows_by_leaps(evidence: &Evidence) -> bool {
    let (now, before) = (evidence.peak, evidence.previous_peak);
    let leaps = now as f64 >= LEAP * before as f64 && now >= before + LEAP_SEGMENTS * evidence.mss;
    evidence.sent > 0 && (before == 0 || leaps)
}

/// Even the quickest round trip had to wait in a queue.
fn queue_stands(evidence: &Evidence) -> bool {
    evidence.sent > 0 && evidence.stretched.is_some_and(|stretched| stretched >= STRETCHED)
}

/// Most data leaves at moments that have nothing to do with ACKs. A sender that paces looks the same if its window is a few segments only.
fn leaves_at_will(evidence: &Evidence) -> bool {
    2 * evidence.unasked > evidence.sent && !grows(evidence)
}

/// Most data leaves in pieces smaller than segments.
fn comes_in_pieces(evidence: &Evidence) -> bool {
    2 * evidence.short > evidence.sent && !grows(evidence)
}

/// A congestion window that is used grows.
fn grows(evidence: &Evidence) -> bool {
    evidence.peak > evidence.previous_peak + evidence.mss
}

/// There is never more outstanding, though nothing is lost and no queue stands.
fn stands_still(evidence: &Evidence) -> bool {
    evidence.sent > 0 && evidence.flat_rounds >= FLAT_ROUNDS
}

/// Full segments leave whenever an ACK comes: what holds them back is a buffer. Else it is the application. Only a capture beside the sender tells the
/// one from the other; elsewhere both are taken for the application.
fn always_has_data(evidence: &Evidence) -> bool {
    f64::from(evidence.prompt) >= PROMPT * f64::from(evidence.sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty segments as ACKs release them, one more than a round trip before.
    const AVOIDANCE: Evidence = Evidence {
        sent: 20,
        filled_window: 0,
        short: 0,
        unasked: 0,
        prompt: 20,
        zero_window: false,
        recovering: false,
        silent: false,
        idle: 0.0,
        peak: 20_000,
        previous_peak: 19_000,
        stretched: Some(1.02),
        flat_rounds: 1,
        mss: 1_000,
    };

    /// The verdict on that, with something else.
    fn when(change: impl FnOnce(&mut Evidence)) -> &'static str {
        let mut evidence = AVOIDANCE;
        change(&mut evidence);
        judge(&evidence).map_or("none", LimitingFactor::name)
    }

    #[test]
    fn each_rule_has_its_evidence() {
        assert_eq!(when(|_| {}), "congestion_window");
        assert_eq!(when(|e| (e.recovering, e.filled_window) = (true, 20)), "recovery");
        assert_eq!(when(|e| (e.silent, e.sent) = (true, 0)), "recovery");
        assert_eq!(when(|e| e.filled_window = 10), "receive_window");
        assert_eq!(when(|e| (e.zero_window, e.sent) = (true, 0)), "receive_window");
        assert_eq!(when(|e| e.idle = 0.3), "application");
        assert_eq!(when(|e| e.short = 11), "application");
        assert_eq!(when(|e| e.unasked = 11), "application");
        assert_eq!(when(|e| (e.flat_rounds, e.prompt) = (12, 10)), "application");
        assert_eq!(when(|e| e.flat_rounds = 12), "sender_buffer");
        assert_eq!(when(|e| e.previous_peak = 14_000), "slow_start");
        assert_eq!(when(|e| e.previous_peak = 0), "slow_start");
        assert_eq!(when(|e| e.stretched = Some(1.3)), "bottleneck_rate");
        assert_eq!(when(|e| e.sent = 0), "none");
    }

    #[test]
    fn a_window_is_full_of_what_is_outstanding() {
        assert!(window_is_full(64_100, 65_535, 1_460));
        assert!(!window_is_full(60_000, 65_535, 1_460));
        assert!(window_is_full(65_483, 65_536, 65_483));
        assert!(!window_is_full(188, 65_536, 65_483), "one answer within a host");
    }

    #[test]
    fn a_small_window_that_grows_by_one_is_not_in_slow_start() {
        let limit = when(|e| (e.sent, e.prompt, e.peak, e.previous_peak) = (4, 4, 4_000, 3_000));
        assert_eq!(limit, "congestion_window");
    }

    #[test]
    fn numbers_and_names_are_in_order() {
        for (number, limit) in LimitingFactor::ALL.into_iter().enumerate() {
            assert_eq!(limit as usize, number);
        }
    }
}
