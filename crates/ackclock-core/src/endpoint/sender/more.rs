//! Parts that few senders have: marks to read, and a receiver whose window changes.

use super::super::parameters::TcpParameters;
use super::flow_control::FlowControl;
use super::marks::Reading;

/// Parts for which every ACK is read beyond what it acknowledges. Most senders have none.
#[derive(Debug)]
pub(super) struct More {
    /// Present if the marks of every ACK are read.
    pub reading: Option<Reading>,
    /// Present if the receiver advertises a window that changes.
    pub flow_control: Option<FlowControl>,
}

impl More {
    /// Reads marks for the control, too, if it wants `reports`.
    pub fn new(parameters: &TcpParameters, reports: bool) -> Option<Self> {
        let (reading, flow_control) = (
            Reading::new(parameters, reports),
            FlowControl::new(parameters),
        );
        (reading.is_some() || flow_control.is_some()).then_some(More {
            reading,
            flow_control,
        })
    }
}
