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
	/* After the last ACK, and at the beginning of its step. */
	struct low_pass be, re, be_before, re_before;
	struct westwood path;
	__u32 bytes;     /* Delivered by the ACKs at the end of the step. */
	__u32 delivered; /* Segments delivered by the last ACK. */
};

static void measure(struct ackclock_call *call, struct crb *crb)
{
	__u32 segments = call->delivered - crb->delivered;
	__u32 rtt = call->rtt_us, step;

	crb->delivered = call->delivered;
	if (ends_step(call, &crb->path)) {
		crb->be_before = crb->be;
		crb->re_before = crb->re;
		crb->bytes = 0;
	}
	crb->bytes += segments * call->mss;
	if (!crb->path.step_us)
		return;
	crb->be = crb->be_before;
	step = pass_silence(&crb->be, crb->path.step_us);
	feed(&crb->be, crb->bytes * 1000000ULL / step, step);
	if (call->rtt_us > 0) {
		crb->re = crb->re_before;
		step = pass_silence(&crb->re, crb->path.step_us);
		feed(&crb->re, call->argument[1] * 1000000ULL / rtt, step);
	}
}

static void grow(struct ackclock_call *call, struct crb *crb) { grow_as_reno(call); }

static __u32 cut(struct ackclock_call *call, struct crb *crb)
{
	__u32 cwnd = call->before.cwnd, by_rate;

	begin_cut(call, &crb->path);
	if (crb->path.rtt_min_us) {
		by_rate = window_of(call, &crb->path, crb->re.value);
		crb->path.held = 100ULL * cwnd > (__u64)theta_percent * by_rate ?
					 by_rate :
					 window_of(call, &crb->path, crb->be.value);
	}
	return threshold(call, &crb->path);
}

static void notice(struct ackclock_call *call, struct crb *crb)
{
	if (call->argument[0] == ACKCLOCK_EVENT_LOSS && crb->path.rtt_min_us)
		crb->path.held = window_of(call, &crb->path, crb->be.value);
	settle(call, &crb->path);
}

static __u32 undo(struct ackclock_call *call, struct crb *crb)
{
	return undone(call, &crb->path);
}

ACKCLOCK_CONTROL(struct crb, .pkts_acked = measure, .cong_avoid = grow, .ssthresh = cut,
		 .cwnd_event = notice, .undo_cwnd = undo);
