/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The low-pass filter of TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi, Wang 2001). Rates are in
 * bytes per second, times in microseconds.
 */
#ifndef LOW_PASS_BPF_H
#define LOW_PASS_BPF_H

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

#endif
