use super::read::*;
use super::write::*;
use super::*;
use proptest::prelude::*;

#[test]
fn quantities_are_read_and_written_back() {
    for (text, nanos) in [
        ("35 ms", 35_000_000),
        ("1.5s", 1_500_000_000),
        ("2e-3 s", 2_000_000),
        ("100 years", 0),
    ] {
        let span = read_span(&json!(text));
        if nanos == 0 {
            assert!(span.is_err());
        } else {
            assert_eq!(span, Ok(Span::from_nanos(nanos)));
            assert_eq!(read_span(&json!(write_span(Span::from_nanos(nanos)))), span);
        }
    }
    assert_eq!(
        read_rate(&json!("50 kB/s")),
        Ok(BitRate::from_bit_per_s(400_000))
    );
    assert_eq!(
        read_limit(&json!("20 ms")),
        Ok(QueueLimit::Time(Span::from_millis(20)))
    );
    assert_eq!(
        read_limit(&json!("64 KiB")),
        Ok(QueueLimit::Bytes(Bytes(65_536)))
    );
    assert_eq!(read_probability(&json!("0.5 %")).unwrap().get(), 0.005);
}

#[test]
fn what_is_wrong_with_a_quantity_has_a_code() {
    for (written, code) in [
        (json!("45"), Code::NoUnit),
        (json!(45), Code::NoUnit),
        (json!("45 ms"), Code::WrongUnit),
        (json!("fast"), Code::WrongType),
        (json!(true), Code::WrongType),
        (json!("-1 Mbit/s"), Code::OutOfRange),
        (json!("1 bit/s"), Code::OutOfRange),
    ] {
        let problem = read_rate(&written).unwrap_err();
        assert_eq!(problem.code, code, "{written}");
        assert!(
            problem.sentence.starts_with(&written.to_string()),
            "{written}"
        );
    }
    assert!(read_span(&json!("NaN s")).is_err());
}

#[test]
fn a_range_is_one_time_or_two() {
    let seconds = |low, high| Range {
        low: Span::from_seconds(low),
        high: Span::from_seconds(high),
    };
    assert_eq!(read_range(&json!("2 s")), Ok(seconds(2.0, 2.0)));
    assert_eq!(read_range(&json!(["1 s", "2 s"])), Ok(seconds(1.0, 2.0)));
    assert_eq!(
        serde_json::to_value(seconds(1.0, 2.0)).unwrap(),
        json!(["1 s", "2 s"])
    );
    assert_eq!(
        serde_json::to_value(seconds(2.0, 2.0)).unwrap(),
        json!("2 s")
    );
    let code = |written| read_range(&written).unwrap_err().code;
    assert_eq!(code(json!(["2 s", "1 s"])), Code::OutOfRange);
    assert_eq!(code(json!(["2 s"])), Code::WrongType);
    assert_eq!(code(json!(["0 s", 1])), Code::NoUnit);
}

#[test]
fn a_probability_is_written_as_people_write_it() {
    for (number, text) in [
        (0.005, "0.5 %"),
        (0.07, "7 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.001, "0.1 %"),
    ] {
        assert_eq!(write_probability(Probability::new(number).unwrap()), text);
    }
}

fn round_trips<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(value: T) {
    let written = serde_json::to_value(&value).unwrap();
    assert_eq!(serde_json::from_value::<T>(written).unwrap(), value);
}

proptest! {
    /// Every quantity reads back as it was written, to the last bit.
    #[test]
    fn every_quantity_reads_back(
        amount in 0..9_000_000_000_000_000_000_u64,
        count: u32,
        p in 0.0..=1.0_f64
    ) {
        round_trips(Span::from_nanos(amount));
        round_trips(Bytes(amount));
        round_trips(
            BitRate::from_bit_per_s(RATES.start() + amount % (RATES.end() - RATES.start()))
        );
        round_trips(Segments(count));
        round_trips(OptionalWindow::Segments(count.into()));
        round_trips(OptionalWindow::Bytes(Bytes(amount)));
        round_trips(QueueLimit::Packets(amount));
        round_trips(QueueLimit::Time(Span::from_nanos(amount)));
        round_trips(Probability::new(p).unwrap());
        round_trips(Probability::new(p * 1e-12).unwrap());
    }
}
