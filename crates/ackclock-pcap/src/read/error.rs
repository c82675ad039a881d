//! Errors of a file: one line each, to be printed after the file's name.

use std::error::Error;
use std::{fmt, io};

/// Bytes of a file that are examined to say what it is.
pub(super) const LOOKED_AT: usize = 512;

const REMEDY: &str = "not a pcap or pcapng capture; capture with tcpdump -w FILE";

/// The reason why a capture cannot be read, or cannot be read further.
#[derive(Debug)]
pub enum CaptureError {
    /// The device or pipe failed.
    Input(io::Error),
    /// Not a capture, or of a format that cannot be read. One line that says what the file is and
    /// what to do; it continues after the file's name and a colon.
    Format(String),
    /// A capture of an unknown version or with an unknown link type. One line, as above.
    Unsupported(String),
}

impl CaptureError {
    /// Returns the error for a file that begins with these bytes.
    pub(super) fn not_a_capture(bytes: &[u8]) -> Self {
        if let Some((_, what, remedy)) = KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
            return CaptureError::Format(format!("is {what}; {remedy}"));
        }
        let content = if bytes.is_empty() {
            "is empty".into()
        } else if is_text(bytes) {
            "is a text file".into()
        } else {
            let begin: Vec<_> = bytes
                .iter()
                .take(4)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("begins with the bytes {}", begin.join(" "))
        };
        CaptureError::Format(format!("{content}, {REMEDY}"))
    }

    /// Returns the error for an unknown format version.
    pub(super) fn version(format: &str, major: u16, minor: u16, known: u16) -> Self {
        CaptureError::Unsupported(format!(
            "is {format} of version {major}.{minor}, but only {known}.x can be read; \
             convert it with editcap -F pcap FILE OUTPUT"
        ))
    }

    /// Returns the error for an unknown link type.
    pub(super) fn link_type(number: u32) -> Self {
        CaptureError::Unsupported(format!(
            "has packets of link type {number}, which cannot be decoded; \
             capture on Ethernet (1), raw IP (12, 14, 101, 228, 229), \
             Linux cooked (113, 276) or BSD loopback (0, 108)"
        ))
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Input(error) => write!(f, "cannot be read: {error}"),
            CaptureError::Format(message) | CaptureError::Unsupported(message) => {
                f.write_str(message)
            }
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CaptureError::Input(error) => Some(error),
            CaptureError::Format(_) | CaptureError::Unsupported(_) => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        CaptureError::Input(error)
    }
}

/// The place where a file is damaged or cut, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the damaged item in bytes from the beginning of the file, after decompression.
    pub offset: u64,
    /// Description of the damage.
    pub description: String,
}

impl Damage {
    pub(super) fn new(offset: u64, description: impl Into<String>) -> Self {
        let description = description.into();
        Damage {
            offset,
            description,
        }
    }

    /// Converts damage before the first packet into an error: nothing of the file can be read.
    pub(super) fn before_any_packet(self) -> CaptureError {
        CaptureError::Format(format!("is damaged {self}; capture again"))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.description)
    }
}

/// Files often mistaken for pcap or pcapng: first bytes, what the file is, and the remedy.
const KNOWN: [(&[u8], &str, &str); 5] = [
    (
        b"\x28\xb5\x2f\xfd",
        "compressed with zstd",
        "unpack it with zstd -d FILE",
    ),
    (
        b"\xfd7zXZ\0",
        "compressed with xz",
        "unpack it with xz -d FILE",
    ),
    (
        b"BZh",
        "compressed with bzip2",
        "unpack it with bzip2 -d FILE",
    ),
    (b"PK\x03\x04", "a zip archive", "unpack it with unzip FILE"),
    (
        b"snoop\0\0\0",
        "a snoop capture",
        "convert it with editcap -F pcap FILE OUTPUT",
    ),
];

/// True if the bytes are printable text. The last character may be cut.
fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty()
        && valid
            .chars()
            .all(|character| character.is_whitespace() || !character.is_control())
}
