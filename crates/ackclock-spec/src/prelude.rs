//! Names that the file of almost every element uses.
//!
//! ```text
//! use ackclock_spec::prelude::*;
//! ```

pub use crate::error::{Result, check_factor, check_positive, consistent, every, in_range};
pub use crate::files::Files;
pub use crate::registry::{Element, Factory, StreamScope};
pub use crate::stated::Stated;
pub use crate::streams::Stream;
pub use crate::units::{BitRate, Bytes, Probability, Span, Time};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
