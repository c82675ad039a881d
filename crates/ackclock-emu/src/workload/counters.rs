//! Counters of loss recovery that the kernel keeps for a network namespace (proc(5),
//! `/proc/net/snmp` and `/proc/net/netstat`), which `nstat` shows.

use super::plan::Plan;
use ackclock_core::result::COUNTERS;
use ackclock_spec::units::Time;
use serde::{Deserialize, Serialize};
use std::fs;

/// Files with the counters of the calling thread's network namespace.
const FILES: [&str; 2] = [
    "/proc/thread-self/net/snmp",
    "/proc/thread-self/net/netstat",
];
/// Groups of counters within the files.
const GROUPS: [&str; 2] = ["Tcp:", "TcpExt:"];

/// A counter of a host over a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Its name, one of [`COUNTERS`].
    pub name: String,
    /// Count from the beginning of the run on.
    pub value: u64,
    /// Count from the end of the warm-up on.
    pub measured_value: u64,
}

/// Values of the counters at one time, in the order of [`COUNTERS`]; `None` if the kernel lacks
/// one.
type Reading = Vec<Option<u64>>;

/// Counts of the calling thread's network namespace during a run.
#[derive(Debug)]
pub(super) struct Counters {
    warmup: Time,
    begin: Reading,
    warm: Option<Reading>,
}

impl Counters {
    /// Starts counting; the run begins now.
    pub(super) fn start(plan: &Plan) -> Self {
        Counters {
            warmup: Time::from_nanos(plan.warmup_ns),
            begin: read(),
            warm: None,
        }
    }

    /// Returns the time of the next [`Counters::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Time {
        match self.warm {
            None => self.warmup,
            Some(_) => Time::NEVER,
        }
    }

    /// Reads the counters if the warm-up has just ended.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if now >= self.poll_timeout() {
            self.warm = Some(read());
        }
    }

    /// Returns the counts up to now.
    pub(super) fn finish(self) -> Vec<Counted> {
        let end = read();
        let warm = self.warm.as_ref().unwrap_or(&end);
        let counted = |(number, (name, _)): (usize, &(&str, &str))| {
            let since = |reading: &Reading| Some(end[number]?.saturating_sub(reading[number]?));
            Some(Counted {
                name: (*name).to_owned(),
                value: since(&self.begin)?,
                measured_value: since(warm)?,
            })
        };
        COUNTERS.iter().enumerate().filter_map(counted).collect()
    }
}

/// Reads the counters; all are unknown if the kernel does not show them.
fn read() -> Reading {
    let texts = FILES.map(|file| fs::read_to_string(file).unwrap_or_default());
    values(&texts.concat())
}

/// Parses the text of the files. Each group of counters takes two lines, of names and of values.
fn values(text: &str) -> Reading {
    let mut reading = vec![None; COUNTERS.len()];
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        if !pairs
            .next()
            .is_some_and(|(group, same)| group == same && GROUPS.contains(&group))
        {
            continue;
        }
        for (name, value) in pairs {
            if let Some(number) = COUNTERS.iter().position(|(known, _)| *known == name) {
                reading[number] = value.parse().ok();
            }
        }
    }
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of what Linux 6.18 shows, and a group that has a counter of the same name.
    const TEXT: &str = "\
Ip: Forwarding DefaultTTL RetransSegs
Ip: 2 64 99
Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs InErrs
Tcp: 1 -1 3625 17 0
TcpExt: SyncookiesSent TCPSackRecovery TCPTimeouts TCPLossProbes TCPNewHere
TcpExt: 0 5 2 18446744073709551615 7
IpExt: InNoRoutes TCPTimeouts
IpExt: 0 99
";

    fn value(reading: &Reading, name: &str) -> Option<u64> {
        let number = COUNTERS.iter().position(|(known, _)| *known == name);
        reading[number.unwrap()]
    }

    #[test]
    fn counters_are_found_by_group_and_name() {
        let reading = values(TEXT);
        for (name, expected) in [
            ("RetransSegs", Some(17)),
            ("TCPSackRecovery", Some(5)),
            ("TCPTimeouts", Some(2)),
            ("TCPLossProbes", Some(u64::MAX)),
            ("TCPSpuriousRTOs", None),
        ] {
            assert_eq!(value(&reading, name), expected, "{name}");
        }
        assert_eq!(reading.iter().flatten().count(), 4);
    }

    #[test]
    fn text_that_is_cut_or_absent_says_nothing_wrong() {
        assert_eq!(values("").iter().flatten().count(), 0);
        let cut = &TEXT[..TEXT.find(" 5 2").unwrap()];
        let reading = values(cut);
        assert_eq!(value(&reading, "RetransSegs"), Some(17));
        assert_eq!(value(&reading, "TCPTimeouts"), None);
        let crossed = values("Tcp: RetransSegs\nTcpExt: 4\n");
        assert_eq!(value(&crossed, "RetransSegs"), None);
    }

    #[test]
    fn the_run_and_the_measured_time_are_counted_apart() {
        let reading = |value| {
            let counted = |(name, _): &(&str, &str)| (*name != "TCPTSReorder").then_some(value);
            COUNTERS.iter().map(counted).collect::<Reading>()
        };
        let before = read();
        let mut counters = Counters {
            warmup: Time::from_nanos(10),
            begin: reading(0),
            warm: None,
        };
        counters.handle_timeout(Time::from_nanos(9));
        assert_eq!(counters.poll_timeout(), Time::from_nanos(10));
        counters.handle_timeout(Time::from_nanos(11));
        assert_eq!(counters.poll_timeout(), Time::NEVER);
        counters.warm = Some(reading(u64::MAX));
        let counted = counters.finish();
        assert!(counted.iter().all(|counter| counter.name != "TCPTSReorder"));
        let after = read();
        for counter in &counted {
            let bounds = (value(&before, &counter.name), value(&after, &counter.name));
            assert!(
                bounds.0 <= Some(counter.value) && Some(counter.value) <= bounds.1,
                "{counter:?}"
            );
            assert_eq!(counter.measured_value, 0);
        }
    }

    /// Every counter in the list is one of Linux, or the list is wrong.
    #[test]
    fn this_kernel_has_every_counter() {
        let reading = read();
        let missing: Vec<&str> = COUNTERS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| value(&reading, name).is_none())
            .collect();
        assert_eq!(missing, [""; 0]);
    }
}
