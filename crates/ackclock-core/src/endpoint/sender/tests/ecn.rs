//! Congestion that is echoed.

use super::*;

#[test]
fn an_ecn_echo_reduces_once_per_window_and_is_answered() {
    let parameters = TcpParameters {
        ecn: true,
        ..plain(LossRecovery::Newreno)
    };
    let mut d = Dialogue::bulk(parameters, 10);
    d.wait(100).tell(1, &[], true);
    assert_eq!(d.last_ack().marked, Bytes(MSS));
    for cumulative in 2..=9 {
        d.tell(cumulative, &[], true);
    }
    assert_eq!((d.sender.statistics().ecn_reactions, d.last_base()), (1, 10));
    let answered: Vec<u64> = d
        .segments
        .iter()
        .filter(|s| s.window_reduced)
        .map(|s| s.sequence)
        .collect();
    assert_eq!(answered, [10]);
    // A loss in the same window is resent without a second reduction.
    assert_eq!(d.duplicates(3, 9)[0], 9);
    assert_eq!(d.log.lock().unwrap().congestions.len(), 1);
    let outstanding = d.sender.highest;
    d.wait(100).tell(outstanding, &[], true);
    assert_eq!(d.sender.statistics().ecn_reactions, 2);
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    let mut d = Dialogue::bulk(plain(LossRecovery::Newreno), 10);
    d.wait(100).tell(1, &[], true);
    assert!(d.events().is_empty());
}
