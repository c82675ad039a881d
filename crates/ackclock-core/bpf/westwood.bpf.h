/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The reaction to congestion that the controls of the TCP Westwood family share. Rates are in bytes
 * per second, times in microseconds.
 */
#ifndef WESTWOOD_BPF_H
#define WESTWOOD_BPF_H

#include "ackclock.bpf.h"

/* The window that a rate fills without a queue, in segments. */
ACKCLOCK_INLINE __u32 window_of(const struct ackclock_call *call, __u64 rate, __u32 rtt_min_us)
{
	return call->mss ? rate * rtt_min_us / 1000000 / call->mss : 0;
}

/*
 * The threshold for the kernel: that of the estimate, but not above the window, which recovery
 * would raise to it. `settle` sets the estimate's when recovery has ended.
 */
ACKCLOCK_INLINE __u32 threshold(const struct ackclock_call *call, __u32 held)
{
	return ackclock_max(ackclock_min(held, call->before.cwnd), 2);
}

ACKCLOCK_INLINE void settle(struct ackclock_call *call, __u32 held)
{
	if (held > call->after.ssthresh)
		call->after.ssthresh = held;
}

#endif
