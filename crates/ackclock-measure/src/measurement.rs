//! The connections and flows of a capture: packets in, tables out.

use crate::clock::{Clock, Repairs};
use crate::connection::{Connection, FlowName, Side};
use crate::datagrams::Datagrams;
use crate::direction::Direction;
use crate::parameters::Parameters;
use crate::rate_estimates::{AskedEstimator, RateEstimates};
use crate::rows::{Rows, Scale};
use crate::seen::Seen;
use ackclock_core::result::Table;
use ackclock_pcap::CapturedPacket;
use ackclock_pcap::packet::Transport;
use ackclock_spec::units::Span;
use foldhash::fast::FixedState;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Returns the name of the flow group and the number of the instance, given the sender's and the
/// receiver's address; `None` for an unknown flow.
pub type Naming = Box<dyn Fn(SocketAddr, SocketAddr) -> Option<(String, i64)> + Send>;

/// Time for which late packets still belong to a connection that both sides have closed or one has
/// reset. We chose it: a FIN is retransmitted after a timeout or two.
const CLOSING: Span = Span::from_millis(5_000);

/// Interval between checks of live connections, in capture time.
const SWEEP: Span = Span::from_millis(5_000);

/// Takes packets, roughly in order of time, and returns tables.
///
/// ```
/// # use ackclock_measure::{Measurement, Parameters};
/// # let packets: Vec<ackclock_pcap::CapturedPacket> = Vec::new();
/// let mut measurement = Measurement::new(Parameters::default());
/// for packet in &packets {
///     measurement.handle_packet(packet);
///     while let Some(tables) = measurement.poll_tables() {
///         // write them down
///     }
/// }
/// measurement.finish();
/// while let Some(tables) = measurement.poll_tables() {
///     // the rest
/// }
/// ```
pub struct Measurement {
    parameters: Parameters,
    naming: Option<Naming>,
    estimators: Arc<[AskedEstimator]>,
    origin: Option<u64>,
    live: HashMap<Pair, Box<Connection>, FixedState>,
    /// Number of earlier connections between two addresses, by a hash of the addresses. Only this
    /// grows with the length of the capture.
    earlier: HashMap<u64, u32, FixedState>,
    rows: Rows,
    clock: Clock,
    swept_at: u64,
    datagrams: Datagrams,
    surplus: Surplus,
    /// Number of live connections at which the bounds are checked next.
    look_at: usize,
    /// Number of empty connections that got a row.
    empty_rows: u64,
    /// Connections that were live at the end and have no rows yet.
    ending: VecDeque<Pair>,
    finished: bool,
    /// True if the final tables are still to be returned, even if they are empty.
    owed: bool,
}

impl std::fmt::Debug for Measurement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Measurement")
            .field("parameters", &self.parameters)
            .field("live", &self.live.len())
            .finish_non_exhaustive()
    }
}

/// Connections left out because memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surplus {
    /// Empty connections without a row: no payload, and no answer, reset or closed.
    pub empty: u64,
    /// Connections that were ended early but have rows; more of their packets may have come.
    pub ended_early: u64,
}

/// Two addresses and ports, the lower first. IPv4 addresses are mapped to IPv6 (RFC 4291
/// section 2.5.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pair([(u128, u16); 2]);

impl Pair {
    /// Returns the pair, and the side of the source.
    pub(crate) fn of(source: SocketAddr, destination: SocketAddr) -> (Self, Side) {
        let number = |address: SocketAddr| {
            const MAPPED: u128 = 0xffff << 32;
            let host = match address.ip() {
                IpAddr::V4(ip) => MAPPED | u128::from(ip.to_bits()),
                IpAddr::V6(ip) => ip.to_bits(),
            };
            (host, address.port())
        };
        let (source, destination) = (number(source), number(destination));
        if source <= destination {
            (Pair([source, destination]), Side::Low)
        } else {
            (Pair([destination, source]), Side::High)
        }
    }
}

impl Measurement {
    /// Creates a measurement of a capture from anywhere.
    pub fn new(parameters: Parameters) -> Self {
        Measurement {
            parameters,
            naming: None,
            estimators: Arc::default(),
            origin: parameters.origin_ns,
            live: HashMap::default(),
            earlier: HashMap::default(),
            rows: Rows::new(),
            clock: Clock::default(),
            swept_at: 0,
            datagrams: Datagrams::default(),
            surplus: Surplus::default(),
            look_at: parameters.most_empty.min(parameters.most_live),
            empty_rows: 0,
            ending: VecDeque::new(),
            finished: false,
            owed: false,
        }
    }

    /// Creates a measurement of one of our captures, whose flows have names. Flows unknown to
    /// `naming` are named by their addresses.
    pub fn with_names(parameters: Parameters, naming: Naming) -> Self {
        Measurement {
            naming: Some(naming),
            ..Measurement::new(parameters)
        }
    }

    /// Adds estimators, which fill the table `rate_estimates`.
    #[must_use]
    pub fn with_estimators(self, estimators: Vec<AskedEstimator>) -> Self {
        Measurement {
            estimators: estimators.into(),
            ..self
        }
    }

    /// Takes the next packet.
    pub fn handle_packet(&mut self, packet: &CapturedPacket) {
        if let Some(packet) = self.clock.pass(packet) {
            self.take(&packet);
        }
    }

    /// Takes a packet whose time has been corrected.
    fn take(&mut self, packet: &CapturedPacket) {
        let at = packet.at_ns;
        let origin = *self.origin.get_or_insert(at);
        if at >= self.swept_at.saturating_add(SWEEP.as_nanos()) {
            self.sweep(at);
        }
        let segment = match &packet.transport {
            Transport::Tcp(segment) => segment,
            Transport::Udp { payload, begin } => {
                self.datagrams.handle(packet, *payload, *begin);
                return;
            }
        };
        let (pair, side) = Pair::of(packet.source, packet.destination);
        let seen = Seen {
            at,
            ip_bytes: packet.ip_bytes,
            identification: packet.identification,
            ecn: packet.ecn,
            segment,
        };
        self.end_former(&pair, side, &seen);
        let scale = self.scale(origin);
        let (parameters, naming, earlier) = (&self.parameters, &self.naming, &self.earlier);
        let estimators = &self.estimators;
        let connection = match self.live.entry(pair) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let addresses = match side {
                    Side::Low => [packet.source, packet.destination],
                    Side::High => [packet.destination, packet.source],
                };
                let number = number_of(earlier, &pair);
                let named = names_of(naming.as_ref(), addresses, number);
                let mut connection = begin(parameters, estimators, addresses, named, at);
                connection.next_sample = scale.first_sample(at, scale.interval.as_nanos());
                entry.insert(Box::new(connection))
            }
        };
        self.rows.take_samples(connection, at, &scale);
        if !connection.warm && at >= origin.saturating_add(parameters.warmup.as_nanos()) {
            connection.warm = true;
            connection
                .directions
                .iter_mut()
                .for_each(Direction::warm_up);
        }
        connection.handle(side, &seen);
        self.rows.take_finished(connection, &scale);
        if self.live.len() > self.look_at {
            self.keep_bounds();
        }
    }

    /// Ends connections beyond the bounds: of each kind, those that have been silent longest. Ends
    /// more than needed, so that the next check is not due at once.
    fn keep_bounds(&mut self) {
        let parameters = self.parameters;
        let of_kind = |empty: bool| {
            let these = self
                .live
                .iter()
                .filter(move |(_, connection)| connection.is_empty() == empty);
            let mut these: Vec<_> = these
                .map(|(pair, connection)| (connection.last, *pair))
                .collect();
            these.sort_unstable_by_key(|(last, pair)| (*last, pair.0));
            these
        };
        let (empty, others) = (of_kind(true), of_kind(false));
        let room = parameters.most_empty / 2;
        if empty.len() > room {
            for (_, pair) in &empty[..empty.len() - room] {
                self.live.remove(pair);
                self.surplus.empty += 1;
            }
        }
        if others.len() > parameters.most_live {
            let surplus = others.len() - parameters.most_live * 7 / 8;
            self.surplus.ended_early += surplus as u64;
            self.end_all(others[..surplus].iter().map(|(_, pair)| *pair).collect());
        }
        self.look_at = self.live.len() + room.max(1);
    }

    /// Ends a connection if this SYN begins another one between the same addresses.
    fn end_former(&mut self, pair: &Pair, side: Side, seen: &Seen<'_>) {
        if !seen.segment.flags.syn {
            return;
        }
        if self
            .live
            .get(pair)
            .is_some_and(|former| former.is_succeeded_by(side, seen))
            && let Some(former) = self.live.remove(pair)
        {
            self.end(*pair, former);
        }
    }

    fn scale(&self, origin: u64) -> Scale {
        Scale {
            labels: self.parameters.labels,
            origin,
            warmup: self.parameters.warmup,
            interval: self.parameters.sample_interval.max(Span::from_nanos(1)),
            at_senders: self.parameters.at_senders,
        }
    }

    /// Turns a connection that is over into rows.
    fn end(&mut self, pair: Pair, mut connection: Box<Connection>) {
        if connection.is_empty() {
            if self.empty_rows >= self.parameters.most_empty_rows {
                self.surplus.empty += 1;
                return;
            }
            self.empty_rows += 1;
        }
        let hash = self.earlier.hasher().hash_one(pair);
        *self.earlier.entry(hash).or_insert(0) += 1;
        connection.finish();
        let scale = self.scale(self.origin.unwrap_or(0));
        self.rows.take_last(&mut connection, &scale);
    }

    /// Ends connections that have been silent for long, or closed for a while.
    fn sweep(&mut self, now: u64) {
        self.swept_at = now;
        let (idle, closing) = (self.parameters.idle.as_nanos(), CLOSING.as_nanos());
        let is_over = |connection: &Connection| {
            let silent = now.saturating_sub(connection.last);
            silent > idle || (connection.closed.is_some() && silent > closing)
        };
        let over = self
            .live
            .iter()
            .filter(|(_, connection)| is_over(connection));
        let over: Vec<Pair> = over.map(|(pair, _)| *pair).collect();
        self.end_all(over);
    }

    fn end_all(&mut self, pairs: Vec<Pair>) {
        let mut ended: Vec<_> = pairs
            .into_iter()
            .filter_map(|pair| self.live.remove(&pair).map(|connection| (pair, connection)))
            .collect();
        // In an order that does not depend on hashes.
        ended.sort_by_key(|(pair, connection)| (connection.start, pair.0));
        for (pair, connection) in ended {
            self.end(pair, connection);
        }
    }

    /// Marks the end of the packets.
    pub fn finish(&mut self) {
        if let Some(packet) = self.clock.finish() {
            self.take(&packet);
        }
        let mut all: Vec<_> = self
            .live
            .iter()
            .map(|(pair, connection)| (connection.start, *pair))
            .collect();
        all.sort_unstable_by_key(|(start, pair)| (*start, pair.0));
        self.ending = all.into_iter().map(|(_, pair)| pair).collect();
        self.take_datagrams();
        self.finished = true;
        self.owed = true;
    }

    /// Turns the flows of UDP into rows.
    fn take_datagrams(&mut self) {
        let scale = self.scale(self.origin.unwrap_or(0));
        for flow in self.datagrams.take() {
            let names = names_of(self.naming.as_ref(), flow.addresses, 0);
            self.rows.take_datagrams(&flow, &names, &scale);
        }
    }

    /// Returns all tables, some perhaps empty, if there are enough rows; after
    /// [`Measurement::finish`], the last rows. Returns tables at least once.
    pub fn poll_tables(&mut self) -> Option<Vec<(&'static str, Table)>> {
        let chunk = self.parameters.chunk_rows.max(1);
        while self.rows.count() < chunk
            && let Some(pair) = self.ending.pop_front()
        {
            if let Some(connection) = self.live.remove(&pair) {
                self.end(pair, connection);
            }
        }
        let enough = if self.finished { 1 } else { chunk };
        let due = std::mem::take(&mut self.owed) || self.rows.count() >= enough;
        let estimates = !self.estimators.is_empty();
        due.then(|| self.rows.take(self.parameters.segments, estimates))
    }

    /// Returns time zero of the tables, in nanoseconds since the beginning of 1970: the one
    /// requested, or the time of the first packet.
    pub fn origin_ns(&self) -> Option<u64> {
        self.origin
    }
    /// Returns the number of connections being followed.
    pub fn live(&self) -> usize {
        self.live.len()
    }
    /// Returns the connections left out so far because memory is bounded.
    pub const fn surplus(&self) -> Surplus {
        self.surplus
    }
    /// Returns the corrections of timestamps so far.
    pub const fn repairs(&self) -> Repairs {
        self.clock.repairs()
    }
    /// Returns the number of UDP datagrams in no row, as there were too many flows.
    pub const fn unfollowed_datagrams(&self) -> u64 {
        self.datagrams.unfollowed()
    }
}

/// Returns the tables that a measurement fills, without rows.
pub fn empty_tables(segments: bool, rate_estimates: bool) -> Vec<(&'static str, Table)> {
    Rows::new().take(segments, rate_estimates)
}

/// Returns the number of earlier connections of the pair.
fn number_of(earlier: &HashMap<u64, u32, FixedState>, pair: &Pair) -> u32 {
    let hash = earlier.hasher().hash_one(pair);
    earlier.get(&hash).copied().unwrap_or(0)
}

/// Returns the names of the two directions between the addresses.
fn names_of(naming: Option<&Naming>, addresses: [SocketAddr; 2], number: u32) -> [FlowName; 2] {
    Side::BOTH.map(|side| {
        let (source, destination) = (addresses[side as usize], addresses[side.other() as usize]);
        let given = naming.and_then(|naming| naming(source, destination));
        let (flow, instance) =
            given.unwrap_or_else(|| (format!("{source} > {destination}"), i64::from(number)));
        FlowName { flow, instance }
    })
}

fn begin(
    parameters: &Parameters,
    estimators: &Arc<[AskedEstimator]>,
    addresses: [SocketAddr; 2],
    names: [FlowName; 2],
    at: u64,
) -> Connection {
    let direction = |_| {
        let estimates = RateEstimates::new(estimators);
        Direction::new(parameters.rto_minimum, parameters.segments, estimates)
    };
    Connection::new(addresses, names, at, Side::BOTH.map(direction))
}
