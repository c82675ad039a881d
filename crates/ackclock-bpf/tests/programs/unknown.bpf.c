/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Uses a field of the socket that the engine does not have. */
#include "ackclock.bpf.h"

struct tcp_sock___wide {
	__u32 rcv_ooopack;
} __attribute__((preserve_access_index));

struct mine {
	__u32 seen;
};

static void grow(struct ackclock_call *call, struct mine *mine) { call->after.cwnd++; }
static __u32 cut(struct ackclock_call *call, struct mine *mine) { return 2; }
static __u32 undo(struct ackclock_call *call, struct mine *mine) { return 2; }

ACKCLOCK_CONTROL(struct mine, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);

SEC("struct_ops") __u32 other(__u64 *arguments)
{
	struct tcp_sock___wide *tp = (void *)arguments[0];

	return tp->rcv_ooopack;
}
