/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * NAME: a congestion control for Linux and for ackclock, from this one source.
 *
 *     ackclock controls check NAME.bpf.c
 *     control = { kind = "kernel", file = "NAME.bpf.c", parameters = { beta_percent = 70 } }
 *
 * As it stands, the window grows by a segment for each round trip, and congestion leaves a share.
 * Windows count segments. There is no floating point, loops need a bound, and a function has 512
 * bytes of stack: the kernel's verifier insists on it.
 */
#include "ackclock.bpf.h"

/* What a scenario may set. */
ACKCLOCK_PARAMETER(__u32, beta_percent, 50);

/* What the control remembers of one connection: at most 104 bytes, zero at first. */
struct mine {
	__u32 prior_cwnd; /* Before the last reduction. */
	__u32 least_rtt_us;
};

/* An ACK. call->rtt_us is its round-trip time, negative if none was measured. */
static void measure(struct ackclock_call *call, struct mine *mine)
{
	if (call->rtt_us <= 0)
		return;
	if (!mine->least_rtt_us || call->rtt_us < mine->least_rtt_us)
		mine->least_rtt_us = call->rtt_us;
}

/* An ACK by which the window may grow. call->argument[1] segments were acknowledged. */
static void grow(struct ackclock_call *call, struct mine *mine)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return; /* The application sends less than the window allows. */
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd, acked);
}

/* Congestion: returns the new threshold, with which recovery will end. */
static __u32 cut(struct ackclock_call *call, struct mine *mine)
{
	__u64 kept = (__u64)call->before.cwnd * beta_percent / 100;

	mine->prior_cwnd = call->before.cwnd;
	return ackclock_max(kept, 2);
}

/* The last reduction was unnecessary: returns the window. */
static __u32 undo(struct ackclock_call *call, struct mine *mine)
{
	return ackclock_max(call->before.cwnd, mine->prior_cwnd);
}

/* There are more events: .init, .set_state, .cwnd_event, .release. */
ACKCLOCK_CONTROL(struct mine, .pkts_acked = measure, .cong_avoid = grow, .ssthresh = cut,
		 .undo_cwnd = undo);
