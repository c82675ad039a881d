//! A receiver whose application reads slowly: its window, and the probes of the sender.

use super::*;
use crate::endpoint::parameters::WindowRule;
use crate::endpoint::{FlowControlCounts, Receiver, SegmentKind};
use crate::packet::{AckOptions, Ecn};
use ackclock_spec::quantity::{OptionalWindow, Segments};
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: Span = Span::from_millis(1);

/// An ACK on its way: when it arrives, itself, its blocks and its options.
type Answer = (
    Time,
    Acknowledgement<'static>,
    Option<SackBlocks>,
    Option<AckOptions>,
);

/// Sender and receiver with a delay each way, in order. Checks each segment against the right edge
/// of the largest window that has come back, and the receiver's buffer against its size.
struct Loop {
    d: Dialogue,
    receiver: Receiver,
    delay: Span,
    forward: VecDeque<(Time, Segment)>,
    back: VecDeque<Answer>,
    /// Right edge of the window, in bytes.
    edge: u64,
    capacity: u64,
    /// Windows of the ACKs that the receiver has sent, with the time of each.
    windows: Vec<(Time, u64)>,
    /// Times at which probes were sent.
    probes: Vec<Time>,
    /// Time of each event of the window.
    events: Vec<(Time, SenderEventKind)>,
    loses_ack: Box<dyn FnMut(Time, u64) -> bool>,
    loses_data: Box<dyn FnMut() -> bool>,
}

impl Loop {
    fn new(parameters: TcpParameters, cwnd: u64, delay: Span) -> Self {
        let capacity = parameters
            .receiver
            .receive_window
            .bytes(Bytes(MSS))
            .unwrap()
            .0;
        Loop {
            d: Dialogue::with(parameters, cwnd, None, false),
            receiver: Receiver::new(&parameters),
            delay,
            forward: VecDeque::new(),
            back: VecDeque::new(),
            edge: capacity,
            capacity,
            windows: Vec::new(),
            probes: Vec::new(),
            events: Vec::new(),
            loses_ack: Box::new(|_, _| false),
            loses_data: Box::new(|| false),
        }
    }

    fn write(&mut self, bytes: u64) {
        self.d.sender.write(Write::Bytes(Bytes(bytes)));
    }

    fn send(&mut self) {
        let now = self.d.now;
        while let Some(segment) = self.d.sender.poll_transmit(now) {
            if segment.kind == SegmentKind::WindowProbe {
                self.probes.push(now);
                assert_eq!(segment.length, Bytes::ZERO);
            } else if segment.kind == SegmentKind::Data {
                let end = segment.sequence * MSS + segment.length.0;
                assert!(end <= self.edge, "{end} is beyond the edge {}", self.edge);
            }
            if !(self.loses_data)() {
                self.forward.push_back((now + self.delay, segment));
            }
        }
        let kinds = self.d.sender.take_events().map(|event| event.kind);
        self.events.extend(kinds.map(|kind| (now, kind)));
        while let Some(ack) = self.receiver.poll_transmit(now) {
            let options = ack.options.copied();
            let window = options.and_then(|options| options.window);
            if let Some(Bytes(window)) = window {
                self.windows.push((now, window));
            }
            if !(self.loses_ack)(now, window.map_or(0, |window| window.0)) {
                let at = now + self.delay;
                self.back
                    .push_back((at, ack.without_options(), ack.sacks.copied(), options));
            }
        }
    }

    /// Returns the time of the next event.
    fn next(&self) -> Time {
        let arrival = self.forward.front().map_or(Time::NEVER, |(at, _)| *at);
        let answer = self.back.front().map_or(Time::NEVER, |(at, ..)| *at);
        let timers = self
            .d
            .sender
            .poll_timeout()
            .min(self.receiver.poll_timeout());
        arrival.min(answer).min(timers)
    }

    fn step(&mut self) {
        let now = self.next();
        assert!(!now.is_never(), "stuck at {:?}", self.d.sender);
        self.d.now = now;
        if self.forward.front().is_some_and(|(at, _)| *at == now) {
            let (_, segment) = self.forward.pop_front().unwrap();
            self.receiver.handle_segment(now, &segment, Ecn::NotCapable);
        } else if self.back.front().is_some_and(|(at, ..)| *at == now) {
            let (_, ack, sacks, options) = self.back.pop_front().unwrap();
            let window = options.and_then(|options| options.window);
            let from = ack.cumulative * MSS;
            self.edge = self
                .edge
                .max(window.map_or(0, |Bytes(window)| from + window));
            let ack = Acknowledgement {
                sacks: sacks.as_ref(),
                options: options.as_ref(),
                ..ack
            };
            self.d.sender.handle_acknowledgement(now, &ack);
        } else {
            self.d.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
        }
        self.send();
        let unread = self.receiver.statistics().delivered.0 - self.read();
        assert!(
            unread <= self.capacity,
            "{unread} bytes in {}",
            self.capacity
        );
    }

    fn run_until(&mut self, end: Time) {
        self.send();
        while self.next() <= end {
            self.step();
        }
        self.d.now = end;
    }

    fn read(&self) -> u64 {
        self.receiver.read(self.d.now).0
    }

    fn counts(&self) -> FlowControlCounts {
        self.d.sender.flow_control_counts(self.d.now).unwrap()
    }
}

const fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// SACK recovery with a receiver of `window` segments that is read at `rate` Mbit/s.
fn slow(rule: WindowRule, window: u64, rate: f64) -> TcpParameters {
    let mut parameters = plain(LossRecovery::Sack);
    parameters.receiver.receive_window = OptionalWindow::Segments(window);
    parameters.receiver.read_rate = Some(BitRate::from_mbit_per_s(rate));
    parameters.receiver.window_rule = rule;
    if rule == WindowRule::Linux {
        parameters.timer.rto_minimum = MS * 200;
        parameters.growth.idle_restart = IdleRestart::Decay;
    }
    parameters
}

const RULES: [WindowRule; 2] = [WindowRule::Linux, WindowRule::Rfc9293];

/// One way takes 5 ms and nothing else limits: without the window, data would leave at 20 Mbit/s or
/// more.
#[test]
fn a_slow_reader_limits_the_sender_to_its_rate() {
    for rule in RULES {
        for (window, rate) in [(4, 1.0), (20, 8.0), (60, 0.1), (2, 0.5)] {
            let mut it = Loop::new(slow(rule, window, rate), 100, MS * 5);
            it.write(1 << 30);
            it.run_until(at(40_000));
            let goodput = it.read() as f64 * 8.0 / 40.0 / 1e6;
            // It idles for less than two round trips in a second, and at the beginning.
            assert!(
                goodput <= rate && goodput > 0.97 * rate,
                "{rule:?} {window} {rate}: {goodput}"
            );
            assert!(it.counts().limited > Span::from_millis(30_000));
        }
    }
}

/// The congestion window grows from 10 to 60 segments, which arrive at once.
#[test]
fn a_reader_that_is_fast_enough_is_not_felt() {
    for rule in RULES {
        let mut it = Loop::new(slow(rule, 200, 1000.0), 10, MS * 5);
        it.write(1 << 30);
        it.run_until(at(500));
        assert_eq!(it.counts(), FlowControlCounts::default());
        assert!(it.windows.len() > 500);
    }
}

/// Data that nobody reads fills the buffer as far as whole segments can, and not more.
#[test]
fn a_reader_that_stops_closes_the_window() {
    for rule in RULES {
        let mut it = Loop::new(slow(rule, 10, 0.0), 100, MS * 5);
        it.write(1 << 20);
        it.run_until(at(30_000));
        assert_eq!(it.receiver.statistics().delivered, Bytes(10 * MSS));
        assert_eq!((it.read(), it.windows.last().unwrap().1), (0, 0));
        let counts = it.counts();
        assert_eq!(
            (counts.closings, counts.probes),
            (1, it.probes.len() as u64)
        );
        assert_eq!(it.d.sender.statistics().timeouts, 0);
        assert_eq!(it.d.sender.statistics().retransmitted_segments, 0);
    }
}

/// Probes of Linux: 200 ms after the window has closed, and each answer begins a doubled wait. The
/// receiver answers once in 500 ms, so the second one (400 ms and a round trip later) has no
/// answer, and the third comes 800 ms after it.
#[test]
fn linux_asks_after_200_ms_and_waits_twice_as_long_each_time() {
    let mut it = Loop::new(slow(WindowRule::Linux, 2, 0.0), 100, MS * 5);
    it.write(1 << 20);
    it.run_until(at(20_000));
    // Data at 0, its ACK (of two segments) at 10 ms.
    let waits = [200, 10 + 400, 800, 10 + 1600, 10 + 3200, 10 + 6400];
    let mut expected = vec![at(10)];
    for wait in waits {
        expected.push(*expected.last().unwrap() + MS * wait);
    }
    assert_eq!(it.probes, expected[1..]);
    let closed = it
        .events
        .iter()
        .filter(|(_, kind)| *kind == SenderEventKind::WindowClosed);
    assert_eq!(closed.map(|(at, _)| *at).collect::<Vec<_>>(), [at(10)]);
}

#[test]
fn the_time_between_probes_ends_at_the_longest_timeout() {
    let mut parameters = slow(WindowRule::Linux, 2, 0.0);
    parameters.timer.rto_maximum = MS * 120_000;
    let mut it = Loop::new(parameters, 100, MS * 5);
    it.write(1 << 20);
    it.run_until(at(3_600_000));
    let last = &it.probes[it.probes.len() - 2..];
    assert_eq!(last[1].since(last[0]), MS * 120_010);
}

/// RFC 9293 section 3.8.6.1: after a retransmission timeout, then exponentially later. RFC 6298
/// makes that a second.
#[test]
fn the_rfcs_ask_after_a_retransmission_timeout() {
    let mut it = Loop::new(slow(WindowRule::Rfc9293, 2, 0.0), 100, MS * 5);
    it.write(1 << 20);
    it.run_until(at(8_000));
    assert_eq!(
        it.probes,
        [at(1010), at(1010 + 2010), at(1010 + 2010 + 4010)]
    );
}

/// The window closes, the reader frees it, and every ACK that says so before a probe is lost.
#[test]
fn a_probe_recovers_a_lost_window_update() {
    for rule in RULES {
        let run = |deaf: std::ops::Range<Time>| {
            let mut it = Loop::new(slow(rule, 4, 0.1), 100, MS * 5);
            it.loses_ack = Box::new(move |now, _| deaf.contains(&now));
            it.write(12 * MSS);
            it.d.sender.close();
            it.send();
            while !it.d.sender.is_finished() {
                it.step();
            }
            let again = it.d.sender.statistics().retransmitted_segments;
            (it.probes.len(), again, it.d.now)
        };
        let (probes, again, heard) = run(at(0)..at(0));
        assert_eq!((probes, again), (0, 0), "{rule:?}: updates come in time");
        let (probes, again, end) = run(at(20)..at(900));
        assert!(probes >= 1 && end > heard, "{rule:?}");
        assert_eq!(again, 0, "{rule:?}: nothing was lost but updates");
    }
}

/// The first update says so much: a sixteenth of the buffer or a segment, whichever is more
/// (Linux), or a segment (RFC 9293).
#[test]
fn an_update_comes_when_it_is_worth_it() {
    for (rule, window, least) in [
        (WindowRule::Linux, 64, 4 * MSS),
        (WindowRule::Linux, 8, MSS),
        (WindowRule::Rfc9293, 64, MSS),
        (WindowRule::Rfc9293, 8, MSS),
    ] {
        let mut it = Loop::new(slow(rule, window, 0.8), 1000, MS * 5);
        it.write(1 << 30);
        it.run_until(at(3_000));
        let closed = it
            .windows
            .iter()
            .position(|(_, window)| *window < MSS)
            .unwrap();
        let (_, first) = it.windows[closed + 1];
        assert_eq!(first, least, "{rule:?} {window}");
    }
}

/// The time after which Linux restarts slowly counts from what the application writes
/// (`tcp_slow_start_after_idle_check`), so that a closed window does not count as idle.
#[test]
fn linux_does_not_count_a_closed_window_as_idle() {
    for (rule, restarts) in [(WindowRule::Linux, false), (WindowRule::Rfc9293, true)] {
        let mut parameters = slow(rule, 4, 0.005);
        parameters.growth.idle_restart = match rule {
            WindowRule::Linux => IdleRestart::Decay,
            WindowRule::Rfc9293 => IdleRestart::InitialWindow,
        };
        let mut it = Loop::new(parameters, 100, MS * 5);
        it.write(1 << 20);
        it.run_until(at(40_000));
        let restarted = it
            .events
            .iter()
            .any(|(_, kind)| *kind == SenderEventKind::IdleRestart);
        assert!(it.counts().closings > 3);
        assert_eq!(restarted, restarts, "{rule:?}");
    }
}

/// The short end of a transfer fits where a full segment does not.
#[test]
fn the_last_segment_needs_only_its_own_length() {
    let mut parameters = slow(WindowRule::Linux, 3, 0.0);
    parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(2 * MSS + 100));
    let mut it = Loop::new(parameters, 100, MS * 5);
    it.write(2 * MSS + 100);
    it.d.sender.close();
    it.run_until(at(100));
    assert_eq!(it.receiver.statistics().delivered, Bytes(2 * MSS + 100));
    assert_eq!(it.counts().closings, 0);
}

/// The counts add up: what limits the sender is the time without the few round trips in which it is
/// not, and closed times are a part of it.
#[test]
fn the_time_that_is_limited_is_counted_once() {
    let mut it = Loop::new(slow(WindowRule::Linux, 10, 0.5), 100, MS * 5);
    it.write(1 << 30);
    let mut before = FlowControlCounts::default();
    for second in 1..=20 {
        it.run_until(at(1000 * second));
        let counts = it.counts();
        let grown = counts.limited.as_nanos() - before.limited.as_nanos();
        assert!(grown <= 1_000_000_000);
        assert!(second == 1 || grown > 900_000_000, "{grown}");
        assert!(counts.closed <= counts.limited);
        before = counts;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, everything arrives, is read, and is never sent beyond the advertised edge
    /// (which the loop checks at each segment).
    #[test]
    fn a_transfer_is_read_whole_whatever_is_lost(
        recovery in proptest::sample::select(&[
            LossRecovery::TimeoutOnly,
            LossRecovery::Reno,
            LossRecovery::Newreno,
            LossRecovery::Sack,
            LossRecovery::Rack,
        ]),
        rule in proptest::sample::select(&RULES),
        bytes in 1u64..40_000,
        window in 1000u64..20_000,
        rate in 0.02f64..20.0,
        loss in 0.0..0.4f64,
        burst in 0u32..3,
        every in 1u32..3,
        linux in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut parameters = slow(rule, 1, rate);
        parameters.receiver.receive_window = OptionalWindow::Bytes(Bytes(window));
        parameters.recovery.algorithm = recovery;
        parameters.receiver.delayed_ack.every = Segments(every);
        parameters.sending.max_burst = Segments(burst);
        if recovery == LossRecovery::Rack {
            parameters.recovery.after_timeout = AfterTimeout::Scoreboard;
            parameters.recovery.tail_loss_probe = true;
        }
        if linux {
            parameters.timer.timer_tick = MS * 4;
            parameters.sending.segmentation_offload = true;
            parameters.receiver.delayed_ack.beyond_hole = MS;
        }
        let mut it = Loop::new(parameters, 4, MS * 5);
        let mut draws = Streams::new(seed, 0).stream("loss");
        let mut others = Streams::new(seed, 1).stream("loss");
        it.loses_data = Box::new(move || draws.uniform() < loss);
        it.loses_ack = Box::new(move |_, _| others.uniform() < loss);
        it.write(bytes);
        it.d.sender.close();
        it.send();
        for _ in 0..100_000 {
            if it.d.sender.is_finished() {
                break;
            }
            it.step();
        }
        prop_assert!(it.d.sender.is_finished(), "no end in sight: {:?}", it.d.sender);
        prop_assert_eq!(it.receiver.statistics().delivered, Bytes(bytes));
        let end = it.receiver.read_at(it.d.now);
        prop_assert_eq!(it.receiver.read(end), Bytes(bytes));
    }
}
