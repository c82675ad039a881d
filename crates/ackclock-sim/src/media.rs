//! Shared media of a run: their wake-ups and their tables.

use crate::events::Wake;
use crate::flow::Flow;
use ackclock_core::medium::{Completion, ContenderCounts, ServiceTimes};
use ackclock_core::result::{ContenderRow, MediumRow, Table};
use ackclock_scenario::network::{Contender, SharedMedium};
use ackclock_spec::units::{Span, Time};

/// A medium and its wake-up.
#[derive(Debug)]
pub struct Channel {
    /// The medium.
    pub shared: SharedMedium,
    /// Its next wake-up.
    pub wake: Wake,
}

impl Channel {
    /// Makes a channel without a pending wake-up.
    pub fn new(shared: SharedMedium) -> Self {
        Channel {
            shared,
            wake: Wake::default(),
        }
    }

    /// Returns the counts of each of its contenders.
    fn counts(&self) -> impl Iterator<Item = ContenderCounts> {
        (0..self.shared.contenders.len()).map(|contender| self.shared.medium.counts(contender))
    }
}

/// The media of a run.
#[derive(Debug, Default)]
pub struct Media {
    /// Media in the scenario's order.
    pub channels: Vec<Channel>,
    /// Buffer for the exchanges that are complete at a moment.
    pub completions: Vec<Completion>,
}

impl Media {
    /// Makes media without pending wake-ups.
    pub fn new(media: Vec<SharedMedium>) -> Self {
        Media {
            channels: media.into_iter().map(Channel::new).collect(),
            completions: Vec::new(),
        }
    }
}

/// The tables `media` and `contenders`, to which rows are appended.
#[derive(Debug)]
pub struct MediaSeries {
    point: i64,
    replicate: i64,
    /// Service times at the end of the warm-up, by medium and contender.
    warm: Vec<Vec<ServiceTimes>>,
    table: Table,
}

impl MediaSeries {
    /// Begins tables of these media without rows. Every row begins with `labels`.
    pub fn new((point, replicate): (i64, i64), media: &[SharedMedium]) -> Self {
        MediaSeries {
            point,
            replicate,
            warm: media
                .iter()
                .map(|medium| vec![ServiceTimes::default(); medium.contenders.len()])
                .collect(),
            table: MediumRow::table(),
        }
    }

    /// Records the service times at the end of the warm-up.
    pub fn note_warm(&mut self, media: &Media) {
        let served = |channel: &Channel| channel.counts().map(|counts| counts.service).collect();
        self.warm = media.channels.iter().map(served).collect();
    }

    /// Appends a row for each medium.
    pub fn write(&mut self, now: Time, media: &Media) {
        for channel in &media.channels {
            let usage = channel.shared.medium.usage(now);
            let nanos = |span: Span| span.as_nanos() as i64;
            let sum = |part: fn(&ContenderCounts) -> u64| {
                channel.counts().map(|counts| part(&counts)).sum::<u64>() as i64
            };
            MediumRow {
                point: self.point,
                replicate: self.replicate,
                medium: &channel.shared.name,
                time_s: now.as_seconds(),
                idle_ns: nanos(usage.idle),
                success_ns: nanos(usage.success),
                collision_ns: nanos(usage.collision),
                successes: usage.successes as i64,
                collisions: usage.collisions as i64,
                attempts: sum(ContenderCounts::attempts),
                internal_collisions: sum(|counts| counts.internal_collisions),
                retry_drops: sum(|counts| counts.retry_drops),
            }
            .push(&mut self.table);
        }
    }

    /// Returns the rows of the media, and one row for each contender; nothing if there are no
    /// media. `groups` are the names of the flows.
    pub fn finish(
        self,
        media: &Media,
        flows: &[Flow],
        groups: &[(String, String)],
    ) -> Vec<(&'static str, Table)> {
        if media.channels.is_empty() {
            return Vec::new();
        }
        let mut contenders = ContenderRow::table();
        for (channel, warm) in media.channels.iter().zip(&self.warm) {
            let all = channel.shared.contenders.iter();
            let mut all: Vec<_> = all.zip(channel.counts()).zip(warm).collect();
            let owner = |contender: &Contender| contender.owner.map(|flow| &flows[flow as usize]);
            // Shared hops, then those of the flows in the scenario's order.
            all.sort_by_key(|((contender, _), _)| {
                owner(contender).map(|flow| (flow.group, flow.instance))
            });
            for ((contender, counts), warm) in all {
                let owner = owner(contender);
                let service = counts.service.since(warm);
                ContenderRow {
                    point: self.point,
                    replicate: self.replicate,
                    medium: &channel.shared.name,
                    hop: &contender.name,
                    flow: owner.map_or("", |flow| &groups[flow.group as usize].0),
                    instance: owner.map_or(0, |flow| flow.instance.into()),
                    station: contender.station.into(),
                    attempts: counts.attempts() as i64,
                    successes: counts.successes as i64,
                    collisions: counts.collisions as i64,
                    internal_collisions: counts.internal_collisions as i64,
                    retry_drops: counts.retry_drops as i64,
                    airtime_s: counts.airtime.as_seconds(),
                    service_time_mean_s: service.mean_s(),
                    service_time_sd_s: service.sd_s(),
                }
                .push(&mut contenders);
            }
        }
        vec![("media", self.table), ("contenders", contenders)]
    }
}
