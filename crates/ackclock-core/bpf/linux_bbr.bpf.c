/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's own `bbr`, version 1, with a record of each call: what went in and what came out.
 * The kernel lets programs call its functions (since 5.13; with these arguments since 6.10).
 */
#include "ackclock.bpf.h"

enum tcp_ca_event { TX_START };

extern void bbr_init(struct sock *sk) ACKCLOCK_KERNEL;
extern void bbr_main(struct sock *sk, __u32 ack, int flag,
		     const struct rate_sample *rs) ACKCLOCK_KERNEL;
extern __u32 bbr_ssthresh(struct sock *sk) ACKCLOCK_KERNEL;
extern void bbr_set_state(struct sock *sk, __u8 new_state) ACKCLOCK_KERNEL;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) ACKCLOCK_KERNEL;
extern __u32 bbr_undo_cwnd(struct sock *sk) ACKCLOCK_KERNEL;
extern __u32 bbr_min_tso_segs(struct sock *sk) ACKCLOCK_KERNEL;
extern __u32 bbr_sndbuf_expand(struct sock *sk) ACKCLOCK_KERNEL;

/* The part of its state that says where a cycle of gains begins, which is random. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct bbr {
	__u32 mode : 3;
	__u32 lt_use_bw : 1; /* It paces at the rate of a policer. */
	__u32 cycle_idx : 3;
};
#pragma clang attribute pop

#define PROBE_BW 2

/* Where in the cycle it is. */
struct place {
	__u8 phase; /* From 1; 0: it is in no cycle. */
	__u8 limited; /* It paces at the rate of a policer. */
};

ACKCLOCK_INLINE struct place place(const struct sock *sk)
{
	const struct bbr *bbr = (const void *)((const struct inet_connection_sock *)sk)->icsk_ca_priv;
	struct place found = { .limited = ACKCLOCK_BITS(bbr, lt_use_bw) };

	if (ACKCLOCK_BITS(bbr, mode) == PROBE_BW)
		found.phase = ACKCLOCK_BITS(bbr, cycle_idx) + 1;
	return found;
}

/* Ends a call that may have begun a cycle: on entering the mode, and after a policer's rate. */
ACKCLOCK_INLINE void end(struct ackclock_told *told, const struct sock *sk,
			 const struct rate_sample *sample, struct place before)
{
	struct place now = place(sk);

	if (!before.phase || (before.limited && !now.limited))
		told->drawn = now.phase;
	ackclock_end(told, sk, sample);
}

SEC("struct_ops") void ackclock_init(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct ackclock_told told;

	ackclock_begin(&told, sk, ACKCLOCK_INIT);
	bbr_init(sk);
	ackclock_end(&told, sk, 0);
}

SEC("struct_ops") void ackclock_cong_control(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	const struct rate_sample *sample = (void *)arguments[3];
	struct ackclock_told told;
	struct place before = place(sk);

	ackclock_begin(&told, sk, ACKCLOCK_CONG_CONTROL);
	bbr_main(sk, arguments[1], arguments[2], sample);
	end(&told, sk, sample, before);
}

SEC("struct_ops") __u32 ackclock_ssthresh(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct ackclock_told told;

	ackclock_begin(&told, sk, ACKCLOCK_SSTHRESH);
	told.result = bbr_ssthresh(sk);
	ackclock_record(&told, sk, 0);
	return told.result;
}

SEC("struct_ops") void ackclock_set_state(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct ackclock_told told;
	struct place before = place(sk);

	ackclock_begin(&told, sk, ACKCLOCK_SET_STATE);
	told.argument[0] = (__u8)arguments[1];
	bbr_set_state(sk, arguments[1]);
	end(&told, sk, 0, before);
}

SEC("struct_ops") void ackclock_cwnd_event(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct ackclock_told told;
	struct place before = place(sk);

	ackclock_begin(&told, sk, ACKCLOCK_CWND_EVENT);
	told.argument[0] = arguments[1];
	bbr_cwnd_event(sk, arguments[1]);
	end(&told, sk, 0, before);
}

SEC("struct_ops") __u32 ackclock_undo_cwnd(__u64 *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct ackclock_told told;

	ackclock_begin(&told, sk, ACKCLOCK_UNDO_CWND);
	told.result = bbr_undo_cwnd(sk);
	ackclock_record(&told, sk, 0);
	return told.result;
}

/* What depends on nothing but the pacing rate, or on nothing, is not recorded. */
SEC("struct_ops") __u32 ackclock_min_tso_segs(__u64 *arguments)
{
	return bbr_min_tso_segs((void *)arguments[0]);
}

SEC("struct_ops") __u32 ackclock_sndbuf_expand(__u64 *arguments)
{
	return bbr_sndbuf_expand((void *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops ackclock_control = {
	.init = (void *)ackclock_init,
	.cong_control = (void *)ackclock_cong_control,
	.ssthresh = (void *)ackclock_ssthresh,
	.set_state = (void *)ackclock_set_state,
	.cwnd_event = (void *)ackclock_cwnd_event,
	.undo_cwnd = (void *)ackclock_undo_cwnd,
	.min_tso_segs = (void *)ackclock_min_tso_segs,
	.sndbuf_expand = (void *)ackclock_sndbuf_expand,
	.name = "acc_000000",
};

ACKCLOCK_OF_KERNEL("bbr");
