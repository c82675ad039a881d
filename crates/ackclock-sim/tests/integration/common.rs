//! Scenarios of a few seconds, and the comparison of their tables.

use ackclock_core::result::{Column, Table};
use ackclock_scenario::Scenario;
use ackclock_spec::files::NoFiles;

pub const DUMBBELL: &str = r#"
schema = 1
name = "dumbbell"
duration = "6 s"
warmup = "1.3 s"
sample_interval = "100 ms"

[[hops]]
name = "access"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "3 ms"

[[hops]]
name = "bottleneck"
link = { kind = "constant", rate = "6 Mbit/s" }
queue = { kind = "droptail", limit = "25 packets" }
delay = "10 ms"

[[hops]]
name = "exit"
scope = "per_flow"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "1 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "6 Mbit/s" }
queue = { kind = "droptail", limit = "60 packets" }
delay = "10 ms"

[[flows]]
name = "bulk"
count = 4
route = ["access", "bottleneck", "exit"]
return = ["exit", "back", "access"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "ns2-2002" }
traffic = { kind = "bulk" }
start = ["0 s", "1 s"]
access_delay = ["0 ms", "18 ms"]
"#;

/// A download and three uploads in a cell of 802.11e; the acknowledgements have their own class.
pub const CELL: &str = r#"
schema = 1
name = "cell"
duration = "6 s"
warmup = "1.3 s"
sample_interval = "100 ms"

[[shared_media]]
name = "cell"
kind = "edca"
retry_limit = 11

[[hops]]
name = "to-cell"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "unlimited" }
delay = "100 ms"

[[hops]]
name = "to-server"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "unlimited" }
delay = "100 ms"

[[hops]]
name = "ap-data"
queue = { kind = "droptail", limit = "30 packets", counts_packet_in_service = true }

[hops.link]
kind = "edca"
medium = "cell"
station = "ap"
rate = "54 Mbit/s"
aifsn = 6
cw_min = 31
cw_max = 1023

[[hops]]
name = "ap-acks"
queue = { kind = "droptail", limit = "1000 packets" }

[hops.link]
kind = "edca"
medium = "cell"
station = "ap"
rate = "54 Mbit/s"
aifsn = 2
cw_min = 3
cw_max = 7

[[hops]]
name = "station-data"
scope = "per_flow"
queue = { kind = "droptail", limit = "400 packets", counts_packet_in_service = true }

[hops.link]
kind = "edca"
medium = "cell"
station = "station"
rate = "54 Mbit/s"
aifsn = 6
cw_min = 31
cw_max = 1023

[[hops]]
name = "station-acks"
scope = "per_flow"
queue = { kind = "droptail", limit = "1000 packets" }

[hops.link]
kind = "edca"
medium = "cell"
station = "station"
rate = "54 Mbit/s"
aifsn = 2
cw_min = 3
cw_max = 7

[[hops]]
name = "server"
scope = "per_flow"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "1 ms"

[[flows]]
name = "download"
route = ["to-cell", "ap-data"]
return = ["station-acks", "to-server"]
traffic = { kind = "bulk" }
start = ["0 s", "1 s"]

[flows.transport]
kind = "tcp"
control = { kind = "reno" }
preset = "linux-2012"
mss = "960 bytes"
header = "40 bytes"
delayed_ack = { every = "1 packets" }

[[flows]]
name = "upload"
count = 3
route = ["station-data", "to-server"]
return = ["to-cell", "ap-acks"]
traffic = { kind = "bulk" }
start = ["0 s", "1 s"]

[flows.transport]
kind = "tcp"
control = { kind = "reno" }
preset = "linux-2012"
mss = "960 bytes"
header = "40 bytes"
delayed_ack = { every = "1 packets" }
"#;

/// Reads the scenario in `text`, with assignments as on the command line.
pub fn scenario(text: &str, assignments: &[&str]) -> Scenario {
    Scenario::from_toml(text, assignments, &NoFiles).unwrap()
}

/// Returns every cell as bits, so that two unknown values are equal.
pub fn cells(tables: &[(&'static str, Table)]) -> Vec<(&'static str, &'static str, Vec<u64>)> {
    let column = |column: &Column| -> Vec<u64> {
        match column {
            Column::Number(rows) => rows.iter().map(|cell| cell.to_bits()).collect(),
            Column::Integer(rows) => rows.iter().map(|cell| *cell as u64).collect(),
            Column::Text(words) => words.indices.iter().map(|cell| *cell as u64).collect(),
        }
    };
    tables
        .iter()
        .flat_map(|(table, Table(columns))| {
            columns
                .iter()
                .map(move |(name, cells)| (*table, *name, column(cells)))
        })
        .collect()
}
