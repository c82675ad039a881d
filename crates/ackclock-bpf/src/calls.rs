//! Functions of the kernel that a program may call: helpers by number, others by name.

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Function {
    MapLookup, KtimeGetNs, TracePrintk, RandomU32, ProcessorId, Jiffies, SocketCookie, NetCookie,
    StorageGet, StorageDelete, SameSocket, RecordOutput, RecordReserve, RecordSubmit, RecordDiscard,
    RecordQuery, ProbeRead, Loop,
    SlowStart, CongAvoidAi, RenoSsthresh, RenoCongAvoid, RenoUndoCwnd, Identity,
    NumbersNew, NumbersNext, NumbersDestroy,
}

/// All of them, in their order.
#[rustfmt::skip]
const ALL: [Function; 27] = {
    use Function as F;
    [
        F::MapLookup, F::KtimeGetNs, F::TracePrintk, F::RandomU32, F::ProcessorId, F::Jiffies,
        F::SocketCookie, F::NetCookie, F::StorageGet, F::StorageDelete, F::SameSocket,
        F::RecordOutput, F::RecordReserve, F::RecordSubmit, F::RecordDiscard, F::RecordQuery,
        F::ProbeRead, F::Loop, F::SlowStart, F::CongAvoidAi, F::RenoSsthresh, F::RenoCongAvoid,
        F::RenoUndoCwnd, F::Identity, F::NumbersNew, F::NumbersNext, F::NumbersDestroy,
    ]
};

impl Function {
    /// Returns the function with a number, as the code has it.
    pub fn numbered(number: u64) -> Option<Self> {
        ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns a helper by its number (`enum bpf_func_id`).
    pub const fn helper(number: i32) -> Option<Self> {
        use Function as F;
        Some(match number {
            1 => F::MapLookup,
            5 | 125 | 160 => F::KtimeGetNs,
            6 | 177 => F::TracePrintk,
            7 => F::RandomU32,
            8 => F::ProcessorId,
            46 => F::SocketCookie,
            107 => F::StorageGet,
            108 => F::StorageDelete,
            113 => F::ProbeRead,
            118 => F::Jiffies,
            122 => F::NetCookie,
            130 => F::RecordOutput,
            131 => F::RecordReserve,
            132 => F::RecordSubmit,
            133 => F::RecordDiscard,
            134 => F::RecordQuery,
            136..=140 => F::SameSocket,
            181 => F::Loop,
            _ => return None,
        })
    }

    /// Returns a function by its name (`__ksym`).
    pub fn named(name: &str) -> Option<Self> {
        use Function as F;
        Some(match name {
            "tcp_slow_start" => F::SlowStart,
            "tcp_cong_avoid_ai" => F::CongAvoidAi,
            "tcp_reno_ssthresh" => F::RenoSsthresh,
            "tcp_reno_cong_avoid" => F::RenoCongAvoid,
            "tcp_reno_undo_cwnd" => F::RenoUndoCwnd,
            "bpf_rdonly_cast" | "bpf_cast_to_kern_ctx" => F::Identity,
            "bpf_iter_num_new" => F::NumbersNew,
            "bpf_iter_num_next" => F::NumbersNext,
            "bpf_iter_num_destroy" => F::NumbersDestroy,
            _ => return None,
        })
    }
}

/// Returns how a message names a helper.
pub fn helper_name(number: i32) -> String {
    let name = match number {
        2 => "bpf_map_update_elem",
        3 => "bpf_map_delete_elem",
        14 => "bpf_get_current_pid_tgid",
        35 => "bpf_get_current_task",
        49 => "bpf_setsockopt",
        57 => "bpf_getsockopt",
        64 => "bpf_spin_lock",
        116 => "bpf_tcp_send_ack",
        123 => "bpf_get_current_ancestor_cgroup_id",
        169 => "bpf_timer_init",
        _ => return format!("the helper number {number}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_the_code_is_that_of_its_function() {
        for (number, function) in ALL.into_iter().enumerate() {
            assert_eq!(function as usize, number);
            assert_eq!(Function::numbered(number as u64), Some(function));
        }
        assert_eq!(Function::numbered(ALL.len() as u64), None);
    }
}
