"""Free memory, where the system reports it."""

import os
from pathlib import Path

_FILES = Path("/")


def free_bytes(root: Path = _FILES) -> int | None:
    """Returns the free memory within the limits of machine, control groups and process.

    None if nothing reports it.

    Args:
        root: Root of the file system with `proc` and `sys`.
    """
    limits = [_of_machine(root), *_of_groups(root), _of_process()]
    return min((free for free in limits if free is not None), default=None)


def _of_machine(root: Path) -> int | None:
    """Returns the memory available without swapping, plus free swap space."""
    fields = {}
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, amount = line.partition(":")
        if amount.endswith(" kB"):
            fields[name] = int(amount[:-3]) * 1024
    if "MemAvailable" not in fields:
        return None
    return fields["MemAvailable"] + fields.get("SwapFree", 0)


def _of_groups(root: Path) -> list[int]:
    """Returns the memory left in each control group of this process, parents included."""
    left = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, name = line.split(":", 2)
        if not controllers:
            base, limit, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = (
                root / "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        else:
            continue
        # In a container the name may be one that only the host knows. The group is then the root of
        # the hierarchy that is visible here.
        inside = base / name.lstrip("/")
        group = inside if inside.is_dir() else base
        for place in (group, *group.parents):
            bounds = [_read(place / file).strip() for file in (limit, used)]
            if all(bound.isdecimal() for bound in bounds):
                most, taken = map(int, bounds)
                left.append(max(most - taken, 0))
            if place == base:
                break
    return left


def _of_process() -> int | None:
    """Returns how far the address space may still grow (`ulimit -v`)."""
    try:
        import resource
    except ImportError:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read(Path("/proc/self/statm")).split()
    if most == resource.RLIM_INFINITY or not pages:
        return None
    return max(most - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
