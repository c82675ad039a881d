//! Comparison with Wireshark: tshark and our reader read the same files, and our reader reads files
//! that Wireshark's programs write.
//!
//! Skips, and says so, where tshark is not installed.

use crate::peer::{Scratch, tshark, tshark_is_missing};
use crate::samples::*;
use ackclock_core::packet::Ecn;
use ackclock_pcap::packet::{Flags, Segment, Transport};
use ackclock_pcap::{CapturedPacket, Reader};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// Options that make tshark show each packet by itself, with the raw numbers.
const PREFERENCES: &[&str] = &[
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
];
const FIELDS: &str = "frame.time_epoch ip.src ipv6.src ip.dst ipv6.dst ip.len ipv6.plen \
                      ip.id ip.dsfield.ecn ipv6.tclass.ecn \
                      tcp.srcport udp.srcport tcp.dstport udp.dstport udp.length \
                      tcp.seq_raw tcp.ack_raw tcp.len tcp.window_size_value \
                      tcp.flags tcp.options.mss_val tcp.options.wscale.shift tcp.options.sack_perm \
                      tcp.options.timestamp.tsval \
                      tcp.options.timestamp.tsecr tcp.options.sack_le tcp.options.sack_re";

fn read(file: &Path) -> Vec<CapturedPacket> {
    let mut reader = Reader::new(File::open(file).unwrap()).unwrap();
    let packets = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.damage(), None);
    packets
}

/// Parses a row of tshark's output as a packet; `None` if it has no port or no time.
fn parse(row: &str) -> Option<CapturedPacket> {
    let columns: Vec<_> = row.split(' ').collect();
    let number = |column: usize| match columns[column].strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => columns[column].parse().ok(),
    };
    let either = |column: usize| number(column).or_else(|| number(column + 1));
    let address = |column: usize, port| {
        let text = [columns[column], columns[column + 1]].concat();
        (text.parse::<std::net::IpAddr>().unwrap(), port as u16).into()
    };
    let source_port = either(10)?;
    let (seconds, nanos) = columns[0].split_once('.')?;
    let transport = match number(14) {
        Some(length) => Transport::Udp {
            payload: length as u32 - 8,
            begin: None,
        },
        None => Transport::Tcp(segment(&columns, number)?),
    };
    Some(CapturedPacket {
        at_ns: seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap(),
        source: address(1, source_port),
        destination: address(3, either(12)?),
        ip_bytes: number(5).or_else(|| number(6).map(|payload| payload + 40))? as u32,
        identification: number(7).unwrap_or(0) as u16,
        ecn: [Ecn::NotCapable, Ecn::CapableL4s, Ecn::Capable, Ecn::Marked][either(8)? as usize],
        transport,
    })
}

fn segment(columns: &[&str], number: impl Fn(usize) -> Option<u64>) -> Option<Segment> {
    let flag = |bit: u32| number(19).is_some_and(|flags| flags >> bit & 1 == 1);
    let mut segment = Segment {
        sequence: number(15)? as u32,
        acknowledgment: number(16)? as u32,
        payload: number(17)? as u32,
        window: number(18)? as u16,
        flags: Flags {
            fin: flag(0),
            syn: flag(1),
            rst: flag(2),
            psh: flag(3),
            ack: flag(4),
            ece: flag(6),
            cwr: flag(7),
            ae: flag(8),
        },
        ..Segment::default()
    };
    segment.options.maximum_segment = number(20).map(|size| size as u16);
    segment.options.window_scale = number(21).map(|shift| shift as u8);
    segment.options.sack_permitted = !columns[22].is_empty();
    segment.options.timestamps = number(23)
        .zip(number(24))
        .map(|(value, echo)| (value as u32, echo as u32));
    for (left, right) in columns[25].split(',').zip(columns[26].split(',')) {
        if let (Ok(left), Ok(right)) = (left.parse(), right.parse()) {
            segment.options.push_sack(left, right);
        }
    }
    Some(segment)
}

/// To start tshark takes longer than to read all these files. So mergecap, which reads files as
/// tshark does, puts their packets into one, each with the link type and the clock of its file. It
/// fails at a file of two sections.
#[test]
fn tshark_reads_the_same_in_the_same_files() {
    if tshark_is_missing() {
        return;
    }
    let written = |(name, bytes): (String, Vec<u8>)| {
        let scratch = Scratch::new(&name);
        fs::write(&scratch.0, bytes).unwrap();
        (name, scratch)
    };
    let (sections, parts): (Vec<_>, Vec<_>) = files()
        .into_iter()
        .map(written)
        .partition(|(name, _)| name == "sections.pcapng");
    tshark_reads_the_same(&sections[0].1.0, &sections);
    let merged = Scratch::new("same-merged.pcapng");
    let mut paths: Vec<&Path> = vec![&merged.0];
    paths.extend(parts.iter().map(|(_, scratch)| scratch.0.as_path()));
    run("mergecap", &["-a", "-w"], &paths);
    tshark_reads_the_same(&merged.0, &parts);
}

/// Asserts that tshark reads in `file` what we read in the parts, one after the other.
fn tshark_reads_the_same(file: &Path, parts: &[(String, Scratch)]) {
    let rows = tshark(file, PREFERENCES, FIELDS);
    let mut all = rows.iter().filter_map(|row| parse(row));
    for (name, scratch) in parts {
        let mut ours = read(&scratch.0);
        if name == "snapped.pcap" {
            assert!(
                ours.iter().any(
                    |packet| matches!(packet.transport, Transport::Tcp(segment) if segment.cut)
                )
            );
        }
        for packet in &mut ours {
            match &mut packet.transport {
                Transport::Tcp(segment) => segment.cut = false,
                Transport::Udp { begin, .. } => *begin = None,
            }
        }
        assert!(ours.len() >= 3);
        let theirs: Vec<_> = all.by_ref().take(ours.len()).collect();
        assert_eq!(ours, theirs, "{name}");
    }
    assert_eq!(all.next(), None, "tshark reads more");
}

/// Runs one of Wireshark's programs, which writes a file.
fn run(program: &str, arguments: &[&str], files: &[&Path]) {
    let output = Command::new(program).args(arguments).args(files).output();
    // Debian's package of tshark contains them.
    let output = output.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn what_wireshark_s_programs_write_is_read() {
    if tshark_is_missing() {
        return;
    }
    let original = Scratch::new("editcap-original.pcap");
    fs::write(
        &original.0,
        pcap(Order::Big, MICROSECONDS, 1, &packets_on(1)),
    )
    .unwrap();
    let expected = read(&original.0);
    for format in ["pcap", "nsecpcap", "modpcap", "pcapng"] {
        let written = Scratch::new(&format!("editcap-{format}"));
        run("editcap", &["-F", format], &[&original.0, &written.0]);
        assert_eq!(read(&written.0), expected, "{format}");
    }
    // Two link types in one file.
    let other = Scratch::new("mergecap-other.pcap");
    fs::write(
        &other.0,
        pcap(Order::Little, NANOSECONDS, 276, &packets_on(276)),
    )
    .unwrap();
    let merged = Scratch::new("mergecap-merged.pcapng");
    run(
        "mergecap",
        &["-a", "-w"],
        &[&merged.0, &original.0, &other.0],
    );
    assert_eq!(read(&merged.0), [&expected[..], &expected].concat());
}
