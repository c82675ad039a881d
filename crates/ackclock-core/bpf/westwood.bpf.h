/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the controls of the TCP Westwood family share: the step from ACK to ACK, growth as Reno's,
 * and the reaction to congestion. Rates are in bytes per second, times in microseconds.
 */
#ifndef WESTWOOD_BPF_H
#define WESTWOOD_BPF_H

#include "ackclock.bpf.h"

struct westwood {
	__u64 ended_us;   /* End of the present step; 0: no ACK yet. */
	__u32 step_us;    /* Its length; 0: not known, as of the first ACK's. */
	__u32 rtt_min_us; /* 0: not measured. */
	__u32 held;       /* Threshold after the last congestion; 0: none. */
	__u32 prior_cwnd; /* Before the last reduction. */
};

/* Notes an ACK. Returns true if a new step ends with it: ACKs of one microsecond share a step. */
ACKCLOCK_INLINE int ends_step(const struct ackclock_call *call, struct westwood *path)
{
	__u64 now_us = call->now_ns / 1000, before_us = path->ended_us;
	__u32 rtt = call->rtt_us;

	if (call->rtt_us > 0 && (!path->rtt_min_us || rtt < path->rtt_min_us))
		path->rtt_min_us = rtt;
	if (now_us <= before_us)
		return 0;
	path->ended_us = now_us;
	if (!before_us)
		return 0;
	path->step_us = ackclock_min(now_us - before_us, 1 << 30);
	return 1;
}

/* RFC 5681. */
ACKCLOCK_INLINE void grow_as_reno(struct ackclock_call *call)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return;
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd, acked);
}

/* The window that a rate fills without a queue, in segments. */
ACKCLOCK_INLINE __u32 window_of(const struct ackclock_call *call, const struct westwood *path,
				__u64 rate)
{
	return call->mss ? rate * path->rtt_min_us / 1000000 / call->mss : 0;
}

/* Notes the window before a reduction. Half of it is held while there is no estimate. */
ACKCLOCK_INLINE void begin_cut(const struct ackclock_call *call, struct westwood *path)
{
	path->prior_cwnd = call->before.cwnd;
	path->held = call->before.cwnd / 2;
}

/*
 * The threshold for the kernel: that of the estimate, but not above the window, which recovery
 * would raise to it. `settle` sets the estimate's when recovery has ended.
 */
ACKCLOCK_INLINE __u32 threshold(const struct ackclock_call *call, const struct westwood *path)
{
	return ackclock_max(ackclock_min(path->held, call->before.cwnd), 2);
}

/* After a timeout, and at the end of recovery. */
ACKCLOCK_INLINE void settle(struct ackclock_call *call, const struct westwood *path)
{
	switch (call->argument[0]) {
	case ACKCLOCK_EVENT_LOSS:
		call->after.ssthresh = ackclock_max(path->held, 2);
		break;
	case ACKCLOCK_EVENT_COMPLETE_CWR:
		if (path->held > call->after.ssthresh)
			call->after.ssthresh = path->held;
		break;
	}
}

ACKCLOCK_INLINE __u32 undone(const struct ackclock_call *call, const struct westwood *path)
{
	return ackclock_max(call->before.cwnd, path->prior_cwnd);
}

#endif
