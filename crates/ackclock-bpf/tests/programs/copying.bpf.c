/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Copies half a megabyte, again and again: few instructions that take long. */
typedef unsigned int __u32;
typedef unsigned long long __u64;
#define SEC(name) __attribute__((section(name), used))
#define BYTES (1 << 19)

struct tcp_congestion_ops {
	__u32 (*ssthresh)(void *);
	void (*cong_avoid)(void *, __u32, __u32);
	__u32 (*undo_cwnd)(void *);
};

static long (*const probe_read)(void *, __u32, const void *) = (void *)113;
static char memory[BYTES] SEC(".bss");

SEC("struct_ops") __u32 copying(volatile __u64 *arguments)
{
	for (__u32 times = 0; times < 100000; times++)
		probe_read(memory, BYTES, memory);
	return 2;
}

SEC("struct_ops") void nothing(__u64 *arguments)
{
}

SEC(".struct_ops.link") struct tcp_congestion_ops copies = {
	.ssthresh = (void *)copying,
	.cong_avoid = (void *)nothing,
	.undo_cwnd = (void *)copying,
};
char licence[] SEC("license") = "Dual MIT/GPL";
