//! The loop between sockets. Only the measured timing depends on the load of the machine, and it is
//! not asserted.

use super::*;
use crate::fidelity::Verdict;
use crate::record::{Chunk, Chunks};
use crate::replay::{Replay, replay};
use crate::testing::{Shared, ipv4_packet};
use ackclock_scenario::network::{self, Network};
use ackclock_scenario::{Scenario, tree};
use ackclock_spec::files::NoFiles;
use ackclock_spec::streams::Streams;
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One end of a pair of sockets that preserve packet boundaries.
struct Socket(OwnedFd);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
impl Port for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match read(&self.0, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        match write(&self.0, packet) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the loop's end, which never blocks, and a host's, which does.
fn pair() -> (Socket, OwnedFd) {
    let kind = SocketType::SEQPACKET;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    rustix::io::ioctl_fionbio(&ours, true).unwrap();
    (Socket(ours), theirs)
}

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Positions of the flows in the scenario.
const DATA: u32 = 0;
const DATAGRAMS: u32 = 1;

fn network() -> Network {
    let text = r#"
schema = 1
name = "sockets"
duration = "60 s"
sample_interval = "100 ms"
[[hops]]
name = "forward"
link = { kind = "constant", rate = "30 Mbit/s" }
queue = { kind = "droptail", limit = "500 packets" }
delay = "3 ms"
[[hops]]
name = "lossy"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "20 packets" }
impairments = [
    { kind = "iid_loss", probability = "30 %" },
    { kind = "duplicate", probability = "20 %" },
]
[[hops]]
name = "back"
link = { kind = "constant", rate = "50 Mbit/s" }
queue = { kind = "droptail", limit = "500 packets" }
delay = "3 ms"
[[flows]]
name = "data"
route = ["forward"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
traffic = { kind = "bulk" }
[[flows]]
name = "datagrams"
route = ["forward", "lossy"]
transport = { kind = "udp", mss = "1000 bytes" }
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"#;
    let scenario = Scenario::from_tree(&tree::from_toml(text).unwrap(), &NoFiles).unwrap();
    network::build(&scenario, &Streams::new(scenario.seed, 0))
}

const INTERVAL: Span = Span::from_millis(100);
/// Packets of data in total, and in flight at once: as many as a socket holds even if nobody reads.
const ALL: u16 = 2500;
const WINDOW: u16 = 30;

fn data(number: u16) -> Vec<u8> {
    ipv4_packet(
        addresses::sender(DATA),
        addresses::receiver(DATA),
        TCP,
        1500,
        0,
        number,
    )
}
fn datagram(number: u16) -> Vec<u8> {
    let (sender, receiver) = (addresses::sender(DATAGRAMS), addresses::receiver(DATAGRAMS));
    ipv4_packet(sender, receiver, UDP, 200, 0, number)
}
fn acknowledgement(number: u16) -> Vec<u8> {
    ipv4_packet(
        addresses::receiver(DATA),
        addresses::sender(DATA),
        TCP,
        40,
        0,
        number,
    )
}

/// Sends data as acknowledgments arrive, with a datagram before each new packet; then sets `stop`.
/// Returns the number of datagrams sent.
fn send(socket: &OwnedFd, stop: &Stop) -> u16 {
    let mut buffer = [0; 2000];
    (0..WINDOW).for_each(|number| assert!(write(socket, &data(number)).is_ok()));
    let mut datagrams = 0;
    for number in 0..ALL {
        let length = read(socket, &mut buffer).unwrap();
        assert_eq!(
            buffer[..length],
            acknowledgement(number),
            "in order, byte for byte"
        );
        if number + WINDOW < ALL {
            write(socket, &datagram(number)).unwrap();
            write(socket, &data(number + WINDOW)).unwrap();
            datagrams += 1;
        }
    }
    stop.give();
    datagrams
}

/// Acknowledges data until the loop is gone. Returns the numbers of data packets and datagrams that
/// arrived.
fn receive(socket: &OwnedFd) -> (u16, u64) {
    let (mut buffer, mut count) = ([0; 2000], (0, 0));
    loop {
        match read(socket, &mut buffer).unwrap() {
            0 => return count,
            200 => {
                let number = u16::from_be_bytes([buffer[4], buffer[5]]);
                assert_eq!(buffer[..200], datagram(number));
                count.1 += 1;
            }
            length => {
                assert_eq!(buffer[..length], data(count.0), "in order, byte for byte");
                write(socket, &acknowledgement(count.0)).unwrap();
                count.0 += 1;
            }
        }
    }
}

/// Returns times and lengths of the packets of a capture.
fn captured(file: &[u8]) -> Vec<(u64, u32)> {
    let word = |bytes: &[u8], at: usize| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let (mut rest, mut packets) = (&file[24..], Vec::new());
    while !rest.is_empty() {
        let nanos = u64::from(word(rest, 0)) * 1_000_000_000 + u64::from(word(rest, 4));
        packets.push((nanos, word(rest, 12)));
        rest = &rest[16 + word(rest, 8) as usize..];
    }
    packets
}

#[test]
fn what_goes_in_comes_out_and_replays() {
    let ((senders, at_senders), (receivers, at_receivers)) = (pair(), pair());
    let (record, captures, stop) = (
        Shared::default(),
        [(); 4].map(|()| Shared::default()),
        Stop::new().unwrap(),
    );
    let mut outputs = Outputs {
        record: Some(Box::new(record.clone())),
        captures: Captures::default(),
        ..Outputs::default()
    };
    for (point, output) in Point::ALL.into_iter().zip(&captures) {
        outputs
            .captures
            .add(point, Box::new(output.clone()))
            .unwrap();
    }
    let driver = Driver::new(network(), INTERVAL, (0, 0));
    let real_time = RealTime::new(driver, (senders, receivers), outputs).unwrap();
    let (report, datagrams, (data_came, datagrams_came)) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&at_senders, &stop));
        let receiver = scope.spawn(|| receive(&at_receivers));
        // A limit in case the test fails.
        let report = real_time
            .run(&Clock::start(), Time::from_seconds(120.0), &stop)
            .unwrap();
        (report, sender.join().unwrap(), receiver.join().unwrap())
    });

    let traffic = report.traffic;
    let (all, datagrams) = (u64::from(ALL), u64::from(datagrams));
    assert!(report.stopped && data_came == ALL);
    assert_eq!(traffic.taken, [all + datagrams, all]);
    assert_eq!(traffic.written, [all + datagrams_came, all]);
    assert_eq!(
        (traffic.not_written, traffic.malformed, traffic.strangers),
        (0, 0, 0)
    );
    let lost = report.driver.losses()[1];
    let duplicates = report.driver.hops()[1].counters().duplicates;
    let dropped = report.driver.dropped();
    let of_flows: Vec<u64> = report
        .driver
        .written()
        .iter()
        .map(|flow| dropped[flow.0 as usize].drops())
        .collect();
    assert_eq!(of_flows, [0, lost.drops()]);
    assert_eq!(
        datagrams + duplicates,
        datagrams_came + lost.drops() + report.driver.inside() as u64
    );
    assert!(lost.impairment > datagrams / 10 && duplicates > datagrams / 20);

    let chunks: io::Result<Vec<Chunk>> = Chunks::new(&record.bytes()[..]).unwrap().collect();
    let replayed = replay(
        network(),
        INTERVAL,
        Time::NEVER,
        chunks.unwrap().into_iter().map(Ok),
    )
    .unwrap();
    let expected = Replay {
        arrivals: 2 * all + datagrams,
        decisions: replayed.decisions,
        until: report.driver.now(),
        complete: true,
        difference: None,
    };
    assert_eq!(replayed, expected);
    assert!(replayed.decisions >= traffic.written.iter().sum::<u64>() + lost.drops());

    for (shared, expected) in captures.iter().zip([
        traffic.taken[0],
        traffic.written[0],
        traffic.taken[1],
        traffic.written[1],
    ]) {
        let packets = captured(&shared.bytes());
        assert_eq!(packets.len() as u64, expected);
        assert!(packets.is_sorted_by_key(|(at, _)| *at));
    }
    // The model's own times: packets left the first hop of the return route at its rate.
    let (came, left) = (
        captured(&captures[2].bytes()),
        captured(&captures[3].bytes()),
    );
    let shortest = Span::from_millis(3).as_nanos() + 6400;
    assert!(
        came.iter()
            .zip(&left)
            .all(|(came, left)| left.0 >= came.0 + shortest)
    );

    assert_eq!(
        report.timing.lateness.total(),
        traffic.written.iter().sum::<u64>()
    );
    assert!(report.timing.turns > report.timing.sleeps && report.timing.sleeps > 0);
    let measured = report.measured(0, Span::from_millis(6), 1500, None);
    assert!(measured.lateness_p99 > Span::ZERO && measured.longest_gap > Span::ZERO);
    assert!(
        measured.cpu_share > 0.0 && measured.largest_packet == 1500 && measured.outside_drops == 0
    );
    let verdict = Verdict::of(&measured);
    assert!(verdict.bounds[0].kept && verdict.bounds[3].kept);
    let late = [0.5, 0.9, 0.99, 0.999].map(|share| report.timing.lateness.quantile(share));
    eprintln!(
        "{verdict} (lateness of 50, 90, 99, 99.9 %: {late:?}; {:?})",
        report.traffic
    );
}

/// Runs one turn over the packets in the sockets.
fn one_turn(forward: &[Vec<u8>], back: &[Vec<u8>]) -> (Report, OwnedFd, OwnedFd) {
    let ((senders, at_senders), (receivers, at_receivers)) = (pair(), pair());
    forward
        .iter()
        .for_each(|packet| assert!(write(&at_senders, packet).is_ok()));
    back.iter()
        .for_each(|packet| assert!(write(&at_receivers, packet).is_ok()));
    let stop = Stop::new().unwrap();
    stop.give();
    let driver = Driver::new(network(), INTERVAL, (0, 0));
    let real_time = RealTime::new(driver, (senders, receivers), Outputs::default()).unwrap();
    let report = real_time
        .run(&Clock::start(), Time::from_seconds(120.0), &stop)
        .unwrap();
    (report, at_senders, at_receivers)
}

#[test]
fn what_is_not_ours_is_refused_and_counted() {
    let mut sixth = data(0);
    sixth[0] = 0x60;
    let stranger = ipv4_packet([10, 66, 0, 1].into(), [10, 77, 0, 2].into(), TCP, 60, 0, 0);
    let flow = 2;
    let beyond = ipv4_packet(
        addresses::sender(flow),
        addresses::receiver(flow),
        TCP,
        60,
        0,
        0,
    );
    let padded = [data(1), vec![0; 9]].concat();
    let forward = [
        sixth,
        data(0)[..700].to_vec(),
        stranger,
        beyond,
        acknowledgement(0),
        padded,
    ];
    let (report, ..) = one_turn(&forward, &[data(0), vec![0x45; 3], acknowledgement(1)]);
    let expected = Traffic {
        taken: [1, 1],
        malformed: 3,
        strangers: 4,
        largest: 1500,
        ..Traffic::default()
    };
    assert_eq!(report.traffic, expected);
    assert_eq!(report.driver.inside(), 2);
    assert!(report.stopped);
}

#[test]
fn a_turn_reads_both_sides_in_turn_and_not_too_much() {
    let many: Vec<Vec<u8>> = (0..40).map(acknowledgement).collect();
    let few: Vec<Vec<u8>> = (0..40).map(datagram).collect();
    let (report, ..) = one_turn(&few, &many);
    assert_eq!(report.traffic.taken, [16, 16]);
    let (report, ..) = one_turn(&[], &many);
    assert_eq!(
        report.traffic.taken[1],
        u64::from(MOST_READS) - 1,
        "asking the other side is a read"
    );
}

/// Sets the stop signal after this many bytes have been written.
struct Enough(usize, Stop);

impl Write for Enough {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_sub(bytes.len());
        if self.0 == 0 {
            self.1.give();
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl Output for Enough {}

#[test]
fn a_device_that_is_full_loses_packets_outside_the_model() {
    let ((senders, at_senders), (receivers, at_receivers)) = (pair(), pair());
    // The receivers' socket takes nothing more.
    while write(&receivers.0, &data(0)).is_ok() {}
    for number in 0..5 {
        write(&at_senders, &data(number)).unwrap();
    }
    let stop = Stop::new().unwrap();
    let mut outputs = Outputs::default();
    // A file header, and each packet's header with its first 96 bytes.
    let enough = Enough(24 + 5 * (16 + 96), stop.clone());
    outputs
        .captures
        .add(Point::ToReceivers, Box::new(enough))
        .unwrap();
    let driver = Driver::new(network(), INTERVAL, (0, 0));
    let real_time = RealTime::new(driver, (senders, receivers), outputs).unwrap();
    // A limit in case the test fails.
    let report = real_time
        .run(&Clock::start(), Time::from_seconds(120.0), &stop)
        .unwrap();
    assert!(report.stopped);
    let traffic = report.traffic;
    assert_eq!(
        (traffic.taken[0], traffic.written[0], traffic.not_written),
        (5, 0, 5)
    );
    assert_eq!(report.driver.inside(), 0);
    let measured = report.measured(2, Span::from_millis(6), 1500, None);
    assert_eq!(measured.outside_drops, 5 + 2);
    drop(at_receivers);
}
