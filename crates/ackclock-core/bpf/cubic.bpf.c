/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * CUBIC (RFC 9438) in integers. Windows count segments, times are in milliseconds. HyStart++ is
 * left out: slow start ends with a loss. The RFC's letters: C = c_thousandth/1000 segments per cubic
 * second, beta_cubic = beta_thousandth/1000.
 */
#include "ackclock.bpf.h"

ACKCLOCK_PARAMETER(__u32, c_thousandth, 400);
ACKCLOCK_PARAMETER(__u32, beta_thousandth, 700);
ACKCLOCK_PARAMETER(__u8, fast_convergence, 1);
ACKCLOCK_PARAMETER(__u8, reno_friendly, 1);

/* Longest distance from the plateau, so that C times its cube fits into 64 bits. */
#define LONGEST_MS 300000
/* W_est has 20 binary digits of fraction, the window's fraction ten. */
#define EST_SHIFT 20
#define FRACTION_SHIFT 10

struct cubic {
	__u64 epoch_ns;    /* Begin of this stage of congestion avoidance; 0: none. */
	__u64 last_ack_ns; /* Last call of cong_avoid. */
	__u64 w_est;       /* W_est, the Reno-friendly window. */
	__u32 w_max;       /* W_max; 0: none is known. */
	__u32 k_ms;        /* K. */
	__u32 cwnd_prior;  /* Window before the last reduction. */
	__u32 fraction;    /* What the window has grown beyond whole segments. */
	/* For an undo, as they were before the last reduction. */
	__u64 prior_epoch_ns;
	__u32 prior_w_max;
	__u32 prior_k_ms;
};

/* The largest integer whose cube is not more than `value`, digit by digit. */
static __u32 cube_root(__u64 value)
{
	__u64 root = 0;

	for (int digit = 20; digit >= 0; digit--) {
		__u64 next = root | (1ULL << digit);

		if (next * next * next <= value)
			root = next;
	}
	return root;
}

/* W_cubic(t), equation 1; never less than zero. */
ACKCLOCK_INLINE __u32 w_cubic(const struct cubic *cubic, __u64 t_ms)
{
	int above = t_ms >= cubic->k_ms;
	__u64 distance = above ? t_ms - cubic->k_ms : cubic->k_ms - t_ms;
	__u64 segments;

	if (distance > LONGEST_MS)
		distance = LONGEST_MS;
	/* 10^9 ms cubed in a second cubed, and thousandths of C. */
	segments = distance * distance * distance * c_thousandth / 1000000000000ULL;
	if (above)
		return cubic->w_max + segments;
	return cubic->w_max > segments ? cubic->w_max - segments : 0;
}

/* Begins a stage of congestion avoidance (section 4.2; after a timeout section 4.8). */
ACKCLOCK_INLINE void begin_epoch(struct ackclock_call *call, struct cubic *cubic)
{
	__u32 cwnd = call->after.cwnd;

	cubic->epoch_ns = call->now_ns;
	cubic->fraction = 0;
	cubic->w_est = (__u64)cwnd << EST_SHIFT;
	if (cubic->w_max > cwnd) {
		__u64 lost = cubic->w_max - cwnd;

		cubic->k_ms = cube_root(lost * 1000000000000ULL / c_thousandth);
	} else {
		cubic->k_ms = 0;
		cubic->w_max = cwnd;
	}
}

/* Equation 4: alpha_cubic = 3 (1 - beta) / (1 + beta), until W_est has reached cwnd_prior. */
ACKCLOCK_INLINE void grow_reno_friendly(struct ackclock_call *call, struct cubic *cubic,
					__u32 acked)
{
	__u64 alpha = 1ULL << EST_SHIFT;

	if ((cubic->w_est >> EST_SHIFT) < cubic->cwnd_prior)
		alpha = (3ULL * (1000 - beta_thousandth) << EST_SHIFT) / (1000 + beta_thousandth);
	cubic->w_est += acked * alpha / call->after.cwnd;
}

static void grow(struct ackclock_call *call, struct cubic *cubic)
{
	__u32 acked = call->argument[1], cwnd, target;
	__u64 t_ms, rtt_ms = call->srtt_us8 / 8000;

	if (!ackclock_may_open(call))
		return;
	cubic->last_ack_ns = call->now_ns;
	if (ackclock_in_slow_start(call)) {
		acked = ackclock_slow_start(call, acked);
		if (!acked)
			return;
	}
	if (!cubic->epoch_ns)
		begin_epoch(call, cubic);
	cwnd = call->after.cwnd;
	t_ms = (call->now_ns - cubic->epoch_ns) / 1000000;
	if (reno_friendly) {
		__u32 w_est;

		grow_reno_friendly(call, cubic, acked);
		w_est = cubic->w_est >> EST_SHIFT;
		if (w_cubic(cubic, t_ms) < w_est) {
			/* The Reno-friendly region (section 4.3). */
			call->after.cwnd = ackclock_max(cwnd, w_est);
			return;
		}
	}
	/* Section 4.2: the target is W_cubic a round trip ahead, between cwnd and 1.5 cwnd. */
	target = w_cubic(cubic, t_ms + rtt_ms);
	target = ackclock_max(cwnd, ackclock_min(target, cwnd + cwnd / 2));
	/* Sections 4.4 and 4.5: (target - cwnd)/cwnd for each acknowledged segment. */
	cubic->fraction += ((__u64)acked * (target - cwnd) << FRACTION_SHIFT) / cwnd;
	call->after.cwnd = cwnd + (cubic->fraction >> FRACTION_SHIFT);
	cubic->fraction &= (1 << FRACTION_SHIFT) - 1;
}

/* Sections 4.6 and 4.7. */
static __u32 cut(struct ackclock_call *call, struct cubic *cubic)
{
	__u32 cwnd = call->before.cwnd;

	cubic->prior_epoch_ns = cubic->epoch_ns;
	cubic->prior_w_max = cubic->w_max;
	cubic->prior_k_ms = cubic->k_ms;
	cubic->cwnd_prior = cwnd;
	if (fast_convergence && cwnd < cubic->w_max)
		cubic->w_max = (__u64)cwnd * (1000 + beta_thousandth) / 2000;
	else
		cubic->w_max = cwnd;
	cubic->epoch_ns = 0;
	return ackclock_max((__u64)cwnd * beta_thousandth / 1000, 2);
}

static void notice(struct ackclock_call *call, struct cubic *cubic)
{
	switch (call->argument[0]) {
	case ACKCLOCK_EVENT_LOSS:
		/* Section 4.8: after a timeout K is 0, and W_max the window at which slow start ends. */
		cubic->w_max = 0;
		cubic->epoch_ns = 0;
		break;
	case ACKCLOCK_EVENT_TX_START:
		/* Section 4.2: time without data does not count. */
		if (cubic->epoch_ns && call->now_ns > cubic->last_ack_ns) {
			cubic->epoch_ns += call->now_ns - cubic->last_ack_ns;
			cubic->last_ack_ns = call->now_ns;
		}
		break;
	}
}

/* Section 4.9. */
static __u32 undo(struct ackclock_call *call, struct cubic *cubic)
{
	cubic->epoch_ns = cubic->prior_epoch_ns;
	cubic->w_max = cubic->prior_w_max;
	cubic->k_ms = cubic->prior_k_ms;
	return ackclock_max(call->before.cwnd, cubic->cwnd_prior);
}

ACKCLOCK_CONTROL(struct cubic, .cong_avoid = grow, .ssthresh = cut, .cwnd_event = notice,
		 .undo_cwnd = undo);
