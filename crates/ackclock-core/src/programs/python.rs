//! A control as a class in Python, for teaching and first drafts.

use super::control::{Algorithm, ProgramControl};
use crate::congestion::facts::ControlFacts;
use crate::congestion::{CongestionControl, ControlContext, ControlKind};
use ackclock_bpf::{Argument, Callback};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::files::read_checked;
use ackclock_spec::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A class in Python whose objects are the algorithms of controls. [`Files::class`] returns an
/// `Arc<dyn Class>`.
pub trait Class: Debug + Send + Sync {
    /// Loads the file.
    ///
    /// # Errors
    /// The file cannot be loaded, or the class has no such parameters.
    fn check(&self, parameters: &BTreeMap<String, f64>) -> std::result::Result<(), String>;
    /// Makes an object. Its first call reports what goes wrong.
    fn make(&self, parameters: &BTreeMap<String, f64>) -> Box<dyn Algorithm>;
}

const REMEDY: &str = "name a file in Python, for example mine.py";

/// Parameters.
///
/// The class has methods for the events of a control in the Linux kernel, as a control in C has.
/// Simulating the scenario runs its author's code: do so only if you trust them. A call takes
/// about a microsecond and what its own lines need, so use few flows and slow links.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Python {
    /// File in Python.
    #[schemars(extend("examples" = ["mine.py"]))]
    pub file: String,
    /// Name of the class.
    #[schemars(extend("examples" = ["Mine"]))]
    pub class: String,
    /// Values of the class's parameters, numbers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// Digest of the file, which is filled in. If given, the file must have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip)]
    #[schemars(skip)]
    run: Run,
}

/// The class, or the reason why there is none.
#[derive(Clone, Debug)]
enum Run {
    Class(Arc<dyn Class>),
    Refused(String),
}

impl Default for Run {
    fn default() -> Self {
        Run::Refused("was not read".into())
    }
}

impl Element<ControlKind> for Python {
    const NAME: &'static str = "python";
    const LABEL: &'static str = "class in Python";
    const SUMMARY: &'static str =
        "Is a class of your own in Python, for teaching and first drafts.";
    const REFERENCE: &'static str = "none";

    fn check(&mut self, files: &dyn Files) -> Result<()> {
        let named = self
            .class
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_');
        every([
            in_range(
                self.file.ends_with(".py"),
                "file",
                &self.file,
                "does not end in .py; name a file in Python, for example mine.py",
            ),
            in_range(
                named && !self.class.is_empty(),
                "class",
                &self.class,
                "is not the name of a class; for example Mine",
            ),
        ])?;
        read_checked(files, &self.file, &mut self.digest, REMEDY)?;
        self.run = match files.class(&self.file, &self.class) {
            Ok(class) => match class.downcast::<Arc<dyn Class>>() {
                Ok(class) => Run::Class(*class),
                Err(_) => Run::Refused("is not a class of a control".into()),
            },
            Err(reason) => Run::Refused(reason),
        };
        Ok(())
    }

    fn facts(&self) -> ControlFacts {
        ControlFacts {
            title: Stated::Some(format!("{}:{}", Self::NAME, self.class)),
            ..ControlFacts::default() // unknown
        }
    }
}

impl Factory<ControlKind> for Python {
    fn build(&self, context: ControlContext<'_>) -> Box<dyn CongestionControl> {
        let Run::Class(class) = &self.run else {
            unreachable!("the simulator refuses what the engine cannot make");
        };
        Box::new(ProgramControl::new(class.make(&self.parameters), &context))
    }

    fn refusal(&self) -> Option<Error> {
        let reason = match &self.run {
            Run::Class(class) => class.check(&self.parameters).err()?,
            Run::Refused(reason) => reason.clone(),
        };
        let error = Error::new(
            "file",
            &json!(self.file),
            &format!("cannot be used: {reason}"),
        );
        Some(error.coded(Code::Unsupported))
    }
}

impl Algorithm for Box<dyn Algorithm> {
    fn has(&self, callback: Callback) -> bool {
        (**self).has(callback)
    }
    fn has_long_cong_control(&self) -> bool {
        (**self).has_long_cong_control()
    }
    fn paces(&self) -> bool {
        (**self).paces()
    }
    fn set_time(&mut self, nanos: u64) {
        (**self).set_time(nanos);
    }
    fn ticks(&self) -> u64 {
        (**self).ticks()
    }
    fn get(&self, field: u32) -> u64 {
        (**self).get(field)
    }
    fn set(&mut self, field: u32, value: u64) {
        (**self).set(field, value);
    }
    fn set_ack_sample(&mut self, field: u32, value: u64) {
        (**self).set_ack_sample(field, value);
    }
    fn set_rate_sample(&mut self, field: u32, value: u64) {
        (**self).set_rate_sample(field, value);
    }
    fn call(
        &mut self,
        callback: Callback,
        arguments: &[Argument],
    ) -> std::result::Result<u64, String> {
        (**self).call(callback, arguments)
    }
}
