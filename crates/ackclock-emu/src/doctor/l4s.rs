//! Judgement of the facts about a machine: can its TCP take part in an L4S experiment?
//!
//! Simulations need nothing of this. An emulation puts the kernel's TCP before the emulator's own
//! queues, which pass the ECN field on and mark it (`dualpi2`). So the kernel must have a scalable
//! control and count marks.

use super::facts::Facts;
use super::findings::{finding, usable_controls};
use super::{Examination, Finding, State};
use crate::settings::KernelAnswer;

pub(super) fn judge(facts: &Facts) -> Examination {
    let emulation = facts.tun.is_ok() || facts.packet_socket.is_ok();
    let findings = vec![
        hosts(emulation),
        accurate_ecn(facts),
        prague(facts),
        dctcp(facts),
        own_ecn(facts),
    ];
    Examination {
        emulation: emulation
            && findings
                .iter()
                .take(3)
                .all(|finding| finding.state == State::Yes),
        findings,
    }
}

fn hosts(emulation: bool) -> Finding {
    let (name, label) = ("hosts", "hosts that keep the ECN field");
    if emulation {
        let started = "a host started; the emulator passes ECN on, and its queues mark".into();
        finding(name, label, State::Yes, started)
    } else {
        finding(name, label, State::No, "no host could be started".into())
            .with_remedy("ackclock doctor says why")
    }
}

/// Judges accurate ECN, by trying: without it the kernel's Prague is Reno.
fn accurate_ecn(facts: &Facts) -> Finding {
    let (name, label) = ("accurate_ecn", "accurate ECN (RFC 9768)");
    match &facts.accurate_ecn {
        Some(KernelAnswer::Accepted { .. }) => {
            finding(name, label, State::Yes, "a host has tcp_ecn = 3".into())
        }
        Some(refused) => {
            let refusal = format!(
                "{} refuses tcp_ecn = 3 ({})",
                facts.kernel,
                refused.reason()
            );
            finding(name, label, State::No, refusal).with_remedy(
                "take a kernel with accurate ECN: Linux from 7.0 on, or github.com/L4STeam/linux",
            )
        }
        None => finding(
            name,
            label,
            State::No,
            "not tried: no host could be started".into(),
        ),
    }
}

fn prague(facts: &Facts) -> Finding {
    scalable(facts, "prague", "Prague in the kernel").unwrap_or_else(|finding| {
        finding.with_remedy(
            "use the kernel of github.com/L4STeam/linux; simulations have a Prague of their own",
        )
    })
}

/// Judges DCTCP, the scalable control of any kernel. It sends ECT(0) and belongs behind
/// `step_marking`.
fn dctcp(facts: &Facts) -> Finding {
    scalable(facts, "dctcp", "DCTCP in the kernel")
        .unwrap_or_else(|finding| finding.with_remedy("use a kernel with CONFIG_TCP_CONG_DCTCP"))
}

/// Judges a control. The finding of one that is not there lacks its remedy.
fn scalable(facts: &Facts, control: &'static str, label: &'static str) -> Result<Finding, Finding> {
    if usable_controls(facts).contains(&control) {
        Ok(finding(
            control,
            label,
            State::Yes,
            "hosts may use it".into(),
        ))
    } else if facts
        .loadable_controls
        .iter()
        .any(|loadable| loadable == control)
    {
        Ok(finding(
            control,
            label,
            State::Partly,
            "a module that is not loaded".into(),
        )
        .with_remedy(format!("as root: modprobe tcp_{control}")))
    } else {
        Err(finding(
            control,
            label,
            State::No,
            format!("{} does not have it", facts.kernel),
        ))
    }
}

/// Reports the ECN of connections outside of emulations, such as those that a capture shows.
fn own_ecn(facts: &Facts) -> Finding {
    let (name, label) = ("own_ecn", "ECN of this machine itself");
    let meaning = match facts.own_ecn.as_deref() {
        Some("0") => "never",
        Some("1") => "asked for and accepted, the classic one",
        Some("2") => "accepted, never asked for",
        Some("3") => "accurate ECN, asked for and accepted",
        Some("4") => "accurate ECN, accepted, the classic one asked for",
        Some("5") => "accurate ECN, accepted, never asked for",
        _ => "unknown",
    };
    let value = facts.own_ecn.as_deref().unwrap_or("?");
    let setting = format!("tcp_ecn = {value}: {meaning}; emulations have their own");
    finding(name, label, State::Yes, setting)
}

#[cfg(test)]
mod tests {
    use super::super::findings::tests::{accepted, good, of};
    use super::*;

    #[test]
    fn a_kernel_with_prague_and_accurate_ecn_can_take_part() {
        let mut facts = good();
        facts
            .controls
            .extend([accepted("prague"), accepted("dctcp")]);
        let examination = judge(&facts);
        assert!(examination.emulation);
        for finding in &examination.findings {
            assert_eq!((finding.state, &finding.remedy), (State::Yes, &None));
        }
    }

    #[test]
    fn what_is_missing_has_a_remedy() {
        let facts = Facts {
            accurate_ecn: Some(KernelAnswer::Refused {
                reason: "EINVAL".into(),
            }),
            loadable_controls: vec!["dctcp".into()],
            ..good()
        };
        let examination = judge(&facts);
        assert!(!examination.emulation);
        let states = ["hosts", "accurate_ecn", "prague", "dctcp", "own_ecn"]
            .map(|name| of(&examination, name).state);
        let (yes, no) = (State::Yes, State::No);
        assert_eq!(states, [yes, no, no, State::Partly, yes]);
        for finding in &examination.findings {
            assert_eq!(
                finding.state == yes,
                finding.remedy.is_none(),
                "{finding:?}"
            );
        }
        assert_eq!(
            of(&examination, "accurate_ecn").description,
            "Linux 6.18 refuses tcp_ecn = 3 (EINVAL)"
        );
        assert_eq!(
            of(&examination, "dctcp").remedy.as_deref(),
            Some("as root: modprobe tcp_dctcp")
        );
    }
}
