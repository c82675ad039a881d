/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One of everything that the machine has, without ackclock.bpf.h. */
typedef unsigned char __u8; typedef unsigned short __u16; typedef unsigned int __u32; typedef unsigned long long __u64; typedef long long __s64; typedef int __s32;
#define SEC(n) __attribute__((section(n), used))
#define K __attribute__((preserve_access_index))
#define __ksym __attribute__((section(".ksyms")))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
struct sock { __u64 sk_pacing_rate; } K;
struct inet_sock { struct sock sk; } K;
struct inet_connection_sock { struct inet_sock icsk_inet; __u8 icsk_ca_state:5, x:3; __u64 icsk_ca_priv[13]; } K;
struct tcp_sock { struct inet_connection_sock inet_conn; __u32 snd_cwnd, snd_cwnd_cnt, snd_ssthresh; __u32 is_cwnd_limited:1; } K;
struct ack_sample { __u32 pkts_acked; __s32 rtt_us; __u32 in_flight; } K;
struct tcp_congestion_ops { __u32 (*ssthresh)(struct sock *); void (*cong_avoid)(struct sock *, __u32, __u32); void (*set_state)(struct sock*, __u8); __u32 (*undo_cwnd)(struct sock*); void (*pkts_acked)(struct sock*, const struct ack_sample*); char name[16]; };
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
struct { __uint(type, 27); __uint(max_entries, 4096); } rb SEC(".maps");
static void *(*bpf_ringbuf_reserve)(void *, __u64, __u64) = (void *)131;
static void (*bpf_ringbuf_submit)(void *, __u64) = (void *)132;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
const volatile __u32 alpha = 1, beta_num = 512;
__u64 missed, calls;
struct priv { __u32 a, b; };
static __attribute__((noinline)) __u32 half(__u32 x) { return x * beta_num / 1024; }
static __attribute__((always_inline)) __u8 state(struct sock *sk) {
  struct inet_connection_sock *ic = (void*)sk; __u64 v = 0; const char *p = (const char*)ic + __builtin_preserve_field_info(ic->icsk_ca_state, 0);
  switch (__builtin_preserve_field_info(ic->icsk_ca_state, 1)) { case 1: v = *(__u8*)p; break; case 2: v = *(__u16*)p; break; case 4: v = *(__u32*)p; break; case 8: v = *(__u64*)p; break; }
  v <<= __builtin_preserve_field_info(ic->icsk_ca_state, 4); v >>= __builtin_preserve_field_info(ic->icsk_ca_state, 5); return v; }
SEC("struct_ops/my_ssthresh") __u32 my_ssthresh(__u64 *ctx) { struct tcp_sock *tp = (void *)ctx[0]; __u32 h = half(tp->snd_cwnd); __sync_fetch_and_add(&calls, 1); return h < 2 ? 2 : h; }
SEC("struct_ops/my_ca") void my_ca(__u64 *ctx) { struct tcp_sock *tp = (void *)ctx[0]; __u32 acked = ctx[2];
  struct priv *p = (void*)tp->inet_conn.icsk_ca_priv; p->a += state((void*)tp);
  __u64 *r = bpf_ringbuf_reserve(&rb, 16, 0); if (r) { r[0] = bpf_ktime_get_ns(); bpf_ringbuf_submit(r, 1); } else missed++;
  if (tp->snd_cwnd < tp->snd_ssthresh) { acked = tcp_slow_start(tp, acked); if (!acked) return; } tcp_cong_avoid_ai(tp, tp->snd_cwnd / alpha, acked); }
SEC("struct_ops/my_undo") __u32 my_undo(__u64 *ctx) { struct tcp_sock *tp = (void *)ctx[0]; struct priv *p = (void*)tp->inet_conn.icsk_ca_priv; return p->b; }
SEC("struct_ops/my_pa") void my_pa(__u64 *ctx) { struct tcp_sock *tp = (void *)ctx[0]; const struct ack_sample *s = (void*)ctx[1]; struct priv *p = (void*)tp->inet_conn.icsk_ca_priv; if (s->rtt_us > 0) p->b = s->rtt_us; }
SEC(".struct_ops.link") struct tcp_congestion_ops my = { .ssthresh = (void*)my_ssthresh, .cong_avoid = (void*)my_ca, .undo_cwnd = (void*)my_undo, .pkts_acked=(void*)my_pa, .name = "my" };
char LICENSE[] SEC("license") = "GPL";
