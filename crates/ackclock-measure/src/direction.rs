//! What one side of a connection has sent, and what came back for it.
//!
//! Sequence numbers here do not wrap (`sequence`). What is sent is in `sending`, what ACKs say of
//! it in `acknowledging`.

use crate::acks_in_transit::{AcksInTransit, Said};
use crate::flight::Flight;
use crate::holes::Holes;
use crate::limits::{Room, window_is_full};
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
use ackclock_core::units::Span;

mod acknowledging;
mod sending;

/// A sender that waits for the window fills it once in a round trip. Half of one more is for round
/// trips that vary. Chosen here.
const LATELY: f64 = 1.5;

pub use acknowledging::Ack;

/// What is counted of what a side has sent.
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
    /// By class, in the order of [`Class`].
    pub by_class: [u64; 5],
    pub fast_recoveries: u64,
    pub spurious: u64,
    /// Of these, those that DSACK says have arrived.
    pub arrived_needlessly: u64,
}

/// What is counted of what came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckCounts {
    /// Packets with an acknowledgement number, whatever else they carried.
    pub any: u64,
    pub pure: u64,
    pub duplicate: u64,
    pub triple_duplicate: u64,
    /// Third duplicates outside of a recovery.
    pub lower: u64,
    /// Duplicates that may answer what slow start after a timeout has sent again.
    pub after_timeout: u64,
    pub post_loss: u64,
    pub with_sack: u64,
    pub duplicate_sacks: u64,
    pub echoes: u64,
    pub zero_windows: u64,
    /// Those that the capture lacks at least: data went beyond the window that it shows.
    pub missed: u64,
}

/// What this side's SYN says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The number of the SYN.
    pub number: u64,
    /// Whether its options are whole: the capture may have cut them.
    pub whole: bool,
    pub maximum_segment: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: bool,
    /// ECE and CWR (RFC 3168 section 6.1.1).
    pub ecn: (bool, bool),
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
    /// Whether a packet had a timestamp.
    pub stamped: bool,
    pub timestamps: TimestampEchoes,
    pub trips: RoundTrips,
    pub rounds: Rounds,
    pub outstanding: TimeAverage,
    pub window: PeerWindow,
    pub warm: Warm,
    /// The bytes that samples have shown as delivered: at first what had passed before the first
    /// ACK, and that may be more than that ACK says.
    pub told_delivered: u64,
    /// Rate estimators that run along with the ACKs that came back.
    pub rate_estimates: RateEstimates,
    recent: Recent,
    numbers: Numbers,
    scoreboard: Scoreboard,
    recovery: Recovery,
    acks_in_transit: AcksInTransit,
    last_ack_at: Option<u64>,
    /// When new data left last.
    sent_at: Option<u64>,
    /// The largest segment, by both sides' SYNs.
    most: Option<u64>,
    marks: Marks,
}

/// Moments in the life of a direction, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    pub first_data_at: Option<u64>,
    pub last_data_at: Option<u64>,
    /// When all data up to the FIN was acknowledged.
    pub finished_at: Option<u64>,
}

/// The window that the other side advertises.
#[derive(Debug, Default)]
pub struct PeerWindow {
    /// In bytes, scaled if its scale is known.
    pub size: TimeAverage,
    /// Whether the scale is known.
    pub is_known: bool,
    /// The field of the last header.
    raw: Option<u16>,
    /// The byte that went into a closed window as a probe.
    probe: Option<u64>,
    /// The number at which it ends, by the newest ACK, and the largest such number.
    edge: u64,
    most_edge: Option<u64>,
    /// Whether the sender has to wait for it, and when it was filled last.
    full: bool,
    filled_at: u64,
}

/// Sequence numbers, which do not wrap.
#[derive(Debug, Default)]
struct Numbers {
    /// Whether `highest` and `acknowledged` mean anything.
    located: bool,
    /// The number of the first byte, of the connection or of the capture of it.
    origin: Option<u64>,
    /// The number of the FIN.
    fin: Option<u64>,
    /// The number after the highest that was sent.
    highest: u64,
    /// All before this number is acknowledged.
    acknowledged: u64,
    /// The first number that an ACK has acknowledged.
    first_acknowledged: Option<u64>,
}

/// The bytes that have been sent: outstanding, missed by the capture, held by the receiver, sent
/// again.
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
    /// The phase ends when all before this number is acknowledged.
    until: u64,
    /// When slow start after the last timeout began and last sent something again.
    slow_start_again: Option<(u64, u64)>,
    /// Duplicate ACKs in a row.
    duplicates: u32,
    /// When new data was acknowledged last.
    progress_at: u64,
}

/// Marks of a time-sequence plot.
#[derive(Debug)]
struct Marks {
    wanted: bool,
    pending: Vec<Mark>,
}

impl Direction {
    /// Nothing seen. `marks` asks for time-sequence marks.
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
            last_ack_at: None,
            sent_at: None,
            most: None,
            marks: Marks {
                wanted: marks,
                pending: Vec::new(),
            },
        }
    }

    /// Whether a packet is a copy of one before, which counts as nothing else.
    pub fn is_copy(&mut self, seen: &Seen<'_>) -> bool {
        let trips = &self.trips;
        let copy = self.recent.is_copy(seen, || trips.least()) || self.is_late_copy(seen);
        self.counts.copies += u64::from(copy);
        copy
    }

    /// What is outstanding is remembered for longer.
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

    /// Payload acknowledged; `None` if no ACK came.
    pub fn delivered(&self) -> Option<u64> {
        let from = self.numbers.origin.or(self.numbers.first_acknowledged)?;
        self.numbers.first_acknowledged?;
        let to = self.numbers.fin.map_or(self.numbers.acknowledged, |fin| {
            fin.min(self.numbers.acknowledged)
        });
        Some(to.saturating_sub(from))
    }

    /// Payload that the capture does not hold: acknowledged, or passed over if no ACK was captured.
    pub fn missed(&self) -> u64 {
        match self.numbers.first_acknowledged {
            Some(_) => self.scoreboard.holes.missed(self.numbers.acknowledged),
            None => self.scoreboard.holes.missed(u64::MAX),
        }
    }

    /// Packets of this side that the capture lacks, at least, if `other` is the other side: those
    /// that it echoes or acknowledges, and ACKs without which it could not have sent what it did.
    pub fn missed_packets(&self, other: &Direction) -> u64 {
        let payload = self.counts.largest_payload.max(self.mss_or_guess());
        let of_data = self.missed().div_ceil(payload);
        of_data.max(self.timestamps.missed()).max(other.acks.missed)
    }

    /// Whether this side has closed, and the other has acknowledged that.
    pub fn is_finished(&self) -> bool {
        self.numbers
            .fin
            .is_some_and(|fin| self.numbers.acknowledged > fin)
    }
    /// Whether this side has closed.
    pub fn has_fin(&self) -> bool {
        self.numbers.fin.is_some()
    }

    /// Payload of a full segment: the largest that fits both sides' MSS options, as far as any came
    /// near it.
    pub fn mss(&self) -> Option<u64> {
        let largest = self.counts.largest_payload;
        match self.most {
            Some(most) if largest <= most && 2 * largest > most => Some(largest),
            // An MSS option does not count the options of later segments (RFC 9293 section 3.7.1);
            // timestamps take 12 bytes.
            Some(most) => Some(
                most.saturating_sub(if self.stamped { 12 } else { 0 })
                    .max(1),
            ),
            None => None,
        }
    }

    /// The same or, without SYNs, what an Ethernet frame holds at most.
    fn mss_or_guess(&self) -> u64 {
        const ETHERNET: u64 = 1460;
        self.mss()
            .unwrap_or_else(|| self.counts.largest_payload.clamp(1, ETHERNET))
    }

    /// Both SYNs have been seen, or will not be.
    pub fn agree(&mut self, most: Option<u64>) {
        self.most = most;
    }

    /// Where the capture was taken.
    pub fn vantage(&self) -> Vantage {
        self.trips.vantage()
    }

    /// An ACK that passed no longer ago may have caused what the sender does now: it has to reach
    /// the sender, on a way that is not always as long, and hosts take some time.
    fn reaction(&self) -> Span {
        const HOST: Span = Span::from_millis(1);
        let smoothed = self.trips.estimator().smoothed().unwrap_or(Span::ZERO);
        // With an unknown way to the sender: the whole of it is not likely.
        let way = self.trips.sender_side().unwrap_or(smoothed / 2);
        way + HOST.max(way / 8)
    }

    fn quiet(&self, at: u64) -> Option<Span> {
        self.last_ack_at
            .map(|last| Span::from_nanos(at.saturating_sub(last)))
    }

    /// How many bytes are outstanding between this point and the receiver.
    fn beyond(&self) -> u64 {
        self.numbers
            .highest
            .saturating_sub(self.numbers.acknowledged)
    }

    /// The handshake tells both sides of the round trip.
    pub fn learn_handshake(&mut self, receiver_side: Span, sender_side: Span) {
        self.forget_one_sided();
        self.trips.add_handshake(receiver_side, sender_side);
    }

    fn learn_sender_side(&mut self, span: Span) {
        self.forget_one_sided();
        self.trips.add_sender_side(span);
    }

    /// Round trips of one side are not to be compared with whole ones.
    fn forget_one_sided(&mut self) {
        if self.trips.sender_side().is_none() {
            self.rounds.forget_round_trips();
        }
    }

    /// The way from here to the sender and back, if the capture was not taken at the sender.
    fn way_to_sender(&self) -> Option<Span> {
        let way = self.trips.sender_side_now()?;
        (self.vantage() != Vantage::Sender).then_some(way)
    }

    /// What the sender knew when it sent what passes now: it had not seen all ACKs that have passed
    /// here.
    fn known_to_sender(&mut self, at: u64) -> Said {
        let here = Said {
            acknowledged: self.numbers.acknowledged,
            edge: self.window.edge,
            at: self.last_ack_at.unwrap_or(0),
        };
        let Some(way) = self.way_to_sender() else {
            return here;
        };
        let known = self.acks_in_transit.known(at, way);
        if known.edge > 0 {
            known
        } else {
            // Before the first ACK that it answers: it knows what the handshake said.
            Said {
                acknowledged: known.acknowledged,
                ..here
            }
        }
    }

    /// What was outstanding for the sender when it sent what passes now.
    fn outstanding_for_sender(&mut self, at: u64) -> u64 {
        let known = self.known_to_sender(at).acknowledged;
        let acknowledged = known.max(self.numbers.origin.unwrap_or(0).min(self.numbers.highest));
        self.numbers.highest.saturating_sub(acknowledged)
    }

    /// Whether the sender has to wait for the receiver's window at `at`.
    fn waits_for_window(&mut self, at: u64) -> bool {
        if self.recovery.phase != LossPhase::Open {
            // What limits is the repair; the window is looked at anew after it.
            self.window.full = false;
            return false;
        }
        if !self.window.is_known {
            return self.window.raw == Some(0);
        }
        let known = self.known_to_sender(at);
        let room = Room {
            free: known.edge.saturating_sub(self.numbers.highest),
            window: known.edge.saturating_sub(known.acknowledged),
            largest: self.window.size.most().unwrap_or(0),
        };
        let mss = self.mss_or_guess();
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

    /// It is `at`: whatever an ACK of everything could have released would have passed by some time
    /// before, and nothing has. From then on nothing was outstanding.
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
        // Before there was data, the outstanding SYN is nothing to speak of.
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
        self.recovery.phase = phase;
        self.recovery.since = at;
        self.recovery.until = self.numbers.highest;
    }

    /// Packets sent again of a class.
    pub fn resent_as(&self, class: Class) -> u64 {
        self.counts.by_class[class as usize]
    }

    /// Whether SACK has told anything.
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

    /// Takes out the marks since last asked.
    pub fn take_marks(&mut self) -> std::vec::Drain<'_, Mark> {
        self.marks.pending.drain(..)
    }
    /// Whether there are some.
    pub fn has_marks(&self) -> bool {
        !self.marks.pending.is_empty()
    }

    /// Nothing more will come.
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

    /// The warm-up is over.
    pub fn warm_up(&mut self) {
        self.warm = Warm {
            delivered: self.delivered().unwrap_or(self.counts.unique_bytes),
            wire_bytes: self.counts.wire_bytes,
            whole: self.trips.whole.moments,
            by_sequence: self.trips.by_sequence.moments,
        };
    }
}
