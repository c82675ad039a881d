//! The engine behind a lab page: scenarios run step by step, so that the page can draw, and drop a
//! run whose scenario has changed meanwhile.
//!
//! [`laboratory`] does the work, with JSON in and out, and is tested natively. The border to
//! JavaScript is compiled for WebAssembly only. No clock is read here: the page limits the time.

#[cfg(target_arch = "wasm32")]
mod border;
pub mod laboratory;
pub mod refusal;
