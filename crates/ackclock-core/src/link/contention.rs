//! Contention parameters of a link at a medium.

use ackclock_spec::prelude::*;

/// Contention of a link for a medium of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contention {
    /// Name of the medium.
    pub medium: String,
    /// Name of the station that the queue belongs to; none for a station of its own.
    pub station: Stated<String>,
    /// Rate of its data frames, in bit/s.
    pub bit_per_s: u64,
    /// AIFSN: slots after SIFS for which the medium must have been idle.
    pub aifsn: u32,
    /// Initial contention window.
    pub cw_min: ContentionWindow,
    /// Largest contention window.
    pub cw_max: ContentionWindow,
}

/// A contention window. The physical layer of the medium sets the bounds aCWmin and aCWmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ContentionWindow {
    /// A given number of slots.
    Constant {
        /// Number of slots.
        window: u32,
    },
    /// (bound + 1)/divisor − 1, in integer division.
    OfMedium {
        /// Bound of the physical layer.
        bound: Bound,
        /// Divisor.
        divisor: u32,
    },
}

/// A bound that the physical layer sets for contention windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// aCWmin.
    CwMin,
    /// aCWmax.
    CwMax,
}

/// The access parameters of a contender at a medium. The smallest belong to the highest class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessParameters {
    /// Slots after SIFS for which the medium must have been idle.
    pub aifsn: u32,
    /// Initial contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
}

/// The standard allows no larger window (ECWmax has four bits).
const LARGEST_WINDOW: u32 = 32_767;
/// AIFSN has four bits.
const LARGEST_AIFSN: u32 = 15;

impl ContentionWindow {
    /// aCWmin.
    pub const CW_MIN: Self = ContentionWindow::OfMedium {
        bound: Bound::CwMin,
        divisor: 1,
    };
    /// aCWmax.
    pub const CW_MAX: Self = ContentionWindow::OfMedium {
        bound: Bound::CwMax,
        divisor: 1,
    };

    fn slots(self, (least, most): (u32, u32)) -> u32 {
        match self {
            ContentionWindow::Constant { window } => window,
            ContentionWindow::OfMedium { bound, divisor } => {
                let bound = if bound == Bound::CwMin { least } else { most };
                ((bound + 1) / divisor).saturating_sub(1)
            }
        }
    }
}

impl Contention {
    /// Returns the rate of its data frames.
    pub const fn rate(&self) -> BitRate {
        BitRate::from_bit_per_s(self.bit_per_s)
    }

    /// Returns its access parameters with the physical layer's contention windows `cw`.
    ///
    /// # Errors
    /// An AIFSN out of range, or a largest window below the smallest.
    pub fn parameters(&self, cw: (u32, u32)) -> Result<AccessParameters> {
        let aifsn = self.aifsn;
        let [cw_min, cw_max] = [self.cw_min, self.cw_max].map(|window| window.slots(cw));
        let few = |field: &str, window: u32| {
            let remedy = format!("is more than {LARGEST_WINDOW}");
            in_range(window <= LARGEST_WINDOW, field, &window, &remedy)
        };
        let aifsn_range = format!("is not between 1 and {LARGEST_AIFSN}");
        let less = format!("is less than cw_min; choose {cw_min} or more");
        every([
            in_range(
                (1..=LARGEST_AIFSN).contains(&aifsn),
                "aifsn",
                &aifsn,
                &aifsn_range,
            ),
            few("cw_min", cw_min),
            few("cw_max", cw_max),
            consistent(cw_max >= cw_min, "cw_max", &cw_max, &["cw_min"], &less),
        ])?;
        Ok(AccessParameters {
            aifsn,
            cw_min,
            cw_max,
        })
    }
}
