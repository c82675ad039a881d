//! Lines of the source, by place in the code.

use crate::refusal::SourceLine;
use crate::strings::Strings;

/// The line of the source from which the code from a place on was compiled.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// First instruction: its bytes or steps from the start of the code.
    pub at: u32,
    /// Number of the line.
    pub line: u32,
    /// Places of the path of the file and of the text of the line in the table of strings.
    pub file: u32,
    pub text: u32,
}

impl Place {
    /// Returns the line of an instruction, if its code has lines, which are in its order.
    pub fn of(places: &[Place], at: u32, strings: Strings<'_>) -> Option<SourceLine> {
        let after = places.partition_point(|place| place.at <= at);
        let place = places.get(after.checked_sub(1)?)?;
        let file = strings.text(place.file);
        Some(SourceLine {
            file: file.rsplit('/').next().unwrap_or_default().into(),
            line: place.line,
            text: strings.text(place.text).trim().into(),
        })
    }
}

/// Lines of a program by step, in order.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    pub places: Vec<Place>,
    /// The table of strings of the object's types.
    pub strings: Vec<u8>,
}

impl Lines {
    /// Returns the line of a step.
    pub fn of(&self, step: usize) -> Option<SourceLine> {
        let step = u32::try_from(step).ok()?;
        Place::of(&self.places, step, Strings(&self.strings))
    }
}
