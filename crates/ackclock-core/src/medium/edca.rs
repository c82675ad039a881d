//! A cell of IEEE 802.11e. Stations that all hear one another contend by enhanced distributed
//! channel access (EDCA), with one frame per access and no channel errors.
//!
//! Rules: when the medium has become idle, a contender transmits in slot AIFSN + b after SIFS,
//! where b is its backoff. The smallest slot among the contenders with a packet wins. The backoff
//! of every other contender, even with an empty queue, has by then decreased by the slots that
//! passed after its own AIFSN. It continues from there after the next idle AIFS. After each success
//! and each collision a new backoff is drawn, whether or not there is more to send (post-backoff).
//! A packet that comes to an empty queue keeps the rest of that backoff. If the backoff has reached
//! zero, a new one is drawn while the medium is busy; while it is idle, the packet is sent at the
//! next slot.
//!
//! The driver reports packets that come, and the cell acts twice for each exchange.
//!
//! A packet is done at the end of its exchange, acknowledgement included. A packet that comes at
//! that very moment finds the medium busy.

use super::facts::{MediumFacts, Timing};
use super::phy::{Phy, Profile};
use super::{Completion, ContenderCounts, Medium, MediumKind, Usage};
use crate::link::contention::{AccessParameters, Contention};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Parameters. Fields that are not given follow from the profile.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "profile": "802.11g", "retry_limit": 11 }))]
#[schemars(example = json!({
    "profile": "802.11b",
    "basic_rate": "1 Mbit/s",
    "rts_threshold": "500 bytes"
}))]
pub struct Edca {
    /// Physical layer.
    #[serde(default)]
    pub profile: Profile,
    /// Slot of the backoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["9 us"]))]
    pub slot: Option<Span>,
    /// SIFS: time between the frames of an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["10 us"]))]
    pub sifs: Option<Span>,
    /// Preamble and header of the physical layer before a data frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["20 us"]))]
    pub preamble: Option<Span>,
    /// Preamble and header of the physical layer before ACK, RTS and CTS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["20 us"]))]
    pub control_preamble: Option<Span>,
    /// Symbol, which is sent as a whole; with `"0 s"` bits are sent one by one, as ns-2 does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["4 us"]))]
    pub symbol: Option<Span>,
    /// Bits of a frame in addition to its bytes: OFDM's service field and tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", extend("examples" = [22]))]
    pub service_and_tail_bits: Option<u32>,
    /// Signal extension: silence that counts as the end of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span", extend("examples" = ["6 us"]))]
    pub signal_extension: Option<Span>,
    /// Rate of control frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BitRate", extend("examples" = ["6 Mbit/s"]))]
    pub basic_rate: Option<BitRate>,
    /// Bytes of a data frame in addition to the packet: MAC header 24, FCS 4, LLC and SNAP 8. QoS
    /// control would be 2 more.
    #[serde(default = "header")]
    pub header: Bytes,
    /// Size of the MAC's acknowledgement.
    #[serde(default = "ack_size")]
    pub ack_size: Bytes,
    /// Most retransmissions of a packet. 802.11's dot11ShortRetryLimit of 7 counts transmissions,
    /// including the first.
    #[serde(default = "retry_limit")]
    pub retry_limit: u32,
    /// True if all stations wait EIFS after a collision, which is longer than AIFS by SIFS and the
    /// time of an ACK.
    #[serde(default = "yes")]
    pub eifs: bool,
    /// Size, header included, from which on RTS and CTS precede a frame; never if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("examples" = ["500 bytes"]))]
    pub rts_threshold: Option<Bytes>,
}

fn header() -> Bytes {
    Bytes(36)
}
fn ack_size() -> Bytes {
    Bytes(14)
}
fn retry_limit() -> u32 {
    6
}
fn yes() -> bool {
    true
}

/// IEEE 802.11-2016 sections 9.3.1.2 and 9.3.1.3.
const RTS_SIZE: Bytes = Bytes(20);
const CTS_SIZE: Bytes = Bytes(14);

impl Edca {
    fn phy(&self) -> Phy {
        let profile = self.profile.phy();
        Phy {
            slot: self.slot.unwrap_or(profile.slot),
            sifs: self.sifs.unwrap_or(profile.sifs),
            preamble: self.preamble.unwrap_or(profile.preamble),
            control_preamble: self.control_preamble.unwrap_or(profile.control_preamble),
            symbol: self.symbol.unwrap_or(profile.symbol),
            service_and_tail_bits: self
                .service_and_tail_bits
                .unwrap_or(profile.service_and_tail_bits),
            signal_extension: self.signal_extension.unwrap_or(profile.signal_extension),
            basic_rate: self.basic_rate.unwrap_or(profile.basic_rate),
            cw: profile.cw,
        }
    }

    /// Fills in the values of the profile.
    fn write_out(&mut self) {
        let phy = self.phy();
        self.slot = Some(phy.slot);
        self.sifs = Some(phy.sifs);
        self.preamble = Some(phy.preamble);
        self.control_preamble = Some(phy.control_preamble);
        self.symbol = Some(phy.symbol);
        self.service_and_tail_bits = Some(phy.service_and_tail_bits);
        self.signal_extension = Some(phy.signal_extension);
        self.basic_rate = Some(phy.basic_rate);
    }
}

impl Element<MediumKind> for Edca {
    const NAME: &'static str = "edca";
    const LABEL: &'static str = "802.11e cell";
    const SUMMARY: &'static str = "A cell of IEEE 802.11e: stations contend by EDCA, all hear each \
        other, and only collisions lose frames.";
    const REFERENCE: &'static str = "IEEE 802.11-2016 section 10.22.2 (EDCA)";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            check_above_zero("slot", self.slot, "9 us"),
            check_above_zero("basic_rate", self.basic_rate, "6 Mbit/s"),
        ])?;
        self.write_out();
        Ok(())
    }

    fn facts(&self) -> MediumFacts {
        let phy = self.phy();
        let timing = Timing {
            slot_s: phy.slot.as_seconds(),
            sifs_s: phy.sifs.as_seconds(),
            preamble_s: phy.preamble.as_seconds(),
            control_preamble_s: phy.control_preamble.as_seconds(),
            symbol_s: phy.symbol.as_seconds(),
            signal_extension_s: phy.signal_extension.as_seconds(),
            service_and_tail_bits: phy.service_and_tail_bits,
            basic_bit_per_s: phy.basic_rate.as_bit_per_s(),
            header_bytes: self.header.0,
            ack_bytes: self.ack_size.0,
            retries: self.retry_limit,
            eifs: self.eifs,
            rts_bytes: self.rts_threshold.map(|size| size.0).into(),
            cw_min: phy.cw.0,
            cw_max: phy.cw.1,
        };
        MediumFacts {
            timing: Some(timing),
        }
    }
}

impl Factory<MediumKind> for Edca {
    fn build(&self, _: StreamScope<'_>) -> Box<dyn Medium> {
        Box::new(EdcaCell::new(self))
    }

    fn draws(&self) -> bool {
        true
    }
}

/// A cell in operation.
#[derive(Debug)]
struct EdcaCell {
    parameters: Edca,
    phy: Phy,
    /// SIFS and an acknowledgement.
    answer: Span,
    stations: Vec<StationQueue>,
    phase: MediumState,
    /// Start of the current or last idle time.
    idle_since: Time,
    /// Usage up to the beginning of the phase.
    used: Usage,
    /// The contenders that transmit, or would if a higher class of the same station did not.
    transmitting: Vec<usize>,
}

/// State of the medium.
#[derive(Clone, Copy, Debug)]
enum MediumState {
    /// Idle until a station transmits.
    Idle { until: Time },
    /// Busy with an exchange that succeeds.
    Success { begin: Time, until: Time },
    /// Busy with frames that collide.
    Collision { begin: Time, until: Time },
}

/// One queue of one station.
#[derive(Debug)]
struct StationQueue {
    station: u32,
    access: AccessParameters,
    rate: BitRate,
    stream: Stream,
    backoff: u32,
    cw: u32,
    retries: u32,
    head: Option<Head>,
    /// True if a higher class of its station goes first; meaningful only for queues that transmit.
    yields: bool,
    counts: ContenderCounts,
}

/// The packet at the head of a queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    size: Bytes,
    since: Time,
    /// Slot in which it would be transmitted, after the medium has become idle.
    slot: u64,
}

impl StationQueue {
    fn draw(&mut self) {
        self.backoff = (self.stream.uniform() * (f64::from(self.cw) + 1.0)) as u32;
    }
    fn slot(&self) -> u64 {
        u64::from(self.access.aifsn) + u64::from(self.backoff)
    }
    /// Restarts the contention, for the next packet.
    fn begin_again(&mut self) {
        (self.cw, self.retries) = (self.access.cw_min, 0);
        self.draw();
    }
}

impl EdcaCell {
    fn new(parameters: &Edca) -> Self {
        let phy = parameters.phy();
        EdcaCell {
            parameters: parameters.clone(),
            phy,
            answer: phy.sifs + phy.control(parameters.ack_size),
            stations: Vec::new(),
            phase: MediumState::Idle { until: Time::NEVER },
            idle_since: Time::ZERO,
            used: Usage::default(),
            transmitting: Vec::new(),
        }
    }

    /// Returns the time at which a slot begins.
    fn time_of(&self, slot: u64) -> Time {
        self.idle_since + self.phy.sifs + self.phy.slot * slot
    }

    /// Returns the first slot that begins at `now` or later.
    fn slot_from(&self, now: Time) -> u64 {
        let waited = now.since(self.idle_since + self.phy.sifs);
        waited.as_nanos().div_ceil(self.phy.slot.as_nanos())
    }

    /// Returns the duration of the data frame of a packet, and that of the RTS if one precedes it.
    fn frames(&self, size: Bytes, rate: BitRate) -> (Span, Option<Span>) {
        let size = size + self.parameters.header;
        let asks = self
            .parameters
            .rts_threshold
            .is_some_and(|least| size >= least);
        let data = self.phy.data(size, rate);
        (data, asks.then(|| self.phy.control(RTS_SIZE)))
    }

    /// Returns the duration of an exchange that succeeds.
    fn exchange(&self, size: Bytes, rate: BitRate) -> Span {
        let (data, request) = self.frames(size, rate);
        let agreed = request.map_or(Span::ZERO, |request| {
            request + self.phy.sifs + self.phy.control(CTS_SIZE) + self.phy.sifs
        });
        agreed + data + self.answer
    }

    /// Returns the duration of the frame that may collide: RTS, or data without it.
    fn first_frame(&self, size: Bytes, rate: BitRate) -> Span {
        let (data, request) = self.frames(size, rate);
        request.unwrap_or(data)
    }

    /// Makes a packet the head of its queue, to be transmitted in its slot if no other station is
    /// first.
    fn announce(&mut self, contender: usize, head: Head) {
        self.stations[contender].head = Some(head);
        if let MediumState::Idle { until } = self.phase {
            let until = until.min(self.time_of(head.slot));
            self.phase = MediumState::Idle { until };
        }
    }

    /// Starts the transmissions of the slot that begins now.
    fn transmit(&mut self, begin: Time) {
        let slot = self.slot_from(begin);
        self.used.idle = self.used.idle + begin.since(self.idle_since);
        self.transmitting.clear();
        for (number, one) in self.stations.iter_mut().enumerate() {
            if one.head.is_some_and(|head| head.slot == slot) {
                self.transmitting.push(number);
            } else {
                let passed = slot.saturating_sub(one.access.aifsn.into());
                one.backoff = u64::from(one.backoff).saturating_sub(passed) as u32;
            }
        }
        self.resolve_within_stations();
        let mut on_air = self
            .transmitting
            .iter()
            .filter(|number| !self.stations[**number].yields);
        let (first, second) = (on_air.next().copied(), on_air.next());
        self.phase = match (first, second) {
            (Some(only), None) => self.succeed(begin, only),
            _ => self.collide(begin),
        };
    }

    /// Chooses the class that transmits, if several queues of one station would. The one with the
    /// smallest AIFSN wins, then the one with the smallest windows (voice before video), then the
    /// first. For the others it is a collision.
    fn resolve_within_stations(&mut self) {
        for &number in &self.transmitting {
            let rank = |queue: usize| (self.stations[queue].access, queue);
            let station = self.stations[number].station;
            let yields = self.transmitting.iter().any(|&other| {
                self.stations[other].station == station && rank(other) < rank(number)
            });
            self.stations[number].yields = yields;
        }
    }

    fn succeed(&self, begin: Time, number: usize) -> MediumState {
        let StationQueue { head, rate, .. } = self.stations[number];
        let exchange = head.map_or(Span::ZERO, |head| self.exchange(head.size, rate));
        MediumState::Success {
            begin,
            until: begin + exchange,
        }
    }

    fn collide(&self, begin: Time) -> MediumState {
        let frames = self
            .transmitting
            .iter()
            .map(|&number| self.collided_frame(number));
        let longest = frames.max().unwrap_or_default();
        let waited = if self.parameters.eifs {
            self.answer
        } else {
            Span::ZERO
        };
        MediumState::Collision {
            begin,
            until: begin + longest + waited,
        }
    }

    /// Returns the duration of a queue's frame if it collides, zero if the queue yields.
    fn collided_frame(&self, number: usize) -> Span {
        let StationQueue {
            head, rate, yields, ..
        } = self.stations[number];
        match head {
            Some(head) if !yields => self.first_frame(head.size, rate),
            _ => Span::ZERO,
        }
    }

    /// Ends the exchange or the collision that began at `begin`.
    fn end(
        &mut self,
        succeeded: bool,
        (begin, until): (Time, Time),
        completions: &mut Vec<Completion>,
    ) {
        self.idle_since = until;
        for position in 0..self.transmitting.len() {
            let contender = self.transmitting[position];
            let frame = if succeeded {
                Span::ZERO
            } else {
                self.collided_frame(contender)
            };
            let queue = &mut self.stations[contender];
            if succeeded && !queue.yields {
                queue.counts.successes += 1;
                queue.counts.airtime = queue.counts.airtime + until.since(begin);
                if let Some(head) = queue.head.take() {
                    queue.counts.service.push(until.since(head.since));
                }
                queue.begin_again();
                completions.push(Completion {
                    contender,
                    sent: true,
                });
                continue;
            }
            if queue.yields {
                queue.counts.internal_collisions += 1;
            } else {
                queue.counts.collisions += 1;
                queue.counts.airtime = queue.counts.airtime + frame;
            }
            queue.retries += 1;
            if queue.retries <= self.parameters.retry_limit {
                queue.cw = queue
                    .cw
                    .saturating_mul(2)
                    .saturating_add(1)
                    .min(queue.access.cw_max);
                queue.draw();
                continue;
            }
            queue.counts.retry_drops += 1;
            queue.head = None;
            queue.begin_again();
            completions.push(Completion {
                contender,
                sent: false,
            });
        }
        self.count_down();
    }

    /// Makes the medium idle and determines the next transmission if no other packet comes.
    fn count_down(&mut self) {
        let mut first = u64::MAX;
        for queue in &mut self.stations {
            let slot = queue.slot();
            if let Some(head) = &mut queue.head {
                head.slot = slot;
                first = first.min(slot);
            }
        }
        let until = if first == u64::MAX {
            Time::NEVER
        } else {
            self.time_of(first)
        };
        self.phase = MediumState::Idle { until };
    }
}

impl Medium for EdcaCell {
    fn add(&mut self, station: u32, contention: &Contention, stream: Stream) -> Result<usize> {
        let access = contention.parameters(self.phy.cw)?;
        self.stations.push(StationQueue {
            station,
            access,
            rate: contention.rate(),
            stream,
            backoff: 0,
            cw: access.cw_min,
            retries: 0,
            head: None,
            yields: false,
            counts: ContenderCounts::default(),
        });
        Ok(self.stations.len() - 1)
    }

    fn join(&mut self, now: Time, contender: usize, size: Bytes) {
        let idle = matches!(self.phase, MediumState::Idle { .. }) && now > self.idle_since;
        let coming = if idle { self.slot_from(now) } else { 0 };
        let queue = &mut self.stations[contender];
        if !idle && queue.backoff == 0 {
            queue.draw();
        }
        let slot = queue.slot().max(coming);
        let since = now;
        self.announce(contender, Head { size, since, slot });
    }

    fn follow(&mut self, now: Time, contender: usize, size: Bytes) {
        let slot = self.stations[contender].slot();
        let since = now;
        self.announce(contender, Head { size, since, slot });
    }

    fn next(&self) -> Time {
        match self.phase {
            MediumState::Idle { until }
            | MediumState::Success { until, .. }
            | MediumState::Collision { until, .. } => until,
        }
    }

    fn proceed(&mut self, now: Time, completions: &mut Vec<Completion>) {
        match self.phase {
            _ if self.next() > now => {}
            MediumState::Idle { until } => self.transmit(until),
            MediumState::Success { begin, until } => {
                self.used.success = self.used.success + until.since(begin);
                self.used.successes += 1;
                self.end(true, (begin, until), completions);
            }
            MediumState::Collision { begin, until } => {
                self.used.collision = self.used.collision + until.since(begin);
                self.used.collisions += 1;
                self.end(false, (begin, until), completions);
            }
        }
    }

    fn usage(&self, now: Time) -> Usage {
        let mut usage = self.used;
        let (part, begin) = match self.phase {
            MediumState::Idle { .. } => (&mut usage.idle, self.idle_since),
            MediumState::Success { begin, .. } => (&mut usage.success, begin),
            MediumState::Collision { begin, .. } => (&mut usage.collision, begin),
        };
        *part = *part + now.since(begin);
        usage
    }

    fn counts(&self, contender: usize) -> ContenderCounts {
        self.stations[contender].counts
    }
}

#[cfg(test)]
mod tests;
