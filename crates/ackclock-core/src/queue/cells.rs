//! A FIFO buffer of ATM cells: packets are cut into cells, which are queued, sent and lost one by
//! one.
//!
//! AAL5 (ITU-T I.363.5) adds a trailer of 8 bytes and pads to whole cells of 48 bytes, each with a
//! header of 5. A packet with a lost cell is lost: the receiver's check of length and CRC fails. A
//! lost last cell joins the packet to the next one of its flow, which is lost, too.
//!
//! The hop queues and serves the cells (`hop/cells.rs`).

use super::facts::{Drops, QueueFacts};
use super::{Discipline, QueueContext, QueueKind};
use ackclock_spec::prelude::*;
use serde_json::json;

/// Bytes of a cell, and those of them that carry data.
pub(crate) const CELL: Bytes = Bytes(53);
const PAYLOAD: u64 = 48;
/// Bytes that AAL5 adds to a packet.
const TRAILER: u64 = 8;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({ "limit": 110, "line_rate": "155 Mbit/s" }))]
#[schemars(example = json!({ "limit": 110, "line_rate": "800 kbit/s", "discard": "cell" }))]
pub struct Cells {
    /// Most cells that may wait, without the one in service.
    #[schemars(range(min = 1))]
    pub limit: u64,
    /// Rate at which the cells of a flow's packets arrive, headers included. The first cell comes
    /// with the packet, and each flow has a line of its own.
    pub line_rate: BitRate,
    /// Cells that are discarded with a lost one.
    #[serde(default)]
    pub discard: Discard,
}

/// The cells that are discarded with a lost cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// No others: the rest of the packet is sent in vain.
    Cell,
    /// The later cells of the packet, but for the last, which ends it: partial packet discard
    /// (Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, 1995).
    #[default]
    Partial,
    /// All cells of the packet, also those that wait: the assumption of models of whole packets.
    Packet,
}

impl Element<QueueKind> for Cells {
    const NAME: &'static str = "cells";
    const LABEL: &'static str = "ATM cells";
    const SUMMARY: &'static str = "Cuts packets into ATM cells and drops cells that do not fit.";
    const REFERENCE: &'static str = "ITU-T I.363.5 (AAL5); Romanow and Floyd (1995), Dynamics of \
        TCP Traffic over ATM Networks";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        every([
            in_range(self.limit > 0, "limit", &self.limit, "is less than 1"),
            check_above_zero("line_rate", self.line_rate, "155 Mbit/s"),
        ])
    }

    // The packets that fit and the time that one takes depend on sizes: they are not stated.
    fn facts(&self) -> QueueFacts {
        QueueFacts {
            drops: Some(Drops::Tail),
            marks: Some(false),
            thresholds: Stated::None,
            marking: Stated::None,
            steering: Stated::None,
            low_latency: Stated::None,
            ..QueueFacts::default()
        }
    }
}

impl Factory<QueueKind> for Cells {
    fn build(&self, _: QueueContext<'_>) -> Discipline {
        Discipline::Cells(self.clone())
    }
}

impl Cells {
    /// Returns the number of cells of a packet.
    pub(crate) const fn cells(size: Bytes) -> u64 {
        (size.0 + TRAILER).div_ceil(PAYLOAD)
    }

    /// Returns the time from one cell to the next on the line of a flow.
    pub(crate) fn spacing(&self) -> Span {
        self.line_rate.serialization(CELL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 500 bytes and the trailer need 10.6 cells; 40 bytes and the trailer fill one.
    #[test]
    fn a_packet_is_padded_to_whole_cells() {
        for (size, cells) in [(40, 1), (41, 2), (500, 11), (1500, 32), (9180, 192)] {
            assert_eq!(Cells::cells(Bytes(size)), cells, "{size} bytes");
        }
    }
}
