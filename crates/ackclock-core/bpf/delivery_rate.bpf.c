/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A control of teaching size that owns window and rate: it sends at the largest delivery rate of
 * the last five to ten round trips. It does so for six minimum round-trip times, then sends 5/4 of
 * that rate for one, to find more, and 3/4 until no more is in flight than the path holds: the cycle
 * of BBR (Cardwell and others 2016) without its other states. Before, the rate is doubled until
 * three round trips have each found less than a quarter more. The window is two bandwidth-delay
 * products, and grows by no more than was delivered. Loss changes nothing, so it is not fair to
 * others.
 */
#include "ackclock.bpf.h"

#define PHASES 8
/* Round trips in each of the two periods over which the largest rate is kept. */
#define PERIOD 5
#define STALLS 3
/* Segments of the window beyond two bandwidth-delay products, for delayed ACKs. */
#define SPARE 4

struct delivery_rate {
	__u64 largest[2]; /* Of this period and the one before, bytes per second. */
	__u64 reached;    /* Rate at the last growth of a quarter. */
	__u64 phase_ns;   /* Begin of the present phase. */
	__u32 delivered;  /* Segments, at the call before. */
	__u32 round_ends; /* Segments delivered when the present round trip ends. */
	__u32 rounds;
	__u32 stalls;     /* Round trips without growth; STALLS: the rate is known. */
	__u32 phase;
	__u32 rtt_min_us;
};

/* Notes the end of a round trip. */
static void end_round(struct ackclock_call *call, struct delivery_rate *path, __u64 rate)
{
	path->round_ends = call->delivered + call->packets_out;
	if (++path->rounds % PERIOD == 0) {
		path->largest[1] = path->largest[0];
		path->largest[0] = 0;
	}
	if (path->stalls >= STALLS)
		return;
	if (rate * 4 >= path->reached * 5) {
		path->reached = rate;
		path->stalls = 0;
	} else {
		path->stalls++;
	}
}

/* Returns the gain of the present phase, in quarters. The first phase empties the queue. */
static __u32 gain(struct ackclock_call *call, struct delivery_rate *path, __u32 held)
{
	__u32 gone = call->sacked_out + call->lost_out;
	__u32 in_flight = call->packets_out + call->retrans_out - gone;

	if (path->stalls < STALLS)
		return 8;
	if (path->phase == 0 ? in_flight <= held :
			       call->now_ns - path->phase_ns > 1000ULL * path->rtt_min_us) {
		path->phase_ns = call->now_ns;
		path->phase = (path->phase + 1) % PHASES;
	}
	return path->phase == 0 ? 3 : path->phase == PHASES - 1 ? 5 : 4;
}

static __u32 pace(struct ackclock_call *call, struct delivery_rate *path)
{
	__u32 rtt = call->rtt_us;
	__u64 rate, sample;
	__u32 held; /* Segments that the path holds without a queue. */
	__u32 most = call->before.cwnd + (call->delivered - path->delivered);

	path->delivered = call->delivered;
	if (call->rtt_us > 0 && (!path->rtt_min_us || rtt < path->rtt_min_us))
		path->rtt_min_us = rtt;
	if (!path->rtt_min_us || !call->mss)
		return 1 << 20;
	if (call->argument[1]) {
		sample = (__u64)call->argument[0] * call->mss * 1000000 / call->argument[1];
		if (sample > path->largest[0])
			path->largest[0] = sample;
	}
	rate = path->largest[0] > path->largest[1] ? path->largest[0] : path->largest[1];
	if (!rate) /* No sample yet: a window for each round trip. */
		rate = (__u64)call->before.cwnd * call->mss * 1000000 / path->rtt_min_us;
	if ((__s32)(call->delivered - path->round_ends) >= 0)
		end_round(call, path, rate);
	held = rate * path->rtt_min_us / 1000000 / call->mss;
	call->after.cwnd = 2 * held + SPARE < most ? 2 * held + SPARE : most;
	rate = rate * gain(call, path, held) / 4;
	return rate < 0xffffffff ? rate : 0xffffffff;
}

/* No threshold: the window is not reduced. */
static __u32 keep(struct ackclock_call *call, struct delivery_rate *path)
{
	return call->before.ssthresh;
}

static __u32 undo(struct ackclock_call *call, struct delivery_rate *path)
{
	return call->before.cwnd;
}

ACKCLOCK_RATE_CONTROL(struct delivery_rate, .control = pace, .ssthresh = keep, .undo_cwnd = undo);
