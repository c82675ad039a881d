//! Properties of the measurement of any bytes. The fuzz target tries new bytes; `corpus.rs` replays
//! recorded ones.

use ackclock_core::result::Column;
use ackclock_measure::{Measurement, Parameters};
use ackclock_pcap::Reader;

/// Most samples of both directions of a connection between two of its packets, and at its end.
const SAMPLES: usize = 2 * 34;

/// Periods with one limit in both directions between two packets, at most.
const PERIODS: usize = 2 * 4;

/// Measures any bytes as a capture, with all tables. Whatever the times are, the number of rows is
/// bounded by the number of packets.
pub fn measurement(data: &[u8]) {
    let Ok(reader) = Reader::new(data) else {
        return;
    };
    let parameters = Parameters {
        segments: true,
        ..Parameters::default()
    };
    let mut measurement = Measurement::new(parameters);
    let mut rows = [("samples", 0), ("limit_periods", 0)];
    let mut take = |measurement: &mut Measurement| {
        while let Some(tables) = measurement.poll_tables() {
            for (name, table) in tables {
                let count = rows.iter_mut().find(|(counted, _)| *counted == name);
                if let (Some((_, count)), Column::Integer(points)) = (count, &table.0[0].1) {
                    *count += points.len();
                }
            }
        }
    };
    let mut packets = 0;
    for packet in reader.map_while(Result::ok) {
        packets += 1;
        measurement.handle_packet(&packet);
        take(&mut measurement);
    }
    measurement.finish();
    take(&mut measurement);
    let [(_, samples), (_, periods)] = rows;
    assert!(
        samples <= SAMPLES * packets,
        "{samples} samples of {packets} packets"
    );
    assert!(
        periods <= PERIODS * packets,
        "{periods} periods of {packets} packets"
    );
}
