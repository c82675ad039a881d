//! Names that files of elements, and of the facts that they state, use.
//!
//! ```text
//! use ackclock_spec::prelude::*;
//! ```

pub use crate::bounds::{
    check_above_zero, check_at_least_one, check_between, check_factor, check_not_negative,
    check_positive, check_weight,
};
pub use crate::error::{Result, consistent, every, in_range};
pub use crate::files::Files;
pub use crate::parameters;
pub use crate::registry::{Element, Factory, StreamScope};
pub use crate::stated::Stated;
pub use crate::streams::Stream;
pub use crate::units::{BitRate, Bytes, Probability, Span, Time};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
