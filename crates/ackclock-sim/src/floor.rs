//! The floor: only the event-queue and packet-list operations of the benchmark dumbbell, with which
//! the engine's speed is compared.
//!
//! A fixed window of packets per flow circulates through six pipes (access, bottleneck, access and
//! back), each with its serialisation and delay. As in the engine, only the arrivals at the two
//! shared pipes are events; the pipe behind them is passed at once. There is no queue limit, no
//! counter, no endpoint, no congestion control and no sampling. The rest is the work of any engine
//! that works ahead.

use crate::events::EventQueue;
use ackclock_core::packet::{FlowId, Packet, PacketId, PacketKind, PacketPool, Timeline};
use ackclock_spec::units::Time;

/// A link and its propagation delay: packets leave in order.
#[derive(Default)]
struct Pipe {
    travelling: Timeline,
    free_at: u64,
    nanos_per_byte: f64,
    delay: u64,
}

struct Floor {
    pipes: Vec<Pipe>,
    packets: PacketPool,
    events: EventQueue,
    flows: usize,
    delivered: u64,
}

const DATA: u16 = 1040;
const ACK: u16 = 40;

impl Floor {
    fn new(flows: usize) -> Self {
        let pipe = |rate_mbit_per_s: f64, delay_ms: f64| Pipe {
            nanos_per_byte: 8e3 / rate_mbit_per_s,
            delay: (delay_ms * 1e6) as u64,
            ..Pipe::default()
        };
        let bottleneck = 10.0 * flows as f64;
        // Pipes 0 and 1 are shared; each flow has four private ones.
        let mut pipes = vec![pipe(bottleneck, 10.0), pipe(bottleneck, 10.0)];
        for flow in 0..flows {
            let access = 5.0 + 9.0 * flow as f64 / flows.max(2) as f64;
            pipes.extend([
                pipe(1000.0, access),
                pipe(1000.0, 1.0),
                pipe(1000.0, 1.0),
                pipe(1000.0, access),
            ]);
        }
        Floor {
            pipes,
            packets: PacketPool::new(),
            events: EventQueue::default(),
            flows,
            delivered: 0,
        }
    }

    fn pipe_of(flow: usize, position: usize) -> usize {
        match position {
            1 => 0,
            4 => 1,
            0 => 2 + 4 * flow,
            2 => 3 + 4 * flow,
            3 => 4 + 4 * flow,
            _ => 5 + 4 * flow,
        }
    }

    /// Passes a packet through a pipe and returns the time at which it reaches the end.
    fn pass(&mut self, now: u64, pipe: usize, id: PacketId) -> u64 {
        let pipe = &mut self.pipes[pipe];
        pipe.free_at =
            now.max(pipe.free_at) + (f64::from(self.packets[id].size) * pipe.nanos_per_byte) as u64;
        pipe.free_at + pipe.delay
    }

    /// Puts a packet into the access pipe before a shared one, where it waits for its turn.
    fn enter(&mut self, now: u64, pipe: usize, id: PacketId) {
        let at = Time::from_nanos(self.pass(now, pipe, id));
        let travelling = &mut self.pipes[pipe].travelling;
        if travelling.is_empty() {
            self.events.push(at, pipe as u32);
        }
        travelling.push_back(at, id, &mut self.packets);
    }

    fn wake(&mut self, now: u64, pipe: usize) {
        let Some(id) = self.pipes[pipe].travelling.pop_front(&mut self.packets) else {
            return;
        };
        self.events
            .push(self.pipes[pipe].travelling.first_at(), pipe as u32);
        let packet = &mut self.packets[id];
        packet.position += 1;
        let (flow, position) = (packet.flow.0 as usize, usize::from(packet.position));
        let mut at = now;
        for position in [position, position + 1] {
            at = self.pass(at, Self::pipe_of(flow, position), id);
            self.packets[id].position += 1;
        }
        let back = position == 1;
        self.delivered += u64::from(back);
        let (size, first) = if back { (ACK, 3) } else { (DATA, 0) };
        let id = self.replace(id, size, first);
        self.enter(at, Self::pipe_of(flow, usize::from(first)), id);
    }

    /// Acts as the endpoint: one packet ends, another begins.
    fn replace(&mut self, id: PacketId, size: u16, position: u8) -> PacketId {
        let flow = self.packets[id].flow;
        self.packets.remove(id);
        let mut packet = Packet::new(PacketKind::Data, flow, self.delivered, size, Time::ZERO);
        packet.position = position;
        self.packets.insert(packet)
    }

    fn run(&mut self, window: usize, packets: u64) -> u64 {
        for flow in 0..self.flows {
            for number in 0..window {
                let packet = Packet::new(
                    PacketKind::Data,
                    FlowId(flow as u32),
                    number as u64,
                    DATA,
                    Time::ZERO,
                );
                let id = self.packets.insert(packet);
                self.enter(0, Self::pipe_of(flow, 0), id);
            }
        }
        let mut events = 0;
        while self.delivered < packets {
            let Some((now, pipe)) = self.events.pop() else {
                break;
            };
            events += 1;
            self.wake(now.as_nanos(), pipe as usize);
        }
        events
    }
}

/// Carries `packets` data packets of so many flows. Returns those delivered and the events handled.
pub fn run(flows: usize, packets: u64) -> (u64, u64) {
    let mut floor = Floor::new(flows);
    // As many packets as fill the round trip and the queue of 50 packets per flow.
    let events = floor.run(100, packets);
    (floor.delivered, events)
}
