//! The fast path. In most hops, the departure of a packet is computed at arrival. If the link is
//! idle, this needs neither the packet nor the cold part of the hop.
//!
//! Every decision here is the same as in the stages of `hop.rs`.

use super::service::{Sending, Server, Service};
use super::{Arrival, Departure, Hop};
use crate::observe::Context;
use crate::packet::{Packet, PacketId, PacketPool};
use ackclock_spec::units::{Span, Time};

/// The path of packets through a hop.
#[derive(Debug)]
pub(super) enum Path {
    /// Stage by stage. For impairments, observed services, a medium, or a discipline that decides
    /// when the link asks.
    Reference,
    /// The queue keeps the order of arrival and nothing else decides on a packet, so its departure
    /// is known at arrival.
    InOrder,
    /// The conditions of [`Path::InOrder`], and the link has one rate and drop-tail admits at least
    /// one packet. So an idle link takes `service_ns` for a packet of `size` bytes, the size of the
    /// latest packet.
    ConstantRate {
        /// Packets that passed the idle link and are not yet in the hop's counts. Each of them has
        /// departed or is inside, so [`Hop::flush_counters`] comes before this overflows.
        passed: u32,
        service_ns: u32,
        size: u16,
    },
}

impl Path {
    pub(super) fn new(service: &Service, server: &Server, impaired: bool) -> Self {
        match service {
            Service::InOrder(line) if !impaired && !line.is_observed() => {
                if line.always_admits_one() && server.is_constant() {
                    Path::ConstantRate {
                        passed: 0,
                        service_ns: 0,
                        size: 0,
                    }
                } else {
                    Path::InOrder
                }
            }
            _ => Path::Reference,
        }
    }

    /// Returns the arrivals that are not yet in the hop's counts.
    pub(super) const fn passed(&self) -> u32 {
        match self {
            Path::ConstantRate { passed, .. } => *passed,
            Path::InOrder | Path::Reference => 0,
        }
    }
}

impl Hop {
    /// True if a decision may depend on more than a packet's size.
    #[inline(always)]
    pub const fn looks_at_packets(&self) -> bool {
        !matches!(self.path, Path::ConstantRate { .. })
    }

    /// [`Hop::handle_packet`] for a packet that finds the link idle, without a look at the packet.
    /// Returns `None`, and changes nothing, if the packet needs another path.
    // Called once for each hop on a packet's route; a call would cost as much as the work.
    #[inline(always)]
    pub fn pass_idle(
        &mut self,
        now: Time,
        (id, packet_size): (PacketId, u16),
        until: Option<Time>,
        packets: &mut PacketPool,
    ) -> Option<Arrival> {
        let Path::ConstantRate {
            passed,
            service_ns,
            size,
        } = &mut self.path
        else {
            return None;
        };
        if self.free_at >= now || packet_size != *size {
            return None;
        }
        *passed += 1;
        let done = now + Span::from_nanos((*service_ns).into());
        self.free_at = done;
        let at = done + self.delay;
        if until.is_some_and(|until| at <= until)
            && self.ordered.is_empty()
            && self.departed != u16::MAX
        {
            self.departed += 1;
            return Some(Arrival::Released(at));
        }
        self.ordered.push_back(at, id, packets);
        Some(Arrival::Kept(at))
    }

    /// [`Hop::handle_packet`] on [`Path::InOrder`] or [`Path::ConstantRate`].
    #[inline(always)]
    pub(super) fn handle_in_order(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Option<Time>,
        context: &mut Context<'_>,
    ) -> Arrival {
        if let Path::ConstantRate {
            passed,
            size: cached,
            ..
        } = self.path
            && (passed != 0 || size != cached)
        {
            return self.handle_out_of_date(now, (id, size), until, context);
        }
        self.cold.counts.arrivals += 1;
        let Some(done) = self
            .cold
            .serve_in_order(&mut self.free_at, now, (id, size), context)
        else {
            return Arrival::Kept(Time::NEVER);
        };
        let at = done + self.delay;
        if until.is_some_and(|until| at <= until) && self.ordered.is_empty() {
            self.cold.counts.departures += 1;
            return Arrival::Released(at);
        }
        self.ordered.push_back(at, id, context.packets);
        Arrival::Kept(at)
    }

    /// [`Hop::handle_packet`] for a packet behind others that passed the idle link, or of another
    /// size than the cached one.
    #[inline(never)]
    fn handle_out_of_date(
        &mut self,
        now: Time,
        (id, size): (PacketId, u16),
        until: Option<Time>,
        context: &mut Context<'_>,
    ) -> Arrival {
        self.flush_counters();
        self.cache_service_time(size);
        self.handle_packet(now, (id, size), until, context)
    }

    /// Lets packets of `size` pass the idle link from now on. Disables this if their service time
    /// in nanoseconds does not fit in 32 bits.
    fn cache_service_time(&mut self, size: u16) {
        self.path = match self.cold.server.whole_nanos(size) {
            Some(service_ns) => Path::ConstantRate {
                passed: 0,
                service_ns,
                size,
            },
            None => Path::InOrder,
        };
    }

    /// Adds the counts of [`Hop::pass_idle`] and [`Hop::poll_ahead`] to the hop's counts, and
    /// updates queue and link for the packets that passed.
    pub(super) fn flush_counters(&mut self) {
        let cold = &mut *self.cold;
        cold.counts.departures += u64::from(std::mem::take(&mut self.departed));
        let Path::ConstantRate {
            passed,
            service_ns,
            size,
        } = &mut self.path
        else {
            return;
        };
        let passed = u64::from(std::mem::take(passed));
        if passed == 0 {
            return;
        }
        cold.counts.arrivals += passed;
        cold.counts.given += passed;
        cold.counts.given_bytes += passed * u64::from(*size);
        cold.server
            .note_idle(self.free_at, passed * u64::from(*service_ns));
        if let Service::InOrder(line) = &mut cold.service {
            line.note_last(Sending {
                done: self.free_at,
                size: *size,
            });
        }
    }

    /// [`Hop::poll_transmit`] for a hop that [knows ahead](Hop::knows_ahead).
    #[inline(always)]
    pub fn poll_ahead(&mut self, until: Time, packets: &mut PacketPool) -> Departure {
        debug_assert!(self.knows_ahead);
        let at = self.ordered.first_at();
        if at > until {
            return Departure {
                packet: None,
                not_before: at,
            };
        }
        if self.departed == u16::MAX {
            self.flush_counters();
        }
        let packet = self.ordered.pop_front(packets).map(|id| (at, id));
        self.departed += u16::from(packet.is_some());
        Departure {
            packet,
            not_before: self.ordered.first_at(),
        }
    }

    /// Returns the packet that leaves next, of those that keep their order. For a driver that
    /// prefetches.
    #[inline(always)]
    pub fn first<'a>(&self, packets: &'a PacketPool) -> Option<&'a Packet> {
        self.ordered.front(packets)
    }
    /// Returns the packet that leaves last, behind which the next one will be appended.
    #[inline(always)]
    pub fn last<'a>(&self, packets: &'a PacketPool) -> Option<&'a Packet> {
        self.ordered.back(packets)
    }
}
