//! Controls that are programs, in a build without what runs them: known by name, and refused.
//!
//! A page carries neither the machine for programs nor those that come with ackclock.

use crate::congestion::{CongestionControl, ControlContext, ControlKind};
use ackclock_spec::error::{Code, Error};
use ackclock_spec::prelude::*;
use serde_json::{Map, Value};

macro_rules! stub {
    ($type:ident, $name:literal, $label:literal, $remedy:literal) => {
        #[doc = concat!("Parameters of `", $name, "` as written; nothing here reads them.")]
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            #[serde(flatten)]
            written: Map<String, Value>,
        }

        impl Element<ControlKind> for $type {
            const NAME: &'static str = $name;
            const LABEL: &'static str = $label;
            const SUMMARY: &'static str = concat!("Is a ", $label, ", which does not run here.");
            const REFERENCE: &'static str = "none";
        }

        impl Factory<ControlKind> for $type {
            fn build(&self, _context: ControlContext<'_>) -> Box<dyn CongestionControl> {
                unreachable!("the simulator refuses what the engine cannot make");
            }

            fn refusal(&self) -> Option<Error> {
                let error = Error::new("kind", &$name.into(), $remedy);
                Some(error.coded(Code::Unsupported))
            }
        }
    };
}

stub!(
    Kernel,
    "kernel",
    "control of the kernel",
    "does not run in a page; for a program use ackclock simulate, for a control that the kernel \
    has ackclock emulate"
);
stub!(
    Python,
    "python",
    "class in Python",
    "does not run in a page; use ackclock simulate"
);

/// Appends the rows of calls of a control's program: of none.
#[cfg(not(feature = "programs"))]
pub fn push_calls(_: &[u8], _: (i64, i64), _: &str, _: u32, _: &mut crate::result::Table) {}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_spec::files::NoFiles;
    use ackclock_spec::registry::Entry;
    use serde_json::json;

    #[test]
    fn it_is_known_and_refused_whatever_its_parameters() {
        for (entry, parameters) in [
            (Entry::of_optional::<Kernel>(), json!({ "shipped": "aimd" })),
            (Entry::of_optional::<Kernel>(), json!({ "name": "bbr" })),
            (
                Entry::of_optional::<Python>(),
                json!({ "file": "mine.py", "class": "Mine", "parameters": { "a": 1 } }),
            ),
        ] {
            let chosen = entry.read(parameters.clone(), &NoFiles).unwrap();
            assert_eq!(chosen.refusal().unwrap().key(), "unsupported kind");
            let mut written = chosen.resolved.as_object().unwrap().clone();
            assert_eq!(written.remove("kind"), Some(entry.name.into()));
            written.remove("facts");
            assert_eq!(Value::Object(written), parameters);
        }
    }
}
