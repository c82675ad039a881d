//! System calls that no library we use wraps safely; each file holds one, and nothing else.

pub(crate) mod option_bytes;
