//! Program that the tests of hosts start. `host` becomes a host, `workload` becomes one that
//! carries out its part of a run, and `supervise KIND` starts two hosts and waits to be killed.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use ackclock_emu::host::Host;
    use ackclock_emu::host_process::serve_standard_input;
    use ackclock_emu::program::HostProgram;
    use ackclock_emu::protocol::DeviceChoice;
    use ackclock_emu::workload::WorkloadService;
    use ackclock_spec::files::NoFiles;
    use serde_json::{Value, json};
    use std::io::{self, BufRead, Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Longest time that a request may wait for a packet.
    const PATIENCE: Duration = Duration::from_secs(20);

    pub fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["host"] => {
                let mut sockets = Sockets::default();
                let mut answer =
                    |request: Value| sockets.answer(&request).map_err(|error| error.to_string());
                std::process::exit(serve_standard_input(&mut answer));
            }
            ["workload"] => {
                let mut workload = WorkloadService::default();
                std::process::exit(serve_standard_input(&mut |request| {
                    workload.answer(request, &NoFiles)
                }));
            }
            ["supervise", kind] => {
                supervise(serde_json::from_value(json!(kind)).expect("a kind of device"))
            }
            _ => panic!("host, workload or supervise KIND, not {arguments:?}"),
        }
    }

    /// Starts two hosts and prints their process ids. For each line of input, prints the hosts'
    /// answers to a request; at the end of the input, ends them.
    fn supervise(choice: DeviceChoice) {
        let program = HostProgram {
            program: std::env::current_exe().expect("the name of this program"),
            arguments: vec!["host".into()],
        };
        let start =
            || Host::start(&program, choice).unwrap_or_else(|error| panic!("no host: {error}"));
        let mut hosts = [start(), start()];
        for (host, _) in &mut hosts {
            host.call(json!({"do": "leave_orphan"}), None)
                .expect("an orphan");
        }
        let ids: Vec<_> = hosts
            .iter()
            .map(|(host, _)| json!([host.process_id(), host.first_process_id()]))
            .collect();
        println!("{}", json!(ids));
        for _ in io::stdin().lock().lines() {
            let answers: Vec<_> = hosts
                .iter_mut()
                .map(|(host, _)| {
                    host.statistics()
                        .map_or_else(|error| error.to_string(), |_| "here".into())
                })
                .collect();
            println!("{}", json!(answers));
        }
        let ends: Vec<_> = hosts.into_iter().map(|(host, _)| host.exit()).collect();
        std::process::exit(if ends.iter().all(Result::is_ok) { 0 } else { 1 });
    }

    #[derive(Default)]
    struct Sockets {
        datagrams: Option<UdpSocket>,
        listener: Option<TcpListener>,
    }

    impl Sockets {
        fn answer(&mut self, request: &Value) -> io::Result<Value> {
            let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
            match text("do").as_str() {
                "udp_bind" => {
                    let socket = UdpSocket::bind(text("address"))?;
                    socket.set_read_timeout(Some(PATIENCE))?;
                    self.datagrams = Some(socket);
                    Ok(Value::Null)
                }
                "udp_send" => {
                    let socket = self.datagrams.as_ref().expect("bound before");
                    Ok(json!(socket.send_to(text("text").as_bytes(), text("to"))?))
                }
                "udp_receive" => {
                    let mut buffer = [0; 2000];
                    let (length, from) = self
                        .datagrams
                        .as_ref()
                        .expect("bound before")
                        .recv_from(&mut buffer)?;
                    Ok(json!([
                        String::from_utf8_lossy(&buffer[..length]),
                        from.to_string()
                    ]))
                }
                "tcp_listen" => {
                    self.listener = Some(TcpListener::bind(text("address"))?);
                    Ok(Value::Null)
                }
                "tcp_count" => {
                    let (mut stream, _) = self.listener.as_ref().expect("listening").accept()?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes)?;
                    Ok(json!(bytes.len()))
                }
                "tcp_send" => {
                    let mut stream = TcpStream::connect(text("to"))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    stream.write_all(&vec![7; request["bytes"].as_u64().unwrap_or(0) as usize])?;
                    stream.shutdown(Shutdown::Write)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.read_to_end(&mut Vec::new())?; // until the other end has all
                    Ok(json!(rustix::net::sockopt::tcp_congestion(&stream)?))
                }
                // A child of a shell that ends: the host's first process inherits it.
                "leave_orphan" => {
                    let script = "sleep 1000 & exit 0";
                    Command::new("sh")
                        .args(["-c", script])
                        .stdin(Stdio::null())
                        .spawn()?
                        .wait()?;
                    Ok(Value::Null)
                }
                // Ends at once, and nobody waits for it.
                "leave_child" => Ok(json!(Command::new("true").spawn()?.id())),
                // Seen through a /proc of another PID namespace, so the number is right, but not
                // the ids.
                "count_children" => {
                    let list = std::fs::read_to_string("/proc/thread-self/children")?;
                    Ok(json!(list.split_whitespace().count()))
                }
                "interfaces" => Ok(json!(std::fs::read_to_string("/proc/thread-self/net/dev")?)),
                "process_id" => Ok(json!(std::process::id())),
                other => Err(io::Error::other(format!("nobody knows {other:?}"))),
            }
        }
    }
}
