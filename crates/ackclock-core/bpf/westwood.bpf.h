/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the controls of the TCP Westwood family share: the low-pass filter of the papers (Mascolo et
 * al. 2001), and the reaction to congestion. Rates are in bytes per second, times in microseconds.
 */
#ifndef WESTWOOD_BPF_H
#define WESTWOOD_BPF_H

#include "ackclock.bpf.h"

/* Time constant of the filter, tau; 500 ms in the early papers. */
ACKCLOCK_PARAMETER(__u32, tau_ms, 500);

/* A sample of zero stands for each tau/2 of silence. */
#define VIRTUAL_SAMPLES 2
/* A shorter rest of a silence replaces the last zero. */
#define SHORTEST_STEP_US 10000
/* After so many zeros less than 10^-14 is left. */
#define MOST_ZEROS 64

struct low_pass {
	__u64 value; /* The estimate. */
	__u64 last;  /* The sample before. */
};

/*
 * The filter, first order, discretized by the bilinear rule with a variable step:
 *
 *     value = ((2 tau - step) value + step (sample + last)) / (2 tau + step)
 *
 * `bytes` is sample times step, in bytes times microseconds per second.
 */
ACKCLOCK_INLINE void feed(struct low_pass *filter, __u64 sample, __u32 step_us)
{
	__u64 twice = 2000ULL * tau_ms;
	__u64 sum = (twice - step_us) * filter->value + step_us * (sample + filter->last);

	filter->value = sum / (twice + step_us);
	filter->last = sample;
}

/* Feeds the zeros of a silence. Returns the step of the sample that ends it. */
ACKCLOCK_INLINE __u32 pass_silence(struct low_pass *filter, __u64 silence_us)
{
	__u32 longest = 1000 * tau_ms / VIRTUAL_SAMPLES;
	__u64 zeros = silence_us / longest;
	__u32 rest = silence_us - zeros * longest;

	if (zeros && rest < SHORTEST_STEP_US) {
		zeros--;
		rest = longest;
	}
	for (int zero = 0; zero < MOST_ZEROS; zero++) {
		if (zero >= zeros)
			break;
		feed(filter, 0, longest);
	}
	return rest;
}

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
