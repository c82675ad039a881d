//! Rules for the factor that limits a sender, one round trip at a time.
//!
//! The question and most of the factors are those of T-RAT (Zhang, Breslau, Paxson, Shenker, "On
//! the characteristics and origins of Internet flow rates", SIGCOMM 2002); the rules are our own.
//! Each rule evaluates one round trip. The first rule that holds gives the answer. We chose their
//! constants and tested them on simulated flows with a known limit.
//!
//! Rules that use the data in flight underestimate it if the capture was taken far from the sender
//! and there are no timestamps.

use crate::pauses::Unsent;
use ackclock_spec::units::Span;

/// The factor that limits a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitingFactor {
    /// The application has nothing to send.
    Application,
    /// The receiver's window is full.
    ReceiveWindow,
    /// The sender's buffer is full.
    SenderBuffer,
    /// The congestion window.
    CongestionWindow,
    /// A link that is always busy, with a standing queue.
    BottleneckRate,
    /// The congestion window in slow start, while it grows fast.
    SlowStart,
    /// Losses are being repaired, or a timer runs.
    Recovery,
    /// The evidence does not decide.
    Unknown,
}

impl LimitingFactor {
    /// All factors, in the order of their numbers.
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

    /// True if the network holds the sender back: its congestion window or a link.
    pub const fn is_network(self) -> bool {
        matches!(
            self,
            LimitingFactor::CongestionWindow
                | LimitingFactor::BottleneckRate
                | LimitingFactor::SlowStart
                | LimitingFactor::Recovery
        )
    }

    /// Returns the name used in tables.
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

/// Evidence of one round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Number of packets with new data.
    pub sent: u32,
    /// Number of them that were shorter than a full segment.
    pub short: u32,
    /// Number of them that no ACK can have released.
    pub unasked: u32,
    /// Number of them that waited in the queue of the sender's own device.
    pub queued: u32,
    /// Number of them that left right after an ACK.
    pub prompt: u32,
    /// Number of them that left neither so nor right behind another packet.
    pub late: u32,
    /// True if ACKs came so rarely that less than half of the time is right after one.
    pub sparse: bool,
    /// True if anything was retransmitted or has not been repaired yet.
    pub recovering: bool,
    /// True if data was in flight, but no packet passed for more than a round trip.
    pub silent: bool,
    /// True if no more than a segment is in flight at its end. Its ACK may be delayed (RFC 9293
    /// section 3.8.6.3), and a window has room for another.
    pub lone: bool,
    /// Share of the time in which nothing was in flight and the receiver's window had room.
    pub idle: f64,
    /// Share of the time in which the receiver's window had no room.
    pub blocked: f64,
    /// Largest amount of data in flight, in bytes.
    pub peak: u64,
    /// The same for the last round trip before in which data was sent; 0 if there was none. Before
    /// the first reduction of the congestion window, the largest of all since the last pause.
    pub previous_peak: u64,
    /// Mean amount of data in flight, in bytes.
    pub mean: f64,
    /// Least round-trip time of this round trip and the one before, divided by the least ever, if
    /// there was a sample.
    pub stretched: Option<f64>,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// True if an ACK of this round trip or the one before reported marks.
    pub marked: bool,
    /// Data that the sender lately left unsent in its pauses.
    pub unsent: Unsent,
    /// True if most of what left lately refilled a buffer.
    pub refills: bool,
}

/// Share of idle time from which on the application is the limit.
const IDLE: f64 = 0.25;

/// Share of blocked time from which on the receiver's window is the limit.
const BLOCKED: f64 = 0.5;

/// Least growth per round trip that counts as slow start. Slow start grows at least by half, even
/// with delayed ACKs (RFC 5681 section 3.1); congestion avoidance by one segment.
const LEAP: f64 = 1.25;
const LEAP_SEGMENTS: u64 = 2;

/// Least round-trip time, relative to the least ever, that indicates a standing queue.
const STRETCHED: f64 = 1.25;

/// Room in the receiver's window, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes between the data sent and the right edge of the window.
    pub free: u64,
    /// Size of the window.
    pub window: u64,
    /// Largest size so far.
    pub largest: u64,
}

/// True if a sender has to wait for the receiver's window. `full` is true if it had to wait before,
/// `lately` if the window was full within about the last round trip.
///
/// A sender sends when a full segment fits, or half of the largest window (RFC 9293
/// section 3.8.6.2.1): within a host a segment is hardly smaller than the window. Once the window
/// is full, senders that aggregate segments wait until part of it is free; Linux waits for a third.
/// So free space of less than half the window does not prove that there is no data waiting.
pub const fn window_is_full(room: &Room, mss: u64, full: bool, lately: bool) -> bool {
    let least = if mss < room.largest / 2 {
        mss
    } else {
        room.largest / 2
    };
    room.free < least || room.window == 0 || (full && lately && 2 * room.free < room.window)
}

/// Returns the limit of a round trip; `None` if it shows nothing, so that the previous limit goes
/// on. If no rule holds, the limit is the congestion window. If that stands still for long,
/// [`judge_still`] decides.
pub fn judge(evidence: &Evidence) -> Option<LimitingFactor> {
    let rules: [(bool, LimitingFactor); 12] = [
        (evidence.recovering, LimitingFactor::Recovery),
        (
            receiver_has_no_room(evidence),
            LimitingFactor::ReceiveWindow,
        ),
        (
            2 * evidence.queued > evidence.sent,
            LimitingFactor::BottleneckRate,
        ),
        (
            evidence.refills && !evidence.marked && evidence.idle < IDLE,
            LimitingFactor::SenderBuffer,
        ),
        (
            evidence.silent && evidence.lone,
            LimitingFactor::Application,
        ),
        (evidence.silent, LimitingFactor::Recovery),
        (evidence.idle >= IDLE, LimitingFactor::Application),
        (grows_by_leaps(evidence), LimitingFactor::SlowStart),
        (leaves_at_will(evidence), LimitingFactor::Application),
        // Whose queue it is does not matter to a sender that has nothing left.
        (
            queue_stands(evidence) && evidence.unsent == Unsent::Nothing,
            LimitingFactor::Application,
        ),
        // With room in the window, the sender's own bursts make the queue.
        (
            queue_stands(evidence) && !has_room(evidence),
            LimitingFactor::BottleneckRate,
        ),
        (comes_in_pieces(evidence), LimitingFactor::Application),
    ];
    let first = rules
        .iter()
        .find(|(holds, _)| *holds)
        .map(|(_, limit)| *limit);
    first.or((evidence.sent > 0).then_some(LimitingFactor::CongestionWindow))
}

/// True if the window had no room for most of the time, or for longer than there was nothing to
/// send.
fn receiver_has_no_room(evidence: &Evidence) -> bool {
    evidence.blocked >= BLOCKED || (evidence.blocked >= IDLE && evidence.blocked > evidence.idle)
}

/// True for the first data of a connection, or if much more is in flight than a round trip before.
fn grows_by_leaps(evidence: &Evidence) -> bool {
    let (now, before) = (evidence.peak, evidence.previous_peak);
    let leaps = now as f64 >= LEAP * before as f64 && now >= before + LEAP_SEGMENTS * evidence.mss;
    evidence.sent > 0 && (before == 0 || leaps)
}

/// True for the first data, or if the data in flight doubles, as only slow start does. A tenth less
/// is enough: the end of a round trip may fall between two ACKs. We chose the value.
pub fn doubles(evidence: &Evidence) -> bool {
    evidence.peak as f64 >= 1.8 * evidence.previous_peak as f64
}

/// True if even the shortest round trip had to wait in a queue.
fn queue_stands(evidence: &Evidence) -> bool {
    evidence.sent > 0
        && evidence
            .stretched
            .is_some_and(|stretched| stretched >= STRETCHED)
}

/// True if most data leaves at times unrelated to ACKs. A sender that paces looks the same if its
/// window is only a few segments, but it leaves data unsent, and marks hold it back.
fn leaves_at_will(evidence: &Evidence) -> bool {
    2 * evidence.unasked > evidence.sent && !grows(evidence) && may_lack_data(evidence)
}

/// True if the application may have had nothing to send in the sender's pauses.
const fn may_lack_data(evidence: &Evidence) -> bool {
    match evidence.unsent {
        Unsent::Nothing => true,
        Unsent::Unknown => !evidence.marked,
        Unsent::Some | Unsent::Much => false,
    }
}

/// True if most data leaves in pieces smaller than a segment.
fn comes_in_pieces(evidence: &Evidence) -> bool {
    2 * evidence.short > evidence.sent
        && !grows(evidence)
        && may_lack_data(evidence)
        && !answers_acks(evidence)
}

/// True if what leaves answers ACKs, more often than by chance. An application whose short pieces
/// wait for an ACK (RFC 9293 section 3.7.4) has one of them in flight.
const fn answers_acks(evidence: &Evidence) -> bool {
    evidence.sparse && evidence.prompt > 3 * evidence.late && evidence.peak > 2 * evidence.mss
}

/// Most data in flight on average, relative to the peak, of a sender whose congestion window has
/// room. A window in use answers each ACK, so that it stays full: Linux saves up at most a third of
/// it for one burst (`tcp_tso_win_divisor`), a sixth on average. A send buffer is refilled only
/// after its writer has woken. We chose the value before looking. In 56 transfers of Linux it holds
/// in six of some 1,000 round trips of a full window, and in most of those of a send buffer.
const ROOM: f64 = 0.75;

/// True if the congestion window had room, as much less was in flight than shortly before.
pub fn has_room(evidence: &Evidence) -> bool {
    evidence.mean < ROOM * evidence.peak.min(evidence.previous_peak) as f64
}

/// True if the data in flight grows, as it does if the congestion window is used.
fn grows(evidence: &Evidence) -> bool {
    evidence.peak > evidence.previous_peak + evidence.mss
}

/// Consecutive round trips whose peaks do not grow by more than a segment, although nothing was
/// lost and there was no standing queue. After a loss they do not fall by more either.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stillness {
    /// Number of round trips.
    pub rounds: u32,
    /// Time that they took.
    pub lasted: Span,
    /// True if the congestion window was reduced before them, after a loss or a mark.
    pub after_loss: bool,
    /// Number of packets with new data.
    pub sent: u64,
    /// Number of them captured next to the sender.
    pub near: u64,
    /// Number of them for which the arrival of the last ACK before them at the sender is known.
    pub ack_known: u64,
    /// Number of those that left right after that ACK.
    pub prompt: u64,
    /// Number of those that left neither right after that ACK nor right behind another packet.
    pub late: u64,
    /// Data that the sender lately left unsent in its pauses.
    pub unsent: Unsent,
    /// True if ACKs of these round trips reported marks.
    pub marked: bool,
    /// True if ACKs came so often that much leaves right after one by chance.
    pub dense: bool,
}

/// Number of round trips after which an unchanged peak is not growing. Congestion avoidance with
/// delayed ACKs takes two round trips per segment.
pub const STILL_ROUNDS: u32 = 12;

/// Least time after which a still window is not a CUBIC plateau. Around the window at which it
/// lost, a CUBIC window stays within a segment for 2 (0.5 / C)^(1/3) = 2.2 s whatever the round
/// trip (RFC 9438 section 4.2, C = 0.4). This is more than twice as long. Before the first loss
/// there is no plateau.
const PLATEAU: Span = Span::from_millis(5_000);

/// Least share of bursts that are prompt of a sender that always has data.
const PROMPT: f64 = 0.9;

/// Least share of late packets, which follow neither an ACK nor another packet, of a sender that
/// lacks data. At a constant rate at least half of the packets do so, as an ACK is for two packets.
/// We chose half of that.
const LATE: f64 = 0.25;

/// Returns the limit of a sender that has stood still.
///
/// Full segments that leave whenever an ACK comes are held back by a buffer. Those that do not wait
/// for ACKs come from an application that supplies no more. Away from the sender, packets of a
/// buffer may seem late, and those of an application may seem prompt by chance. There a buffer
/// cannot be told from a congestion window that stands still.
pub fn judge_still(still: &Stillness) -> LimitingFactor {
    if still.rounds < STILL_ROUNDS || (still.after_loss && still.lasted < PLATEAU) {
        // A sender that paces, or an application that supplies no more.
        let at_will = still.ack_known == still.sent && 2 * still.late > still.sent;
        let has_data = match still.unsent {
            Unsent::Unknown => still.marked,
            unsent => unsent.is_any() && still.after_loss,
        };
        return if at_will && !has_data && still.unsent != Unsent::Much {
            LimitingFactor::Unknown
        } else {
            LimitingFactor::CongestionWindow
        };
    }
    if still.unsent == Unsent::Much {
        // It paces, or its window is held by something that the capture does not show.
        return LimitingFactor::CongestionWindow;
    }
    let bursts = still.prompt + still.late;
    let is_prompt = bursts > 0 && !still.dense && still.prompt as f64 >= PROMPT * bursts as f64;
    let is_late = still.late as f64 >= LATE * still.sent as f64 && !still.unsent.is_any();
    if still.near == still.sent && is_prompt {
        LimitingFactor::SenderBuffer
    } else if still.ack_known == still.sent && is_late {
        LimitingFactor::Application
    } else {
        LimitingFactor::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty segments released by ACKs, one more than a round trip before.
    const AVOIDANCE: Evidence = Evidence {
        sent: 20,
        short: 0,
        unasked: 0,
        queued: 0,
        prompt: 0,
        late: 0,
        sparse: true,
        recovering: false,
        silent: false,
        lone: false,
        idle: 0.0,
        blocked: 0.0,
        peak: 20_000,
        previous_peak: 19_000,
        mean: 18_500.0,
        stretched: Some(1.02),
        mss: 1_000,
        marked: false,
        unsent: Unsent::Unknown,
        refills: false,
    };

    /// Returns the verdict on [`AVOIDANCE`] with a change.
    fn when(change: impl FnOnce(&mut Evidence)) -> &'static str {
        let mut evidence = AVOIDANCE;
        change(&mut evidence);
        judge(&evidence).map_or("none", LimitingFactor::name)
    }

    #[test]
    fn each_rule_has_its_evidence() {
        assert_eq!(when(|_| {}), "congestion_window");
        assert_eq!(
            when(|e| (e.recovering, e.blocked) = (true, 1.0)),
            "recovery"
        );
        assert_eq!(when(|e| (e.silent, e.sent) = (true, 0)), "recovery");
        let waits = when(|e| (e.silent, e.sent, e.lone) = (true, 0, true));
        assert_eq!(waits, "application", "for a delayed ACK");
        assert_eq!(when(|e| e.blocked = 0.5), "receive_window");
        assert_eq!(when(|e| (e.blocked, e.sent) = (1.0, 0)), "receive_window");
        assert_eq!(
            when(|e| (e.blocked, e.idle) = (0.35, 0.3)),
            "receive_window"
        );
        assert_eq!(when(|e| (e.blocked, e.idle) = (0.3, 0.35)), "application");
        assert_eq!(when(|e| e.idle = 0.3), "application");
        assert_eq!(when(|e| e.short = 11), "application");
        assert_eq!(when(|e| e.unasked = 11), "application");
        assert_eq!(when(|e| e.previous_peak = 14_000), "slow_start");
        assert_eq!(when(|e| e.previous_peak = 0), "slow_start");
        assert_eq!(when(|e| e.stretched = Some(1.3)), "bottleneck_rate");
        let with_room = |e: &mut Evidence| (e.stretched, e.mean) = (Some(1.3), 14_000.0);
        assert_eq!(
            when(with_room),
            "congestion_window",
            "not the network's queue"
        );
        assert_eq!(when(|e| e.sent = 0), "none");
    }

    #[test]
    fn a_sender_with_data_is_not_held_back_by_its_application() {
        let at_will = |change: fn(&mut Evidence)| {
            when(|e| {
                e.unasked = 20;
                change(e);
            })
        };
        assert_eq!(at_will(|_| {}), "application");
        assert_eq!(at_will(|e| e.unsent = Unsent::Some), "congestion_window");
        assert_eq!(at_will(|e| e.marked = true), "congestion_window");
        let lacks = |e: &mut Evidence| (e.marked, e.unsent) = (true, Unsent::Nothing);
        assert_eq!(at_will(lacks), "application");
        assert_eq!(
            when(|e| (e.stretched, e.unsent) = (Some(1.3), Unsent::Nothing)),
            "application",
            "the queue is that of others"
        );
        assert_eq!(when(|e| e.refills = true), "sender_buffer");
        let own_queue = when(|e| (e.idle, e.queued) = (0.5, 20));
        assert_eq!(own_queue, "bottleneck_rate", "of its own device");
        let answers = when(|e| (e.short, e.prompt, e.late) = (20, 12, 1));
        assert_eq!(answers, "congestion_window", "a buffer with short segments");
    }

    #[test]
    fn what_stands_still_is_told_by_its_promptness_and_its_time() {
        let still = Stillness {
            rounds: 12,
            lasted: Span::from_millis(1_000),
            after_loss: false,
            sent: 100,
            near: 100,
            ack_known: 100,
            prompt: 95,
            late: 5,
            unsent: Unsent::Unknown,
            marked: false,
            dense: false,
        };
        let says = |still: Stillness| judge_still(&still).name();
        assert_eq!(says(still), "sender_buffer");
        assert_eq!(
            says(Stillness {
                rounds: 11,
                ..still
            }),
            "congestion_window"
        );
        let paced = Stillness {
            rounds: 1,
            prompt: 10,
            late: 60,
            ..still
        };
        assert_eq!(says(paced), "unknown");
        let held = Stillness {
            marked: true,
            ..paced
        };
        assert_eq!(says(held), "congestion_window", "by marks");
        let plateau = Stillness {
            after_loss: true,
            ..still
        };
        assert_eq!(says(plateau), "congestion_window", "it may be CUBIC's");
        let lasted = Span::from_millis(5_000);
        assert_eq!(
            says(Stillness { lasted, ..plateau }),
            "sender_buffer",
            "that lasts 2.2 s"
        );
        let at_will = Stillness {
            prompt: 50,
            late: 50,
            ..still
        };
        assert_eq!(says(at_will), "application");
        assert_eq!(says(Stillness { near: 0, ..at_will }), "application");
        assert_eq!(
            says(Stillness {
                prompt: 70,
                ..still
            }),
            "sender_buffer",
            "the others left right behind"
        );
        assert_eq!(
            says(Stillness {
                prompt: 70,
                late: 20,
                ..still
            }),
            "unknown"
        );
        let paces = Stillness {
            unsent: Unsent::Much,
            ..at_will
        };
        assert_eq!(says(paces), "congestion_window", "it had more to send");
        assert_eq!(
            says(Stillness { near: 0, ..still }),
            "unknown",
            "captured elsewhere"
        );
        let nothing = Stillness {
            near: 0,
            ack_known: 0,
            prompt: 0,
            late: 0,
            ..still
        };
        assert_eq!(says(nothing), "unknown", "nobody knows where");
    }

    #[test]
    fn a_window_is_full_without_room_for_a_segment() {
        let is_full = |free, window, mss| {
            let room = Room {
                free,
                window,
                largest: window,
            };
            window_is_full(&room, mss, false, false)
        };
        assert!(is_full(1_435, 65_535, 1_460));
        assert!(!is_full(5_535, 65_535, 1_460));
        assert!(is_full(53, 65_536, 65_483));
        assert!(!is_full(65_348, 65_536, 65_483), "one answer within a host");
        assert!(is_full(0, 0, 1_460));
    }

    #[test]
    fn a_window_that_was_full_stays_so_until_half_of_it_is_free() {
        let is_full = |free, full, lately| {
            let room = Room {
                free,
                window: 60_000,
                largest: 60_000,
            };
            window_is_full(&room, 1_000, full, lately)
        };
        assert!(!is_full(20_000, false, false));
        assert!(is_full(20_000, true, true), "Linux waits for a third");
        assert!(!is_full(30_000, true, true));
        assert!(
            !is_full(20_000, true, false),
            "it would have been filled within a round trip"
        );
    }

    #[test]
    fn a_small_window_that_grows_by_one_is_not_in_slow_start() {
        let limit = when(|e| (e.sent, e.peak, e.previous_peak) = (4, 4_000, 3_000));
        assert_eq!(limit, "congestion_window");
    }

    #[test]
    fn numbers_and_names_are_in_order() {
        for (number, limit) in LimitingFactor::ALL.into_iter().enumerate() {
            assert_eq!(limit as usize, number);
        }
    }
}
