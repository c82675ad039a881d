/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * TCP Westwood with ABSE, adaptive bandwidth share estimation (Wang, Valla, Sanadidi, Gerla 2002,
 * equations 1 to 6). The paper's letters: s is a sample, the estimate is s with a hat, T the
 * sampling interval, tau the time constant, U the variation of the samples. Equation 2 compares the
 * window with Th, the smoothed rate of the last round trip, as a later paper describes ABSE.
 * Equation 4 is read as the data since the last ACK before the interval, over the time since then.
 *
 * The history has 2048 moments with ACKs, one for each microsecond with any. Of a round trip with
 * more, the older part is left out.
 */
#include "westwood.bpf.h"

#define MOMENTS 2048
#define SEARCH_STEPS 12 /* log2(MOMENTS), and one */
/* ACKs over which the largest U is taken (equation 6). */
#define HORIZON 10

ACKCLOCK_PARAMETER(__u32, variation_kept_percent, 60);
ACKCLOCK_PARAMETER(__u32, stretch, 10);

struct moment {
	__u64 at_us;
	__u64 bytes; /* Delivered until then. */
};

/* State that carries over from sample to sample; rates in bytes per second. */
struct level {
	__u64 estimate, sample, variation, throughput;
};

struct abse {
	struct level now, before; /* After the last ACK, and at the beginning of its step. */
	struct westwood path;
	__u64 variations[HORIZON]; /* The last values of U. */
	__u64 bytes;               /* Delivered so far. */
	__u32 slot;                /* Of this step's U. */
	__u32 moments;             /* Number so far; the last are in `history`. */
	__u32 delivered;           /* Segments delivered by the last ACK. */
	struct moment history[MOMENTS];
};

ACKCLOCK_INLINE struct moment *moment(struct abse *abse, __u32 number)
{
	return &abse->history[number % MOMENTS];
}

/* Adds the data delivered at a time. */
ACKCLOCK_INLINE void remember(struct abse *abse, __u64 now_us)
{
	struct moment *last = moment(abse, abse->moments - 1), *next;

	if (!abse->moments || now_us > last->at_us) {
		next = moment(abse, abse->moments++);
		next->at_us = now_us;
		next->bytes = abse->bytes;
	} else {
		last->bytes = abse->bytes;
	}
}

/*
 * The rate over the last `interval`: from the last moment before it, or the first there is. With
 * `literal`, over the interval itself.
 */
ACKCLOCK_ONCE __u64 recent_rate(struct abse *abse, __u32 interval_us, __u32 literal)
{
	__u32 kept = ackclock_min(abse->moments, MOMENTS), low, high;
	struct moment *last = moment(abse, abse->moments - 1), *since;
	__u64 span;

	if (kept < 2)
		return 0;
	/* The newest of the kept moments that is `interval` before the last, by bisection. */
	low = abse->moments - kept;
	high = abse->moments - 1;
	for (int step = 0; step < SEARCH_STEPS; step++) {
		__u32 middle = low + (high - low) / 2;

		if (high - low < 2)
			break;
		if (last->at_us - moment(abse, middle)->at_us >= interval_us)
			low = middle;
		else
			high = middle;
	}
	since = moment(abse, low);
	span = literal ? interval_us : last->at_us - since->at_us;
	return span ? (last->bytes - since->bytes) * 1000000 / span : 0;
}

/* Equation 2: the share of the window that waits in the queue, of a round trip. */
ACKCLOCK_INLINE __u32 sampling_interval(const struct ackclock_call *call, const struct abse *abse,
					__u32 rtt_us)
{
	__u64 window = (__u64)call->before.cwnd * call->mss;
	__u64 held = abse->now.throughput * abse->path.rtt_min_us / 1000000;

	if (!window || held >= window)
		return abse->path.step_us;
	return ackclock_max((window - held) * rtt_us / window, abse->path.step_us);
}

/* Equation 6. */
ACKCLOCK_INLINE __u64 time_constant(const struct abse *abse, __u32 rtt_us)
{
	__u64 largest = 0;

	for (int one = 0; one < HORIZON; one++)
		if (abse->variations[one] > largest)
			largest = abse->variations[one];
	return largest ? rtt_us + rtt_us * abse->now.variation * stretch / largest : rtt_us;
}

/* Equations 2 to 6, then 1, at the end of a step. */
ACKCLOCK_INLINE void estimate(const struct ackclock_call *call, struct abse *abse, __u32 rtt_us)
{
	__u64 sample, different, twice, step = abse->path.step_us, now;
	__u64 kept = variation_kept_percent;

	abse->now = abse->before;
	abse->now.throughput =
		(6 * abse->before.throughput + 4 * recent_rate(abse, rtt_us, 1)) / 10;
	sample = recent_rate(abse, sampling_interval(call, abse, rtt_us), 0);
	different = sample > abse->before.sample ? sample - abse->before.sample :
						   abse->before.sample - sample;
	abse->now.sample = sample;
	abse->now.variation = (kept * abse->before.variation + (100 - kept) * different) / 100;
	if (abse->slot < HORIZON) /* The verifier does not know that it is. */
		abse->variations[abse->slot] = abse->now.variation;
	twice = 2 * time_constant(abse, rtt_us);
	/* After a silence the step may be longer than 2 tau: then nothing is kept. */
	now = twice > step ?
		      ((twice - step) * abse->before.estimate + 2 * step * sample) / (twice + step) :
		      sample;
	abse->now.estimate = now;
}

static void measure(struct ackclock_call *call, struct abse *abse)
{
	__u32 rtt_us = call->srtt_us8 / 8;

	/* The time in which the first ACK's data was delivered is not known. */
	if (abse->path.ended_us)
		abse->bytes += (__u64)(call->delivered - abse->delivered) * call->mss;
	abse->delivered = call->delivered;
	remember(abse, call->now_ns / 1000);
	if (ends_step(call, &abse->path)) {
		abse->before = abse->now;
		abse->slot = abse->slot + 1 < HORIZON ? abse->slot + 1 : 0;
	}
	if (abse->path.step_us && rtt_us)
		estimate(call, abse, rtt_us);
}

static void grow(struct ackclock_call *call, struct abse *abse) { grow_as_reno(call); }

static __u32 cut(struct ackclock_call *call, struct abse *abse)
{
	begin_cut(call, &abse->path);
	if (abse->path.rtt_min_us)
		abse->path.held = window_of(call, &abse->path, abse->now.estimate);
	return threshold(call, &abse->path);
}

static void notice(struct ackclock_call *call, struct abse *abse) { settle(call, &abse->path); }

static __u32 undo(struct ackclock_call *call, struct abse *abse)
{
	return undone(call, &abse->path);
}

ACKCLOCK_CONTROL_WITH_STORAGE(struct abse, .pkts_acked = measure, .cong_avoid = grow,
			      .ssthresh = cut, .cwnd_event = notice, .undo_cwnd = undo);
