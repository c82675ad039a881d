//! Whether a run in real time can be trusted: what was measured against stated bounds. A run that breaks one is kept and marked; its figures
//! say what the machine did, not what the scenario describes.

use ackclock_core::units::Span;
use std::fmt;

/// What is measured of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Packets lost outside the model: in the rings of the devices, or refused by one when written.
    pub outside_drops: u64,
    /// The lateness of 99 in 100 packets, see [`Timing`](crate::timing::Timing).
    pub lateness_p99: Span,
    /// The shortest round trip of any flow that the scenario allows.
    pub base_rtt: Span,
    /// The longest time the loop was away.
    pub longest_gap: Span,
    /// The largest packet read, in bytes.
    pub largest_packet: u64,
    /// What a device may carry, in bytes.
    pub mtu: u64,
    /// Processor time of the emulator's thread over the run's time, 0 to 1.
    pub cpu_share: f64,
    /// By how much half of the self-test's probes exceeded the delay of the model at most; `None` if none was measured.
    pub probe_extra: Option<Span>,
}

/// One bound of the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// As in a table, the unit at its end.
    pub name: &'static str,
    /// What was measured, in the name's unit.
    pub measured: f64,
    /// What it may be at most, in the same unit.
    pub limit: f64,
    /// Whether it was kept.
    pub kept: bool,
    /// One sentence, kept or not.
    pub sentence: String,
}

/// Every bound, and what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// In the order in which they matter.
    pub bounds: Vec<Bound>,
}

/// Lateness below this never matters: that is what the kernel's own timers and softirqs cost a real path.
const LATENESS_FLOOR: Span = Span::from_millis(1);
/// Lateness below this share of the round trip does not move what a congestion control sees.
const LATENESS_SHARE_OF_RTT: u64 = 20;
/// Real-time throttling takes a thread off its processor for 50 ms (sched_rt_runtime_us): a longer gap than this is that, or an overloaded machine.
const LONGEST_GAP: Span = Span::from_millis(20);
const MOST_CPU: f64 = 0.9;

fn bound(name: &'static str, measured: f64, limit: f64, kept: bool, sentence: String) -> Bound {
    Bound {
        name,
        measured,
        limit,
        kept,
        sentence,
    }
}

/// "1.25 ms"
fn milliseconds(span: Span) -> String {
    format!("{} ms", (span.as_seconds() * 1e6).round() / 1e3)
}

fn of_outside_drops(drops: u64) -> Bound {
    bound(
        "outside_drops",
        drops as f64,
        0.0,
        drops == 0,
        format!("{drops} packets were lost outside the model (none may be)."),
    )
}

fn of_lateness(p99: Span, most: Span) -> Bound {
    bound(
        "lateness_p99_s",
        p99.as_seconds(),
        most.as_seconds(),
        p99 <= most,
        format!(
            "1 packet in 100 was written {} late or more (at most {}).",
            milliseconds(p99),
            milliseconds(most)
        ),
    )
}

fn of_gap(longest: Span) -> Bound {
    bound(
        "longest_gap_s",
        longest.as_seconds(),
        LONGEST_GAP.as_seconds(),
        longest < LONGEST_GAP,
        format!(
            "The emulator was away for {} at the longest (less than {}).",
            milliseconds(longest),
            milliseconds(LONGEST_GAP)
        ),
    )
}

fn of_packets(largest: u64, mtu: u64) -> Bound {
    bound(
        "largest_packet_bytes",
        largest as f64,
        mtu as f64,
        largest <= mtu,
        format!("The largest packet had {largest} bytes (at most {mtu})."),
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
            "The emulator used {} of a processor (less than {}).",
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
            "Half of the probes took {} longer than the scenario says (at most {}).",
            milliseconds(extra_p50),
            milliseconds(most)
        ),
    )
}

impl Verdict {
    /// Compares what was measured with the bounds.
    pub fn of(measured: &Measured) -> Self {
        let Measured {
            outside_drops,
            lateness_p99,
            base_rtt,
            longest_gap,
            largest_packet,
            mtu,
            cpu_share,
            probe_extra,
        } = *measured;
        let late = LATENESS_FLOOR.max(base_rtt / LATENESS_SHARE_OF_RTT);
        let mut bounds = vec![
            of_outside_drops(outside_drops),
            of_lateness(lateness_p99, late),
            of_gap(longest_gap),
            of_packets(largest_packet, mtu),
            of_cpu(cpu_share),
        ];
        bounds.extend(probe_extra.map(|extra| of_probes(extra, late)));
        Verdict { bounds }
    }

    /// Whether every bound was kept.
    pub fn is_reliable(&self) -> bool {
        self.bounds.iter().all(|bound| bound.kept)
    }
    /// The bounds that were not kept.
    pub fn broken(&self) -> impl Iterator<Item = &Bound> {
        self.bounds.iter().filter(|bound| !bound.kept)
    }
}

/// "reliable", or "unreliable: " and why.
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

    const FINE: Measured = Measured {
        outside_drops: 0,
        lateness_p99: Span::from_micros(50),
        base_rtt: Span::from_millis(20),
        longest_gap: Span::from_millis(3),
        largest_packet: 1500,
        mtu: 1500,
        cpu_share: 0.74,
        probe_extra: Some(Span::from_micros(30)),
    };

    #[test]
    fn each_bound_alone_decides() {
        assert!(Verdict::of(&FINE).is_reliable());
        assert_eq!(Verdict::of(&FINE).to_string(), "reliable");
        let without_probes = Measured {
            probe_extra: None,
            ..FINE
        };
        assert_eq!(Verdict::of(&without_probes).bounds.len(), 5);
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
            assert!(!verdict.is_reliable() && verdict.bounds.len() == 6);
            assert!(verdict.to_string().starts_with("unreliable: "), "{verdict}");
        }
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
            "1 packet in 100 was written 5 ms late or more (at most 4.95 ms)."
        );
    }
}
