//! System calls that no library in use wraps safely; each file holds one of them and nothing else.

pub(crate) mod bpf;
pub(crate) mod child_signal;
pub(crate) mod fork;
pub(crate) mod interface_request;
pub(crate) mod packet_address;
pub(crate) mod real_time;
pub(crate) mod socket_option;
pub(crate) mod unshare;
