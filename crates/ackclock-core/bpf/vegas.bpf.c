/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Vegas (Brakmo and Peterson 1995): keeps alpha to beta segments in the queue, which the growth of
 * the round-trip time shows. In the paper's terms, once for each round trip:
 *
 *     Diff = (cwnd/BaseRTT - cwnd/RTT) BaseRTT = cwnd (1 - BaseRTT/RTT)
 *
 * RTT is the smallest of the round, in slow start that of its last ACK. A loss halves the window.
 */
#include "ackclock.bpf.h"

ACKCLOCK_PARAMETER(__u32, alpha, 2);
ACKCLOCK_PARAMETER(__u32, beta, 4);
ACKCLOCK_PARAMETER(__u32, gamma, 1);

/* Diff is compared in eighths of a segment. */
#define EIGHTHS 8

struct vegas {
	__u32 base_us;     /* BaseRTT; 0: not measured yet. */
	__u32 smallest_us; /* Smallest of this round; 0: none. */
	__u32 latest_us;   /* Latest; 0: none. */
	__u32 round_end;   /* The round ends when this byte is acknowledged. */
	__u32 rounds;
	__u32 prior_cwnd;
};

static void begin(struct ackclock_call *call, struct vegas *vegas)
{
	vegas->round_end = call->snd_nxt;
}

static void measure(struct ackclock_call *call, struct vegas *vegas)
{
	__u32 rtt = call->rtt_us;

	if (call->rtt_us <= 0)
		return;
	vegas->latest_us = rtt;
	if (!vegas->base_us || rtt < vegas->base_us)
		vegas->base_us = rtt;
	if (!vegas->smallest_us || rtt < vegas->smallest_us)
		vegas->smallest_us = rtt;
}

ACKCLOCK_INLINE void lower(struct ackclock_call *call, __u32 cwnd)
{
	call->after.cwnd = ackclock_min(call->after.cwnd, ackclock_max(cwnd, 2));
	call->after.ssthresh = ackclock_min(call->after.ssthresh, call->after.cwnd);
}

/* Compares the rates at the end of a round. */
ACKCLOCK_INLINE void compare(struct ackclock_call *call, struct vegas *vegas)
{
	int slow_start = ackclock_in_slow_start(call);
	__u32 rtt = slow_start ? vegas->latest_us : vegas->smallest_us;
	__u32 cwnd = call->after.cwnd, diff;

	if (!rtt || !vegas->base_us)
		return;
	rtt = ackclock_max(rtt, vegas->base_us);
	diff = (__u64)EIGHTHS * cwnd * (rtt - vegas->base_us) / rtt;
	if (slow_start) {
		/* The window that the path carried without a queue, and one segment. */
		if (diff > EIGHTHS * gamma)
			lower(call, (__u64)cwnd * vegas->base_us / rtt + 1);
	} else if (diff > EIGHTHS * beta) {
		lower(call, cwnd - 1);
	} else if (diff < EIGHTHS * alpha && ackclock_may_open(call)) {
		call->after.cwnd = cwnd + 1;
	}
}

static void grow(struct ackclock_call *call, struct vegas *vegas)
{
	if ((__s32)(call->argument[0] - vegas->round_end) >= 0) {
		vegas->round_end = call->snd_nxt;
		vegas->rounds++;
		compare(call, vegas);
		vegas->smallest_us = 0;
	}
	/* Slow start doubles the window every other round, so that Diff is of a constant one. */
	if (ackclock_in_slow_start(call) && vegas->rounds % 2 && ackclock_may_open(call))
		ackclock_slow_start(call, call->argument[1]);
}

static __u32 cut(struct ackclock_call *call, struct vegas *vegas)
{
	vegas->prior_cwnd = call->before.cwnd;
	return ackclock_max(call->before.cwnd / 2, 2);
}

/* Round-trip times of a recovery do not show the new window. */
static void notice(struct ackclock_call *call, struct vegas *vegas)
{
	if (call->argument[0] == ACKCLOCK_OPEN) {
		vegas->smallest_us = 0;
		vegas->round_end = call->snd_nxt;
	}
}

static __u32 undo(struct ackclock_call *call, struct vegas *vegas)
{
	return ackclock_max(call->before.cwnd, vegas->prior_cwnd);
}

ACKCLOCK_CONTROL(struct vegas, .init = begin, .pkts_acked = measure, .cong_avoid = grow,
		 .ssthresh = cut, .set_state = notice, .undo_cwnd = undo);
