"""Facts about emulated runs: the kernel, and how reliable the runs are."""

from collections.abc import Mapping

from ackclock import Result
from ackclock.reproduction import Table

#: The two methods, as named in tables and runs.
ENGINE, LINUX = "engine", "Linux"


def kernel(result: Result) -> str:
    """Returns the name of the kernel, or "the engine" if the run was simulated, as in tests."""
    return str(result.run.get("machine", {}).get("kernel", "the engine"))


def trust(results: Mapping[str, Result]) -> Table:
    """Returns a table of how well the machine kept up with its parallel runs.

    It has one row for each emulated result.
    """
    rows = []
    for name, result in results.items():
        if result.run["method"] != "emulate":
            continue
        fidelity = result.tables["fidelity"].to_pylist()
        rows.append(
            (
                name,
                f"{len(fidelity) - len(result.unreliable)} of {len(fidelity)}",
                f"{1000 * max(row['lateness_p99_s'] for row in fidelity):.2g}",
                f"{1000 * max(row['longest_gap_s'] for row in fidelity):.2g}",
                f"{100 * sum(row['cpu_share'] for row in fidelity):.0f}",
            )
        )
    head = (
        "runs",
        "reliable",
        "99 % of packets late at most, ms",
        "longest gap, ms",
        "processor, % in all",
    )
    return Table(
        "Whether the emulations are reliable: the worst of the runs side by side", head, tuple(rows)
    )
