//! Speed of a session on loopback with one core per side, compared with datagrams without rate
//! control. Run `cargo run --release -p ackclock-bench --example loopback`; it prints the table
//! of BENCHMARKS.md, section "Sending".
//!
//! Plain UDP does what a speed test does: datagrams as long as ours, as fast as possible, one call
//! for each, counted on arrival, without tag, number or clock. Programs take turns, so that other
//! load on the machine affects all of them. Of several repeats the fastest counts.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use ackclock_spec::units::Span;
    use ackclock_transport::clock::{Clock, thread_time};
    use ackclock_transport::driver::{self, Live, Port, SessionOutcome};
    use ackclock_transport::keys::SharedKey;
    use ackclock_transport::options::{ReceiveOptions, SendOptions};
    use ackclock_transport::session::{ReceiverReport, SenderReport};
    use ackclock_transport::wire::{Data, LONGEST, LONGEST_PAYLOAD};
    use rustix::thread::{CpuSet, sched_setaffinity};
    use serde_json::json;
    use std::io;
    use std::net::{SocketAddr, UdpSocket};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    const REPEATS: usize = 3;
    const SECONDS: f64 = 4.0;

    /// Rate of the payload that arrived, with the headers inside the datagram, in Mbit/s; processor
    /// time of sender and receiver as shares of the elapsed time.
    #[derive(Clone, Copy)]
    struct Measured {
        mbit_per_s: f64,
        sender: f64,
        receiver: f64,
        lost: f64,
    }

    pub fn main() -> io::Result<()> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let caps = ["1 Gbit/s", "10 Gbit/s"];
        // TFRCP starts at the highest rate; it would need half a minute of doubling to reach it.
        let ours: Vec<(&str, &str)> = ["tfrc", "tfrcp"]
            .into_iter()
            .flat_map(|control| caps.map(|cap| (control, cap)))
            .collect();
        let mut rates = vec![Vec::new(); ours.len() + 1];
        for _ in 0..REPEATS {
            rates[0].push(plain(address)?);
            for (index, (control, cap)) in ours.iter().enumerate() {
                rates[index + 1].push(session(address, control, cap)?);
            }
        }
        println!(
            "| loopback, one core for each side | Mbit/s | to plain UDP | CPU of sender, receiver \
             | Gbit per CPU second | lost |"
        );
        println!("|---|---:|---:|---:|---:|---:|");
        let fastest = |all: &Vec<Measured>| {
            all.iter()
                .copied()
                .max_by(|a, b| a.mbit_per_s.total_cmp(&b.mbit_per_s))
                .expect("there are repeats")
        };
        let base = fastest(&rates[0]).mbit_per_s;
        let names = std::iter::once("plain UDP".to_owned()).chain(
            ours.iter()
                .map(|(control, cap)| format!("`{control}`, at most {cap}")),
        );
        for (name, all) in names.zip(&rates) {
            let Measured {
                mbit_per_s,
                sender,
                receiver,
                lost,
            } = fastest(all);
            println!(
                "| {name} | {mbit_per_s:.0} | {:.2} | {:.0} %, {:.0} % | {:.1}, {:.1} | {:.2} % |",
                mbit_per_s / base,
                sender * 100.0,
                receiver * 100.0,
                mbit_per_s * 1e-3 / (1.0 - lost) / sender,
                mbit_per_s * 1e-3 / receiver,
                lost * 100.0
            );
        }
        Ok(())
    }

    /// Pins this thread to one core, if there is more than one.
    fn pin(core: usize) {
        let mut set = CpuSet::new();
        set.set(core);
        let _ = sched_setaffinity(None, &set);
    }

    fn plain(address: SocketAddr) -> io::Result<Measured> {
        let sink = UdpSocket::bind(address)?;
        sink.set_read_timeout(Some(Duration::from_millis(500)))?;
        let target = sink.local_addr()?;
        let sender = thread::spawn(move || -> io::Result<(u64, f64)> {
            pin(1);
            let (socket, clock, datagram) =
                (UdpSocket::bind(address)?, Clock::start(), [0_u8; LONGEST]);
            socket.connect(target)?;
            let mut sent = 0;
            while clock.now().as_seconds() < SECONDS {
                for _ in 0..64 {
                    sent += u64::from(socket.send(&datagram).is_ok());
                }
            }
            Ok((sent, thread_time().as_seconds() / SECONDS))
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let receiver = thread::spawn(move || {
            pin(0);
            let (mut buffer, mut count, mut bytes) = ([0; 2048], 0_u64, 0);
            loop {
                match sink.recv(&mut buffer) {
                    Ok(length) => {
                        count += 1;
                        bytes += length;
                    }
                    Err(_) if over.load(Ordering::Relaxed) => break,
                    Err(_) => {} // the sender has not begun
                }
            }
            (
                count,
                bytes as f64 * 8e-6 / SECONDS,
                thread_time().as_seconds() / SECONDS,
            )
        });
        let (sent, sender) = sender.join().expect("it does not panic")?;
        is_over.store(true, Ordering::Relaxed);
        let (count, mbit_per_s, receiver) = receiver.join().expect("it does not panic");
        Ok(Measured {
            mbit_per_s,
            sender,
            receiver,
            lost: 1.0 - count as f64 / sent as f64,
        })
    }

    fn session(address: SocketAddr, control: &str, cap: &str) -> io::Result<Measured> {
        let payload = format!("{LONGEST_PAYLOAD} bytes");
        let control = match control {
            "tfrcp" => json!({ "kind": control, "initial_rate": "100000 packets/s" }),
            _ => json!({ "kind": control }),
        };
        let send = json!({
            "--control": [&control],
            "--max-rate": cap,
            "--payload": payload,
            "--tick": "1 ms",
            "--burst": "2 packets",
            "--catch-up": "10 ms",
            "anywhere": false,
        });
        let port = Port::bind(address, None)?;
        let receive = json!({
            "SENDER": port.local().to_string(),
            "--control": &control,
            "--max-rate": cap,
            "--payload": payload,
            "--wait": "10 s",
        });
        let failed = |error| io::Error::other(format!("{error}"));
        let (settings, source) = SendOptions::read(send)
            .map_err(failed)?
            .settings(SharedKey::public(), 1)
            .map_err(failed)?;
        let asked = ReceiveOptions::read(receive)
            .map_err(failed)?
            .settings(SharedKey::public())
            .map_err(failed)?;
        let sender = thread::spawn(
            move || -> io::Result<(SessionOutcome<Option<SenderReport>>, f64)> {
                pin(1);
                let live = Live::new(Some(Span::from_seconds(SECONDS)))?;
                let outcome = driver::send(port, settings, source, None, &[1; 32], &live)?;
                Ok((outcome, thread_time().as_seconds()))
            },
        );
        let receiver = thread::spawn(
            move || -> io::Result<(SessionOutcome<ReceiverReport>, f64)> {
                pin(0);
                let port = Port::bind(address, None)?;
                let outcome = driver::receive(port, asked, None, [2; 16], &Live::new(None)?)?;
                Ok((outcome, thread_time().as_seconds()))
            },
        );
        let (sent, sender) = sender.join().expect("it does not panic")?;
        let (received, receiver) = receiver.join().expect("it does not panic")?;
        let arrived = received.report.arrived;
        let measured_s = received
            .report
            .last
            .since(received.report.begun.unwrap_or_default())
            .as_seconds();
        let bits = arrived.packets as f64 * Data::length(LONGEST_PAYLOAD) as f64 * 8.0;
        let lost = 1.0
            - arrived.packets as f64
                / sent
                    .report
                    .map_or(f64::NAN, |report| report.statistics.sent as f64);
        Ok(Measured {
            mbit_per_s: bits * 1e-6 / measured_s,
            sender: sender / SECONDS,
            receiver: receiver / SECONDS,
            lost,
        })
    }
}
