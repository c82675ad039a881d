//! From text to tree to parameters.

use super::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a struct from a tree. Errors name the field relative to `tree`.
pub fn from_tree<T: DeserializeOwned>(tree: Value) -> Result<T> {
    serde_path_to_error::deserialize(&tree)
        .map_err(|error| Error::message(&error.path().to_string(), error.inner().to_string()))
}
