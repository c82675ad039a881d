/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A congestion control for the running Linux kernel and for ackclock's engine, from one source.
 *
 * The author writes the algorithm: one function for each event, on `struct ackclock_call` and a
 * state of up to 104 bytes. ACKCLOCK_CONTROL makes the kernel's callbacks of them (struct_ops of
 * tcp_congestion_ops). Each callback
 *
 *   1. reads the socket's fields into a call,
 *   2. hands the call to the author's function, if there is one,
 *   3. writes cwnd, cwnd_cnt and ssthresh back, and
 *   4. appends the call to the ring buffer `ackclock_records`.
 *
 * The algorithm thus depends on nothing but calls. Who holds the records can give them again.
 *
 *     clang -O2 -g -target bpf -mcpu=v3 -c mine.bpf.c -o mine.bpf.o
 *
 * The object is the same for kernel and engine. Both read its BTF:
 *
 *   - The struct tcp_congestion_ops in section `.struct_ops.link` names the callbacks. The loader
 *     writes the name of the run over its placeholder.
 *   - Variables in section `.rodata`, except those named `ackclock_…`, are the control's
 *     parameters: integers, which the loader sets before it loads.
 *   - `ackclock_recording` in `.rodata` is true unless the loader clears it. The kernel's verifier
 *     removes what cannot run; the engine, which knows each call anyway, clears it.
 *   - `ackclock_missed` in `.bss` counts records for which the ring buffer had no room.
 *   - Structs of the kernel have `preserve_access_index`: the loader corrects the offsets (CO-RE).
 *     Relocations are byte offsets, and of bit fields also byte size and both shifts.
 *
 * Helpers in use: bpf_ktime_get_ns (5), bpf_jiffies64 (118), bpf_ringbuf_output (130). Functions of
 * the kernel are called by a control that the kernel has alone (ACKCLOCK_OF_KERNEL). Callbacks are
 * in section `struct_ops`, and the functions that they call in `.text`.
 */
#ifndef ACKCLOCK_BPF_H
#define ACKCLOCK_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;

#define SEC(name) __attribute__((section(name), used))
#define ACKCLOCK_INLINE static inline __attribute__((always_inline))
/* One copy in the object, which the callbacks call; the verifier follows the call. */
#define ACKCLOCK_ONCE static __attribute__((noinline))

/* ---- The kernel's types: the fields in use, found by name when the object is loaded. ---- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__u32 skc_rcv_saddr; /* big-endian */
	__u16 skc_num;
};

struct sock {
	struct sock_common __sk_common;
	__u64 sk_pacing_rate; /* bytes per second */
	__u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct minmax_sample {
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 tcp_mstamp;
	__u64 tcp_wstamp_ns;
	__u64 tcp_clock_cache;
	__u32 lost;
	__u32 app_limited;
	struct minmax rtt_min;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 srtt_us;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered; /* segments */
	__s64 interval_us;
	__s64 rtt_us;
	__s32 losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	__u8 is_app_limited;
	__u8 is_ack_delayed;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*min_tso_segs)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop

/* ---- The call, which is also the record. ---- */

/*
 * Kinds of call. The arguments are those of the kernel's callback. The bytes of a flight are those
 * delivered since the newest acknowledged segment was sent, which is rtt_us ago: mss times the
 * difference of `delivered`. (The kernel calls it in_flight.)
 */
enum ackclock_kind {
	ACKCLOCK_INIT = 1,       /* The control begins; after the handshake's ACKCLOCK_PKTS_ACKED. */
	ACKCLOCK_RELEASE = 2,    /* The socket closes, or takes another control. */
	ACKCLOCK_PKTS_ACKED = 3, /* An ACK; argument: segments acknowledged, bytes of a flight. */
	ACKCLOCK_CONG_AVOID = 4, /* The window may open; argument: ACK number, segments newly acked. */
	ACKCLOCK_SSTHRESH = 5,   /* Congestion; result: the new threshold. */
	ACKCLOCK_SET_STATE = 6,  /* Loss recovery changes state; argument: the new state. */
	ACKCLOCK_CWND_EVENT = 7, /* Another event; argument: enum ackclock_event. */
	ACKCLOCK_UNDO_CWND = 8,  /* The last reduction was unnecessary; result: the window. */
	/*
	 * An ACK, for a control that owns window and rate in all states. Argument: segments
	 * delivered over an interval, and its microseconds; both 0 without a valid sample. Result:
	 * the pacing rate in bytes per second. A control that the kernel has answers so to all kinds
	 * that have no other result.
	 */
	ACKCLOCK_CONG_CONTROL = 9,
};

/* States of loss recovery: the kernel's numbers. */
enum ackclock_state {
	ACKCLOCK_OPEN = 0,
	ACKCLOCK_DISORDER = 1, /* Duplicate ACKs, nothing lost yet. */
	ACKCLOCK_CWR = 2,      /* The window is being reduced after an ECN echo. */
	ACKCLOCK_RECOVERY = 3, /* Fast recovery. */
	ACKCLOCK_LOSS = 4,     /* After a retransmission timeout. */
};

/* Events of the kind ACKCLOCK_CWND_EVENT: the kernel's numbers. */
enum ackclock_event {
	ACKCLOCK_EVENT_TX_START = 0,     /* First segment after an idle time. */
	ACKCLOCK_EVENT_CWND_RESTART = 1, /* The window restarts after an idle time. */
	ACKCLOCK_EVENT_COMPLETE_CWR = 2, /* The reduction of the window has ended. */
	ACKCLOCK_EVENT_LOSS = 3,         /* Retransmission timeout. */
};

/* What the author changes. Windows count segments. */
struct ackclock_window {
	__u32 cwnd;
	__u32 cwnd_cnt; /* Acknowledged segments that have not opened the window yet. */
	__u32 ssthresh; /* 0x7fffffff: not set yet. */
};

#define ACKCLOCK_INFINITE_SSTHRESH 0x7fffffff

/*
 * One call. In a record all fields are little-endian at these offsets, 144 bytes together.
 * Author's functions see `after` equal to `before`, and change `after` and `result`. From
 * `prior_delivered` on, fields are of the ACK of an ACKCLOCK_CONG_CONTROL, and 0 in other calls.
 */
struct ackclock_call {
	__u64 now_ns;        /*  0: CLOCK_MONOTONIC; in the engine, the run's time */
	__u32 address;       /*  8: local IPv4 address, big-endian */
	__u16 port;          /* 12: local port */
	__u8 kind;           /* 14: enum ackclock_kind */
	__u8 state : 7;      /* 15: enum ackclock_state, before the call */
	__u8 limited : 1;    /* 15, highest bit: the window limited the sender */
	__u32 argument[2];   /* 16: as the kind says */
	__s32 rtt_us;        /* 24: round-trip time of an ACK, negative if not measured */
	__u32 result;        /* 28: as the kind says */
	struct ackclock_window before; /* 32 */
	struct ackclock_window after;  /* 44 */
	__u32 srtt_us8;      /* 56: smoothed round-trip time in 1/8 µs, 0 if not measured */
	__u32 mss;           /* 60: payload of a full segment in bytes */
	__u32 packets_out;   /* 64: segments sent and not acknowledged cumulatively */
	__u32 sacked_out;    /* 68: of these, selectively acknowledged */
	__u32 lost_out;      /* 72: of these, deemed lost */
	__u32 retrans_out;   /* 76: of these, retransmitted and in flight again */
	__u32 delivered;     /* 80: segments delivered so far */
	__u32 max_packets_out; /* 84: most packets_out in the last window */
	__u32 snd_una;       /* 88: first byte not acknowledged */
	__u32 snd_nxt;       /* 92: next byte to send */
	__u64 mstamp_us;     /* 96: when the socket last looked at its clock */
	__u32 jiffies;       /* 104: ticks of the kernel's coarse clock; in records only */
	__u32 departure_us;  /* 108: time until pacing lets the next segment leave */
	__u32 lost;          /* 112: segments found lost so far */
	__u32 min_rtt_us;    /* 116: smallest round-trip time so far; 0xffffffff: none is known */
	__u32 prior_delivered; /* 120: `delivered` when the sampled segment was sent */
	__u32 acked_sacked;  /* 124: segments that this ACK shows to be delivered */
	__u32 losses;        /* 128: segments that this ACK shows to be lost */
	__u32 prior_in_flight; /* 132: segments in flight before this ACK */
	__u8 sample_limited : 1; /* 136: the application limited the sampled flight */
	__u8 delayed : 1;    /* 136: the receiver may have delayed this ACK */
	__u8 app_limited : 1; /* 136: the application limits the sender; in all calls */
	__u8 none : 5;
	__u8 drawn;          /* 137: what the kernel's control drew at random in this call, plus 1 */
	__u8 unused[6];
};

_Static_assert(sizeof(struct ackclock_call) == 144, "a record has 144 bytes");

/* ---- Recording. ---- */

static __u64 (*const ackclock_ktime_get_ns)(void) = (void *)5;
static __u64 (*const ackclock_jiffies64)(void) = (void *)118;
static long (*const ackclock_ringbuf_output)(void *ring, void *data, __u64 size,
					     __u64 flags) = (void *)130;
static long (*const ackclock_sk_storage_delete)(void *map, void *sk) = (void *)108;
static void *(*const ackclock_sk_storage_get)(void *map, void *sk, void *value,
					      __u64 flags) = (void *)107;

#define ACKCLOCK_RB_NO_WAKEUP 1

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[4 << 20]; /* bytes */
} ackclock_records SEC(".maps");

const volatile __u8 ackclock_recording SEC(".rodata") = 1;
__u64 ackclock_missed SEC(".bss");

/* A parameter of the control: an integer that scenarios set by its name. */
#define ACKCLOCK_PARAMETER(type, name, value) const volatile type name SEC(".rodata") = value

/* ---- From the kernel's callback to the author's function and back. ---- */

/* Reads a bit field, whose place in its bytes the loader knows. */
#define ACKCLOCK_BITS(object, field)                                                            \
	({                                                                                      \
		void *at = (void *)(object) + __builtin_preserve_field_info((object)->field, 0); \
		__u64 bits = 0;                                                                 \
		switch (__builtin_preserve_field_info((object)->field, 1)) {                    \
		case 1: bits = *(__u8 *)at; break;                                              \
		case 2: bits = *(__u16 *)at; break;                                             \
		case 4: bits = *(__u32 *)at; break;                                             \
		case 8: bits = *(__u64 *)at; break;                                             \
		}                                                                               \
		bits <<= __builtin_preserve_field_info((object)->field, 4);                     \
		bits >> __builtin_preserve_field_info((object)->field, 5);                      \
	})

/*
 * Reads a call. It is inlined, so that the compiler leaves out what the author's function does not
 * use.
 */
ACKCLOCK_INLINE void ackclock_read(struct ackclock_call *call, const struct sock *sk, __u8 kind)
{
	const struct tcp_sock *tp = (const void *)sk;
	const struct inet_connection_sock *icsk = (const void *)sk;

	call->now_ns = ackclock_ktime_get_ns();
	call->address = sk->__sk_common.skc_rcv_saddr;
	call->port = sk->__sk_common.skc_num;
	call->kind = kind;
	call->state = ACKCLOCK_BITS(icsk, icsk_ca_state);
	call->limited = ACKCLOCK_BITS(tp, is_cwnd_limited);
	call->argument[0] = 0;
	call->argument[1] = 0;
	call->rtt_us = -1;
	call->result = 0;
	call->before.cwnd = tp->snd_cwnd;
	call->before.cwnd_cnt = tp->snd_cwnd_cnt;
	call->before.ssthresh = tp->snd_ssthresh;
	call->after = call->before;
	call->srtt_us8 = tp->srtt_us;
	call->mss = tp->mss_cache;
	call->packets_out = tp->packets_out;
	call->sacked_out = tp->sacked_out;
	call->lost_out = tp->lost_out;
	call->retrans_out = tp->retrans_out;
	call->delivered = tp->delivered;
	call->max_packets_out = tp->max_packets_out;
	call->snd_una = tp->snd_una;
	call->snd_nxt = tp->snd_nxt;
	call->mstamp_us = tp->tcp_mstamp;
	call->jiffies = 0;
	call->departure_us = 0;
	if (tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		call->departure_us = (tp->tcp_wstamp_ns - tp->tcp_clock_cache) / 1000;
	call->lost = tp->lost;
	call->min_rtt_us = tp->rtt_min.s[0].v;
	call->app_limited = tp->app_limited != 0;
	call->prior_delivered = 0;
	call->acked_sacked = 0;
	call->losses = 0;
	call->prior_in_flight = 0;
	call->sample_limited = 0;
	call->delayed = 0;
	call->none = 0;
	call->drawn = 0;
	__builtin_memset(call->unused, 0, sizeof(call->unused));
}

/* Reads what a call has of the kernel's sample of an ACK. */
ACKCLOCK_INLINE void ackclock_read_sample(struct ackclock_call *call,
					  const struct rate_sample *sample)
{
	if (sample->delivered > 0 && sample->interval_us > 0) {
		call->argument[0] = sample->delivered;
		call->argument[1] = sample->interval_us;
	}
	call->rtt_us = sample->rtt_us;
	call->prior_delivered = sample->prior_delivered;
	call->acked_sacked = sample->acked_sacked;
	call->losses = sample->losses;
	call->prior_in_flight = sample->prior_in_flight;
	call->sample_limited = sample->is_app_limited != 0;
	call->delayed = sample->is_ack_delayed != 0;
}

/* What a record holds that the socket does not hold any more when a call ends. */
struct ackclock_told {
	__u64 now_ns;
	struct ackclock_window before;
	__u32 argument[2];
	__s32 rtt_us;
	__u32 result;
	__u32 jiffies;
	__u8 kind;
	__u8 drawn;
};

/*
 * Records a call at its end. Between its begin and now, only the window has changed. `sample` is
 * that of an ACKCLOCK_CONG_CONTROL, else null.
 */
ACKCLOCK_ONCE void ackclock_record(const struct ackclock_told *told, const struct sock *sk,
				   const struct rate_sample *sample)
{
	struct ackclock_call call;

	ackclock_read(&call, sk, told->kind);
	call.now_ns = told->now_ns;
	call.argument[0] = told->argument[0];
	call.argument[1] = told->argument[1];
	call.rtt_us = told->rtt_us;
	if (sample)
		ackclock_read_sample(&call, sample);
	call.result = told->result;
	call.before = told->before;
	call.jiffies = told->jiffies;
	call.drawn = told->drawn;
	if (ackclock_ringbuf_output(&ackclock_records, &call, sizeof(call), ACKCLOCK_RB_NO_WAKEUP))
		__sync_fetch_and_add(&ackclock_missed, 1);
}

/* A window of no segment would stop the flow; the least is one. */
ACKCLOCK_INLINE void ackclock_finish(struct ackclock_call *call, struct sock *sk,
				     const struct rate_sample *sample)
{
	struct tcp_sock *tp = (void *)sk;

	if (!call->after.cwnd)
		call->after.cwnd = 1;
	tp->snd_cwnd = call->after.cwnd;
	tp->snd_cwnd_cnt = call->after.cwnd_cnt;
	tp->snd_ssthresh = call->after.ssthresh;
	if (ackclock_recording) {
		struct ackclock_told told = {
			.now_ns = call->now_ns,
			.before = call->before,
			.argument = { call->argument[0], call->argument[1] },
			.rtt_us = call->rtt_us,
			.result = call->result,
			.jiffies = ackclock_jiffies64(),
			.kind = call->kind,
		};

		ackclock_record(&told, sk, sample);
	}
}

/* Sets the pacing rate, and has the socket paced (SK_PACING_NEEDED). */
ACKCLOCK_INLINE void ackclock_pace(struct sock *sk, __u32 rate)
{
	sk->sk_pacing_rate = rate;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = 1;
}

/* Room for the author's state in the kernel's socket. */
#define ACKCLOCK_STATE_BYTES 104

/* Keeps the author's state in the socket; it is zero when `.init` is called. */
#define ACKCLOCK_STATE_IN_SOCKET(STATE)                                                         \
	_Static_assert(sizeof(STATE) <= ACKCLOCK_STATE_BYTES,                                   \
		       "the state has over 104 bytes; use ACKCLOCK_CONTROL_WITH_STORAGE");      \
	ACKCLOCK_INLINE __attribute__((returns_nonnull)) STATE *ackclock_state(struct sock *sk) \
	{                                                                                       \
		return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;               \
	}                                                                                       \
	ACKCLOCK_INLINE void ackclock_clear(struct sock *sk)                                    \
	{                                                                                       \
		__builtin_memset(ackclock_state(sk), 0, sizeof(STATE));                         \
	}

/*
 * Makes a control of the author's functions:
 *
 *     ACKCLOCK_CONTROL(struct mine, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
 *
 * `.init`, `.release`, `.pkts_acked`, `.set_state` and `.cwnd_event` may be left out; their calls
 * are recorded all the same. All take (struct ackclock_call *, STATE *); `.ssthresh` and
 * `.undo_cwnd` return their result. The state is zero when `.init` is called.
 */
#define ACKCLOCK_CONTROL(STATE, ...)                                                            \
	ACKCLOCK_STATE_IN_SOCKET(STATE)                                                         \
	ACKCLOCK_EVENTS(STATE, __VA_ARGS__)                                                     \
	ACKCLOCK_GROWS                                                                          \
	ACKCLOCK_REGISTER(cong_avoid)

/*
 * The same for a control that owns window and pacing rate in all states, recovery included (Linux
 * 6.10 and later). In place of `.cong_avoid` it has `.control`, which is called for each ACK, sets
 * the window and returns the rate in bytes per second.
 *
 *     ACKCLOCK_RATE_CONTROL(struct mine, .control = pace, .ssthresh = keep, .undo_cwnd = undo);
 */
#define ACKCLOCK_RATE_CONTROL(STATE, ...)                                                       \
	ACKCLOCK_STATE_IN_SOCKET(STATE)                                                         \
	ACKCLOCK_EVENTS(STATE, __VA_ARGS__)                                                     \
	ACKCLOCK_OWNS                                                                           \
	ACKCLOCK_REGISTER(cong_control)

/*
 * The same for a state of up to 64 kB, which lies beside the socket (BPF_MAP_TYPE_SK_STORAGE,
 * helpers bpf_sk_storage_get, 107, and bpf_sk_storage_delete, 108) and takes variable indices. If
 * the kernel has no memory for it, the author's functions are not called: congestion halves the
 * window.
 */
#define ACKCLOCK_CONTROL_WITH_STORAGE(STATE, ...)                                               \
	struct {                                                                                \
		int (*type)[24];     /* BPF_MAP_TYPE_SK_STORAGE */                              \
		int (*map_flags)[1]; /* BPF_F_NO_PREALLOC */                                    \
		int *key;                                                                       \
		STATE *value;                                                                   \
	} ackclock_states SEC(".maps");                                                         \
	ACKCLOCK_INLINE STATE *ackclock_state(struct sock *sk)                                  \
	{                                                                                       \
		return ackclock_sk_storage_get(&ackclock_states, sk, 0, 1 /* create */);        \
	}                                                                                       \
	ACKCLOCK_INLINE void ackclock_clear(struct sock *sk)                                    \
	{                                                                                       \
		ackclock_sk_storage_delete(&ackclock_states, sk);                               \
	}                                                                                       \
	ACKCLOCK_EVENTS(STATE, __VA_ARGS__)                                                     \
	ACKCLOCK_GROWS                                                                          \
	ACKCLOCK_REGISTER(cong_avoid)

/* Returns if the author does not listen to the event and nobody records it. */
#define ACKCLOCK_UNLESS_HEARD(event)                                                            \
	if (!ackclock_algorithm.event && !ackclock_recording)                                   \
		return

/* Calls the author's function, if there is one and a state. */
#define ACKCLOCK_TELL(event, sk, call)                                                          \
	if (ackclock_algorithm.event) {                                                         \
		void *state = ackclock_state(sk);                                               \
		if (state)                                                                      \
			ackclock_algorithm.event(call, state);                                  \
	}

#define ACKCLOCK_ASK(event, sk, call, otherwise)                                                \
	{                                                                                       \
		void *state = ackclock_state(sk);                                               \
		(call)->result = state ? ackclock_algorithm.event(call, state) : otherwise;     \
	}

#define ACKCLOCK_EVENTS(STATE, ...)                                                             \
	struct ackclock_algorithm {                                                             \
		void (*init)(struct ackclock_call *, STATE *);                                  \
		void (*release)(struct ackclock_call *, STATE *);                               \
		void (*pkts_acked)(struct ackclock_call *, STATE *);                            \
		void (*cong_avoid)(struct ackclock_call *, STATE *);                            \
		__u32 (*ssthresh)(struct ackclock_call *, STATE *);                             \
		void (*set_state)(struct ackclock_call *, STATE *);                             \
		void (*cwnd_event)(struct ackclock_call *, STATE *);                            \
		__u32 (*undo_cwnd)(struct ackclock_call *, STATE *);                            \
		__u32 (*control)(struct ackclock_call *, STATE *);                              \
	};                                                                                      \
	static const struct ackclock_algorithm ackclock_algorithm = { __VA_ARGS__ };            \
	SEC("struct_ops") void ackclock_init(__u64 *arguments)                                  \
	{                                                                                       \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_INIT);                                        \
		ackclock_clear(sk);                                                             \
		ACKCLOCK_TELL(init, sk, &call);                                                 \
		ackclock_finish(&call, sk, 0);                                                  \
	}                                                                                       \
	SEC("struct_ops") void ackclock_release(__u64 *arguments)                               \
	{                                                                                       \
		ACKCLOCK_UNLESS_HEARD(release);                                                 \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_RELEASE);                                     \
		ACKCLOCK_TELL(release, sk, &call);                                              \
		ackclock_finish(&call, sk, 0);                                                  \
	}                                                                                       \
	SEC("struct_ops") void ackclock_pkts_acked(__u64 *arguments)                            \
	{                                                                                       \
		ACKCLOCK_UNLESS_HEARD(pkts_acked);                                              \
		struct sock *sk = (void *)arguments[0];                                         \
		const struct ack_sample *sample = (void *)arguments[1];                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_PKTS_ACKED);                                  \
		call.argument[0] = sample->pkts_acked;                                          \
		call.argument[1] = sample->in_flight;                                           \
		call.rtt_us = sample->rtt_us;                                                   \
		ACKCLOCK_TELL(pkts_acked, sk, &call);                                           \
		ackclock_finish(&call, sk, 0);                                                  \
	}                                                                                       \
	SEC("struct_ops") __u32 ackclock_ssthresh(__u64 *arguments)                             \
	{                                                                                       \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_SSTHRESH);                                    \
		ACKCLOCK_ASK(ssthresh, sk, &call, ackclock_max(call.before.cwnd / 2, 2));       \
		ackclock_finish(&call, sk, 0);                                                  \
		return call.result;                                                             \
	}                                                                                       \
	SEC("struct_ops") void ackclock_set_state(__u64 *arguments)                             \
	{                                                                                       \
		ACKCLOCK_UNLESS_HEARD(set_state);                                               \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_SET_STATE);                                   \
		call.argument[0] = (__u8)arguments[1];                                          \
		ACKCLOCK_TELL(set_state, sk, &call);                                            \
		ackclock_finish(&call, sk, 0);                                                  \
	}                                                                                       \
	SEC("struct_ops") void ackclock_cwnd_event(__u64 *arguments)                            \
	{                                                                                       \
		ACKCLOCK_UNLESS_HEARD(cwnd_event);                                              \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_CWND_EVENT);                                  \
		call.argument[0] = arguments[1];                                                \
		ACKCLOCK_TELL(cwnd_event, sk, &call);                                           \
		ackclock_finish(&call, sk, 0);                                                  \
	}                                                                                       \
	SEC("struct_ops") __u32 ackclock_undo_cwnd(__u64 *arguments)                            \
	{                                                                                       \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_UNDO_CWND);                                   \
		ACKCLOCK_ASK(undo_cwnd, sk, &call, call.before.cwnd);                           \
		ackclock_finish(&call, sk, 0);                                                  \
		return call.result;                                                             \
	}

/* The callback by which the window grows. */
#define ACKCLOCK_GROWS                                                                          \
	SEC("struct_ops") void ackclock_cong_avoid(__u64 *arguments)                            \
	{                                                                                       \
		struct sock *sk = (void *)arguments[0];                                         \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_CONG_AVOID);                                  \
		call.argument[0] = arguments[1];                                                \
		call.argument[1] = arguments[2];                                                \
		ACKCLOCK_TELL(cong_avoid, sk, &call);                                           \
		ackclock_finish(&call, sk, 0);                                                  \
	}

/* The callback by which a control sets window and rate. */
#define ACKCLOCK_OWNS                                                                           \
	SEC("struct_ops") void ackclock_cong_control(__u64 *arguments)                          \
	{                                                                                       \
		struct sock *sk = (void *)arguments[0];                                         \
		const struct rate_sample *sample = (void *)arguments[3];                        \
		struct ackclock_call call;                                                      \
		ackclock_read(&call, sk, ACKCLOCK_CONG_CONTROL);                                \
		ackclock_read_sample(&call, sample);                                            \
		ACKCLOCK_ASK(control, sk, &call, 1 << 20);                                      \
		ackclock_pace(sk, call.result);                                                 \
		ackclock_finish(&call, sk, sample);                                             \
	}

/* Registers the callbacks; `growth` is the one of the two. */
#define ACKCLOCK_REGISTER(growth)                                                               \
	SEC(".struct_ops.link") struct tcp_congestion_ops ackclock_control = {                  \
		.init = (void *)ackclock_init,                                                  \
		.release = (void *)ackclock_release,                                            \
		.ssthresh = (void *)ackclock_ssthresh,                                          \
		.growth = (void *)ackclock_##growth,                                            \
		.set_state = (void *)ackclock_set_state,                                        \
		.cwnd_event = (void *)ackclock_cwnd_event,                                      \
		.undo_cwnd = (void *)ackclock_undo_cwnd,                                        \
		.pkts_acked = (void *)ackclock_pkts_acked,                                      \
		.name = "acc_000000",                                                           \
	};                                                                                      \
	char ackclock_licence[] SEC("license") = "Dual MIT/GPL"

/* ---- A control that the kernel has, whose calls are to be recorded. ---- */

/*
 * Names the kernel's control. Its program calls functions of the kernel (`extern`, ACKCLOCK_KERNEL)
 * between ackclock_begin and ackclock_end, and registers its callbacks itself. Only a kernel runs
 * it. The engine has a control of its own that is to answer alike.
 */
#define ACKCLOCK_OF_KERNEL(NAME)                                                                \
	const char ackclock_of_kernel[] SEC("ackclock.kernel") = NAME;                          \
	char ackclock_licence[] SEC("license") = "Dual MIT/GPL"
#define ACKCLOCK_KERNEL __attribute__((section(".ksyms")))

/* Begins a call of a function of the kernel. */
ACKCLOCK_INLINE void ackclock_begin(struct ackclock_told *told, const struct sock *sk, __u8 kind)
{
	const struct tcp_sock *tp = (const void *)sk;

	told->now_ns = ackclock_ktime_get_ns();
	told->before.cwnd = tp->snd_cwnd;
	told->before.cwnd_cnt = tp->snd_cwnd_cnt;
	told->before.ssthresh = tp->snd_ssthresh;
	told->argument[0] = 0;
	told->argument[1] = 0;
	told->rtt_us = -1;
	told->result = 0;
	told->jiffies = ackclock_jiffies64();
	told->kind = kind;
	told->drawn = 0;
}

/* Ends a call that has no result of its own: records it with the pacing rate. */
ACKCLOCK_INLINE void ackclock_end(struct ackclock_told *told, const struct sock *sk,
				  const struct rate_sample *sample)
{
	__u64 rate = sk->sk_pacing_rate;

	told->result = rate < 0xffffffff ? rate : 0xffffffff;
	ackclock_record(told, sk, sample);
}

/* ---- Arithmetic of windows that most controls share. ---- */

ACKCLOCK_INLINE __u32 ackclock_min(__u32 a, __u32 b) { return a < b ? a : b; }
ACKCLOCK_INLINE __u32 ackclock_max(__u32 a, __u32 b) { return a > b ? a : b; }

ACKCLOCK_INLINE int ackclock_in_slow_start(const struct ackclock_call *call)
{
	return call->after.cwnd < call->after.ssthresh;
}

/*
 * True if the window limits the sender, so that it may open (RFC 7661 section 4.2). In slow start
 * a window of which half was used may open too, so that it is not too small when data comes.
 */
ACKCLOCK_INLINE int ackclock_may_open(const struct ackclock_call *call)
{
	if (call->limited)
		return 1;
	return ackclock_in_slow_start(call) && call->after.cwnd < 2 * call->max_packets_out;
}

/*
 * Slow start (RFC 5681 section 3.1): a segment for each acknowledged one, up to ssthresh. Returns
 * the acknowledged segments that are left for congestion avoidance.
 */
ACKCLOCK_INLINE __u32 ackclock_slow_start(struct ackclock_call *call, __u32 acked)
{
	__u32 cwnd = ackclock_min(call->after.cwnd + acked, call->after.ssthresh);

	acked -= cwnd - call->after.cwnd;
	call->after.cwnd = cwnd;
	return acked;
}

/*
 * Congestion avoidance (RFC 5681 section 3.1): a segment for every `each` acknowledged ones, which
 * cwnd_cnt counts. `each` is at least 1.
 */
ACKCLOCK_INLINE void ackclock_additive_increase(struct ackclock_call *call, __u32 each, __u32 acked)
{
	__u32 count = call->after.cwnd_cnt + acked;

	if (!each)
		each = 1;
	call->after.cwnd += count / each;
	call->after.cwnd_cnt = count % each;
}

#endif
