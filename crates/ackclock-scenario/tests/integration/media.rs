//! The contract of shared media, checked on every registered one with every kind of contention.

use ackclock_core::link::LinkKind;
use ackclock_core::link::contention::Contention;
use ackclock_core::medium::{Completion, Medium, MediumKind};
use ackclock_spec::registry::samples::{SampleFiles, samples};
use ackclock_spec::registry::{Entry, Kind, Selection, StreamScope};
use ackclock_spec::streams::Streams;
use ackclock_spec::units::{Bytes, Span, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

fn all<K: Kind>() -> Vec<Selection<K>> {
    let samples_of = |entry: &'static Entry<K>| {
        let samples = samples(&(entry.schema)()).into_iter();
        samples.map(|sample| entry.read(sample, &SampleFiles).unwrap())
    };
    K::ENTRIES.iter().flat_map(samples_of).collect()
}

fn contentions() -> Vec<Contention> {
    let links = all::<LinkKind>().into_iter();
    links
        .filter_map(|link| link.facts.contends.some().cloned())
        .collect()
}

/// A medium, and a queue of packet sizes for each of its contenders.
struct Driven {
    medium: Box<dyn Medium>,
    lines: Vec<VecDeque<Bytes>>,
    /// Packets completed so far: time and contender.
    over: Vec<(Time, Completion)>,
}

impl Driven {
    /// Adds each kind of contention twice; every contender is a separate station.
    fn new(chosen: &Selection<MediumKind>, seed: u64) -> Self {
        let streams = Streams::new(seed, 0);
        let mut medium = chosen.build(StreamScope {
            streams: &streams,
            name: "medium/test",
        });
        let contentions: Vec<Contention> = contentions().into_iter().cycle().take(4).collect();
        for (number, contention) in (0..).zip(&contentions) {
            let stream = streams.stream(&format!("contender/{number}"));
            assert_eq!(
                medium.add(number, contention, stream).unwrap(),
                number as usize
            );
        }
        Driven {
            medium,
            lines: vec![VecDeque::new(); contentions.len()],
            over: Vec::new(),
        }
    }

    fn arrive(&mut self, now: Time, contender: usize, size: Bytes) {
        self.run(now);
        self.lines[contender].push_back(size);
        if self.lines[contender].len() == 1 {
            self.medium.join(now, contender, size);
        }
    }

    /// Does everything due up to `end`.
    fn run(&mut self, end: Time) {
        while self.medium.next() <= end && !self.medium.next().is_never() {
            let (now, mut over) = (self.medium.next(), Vec::new());
            self.medium.proceed(now, &mut over);
            assert!(self.medium.next() >= now, "time never runs backwards");
            for completion in over {
                let line = &mut self.lines[completion.contender];
                assert!(line.pop_front().is_some(), "who has nothing sends nothing");
                if let Some(size) = line.front() {
                    self.medium.follow(now, completion.contender, *size);
                }
                self.over.push((now, completion));
            }
        }
    }
}

#[test]
fn some_links_contend() {
    assert!(!contentions().is_empty(), "else nothing is tested here");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet is completed once, time is accounted for to the nanosecond, and counts agree
    /// with the completions. The same random numbers give the same result.
    #[test]
    fn media_keep_their_contract(
        seed: u64,
        arrivals in prop::collection::vec((0_u64..3_000_000, 0..4_usize, 40_u64..1501), 1..60),
    ) {
        for chosen in all::<MediumKind>() {
            let [mut first, mut other] = [(); 2].map(|()| Driven::new(&chosen, seed));
            let mut now = Time::ZERO;
            for &(gap, contender, size) in &arrivals {
                now = now + Span::from_nanos(gap);
                first.arrive(now, contender, Bytes(size));
                other.arrive(now, contender, Bytes(size));
                let usage = first.medium.usage(now);
                prop_assert_eq!(usage.idle + usage.success + usage.collision, now - Time::ZERO);
            }
            let end = Time::from_seconds(3600.0);
            first.run(end);
            other.run(end);
            prop_assert_eq!(&first.over, &other.over);
            prop_assert_eq!(first.over.len(), arrivals.len(), "each packet is over once");
            prop_assert!(first.medium.next().is_never(), "nobody has anything to send");
            for contender in 0..first.lines.len() {
                let counts = first.medium.counts(contender);
                let completions = |sent: bool| {
                    let of = |(_, over): &&(Time, Completion)|
                        over.contender == contender && over.sent == sent;
                    first.over.iter().filter(of).count() as u64
                };
                prop_assert_eq!(
                    (counts.successes, counts.retry_drops),
                    (completions(true), completions(false))
                );
            }
            let usage = first.medium.usage(end);
            let sent = first.over.iter().filter(|(_, over)| over.sent).count() as u64;
            prop_assert_eq!(usage.successes, sent);
        }
    }
}
