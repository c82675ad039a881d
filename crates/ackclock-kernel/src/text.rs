//! The text that libbpf prints while it loads.

use libbpf_rs::{PrintLevel, set_print};
use std::mem::take;
use std::sync::Mutex;

static PRINTED: Mutex<String> = Mutex::new(String::new());

/// Collects what libbpf prints from now on, instead of standard error.
pub fn collect() {
    drop(take_printed());
    set_print(Some((PrintLevel::Warn, |_level, text| {
        if let Ok(mut printed) = PRINTED.lock() {
            printed.push_str(&text);
        }
    })));
}

/// Removes and returns what has been printed.
pub fn take_printed() -> String {
    PRINTED
        .lock()
        .map_or_else(|_| String::new(), |mut printed| take(&mut *printed))
}
