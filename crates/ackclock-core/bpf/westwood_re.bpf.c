/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * TCP Westwood with RE, the rate estimate (Wang, Valla, Sanadidi, Ng, Gerla 2002). Congestion sets
 * ssthresh to what the path holds by RE: the data delivered in the last round trip over its
 * duration, past the low-pass filter.
 */
#include "low_pass.bpf.h"
#include "westwood.bpf.h"

struct re {
	/* After the last ACK, and at the beginning of its step: ACKs of one microsecond are one. */
	struct low_pass now, before;
	__u64 ended_us; /* End of the present step; 0: no ACK yet. */
	__u32 step_us;  /* Its length. */
	__u32 rtt_min_us;
	__u32 held;     /* Threshold after the last congestion; 0: none. */
	__u32 prior_cwnd;
};

static void measure(struct ackclock_call *call, struct re *re)
{
	__u64 now_us = call->now_ns / 1000;
	__u32 rtt = call->rtt_us, step;

	if (call->rtt_us > 0 && (!re->rtt_min_us || rtt < re->rtt_min_us))
		re->rtt_min_us = rtt;
	if (!re->ended_us) {
		/* The time in which the first ACK's data was delivered is not known. */
		re->ended_us = now_us;
		return;
	}
	if (now_us > re->ended_us) {
		re->step_us = ackclock_min(now_us - re->ended_us, 1 << 30);
		re->ended_us = now_us;
		re->before = re->now;
	}
	if (!re->step_us || call->rtt_us <= 0)
		return;
	re->now = re->before;
	step = pass_silence(&re->now, re->step_us);
	feed(&re->now, call->argument[1] * 1000000ULL / rtt, step);
}

static void grow(struct ackclock_call *call, struct re *re)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return;
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd, acked);
}

/* Half the window while there is no estimate. */
static __u32 cut(struct ackclock_call *call, struct re *re)
{
	re->prior_cwnd = call->before.cwnd;
	re->held = re->rtt_min_us ? window_of(call, re->now.value, re->rtt_min_us) :
				    call->before.cwnd / 2;
	return threshold(call, re->held);
}

static void notice(struct ackclock_call *call, struct re *re)
{
	switch (call->argument[0]) {
	case ACKCLOCK_EVENT_LOSS:
		call->after.ssthresh = ackclock_max(re->held, 2);
		break;
	case ACKCLOCK_EVENT_COMPLETE_CWR:
		settle(call, re->held);
		break;
	}
}

static __u32 undo(struct ackclock_call *call, struct re *re)
{
	return ackclock_max(call->before.cwnd, re->prior_cwnd);
}

ACKCLOCK_CONTROL(struct re, .pkts_acked = measure, .cong_avoid = grow, .ssthresh = cut,
		 .cwnd_event = notice, .undo_cwnd = undo);
