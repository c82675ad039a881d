/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * TCP Westwood with CRB, combined rate and bandwidth (Wang, Valla, Sanadidi, Ng, Gerla 2002).
 * Congestion sets ssthresh to what the path holds by an estimate. The estimate is RE, the data
 * delivered in the last round trip, if the window is more than theta times what RE says the path
 * holds: then a loss looks like congestion. Otherwise it is BE, the data of each ACK over the time
 * since the ACK before. Both pass the low-pass filter. After a timeout it is BE.
 *
 * theta = 1.4 is from memory of the literature, without a source.
 */
#include "low_pass.bpf.h"
#include "westwood.bpf.h"

ACKCLOCK_PARAMETER(__u32, theta_percent, 140);

struct crb {
	/* After the last ACK, and at the beginning of its step: ACKs of one microsecond are one. */
	struct low_pass be, re, be_before, re_before;
	__u64 ended_us;  /* End of the present step; 0: no ACK yet. */
	__u32 step_us;   /* Its length. */
	__u32 bytes;     /* Delivered by the ACKs at its end. */
	__u32 delivered; /* Segments delivered by the last ACK. */
	__u32 rtt_min_us;
	__u32 held;      /* Threshold after the last congestion; 0: none. */
	__u32 prior_cwnd;
};

static void measure(struct ackclock_call *call, struct crb *crb)
{
	__u64 now_us = call->now_ns / 1000;
	__u32 segments = call->delivered - crb->delivered;
	__u32 rtt = call->rtt_us;

	crb->delivered = call->delivered;
	if (call->rtt_us > 0 && (!crb->rtt_min_us || rtt < crb->rtt_min_us))
		crb->rtt_min_us = rtt;
	if (!crb->ended_us) {
		/* The time in which the first ACK's data was delivered is not known. */
		crb->ended_us = now_us;
		return;
	}
	if (now_us > crb->ended_us) {
		crb->step_us = ackclock_min(now_us - crb->ended_us, 1 << 30);
		crb->ended_us = now_us;
		crb->be_before = crb->be;
		crb->re_before = crb->re;
		crb->bytes = 0;
	}
	crb->bytes += segments * call->mss;
	if (!crb->step_us)
		return;
	crb->be = crb->be_before;
	__u32 step = pass_silence(&crb->be, crb->step_us);
	feed(&crb->be, crb->bytes * 1000000ULL / step, step);
	if (call->rtt_us > 0) {
		crb->re = crb->re_before;
		step = pass_silence(&crb->re, crb->step_us);
		feed(&crb->re, call->argument[1] * 1000000ULL / rtt, step);
	}
}

static void grow(struct ackclock_call *call, struct crb *crb)
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
static __u32 cut(struct ackclock_call *call, struct crb *crb)
{
	__u32 cwnd = call->before.cwnd, by_rate;

	crb->prior_cwnd = cwnd;
	crb->held = cwnd / 2;
	if (crb->rtt_min_us) {
		by_rate = window_of(call, crb->re.value, crb->rtt_min_us);
		crb->held = 100ULL * cwnd > (__u64)theta_percent * by_rate ?
				    by_rate :
				    window_of(call, crb->be.value, crb->rtt_min_us);
	}
	return threshold(call, crb->held);
}

static void notice(struct ackclock_call *call, struct crb *crb)
{
	switch (call->argument[0]) {
	case ACKCLOCK_EVENT_LOSS:
		if (crb->rtt_min_us)
			crb->held = window_of(call, crb->be.value, crb->rtt_min_us);
		call->after.ssthresh = ackclock_max(crb->held, 2);
		break;
	case ACKCLOCK_EVENT_COMPLETE_CWR:
		settle(call, crb->held);
		break;
	}
}

static __u32 undo(struct ackclock_call *call, struct crb *crb)
{
	return ackclock_max(call->before.cwnd, crb->prior_cwnd);
}

ACKCLOCK_CONTROL(struct crb, .pkts_acked = measure, .cong_avoid = grow, .ssthresh = cut,
		 .cwnd_event = notice, .undo_cwnd = undo);
