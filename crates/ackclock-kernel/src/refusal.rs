//! The reason why a control is not loaded.

use serde_json::{Value, json};
use std::process::ExitCode;

/// The thing that has to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The control, or its name: exit code 2.
    Control,
    /// The parameters that were asked for: exit code 2.
    Parameters,
    /// This machine: exit code 77, as for a test that is skipped.
    Machine,
}

/// The reason why a control is not loaded, and the remedy, on one line.
#[derive(Clone, Debug)]
pub struct Refusal {
    blame: Blame,
    sentence: String,
    /// The text of the verifier, if it was the one.
    log: String,
}

impl Refusal {
    /// The control, or what was asked, has to change.
    pub fn wrong(sentence: impl Into<String>) -> Self {
        Refusal {
            blame: Blame::Control,
            sentence: sentence.into(),
            log: String::new(),
        }
    }

    /// The parameters have to change.
    pub fn of_parameters(sentence: impl Into<String>) -> Self {
        Refusal {
            blame: Blame::Parameters,
            ..Refusal::wrong(sentence)
        }
    }

    /// This machine lacks something.
    pub fn lacking(sentence: impl Into<String>) -> Self {
        Refusal {
            blame: Blame::Machine,
            ..Refusal::wrong(sentence)
        }
    }

    /// The same with the text of the verifier.
    pub fn with_log(self, log: String) -> Self {
        Refusal { log, ..self }
    }

    /// Returns the answer for the program that asked.
    pub fn as_json(&self) -> Value {
        let blame = match self.blame {
            Blame::Control => "control",
            Blame::Parameters => "parameters",
            Blame::Machine => "machine",
        };
        json!({ "refused": { "blame": blame, "reason": self.sentence, "log": self.log } })
    }

    /// Returns the exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self.blame {
            Blame::Control | Blame::Parameters => 2,
            Blame::Machine => 77,
        })
    }
}
