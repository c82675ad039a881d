use super::*;
use proptest::prelude::*;

const UNLIMITED: Pftk = Pftk {
    rtt: 0.1,
    timeout: 0.4,
    window: f64::INFINITY,
    packets_per_ack: 1.0,
};

fn close(ours: f64, exact: f64) {
    assert!(
        (ours / exact - 1.0).abs() < 1e-12,
        "{ours} where {exact} is expected"
    );
}

/// Values of the printed formulas with 60 decimal digits (Python's `decimal`), without the
/// rearrangements used here: for b = 2 and b = 1, R = 0.1 s, T0 = 0.4 s, Wm = 64.
#[test]
fn the_equation_has_the_values_of_an_exact_evaluation() {
    for (p, [full_2, full_1]) in [
        (0.0001, [576.9314272162299, 604.664576960727]),
        (0.001, [269.0911950527343, 381.6351955909585]),
        (0.005, [115.2381506611786, 163.9732971414554]),
        (0.01, [77.84645537124353, 110.9599759234327]),
        (0.02, [50.85455540096377, 72.54186487620531]),
        (0.05, [26.71411925140672, 37.89811262424225]),
        (0.1, [15.14806074464256, 21.12999399197103]),
        (0.2, [7.784344843386737, 10.45093101079038]),
        (0.3, [4.728904462561435, 6.015224214046726]),
        (0.5, [1.428571428571429, 1.716568737710903]),
    ] {
        let single = Pftk {
            window: 64.0,
            ..UNLIMITED
        };
        let two = Pftk {
            packets_per_ack: 2.0,
            ..single
        };
        close(two.full(p), full_2);
        close(single.full(p), full_1);
    }
}

#[test]
fn and_at_the_ends_of_its_domain() {
    for (rtt, timeout, window, packets_per_ack, p, exact) in [
        (0.03, 1.0, 20.0, 1.0, 1e-6, 666.5534529003607),
        (0.25, 3.0, f64::INFINITY, 2.0, 0.9, 0.010087232564502523),
        (1.7, 2.5, 2.5, 1.0, 0.037, 1.2152142503931943),
        (0.01, 0.2, f64::INFINITY, 1.5, 1.23e-5, 28472.724920683177),
    ] {
        let connection = Pftk {
            rtt,
            timeout,
            window,
            packets_per_ack,
        };
        close(connection.full(p), exact);
    }
}

#[test]
fn nothing_lost_is_a_window_in_a_round_trip_and_all_lost_a_packet_in_64_timeouts() {
    for window in [1.0, 64.0] {
        let connection = Pftk {
            window,
            ..UNLIMITED
        };
        assert_eq!(connection.full(0.0), window / 0.1);
        assert!((connection.full(1e-12) / connection.full(0.0) - 1.0).abs() < 1e-6);
        assert_eq!(connection.full(1.0), 1.0 / (64.0 * 0.4));
        assert!((connection.full(1.0 - 1e-9) / connection.full(1.0) - 1.0).abs() < 1e-6);
    }
    assert_eq!(UNLIMITED.full(0.0), f64::INFINITY);
}

#[test]
fn few_losses_leave_the_square_root() {
    for p in [1e-8, 1e-10] {
        let ratio = UNLIMITED.full(p) / (sqrt(1.5 / p) / UNLIMITED.rtt);
        assert!((ratio - 1.0).abs() < 10.0 * sqrt(p), "{p}: {ratio}");
    }
}

/// Checked on a grid, since the two branches do not meet.
#[test]
fn a_larger_window_never_sends_less() {
    for packets_per_ack in [1.0, 2.0] {
        for step in 0..100 {
            let p = libm::pow(10.0, -5.0 + 4.9 * f64::from(step) / 99.0);
            let mut before = 0.0;
            for window in 1..=400 {
                let connection = Pftk {
                    window: f64::from(window),
                    packets_per_ack,
                    ..UNLIMITED
                };
                let rate = connection.full(p);
                assert!(
                    rate >= before,
                    "p = {p}, Wm = {window}: {rate} after {before}"
                );
                assert!(rate <= (connection.window + 1.0) / connection.rtt);
                before = rate;
            }
        }
    }
}

proptest! {
    /// The rate falls with p if the timeout is at least a round-trip time, as every timeout is. It
    /// always falls with the others.
    #[test]
    fn it_falls_with_loss_round_trip_and_timeout(
        p in 1e-6..0.98_f64,
        rtt in 0.001..3.0_f64,
        longer in 1.0..60.0_f64,
        window in 1.0..1e4_f64,
        b in 1.0..4.0_f64,
        more in 1.001..1.5_f64,
    ) {
        let timeout = rtt * longer;
        let connection = Pftk { rtt, timeout, window, packets_per_ack: b };
        let limited = |p| connection.unlimited_window(p) >= window;
        let rate = connection.full(p);
        let worse = (p * more).min(0.99);
        if limited(p) == limited(worse) {
            prop_assert!(connection.full(worse) < rate);
        }
        let farther = Pftk { rtt: rtt * more, ..connection };
        let slower = Pftk { timeout: timeout * more, ..connection };
        prop_assert!(farther.full(p) < rate && slower.full(p) < rate);
    }
}
