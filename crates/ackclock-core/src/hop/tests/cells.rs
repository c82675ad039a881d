//! Cells: framing, what a lost cell costs, and a recursion over all cells as the oracle.

use super::*;
use crate::queue::cells::Cells;
use ackclock_spec::units::Bytes;

/// A millisecond for each cell on the link.
const LINK: &str = "424 kbit/s";
const MS: u64 = 1_000_000;

fn hop(limit: u64, line_rate: &str, discard: &str) -> Description {
    let queue = json!({
        "kind": "cells", "limit": limit, "line_rate": line_rate, "discard": discard
    });
    Description::new(constant(LINK), queue, vec![], Span::ZERO)
}
fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}
/// Packets of 500 bytes, which have 11 cells, at the given milliseconds.
fn packets(times: &[u64]) -> Arrivals {
    times.iter().map(|ms| (at(*ms), 500)).collect()
}
fn departures(bench: &Bench) -> Vec<(u64, u64)> {
    bench
        .departures
        .iter()
        .map(|(at, number)| (at.as_nanos() / MS, *number))
        .collect()
}
fn dropped(bench: &Bench) -> Vec<(u64, u64)> {
    bench
        .drops
        .0
        .iter()
        .map(|(at, number, _)| (at.as_nanos() / MS, *number))
        .collect()
}

#[test]
fn a_packet_takes_the_time_of_its_cells() {
    let bench = jump(&hop(100, "100 Gbit/s", "partial"), &packets(&[0, 0, 100]));
    assert_eq!(departures(&bench), [(11, 0), (22, 1), (111, 2)]);
    assert_eq!(bench.hop.counters().served_bytes, Bytes(33 * 53));
    assert_eq!(bench.hop.busy(at(1000)), Span::from_millis(33));
}

/// The cells of a slow line leave as they come, the last one after ten times of a cell on it.
#[test]
fn a_slow_line_spreads_the_cells_of_a_packet() {
    let bench = jump(&hop(1, "212 kbit/s", "partial"), &packets(&[0]));
    assert_eq!(departures(&bench), [(21, 0)]);
}

/// A line at three times the link's rate fills a buffer of four cells.
#[test]
fn what_a_lost_cell_takes_with_it_depends_on_the_discard() {
    // The line sends three cells while the link sends one. As cell 6 comes, just before 2 ms, cell
    // 0 has been sent, 1 is in service and 2 to 5 wait: it is lost.
    let carried = |discard| {
        let bench = jump(&hop(4, "1272 kbit/s", discard), &packets(&[0]));
        assert_eq!(dropped(&bench).len(), 1);
        bench.hop.counters().served_bytes.0 / 53
    };
    assert_eq!(carried("cell"), 8, "those up to 5, then 7 and 10");
    assert_eq!(carried("partial"), 7, "those up to 5, and the last");
    assert_eq!(
        carried("packet"),
        2,
        "those that were sent or begun by then"
    );
}

/// AAL5 finds the end of a packet by its last cell.
#[test]
fn a_lost_end_takes_the_next_packet_along() {
    // Eleven cells come at once: one goes into service, nine wait, the last is lost.
    let arrivals = packets(&[0, 50, 100]);
    for (discard, delivered) in [
        ("cell", vec![2]),
        ("partial", vec![2]),
        ("packet", vec![1, 2]),
    ] {
        let bench = jump(&hop(9, "100 Gbit/s", discard), &arrivals[..1].to_vec());
        assert_eq!(dropped(&bench).len(), 1);
        let mut lost: Arrivals = arrivals.clone();
        lost[1].1 = 400; // nine cells, which fit
        lost[2].1 = 400;
        let bench = jump(&hop(9, "100 Gbit/s", discard), &lost);
        let numbers: Vec<u64> = bench.departures.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, delivered, "{discard}");
    }
}

/// Returns the fate of packets by a recursion over cells: departures in nanoseconds, and the number
/// of cells carried. A cell that comes at t is sent at max(t, end of the one before) + s. It
/// is dropped if more than `limit` others have not begun.
fn by_recursion(
    arrivals: &[(u64, u16)],
    (limit, spacing, service): (usize, u64, u64),
    partial: bool,
) -> (Vec<(u64, u64)>, u64) {
    let (mut sent, mut ends): (Vec<u64>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
    let (mut line, mut unended) = (0, false);
    for (number, &(came, size)) in (0..).zip(arrivals) {
        let cells = (u64::from(size) + 8).div_ceil(48);
        let (mut cut, mut entered, mut joined) = (false, false, unended);
        let mut last_in = false;
        line = line.max(came);
        for cell in 0..cells {
            let is_last = cell + 1 == cells;
            let inside = sent.iter().rev().take_while(|end| **end > line).count();
            let fits = inside == 0 || inside - 1 < limit;
            last_in = fits && (!partial || !cut || is_last);
            if last_in {
                sent.push(line.max(sent.last().copied().unwrap_or(0)) + service);
                entered = true;
            } else {
                cut = true;
            }
            line += spacing;
        }
        unended = !last_in && (unended || entered);
        joined |= cut;
        if !joined {
            ends.push((*sent.last().unwrap(), number));
        }
    }
    (ends, sent.len() as u64)
}

proptest! {
    #[test]
    fn a_recursion_over_all_cells_says_the_same(
        gaps in prop::collection::vec((0..30 * MS, 40..1501_u16), 1..60),
        limit in 1..80_u64,
        line_kbit in 100..5000_u64,
        partial: bool,
        late in prop::collection::vec(0..40 * MS, 0..4),
    ) {
        let mut now = 0;
        let arrivals: Vec<(u64, u16)> = gaps
            .into_iter()
            .map(|(gap, size)| { now += gap; (now, size) })
            .collect();
        let discard = if partial { "partial" } else { "cell" };
        let line_rate = format!("{line_kbit} kbit/s");
        let timed = arrivals.iter().map(|(at, size)| (Time::from_nanos(*at), *size)).collect();
        let late: Vec<Span> = late.into_iter().map(Span::from_nanos).collect();
        let bench = drive(&hop(limit, &line_rate, discard), &timed, &late, |_, _| {});
        let spacing = BitRate::from_bit_per_s(line_kbit * 1000).serialization(Bytes(53));
        let timing = (limit as usize, spacing.as_nanos(), MS);
        let (ends, carried) = by_recursion(&arrivals, timing, partial);
        let left: Vec<(u64, u64)> = bench
            .departures
            .iter()
            .map(|(at, number)| (at.as_nanos(), *number))
            .collect();
        prop_assert_eq!(left, ends);
        prop_assert_eq!(bench.hop.counters().served_bytes.0, carried * 53);
        prop_assert_eq!(bench.drops.0.len(), arrivals.len() - bench.departures.len());
    }

    /// Packets of whole cells lose no cells of others, and nothing is sent of them after the loss.
    #[test]
    fn packets_that_are_lost_whole_leave_the_link_to_others(
        gaps in prop::collection::vec((0..30 * MS, 40..1501_u16), 1..60),
        limit in 1..80_u64,
    ) {
        let mut now = Time::ZERO;
        let arrivals: Arrivals = gaps
            .into_iter()
            .map(|(gap, size)| { now = now + Span::from_nanos(gap); (now, size) })
            .collect();
        let [whole, cut] = ["packet", "cell"].map(
            |discard| jump(&hop(limit, "2 Mbit/s", discard), &arrivals)
        );
        let cells: u64 = whole
            .departures
            .iter()
            .map(|(_, number)| Cells::cells(Bytes(arrivals[*number as usize].1.into())))
            .sum();
        prop_assert!(whole.hop.counters().served_bytes.0 >= cells * 53);
        prop_assert!(whole.hop.counters().served_bytes <= cut.hop.counters().served_bytes);
    }
}

/// Cells of two flows that come together are sent in turn, so that both packets end late.
#[test]
fn cells_of_two_flows_interleave() {
    let mut bench = Bench::new(hop(100, LINK, "partial").build());
    for flow in 0..2 {
        let packet = Packet::new(PacketKind::Data, FlowId(flow), flow.into(), 500, Time::ZERO);
        let id = bench.pool.insert(packet);
        let mut context = Bench::context(&mut bench.pool, &mut bench.drops);
        bench
            .hop
            .handle_packet(Time::ZERO, (id, 500), None, &mut context);
    }
    bench.take(at(100));
    assert_eq!(departures(&bench), [(21, 0), (22, 1)]);
}
