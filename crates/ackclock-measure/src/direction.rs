//! One direction of a connection: the data of one side, and the ACKs for it.
//!
//! Sequence numbers here do not wrap (`sequence`). Data is handled in `sending`, ACKs in
//! `acknowledging`.

use crate::accurate_ecn::{CodepointBytes, MarkedPackets};
use crate::acks_in_transit::{AckContents, AcksInTransit};
use crate::flight::Flight;
use crate::holes::Holes;
use crate::limits::{Room, window_is_full};
use crate::pauses::Pauses;
use crate::queueing::{OwnQueue, Queueing};
use crate::ranges::Ranges;
use crate::rate_estimates::RateEstimates;
use crate::recent::Recent;
use crate::resent::Resent;
use crate::retransmission::{Class, LossPhase};
use crate::rounds::{Rounds, State};
use crate::rtt::{Moments, RoundTrips};
use crate::seen::Seen;
use crate::sequence;
use crate::time_average::TimeAverage;
use crate::timestamp_echoes::TimestampEchoes;
use crate::vantage::Vantage;
use ackclock_spec::units::Span;

mod acknowledging;
mod sending;

/// Time after the receiver's window was full for which the sender still counts as waiting for it,
/// in round trips. A sender that waits for the window fills it once per round trip; half of one
/// more allows for varying round trips. We chose the value.
const LATELY: f64 = 1.5;

/// Segments of a window of which one may be uncertain. We chose the value.
const FEW: u64 = 8;

pub use acknowledging::Ack;

/// Counts of data sent by a side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub packets: u64,
    pub wire_bytes: u64,
    pub data_packets: u64,
    pub data_segments: u64,
    pub super_packets: u64,
    pub payload_bytes: u64,
    pub unique_bytes: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub copies: u64,
    pub out_of_order: u64,
    pub keep_alives: u64,
    pub window_probes: u64,
    pub syn_retransmissions: u64,
    pub largest_payload: u64,
    pub capable: u64,
    pub capable_l4s: u64,
    pub marked: u64,
    pub window_reduced: u64,
    /// Retransmissions by class, in the order of [`Class`].
    pub by_class: [u64; 5],
    pub fast_recoveries: u64,
    pub spurious: u64,
    /// Spurious retransmissions that arrived as duplicates, as reported by DSACK.
    pub arrived_needlessly: u64,
}

/// Counts of ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckCounts {
    /// Packets with an acknowledgment number, including those with data.
    pub any: u64,
    pub pure: u64,
    pub duplicate: u64,
    pub triple_duplicate: u64,
    /// Third duplicates outside of a recovery.
    pub lower: u64,
    /// Duplicates that may answer retransmissions of slow start after a timeout.
    pub after_timeout: u64,
    pub post_loss: u64,
    pub with_sack: u64,
    pub duplicate_sacks: u64,
    pub echoes: u64,
    /// Bytes by codepoint from AccECN options.
    pub codepoints: CodepointBytes,
    /// Marked packets from ACE.
    pub marked: MarkedPackets,
    pub zero_windows: u64,
    /// ACKs that the capture missed, at least: data went beyond the captured window.
    pub missed: u64,
}

/// Contents of this side's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Sequence number of the SYN.
    pub number: u64,
    /// True if its options are complete; false if the capture cut them.
    pub whole: bool,
    pub maximum_segment: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: bool,
    /// AE, CWR and ECE (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1).
    pub ecn: (bool, bool, bool),
}

/// Counts at the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Warm {
    pub delivered: u64,
    pub wire_bytes: u64,
    pub whole: Moments,
    pub by_sequence: Moments,
}

/// One mark of a time-sequence plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: u64,
    pub kind: &'static str,
    pub low: i64,
    pub high: i64,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Direction {
    pub counts: Counts,
    pub acks: AckCounts,
    pub opening: Option<Opening>,
    pub milestones: Milestones,
    /// True if a packet had a timestamp.
    pub stamped: bool,
    pub timestamps: TimestampEchoes,
    pub trips: RoundTrips,
    pub rounds: Rounds,
    pub outstanding: TimeAverage,
    pub window: PeerWindow,
    pub warm: Warm,
    /// Bytes that samples have shown as delivered. Before the first ACK these are the bytes that
    /// passed, which may be more than that ACK acknowledges.
    pub told_delivered: u64,
    /// Rate estimators driven by the ACKs.
    pub rate_estimates: RateEstimates,
    recent: Recent,
    numbers: Numbers,
    scoreboard: Scoreboard,
    recovery: Recovery,
    acks_in_transit: AcksInTransit,
    pauses: Pauses,
    pub queueing: Queueing,
    own_queue: OwnQueue,
    last_ack_at: Option<u64>,
    /// Time at which new data was last sent.
    sent_at: Option<u64>,
    /// Largest segment in bytes, from the SYNs of both sides.
    most: Option<u64>,
    marks: Marks,
}

/// Times of events of a direction, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    pub first_data_at: Option<u64>,
    pub last_data_at: Option<u64>,
    /// Time at which all data up to the FIN was acknowledged.
    pub finished_at: Option<u64>,
}

/// The window that the other side advertises.
#[derive(Debug, Default)]
pub struct PeerWindow {
    /// Size in bytes, scaled if the scale is known.
    pub size: TimeAverage,
    /// True if the scale is known.
    pub is_known: bool,
    /// Window field of the last header.
    raw: Option<u16>,
    /// Sequence number of the byte sent into a closed window as a probe.
    probe: Option<u64>,
    /// Right edge of the window according to the newest ACK, and the largest right edge so far.
    edge: u64,
    most_edge: Option<u64>,
    /// True if the sender has to wait for the window, and the time at which the window was last
    /// full.
    full: bool,
    filled_at: u64,
}

/// Sequence numbers, which do not wrap.
#[derive(Debug, Default)]
struct Numbers {
    /// True if `highest` and `acknowledged` are set.
    located: bool,
    /// Number of the first byte of the connection, or of its captured part.
    origin: Option<u64>,
    /// Number of the FIN.
    fin: Option<u64>,
    /// Number after the highest that was sent.
    highest: u64,
    /// Cumulative acknowledgment: everything before this number is acknowledged.
    acknowledged: u64,
    /// First acknowledgment number.
    first_acknowledged: Option<u64>,
}

/// Ranges of bytes: in flight, missing in the capture, reported by SACK, retransmitted.
#[derive(Debug, Default)]
struct Scoreboard {
    flight: Flight,
    holes: Holes,
    sacked: Ranges,
    resent: Resent,
}

/// Loss recovery as far as a capture shows it.
#[derive(Debug)]
struct Recovery {
    phase: LossPhase,
    since: u64,
    /// The phase ends when everything before this number is acknowledged.
    until: u64,
    /// Times of the first and the last retransmission of slow start after the last timeout.
    slow_start_again: Option<(u64, u64)>,
    /// Duplicate ACKs in a row.
    duplicates: u32,
    /// Time at which new data was last acknowledged.
    progress_at: u64,
}

/// Marks of a time-sequence plot.
#[derive(Debug)]
struct Marks {
    wanted: bool,
    pending: Vec<Mark>,
}

impl Direction {
    /// Creates an empty direction. `marks` requests time-sequence marks.
    pub fn new(rto_minimum: Span, marks: bool, rate_estimates: RateEstimates) -> Self {
        Direction {
            counts: Counts::default(),
            acks: AckCounts::default(),
            opening: None,
            milestones: Milestones::default(),
            stamped: false,
            timestamps: TimestampEchoes::default(),
            trips: RoundTrips::new(rto_minimum),
            rounds: Rounds::default(),
            outstanding: TimeAverage::default(),
            window: PeerWindow::default(),
            warm: Warm::default(),
            told_delivered: 0,
            rate_estimates,
            recent: Recent::default(),
            numbers: Numbers::default(),
            scoreboard: Scoreboard::default(),
            recovery: Recovery {
                phase: LossPhase::Open,
                since: 0,
                until: 0,
                slow_start_again: None,
                duplicates: 0,
                progress_at: 0,
            },
            acks_in_transit: AcksInTransit::default(),
            pauses: Pauses::default(),
            queueing: Queueing::default(),
            own_queue: OwnQueue::default(),
            last_ack_at: None,
            sent_at: None,
            most: None,
            marks: Marks {
                wanted: marks,
                pending: Vec::new(),
            },
        }
    }

    /// Returns true if a packet duplicates an earlier one, and counts it.
    pub fn is_copy(&mut self, seen: &Seen<'_>) -> bool {
        let trips = &self.trips;
        let copy = self.recent.is_copy(seen, || trips.least()) || self.is_late_copy(seen);
        self.counts.copies += u64::from(copy);
        copy
    }

    /// True if a packet duplicates one in flight; these are remembered for longer.
    fn is_late_copy(&self, seen: &Seen<'_>) -> bool {
        if !self.numbers.located || seen.segment.payload == 0 || seen.identification == 0 {
            return false;
        }
        let number = sequence::unwrap(seen.segment.sequence, self.numbers.highest);
        if number >= self.numbers.highest || !self.recent.identifications_differ() {
            return false;
        }
        let original = self.scoreboard.flight.find(number);
        original.is_some_and(|sent| {
            sent.identification == seen.identification && sent.stamp == seen.stamp()
        })
    }

    /// Returns the acknowledged payload in bytes; `None` if there was no ACK.
    pub fn delivered(&self) -> Option<u64> {
        let from = self.numbers.origin.or(self.numbers.first_acknowledged)?;
        self.numbers.first_acknowledged?;
        let to = self.numbers.fin.map_or(self.numbers.acknowledged, |fin| {
            fin.min(self.numbers.acknowledged)
        });
        Some(to.saturating_sub(from))
    }

    /// Returns the payload missing in the capture: acknowledged but not seen; without ACKs, the
    /// gaps in the data.
    pub fn missed(&self) -> u64 {
        match self.numbers.first_acknowledged {
            Some(_) => self.scoreboard.holes.missed(self.numbers.acknowledged),
            None => self.scoreboard.holes.missed(u64::MAX),
        }
    }

    /// Returns the least number of this side's packets that the capture missed. `other` is the
    /// other direction: it echoes or acknowledges missed packets, or could not have sent its data
    /// without missed ACKs.
    pub fn missed_packets(&self, other: &Direction) -> u64 {
        let payload = self.counts.largest_payload.max(self.mss_or_guess());
        let of_data = self.missed().div_ceil(payload);
        of_data.max(self.timestamps.missed()).max(other.acks.missed)
    }

    /// True if this side has closed and the other has acknowledged that.
    pub fn is_finished(&self) -> bool {
        self.numbers
            .fin
            .is_some_and(|fin| self.numbers.acknowledged > fin)
    }
    /// True if this side has closed.
    pub fn has_fin(&self) -> bool {
        self.numbers.fin.is_some()
    }

    /// Returns the payload of a full segment in bytes: the largest seen, or the MSS option if no
    /// segment came near it.
    pub fn mss(&self) -> Option<u64> {
        let largest = self.counts.largest_payload;
        match self.most {
            Some(most) if largest <= most && 2 * largest > most => Some(largest),
            // An MSS option does not subtract the options of later segments (RFC 9293
            // section 3.7.1); timestamps take 12 bytes.
            Some(most) => Some(
                most.saturating_sub(if self.stamped { 12 } else { 0 })
                    .max(1),
            ),
            None => None,
        }
    }

    /// Returns [`Self::mss`] or, without SYNs, the largest payload seen, at most that of an
    /// Ethernet frame.
    fn mss_or_guess(&self) -> u64 {
        const ETHERNET: u64 = 1460;
        self.mss()
            .unwrap_or_else(|| self.counts.largest_payload.clamp(1, ETHERNET))
    }

    /// Sets the largest segment agreed on in the SYNs, if they were seen.
    pub fn agree(&mut self, most: Option<u64>) {
        self.most = most;
    }

    /// Returns the position of the capture point.
    pub fn vantage(&self) -> Vantage {
        self.trips.vantage()
    }

    /// Returns the longest time after an ACK passes for which it may cause what the sender does. It
    /// has to reach the sender on a path of varying delay, and hosts take some time.
    fn reaction(&self) -> Span {
        const HOST: Span = Span::from_millis(1);
        let smoothed = self.trips.estimator().smoothed().unwrap_or(Span::ZERO);
        // If the path to the sender is unknown, assume half of the round trip.
        let way = self.trips.sender_side().unwrap_or(smoothed / 2);
        way + HOST.max(way / 8)
    }

    fn quiet(&self, at: u64) -> Option<Span> {
        self.last_ack_at
            .map(|last| Span::from_nanos(at.saturating_sub(last)))
    }

    /// Returns the number of bytes in flight between the capture point and the receiver.
    fn beyond(&self) -> u64 {
        self.numbers
            .highest
            .saturating_sub(self.numbers.acknowledged)
    }

    /// Takes both sides of the round trip from the handshake.
    pub fn learn_handshake(&mut self, receiver_side: Span, sender_side: Span) {
        self.forget_one_sided();
        self.trips.add_handshake(receiver_side, sender_side);
    }

    fn learn_sender_side(&mut self, span: Span) {
        self.forget_one_sided();
        self.trips.add_sender_side(span);
    }

    /// Round trips of one side cannot be compared with whole ones.
    fn forget_one_sided(&mut self) {
        if self.trips.sender_side().is_none() {
            self.rounds.forget_round_trips();
        }
    }

    /// Returns the round trip from the capture point to the sender, if the capture was not taken at
    /// the sender.
    fn way_to_sender(&self) -> Option<Span> {
        let way = self.trips.sender_side_now()?;
        (self.vantage() != Vantage::Sender).then_some(way)
    }

    /// Returns the acknowledgments known to the sender when it sent the packet that passes now. It
    /// had not yet received all ACKs that have passed the capture point.
    fn known_to_sender(&mut self, at: u64) -> AckContents {
        let here = AckContents {
            acknowledged: self.numbers.acknowledged,
            edge: self.window.edge,
            at: self.last_ack_at.unwrap_or(0),
        };
        let Some(way) = self.way_to_sender() else {
            return here;
        };
        let received = self.acks_in_transit.received(at, way);
        if received.edge > 0 {
            received
        } else {
            // Before the first ACK that it answers, the sender knows what the handshake said.
            AckContents {
                acknowledged: received.acknowledged,
                ..here
            }
        }
    }

    /// Returns the bytes in flight from the sender's view when it sent the packet that passes now.
    fn outstanding_for_sender(&mut self, at: u64) -> u64 {
        let received = self.known_to_sender(at).acknowledged;
        let acknowledged = received.max(self.numbers.origin.unwrap_or(0).min(self.numbers.highest));
        self.numbers.highest.saturating_sub(acknowledged)
    }

    /// True if the sender has to wait for the receiver's window at `at`.
    fn waits_for_window(&mut self, at: u64) -> bool {
        if self.recovery.phase != LossPhase::Open {
            // Loss recovery is the limit; the window is evaluated again after it.
            self.window.full = false;
            return false;
        }
        if !self.window.is_known {
            return self.window.raw == Some(0);
        }
        let received = self.known_to_sender(at);
        let mss = self.mss_or_guess();
        let window = received.edge.saturating_sub(received.acknowledged);
        // Away from the sender, packets that left together pass one after the other, and the sender
        // seems to have known the ACK of the time between.
        let uncertain = match self.way_to_sender() {
            Some(_) => mss.min(window / FEW),
            None => 0,
        };
        let room = Room {
            free: received
                .edge
                .saturating_sub(self.numbers.highest + uncertain),
            window,
            largest: self.window.size.most().unwrap_or(0),
        };
        let filled = window_is_full(&room, mss, false, false);
        if filled {
            self.window.filled_at = at;
        }
        let round_trip = self.trips.estimator().smoothed().unwrap_or(Span::FOREVER);
        let since = Span::from_nanos(at.saturating_sub(self.window.filled_at));
        let lately = since.as_nanos() as f64 <= LATELY * round_trip.as_nanos() as f64;
        self.window.full = window_is_full(&room, mss, self.window.full, lately);
        self.window.full
    }

    /// Advances to `at`. If everything was acknowledged, whatever the last ACK could have released
    /// would have passed by some time before. Since nothing has, nothing was in flight from then
    /// on.
    pub fn settle(&mut self, at: u64) {
        let smoothed = self.trips.estimator().smoothed();
        if self.outstanding.value() > 0
            && self.beyond() == 0
            && let Some(last) = self.last_ack_at
        {
            let empty = last.saturating_add(self.reaction().as_nanos());
            if empty < at {
                self.rounds.advance(empty, smoothed);
                self.set_outstanding(empty, 0);
            }
        }
        self.rounds.advance(at, smoothed);
    }

    fn set_outstanding(&mut self, at: u64, bytes: u64) {
        // Before the first data, the SYN in flight does not count.
        if self.milestones.first_data_at.is_none() {
            return;
        }
        self.outstanding.set(at, bytes);
        let waits_for_window = self.waits_for_window(at);
        let state = State {
            outstanding: bytes,
            window: if self.window.is_known {
                self.window.size.value()
            } else {
                0
            },
            waits_for_window,
            recovering: self.recovery.phase != LossPhase::Open,
            mss: self.mss_or_guess(),
        };
        let smoothed = self.trips.estimator().smoothed();
        self.rounds.set(at, &state, smoothed);
    }

    fn begin_phase(&mut self, phase: LossPhase, at: u64) {
        self.pauses.forget();
        self.recovery.phase = phase;
        self.recovery.since = at;
        self.recovery.until = self.numbers.highest;
    }

    /// Returns the number of retransmissions of a class.
    pub fn resent_as(&self, class: Class) -> u64 {
        self.counts.by_class[class as usize]
    }

    /// True if SACK blocks have been seen.
    fn uses_sack(&self) -> bool {
        self.acks.with_sack > 0
    }

    fn mark(&mut self, at: u64, kind: &'static str, low: u64, high: u64) {
        if !self.marks.wanted {
            return;
        }
        let origin = self
            .numbers
            .origin
            .or(self.numbers.first_acknowledged)
            .unwrap_or(low);
        let relative = |number: u64| number.wrapping_sub(origin).cast_signed();
        self.marks.pending.push(Mark {
            at,
            kind,
            low: relative(low),
            high: relative(high),
        });
    }

    /// Takes out the marks since the last call.
    pub fn take_marks(&mut self) -> std::vec::Drain<'_, Mark> {
        self.marks.pending.drain(..)
    }
    /// True if there are marks.
    pub fn has_marks(&self) -> bool {
        !self.marks.pending.is_empty()
    }

    /// Marks the end of the packets.
    pub fn finish(&mut self, at: u64) {
        let smoothed = self.trips.estimator().smoothed();
        self.rounds.finish(at, smoothed);
        if let Some(last) = self.milestones.last_data_at {
            self.outstanding.advance(last);
        }
        if self.window.raw.is_some() {
            self.window.size.advance(at);
        }
    }

    /// Records the counts at the end of the warm-up.
    pub fn warm_up(&mut self) {
        self.warm = Warm {
            delivered: self.delivered().unwrap_or(self.counts.unique_bytes),
            wire_bytes: self.counts.wire_bytes,
            whole: self.trips.whole.moments,
            by_sequence: self.trips.by_sequence.moments,
        };
    }
}
