//! Expected forms of quantities, and the errors that name them.

use crate::error::{Code, with_code};
use crate::expression::PATH_UNITS;
use crate::unit_spelling::{Dimension, remedy};
use crate::unit_table::{cut, is_unit};
use serde_json::Value;

/// The error in a quantity. Its sentence begins with the value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: Code,
    pub(super) sentence: String,
}

/// A quantity, or the error in it.
pub(super) type Read<T> = Result<T, Problem>;

impl Problem {
    pub(super) fn new(code: Code, sentence: String) -> Self {
        Problem { code, sentence }
    }

    /// Converts to an error of serde.
    /// [`Error::message`](crate::error::Error::message) reads it back.
    pub(super) fn carried<E: serde::de::Error>(self) -> E {
        E::custom(with_code(self.code, &self.sentence))
    }
}

pub(super) fn out_of_range(sentence: String) -> Problem {
    Problem::new(Code::OutOfRange, sentence)
}

/// Description of a quantity kind, for error messages.
pub(super) struct Expected {
    pub(super) noun: &'static str,
    pub(super) dimensions: &'static [Dimension],
    pub(super) example: &'static str,
}

pub(super) const A_TIME: Expected = Expected {
    noun: "a time",
    dimensions: &[Dimension::Time],
    example: "35 ms",
};
pub(super) const A_RATE: Expected = Expected {
    noun: "a rate",
    dimensions: &[Dimension::Rate],
    example: "45 Mbit/s",
};
pub(super) const AN_AMOUNT: Expected = Expected {
    noun: "an amount of data",
    dimensions: &[Dimension::Data],
    example: "1000 bytes",
};
pub(super) const A_NUMBER: Expected = Expected {
    noun: "a number of packets",
    dimensions: &[Dimension::Count],
    example: "10 packets",
};
pub(super) const A_PACKET_RATE: Expected = Expected {
    noun: "a rate in packets per second",
    dimensions: &[Dimension::PacketRate],
    example: "40 packets/s",
};
pub(super) const A_PROBABILITY: Expected = Expected {
    noun: "a probability",
    dimensions: &[Dimension::Share],
    example: "0.5 %",
};
pub(super) const A_WINDOW: Expected = Expected {
    noun: "a window in packets or bytes",
    dimensions: &[Dimension::Count, Dimension::Data],
    example: "20 packets",
};
pub(super) const A_LIMIT: Expected = Expected {
    noun: "a queue limit in packets, bytes or time",
    dimensions: &[Dimension::Count, Dimension::Data, Dimension::Time],
    example: "93 packets",
};

impl Expected {
    /// The example with the number that was written: 45 has no unit, for example "45 packets". A
    /// time may be long or short.
    pub(super) fn with_number(&self, number: &str) -> String {
        let unit = cut(self.example).1;
        match self.dimensions {
            [Dimension::Time] => format!("for example \"{number} s\" or \"{number} {unit}\""),
            _ => format!("for example \"{number} {unit}\""),
        }
    }

    pub(super) fn problem(&self, code: Code, sentence: &str) -> Problem {
        let example = self.example;
        Problem::new(code, format!("{sentence}; for example \"{example}\""))
    }

    /// `value` has a unit that does not fit: a misspelled one, one of another dimension, none.
    pub(super) fn wrong_unit(&self, value: &Value, digits: &str, unit: &str) -> Problem {
        if let Some(remedy) = remedy(digits, unit, self.dimensions) {
            let sentence = format!("{value} has an unknown unit; {remedy}");
            return Problem::new(Code::WrongUnit, sentence);
        }
        let spelled = PATH_UNITS
            .iter()
            .find(|name| unit.eq_ignore_ascii_case(name));
        if let Some(name) = spelled {
            let sentence =
                format!("{value} has an unknown unit; did you mean \"{digits} {name}\"?");
            return Problem::new(Code::WrongUnit, sentence);
        }
        let sentence = if is_unit(unit) {
            format!("{value} is not {}", self.noun)
        } else {
            format!("{value} has an unknown unit")
        };
        self.problem(Code::WrongUnit, &sentence)
    }
}
