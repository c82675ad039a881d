//! Texts of an object, by their places in a table of strings.

use crate::limits::{LINE_BYTES, NAME_BYTES};
use crate::refusal::Refusal;
use std::ffi::CStr;

/// A table of strings, each of which ends with a zero. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a>(pub &'a [u8]);

impl<'a> Strings<'a> {
    /// Returns a name.
    ///
    /// # Errors
    /// There is none at that place, or it is too long or no text.
    pub fn name(self, at: u32) -> Result<&'a str, Refusal> {
        let name = CStr::from_bytes_until_nul(self.bytes(at, NAME_BYTES + 1)).map_err(|_| {
            Refusal::new(format!(
                "has a name of more than {NAME_BYTES} bytes or without an end"
            ))
        })?;
        let name = name.to_str().ok();
        name.filter(|name| !name.contains(char::is_control))
            .ok_or_else(|| Refusal::new("has a name that is no text"))
    }

    /// Returns a text of which nothing depends; one that is too long is cut.
    pub fn text(self, at: u32) -> String {
        let bytes = self.bytes(at, LINE_BYTES);
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).replace(char::is_control, " ")
    }

    /// Returns the bytes from a place on, at most so many.
    fn bytes(self, at: u32, most: usize) -> &'a [u8] {
        let rest = self.0.get(at as usize..).unwrap_or_default();
        &rest[..rest.len().min(most)]
    }
}
