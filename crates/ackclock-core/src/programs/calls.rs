//! The calls of a control's program, as rows of the table `control_calls`.

use crate::result::{ControlCallRow, Table};
use ackclock_bpf::machine::STARTED_NS;
use ackclock_bpf::twin::Call;

/// States of loss recovery, by their number in Linux.
const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// Appends the rows of calls ([`take_calls`](crate::congestion::Foreign::take_calls)) to a table.
/// They are those of an instance of the flow group `flow`. `labels` are the numbers of the point
/// and of the replicate.
pub fn push_calls(calls: &[u8], labels: (i64, i64), flow: &str, instance: u32, table: &mut Table) {
    for call in Call::all(calls) {
        let since = call.now_ns.saturating_sub(STARTED_NS);
        ControlCallRow {
            point: labels.0,
            replicate: labels.1,
            flow,
            instance: instance.into(),
            time_s: since as f64 / 1e9,
            kind: call.callback().map_or("", |callback| callback.name()),
            state: STATES
                .get(usize::from(call.state))
                .copied()
                .unwrap_or_default(),
            limited: call.limited.into(),
            now_ns: call.now_ns.cast_signed(),
            port: call.local.1.into(),
            argument_0: call.arguments[0].into(),
            argument_1: call.arguments[1].into(),
            rtt_us: call.rtt_us.into(),
            result: call.result.into(),
            cwnd_before: call.before.cwnd.into(),
            cwnd_cnt_before: call.before.cwnd_cnt.into(),
            ssthresh_before: call.before.ssthresh.into(),
            cwnd_after: call.after.cwnd.into(),
            cwnd_cnt_after: call.after.cwnd_cnt.into(),
            ssthresh_after: call.after.ssthresh.into(),
            srtt_us8: call.srtt_us8.into(),
            mss: call.mss.into(),
            packets_out: call.packets_out.into(),
            sacked_out: call.sacked_out.into(),
            lost_out: call.lost_out.into(),
            retrans_out: call.retrans_out.into(),
            delivered: call.delivered.into(),
            max_packets_out: call.max_packets_out.into(),
            snd_una: call.snd_una.into(),
            snd_nxt: call.snd_nxt.into(),
            mstamp_us: call.mstamp_us.cast_signed(),
            jiffies: call.jiffies.into(),
            departure_us: call.departure_us.into(),
            lost: call.lost.into(),
            min_rtt_us: call.min_rtt_us.into(),
            prior_delivered: call.prior_delivered.into(),
            acked_sacked: call.acked_sacked.into(),
            losses: call.losses.into(),
            prior_in_flight: call.prior_in_flight.into(),
            limits: call.limits().into(),
            drawn: call.drawn.into(),
        }
        .push(table);
    }
}
