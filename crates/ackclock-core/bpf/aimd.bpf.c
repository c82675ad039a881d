/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Additive increase, multiplicative decrease: `alpha` segments for each round trip, and a loss
 * leaves `beta_percent` of the window. With 1 and 50 it is Reno's law (RFC 5681 section 3.1).
 */
#include "ackclock.bpf.h"

ACKCLOCK_PARAMETER(__u32, alpha, 1);
ACKCLOCK_PARAMETER(__u32, beta_percent, 50);

struct aimd {
	__u32 prior_cwnd; /* Before the last reduction. */
};

static void grow(struct ackclock_call *call, struct aimd *aimd)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return;
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	/* `alpha` segments for each window, counted in alpha-ths. */
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd, acked * alpha);
}

static __u32 cut(struct ackclock_call *call, struct aimd *aimd)
{
	__u64 kept = (__u64)call->before.cwnd * beta_percent / 100;

	aimd->prior_cwnd = call->before.cwnd;
	return ackclock_max(kept, 2);
}

static __u32 undo(struct ackclock_call *call, struct aimd *aimd)
{
	return ackclock_max(call->before.cwnd, aimd->prior_cwnd);
}

ACKCLOCK_CONTROL(struct aimd, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
