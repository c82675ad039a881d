//! Duels: our sender is given what the kernel was given, and must do what the kernel did.
//!
//! A record (`tests/peers/duel.py` writes it) has every write, ACK and segment of a connection of
//! Linux, and its `tcp_info` after every ACK. [`replay`] gives the same writes and ACKs at the same
//! times to a [`Sender`], whose timers run on their own. After each event it compares the segments
//! that left and the state. They have to be equal; but the open phase is both Open and Disorder.
//!
//! The sender takes no time, and microseconds decide where a burst ends. So it is given the time
//! that the kernel takes, as far as it is in the record:
//!
//! * Its smoothed round-trip time becomes the kernel's after every ACK, which has to be close.
//! * A timer that expired just before is acted on when the kernel acts.
//! * The kernel takes some time to send, and its timers expire a little after their tick. A duel is
//!   played with each of `TO_SEND` and `LATE`.
//! * What a control draws at random is not known. A duel is played with each outcome.
//!
//! The longest one counts.

use ackclock_core::congestion::{ControlKind, RecoveryPhase};
use ackclock_core::endpoint::{Acknowledgement, AcknowledgementKind, Sender, TcpInfo};
use ackclock_core::packet::{SackBlock, SackBlocks};
use ackclock_core::traffic::Write;
use ackclock_core::transport::{EndpointContext, Recording, Tcp, TransportKind};
use ackclock_spec::files::NoFiles;
use ackclock_spec::registry::{Kind, StreamScope, choose};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use serde_json::{Value, json};
use std::str::FromStr;

/// Times that the kernel takes from an event to what it sends.
const TO_SEND: [Span; 4] = [
    Span::ZERO,
    Span::from_micros(5),
    Span::from_micros(10),
    Span::from_micros(25),
];

/// Times after a tick at which the kernel's timers may expire.
const LATE: [Span; 4] = [
    Span::ZERO,
    Span::from_micros(40),
    Span::from_micros(90),
    Span::from_micros(150),
];

/// Longest time by which pacing of the kernel may be late, and any other timer. Where another
/// processor counts the ticks, timers come a tick later.
const LATEST: Span = Span::from_micros(150);
const LATEST_TIMER: Span = Span::from_micros(4150);

/// Largest difference of the smoothed round-trip times after an ACK. A timestamp of Linux is in
/// whole milliseconds. The rest is the host's.
const CLOSE: Span = Span::from_micros(1200);

/// Time between the ticks at which long timers may expire. Records begin after one.
const GRANULE: Span = Span::from_millis(32);

/// The first place where our sender differs from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Line of the record, from 1.
    pub line: usize,
    /// `segments` that left at once, `timer` for those before, or a field of [`TcpInfo`].
    pub field: &'static str,
    /// Value of the kernel.
    pub kernel: String,
    /// Value of our sender.
    pub ours: String,
}

/// Plays a record. Returns the first difference; `None` if there is none.
///
/// # Errors
/// The record is none: one sentence with the line.
pub fn replay(record: &str) -> Result<Option<Difference>, String> {
    let settings = Settings::read(record)?;
    let mut furthest = None;
    for transport in settings.transports()? {
        for (to_send, late) in TO_SEND
            .into_iter()
            .flat_map(|to_send| LATE.map(|late| (to_send, late)))
        {
            let duel = Duel::new(&transport, settings.mss, to_send, late)?;
            let Some(difference) = duel.play(record)? else {
                return Ok(None);
            };
            if furthest
                .as_ref()
                .is_none_or(|last: &Difference| last.line < difference.line)
            {
                furthest = Some(difference);
            }
        }
    }
    Ok(furthest)
}

/// The first line of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Payload of a segment, in bytes.
    pub mss: u64,
    /// True if segments have timestamps.
    pub timestamps: bool,
    /// True if the receiver permits SACK.
    pub sack: bool,
    /// Name of the kernel's control.
    pub control: String,
    /// Longest time for which the machine kept the writer of the record from running.
    pub stopped: Span,
}

impl Settings {
    /// Reads the first line of a record.
    ///
    /// # Errors
    /// It is none: one sentence.
    pub fn read(record: &str) -> Result<Self, String> {
        let tree: Value = serde_json::from_str(record.lines().next().unwrap_or(""))
            .map_err(|error| format!("line 1: {error}"))?;
        Ok(Settings {
            mss: tree["mss"].as_u64().ok_or("line 1: mss is missing")?,
            timestamps: tree["timestamps"].as_bool().unwrap_or(true),
            sack: tree["sack"].as_bool().unwrap_or(true),
            control: tree["control"]
                .as_str()
                .ok_or("line 1: control is missing")?
                .to_owned(),
            stopped: Span::from_micros(tree["stopped_us"].as_u64().unwrap_or(0)),
        })
    }

    /// Returns a transport for each outcome of the draws of its control.
    fn transports(&self) -> Result<Vec<Value>, String> {
        let transport = |control: Value| {
            json!({
                "kind": "tcp",
                "preset": "linux",
                "control": control,
                "mss": format!("{} bytes", self.mss),
                "sack": self.sack,
                "pacing_credit": true,
                "rate_of_outstanding": true,
                "timeouts_in_ticks": true,
                "rtt_sampling": if self.timestamps { "timestamps" } else { "every_ack" },
            })
        };
        let (kind, facts) = ControlKind::ENTRIES
            .iter()
            .filter_map(|entry| {
                choose::<ControlKind>(&json!({ "kind": entry.name }), &NoFiles).ok()
            })
            .map(|control| (control.name, control.facts))
            .find(|(_, facts)| {
                let linux = facts.linux.some();
                linux.is_some_and(|linux| linux.name == self.control)
            })
            .ok_or_else(|| format!("line 1: the engine has no control {:?}", self.control))?;
        Ok(match facts.draws.some() {
            None => vec![transport(json!({ "kind": kind }))],
            Some(draws) => (0..draws.outcomes)
                .map(|outcome| {
                    let mut control = json!({ "kind": kind });
                    control[&*draws.parameter] = json!([outcome]);
                    transport(control)
                })
                .collect(),
        })
    }
}

struct Duel {
    sender: Sender,
    mss: u64,
    to_send: Span,
    late: Span,
    /// Sending time of each segment, in the order of sending.
    sent_at: Vec<Time>,
    opened_at: Time,
    /// Segments that our timers sent since the last event.
    by_timer: Vec<u64>,
    /// Those that the kernel's sent.
    theirs: Vec<u64>,
}

/// An event at the sender, and what left at once.
struct Happening<'a> {
    at: Time,
    kind: &'a str,
    words: Vec<&'a str>,
    segments: Vec<u64>,
    info: Option<TcpInfo>,
    /// The kernel's smoothed round-trip time.
    round_trip: Option<Span>,
}

impl Duel {
    fn new(transport: &Value, mss: u64, to_send: Span, late: Span) -> Result<Self, String> {
        Ok(Duel {
            sender: sender(transport)?,
            mss,
            to_send,
            late,
            sent_at: Vec::new(),
            opened_at: Time::ZERO,
            by_timer: Vec::new(),
            theirs: Vec::new(),
        })
    }

    fn play(mut self, record: &str) -> Result<Option<Difference>, String> {
        for (number, line) in record.lines().enumerate().skip(1) {
            let happening =
                Happening::parse(line).ok_or_else(|| format!("line {}: {line}", number + 1))?;
            let differs = self.handle(&happening);
            if let Some((field, kernel, ours)) = differs {
                return Ok(Some(Difference {
                    line: number + 1,
                    field,
                    kernel,
                    ours,
                }));
            }
        }
        Ok(None)
    }

    /// Gives an event to the sender. Returns what differs then, the kernel's and ours.
    fn handle(&mut self, happening: &Happening<'_>) -> Option<(&'static str, String, String)> {
        let now = happening.at + (GRANULE - self.late);
        let by_timer = happening.kind == "timer";
        if by_timer {
            self.theirs.extend(&happening.segments);
        }
        self.expire(now, by_timer);
        if by_timer {
            return None;
        }
        let timers = (
            std::mem::take(&mut self.theirs),
            std::mem::take(&mut self.by_timer),
        );
        if timers.0 != timers.1 {
            return Some((
                "timer",
                format!("{:?}", timers.0),
                format!("{:?}", timers.1),
            ));
        }
        match happening.kind {
            "syn" => {
                self.sender.open(now);
                self.opened_at = now;
            }
            "synack" => self.acknowledge(now, AcknowledgementKind::SynAck, happening),
            "write" => {
                let segments: u64 = happening.words[0].parse().unwrap_or(0);
                self.sender.write(Write::Bytes(Bytes(segments * self.mss)));
            }
            _ => self.acknowledge(now, AcknowledgementKind::Ack, happening),
        }
        if let Some(difference) = self.follow_round_trip(happening.round_trip) {
            return Some(difference);
        }
        let sent = self.send(now + self.to_send);
        if sent != happening.segments {
            let (theirs, ours) = (format!("{:?}", happening.segments), format!("{sent:?}"));
            return Some(("segments", theirs, ours));
        }
        differing(happening.info?, self.sender.tcp_info())
    }

    fn acknowledge(&mut self, now: Time, kind: AcknowledgementKind, happening: &Happening<'_>) {
        let word = |index: usize| happening.words.get(index).copied().unwrap_or("0");
        let sacks = blocks(word(2));
        let echo = match word(1).parse::<usize>() {
            _ if kind == AcknowledgementKind::SynAck => self.opened_at,
            Ok(transmission) => self
                .sent_at
                .get(transmission)
                .copied()
                .unwrap_or(Time::NEVER),
            Err(_) => Time::NEVER,
        };
        let acknowledgement = Acknowledgement {
            kind,
            cumulative: word(0).parse().unwrap_or(0),
            echo,
            sacks: sacks.as_ref(),
            ace: 0,
            options: None,
        };
        self.sender.handle_acknowledgement(now, &acknowledgement);
    }

    /// Lets timers expire that are due by now. If the kernel acts on one of its own now, what was
    /// due just before sends now. Otherwise that waits if the kernel has sent nothing more: its own
    /// is late, and the event came before.
    fn expire(&mut self, now: Time, kernel_acts: bool) {
        loop {
            let due = self.sender.poll_timeout();
            if due > now {
                return;
            }
            let paced = self.sender.is_paced_until(due);
            let just = now.since(due) <= if paced { LATEST } else { LATEST_TIMER };
            let sends = paced || self.sender.timer_sends();
            if just && !kernel_acts && sends && self.theirs == self.by_timer {
                return;
            }
            self.sender.handle_timeout(due);
            let sent = self.send(if just && kernel_acts { now } else { due });
            self.by_timer.extend(sent);
        }
    }

    /// Takes over the kernel's smoothed round-trip time, unless that is another one.
    fn follow_round_trip(
        &mut self,
        kernel: Option<Span>,
    ) -> Option<(&'static str, String, String)> {
        let (kernel, ours) = (kernel?, self.sender.rtt().smoothed()?);
        if (ours - kernel).max(kernel - ours) > CLOSE {
            let micros = |span: Span| (span.as_nanos() / 1000).to_string();
            return Some(("rtt", micros(kernel), micros(ours)));
        }
        self.sender.follow_round_trip(kernel);
        None
    }

    /// Takes what the sender sends now.
    fn send(&mut self, now: Time) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(segment) = self.sender.poll_transmit(now) {
            if segment.length > Bytes::ZERO {
                self.sent_at.push(now);
                sent.push(segment.sequence);
            }
        }
        sent
    }
}

fn sender(tree: &Value) -> Result<Sender, String> {
    let transport = choose::<TransportKind>(tree, &NoFiles)
        .map_err(|error| format!("line 1: {}", error.sentence()))?;
    let tcp: &Tcp = transport.parameters().ok_or("line 1: not TCP")?;
    Ok(tcp.sender(EndpointContext {
        place: StreamScope {
            streams: &Streams::new(1, 0),
            name: "duel",
        },
        recording: Recording::default(),
    }))
}

impl<'a> Happening<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (line, info) = line
            .split_once(" : ")
            .map_or((line, None), |(a, b)| (a, Some(b)));
        let (line, segments) = line.split_once(" > ").unwrap_or((line, "-"));
        let mut words = line.split(' ');
        let at: u64 = words.next()?.parse().ok()?;
        let kind = words.next()?;
        let segments = match segments {
            "-" => Vec::new(),
            segments => numbers(segments.split(','))?,
        };
        let (info, round_trip) = match info {
            Some(info) => {
                let (info, round_trip) = kernel_info(info)?;
                (Some(info), Some(round_trip))
            }
            None => (None, None),
        };
        Some(Happening {
            at: Time::ZERO + Span::from_micros(at),
            kind,
            words: words.collect(),
            segments,
            info,
            round_trip,
        })
    }
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<u64>> {
    words.map(|word| u64::from_str(word).ok()).collect()
}

/// Reads the kernel's state and its smoothed round-trip time.
fn kernel_info(words: &str) -> Option<(TcpInfo, Span)> {
    let words: Vec<&str> = words.split(' ').collect();
    let number = |index: usize| words[index].parse::<u64>().ok();
    (words.len() == 9).then_some(())?;
    let info = TcpInfo {
        cwnd: number(0)?,
        ssthresh: number(1),
        phase: match number(2)? {
            0 | 1 => RecoveryPhase::Open,
            2 => RecoveryPhase::Cwr,
            3 => RecoveryPhase::Recovery,
            _ => RecoveryPhase::Loss,
        },
        unacked: number(3)?,
        sacked: number(4)?,
        lost: number(5)?,
        retrans: number(6)?,
        reordering: number(7),
    };
    Some((info, Span::from_micros(number(8)?)))
}

fn blocks(word: &str) -> Option<SackBlocks> {
    let mut sacks = SackBlocks::default();
    for word in word.split(',') {
        let (start, end) = word.split_once('-')?;
        let block = SackBlock {
            start: start.parse().ok()?,
            end: end.trim_end_matches('*').parse().ok()?,
        };
        match end.ends_with('*') {
            true => sacks = SackBlocks::reporting(block),
            false => sacks.push(block),
        }
    }
    Some(sacks)
}

/// Returns the first field that differs, the kernel's value and ours.
fn differing(kernel: TcpInfo, ours: TcpInfo) -> Option<(&'static str, String, String)> {
    let fields = |info: TcpInfo| {
        [
            ("ca_state", format!("{:?}", info.phase)),
            ("unacked", info.unacked.to_string()),
            ("sacked", info.sacked.to_string()),
            ("lost", info.lost.to_string()),
            ("retrans", info.retrans.to_string()),
            ("reordering", format!("{:?}", info.reordering)),
            ("cwnd", info.cwnd.to_string()),
            ("ssthresh", format!("{:?}", info.ssthresh)),
        ]
    };
    let pairs = fields(kernel).into_iter().zip(fields(ours));
    pairs
        .filter(|(a, b)| a.1 != b.1)
        .map(|(a, b)| (a.0, a.1, b.1))
        .next()
}
