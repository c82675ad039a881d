//! The text of a scenario as somebody wrote it: where a field stands, for errors.

use ackclock_spec::error::{Code, Error, Position, Result};
use ackclock_spec::limits::MISTAKES;
use ackclock_spec::tree::default_name;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The text of a scenario with the place of everything in it.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    table: DeTable<'a>,
}

/// Words of the parser about a list, table or text that does not end: the lines that follow are
/// read as part of it.
const ENDLESS: [&str; 3] = ["missing", "unclosed", "multi-line"];

/// Most errors of the parser that are looked at, which may be on one line.
const MOST_ERRORS: usize = 10 * MISTAKES as usize;

/// The parser about a key or a header that is there twice.
const DUPLICATE: &str = "duplicate key";

/// About text without any assignment, such as a table of numbers.
const NOT_TOML: &str = "is neither TOML nor JSON; a scenario begins with schema = 1";

/// Returns the TOML library's message, with a remedy where it has none.
pub(crate) fn remedied(message: &str) -> &str {
    if message.contains("recurs") {
        "is nested too deeply; flatten it"
    } else {
        message
    }
}

/// The end of a step of a path: the span of its key, if it has one, and the value.
type Found<'a, 'i> = (Option<Range<usize>>, &'a Spanned<DeValue<'i>>);

impl<'a> Source<'a> {
    /// Reads TOML.
    ///
    /// # Errors
    /// What is not TOML: the first mistake of each line, as what follows it on the line may come
    /// from it. After a value without an end there is nothing more. A table that is defined twice
    /// is reported by its header alone.
    pub fn read(text: &'a str) -> Result<Self> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut mistakes: Vec<Error> = Vec::new();
        let mut repeated = 0..0; // the lines of a table that is there twice
        for error in errors.into_iter().take(MOST_ERRORS) {
            if !text.contains('=') {
                return Err(Error::message("", NOT_TOML).coded(Code::Syntax));
            }
            let position = error.span().map(|span| position(text, span.start));
            let line = position.map(|position| position.line);
            let is_reported =
                |error: &Error| error.position().map(|position| position.line) == line;
            let header = line.and_then(|line| repeated_header(text, line, error.message()));
            let follows =
                error.message() == DUPLICATE && line.is_some_and(|line| repeated.contains(&line));
            if let Some((lines, mistake)) = header {
                repeated = lines;
                mistakes.push(mistake.coded(Code::Syntax).at(position));
            } else if !follows && !mistakes.iter().any(is_reported) {
                let mistake = Error::message("", remedied(error.message()));
                mistakes.push(mistake.coded(Code::Syntax).at(position));
            }
            if mistakes.len() as u64 >= MISTAKES {
                break;
            }
            if ENDLESS.iter().any(|word| error.message().contains(word)) {
                break;
            }
        }
        match mistakes.into_iter().reduce(Error::and) {
            Some(mistakes) => Err(mistakes),
            None => Ok(Source {
                text,
                table: table.into_inner(),
            }),
        }
    }

    /// The place of a field: of its value, of the value that a sweep gives it, of its name if that
    /// is what is wrong, of the table that lacks it. None if the whole lacks it.
    pub fn place(&self, field: &str, code: Code) -> Option<Position> {
        let steps: Vec<&str> = field.split('.').collect();
        let span = self
            .wrong_path(&steps)
            .or_else(|| self.swept(&steps))
            .or_else(|| deepest(&self.table, &steps, code))?;
        Some(position(self.text, span.start))
    }

    /// The error and those found with it, each at its place.
    #[must_use]
    pub fn place_in(&self, error: Error) -> Error {
        let placed = |error: &Error| {
            let place = self.place(error.field(), error.code());
            error.alone().at(place)
        };
        let all = error.all().map(placed).reduce(Error::and);
        all.unwrap_or(error)
    }

    /// The path in the sweep that goes beyond `steps`, where something does not exist.
    fn wrong_path(&self, steps: &[&str]) -> Option<Range<usize>> {
        let (&"sweep", field) = steps.split_first()? else {
            return None;
        };
        let beyond = |axis: &Axis| {
            let path: Vec<&str> = axis.path.split('.').collect();
            path.len() > field.len() && path.starts_with(field)
        };
        self.axes()?.into_iter().find(beyond).map(|axis| axis.key)
    }

    /// The values that a sweep gives the field, or what it is part of.
    fn swept(&self, steps: &[&str]) -> Option<Range<usize>> {
        let field = self.by_position(steps);
        let sets = |axis: &Axis| {
            let swept: Vec<&str> = axis.path.split('.').collect();
            field.starts_with(&self.by_position(&swept))
        };
        self.axes()?.into_iter().find(sets).map(|axis| axis.values)
    }

    fn axes(&self) -> Option<Vec<Axis>> {
        let sweep = self.table.get("sweep")?.get_ref().as_table()?;
        let mut axes = Vec::new();
        flatten("", sweep, &mut axes);
        Some(axes)
    }

    /// The path with positions in place of names of list items.
    fn by_position(&self, steps: &[&str]) -> Vec<String> {
        let mut list: Option<&DeArray<'_>> = None;
        let mut table = Some(&self.table);
        let mut path = Vec::with_capacity(steps.len());
        for step in steps {
            let (name, value) = match (list, table) {
                (Some(list), _) => match find(list, step) {
                    Some(at) => (at.to_string(), list.get(at)),
                    None => ((*step).into(), None),
                },
                (None, Some(table)) => ((*step).into(), table.get(*step)),
                (None, None) => ((*step).into(), None),
            };
            path.push(name);
            list = value.and_then(|value| value.get_ref().as_array());
            table = value.and_then(|value| value.get_ref().as_table());
        }
        path
    }
}

/// A path of a sweep, with the spans of its key and of its values.
struct Axis {
    path: String,
    key: Range<usize>,
    values: Range<usize>,
}

/// Collects the paths of a sweep.
fn flatten(path: &str, sweep: &DeTable<'_>, axes: &mut Vec<Axis>) {
    for (key, value) in sweep {
        for name in key.get_ref().split(',') {
            let path = match path {
                "" => name.trim().to_owned(),
                path => format!("{path}.{}", name.trim()),
            };
            match value.get_ref().as_table() {
                Some(table) => flatten(&path, table, axes),
                None => axes.push(Axis {
                    path,
                    key: key.span(),
                    values: value.span(),
                }),
            }
        }
    }
}

/// The span of what the steps lead to, as far as they lead somewhere.
fn deepest(table: &DeTable<'_>, steps: &[&str], code: Code) -> Option<Range<usize>> {
    let ((key, value), rest) = enter(table, steps)?;
    let own = match (code, key) {
        (Code::UnknownField, Some(key)) if rest.is_empty() => key,
        _ => value.span(),
    };
    within(value.get_ref(), rest, code).or(Some(own))
}

fn within(value: &DeValue<'_>, steps: &[&str], code: Code) -> Option<Range<usize>> {
    let (first, rest) = steps.split_first()?;
    match value {
        DeValue::Table(table) => deepest(table, steps, code),
        DeValue::Array(list) => {
            let item = list.get(find(list, first)?)?;
            within(item.get_ref(), rest, code).or_else(|| Some(item.span()))
        }
        _ => None,
    }
}

/// The field of a table that the first step names, or the first ones: keys may have dots.
fn enter<'a, 'i, 's>(
    table: &'a DeTable<'i>,
    steps: &'s [&'s str],
) -> Option<(Found<'a, 'i>, &'s [&'s str])> {
    (1..=steps.len()).find_map(|length| {
        let name = steps[..length].join(".");
        let (key, value) = table.iter().find(|(key, _)| *key.get_ref() == name)?;
        Some(((Some(key.span()), value), &steps[length..]))
    })
}

/// The item of that name, or at that position. A flow without a name has one by its position.
fn find(list: &DeArray<'_>, step: &str) -> Option<usize> {
    let name = |item: &Spanned<DeValue<'_>>| -> Option<String> {
        let table = item.get_ref().as_table()?;
        Some(table.get("name")?.get_ref().as_str()?.to_owned())
    };
    let named = list
        .iter()
        .position(|item| name(item).as_deref() == Some(step));
    let position = || step.parse().ok().filter(|&at: &usize| at < list.len());
    let unnamed = || {
        (list.iter().enumerate())
            .find(|(at, item)| name(item).is_none() && default_name(*at) == step)
            .map(|(at, _)| at)
    };
    named.or_else(position).or_else(unnamed)
}

/// Line and column of a byte of the text.
fn position(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Position {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    }
}

/// Returns the lines of a table whose header is there twice, counted from 1, and the mistake.
/// `None` for any other mistake in that line.
fn repeated_header(text: &str, line: usize, message: &str) -> Option<(Range<usize>, Error)> {
    let begins = |text: &str| text.trim_start().starts_with('[');
    let header = text.lines().nth(line - 1)?;
    if message != DUPLICATE || !begins(header) {
        return None;
    }
    let name = header.trim_start().trim_start_matches('[');
    let name = name.split(']').next().unwrap_or(name);
    let length = text.lines().skip(line).take_while(|text| !begins(text));
    let mistake =
        format!("[{name}] is there twice; keep one, or write [[{name}]] if several may be");
    Some((line..line + 1 + length.count(), Error::message("", mistake)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"duration = "5 s"

[[hops]]
name = "wired"
link = { kind = "constant", rate = "10" }
queue = { kind = "droptail", limt = "45 packets" }

[[flows]]
route = ["wired"]
transport.kind = "tcp"

[sweep]
"hops.wired.delay,duration" = [["1 ms", "2 s"]]
"#;

    fn place(field: &str, code: Code) -> Option<(usize, usize)> {
        let source = Source::read(TEXT).unwrap();
        let position = source.place(field, code);
        position.map(|position| (position.line, position.column))
    }

    #[test]
    fn a_field_has_its_place_whatever_it_is_called() {
        for field in ["hops.wired.link.rate", "hops.0.link.rate"] {
            assert_eq!(place(field, Code::NoUnit), Some((5, 36)));
        }
        assert_eq!(
            place("hops.wired.queue.limt", Code::UnknownField),
            Some((6, 30))
        );
        assert_eq!(place("hops.wired.queue.limit", Code::Missing), Some((6, 9)));
        assert_eq!(place("hops.wired.typo.x", Code::Missing), Some((3, 1)));
        assert_eq!(
            place("flows.flow-1.route.0", Code::UnknownName),
            Some((9, 10))
        );
        assert_eq!(
            place("flows.0.transport.kind", Code::UnknownName),
            Some((10, 18))
        );
        assert_eq!(place("schema", Code::Missing), None);
        assert_eq!(place("", Code::Missing), None);
    }

    #[test]
    fn what_is_swept_is_in_the_sweep() {
        for field in ["hops.0.delay", "hops.wired.delay", "duration"] {
            assert_eq!(place(field, Code::OutOfRange), Some((13, 31)), "{field}");
        }
        let field = "sweep.hops.wired.delay,duration";
        assert_eq!(place(field, Code::WrongType), Some((13, 31)));
    }

    #[test]
    fn every_line_that_is_not_toml_is_found() {
        let lines = |text: &str| -> Vec<usize> {
            let error = Source::read(text).unwrap_err();
            let line = |error: &Error| Some(error.position()?.line);
            error.all().filter_map(line).collect()
        };
        assert_eq!(lines("a = = 1\nb = 2\nc = nope\n"), [1, 3]);
        // The repeated keys of a repeated table follow from its header.
        let hops = "[hops] # one\nname = 'a'\n[hops] # two\nname = 'b'\nx = = 1\n[c]\nd = = 1\n";
        assert_eq!(lines(hops), [5, 7, 3]);
        assert_eq!(lines("name = 'a'\nname = 'b'\n"), [2]);
        assert_eq!(
            lines("time,rate\n0,1\n1,2\n"),
            [0; 0],
            "the text, not a line, is wrong"
        );
        // What follows a list without an end is not told.
        assert_eq!(lines("a = = 1\nb = [1,\nc = 2\nd = 3\n").len(), 2);
    }
}
