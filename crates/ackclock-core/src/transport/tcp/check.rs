//! Checks of TCP's parameters, by themselves and together.

use crate::congestion::LARGEST_WINDOW;
use crate::endpoint::TcpParameters;
use crate::endpoint::parameters::{AfterTimeout, LossRecovery, Pacing, RecoveryWindow, ResumeFrom};
use crate::transport::check_sizes;
use ackclock_spec::error::{Error, Result, consistent, every, in_range};
use ackclock_spec::units::Span;

/// Shortest retransmission timeout: with a timeout of zero, virtual time would stand still.
const SHORTEST_TIMEOUT: Span = Span::from_micros(1);

/// Refuses parameters with which the endpoints cannot work: a scoreboard without SACK, windows in
/// which nothing fits, timers that expire at once.
pub(super) fn check(tcp: &TcpParameters) -> Result<()> {
    let counts = [
        ("initial_window", tcp.growth.initial_window),
        ("duplicate_threshold", tcp.recovery.duplicate_threshold),
        ("delayed_ack.every", tcp.receiver.delayed_ack.every),
    ]
    .map(|(field, count)| {
        let remedy = "is too small; choose at least \"1 packet\"";
        in_range(count.0 > 0, field, &count, remedy)
    });
    let window = tcp.growth.initial_window;
    let too_large = format!("is too large; the most is \"{LARGEST_WINDOW} packets\"");
    let timeouts = [
        ("rto_minimum", tcp.timer.rto_minimum),
        ("rto_initial", tcp.timer.rto_initial),
        ("rto_maximum", tcp.timer.rto_maximum),
        ("longest_ack_delay", tcp.recovery.longest_ack_delay),
    ]
    .map(|(field, span)| {
        let remedy = "is too short; choose at least \"1 us\"";
        in_range(span >= SHORTEST_TIMEOUT, field, &span, remedy)
    });
    let values = [
        check_sizes(tcp.connection.mss, tcp.connection.header),
        in_range(
            window.0 <= LARGEST_WINDOW,
            "initial_window",
            &window,
            &too_large,
        ),
    ];
    every(
        values
            .into_iter()
            .chain(counts)
            .chain(timeouts)
            .chain([check_resume(tcp)])
            .chain(check_pairs(tcp)),
    )
}

/// Refuses a resumption without saved parameters, or with those of two origins.
fn check_resume(tcp: &TcpParameters) -> Result<()> {
    let Some(resume) = tcp.growth.resume else {
        return Ok(());
    };
    let given = resume.from == ResumeFrom::Scenario;
    let saved = [
        ("resume.cwnd", resume.cwnd.is_some(), "\"3.75 MB\""),
        ("resume.rtt", resume.rtt.is_some(), "\"600 ms\""),
    ];
    let saved = saved.map(|(field, is_given, example)| match (given, is_given) {
        (true, false) => Err(Error::missing(
            field,
            &format!("for example {example}, or set from = \"earlier_flow\""),
        )),
        (false, true) => consistent(
            false,
            field,
            &resume.from,
            &["resume.from"],
            "is what an earlier instance saves; remove it, or set from = \"scenario\"",
        ),
        _ => Ok(()),
    });
    let values = [
        in_range(
            (0.5..=1.0).contains(&resume.beta),
            "resume.beta",
            &resume.beta,
            "is not between 0.5 and 1; for example 0.5",
        ),
        in_range(
            resume.rtt != Some(Span::ZERO),
            "resume.rtt",
            &resume.rtt,
            "is too short; for example \"600 ms\"",
        ),
        consistent(
            tcp.sending.pacing != Pacing::Off,
            "pacing",
            &tcp.sending.pacing,
            &["resume"],
            "does not go with resume, whose jump is paced; choose \"control\"",
        ),
    ];
    every(saved.into_iter().chain(values))
}

/// Refuses values that are good in themselves and do not go together.
fn check_pairs(tcp: &TcpParameters) -> impl Iterator<Item = Result<()>> {
    let window = tcp.receiver.receive_window.bytes(tcp.connection.mss);
    let pairs = [
        consistent(
            window.is_none_or(|bytes| bytes >= tcp.connection.mss),
            "receive_window",
            &tcp.receiver.receive_window,
            &["mss"],
            "is less than one full segment; choose at least \"1 packet\"",
        ),
        consistent(
            window.is_some() || tcp.receiver.read_rate.is_none(),
            "read_rate",
            &tcp.receiver.read_rate,
            &["receive_window"],
            "needs a buffer; set receive_window, for example \"64 kB\"",
        ),
        consistent(
            tcp.timer.rto_minimum <= tcp.timer.rto_maximum,
            "rto_minimum",
            &tcp.timer.rto_minimum,
            &["rto_maximum"],
            "is more than rto_maximum; lower it or raise rto_maximum",
        ),
    ];
    pairs.into_iter().chain(check_recovery(tcp))
}

/// Refuses rules that the recovery cannot follow: some need SACK, others the times of transmission
/// of RACK.
fn check_recovery(tcp: &TcpParameters) -> impl Iterator<Item = Result<()>> {
    let (scoreboard, rack) = (
        tcp.recovery.algorithm.has_scoreboard(),
        tcp.recovery.algorithm == LossRecovery::Rack,
    );
    let follows_scoreboard = tcp.recovery.after_timeout == AfterTimeout::Scoreboard;
    let of_sack = [
        consistent(
            scoreboard || !tcp.recovery.sack,
            "sack",
            &tcp.recovery.sack,
            &["recovery"],
            "needs recovery = \"sack\" or \"rack\"; leave sack out",
        ),
        consistent(
            tcp.recovery.sack || tcp.recovery.algorithm != LossRecovery::Sack,
            "sack",
            &tcp.recovery.sack,
            &["recovery"],
            "does not go with recovery = \"sack\"; choose \"rack\" or \"newreno\"",
        ),
        consistent(
            tcp.recovery.sack || !tcp.recovery.tail_loss_probe,
            "tail_loss_probe",
            &tcp.recovery.tail_loss_probe,
            &["sack"],
            "needs sack = true; choose false",
        ),
        consistent(
            scoreboard || !follows_scoreboard,
            "after_timeout",
            &tcp.recovery.after_timeout,
            &["recovery"],
            "needs recovery = \"sack\"; choose \"go_back_n\" or set recovery = \"sack\"",
        ),
        consistent(
            follows_scoreboard || !rack,
            "after_timeout",
            &tcp.recovery.after_timeout,
            &["recovery"],
            "does not go with recovery = \"rack\"; choose \"scoreboard\"",
        ),
        consistent(
            scoreboard || tcp.recovery.recovery_window == RecoveryWindow::Ssthresh,
            "recovery_window",
            &tcp.recovery.recovery_window,
            &["recovery"],
            "needs recovery = \"sack\"; choose \"ssthresh\" or set recovery = \"sack\"",
        ),
    ];
    let of_rack = [
        ("tail_loss_probe", tcp.recovery.tail_loss_probe),
        ("forward_rto", tcp.recovery.forward_rto),
        ("undo", tcp.recovery.undo),
    ]
    .map(|(field, on)| {
        let remedy = "needs recovery = \"rack\"; choose false or set recovery = \"rack\"";
        consistent(rack || !on, field, &on, &["recovery"], remedy)
    });
    of_sack.into_iter().chain(of_rack)
}
