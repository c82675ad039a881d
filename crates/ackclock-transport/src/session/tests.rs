//! Sessions with a told clock over a path of our own, on which others may speak, too.

mod attacks;
mod lies;
mod ordinary;
mod path;
mod timers;
