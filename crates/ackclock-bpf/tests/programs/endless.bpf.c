/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Does in each callback what a kernel's verifier refuses. */
typedef unsigned int __u32;
typedef unsigned long long __u64;
#define SEC(name) __attribute__((section(name), used))

struct tcp_sock {
	__u32 srtt_us;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(void *);
	void (*cong_avoid)(void *, __u32, __u32);
	__u32 (*undo_cwnd)(void *);
};

SEC("struct_ops") __u32 never(volatile __u64 *arguments)
{
	while (arguments[0])
		;
	return 2;
}

SEC("struct_ops") __u32 nowhere(__u64 *arguments)
{
	return *(volatile __u32 *)(arguments[0] - arguments[0]);
}

SEC("struct_ops") void forbidden(__u64 *arguments)
{
	((struct tcp_sock *)arguments[0])->srtt_us = 1;
}

SEC(".struct_ops.link") struct tcp_congestion_ops endless = {
	.ssthresh = (void *)never,
	.cong_avoid = (void *)forbidden,
	.undo_cwnd = (void *)nowhere,
};
char licence[] SEC("license") = "Dual MIT/GPL";
