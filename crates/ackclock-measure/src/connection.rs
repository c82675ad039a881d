//! One connection: its two directions, its beginning and its end.

use crate::direction::{Ack, Direction};
use crate::seen::Seen;
use ackclock_spec::units::Span;
use std::net::SocketAddr;

/// One of the two sides of a connection. They are ordered by address, without further meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side with the lower address.
    Low = 0,
    /// The side with the higher address.
    High = 1,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Side; 2] = [Side::Low, Side::High];
    /// Returns the other side.
    pub const fn other(self) -> Side {
        match self {
            Side::Low => Side::High,
            Side::High => Side::Low,
        }
    }
}

/// Times of the packets of the handshake, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// Time and sender of the SYN.
    syn: Option<(u64, Side)>,
    /// Time of the SYN-ACK.
    answered: Option<u64>,
    /// True if both sides sent a SYN of their own (simultaneous open, RFC 9293 section 3.5).
    both_began: bool,
    /// True if a SYN or SYN-ACK was repeated, and it is unknown which one was answered.
    ambiguous: bool,
    /// Round-trip time of the handshake.
    round_trip: Option<Span>,
}

/// Name of the flow of one direction.
#[derive(Clone, Debug)]
pub struct FlowName {
    /// Name of the flow group, or the addresses.
    pub flow: String,
    /// Number of the instance.
    pub instance: i64,
}

/// A connection with its two directions. Times are in nanoseconds.
#[derive(Debug)]
pub struct Connection {
    /// Address and port of each side, as written in tables.
    pub written: [String; 2],
    /// Data from each side.
    pub directions: [Direction; 2],
    /// Name of the flow from each side.
    pub names: [FlowName; 2],
    /// Times of the first and the last packet.
    pub start: u64,
    pub last: u64,
    /// Time since which it has been closed; late packets may follow.
    pub closed: Option<u64>,
    /// Time of the next samples.
    pub next_sample: u64,
    /// Number of samples so far.
    pub samples: u64,
    /// True after the warm-up.
    pub warm: bool,
    handshake: Handshake,
    /// True once the client has sent a packet after its SYN.
    client_answered: bool,
    reset: bool,
}

/// AE, CWR and ECE of a SYN.
type EcnFlags = (bool, bool, bool);

/// True if a SYN asks for ECN and its answer accepts (RFC 3168 section 6.1.1).
fn agrees_on_classic(ask: EcnFlags, answer: EcnFlags) -> bool {
    matches!(ask, (_, true, true)) && answer == (false, false, true)
}

/// True if a SYN asks for accurate ECN and its answer accepts, with the ECN field of the SYN (RFC
/// 9768 section 3.1.1).
fn agrees_on_accurate(ask: EcnFlags, answer: EcnFlags) -> bool {
    let accepts = matches!(answer, (false, true, _) | (true, _, false));
    ask == (true, true, true) && accepts
}

impl Connection {
    /// Creates a connection whose first packet passes at `at`.
    pub fn new(
        addresses: [SocketAddr; 2],
        names: [FlowName; 2],
        at: u64,
        directions: [Direction; 2],
    ) -> Self {
        Connection {
            written: addresses.map(|address| address.to_string()),
            directions,
            names,
            start: at,
            last: at,
            closed: None,
            next_sample: at,
            samples: 0,
            warm: false,
            handshake: Handshake::default(),
            client_answered: false,
            reset: false,
        }
    }

    /// True if the packet, a SYN or SYN-ACK, begins another connection between the same addresses.
    pub fn is_succeeded_by(&self, side: Side, seen: &Seen<'_>) -> bool {
        let segment = seen.segment;
        let own = &self.directions[side as usize];
        if own.may_begin_with(segment.sequence) {
            // A connection that was closed long ago may, by chance, have used a number near it.
            return self.closed.is_some() && own.opening.is_none();
        }
        let other = &self.directions[side.other() as usize];
        // It may be the SYN-ACK to this connection's SYN, with a new initial sequence number.
        let answers = segment.flags.ack
            && own.opening.is_none()
            && other.opening.is_some_and(|opening| {
                segment.acknowledgment == (opening.number as u32).wrapping_add(1)
            });
        !answers
    }

    /// Advances to `at`; nothing has passed since the last packet.
    pub fn settle(&mut self, at: u64) {
        self.directions
            .iter_mut()
            .for_each(|direction| direction.settle(at));
    }

    /// Handles a packet from that side.
    pub fn handle(&mut self, side: Side, seen: &Seen<'_>) {
        let flags = seen.segment.flags;
        if flags.syn || !self.counts_marks() {
            return self.handle_plain(side, seen, None);
        }
        // With accurate ECN they are a counter, neither an echo nor an answer to one.
        let mut segment = *seen.segment;
        (segment.flags.ae, segment.flags.cwr, segment.flags.ece) = (false, false, false);
        let plain = Seen {
            segment: &segment,
            ..*seen
        };
        let ace = self.ace(side, seen);
        self.handle_plain(side, &plain, ace);
    }

    /// Returns ACE of a packet after the SYNs. None if it is the client's answer to the SYN-ACK,
    /// which has another number in its place (RFC 9768 section 3.2.2.1).
    fn ace(&mut self, side: Side, seen: &Seen<'_>) -> Option<u8> {
        let segment = seen.segment;
        let ace = [segment.flags.ae, segment.flags.cwr, segment.flags.ece]
            .iter()
            .fold(0, |all, flag| 2 * all + u8::from(*flag));
        let is_client = self.handshake.syn.is_some_and(|(_, client)| client == side);
        if is_client && !std::mem::replace(&mut self.client_answered, true) {
            let server = &mut self.directions[side.other() as usize];
            let answers = server.opening.is_some_and(|opening| {
                segment.acknowledgment == (opening.number as u32).wrapping_add(1)
            });
            if answers && segment.payload == 0 {
                server.acks.marked.begin(ace);
                return None;
            }
        }
        Some(ace)
    }

    fn handle_plain(&mut self, side: Side, seen: &Seen<'_>, ace: Option<u8>) {
        let flags = seen.segment.flags;
        let [low, high] = &mut self.directions;
        let (own, other) = match side {
            Side::Low => (low, high),
            Side::High => (high, low),
        };
        if own.is_copy(seen) {
            return;
        }
        self.start = self.start.min(seen.at);
        self.last = self.last.max(seen.at);
        own.count(seen);
        if flags.rst {
            // The numbers of a reset may be anything.
            self.reset = true;
            self.closed.get_or_insert(seen.at);
            return;
        }
        let echoed = seen.segment.options.timestamps.filter(|_| flags.ack);
        let echo = echoed.and_then(|(_, value)| other.timestamps.echo(value));
        if flags.syn {
            let again = own.handle_syn(seen);
            if flags.ack {
                let asked = echo.map(|echo| echo.sent_at);
                self.handshake.note_answer(seen.at, again, asked);
            } else {
                self.handshake.note_syn(side, seen.at, again);
            }
        }
        if flags.ack {
            other.handle_ack(&Ack {
                seen: *seen,
                ace,
                echo,
                shift: shift(own, other),
            });
        }
        if flags.syn {
            agree(own, other);
        } else if flags.ack
            && let Some((to_receiver, to_sender)) = self.handshake.note_ack(side, seen.at)
        {
            own.learn_handshake(to_receiver, to_sender);
            other.learn_handshake(to_sender, to_receiver);
        }
        own.handle_segment(seen, echo);
        own.pass_stamp(seen);
        if self.directions.iter().all(Direction::is_finished) {
            self.closed.get_or_insert(seen.at);
        }
    }

    /// True if it carried nothing and probably never will: one side was never seen, or it is
    /// closed.
    pub fn is_empty(&self) -> bool {
        let [low, high] = self
            .directions
            .each_ref()
            .map(|direction| &direction.counts);
        low.data_packets + high.data_packets == 0
            && (low.packets == 0 || high.packets == 0 || self.closed.is_some())
    }

    /// Returns the name of the beginning as captured.
    pub fn begins(&self) -> &'static str {
        let opened = self
            .directions
            .iter()
            .any(|direction| direction.opening.is_some());
        if opened { "syn" } else { "midway" }
    }

    /// Returns the name of the end.
    pub fn ends(&self) -> &'static str {
        match (self.directions.iter().all(Direction::has_fin), self.reset) {
            (true, _) => "fin",
            (false, true) => "reset",
            (false, false) => "open",
        }
    }

    /// Returns the name of that side's role.
    pub fn role(&self, side: Side) -> &'static str {
        match self.handshake.syn {
            None if self.directions[side as usize].opening.is_some() => "server",
            None if self.directions[side.other() as usize].opening.is_some() => "client",
            None => "unknown",
            Some(_) if self.handshake.both_began => "both",
            Some((_, client)) if client == side => "client",
            Some(_) => "server",
        }
    }

    /// Returns the time from the SYN to the ACK of the SYN-ACK.
    pub fn handshake_round_trip(&self) -> Option<Span> {
        self.handshake.round_trip
    }

    /// Returns true if both sides agreed on ECN (RFC 3168 section 6.1.1); `None` unless both SYNs
    /// were seen.
    pub fn ecn_is_negotiated(&self) -> Option<bool> {
        let [Some(one), Some(two)] = self
            .directions
            .each_ref()
            .map(|direction| direction.opening)
        else {
            return None;
        };
        let either = |agree: fn(EcnFlags, EcnFlags) -> bool| {
            agree(one.ecn, two.ecn) || agree(two.ecn, one.ecn)
        };
        Some(either(agrees_on_classic) || either(agrees_on_accurate))
    }

    /// True if the flags of the handshake agree on accurate ECN, so that ECE and CWR are part of a
    /// counter.
    fn counts_marks(&self) -> bool {
        let [Some(one), Some(two)] = self
            .directions
            .each_ref()
            .map(|direction| direction.opening)
        else {
            return false;
        };
        agrees_on_accurate(one.ecn, two.ecn) || agrees_on_accurate(two.ecn, one.ecn)
    }

    /// Marks the end of the packets.
    pub fn finish(&mut self) {
        let last = self.last;
        self.directions
            .iter_mut()
            .for_each(|direction| direction.finish(last));
    }
}

impl Handshake {
    fn note_syn(&mut self, side: Side, at: u64, again: bool) {
        self.ambiguous |= again;
        match self.syn {
            None => self.syn = Some((at, side)),
            Some((_, first)) => self.both_began |= first != side,
        }
    }

    /// Records a SYN-ACK. Its timestamp may show which SYN it answers, and when that passed.
    fn note_answer(&mut self, at: u64, again: bool, asked: Option<u64>) {
        self.answered.get_or_insert(at);
        if let (Some(asked), Some(syn)) = (asked, &mut self.syn) {
            syn.0 = asked;
            self.ambiguous = false;
        }
        self.ambiguous |= again;
    }

    /// Records the client's first ACK after the SYN-ACK. Returns the round trips from the capture
    /// point to the server and to the client.
    fn note_ack(&mut self, side: Side, at: u64) -> Option<(Span, Span)> {
        let ((asked, client), answered) = (self.syn?, self.answered?);
        if self.ambiguous || self.both_began || self.round_trip.is_some() || client != side {
            return None;
        }
        let passed = |from: u64, to: u64| Span::from_nanos(to.saturating_sub(from));
        self.round_trip = Some(passed(asked, at));
        Some((passed(asked, answered), passed(answered, at)))
    }
}

/// Returns the window scale shift of `own`: 0 unless both SYNs have the option (RFC 7323
/// section 2.2); `None` if that is unknown. A SYN-ACK with the option answers a SYN that had it.
fn shift(own: &Direction, other: &Direction) -> Option<u8> {
    /// Largest shift (RFC 7323 section 2.3).
    const LARGEST: u8 = 14;
    let opening = own.opening.filter(|opening| opening.whole)?;
    match (
        opening.window_scale,
        other.opening.filter(|opening| opening.whole),
    ) {
        (None, _) => Some(0),
        (Some(shift), Some(other)) => Some(other.window_scale.map_or(0, |_| shift.min(LARGEST))),
        (Some(_), None) => None,
    }
}

/// Sets the MSS of both directions from the options of both SYNs.
fn agree(own: &mut Direction, other: &mut Direction) {
    let largest = |direction: &Direction| {
        direction
            .opening
            .and_then(|opening| opening.maximum_segment)
    };
    let most = match (largest(own), largest(other)) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    };
    let most = most.map(|most| u64::from(most.max(1)));
    own.agree(most);
    other.agree(most);
}
