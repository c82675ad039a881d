"""A learned policy: a small network or a decision tree over what a sender heard.

A policy takes the columns of its last intervals, oldest first. It returns a number from -1 to 1, by
which the rate is scaled once an interval. Programs train such policies in `ackclock.gym` with the
action `scale`, and a policy becomes a control for engine and kernel by `from_policy`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import InputError

#: Columns of `ackclock.gym.OBSERVATIONS` that a control in the kernel can compute in integers.
COLUMNS = ("latency_ratio", "loss_share", "send_ratio", "throughput_of_most")
#: Most inputs: they are kept in the 104 bytes of state that the kernel has for a control.
MOST_INPUTS = 13
#: Most hidden layers, most units of one, and most bytes of all weights in 16 bits.
MOST_HIDDEN, MOST_UNITS, MOST_BYTES = 2, 32, 4096
#: Most nodes of a tree.
MOST_NODES = 512

ACTIVATIONS = ("tanh", "relu")

#: Beginning of the names of a policy's hidden layers in stable-baselines3.
_HIDDEN = "mlp_extractor.policy_net."

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """A feed-forward network with one output.

    Attributes:
        layers: Weights (outputs by inputs) and biases of each layer.
        activation: Of all layers but the last: `tanh` or `relu`.
    """

    layers: tuple[tuple[Array, Array], ...]
    activation: str

    def __call__(self, inputs: Array) -> float:
        """Returns the output for the inputs."""
        values = inputs
        for number, (weights, biases) in enumerate(self.layers):
            values = weights @ values + biases
            if number < len(self.layers) - 1:
                values = np.tanh(values) if self.activation == "tanh" else np.maximum(values, 0)
        return float(values[0])


@dataclass(frozen=True)
class Tree:
    """A decision tree: node 0 is its root.

    Attributes:
        feature: Input by which a node decides; -1 for a leaf.
        threshold: Inputs of at most this go to `left`, others to `right`.
        left, right: Numbers of the nodes that follow; each is larger than that of the node.
        value: Output of a leaf.
    """

    feature: NDArray[np.int64]
    threshold: Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array

    def __call__(self, inputs: Array) -> float:
        """Returns the output for the inputs."""
        node = 0
        while self.feature[node] >= 0:
            below = inputs[self.feature[node]] <= self.threshold[node]
            node = int(self.left[node] if below else self.right[node])
        return float(self.value[node])


@dataclass(frozen=True)
class Policy:
    """A policy and what it observes.

    Attributes:
        decides: What makes a number of the inputs.
        columns: Columns of an interval, some of `COLUMNS`.
        history: Intervals that are remembered.
        step: Largest change of the rate, as a share of it.
        interval: Length of an interval in smoothed round-trip times.
    """

    decides: Network | Tree
    columns: tuple[str, ...]
    history: int
    step: float
    interval: float = 1.0

    def __post_init__(self) -> None:
        """Refuses what no control can be made of."""
        for name in self.columns:
            if name not in COLUMNS:
                raise InputError.unknown("columns", "column of a policy", name, COLUMNS)
        inputs = len(self.columns) * self.history
        if not 1 <= inputs <= MOST_INPUTS:
            words = f"{self.history} intervals of {len(self.columns)} columns are {inputs} inputs"
            raise InputError("out-of-range", "history", f"{words}; there may be 1 to {MOST_INPUTS}")
        if not (0 < self.step <= 10 and 0.1 <= self.interval <= 100):
            words = f"is {self.step} with an interval of {self.interval} round trips"
            raise InputError(
                "out-of-range", "step", f"{words}; choose more than 0 to 10, and 0.1 to 100"
            )
        if isinstance(self.decides, Network):
            _check_network(self.decides, inputs)
        else:
            _check_tree(self.decides, inputs)

    def __call__(self, inputs: Sequence[float] | Array) -> float:
        """Returns the action, from -1 to 1."""
        return float(np.clip(self.decides(np.asarray(inputs, np.float64)), -1, 1))

    @classmethod
    def of_stable_baselines(cls, model: Any, **observed: Any) -> "Policy":
        """Returns the policy of a PPO or A2C model of stable-baselines3, its mean action.

        Args:
            model: The model.
            observed: The other attributes: `columns`, `history`, `step`, `interval`.
        """
        named = {
            name: values.detach().cpu().numpy()
            for name, values in model.policy.state_dict().items()
        }
        hidden = [name for name in named if name.startswith(_HIDDEN) and name.endswith("weight")]
        places = [name.removesuffix(".weight") for name in sorted(hidden)] + ["action_net"]
        layers = tuple(
            (named[f"{place}.weight"].astype(float), named[f"{place}.bias"].astype(float))
            for place in places
        )
        kind = type(model.policy.activation_fn()).__name__.lower()
        return cls(Network(layers, kind), **observed)

    def save(self, path: str | Path) -> None:
        """Writes the policy as a file of NumPy's."""
        arrays: dict[str, Any] = {
            "columns": np.array(self.columns),
            "history": np.array(self.history),
            "step": np.array(self.step),
            "interval": np.array(self.interval),
        }
        if isinstance(self.decides, Network):
            arrays["activation"] = np.array(self.decides.activation)
            for number, (weights, biases) in enumerate(self.decides.layers):
                arrays[f"w{number}"], arrays[f"b{number}"] = weights, biases
        else:
            arrays |= vars(self.decides)
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Reads a policy. Nothing of the file is run.

        Raises:
            InputError: The file is none of a policy, or no control can be made of it.
        """
        try:
            with Path(path).open("rb") as opened:
                file = np.load(opened, allow_pickle=False)
                if not hasattr(file, "files"):
                    raise ValueError("it is a single array")
                arrays = {name: file[name] for name in file.files}
            return cls(
                _network(arrays) if "w0" in arrays else _tree(arrays),
                tuple(str(name) for name in arrays["columns"].ravel()),
                int(arrays["history"]), float(arrays["step"]), float(arrays.get("interval", 1.0)),
            )  # fmt: skip
        except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            words = f"is no policy ({error}); write one with ackclock.controls.policy.Policy.save"
            raise InputError("file", f"{path}", words) from None


def _network(arrays: dict[str, Any]) -> Network:
    count = sum(name.startswith("w") and name[1:].isdigit() for name in arrays)
    layers = tuple(
        (arrays[f"w{number}"].astype(float), arrays[f"b{number}"].astype(float))
        for number in range(count)
    )
    return Network(layers, str(arrays.get("activation", "tanh")))


def _tree(arrays: dict[str, Any]) -> Tree:
    whole = {name: arrays[name].astype(np.int64) for name in ("feature", "left", "right")}
    return Tree(**whole, threshold=arrays["threshold"].astype(float),
                value=arrays["value"].astype(float))  # fmt: skip


def _check_network(network: Network, inputs: int) -> None:
    if network.activation not in ACTIVATIONS:
        raise InputError.unknown("activation", "activation", network.activation, ACTIVATIONS)
    sizes = [inputs, *(len(biases) for _, biases in network.layers)]
    fits = all(
        weights.ndim == 2 and biases.ndim == 1 and weights.shape == (after, before)
        for (weights, biases), before, after in zip(
            network.layers, sizes[:-1], sizes[1:], strict=True
        )
    )
    if not network.layers or sizes[-1] != 1 or not fits:
        words = f"have the sizes {' → '.join(map(str, sizes))}; from {inputs} inputs to 1 output"
        raise InputError("out-of-range", "layers", f"{words}, each layer takes the one before")
    if len(network.layers) - 1 > MOST_HIDDEN or max(sizes[1:]) > MOST_UNITS:
        words = f"have the sizes {' → '.join(map(str, sizes))}"
        limit = f"there may be {MOST_HIDDEN} hidden layers of at most {MOST_UNITS} units"
        raise InputError("out-of-range", "layers", f"{words}; {limit}")
    values = np.concatenate([part.ravel() for layer in network.layers for part in layer])
    if not np.isfinite(values).all() or 2 * values.size > MOST_BYTES or np.abs(values).max() > 1e4:
        words = f"are {values.size} numbers up to {np.abs(values).max():.3g}"
        limit = f"there may be {MOST_BYTES // 2} of at most 10,000"
        raise InputError("out-of-range", "weights", f"{words}; {limit}")


def _check_tree(tree: Tree, inputs: int) -> None:
    nodes = np.arange(len(tree.feature))
    inner = tree.feature >= 0
    sound = (
        0 < len(nodes) <= MOST_NODES
        and all(len(part) == len(nodes) for part in vars(tree).values())
        and (tree.feature < inputs).all()
        and all(
            ((after[inner] > nodes[inner]) & (after[inner] < len(nodes))).all()
            for after in (tree.left, tree.right)
        )
        and np.isfinite(tree.threshold[inner]).all()
        and np.isfinite(tree.value[~inner]).all()
    )
    if not sound:
        words = f"has {len(nodes)} nodes that do not make a tree over {inputs} inputs; each node"
        raise InputError(
            "out-of-range",
            "feature",
            f"{words} comes before those that follow it, at most {MOST_NODES}",
        )
