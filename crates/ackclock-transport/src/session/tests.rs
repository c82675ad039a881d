//! Sessions with a simulated clock over a simulated path, into which others may inject datagrams.

mod attacks;
mod lies;
mod ordinary;
mod path;
mod timers;
