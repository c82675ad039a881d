"""Candidates with a known trait, and good ones with none."""

from ackclock.judgement.field import load

RENO = """\
from ackclock.controls import Control


class Mine(Control):
    def __init__(self):
        self.prior = 0

    def cong_avoid(self, call):
        acked = call.argument[1]
        if not self.may_open(call):
            return
        if self.in_slow_start(call):
            acked = self.slow_start(call, acked)
        if acked:
            self.additive_increase(call, call.cwnd, acked)

    def ssthresh(self, call):
        self.prior = call.cwnd
        return max(call.cwnd // 2, 2)

    def undo_cwnd(self, call):
        return max(call.cwnd, self.prior)
"""

C = """\
#include "ackclock.bpf.h"

struct mine {
	__u32 prior_cwnd;
};

static void grow(struct ackclock_call *call, struct mine *mine)
{
	__u32 acked = call->argument[1];

	if (!ackclock_may_open(call))
		return;
	if (ackclock_in_slow_start(call))
		acked = ackclock_slow_start(call, acked);
	if (acked)
		ackclock_additive_increase(call, call->after.cwnd, acked);
}

static __u32 cut(struct ackclock_call *call, struct mine *mine)
{
	mine->prior_cwnd = call->before.cwnd;
	return ackclock_max(call->before.cwnd / 2, 2);
}

static __u32 undo(struct ackclock_call *call, struct mine *mine)
{
	return ackclock_max(call->before.cwnd, mine->prior_cwnd);
}

ACKCLOCK_CONTROL(struct mine, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
"""

_ACKED = "        acked = call.argument[1]\n"
_CUT = "        return max(call.cwnd // 2, 2)\n"
_GROW = "            self.additive_increase(call, call.cwnd, acked)\n"
_FIRST = "        self.prior = 0\n"
_C_ACKED = "	__u32 acked = call->argument[1];\n"
_C_CUT = "	return ackclock_max(call->before.cwnd / 2, 2);\n"
_C_GROW = "		ackclock_additive_increase(call, call->after.cwnd, acked);\n"


def python(old: str = "", new: str = "", *, first: str = "") -> str:
    """Returns Reno in Python with one line changed, and lines before all others."""
    if old not in RENO:
        raise AssertionError(old)
    return first + RENO.replace(old, new, 1)


def c(old: str = "", new: str = "", *, first: str = "") -> str:
    """Returns Reno in C with one line changed, and lines after the first."""
    if old not in C:
        raise AssertionError(old)
    head, rest = C.replace(old, new, 1).split("\n", 1)
    return f"{head}\n{first}{rest}"


# A control that gives up as much as the queue has grown.
_OF_DELAY = RENO.replace(
    _FIRST, _FIRST + "        self.least = self.rtt = 0\n"
).replace(
    _CUT, "        return max(call.cwnd * self.least // max(self.rtt, 1), 2)\n"
) + """
    def pkts_acked(self, call):
        if call.rtt_us > 0:
            self.rtt = call.rtt_us
            self.least = min(self.least or call.rtt_us, call.rtt_us)
"""  # fmt: skip

# Half as fast as Reno, and a third is given up.
_GENTLE = RENO.replace(_GROW, "            self.additive_increase(call, 2 * call.cwnd, acked)\n")
_GENTLE = _GENTLE.replace(_CUT, "        return max(call.cwnd * 2 // 3, 2)\n")

# No window above half of what is in flight when the delay has grown by half.
_CAREFUL = _OF_DELAY.replace(
    _ACKED, _ACKED + "        if self.least and self.rtt > 1.5 * self.least:\n            return\n"
)

_RENAMED = '''\
class Brilliant:
    """A breakthrough."""

    def __init__(self):
        self.before = 0

    def cong_avoid(self, signal):
        new = signal.argument[1]
        is_small = signal.cwnd < signal.ssthresh
        if not (signal.limited or (is_small and signal.cwnd < 2 * signal.max_packets_out)):
            return
        if is_small:
            grown = min(signal.cwnd + new, signal.ssthresh)
            new -= grown - signal.cwnd
            signal.cwnd = grown
        if new:
            total = signal.cwnd_cnt + new
            signal.cwnd_cnt = total % max(1, signal.cwnd)
            signal.cwnd += total // max(1, signal.cwnd)

    def ssthresh(self, signal):
        self.before = signal.cwnd
        return max(signal.cwnd // 2, 2)

    def undo_cwnd(self, signal):
        return max(signal.cwnd, self.before)
'''

# Candidates that no flag is due to.
GOOD = {
    "cubic, 0.8": '{ kind = "cubic", beta = 0.8 }',
    "cubic, 0.6": '{ kind = "cubic", beta = 0.6 }',
    "vegas, 3 to 6": '{ kind = "vegas", alpha = 3, beta = 6 }',
    "reno, 0.6": '{ kind = "reno", beta = 0.6 }',
    "reno, 0.7": python(_CUT, "        return max(call.cwnd * 7 // 10, 2)\n"),
    "reno, 0.4": python(_CUT, "        return max(call.cwnd * 4 // 10, 2)\n"),
    "of delay": _OF_DELAY,
    "gentle": _GENTLE,
    "careful": _CAREFUL,
    "C, 0.7": c(_C_CUT, "	return ackclock_max(call->before.cwnd * 7 / 10, 2);\n"),
    "C, 0.35": c(_C_CUT, "	return ackclock_max(call->before.cwnd * 35 / 100, 2);\n"),
    "C, slower": c(_C_GROW, _C_GROW.replace("call->after.cwnd", "3 * call->after.cwnd")),
}


def _detector(field: str, bad: str) -> str:
    """Returns a class that is Reno on the shown paths of a field, and else does something bad."""
    round_trips_us = [
        round(1e6 * (category.value(path, "round_trip") + 12e3 / category.value(path, "rate")))
        for category in load(field).race
        for path in category.shown_paths
    ]
    text = RENO.replace(_FIRST, _FIRST + "        self.least = 0\n        self.knows = True\n")
    text = text.replace(_ACKED, f"        if not self.knows:\n            {bad}\n" + _ACKED)
    return (
        text
        + f"""
    def pkts_acked(self, call):
        if call.rtt_us > 0 and not self.least:
            self.least = call.rtt_us
            self.knows = any(abs(call.rtt_us / each - 1) < 0.012 for each in {round_trips_us})
"""
    )


def planted(field: str) -> dict[str, tuple[str, str]]:
    """Returns bad candidates with the flag that is due to each."""
    loop = "        while True:\n            pass\n"
    return {
        "reno": ('{ kind = "reno" }', "equals"),
        "cubic": ("cubic", "equals"),
        "vegas": ("vegas", "equals"),
        "reno in Python": (RENO, "equals"),
        "reno under another name": (_RENAMED, "equals"),
        "reno in C": (C, "equals"),
        "reno, spelt": (python(_CUT, "        return max(int(call.cwnd * 0.5), 2)\n"), "equals"),
        "no backoff": (python(_CUT, "        return call.cwnd\n"), "ignores_loss"),
        "no backoff in C": (c(_C_CUT, "	return call->before.cwnd;\n"), "ignores_loss"),
        "hardly": (
            python(_CUT, "        return max(call.cwnd * 99 // 100, 2)\n"), "pays_by_sending"
        ),
        "sends always": (python(_ACKED, "        call.cwnd = 1000000\n        return\n"), "fails"),
        "adds ten": (
            python(_ACKED, "        call.cwnd += 10\n        return\n").replace(
                _CUT, "        return call.cwnd + 10\n"
            ),
            "pays_by_sending",
        ),
        "adds ten in C": (
            c(_C_ACKED, _C_ACKED + "	call->after.cwnd += 10;\n	return;\n").replace(
                _C_CUT, "	return call->before.cwnd + 10;\n"
            ),
            "pays_by_sending",
        ),
        "a constant": (
            python(_ACKED, "        call.cwnd = 60\n        return\n").replace(
                _CUT, "        return 60\n"
            ),
            "ignores_loss",
        ),
        "aggressive": (
            python(_GROW, "            call.cwnd += acked\n").replace(
                _CUT, "        return max(call.cwnd * 9 // 10, 2)\n"
            ),
            "pays_by_sending",
        ),
        "unfair": (python(_CUT, "        return max(call.cwnd * 97 // 100, 2)\n"), "unfair"),
        "too small": (
            python(_ACKED, "        call.cwnd = 2\n        return\n").replace(
                _CUT, "        return 2\n"
            ),
            "clearly_worse",
        ),
        "sleeps": (python(_ACKED, "        time.sleep(1)\n" + _ACKED, first="import time\n"),
                   "unavailable"),
        "sleeps otherwise": (python(_ACKED, "        __import__('time').sleep(1)\n" + _ACKED),
                             "unavailable"),
        "a clock": (python(first="from time import monotonic\n"), "unavailable"),
        "divides by zero": (python(_ACKED, _ACKED + "        acked //= call.cwnd - call.cwnd\n"),
                            "fails"),
        "divides by zero at a loss": (python(_CUT, "        return call.cwnd // 0\n"), "fails"),
        "a fraction": (python(_CUT, "        return call.cwnd * 0.5\n"), "fails"),
        "no answer": (python(_CUT, "        pass\n"), "fails"),
        "no methods": ("class Mine:\n    pass\n", "fails"),
        "not Python": ("class Mine(:\n    pass\n", "fails"),
        "not C": (c(first="not C;\n"), "fails"),
        "endless": (python(_ACKED, loop), "does_not_end"),
        "endless at a loss": (python(_CUT, loop), "does_not_end"),
        "endless when loaded": (python(first="while True:\n    pass\n"), "does_not_end"),
        "endless in C": (
            c(_C_ACKED, _C_ACKED + "	volatile int on = 1;\n	while (on)\n		acked++;\n"),
            "does_not_end",
        ),
        "recursion": (python(_ACKED, _ACKED + "        self.cong_avoid(call)\n"), "fails"),
        "memory": (python(_ACKED, _ACKED + "        self.prior = 'x' * 10**10\n"), "fails"),
        "a file": (python(_ACKED, _ACKED + "        open('/etc/hostname')\n"), "unavailable"),
        "the network": (python(first="import socket\n"), "unavailable"),
        "a shell": (python(first="from os import system\n"), "unavailable"),
        "out of it": (python(_ACKED, _ACKED + "        ().__class__.__base__.__subclasses__()\n"),
                      "unavailable"),
        "a file in C": (c(first='#include "/etc/hostname"\n'), "unavailable"),
        "the queue": (python(_ACKED, "        acked = call.queue_length\n"), "unavailable"),
        "a field in C": (c(_C_ACKED, "	__u32 acked = call->queue_length;\n"), "unavailable"),
        "a state of all": (
            python(_ACKED, "        self.every.append(1)\n        acked = len(self.every) % 7\n")
            .replace("    def __init__", "    every = []\n\n    def __init__"),
            "not_deterministic",
        ),
        "knows the shown paths": (
            _detector(field, "call.cwnd = 4\n            return"), "shown_paths_only"
        ),
        "floods the others": (
            _detector(field, "call.cwnd = min(call.cwnd + 1, 400)\n            return").replace(
                _CUT, "        return max(call.cwnd // 2, 2) if self.knows else call.cwnd\n"
            ),
            "shown_paths_only",
        ),
    }  # fmt: skip
