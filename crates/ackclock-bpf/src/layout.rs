//! The kernel's structures as far as the engine knows them.
//!
//! Every field has a slot of eight bytes, so that a program may read it in any width. The slots
//! begin at [`GAP`]. A program finds its fields there by CO-RE relocations. One that uses its own
//! offsets instead hits the gap, where nothing can be read.

/// Place of the first slot in every structure.
pub const GAP: u32 = 4096;
/// Bytes of a slot.
pub const SLOT: u32 = 8;
/// Slots of `icsk_ca_priv`, the memory of a control in a socket: 104 bytes.
pub const PRIVATE_SLOTS: u32 = 13;

/// A structure of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The socket: `tcp_sock` and the structures at its start.
    Socket,
    /// `ack_sample`: the argument of `pkts_acked`.
    AckSample,
    /// `rate_sample`: the argument of `cong_control`.
    RateSample,
    /// `net`: the network namespace of a socket.
    Net,
}

/// A field that the engine knows.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Structure of the kernel that has it.
    pub owner: &'static str,
    /// Name; a path of names if it lies in a structure of its own.
    pub name: &'static str,
    /// Bytes that it takes in the kernel, or its bits.
    pub size: u32,
    /// True if it holds negative numbers too.
    pub signed: bool,
    /// True if the kernel lets a control write it (`bpf_tcp_ca_btf_struct_access`).
    pub writable: bool,
    /// Slots that it takes.
    pub slots: u32,
}

const fn field(owner: &'static str, name: &'static str, size: u32) -> Field {
    Field {
        owner,
        name,
        size,
        signed: false,
        writable: false,
        slots: 1,
    }
}
const fn writable(owner: &'static str, name: &'static str, size: u32) -> Field {
    Field {
        writable: true,
        ..field(owner, name, size)
    }
}
const fn signed(owner: &'static str, name: &'static str, size: u32) -> Field {
    Field {
        signed: true,
        ..field(owner, name, size)
    }
}

/// Declares the fields of a structure: constants with the numbers of their slots, and the list.
macro_rules! fields {
    ($list:ident: $($constant:ident = $field:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Number { $($constant),* }
        $(
            #[doc = concat!("Number of the slot of `", stringify!($constant), "`.")]
            pub const $constant: u32 = Number::$constant as u32;
        )*
        /// The fields in the order of their slots.
        pub const $list: &[super::Field] = &[$($field),*];
    };
}

const TCP: &str = "tcp_sock";
const CONNECTION: &str = "inet_connection_sock";
const SOCK: &str = "sock";
const COMMON: &str = "sock_common";

/// Fields of a socket.
pub mod socket {
    use super::{COMMON, CONNECTION, Field, PRIVATE_SLOTS, SOCK, TCP, field, writable};

    fields! { FIELDS:
        SND_CWND = writable(TCP, "snd_cwnd", 4);
        SND_CWND_CNT = writable(TCP, "snd_cwnd_cnt", 4);
        SND_CWND_STAMP = writable(TCP, "snd_cwnd_stamp", 4);
        SND_SSTHRESH = writable(TCP, "snd_ssthresh", 4);
        SND_CWND_CLAMP = field(TCP, "snd_cwnd_clamp", 4);
        PRIOR_CWND = field(TCP, "prior_cwnd", 4);
        PRIOR_SSTHRESH = field(TCP, "prior_ssthresh", 4);
        SRTT_US = field(TCP, "srtt_us", 4);
        RTT_MIN = field(TCP, "rtt_min.s.v", 4);
        MSS_CACHE = field(TCP, "mss_cache", 4);
        PACKETS_OUT = field(TCP, "packets_out", 4);
        SACKED_OUT = field(TCP, "sacked_out", 4);
        LOST_OUT = field(TCP, "lost_out", 4);
        RETRANS_OUT = field(TCP, "retrans_out", 4);
        DELIVERED = field(TCP, "delivered", 4);
        DELIVERED_CE = field(TCP, "delivered_ce", 4);
        LOST = field(TCP, "lost", 4);
        APP_LIMITED = writable(TCP, "app_limited", 4);
        IS_CWND_LIMITED = field(TCP, "is_cwnd_limited", 1);
        MAX_PACKETS_OUT = field(TCP, "max_packets_out", 4);
        TCP_MSTAMP = field(TCP, "tcp_mstamp", 8);
        DELIVERED_MSTAMP = field(TCP, "delivered_mstamp", 8);
        TCP_CLOCK_CACHE = field(TCP, "tcp_clock_cache", 8);
        TCP_WSTAMP_NS = field(TCP, "tcp_wstamp_ns", 8);
        SND_UNA = field(TCP, "snd_una", 4);
        SND_NXT = field(TCP, "snd_nxt", 4);
        ECN_FLAGS = writable(TCP, "ecn_flags", 1);
        CA_STATE = field(CONNECTION, "icsk_ca_state", 1);
        CA_INITIALIZED = field(CONNECTION, "icsk_ca_initialized", 1);
        PACING_RATE = writable(SOCK, "sk_pacing_rate", 8);
        PACING_STATUS = writable(SOCK, "sk_pacing_status", 4);
        MAX_PACING_RATE = field(SOCK, "sk_max_pacing_rate", 8);
        LOCAL_ADDRESS = field(COMMON, "skc_rcv_saddr", 4);
        LOCAL_PORT = field(COMMON, "skc_num", 2);
        REMOTE_PORT = field(COMMON, "skc_dport", 2);
        FAMILY = field(COMMON, "skc_family", 2);
        SOCKET_STATE = field(COMMON, "skc_state", 1);
        NET = field(COMMON, "skc_net.net", 8);
        CA_PRIVATE = Field { slots: PRIVATE_SLOTS, ..writable(CONNECTION, "icsk_ca_priv", 104) };
    }

    /// Number of slots.
    pub const SLOTS: usize = CA_PRIVATE as usize + PRIVATE_SLOTS as usize;
    /// True for the slots that a program may write.
    pub const WRITABLE: [bool; SLOTS] = {
        let mut may = [FIELDS[CA_PRIVATE as usize].writable; SLOTS];
        let mut slot = 0;
        while slot < CA_PRIVATE as usize {
            may[slot] = FIELDS[slot].writable;
            slot += 1;
        }
        may
    };
}

/// Fields of `ack_sample`.
pub mod ack_sample {
    use super::{field, signed};

    fields! { FIELDS:
        PKTS_ACKED = field("ack_sample", "pkts_acked", 4);
        RTT_US = signed("ack_sample", "rtt_us", 4);
        IN_FLIGHT = field("ack_sample", "in_flight", 4);
    }
}

/// Fields of `rate_sample`.
pub mod rate_sample {
    use super::{field, signed};

    const OWNER: &str = "rate_sample";

    fields! { FIELDS:
        PRIOR_DELIVERED = field(OWNER, "prior_delivered", 4);
        DELIVERED = signed(OWNER, "delivered", 4);
        INTERVAL_US = signed(OWNER, "interval_us", 8);
        SND_INTERVAL_US = field(OWNER, "snd_interval_us", 4);
        RCV_INTERVAL_US = field(OWNER, "rcv_interval_us", 4);
        RTT_US = signed(OWNER, "rtt_us", 8);
        LOSSES = signed(OWNER, "losses", 4);
        ACKED_SACKED = field(OWNER, "acked_sacked", 4);
        PRIOR_IN_FLIGHT = field(OWNER, "prior_in_flight", 4);
        IS_APP_LIMITED = field(OWNER, "is_app_limited", 1);
        IS_ACK_DELAYED = field(OWNER, "is_ack_delayed", 1);
    }
}

/// Fields of `net`.
pub mod net {
    use super::field;

    fields! { FIELDS:
        COOKIE = field("net", "net_cookie", 8);
    }
}

impl Structure {
    /// Returns the structure in which one of the kernel's begins.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "tcp_sock" | "inet_connection_sock" | "inet_sock" | "sock" | "sock_common" => {
                Some(Structure::Socket)
            }
            "ack_sample" => Some(Structure::AckSample),
            "rate_sample" => Some(Structure::RateSample),
            "net" => Some(Structure::Net),
            _ => None,
        }
    }

    /// Returns its fields in the order of their slots.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Structure::Socket => socket::FIELDS,
            Structure::AckSample => ack_sample::FIELDS,
            Structure::RateSample => rate_sample::FIELDS,
            Structure::Net => net::FIELDS,
        }
    }

    /// Returns the bytes of its slots.
    pub fn size(self) -> u32 {
        self.fields().iter().map(|field| field.slots * SLOT).sum()
    }

    /// Returns a field of the structure `owner` by name, with its place.
    pub fn find(self, owner: &str, name: &str) -> Option<(u32, Field)> {
        let mut at = GAP;
        for field in self.fields() {
            if field.owner == owner && field.name == name {
                return Some((at, *field));
            }
            at += field.slots * SLOT;
        }
        None
    }
}

/// Returns the structure that a member holds at its start, if it is one that a socket nests.
pub fn nested(owner: &str, member: &str) -> Option<&'static str> {
    match (owner, member) {
        ("tcp_sock", "inet_conn") => Some(CONNECTION),
        ("inet_connection_sock", "icsk_inet") => Some("inet_sock"),
        ("inet_sock", "sk") => Some(SOCK),
        ("sock", "__sk_common") => Some(COMMON),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Constants are numbers of slots, so only the last field may take several.
    #[test]
    fn a_field_lies_where_its_constant_says() {
        let place = |name: &str, owner: &str| Structure::Socket.find(owner, name).unwrap().0;
        assert_eq!(place("snd_cwnd", "tcp_sock"), GAP + SLOT * socket::SND_CWND);
        assert_eq!(
            place("icsk_ca_priv", "inet_connection_sock"),
            GAP + SLOT * socket::CA_PRIVATE
        );
        for structure in [
            Structure::Socket,
            Structure::AckSample,
            Structure::RateSample,
            Structure::Net,
        ] {
            let (_, others) = structure.fields().split_last().unwrap();
            assert!(others.iter().all(|field| field.slots == 1));
        }
    }

    #[test]
    fn a_program_may_write_what_the_kernel_lets_it_write() {
        let names: Vec<_> = socket::FIELDS
            .iter()
            .filter(|field| field.writable)
            .map(|field| field.name)
            .collect();
        let kernel = [
            "snd_cwnd",
            "snd_cwnd_cnt",
            "snd_cwnd_stamp",
            "snd_ssthresh",
            "app_limited",
            "ecn_flags",
            "sk_pacing_rate",
            "sk_pacing_status",
            "icsk_ca_priv",
        ];
        assert_eq!(names, kernel);
    }
}
