/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Reno (RFC 5681): slow start, then alpha segments more for each round trip; congestion leaves beta
 * of the data in flight. Both are fractions. ECN marks may have their own share (RFC 8511).
 */
#include "ackclock.bpf.h"

ACKCLOCK_PARAMETER(__u32, alpha_numerator, 1);
ACKCLOCK_PARAMETER(__u32, alpha_denominator, 1);
ACKCLOCK_PARAMETER(__u32, beta_numerator, 1);
ACKCLOCK_PARAMETER(__u32, beta_denominator, 2);

struct reno {
	__u32 prior_cwnd; /* Before the last reduction. */
};

static void grow(struct ackclock_call *call, struct reno *reno)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return;
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	/* A window of acknowledged segments opens it by alpha; cwnd_cnt counts alpha's numerator. */
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd * alpha_denominator,
					   acked * alpha_numerator);
}

static __u32 cut(struct ackclock_call *call, struct reno *reno)
{
	__u64 kept = (__u64)call->before.cwnd * beta_numerator / beta_denominator;

	reno->prior_cwnd = call->before.cwnd;
	return ackclock_max(kept, 2);
}

static __u32 undo(struct ackclock_call *call, struct reno *reno)
{
	return ackclock_max(call->before.cwnd, reno->prior_cwnd);
}

ACKCLOCK_CONTROL(struct reno, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
