/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * @NAME@: a learned policy, written by `ackclock controls from-policy`. Once in a number of smoothed
 * round-trip times it scales its rate by what a network or a tree answers to what the sender has
 * heard. In between, rate and window stay.
 *
 * Numbers have 16 bits after the point. The window is twice the rate times the smoothed round-trip
 * time, so that it limits only a sender whose ACKs stay away.
 */
#include "ackclock.bpf.h"

#define COLUMNS @N_COLUMNS@
#define INPUTS @N_INPUTS@
#define STEP @STEP@LL
#define INTERVAL @INTERVAL@ULL
#define UNIT 65536LL
/* Columns are at most 1000, rates from 10 kbit/s to what a call can return, in bytes per second. */
#define MOST (1000 * UNIT)
#define LEAST_RATE 1250
#define MOST_RATE 0xffffffffULL

struct policy {
	__u64 since_ns;
	__u64 rtt_sum_us;
	__u64 rate;      /* bytes per second; 0 before the first decision */
	__u64 most_rate; /* the highest delivery rate of an interval */
	__u32 rtts;
	__u32 delivered; /* at the end of the last interval, as the next two */
	__u32 lost;
	__u32 in_flight;
	__u32 cwnd;
	__s32 inputs[INPUTS]; /* oldest interval first */
};

/* Returns a quotient. */
ACKCLOCK_INLINE __s32 over(__u64 part, __u64 whole, __s32 otherwise)
{
	__u64 quotient;

	if (!whole)
		return otherwise;
	quotient = (part << 16) / whole;
	return quotient < MOST ? quotient : MOST;
}

@THE_FUNCTION@
ACKCLOCK_INLINE __u32 in_flight(const struct ackclock_call *call)
{
	return call->packets_out - call->sacked_out - call->lost_out + call->retrans_out;
}

/* Appends the columns of the interval that ends now. */
static void observe(const struct ackclock_call *call, struct policy *policy)
{
	__u32 delivered = call->delivered - policy->delivered, lost = call->lost - policy->lost;
	__s64 sent = (__s64)delivered + lost + in_flight(call) - policy->in_flight;
	__u64 elapsed_us = (call->now_ns - policy->since_ns) / 1000;
	__u64 rate = elapsed_us ? (__u64)delivered * call->mss * 1000000 / elapsed_us : 0;
	__u32 number;
	__s32 latency_ratio, loss_share, send_ratio, throughput_of_most;

	if (rate > policy->most_rate)
		policy->most_rate = rate;
	latency_ratio = UNIT;
	if (policy->rtts && call->min_rtt_us && call->min_rtt_us != 0xffffffff)
		latency_ratio = over(policy->rtt_sum_us / policy->rtts, call->min_rtt_us, UNIT);
	loss_share = over(lost, (__u64)delivered + lost, 0);
	send_ratio = over(sent > 0 ? sent : 0, delivered, UNIT);
	if (send_ratio >= MOST)
		send_ratio = UNIT;
	throughput_of_most = over(rate, policy->most_rate, 0);
#pragma clang loop unroll(full)
	for (number = 0; number < INPUTS - COLUMNS; number++)
		policy->inputs[number] = policy->inputs[number + COLUMNS];
	(void)latency_ratio, (void)loss_share, (void)send_ratio, (void)throughput_of_most;
@THE_COLUMNS@
}

/* Scales the rate by the policy's answer. */
static void act(const struct ackclock_call *call, struct policy *policy)
{
	__s64 answer = decide(policy), change;
	__u64 held;

	if (answer > UNIT)
		answer = UNIT;
	if (answer < -UNIT)
		answer = -UNIT;
	change = answer < 0 ? -((STEP * -answer) >> 16) : (STEP * answer) >> 16;
	if (change >= 0)
		policy->rate = policy->rate * (UNIT + change) >> 16;
	else
		policy->rate = policy->rate * UNIT / (UNIT - change);
	if (policy->rate < LEAST_RATE)
		policy->rate = LEAST_RATE;
	if (policy->rate > MOST_RATE)
		policy->rate = MOST_RATE;
	held = 2 * policy->rate * (call->srtt_us8 >> 3) / 1000000 / call->mss;
	policy->cwnd = ackclock_max(held < 1000000 ? held : 1000000, 4);
}

static void begin(struct ackclock_call *call, struct policy *policy)
{
	policy->since_ns = call->now_ns;
	policy->delivered = call->delivered;
	policy->lost = call->lost;
	policy->in_flight = in_flight(call);
}

static __u32 hear(struct ackclock_call *call, struct policy *policy)
{
	__u64 srtt_us = call->srtt_us8 >> 3;

	if (call->rtt_us > 0) {
		policy->rtt_sum_us += call->rtt_us;
		policy->rtts++;
	}
	if (!srtt_us || !call->mss)
		return 1 << 20;
	if (!policy->rate || call->now_ns - policy->since_ns >= (srtt_us * 1000 * INTERVAL) >> 16) {
		observe(call, policy);
		if (!policy->rate)
			policy->rate = (__u64)call->before.cwnd * call->mss * 1000000 / srtt_us;
		act(call, policy);
		policy->rtt_sum_us = 0;
		policy->rtts = 0;
		begin(call, policy);
	}
	call->after.cwnd = policy->cwnd;
	return policy->rate;
}

/* No threshold: the window is not reduced. */
static __u32 keep(struct ackclock_call *call, struct policy *policy)
{
	return call->before.ssthresh;
}

static __u32 undo(struct ackclock_call *call, struct policy *policy)
{
	return call->before.cwnd;
}

ACKCLOCK_RATE_CONTROL(struct policy, .init = begin, .control = hear, .ssthresh = keep,
		      .undo_cwnd = undo);
