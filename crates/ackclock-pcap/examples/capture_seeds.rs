//! Writes the seeds for fuzzing of captures into `fuzz/corpus`. Run from the root: `cargo run -p
//! ackclock-pcap --example capture_seeds`.

#[path = "../tests/integration/samples.rs"]
mod samples;

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let corpus = Path::new("fuzz/corpus");
    let (captures, packets) = (corpus.join("capture"), corpus.join("packet"));
    fs::create_dir_all(&captures)?;
    fs::create_dir_all(&packets)?;
    for (name, file) in samples::files() {
        fs::write(captures.join(name), file)?;
    }
    for link in samples::LINKS {
        let odd = if link == 1 {
            samples::odd_frames()
        } else {
            Vec::new()
        };
        let frames = samples::packets_on(link).into_iter().chain(odd);
        for (number, frame) in frames.enumerate() {
            // In the layout of the fuzz target: link type, original length, captured bytes.
            let held = &frame[..frame.len().min(160)];
            let seed = [
                &(link as u16).to_le_bytes()[..],
                &(frame.len() as u32).to_le_bytes(),
                held,
            ]
            .concat();
            fs::write(packets.join(format!("{link}-{number}")), seed)?;
        }
    }
    Ok(())
}
