//! Kernel settings of a network namespace (sysctls), through /proc/sys/net, where each thread sees
//! those of its own namespace.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// Name of a setting in sysctl(8), and the value to set.
pub type Setting = (String, String);

/// The kernel's answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelAnswer {
    /// Accepted.
    Accepted {
        /// Value read back from the kernel, which may have changed it.
        value: String,
    },
    /// Refused.
    Refused {
        /// The kernel's reason.
        reason: String,
    },
    /// Unknown to this kernel.
    NotInThisKernel,
}

impl KernelAnswer {
    /// Returns the reason of a refusal; if it was accepted, the kernel's value.
    pub fn reason(&self) -> &str {
        match self {
            KernelAnswer::Accepted { value } => value,
            KernelAnswer::Refused { reason } => reason,
            KernelAnswer::NotInThisKernel => "it does not exist",
        }
    }
}

/// Explicit congestion notification that hosts ask for and accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnSetting {
    /// None.
    Off,
    /// The ECN of RFC 3168.
    Classic,
    /// Accurate ECN (RFC 9768). A kernel without it refuses the value 3 and keeps 1, the classic
    /// one.
    Accurate,
}

/// Name of the setting of ECN, and its value for accurate ECN.
pub(crate) const ACCURATE_ECN: (&str, &str) = ("net.ipv4.tcp_ecn", "3");

impl EcnSetting {
    /// Returns the values to set, one after the other.
    const fn values(self) -> &'static [&'static str] {
        match self {
            EcnSetting::Off => &["0"],
            EcnSetting::Classic => &["1"],
            EcnSetting::Accurate => &["1", ACCURATE_ECN.1],
        }
    }
}

/// TCP settings of a network namespace. `None` keeps the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// Selective acknowledgments, RFC 2018.
    pub sack: Option<bool>,
    /// Duplicate selective acknowledgments, RFC 2883.
    pub duplicate_sack: Option<bool>,
    /// Timestamps, RFC 7323.
    pub timestamps: Option<bool>,
    /// Window scaling, RFC 7323.
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification.
    pub ecn: Option<EcnSetting>,
    /// Loss detection by time, RFC 8985.
    pub rack: Option<bool>,
    /// Tail loss probes, RFC 8985.
    pub tail_loss_probe: Option<bool>,
    /// Detection of spurious timeouts, RFC 5682.
    pub frto: Option<bool>,
    /// Reordering in segments above which a segment counts as lost; the initial duplicate ACK
    /// threshold.
    pub reordering_segments: Option<u32>,
    /// Least retransmission timeout in microseconds; that of a route has precedence.
    pub rto_min_us: Option<u32>,
    /// Slow start after an idle time, RFC 5681 section 4.1.
    pub slow_start_after_idle: Option<bool>,
    /// Largest receive buffer in bytes.
    pub receive_buffer_max_bytes: Option<u64>,
    /// Largest send buffer in bytes.
    pub send_buffer_max_bytes: Option<u64>,
}

impl TcpSettings {
    /// Returns the settings by name and value, in the order of the fields.
    pub fn settings(&self) -> Vec<Setting> {
        let flag = |value: Option<bool>| value.map(|on| u8::from(on).to_string());
        let choice = |value: Option<bool>, yes: &str, no: &str| {
            value.map(|on| if on { yes } else { no }.to_owned())
        };
        let buffer = |value: Option<u64>, default: u64| {
            // Minimum, initial and maximum; the first two are the kernel's defaults.
            value.map(|largest| format!("4096 {} {largest}", default.min(largest)))
        };
        let ecn = self.ecn.map_or(&[][..], EcnSetting::values);
        let ecn = ecn.iter().map(|value| ("ecn", Some((*value).to_owned())));
        let others = [
            ("sack", flag(self.sack)),
            ("dsack", flag(self.duplicate_sack)),
            ("timestamps", flag(self.timestamps)),
            ("window_scaling", flag(self.window_scaling)),
            // A bit mask whose first bit is RACK; without it losses are detected as in RFC 6675.
            ("recovery", flag(self.rack)),
            // 3 is the kernel's default; 0 switches probes off.
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
        ];
        ecn.chain(others)
            .filter_map(|(name, value)| Some((format!("net.ipv4.tcp_{name}"), value?)))
            .collect()
    }
}

/// Returns the settings that every host needs: connections must not remember anything of earlier
/// ones.
pub(crate) fn always() -> Vec<Setting> {
    vec![("net.ipv4.tcp_no_metrics_save".into(), "1".into())]
}

/// Switches IPv6 off for all interfaces created later, so that none sends unrequested packets.
///
/// # Errors
/// Errors of the kernel; a kernel without IPv6 is fine.
pub(crate) fn forbid_ipv6() -> io::Result<()> {
    for scope in ["all", "default"] {
        match std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the file of a setting; `None` if it is not a setting of a network namespace.
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

/// Sets a value in the calling thread's network namespace, and reads it back.
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
    fn accurate_ecn_falls_back_to_the_classic_one() {
        let values = |ecn| {
            let settings = TcpSettings {
                ecn: Some(ecn),
                ..TcpSettings::default()
            };
            let values = settings.settings().into_iter();
            values
                .map(|(name, value)| {
                    assert_eq!(name, ACCURATE_ECN.0);
                    value
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(values(EcnSetting::Off), ["0"]);
        assert_eq!(values(EcnSetting::Classic), ["1"]);
        // A kernel that refuses the second keeps the first.
        assert_eq!(values(EcnSetting::Accurate), ["1", "3"]);
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
