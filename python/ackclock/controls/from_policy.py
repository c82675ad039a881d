"""A learned policy as a control in C, in integers, for the engine and the running kernel.

Values of columns, weights and activations are fixed-point numbers. Columns and activations have 16
bits after the point. Weights of a layer are 16-bit integers with a common exponent; sums have 64
bits. The hyperbolic tangent is a table with linear interpolation.
"""

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ackclock.controls.policy import Array, Network, Policy, Tree

#: Bits after the point of columns and activations.
POINT = 16
#: The table of the hyperbolic tangent: its range, its intervals, and the bits of its values.
_RANGE, _INTERVALS, _TABLE_POINT = 8, 512, 15
_LARGEST = 2**15 - 1


def source(policy: Policy, name: str) -> str:
    """Returns the C source of a policy's control.

    Args:
        policy: The policy.
        name: Name of its file, for the comment.
    """
    package = __name__.rpartition(".")[0]
    text = (resources.files(package) / "policy.bpf.c").read_text("utf-8")
    columns = "\n".join(
        f"\tpolicy->inputs[INPUTS - COLUMNS + {number}] = {column};"
        for number, column in enumerate(policy.columns)
    )
    decides = policy.decides
    filled = {
        "NAME": name,
        "N_COLUMNS": str(len(policy.columns)),
        "N_INPUTS": str(len(policy.columns) * policy.history),
        "STEP": str(round(policy.step * 2**POINT)),
        "INTERVAL": str(round(policy.interval * 2**POINT)),
        "THE_COLUMNS": columns,
        "THE_FUNCTION": _network(decides) if isinstance(decides, Network) else _tree(decides),
    }
    for word, value in filled.items():
        text = text.replace(f"@{word}@", value)
    return text


def quantised(values: Array) -> tuple[NDArray[np.int64], int]:
    """Returns weights as 16-bit integers, and their bits after the point, from 0 to 15."""
    most = float(np.abs(values).max(initial=0.0))
    shift = 15 if most == 0 else int(np.clip(np.floor(np.log2(_LARGEST / most)), 0, 15))
    return np.clip(np.rint(values * 2**shift), -_LARGEST, _LARGEST).astype(np.int64), shift


def _array(kind: str, name: str, values: NDArray[np.int64]) -> str:
    numbers = [str(value) for value in values.ravel().tolist()]
    rows = [", ".join(numbers[start : start + 12]) for start in range(0, len(numbers), 12)]
    # Without its section, a compiler may move a small table to another, which BTF does not know.
    head = f'static const {kind} {name}[] SEC(".rodata") = {{\n\t'
    return head + ",\n\t".join(rows) + "\n};\n"


def _network(network: Network) -> str:
    """Returns the function `decide` of a network: its tables, and a loop for each layer."""
    tables, layers = [], []
    if network.activation == "tanh":
        nodes = np.arange(_INTERVALS + 2) * _RANGE / _INTERVALS
        tables.append(_array("__u16", "ackclock_tanh", np.rint(np.tanh(nodes) * _LARGEST)
                             .astype(np.int64)))  # fmt: skip
    wide = max(len(biases) for _, biases in network.layers)
    inputs = network.layers[0][0].shape[1]
    for number, (weights, biases) in enumerate(network.layers):
        integers, shift = quantised(weights)
        offsets = np.rint(biases * 2.0 ** (shift + POINT)).astype(np.int64)
        tables.append(_array("short", f"ackclock_weights{number}", integers))
        tables.append(_array("__s64", f"ackclock_biases{number}", offsets))
        last = number == len(network.layers) - 1
        values, after = ("here", "there") if number % 2 == 0 else ("there", "here")
        sums = f"layer(ackclock_weights{number} + {weights.shape[1]} * unit, "
        sums += f"ackclock_biases{number}[unit], {values}, {weights.shape[1]}) >> {shift}"
        if last:
            layers.append(f"\tunit = 0;\n\treturn {sums};")
        else:
            layers.append(
                "#pragma clang loop unroll(disable)\n"
                f"\tfor (unit = 0; unit < {len(biases)}; unit++)\n"
                f"\t\t{after}[unit] = {network.activation}_of({sums});"
            )
    activation = {"tanh": _TANH, "relu": _RELU}[network.activation]
    return (
        "".join(tables) + activation + _LAYER
        + "ACKCLOCK_ONCE __s64 decide(const struct policy *policy)\n{\n"
        + f"\t__s32 here[{max(wide, inputs)}], there[{wide}];\n\t__u32 unit;\n\n"
        + "#pragma clang loop unroll(full)\n"
        + "\tfor (unit = 0; unit < INPUTS; unit++)\n\t\there[unit] = policy->inputs[unit];\n"
        + "\n".join(layers) + "\n}\n"
    )  # fmt: skip


_TANH = f"""
/* An interval of the table is 2^10 of 2^16, and its values have {_TABLE_POINT} bits. */
static __s32 tanh_of(__s64 value)
{{
	__u64 size = value < 0 ? -value : value;
	__u32 place, rest, result;

	if (size >= {_RANGE} << 16)
		return value < 0 ? -65535 : 65535;
	place = size >> 10 & {_INTERVALS - 1};
	rest = size & 1023;
	result = ackclock_tanh[place] * (1024 - rest) + ackclock_tanh[place + 1] * rest;
	result = result >> 9;
	return value < 0 ? -(__s32)result : (__s32)result;
}}
"""

_RELU = """
static __s32 relu_of(__s64 value)
{
	return value < 0 ? 0 : value > 1 << 30 ? 1 << 30 : value;
}
"""

_LAYER = """
/* Returns the weighted sum of a layer for one of its units. */
ACKCLOCK_INLINE __s64 layer(const short *weights, __s64 sum, const __s32 *values, __u32 count)
{
	__u32 number;

#pragma clang loop unroll(disable)
	for (number = 0; number < count; number++)
		sum += (__s64)weights[number] * values[number];
	return sum;
}

"""


def _tree(tree: Tree) -> str:
    """Returns the function `decide` of a tree: a question for each node."""

    def written(node: int, depth: int) -> list[str]:
        tabs = "\t" * min(depth, 8)
        if tree.feature[node] < 0:
            return [f"{tabs}return {round(float(np.clip(tree.value[node], -1, 1)) * 2**POINT)};"]
        threshold = int(np.clip(np.floor(tree.threshold[node] * 2**POINT), -(2**31), 2**31 - 1))
        return [
            f"{tabs}if (policy->inputs[{tree.feature[node]}] <= {threshold}) {{",
            *written(int(tree.left[node]), depth + 1),
            f"{tabs}}} else {{",
            *written(int(tree.right[node]), depth + 1),
            f"{tabs}}}",
        ]

    lines = "\n".join(written(0, 1))
    return f"ACKCLOCK_ONCE __s64 decide(const struct policy *policy)\n{{\n{lines}\n}}\n"
