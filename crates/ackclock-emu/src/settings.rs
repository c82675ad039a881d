//! Kernel settings of a network namespace (sysctls), through /proc/sys/net, which shows each thread
//! its own namespace's.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// A setting by its name in sysctl(8), and the value to give it.
pub type Setting = (String, String);

/// What became of something that the kernel was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelAnswer {
    /// It was taken. The kernel, asked again, says this.
    Accepted {
        /// What the kernel has now; it may have changed what it was given.
        value: String,
    },
    /// It was not taken.
    Refused {
        /// What the kernel says.
        reason: String,
    },
    /// This kernel has no such thing.
    NotInThisKernel,
}

impl KernelAnswer {
    /// Why it is not as asked; for what was taken, what the kernel has.
    pub fn reason(&self) -> &str {
        match self {
            KernelAnswer::Accepted { value } => value,
            KernelAnswer::Refused { reason } => reason,
            KernelAnswer::NotInThisKernel => "it does not exist",
        }
    }
}

/// What TCP is to do in a network namespace. What is `None` is left to the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// Selective acknowledgements, RFC 2018.
    pub sack: Option<bool>,
    /// Duplicate selective acknowledgements, RFC 2883.
    pub duplicate_sack: Option<bool>,
    /// Timestamps, RFC 7323.
    pub timestamps: Option<bool>,
    /// Window scaling, RFC 7323.
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification, RFC 3168: asked for and granted, or neither.
    pub ecn: Option<bool>,
    /// Loss detection by time, RFC 8985.
    pub rack: Option<bool>,
    /// Tail loss probes, RFC 8985.
    pub tail_loss_probe: Option<bool>,
    /// Detection of spurious timeouts, RFC 5682.
    pub frto: Option<bool>,
    /// Segments that may be overtaken before one is taken for lost (the duplicate ACK threshold at
    /// the beginning).
    pub reordering_segments: Option<u32>,
    /// The least retransmission timeout, in microseconds; a route's own comes first.
    pub rto_min_us: Option<u32>,
    /// Slow start anew after an idle time, RFC 5681, 4.1.
    pub slow_start_after_idle: Option<bool>,
    /// The largest receive buffer, in bytes.
    pub receive_buffer_max_bytes: Option<u64>,
    /// The largest send buffer, in bytes.
    pub send_buffer_max_bytes: Option<u64>,
}

impl TcpSettings {
    /// The settings by name and value, in the order of the fields.
    pub fn settings(&self) -> Vec<Setting> {
        let flag = |value: Option<bool>| value.map(|on| u8::from(on).to_string());
        let choice = |value: Option<bool>, yes: &str, no: &str| {
            value.map(|on| if on { yes } else { no }.to_owned())
        };
        let buffer = |value: Option<u64>, default: u64| {
            // Least, initial and largest; the first two as the kernel has them by default.
            value.map(|largest| format!("4096 {} {largest}", default.min(largest)))
        };
        [
            ("sack", flag(self.sack)),
            ("dsack", flag(self.duplicate_sack)),
            ("timestamps", flag(self.timestamps)),
            ("window_scaling", flag(self.window_scaling)),
            ("ecn", flag(self.ecn)),
            // Bits, of which the first is RACK; without it losses are detected as in RFC 6675.
            ("recovery", flag(self.rack)),
            // 3 is the kernel's default, 0 switches probes off.
            ("early_retrans", choice(self.tail_loss_probe, "3", "0")),
            // 2 is the kernel's default.
            ("frto", choice(self.frto, "2", "0")),
            (
                "reordering",
                self.reordering_segments
                    .map(|segments| segments.to_string()),
            ),
            ("rto_min_us", self.rto_min_us.map(|span| span.to_string())),
            ("slow_start_after_idle", flag(self.slow_start_after_idle)),
            ("rmem", buffer(self.receive_buffer_max_bytes, 131_072)),
            ("wmem", buffer(self.send_buffer_max_bytes, 16_384)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((format!("net.ipv4.tcp_{name}"), value?)))
        .collect()
    }
}

/// What every host needs whatever the scenario says: nothing is remembered from one connection to
/// the next.
pub(crate) fn always() -> Vec<Setting> {
    vec![("net.ipv4.tcp_no_metrics_save".into(), "1".into())]
}

/// Switches IPv6 off for every interface to come, so that none sends what nobody asked for.
///
/// # Errors
/// What the kernel says; a kernel without IPv6 is fine.
pub(crate) fn forbid_ipv6() -> io::Result<()> {
    for scope in ["all", "default"] {
        match std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The file of a setting; `None` for what is not a setting of a network namespace.
fn file_of(name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split('.').collect();
    let fine = |part: &&str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    (parts.len() > 2 && parts[0] == "net" && parts.iter().all(fine))
        .then(|| PathBuf::from("/proc/sys").join(parts.join("/")))
}

/// Gives a setting a value in the calling thread's network namespace, and reads it back.
pub(crate) fn apply((name, value): &Setting) -> KernelAnswer {
    let Some(file) = file_of(name) else {
        return KernelAnswer::Refused {
            reason: "is not a setting of a network namespace".into(),
        };
    };
    match std::fs::write(&file, value).and_then(|()| std::fs::read_to_string(&file)) {
        Ok(value) => KernelAnswer::Accepted {
            value: value.split_whitespace().collect::<Vec<_>>().join(" "),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => KernelAnswer::NotInThisKernel,
        Err(error) => KernelAnswer::Refused {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_kernels_names_and_values() {
        assert_eq!(TcpSettings::default().settings(), []);
        let settings = TcpSettings {
            sack: Some(true),
            rack: Some(false),
            tail_loss_probe: Some(false),
            rto_min_us: Some(5000),
            send_buffer_max_bytes: Some(64 << 20),
            receive_buffer_max_bytes: Some(8192),
            ..TcpSettings::default()
        };
        let expected = [
            ("net.ipv4.tcp_sack", "1"),
            ("net.ipv4.tcp_recovery", "0"),
            ("net.ipv4.tcp_early_retrans", "0"),
            ("net.ipv4.tcp_rto_min_us", "5000"),
            ("net.ipv4.tcp_rmem", "4096 8192 8192"),
            ("net.ipv4.tcp_wmem", "4096 16384 67108864"),
        ];
        assert_eq!(
            settings.settings(),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn only_settings_of_network_namespaces_are_touched() {
        assert_eq!(
            file_of("net.ipv4.tcp_sack").unwrap().to_str(),
            Some("/proc/sys/net/ipv4/tcp_sack")
        );
        for name in [
            "kernel.hostname",
            "net",
            "net.ipv4",
            "net.ipv4...",
            "net.ipv4./etc/x",
            "net.ipv4.tcp sack",
            "",
        ] {
            assert_eq!(file_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_setting_that_is_not_there() {
        assert_eq!(
            apply(&("net.ipv4.tcp_no_such".into(), "1".into())),
            KernelAnswer::NotInThisKernel
        );
        let outcome = apply(&("kernel.hostname".into(), "x".into()));
        assert!(
            matches!(outcome, KernelAnswer::Refused { .. }),
            "{outcome:?}"
        );
    }
}
