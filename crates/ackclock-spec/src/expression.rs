//! Arithmetic on quantities: `"0.5 * rate * rtt"`, `"(20 ms + jitter) / 2"`, `"300 RTT"`.
//!
//! Numbers have units, names stand for other quantities. There are +, −, ×, ÷ and parentheses;
//! products and quotients have the dimension that follows, so a rate times a time is data.

use crate::error::Code;
use crate::unit_spelling::{Dimension, remedy};
use crate::unit_table::unit_at;

/// A longer expression is refused, which bounds the depth of its parentheses.
const LONGEST: usize = 300;

/// Units that stand for a quantity of the path.
pub const PATH_UNITS: [&str; 2] = ["BDP", "RTT"];

/// A quantity: a number of bits^b × seconds^s × packets^p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// In bits, seconds and packets.
    pub number: f64,
    /// The exponents of bits, seconds and packets.
    pub exponents: [i32; 3],
}

/// The base units of each dimension: how many in one bit, second or packet, and the exponents.
const DIMENSIONS: [(Dimension, f64, [i32; 3]); 6] = [
    (Dimension::Time, 1e9, [0, 1, 0]), // ns
    (Dimension::Rate, 1.0, [1, -1, 0]),
    (Dimension::Data, 0.125, [1, 0, 0]), // bytes
    (Dimension::Count, 1.0, [0, 0, 1]),
    (Dimension::PacketRate, 1.0, [0, -1, 1]),
    (Dimension::Share, 1.0, [0, 0, 0]),
];

impl Amount {
    /// A number of base units: ns, bit/s, bytes, packets, packets/s, or a plain number.
    pub fn of(dimension: Dimension, base: f64) -> Self {
        let (_, per_unit, exponents) = entry(dimension);
        Amount {
            number: base / per_unit,
            exponents,
        }
    }

    /// Its dimension; none for a product such as s².
    pub fn dimension(&self) -> Option<Dimension> {
        let fits = |(_, _, exponents): &&(Dimension, f64, [i32; 3])| *exponents == self.exponents;
        DIMENSIONS
            .iter()
            .find(fits)
            .map(|(dimension, ..)| *dimension)
    }

    /// The number of base units of its dimension.
    pub fn base(&self) -> Option<f64> {
        Some(self.number * entry(self.dimension()?).1)
    }

    fn scaled(self, factor: f64) -> Self {
        Amount {
            number: self.number * factor,
            ..self
        }
    }

    /// Returns the product with another amount; with `sign` −1 the quotient.
    pub fn times(self, other: Amount, sign: i32) -> Self {
        let [a, b] = [self.exponents, other.exponents];
        let number = match sign {
            1 => self.number * other.number,
            _ => self.number / other.number,
        };
        Amount {
            number,
            exponents: std::array::from_fn(|at| a[at].saturating_add(sign * b[at])),
        }
    }
}

fn entry(dimension: Dimension) -> (Dimension, f64, [i32; 3]) {
    let entry = DIMENSIONS.iter().find(|(named, ..)| *named == dimension);
    *entry.unwrap_or(&DIMENSIONS[5])
}

/// The error in an expression. Its sentence follows the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind of the error.
    pub code: Code,
    /// The mistake, and the remedy.
    pub sentence: String,
}

impl Fault {
    /// Returns an error.
    pub fn new(code: Code, sentence: impl Into<String>) -> Self {
        Fault {
            code,
            sentence: sentence.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Amount(Amount),
    /// A multiple of the quantity of that name.
    Name(f64, String),
    /// `+`, `-`, `*`, `/`, `(` or `)`.
    Sign(char),
}

/// An expression, not yet evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Vec<Token>);

impl Expression {
    /// Reads the signs, numbers and names of an expression.
    pub fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > LONGEST {
            let sentence = format!("is longer than {LONGEST} characters; name parts of it");
            return Err(Fault::new(Code::OutOfRange, sentence));
        }
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (token, length) = if let Some(sign) = sign(first) {
                (Token::Sign(sign), first.len_utf8())
            } else if first.is_ascii_digit() || first == '.' {
                number(rest)?
            } else if is_of_name(first) {
                let length = word(rest).len();
                (Token::Name(1.0, rest[..length].into()), length)
            } else {
                let sentence = format!("has \"{first}\", which is not a sign; use + - * / ( )");
                return Err(Fault::new(Code::Syntax, sentence));
            };
            tokens.push(token);
            rest = rest[length..].trim_start();
        }
        Ok(Expression(tokens))
    }

    /// The names in it, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for token in &self.0 {
            if let Token::Name(_, name) = token
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }

    /// True for one number with its unit.
    pub fn is_plain(&self) -> bool {
        matches!(self.0[..], [Token::Amount(_)])
    }

    /// Computes it; `quantity_of` has the quantities of its names.
    pub fn value(
        &self,
        quantity_of: &dyn Fn(&str) -> Result<Amount, Fault>,
    ) -> Result<Amount, Fault> {
        let mut reader = Reader {
            tokens: &self.0,
            at: 0,
            quantity_of,
        };
        let value = reader.sum()?;
        if reader.at < self.0.len() {
            let sentence = "has two quantities without a sign between them, or a parenthesis \
                too many; for example \"0.5 * buffer\"";
            return Err(Fault::new(Code::Syntax, sentence));
        }
        match value.number.is_finite() {
            true => Ok(value),
            false => Err(Fault::new(
                Code::OutOfRange,
                "is not finite; divide by something other than zero",
            )),
        }
    }
}

/// The sign that a character stands for.
fn sign(character: char) -> Option<char> {
    match character {
        '+' | '-' | '*' | '/' | '(' | ')' => Some(character),
        '−' | '–' => Some('-'),
        '×' | '·' => Some('*'),
        '÷' => Some('/'),
        _ => None,
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|next: char| !is_of_name(next) && !next.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}

/// Reads a number with its unit; returns its length, too.
fn number(text: &str) -> Result<(Token, usize), Fault> {
    let mut end = 0;
    for (at, next) in text.char_indices() {
        let exponent = matches!(next, 'e' | 'E')
            && text[at + 1..]
                .trim_start_matches(['+', '-'])
                .starts_with(|digit: char| digit.is_ascii_digit());
        let of_exponent = matches!(next, '+' | '-') && text[..at].ends_with(['e', 'E']);
        if !(next.is_ascii_digit() || matches!(next, '.' | '_') || exponent || of_exponent) {
            break;
        }
        end = at + next.len_utf8();
    }
    let digits = text[..end].replace('_', "");
    let Ok(amount) = digits.parse::<f64>() else {
        let sentence = format!("has \"{}\", which is not a number", &text[..end]);
        return Err(Fault::new(Code::Syntax, sentence));
    };
    let rest = text[end..].trim_start();
    let begin = text.len() - rest.len();
    if let Some((unit, size, dimension)) = unit_at(rest) {
        let amount = Amount::of(dimension, amount * size);
        return Ok((Token::Amount(amount), begin + unit.len()));
    }
    let word = word(rest);
    if PATH_UNITS.contains(&word) {
        return Ok((Token::Name(amount, word.into()), begin + word.len()));
    }
    if !word.is_empty() {
        let all = DIMENSIONS.map(|(dimension, ..)| dimension);
        let meant = remedy(&digits, word, &all)
            .unwrap_or_else(|| format!("for a value of that name, \"{digits} * {word}\""));
        let sentence = format!("has the unknown unit \"{word}\"; {meant}");
        return Err(Fault::new(Code::WrongUnit, sentence));
    }
    Ok((Token::Amount(Amount::of(Dimension::Share, amount)), end))
}

/// Reads from the left: sums of products of factors.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    quantity_of: &'a dyn Fn(&str) -> Result<Amount, Fault>,
}

impl Reader<'_> {
    /// Takes the next token if it is one of these signs.
    fn take(&mut self, signs: &[char]) -> Option<char> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                self.at += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Amount, Fault> {
        let mut sum = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            if next.exponents != sum.exponents {
                let sentence = "adds quantities of different kinds; \
                    convert one, for example rate * time is data";
                return Err(Fault::new(Code::WrongUnit, sentence));
            }
            sum.number += if sign == '+' {
                next.number
            } else {
                -next.number
            };
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Amount, Fault> {
        let mut product = self.factor()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let next = self.factor()?;
            product = product.times(next, if sign == '*' { 1 } else { -1 });
        }
        Ok(product)
    }

    fn factor(&mut self) -> Result<Amount, Fault> {
        if let Some(sign) = self.take(&['+', '-']) {
            let factor = self.factor()?;
            return Ok(factor.scaled(if sign == '+' { 1.0 } else { -1.0 }));
        }
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            return match self.take(&[')']) {
                Some(_) => Ok(inner),
                None => Err(Fault::new(Code::Syntax, "lacks a closing parenthesis")),
            };
        }
        let token = self.tokens.get(self.at);
        self.at += 1;
        match token {
            Some(Token::Amount(amount)) => Ok(*amount),
            Some(Token::Name(factor, name)) => Ok((self.quantity_of)(name)?.scaled(*factor)),
            _ => Err(Fault::new(
                Code::Syntax,
                "lacks a quantity beside a sign; for example \"2 * 10 ms\"",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_has_a_value_or_a_fault(
            text in "([a-z0-9 .E()+*/×−%_-]|BDP|RTT|ms|Mbit/s|.){0,40}"
        ) {
            if let Ok(amount) = value(&text) {
                prop_assert!(amount.number.is_finite());
            }
        }
    }

    fn quantity(name: &str) -> Result<Amount, Fault> {
        match name {
            "rate" => Ok(Amount::of(Dimension::Rate, 1e7)),
            "rtt" | "RTT" => Ok(Amount::of(Dimension::Time, 4e7)),
            "BDP" => Ok(Amount::of(Dimension::Data, 5e4)),
            _ => Err(Fault::new(Code::UnknownName, "is unknown")),
        }
    }

    fn value(text: &str) -> Result<Amount, Fault> {
        Expression::read(text)?.value(&quantity)
    }

    #[test]
    fn arithmetic_follows_precedence_and_dimensions() {
        for (text, dimension, base) in [
            ("2 + 3 * 4", Dimension::Share, 14.0),
            ("(2 + 3) * 4", Dimension::Share, 20.0),
            ("8 / 2 / 2", Dimension::Share, 2.0),
            ("5 - 2 - 1", Dimension::Share, 2.0),
            ("-2 * -3", Dimension::Share, 6.0),
            ("1e3 - 1E-1", Dimension::Share, 999.9),
            ("1_000 ms", Dimension::Time, 1e9),
            ("10 ms/2", Dimension::Time, 5e6),
            ("rate * rtt", Dimension::Data, 5e4),
            ("rate × rtt ÷ 2 − 1 kB", Dimension::Data, 24e3),
            ("10 Mbit/s / 4", Dimension::Rate, 2.5e6),
            ("10 MB/s * 1 s", Dimension::Data, 1e7),
            ("30 packets / 2 s", Dimension::PacketRate, 15.0),
            ("40 packets/s * 0.5 s", Dimension::Count, 20.0),
            ("0.5 BDP", Dimension::Data, 25e3),
            ("BDP + 2 BDP", Dimension::Data, 15e4),
            ("300 RTT", Dimension::Time, 12e9),
            ("5 % * 2", Dimension::Share, 0.1),
            ("1 MB / rate", Dimension::Time, 8e8),
        ] {
            let amount = value(text).unwrap();
            assert_eq!(amount.dimension(), Some(dimension), "{text}");
            let relative = (amount.base().unwrap() / base - 1.0).abs();
            assert!(relative < 1e-12, "{text} gives {:?}", amount.base());
        }
        assert_eq!(value("rtt * rtt").unwrap().dimension(), None);
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        for (text, code) in [
            ("1 ms + 1 kB", Code::WrongUnit),
            ("1 packet + 1 kB", Code::WrongUnit),
            ("2 rate", Code::WrongUnit),
            ("10 Mbps / 2", Code::WrongUnit),
            ("(1 + 2", Code::Syntax),
            ("1 + 2)", Code::Syntax),
            ("rate rtt", Code::Syntax),
            ("1 +", Code::Syntax),
            ("", Code::Syntax),
            ("1..2 * 3", Code::Syntax),
            ("2 ^ 3", Code::Syntax),
            ("1 / 0", Code::OutOfRange),
            ("0 / 0", Code::OutOfRange),
            ("bufer * 2", Code::UnknownName),
        ] {
            assert_eq!(value(text).unwrap_err().code, code, "{text}");
        }
        let deep = "(".repeat(LONGEST + 1);
        assert_eq!(value(&deep).unwrap_err().code, Code::OutOfRange);
    }

    #[test]
    fn names_are_listed_once() {
        let read = Expression::read("2 BDP + a * (b - a)").unwrap();
        assert_eq!(read.names(), ["BDP", "a", "b"]);
        assert!(!read.is_plain());
        assert!(Expression::read("45 Mbit/s").unwrap().is_plain());
    }
}
