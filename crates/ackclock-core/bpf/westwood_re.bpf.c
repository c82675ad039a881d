/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * TCP Westwood with RE, the rate estimate (Wang, Valla, Sanadidi, Ng, Gerla 2002). Congestion sets
 * ssthresh to what the path holds by RE: the data delivered in the last round trip over its
 * duration, past the low-pass filter.
 */
#include "low_pass.bpf.h"
#include "westwood.bpf.h"

struct re {
	struct low_pass now, before; /* After the last ACK, and at the beginning of its step. */
	struct westwood path;
};

static void measure(struct ackclock_call *call, struct re *re)
{
	__u32 rtt = call->rtt_us, step;

	if (ends_step(call, &re->path))
		re->before = re->now;
	if (!re->path.step_us || call->rtt_us <= 0)
		return;
	re->now = re->before;
	step = pass_silence(&re->now, re->path.step_us);
	feed(&re->now, call->argument[1] * 1000000ULL / rtt, step);
}

static void grow(struct ackclock_call *call, struct re *re) { grow_as_reno(call); }

static __u32 cut(struct ackclock_call *call, struct re *re)
{
	begin_cut(call, &re->path);
	if (re->path.rtt_min_us)
		re->path.held = window_of(call, &re->path, re->now.value);
	return threshold(call, &re->path);
}

static void notice(struct ackclock_call *call, struct re *re) { settle(call, &re->path); }

static __u32 undo(struct ackclock_call *call, struct re *re) { return undone(call, &re->path); }

ACKCLOCK_CONTROL(struct re, .pkts_acked = measure, .cong_avoid = grow, .ssthresh = cut,
		 .cwnd_event = notice, .undo_cwnd = undo);
