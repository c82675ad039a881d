//! Hops that contend. With a medium that serves like a link they are like any other hop, and
//! packets that the medium gives up are dropped.

use super::*;

/// 8 Mbit/s: a microsecond for each byte, so there are no fractions to carry.
const RATE: &str = "8 Mbit/s";
const CONTENDER: ContenderId = ContenderId {
    medium: 0,
    contender: 0,
};

fn service(size: Bytes) -> Span {
    Span::from_micros(size.0)
}

fn discipline(description: &Description) -> Discipline {
    let streams = &Streams::new(1, 0);
    let queue = registry::choose::<QueueKind>(&description.queue, &NoFiles).unwrap();
    queue.build(QueueContext {
        measured: &|| None,
        labels: &FlowLabels::default(),
        place: StreamScope {
            streams,
            name: "hop/test/queue",
        },
        link: &*description.link(),
    })
}

fn contending(description: &Description, discipline: Discipline) -> Hop {
    let contender = (CONTENDER, description.link());
    Hop::contending(
        discipline,
        contender,
        description.impairments(),
        description.delay,
    )
}

/// Drives a contending hop until nothing more will happen. `sent` says for each packet in turn
/// whether the medium sends it; if not, the medium gives it up after the same time.
fn drive_contending(hop: Hop, arrivals: &Arrivals, sent: &[bool]) -> Bench {
    let mut bench = Bench::new(hop);
    let mut coming = (0..).zip(arrivals).peekable();
    let mut sent = sent.iter().copied().cycle();
    let mut over = Time::NEVER;
    loop {
        let next = coming.peek().map_or(Time::NEVER, |(_, (at, _))| *at);
        let now = next.min(over).min(bench.wake());
        if now.is_never() {
            return bench;
        }
        if over == now {
            let mut context = Bench::context(&mut bench.pool, &mut bench.drops);
            let (wake, following) =
                bench
                    .hop
                    .complete_exchange(now, sent.next().unwrap(), &mut context);
            bench.alarm = wake;
            over = following.map_or(Time::NEVER, |size| now + service(size));
            assert!(
                bench.hop.request_access().is_none(),
                "it has been told already"
            );
            bench.check(now);
        } else if next == now {
            if let Some((sequence, (at, size))) = coming.next() {
                bench.arrive(*at, sequence, *size);
            }
            if let Some((contender, size)) = bench.hop.request_access() {
                assert!(
                    over.is_never() && contender == CONTENDER,
                    "only who comes to an empty line"
                );
                over = now + service(size);
            }
        } else {
            bench.take(now);
        }
    }
}

/// Limits in time are refused at a medium.
fn untimed_queues() -> impl Strategy<Value = Value> {
    prop_oneof![
        ((0..20_u32), any::<bool>())
            .prop_map(|(n, counts)| droptail(&format!("{n} packets"), counts)),
        ((0..30_000_u32), any::<bool>())
            .prop_map(|(n, counts)| droptail(&format!("{n} bytes"), counts)),
        Just(json!({ "kind": "red", "limit": "9 packets",
            "minimum_threshold": "1 packet", "maximum_threshold": "4 packets",
            "weight": 0.3, "typical_packet": "800 bytes" })),
        Just(adaptive()),
        select(scheduled()),
    ]
}

/// Admits packets that fit and records the services reported: (from, until).
#[derive(Debug, Default)]
struct Noting {
    room: u64,
    noted: Arc<Mutex<Vec<(Time, Time)>>>,
}
impl Admission for Noting {
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        occupancy: &Occupancy,
        context: &mut Context<'_>,
    ) -> bool {
        let fits = occupancy.waiting.packets < self.room;
        if !fits {
            context.drop_packet(now, id, DropReason::QueueFull);
        }
        fits
    }
    fn observes_service(&self) -> bool {
        true
    }
    fn note_service(&mut self, from: Time, until: Time) {
        self.noted.lock().unwrap().push((from, until));
    }
}

/// Returns the drops in the order of time, then of packets.
fn by_packet(drops: &Drops) -> Vec<(Time, u64, DropReason)> {
    let mut drops = drops.0.clone();
    drops.sort_by_key(|(at, number, _)| (*at, *number));
    drops
}

proptest! {
    #[test]
    fn a_medium_that_serves_like_a_link_is_one(
        hop in hops(true),
        queue in untimed_queues(),
        arrivals in arrivals()
    ) {
        let hop = Description { link: constant(RATE), queue, ..hop };
        let linked = jump(&hop, &arrivals);
        let other = drive_contending(contending(&hop, discipline(&hop)), &arrivals, &[true]);
        // A link reports the loss behind it before the next packet is asked for, a medium after.
        prop_assert_eq!(by_packet(&linked.drops), by_packet(&other.drops));
        prop_assert_eq!(&linked.departures, &other.departures);
        prop_assert_eq!(linked.hop.counters(), other.hop.counters());
        let end = Time::from_seconds(1e6);
        prop_assert_eq!(linked.hop.busy(end), other.hop.busy(end));
        prop_assert_eq!(linked.hop.limit(end), other.hop.limit(end));
    }

    /// A discipline in front of a medium may also decide when the medium asks.
    #[test]
    fn both_ways_to_a_medium_agree(
        hop in hops(true),
        limit in 0_u64..20,
        arrivals in arrivals(),
        sent in prop::collection::vec(any::<bool>(), 1..9)
    ) {
        let hop = Description {
            link: constant(RATE),
            queue: droptail(&format!("{limit} packets"), false),
            ..hop
        };
        let in_order = drive_contending(contending(&hop, discipline(&hop)), &arrivals, &sent);
        let shelf = Discipline::Scheduled(Box::new(Shelf(Fifo::default(), limit)));
        let scheduled = drive_contending(contending(&hop, shelf), &arrivals, &sent);
        prop_assert_eq!(&in_order.drops, &scheduled.drops);
        prop_assert_eq!(&in_order.departures, &scheduled.departures);
        prop_assert_eq!(in_order.hop.counters(), scheduled.hop.counters());
    }

    /// A packet given up has used the medium. But it is not sent, is not reported as a service, and
    /// meets no impairment after the link.
    #[test]
    fn what_is_given_up_is_dropped(
        room in 0_u64..20,
        arrivals in arrivals(),
        sent in prop::collection::vec(any::<bool>(), 1..9)
    ) {
        let hop = Description::new(
            constant(RATE),
            droptail("9 packets", false),
            Vec::new(),
            Span::ZERO
        );
        let observing = Noting { room, ..Noting::default() };
        let noted = observing.noted.clone();
        let bench = drive_contending(
            contending(&hop, Discipline::InOrder(Box::new(observing))),
            &arrivals,
            &sent
        );
        let noted = noted.lock().unwrap().clone();
        let given_up = bench.drops.0.iter().filter(|drop| drop.2 == DropReason::Retries).count();
        let served = arrivals.len() - bench.drops.0.len() + given_up;
        let expected = sent.iter().cycle().take(served).filter(|sent| !**sent).count();
        prop_assert_eq!(given_up, expected);
        prop_assert_eq!(noted.len(), served - given_up);
        prop_assert_eq!(bench.hop.counters().served, noted.len() as u64);
        prop_assert_eq!(bench.departures.len(), noted.len());
        prop_assert_eq!(bench.hop.inside(&bench.pool), 0);
        prop_assert!(noted.is_sorted());
    }
}
