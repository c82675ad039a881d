//! Verdict on a run in real time: measurements against stated bounds. A run that breaks a bound is
//! kept and marked as unreliable: its results may show the machine instead of the scenario.

use ackclock_spec::units::Span;
use std::fmt;

/// Measurements of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Packets lost outside the model: in the rings of the devices, or refused by a device.
    pub outside_drops: u64,
    /// Lateness that 99 % of the packets do not exceed, see [`Timing`](crate::timing::Timing).
    pub lateness_p99: Span,
    /// Shortest round trip of any flow that the scenario allows.
    pub base_rtt: Span,
    /// Longest time that the loop was away.
    pub longest_gap: Span,
    /// Largest packet read, in bytes.
    pub largest_packet: u64,
    /// MTU of the devices in bytes.
    pub mtu: u64,
    /// Processor time of the emulator's thread, divided by the run's time, 0 to 1.
    pub cpu_share: f64,
    /// Delays of the hosts' threads; `None` if the hosts are not ours.
    pub hosts: Option<HostWaits>,
    /// Median excess delay of the self-test's probes over the model; `None` if none was measured.
    pub probe_extra: Option<Span>,
}

/// One bound of the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Name as in a table, with the unit at its end.
    pub name: &'static str,
    /// Measured value, in the name's unit.
    pub measured: f64,
    /// Largest permitted value, in the same unit.
    pub limit: f64,
    /// True if the bound was kept.
    pub kept: bool,
    /// One sentence, whether it was kept or not.
    pub sentence: String,
}

/// All bounds, which together give the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Bounds in the order of importance.
    pub bounds: Vec<Bound>,
}

/// Delays of the threads of a run's hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostWaits {
    /// Longest wait of a host's thread; `None` if this kernel does not count it.
    pub longest: Option<Span>,
    /// Excess of each wait over what is [`bridged`], summed over both hosts, divided by the run's
    /// time.
    pub stalled_share: f64,
    /// Waits of the kernel's softirq threads for a processor, divided by the run's time; `None` if
    /// they cannot be seen.
    pub softirq_share: Option<f64>,
    /// Share of the readings due that were left out.
    pub missed_share: f64,
}

// The bounds. None was fitted to runs: each states what it follows from. docs/guides/fidelity.md
// has them as a table.

/// Lateness below this never matters: the kernel's own timers and softirqs cost as much on a real
/// path.
const LATENESS_FLOOR: Span = Span::from_millis(1);
/// Divisor of the round trip: lateness below this share does not affect what a congestion control
/// sees.
const LATENESS_SHARE_OF_RTT: u64 = 20;
/// Longest wait of the emulator or a host. Real-time throttling takes a thread off its processor
/// for 50 ms (sched_rt_runtime_us): a longer wait than this bound is that, or an overloaded
/// machine.
const LONGEST_WAIT: Span = Span::from_millis(20);
/// A tick of a kernel with 250 ticks per second: its TCP timers are no more precise.
const SHORTEST_TICK: Span = Span::from_millis(4);
const MOST_CPU: f64 = 0.9;
/// Divisor of the round trip: a host may be delayed by this share without a gap in its data.
///
/// Linux wakes a sender when a third of its send buffer is free (`sk_stream_min_wspace`: half of
/// the queued data), and makes that buffer twice the window. Then four thirds of the window are
/// queued, of which one window is in flight. So a third of a round trip's data is left to send; in
/// slow start it lasts for a sixth of a round trip, since the rate doubles. The receive buffer is
/// twice the window too, and bridges more.
const BRIDGED_SHARE_OF_RTT: u64 = 6;
/// Largest share of the time in which a host or the kernel's own threads may stand still. A flow
/// can lose no more than that share. It is a third of the 3 % by which the results of a reliable
/// run may differ from those of a quiet machine. The rest is left to the response of the congestion
/// control, and to the other host.
const MOST_STALLED: f64 = 0.01;
/// One in a hundred, as for late packets.
const MOST_MISSED: f64 = 0.01;

/// Returns the longest delay of a host's thread without a gap in its data, on a path with this
/// round trip.
pub fn bridged(base_rtt: Span) -> Span {
    LATENESS_FLOOR.max(base_rtt / BRIDGED_SHARE_OF_RTT)
}

/// Returns the longest permitted wait of the emulator or a host. After a round trip nothing is in
/// flight any more, and the next packets are a burst of a whole window, which overflows queues that
/// would otherwise not overflow.
fn longest_wait(base_rtt: Span) -> Span {
    base_rtt.clamp(SHORTEST_TICK, LONGEST_WAIT)
}

fn bound(name: &'static str, measured: f64, limit: f64, kept: bool, sentence: String) -> Bound {
    Bound {
        name,
        measured,
        limit,
        kept,
        sentence,
    }
}

/// Formats a time span, such as "1.25 ms".
fn milliseconds(span: Span) -> String {
    format!("{} ms", (span.as_seconds() * 1e6).round() / 1e3)
}

fn of_outside_drops(drops: u64) -> Bound {
    bound(
        "outside_drops",
        drops as f64,
        0.0,
        drops == 0,
        format!("{drops} packets were lost outside the emulated path (limit: 0)."),
    )
}

fn of_lateness(p99: Span, most: Span) -> Bound {
    bound(
        "lateness_p99_s",
        p99.as_seconds(),
        most.as_seconds(),
        p99 <= most,
        format!(
            "1 packet in 100 left {} late or more (limit: {}).",
            milliseconds(p99),
            milliseconds(most)
        ),
    )
}

fn of_gap(longest: Span, most: Span) -> Bound {
    bound(
        "longest_gap_s",
        longest.as_seconds(),
        most.as_seconds(),
        longest < most,
        format!(
            "The emulator paused for up to {} (limit: {}).",
            milliseconds(longest),
            milliseconds(most)
        ),
    )
}

fn of_host_wait(longest: Option<Span>, most: Span) -> Bound {
    bound(
        "host_wait_max_s",
        longest.map_or(f64::NAN, Span::as_seconds),
        most.as_seconds(),
        longest.is_some_and(|longest| longest < most),
        match longest {
            Some(longest) => format!(
                "A host waited up to {} for a processor (limit: {}).",
                milliseconds(longest),
                milliseconds(most)
            ),
            None => "The kernel does not report how long the hosts waited for a processor.".into(),
        },
    )
}

/// Returns the bound of a share of the run.
fn of_share(name: &'static str, sentence: &str, share: f64, most: f64) -> Bound {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (has, may) = (percent(share), percent(most));
    bound(
        name,
        share,
        most,
        share <= most,
        format!("{sentence} {has} (limit: {may})."),
    )
}

fn of_hosts(waits: &HostWaits, base_rtt: Span) -> Vec<Bound> {
    let softirqs = waits.softirq_share.map(|share| {
        let sentence = "The kernel's softirq threads waited for this share of the run:";
        of_share("softirq_wait_share", sentence, share, MOST_STALLED)
    });
    let stalled = "The hosts paused longer than buffers bridge for this share of the run:";
    let missed = "Readings of tcp_info skipped:";
    let always = [
        of_host_wait(waits.longest, longest_wait(base_rtt)),
        of_share(
            "host_stalled_share",
            stalled,
            waits.stalled_share,
            MOST_STALLED,
        ),
        of_share(
            "missed_readings_share",
            missed,
            waits.missed_share,
            MOST_MISSED,
        ),
    ];
    always.into_iter().chain(softirqs).collect()
}

fn of_packets(largest: u64, mtu: u64) -> Bound {
    bound(
        "largest_packet_bytes",
        largest as f64,
        mtu as f64,
        largest <= mtu,
        format!("The largest packet had {largest} bytes (limit: {mtu})."),
    )
}

fn of_cpu(share: f64) -> Bound {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    bound(
        "cpu_share",
        share,
        MOST_CPU,
        share < MOST_CPU,
        format!(
            "The emulator used {} of a processor (limit: {}).",
            percent(share),
            percent(MOST_CPU)
        ),
    )
}

fn of_probes(extra_p50: Span, most: Span) -> Bound {
    bound(
        "probe_extra_p50_s",
        extra_p50.as_seconds(),
        most.as_seconds(),
        extra_p50 <= most,
        format!(
            "Half of the probes took {} longer than in the scenario (limit: {}).",
            milliseconds(extra_p50),
            milliseconds(most)
        ),
    )
}

impl Verdict {
    /// Compares the measurements with the bounds.
    pub fn of(measured: &Measured) -> Self {
        let Measured {
            outside_drops,
            lateness_p99,
            base_rtt,
            longest_gap,
            largest_packet,
            mtu,
            cpu_share,
            hosts,
            probe_extra,
        } = *measured;
        let late = LATENESS_FLOOR.max(base_rtt / LATENESS_SHARE_OF_RTT);
        let mut bounds = vec![
            of_outside_drops(outside_drops),
            of_lateness(lateness_p99, late),
            of_gap(longest_gap, longest_wait(base_rtt)),
            of_packets(largest_packet, mtu),
            of_cpu(cpu_share),
        ];
        bounds.extend(hosts.iter().flat_map(|waits| of_hosts(waits, base_rtt)));
        bounds.extend(probe_extra.map(|extra| of_probes(extra, late)));
        Verdict { bounds }
    }

    /// True if every bound was kept.
    pub fn is_reliable(&self) -> bool {
        self.bounds.iter().all(|bound| bound.kept)
    }
    /// Yields the bounds that were not kept.
    pub fn broken(&self) -> impl Iterator<Item = &Bound> {
        self.bounds.iter().filter(|bound| !bound.kept)
    }
}

/// Formats the verdict: "reliable", or "unreliable: " with the reasons.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_reliable() {
            return f.write_str("reliable");
        }
        f.write_str("unreliable:")?;
        self.broken()
            .try_for_each(|bound| write!(f, " {}", bound.sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: HostWaits = HostWaits {
        longest: Some(Span::from_millis(3)),
        stalled_share: 0.002,
        softirq_share: Some(0.003),
        missed_share: 0.0,
    };

    const FINE: Measured = Measured {
        outside_drops: 0,
        lateness_p99: Span::from_micros(50),
        base_rtt: Span::from_millis(20),
        longest_gap: Span::from_millis(3),
        largest_packet: 1500,
        mtu: 1500,
        cpu_share: 0.74,
        hosts: Some(HOSTS),
        probe_extra: Some(Span::from_micros(30)),
    };

    #[test]
    fn each_bound_alone_decides() {
        assert!(Verdict::of(&FINE).is_reliable());
        assert_eq!(Verdict::of(&FINE).to_string(), "reliable");
        let loop_alone = Measured {
            probe_extra: None,
            hosts: None,
            ..FINE
        };
        assert_eq!(Verdict::of(&loop_alone).bounds.len(), 5);
        let hosts = |waits| Measured {
            hosts: Some(waits),
            ..FINE
        };
        let millis = Span::from_millis;
        let broken = [
            (
                "outside_drops",
                Measured {
                    outside_drops: 1,
                    ..FINE
                },
            ),
            (
                "lateness_p99_s",
                Measured {
                    lateness_p99: Span::from_nanos(1_000_001),
                    ..FINE
                },
            ),
            (
                "longest_gap_s",
                Measured {
                    longest_gap: millis(20),
                    ..FINE
                },
            ),
            (
                "largest_packet_bytes",
                Measured {
                    largest_packet: 1501,
                    ..FINE
                },
            ),
            (
                "cpu_share",
                Measured {
                    cpu_share: 0.9,
                    ..FINE
                },
            ),
            (
                "host_wait_max_s",
                hosts(HostWaits {
                    longest: Some(millis(20)),
                    ..HOSTS
                }),
            ),
            (
                "host_wait_max_s",
                hosts(HostWaits {
                    longest: None,
                    ..HOSTS
                }),
            ),
            (
                "host_stalled_share",
                hosts(HostWaits {
                    stalled_share: 0.0101,
                    ..HOSTS
                }),
            ),
            (
                "softirq_wait_share",
                hosts(HostWaits {
                    softirq_share: Some(0.0101),
                    ..HOSTS
                }),
            ),
            (
                "missed_readings_share",
                hosts(HostWaits {
                    missed_share: 0.0101,
                    ..HOSTS
                }),
            ),
            (
                "probe_extra_p50_s",
                Measured {
                    probe_extra: Some(millis(2)),
                    ..FINE
                },
            ),
        ];
        for (name, measured) in broken {
            let verdict = Verdict::of(&measured);
            let names: Vec<_> = verdict.broken().map(|bound| bound.name).collect();
            assert_eq!(names, [name]);
            assert!(!verdict.is_reliable() && verdict.bounds.len() == 10);
            assert!(verdict.to_string().starts_with("unreliable: "), "{verdict}");
        }
    }

    #[test]
    fn waits_are_held_to_the_round_trip() {
        let waited = |millis, base| Measured {
            longest_gap: Span::from_millis(millis),
            hosts: Some(HostWaits {
                longest: Some(Span::from_millis(millis)),
                ..HOSTS
            }),
            base_rtt: Span::from_millis(base),
            ..FINE
        };
        for (millis, base, kept) in [
            (9, 10, true),
            (10, 10, false),
            (3, 1, true),
            (4, 1, false),
            (20, 100, false),
        ] {
            let verdict = Verdict::of(&waited(millis, base));
            let broken: Vec<_> = verdict.broken().map(|bound| bound.name).collect();
            let expected = if kept {
                vec![]
            } else {
                vec!["longest_gap_s", "host_wait_max_s"]
            };
            assert_eq!(broken, expected, "{millis} ms of {base} ms");
        }
        assert_eq!(bridged(Span::from_millis(60)), Span::from_millis(10));
        assert_eq!(bridged(Span::from_millis(1)), Span::from_millis(1));
    }

    #[test]
    fn the_verdict_names_what_was_broken() {
        let verdict = Verdict::of(&Measured {
            hosts: Some(HostWaits {
                longest: Some(Span::from_millis(31)),
                stalled_share: 0.123,
                softirq_share: None,
                ..HOSTS
            }),
            ..FINE
        });
        assert_eq!(
            verdict.to_string(),
            "unreliable: A host waited up to 31 ms for a processor (limit: 20 ms). \
             The hosts paused longer than buffers bridge for this share of the run: \
             12.3 % (limit: 1.0 %)."
        );
    }

    #[test]
    fn lateness_may_grow_with_the_round_trip() {
        let late = |millis| Measured {
            lateness_p99: Span::from_millis(5),
            base_rtt: Span::from_millis(millis),
            ..FINE
        };
        assert!(Verdict::of(&late(100)).is_reliable());
        let verdict = Verdict::of(&late(99));
        assert!(!verdict.is_reliable());
        assert_eq!(
            verdict.bounds[1].sentence,
            "1 packet in 100 left 5 ms late or more (limit: 4.95 ms)."
        );
    }
}
