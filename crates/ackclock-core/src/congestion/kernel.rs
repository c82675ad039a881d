//! A control of the Linux kernel, which a scenario names and only an emulation runs.

use super::ControlKind;
use super::facts::{ControlFacts, LinuxControl};
use crate::registry::Element;
use crate::scenario::error::{Result, in_range};
use crate::scenario::files::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of a control in Linux (TCP_CA_NAME_MAX, less the terminating zero).
const LONGEST_NAME: usize = 15;

/// Parameters.
///
/// `ackclock doctor` lists the controls that the kernel of this machine offers. A socket cannot set
/// their parameters. The other methods know nothing of them: `simulate` refuses such a control, and
/// `predict` says that it is unknown how the window grows and falls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name as in `net.ipv4.tcp_available_congestion_control`.
    #[schemars(length(min = 1, max = 15), extend("examples" = ["bbr"]))]
    pub name: String,
}

impl Element<ControlKind> for Kernel {
    const NAME: &'static str = "kernel";
    const LABEL: &'static str = "control of the kernel";
    const SUMMARY: &'static str = "Is the Linux kernel's control of that name; only \
        `ackclock emulate` runs it.";
    const REFERENCE: &'static str = "tcp(7), TCP_CONGESTION";

    fn check(&mut self, _: &dyn Files) -> Result<()> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let fits = (1..=LONGEST_NAME).contains(&self.name.len());
        let remedy = "is not a name of a kernel's control; for example \"bbr\"";
        in_range(
            fits && self.name.bytes().all(is_part),
            "name",
            &self.name,
            remedy,
        )
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            title: Some(format!("{}:{}", Self::NAME, self.name)),
            linux: Some(LinuxControl {
                name: self.name.clone(),
                differences: Vec::new(),
                slow_start_ends_on_delay: None,
                reno_friendly_speedup: None,
            }),
            ..ControlFacts::default() // unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::choose;
    use crate::scenario::files::NoFiles;
    use serde_json::json;

    #[test]
    fn a_name_is_what_a_socket_takes() {
        let key = |name: &str| {
            let tree = json!({ "kind": "kernel", "name": name });
            choose::<ControlKind>(&tree, &NoFiles)
                .map(|_| ())
                .map_err(|error| error.key())
        };
        for name in ["bbr", "cubic", "acc_1f2e3d", "a-b", "x", "fifteen_letters"] {
            assert_eq!(key(name), Ok(()), "{name}");
        }
        for name in ["", "sixteen_letters_", "b b", "../bbr", "bbr\0", "\u{fc}"] {
            assert_eq!(key(name), Err("out-of-range name".into()), "{name}");
        }
        let unnamed = choose::<ControlKind>(&json!({ "kind": "kernel" }), &NoFiles);
        assert_eq!(unnamed.unwrap_err().key(), "missing name");
    }

    /// Even of `cubic` nothing is known: the kernel's is not the engine's.
    #[test]
    fn nothing_but_the_name_is_known_of_it() {
        let tree = json!({ "kind": "kernel", "name": "cubic" });
        let chosen = choose::<ControlKind>(&tree, &NoFiles).unwrap();
        assert!(!chosen.is_simulated());
        let known = ControlFacts {
            title: Some("kernel:cubic".into()),
            linux: chosen.facts.linux.clone(),
            ..ControlFacts::default()
        };
        assert_eq!(chosen.facts, known);
        let linux = known.linux.unwrap();
        assert_eq!((&*linux.name, linux.differences.len()), ("cubic", 0));
        assert_eq!(
            (linux.slow_start_ends_on_delay, linux.reno_friendly_speedup),
            (None, None)
        );
    }
}
