//! Reasons why an object or a call of it is refused.

use std::fmt;

/// A line of a control's source, as the compiler noted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Name of the file.
    pub file: String,
    /// Number of the line, counted from 1.
    pub line: u32,
    /// Text of the line, without blanks around it.
    pub text: String,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// The reason why an object cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Line of the source to which the reason applies, if it is known.
    pub line: Option<SourceLine>,
    /// The reason: a clause without a full stop.
    pub reason: String,
}

impl Refusal {
    /// Returns a refusal of the whole object.
    pub fn new(reason: impl Into<String>) -> Self {
        Refusal {
            line: None,
            reason: reason.into(),
        }
    }

    /// Names the line of the source, if it is known and none is named yet.
    pub fn at(mut self, line: Option<SourceLine>) -> Self {
        self.line = self.line.or(line);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.line {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// The reason why a call ended without an answer. The verifier of a kernel refuses most such
/// programs before they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Callback that was called.
    pub callback: &'static str,
    /// The reason, and the line of the source.
    pub refusal: Refusal,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.callback, self.refusal)
    }
}

impl std::error::Error for Fault {}
