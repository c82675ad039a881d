//! Limits on what others wrote: the one place that states them.
//!
//! Scenarios, the files that they name, and links come from anybody. Whoever reads one takes its
//! limit from here. [`LIMITS`] lists them for Python, which has no numbers of its own, and for
//! `SECURITY.md`, which a test holds equal.

/// A limit that is stated to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the constant. It ends in the unit.
    pub name: &'static str,
    /// The most that is accepted.
    pub most: u64,
    /// Its documentation.
    about: &'static str,
}

impl Limit {
    /// Returns a sentence about what is limited.
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }
    /// Returns the limit as text: "4 MB", "10,000".
    pub fn words(&self) -> String {
        match self.name.ends_with("_BYTES") {
            true => bytes(self.most),
            false => grouped(self.most),
        }
    }
}

/// Returns a number of bytes in the largest unit that keeps it whole: "4 MB".
pub fn bytes(number: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = units.iter().find(|(size, _)| number.is_multiple_of(*size));
    match unit.filter(|_| number > 0) {
        Some((size, unit)) => format!("{} {unit}", grouped(number / size)),
        None => format!("{} bytes", grouped(number)),
    }
}

/// Returns a whole number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

macro_rules! limits {
    ($($(#[doc = $about:literal])+ $name:ident = $most:literal;)*) => {
        $($(#[doc = $about])+ pub const $name: u64 = $most;)*
        /// All of them, in the order of `SECURITY.md`.
        pub const LIMITS: &[Limit] = &[
            $(Limit { name: stringify!($name), most: $name, about: concat!($($about),+) },)*
        ];
    };
}

limits! {
    /// Text of a scenario, or of a suite of test cases.
    SCENARIO_BYTES = 4_000_000;
    /// Hops of a scenario; groups of flows; shared media.
    GROUPS = 10_000;
    /// Paths of a sweep; sliders of a lab page; changes in a link.
    PATHS = 1_000;
    /// Points of a sweep.
    POINTS = 10_000;
    /// The texts of all points of a sweep, each a scenario.
    POINTS_BYTES = 200_000_000;
    /// Mistakes that are reported at once.
    MISTAKES = 100;
    /// A file that a scenario names: a trace, sizes.
    NAMED_FILE_BYTES = 64_000_000;
    /// All that is read of the files that a point of a scenario names.
    NAMED_FILES_BYTES = 512_000_000;
    /// A control: its source in C or Python, or its object.
    CONTROL_BYTES = 4_000_000;
    /// `run.json` of a result, or another file of JSON beside its tables.
    RESULT_JSON_BYTES = 1_000_000_000;
    /// Calls of a control, as emulations record them.
    RECORD_BYTES = 4_000_000_000;
    /// A key of a session.
    KEY_BYTES = 4_096;
    /// A link of a lab page, in characters.
    LINK_CHARACTERS = 8_000;
    /// The text in a link, unpacked.
    LINK_TEXT_BYTES = 200_000;
    /// Nesting of lists and tables in data of a page or a link.
    LEVELS = 100;
    /// All files that a scenario on a lab page names.
    PAGE_BYTES = 20_000_000;
    /// A request of a lab page.
    REQUEST_BYTES = 25_000_000;
    /// A value that a message quotes, in characters.
    QUOTED_CHARACTERS = 80;
    /// A message, in characters.
    MESSAGE_CHARACTERS = 2_000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_in_the_unit_of_its_name() {
        let words = |name: &str| {
            let limit = LIMITS.iter().find(|limit| limit.name == name).unwrap();
            limit.words()
        };
        assert_eq!(words("SCENARIO_BYTES"), "4 MB");
        assert_eq!(words("LINK_TEXT_BYTES"), "200 kB");
        assert_eq!(words("RESULT_JSON_BYTES"), "1 GB");
        assert_eq!(words("KEY_BYTES"), "4,096 bytes");
        assert_eq!(words("LINK_CHARACTERS"), "8,000");
        assert_eq!(bytes(0), "0 bytes");
    }
}
