//! The state of a sender, in the words of Linux's `tcp_info`.

use super::sender::Sender;
use crate::congestion::RecoveryPhase;

/// The state of a sender after an event, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window (`tcpi_snd_cwnd`).
    pub cwnd: u64,
    /// Slow-start threshold; `None` if it was never set (`tcpi_snd_ssthresh`).
    pub ssthresh: Option<u64>,
    /// Phase of recovery. The open one is Open or Disorder (`tcpi_ca_state`).
    pub phase: RecoveryPhase,
    /// Sent and not acknowledged (`tcpi_unacked`).
    pub unacked: u64,
    /// Number of these that are SACKED (`tcpi_sacked`).
    pub sacked: u64,
    /// Number of these that are marked as lost, retransmitted ones included (`tcpi_lost`).
    pub lost: u64,
    /// Retransmissions in flight (`tcpi_retrans`).
    pub retrans: u64,
    /// Degree of reordering seen, at least the threshold of duplicate ACKs (`tcpi_reordering`).
    /// `None` if recovery does not count it.
    pub reordering: Option<u64>,
}

impl Sender {
    /// Returns its state as `tcp_info` shows it.
    pub fn tcp_info(&self) -> TcpInfo {
        let mss = self.parameters().connection.mss.0.max(1);
        let board = self.scoreboard();
        TcpInfo {
            cwnd: self.cwnd().0 / mss,
            ssthresh: self.control().state().ssthresh.map(|bytes| bytes.0 / mss),
            phase: self.phase(),
            unacked: board.next() - board.first(),
            sacked: board.sacked_segments(),
            lost: board.lost().div_ceil(mss),
            retrans: board.resent().div_ceil(mss),
            reordering: self.reordering(),
        }
    }
}
