//! Records of emulations that are damaged, or made up: each is refused, or replayed within the run.
#![cfg(target_os = "linux")]

mod any_bytes;

use ackclock_core::packet::FlowId;
use ackclock_emu::driver::Driver;
use ackclock_emu::ipv4::Direction;
use ackclock_emu::record::MAGIC;
use ackclock_scenario::job::jobs;
use ackclock_spec::units::Time;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::slice;
use std::sync::LazyLock;

/// The record of a run with packets of both flows, in several chunks.
static WRITTEN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let scenario = any_bytes::scenario();
    let job = &jobs(slice::from_ref(&scenario))[0];
    let mut driver = Driver::new(job.network(), scenario.sample_interval, (0, 0));
    let (mut record, mut body) = (MAGIC.to_vec(), Vec::new());
    for number in 0..400_u32 {
        let at = Time::from_nanos(u64::from(number) * 1_700_000);
        let flow = FlowId(number % 2);
        driver.handle_packet(at, flow, Direction::Forward, &[0x45; 1200]);
        while driver.poll_departure(at).is_some() {}
        if number % 100 == 99 {
            let chunk = driver.poll_record();
            chunk.write_to(&mut record, &mut body).unwrap();
            chunk.clear();
        }
    }
    driver.finish(Time::ZERO + scenario.duration);
    driver
        .poll_record()
        .write_to(&mut record, &mut body)
        .unwrap();
    record
});

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_damaged_record_is_refused_or_replayed_within_its_run(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut record = WRITTEN.clone();
        for (place, byte) in places {
            let place = place.index(record.len());
            record[place] = byte;
        }
        if is_cut {
            record.truncate(cut.index(record.len()));
        }
        any_bytes::record(&record);
    }

    #[test]
    fn any_bytes_are_refused_or_replayed_within_the_run(
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let head = [&(body.len() as u32).to_le_bytes()[..], &[0; 8]].concat();
        any_bytes::record(&[head, body].concat());
    }
}

#[test]
fn records_that_were_kept_are_refused_or_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    let files = fs::read_dir(corpus).unwrap();
    let count = files
        .map(|file| any_bytes::record(&fs::read(file.unwrap().path()).unwrap()))
        .count();
    assert!(count >= 6, "{count}");
}
