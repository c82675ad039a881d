//! Datagrams under a rate control, in packets of the engine.

use crate::datagram::{DatagramReceiver, DatagramSender};
use crate::packet::{Ecn, Options};
use crate::rate_control;
use crate::traffic::Write;
use crate::transport::endpoint::{Arrived, Endpoint, Progress, RoundTrips, Transmit};
use ackclock_spec::units::{Bytes, Time};

/// Sends datagrams when the control's clock releases them.
#[derive(Debug)]
pub(super) struct ControlledSender {
    pub(super) sender: DatagramSender,
    pub(super) header: u16,
    pub(super) ecn: Ecn,
}

impl Endpoint for ControlledSender {
    fn open(&mut self, now: Time) {
        self.sender.open(now);
    }
    fn write(&mut self, _: Time, write: Write) {
        self.sender.write(write);
    }
    fn close(&mut self, _: Time) {
        self.sender.close();
    }
    fn stop(&mut self, _: Time) {
        self.sender.stop();
    }
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        if let Some(Options::Feedback(feedback)) = arrived.options {
            self.sender.handle_feedback(now, feedback);
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        self.sender.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        let datagram = self.sender.poll_transmit(now)?;
        Some(Transmit {
            number: datagram.sequence,
            size: datagram.length.0 as u16 + self.header,
            stamp: now,
            ecn: self.ecn,
            options: datagram.rtt.map(Options::RoundTrip),
        })
    }
    fn poll_timeout(&self) -> Time {
        self.sender.poll_timeout()
    }
    fn progress(&self) -> Progress {
        let (counts, state) = (self.sender.statistics(), self.sender.state());
        Progress {
            sent: counts.sent,
            retransmitted: Some(0),
            lost: state.lost,
            spurious_losses: state.spurious_losses,
            timeouts: Some(state.timeouts),
            rtt: state.rtt,
            smoothed_rtt: state.smoothed_rtt,
            timeout: state.timeout,
            round_trips: RoundTrips {
                samples: counts.rtt_samples,
                sum_s: counts.rtt_sum_s,
                range_s: (counts.rtt_samples > 0).then_some((counts.rtt_min_s, counts.rtt_max_s)),
            },
            allowed_rate: Some(state.rate),
            loss_event_rate: Some(state.loss_event_rate),
            mode: state.mode,
            ..Progress::default()
        }
    }
}

/// Answers when the control's half does.
#[derive(Debug)]
pub(super) struct ControlledReceiver {
    pub(super) receiver: DatagramReceiver,
    pub(super) header: u16,
    pub(super) feedback_size: u16,
}

impl Endpoint for ControlledReceiver {
    fn handle_packet(&mut self, now: Time, arrived: &Arrived<'_>) {
        let packet = arrived.packet;
        let data = rate_control::Arrived {
            sequence: packet.sequence,
            sent_at: packet.stamp,
            length: Bytes(u64::from(packet.size - self.header)),
            rtt: match arrived.options {
                Some(Options::RoundTrip(rtt)) => Some(*rtt),
                _ => None,
            },
            marked: packet.ecn() == Ecn::Marked,
        };
        self.receiver.handle_datagram(now, &data);
    }
    fn handle_timeout(&mut self, now: Time) {
        self.receiver.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        let feedback = self.receiver.poll_feedback(now)?;
        Some(Transmit {
            number: feedback.sequence,
            size: self.feedback_size,
            stamp: feedback.echo,
            ecn: Ecn::NotCapable,
            options: Some(Options::Feedback(feedback)),
        })
    }
    fn poll_timeout(&self) -> Time {
        self.receiver.poll_timeout()
    }
    fn delivered(&self) -> Bytes {
        self.receiver.statistics().delivered
    }
}
