//! The saved parameters of Careful Resume, which the instances of a flow leave to later ones.

use crate::flow::Flow;
use ackclock_core::endpoint::Sender;
use ackclock_core::endpoint::parameters::ResumeFrom;
use ackclock_core::endpoint::resume::SavedPath;
use ackclock_spec::units::Time;
use std::collections::BTreeMap;

/// The flows whose instances resume what earlier ones have saved.
#[derive(Debug)]
pub(super) struct Heirs(BTreeMap<u32, Estate>);

/// Parameters that the instances of one flow share.
#[derive(Debug, Default)]
struct Estate {
    /// Instances that have opened and were not seen to end, and what they took.
    open: Vec<(usize, Option<(SavedPath, Time)>)>,
    /// Parameters that the last one to end has saved, and when. An instance that takes them is the
    /// only one.
    saved: Option<(SavedPath, Time)>,
}

impl Heirs {
    /// Returns them, if there are any.
    pub fn of(flows: &[Flow]) -> Option<Box<Self>> {
        let inherits = |flow: &&Flow| {
            let resume = flow.sender()?.parameters().growth.resume?;
            (resume.from == ResumeFrom::EarlierFlow).then_some(())
        };
        let estates: BTreeMap<u32, Estate> = flows
            .iter()
            .filter(|flow| inherits(flow).is_some())
            .map(|flow| (flow.group, Estate::default()))
            .collect();
        (!estates.is_empty()).then(|| Box::new(Heirs(estates)))
    }

    /// Gives a flow that is about to open what earlier ones have saved.
    #[cold]
    pub fn before_opening(&mut self, flow: usize, now: Time, flows: &mut [Flow]) {
        if !flows[flow].is_new() {
            return;
        }
        let Some(estate) = self.0.get_mut(&flows[flow].group) else {
            return;
        };
        estate.collect(now, flows);
        let taken = estate.saved.take();
        let sender = flows[flow].sender_mut();
        if let (Some((path, at)), Some(resuming)) = (taken, sender.and_then(Sender::resuming)) {
            resuming.remember(path, now.since(at));
        }
        estate.open.push((flow, taken));
    }
}

impl Estate {
    /// Takes in what ended instances have observed.
    fn collect(&mut self, now: Time, flows: &mut [Flow]) {
        let Estate { open, saved } = self;
        open.retain(|&(number, taken)| {
            let Some(ended) = flows[number].ended().filter(|&ended| ended <= now) else {
                return true;
            };
            let sender = flows[number].sender_mut();
            let left = sender.and_then(Sender::resuming).and_then(|resuming| {
                let observed = resuming.observed().map(|path| (path, ended));
                observed.or(taken.filter(|_| resuming.keeps()))
            });
            if let Some((_, at)) = left
                && saved.is_none_or(|(_, before)| before <= at)
            {
                *saved = left;
            }
            false
        });
    }
}
