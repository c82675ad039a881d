"""Which runs come next: pure bookkeeping, without clock, files or processes.

Every point gets its first replicates. If an interval is asked for, a point is looked at when all
its replicates have ended, and gets more if the interval is too wide; the widest comes first.
"""

import heapq
import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from ackclock.sweeps.plan import RUN_LIMIT_S, Key
from ackclock.sweeps.precision import Precision

#: Duration that a batch aims at: long beside the milliseconds that it costs, and short to lose.
AIM_S = 5.0

# Tasks that a scheduler hands out in a second, at least; 468 were measured of Dask on two cores. A
# batch for each of 1,000 processors must then last 5 s. Two are under way for each, so that this
# bound has a margin of two.
_TASKS_PER_S = 200.0

# Runs that measure how long a run takes, before batches are made: one second of the scheduler.
_PROBES = 200

# Runs of a batch at most: its tables are in memory at once.
_MOST_RUNS = 5_000

# Near the end batches shrink so that all processes end together, but not below this duration:
# starting a batch costs some milliseconds.
_LEAST_S = 0.25

# The longest duration of a run is this many times the slowest batch's mean, and at least so many
# seconds. On a cluster the run that never ends costs this three times: in a batch, in a piece, and
# alone.
_TIMES_SLOWEST, _LEAST_LIMIT_S = 10.0, 5.0

# Batches from whose durations the next ones are estimated.
_REMEMBERED = 20

# Batches that a lost one is cut into: a bad run among 4,000 is alone after two more losses. With
# fewer pieces a run that never ends would cost its time limit more often.
_PIECES = 64

#: Name and subject of a metric.
Measure = tuple[str, str]


class Schedule:
    """The runs that are left of a sweep.

    Attributes:
        wanted: Number of runs that are known to be needed, those that have ended included.
        ended: Number of runs that have ended.
        failed: Number of them that failed.
        narrow: Number of points whose interval is narrow enough.
        at_limit: Number of points that reached the limit of replicates with a wide interval.
    """

    def __init__(
        self, points: Sequence[int], replicates: int, precision: Precision | None = None
    ) -> None:
        """Plans the first replicates of each point.

        Args:
            points: Numbers of the points.
            replicates: Replicates of each point at the first look.
            precision: The interval that is asked for, if one is.
        """
        self._precision = precision
        self._ended: dict[int, int] = {}  # Bit r is set when replicate r has ended.
        self._sizes = dict.fromkeys(points, replicates) if precision else {}
        self._values: dict[int, dict[Measure, dict[int, float]]] = {}
        self._first_size = replicates
        self._left = self._first(points)
        self._again: deque[list[Key]] = deque()
        self._more: list[tuple[float, int, list[int]]] = []  # −excess, point, replicates.
        self._durations: deque[float] = deque(maxlen=_REMEMBERED)
        self._slowest_s = 0.0
        self._under_way = 0
        self.wanted = len(points) * replicates
        self.ended = self.failed = self.narrow = self.at_limit = 0

    def _first(self, points: Iterable[int]) -> Iterator[Key]:
        replicates = range(self._first_size)
        for point in points:
            ended = self._ended.get(point, 0)
            for replicate in replicates:
                if not ended >> replicate & 1:
                    yield point, replicate

    @property
    def under_way(self) -> int:
        """Number of runs that were taken and have not ended."""
        return self._under_way

    @property
    def share(self) -> float:
        """Share of the known runs that have ended."""
        return self.ended / self.wanted if self.wanted else 1.0

    def restore(
        self, runs: Iterable[Key], values: Iterable[tuple[int, int, str, str, float]]
    ) -> None:
        """Notes the runs and metrics of an earlier process. Call it before anything else.

        Args:
            runs: Point and replicate of each run that has ended.
            values: Point, replicate, metric, subject and value.
        """
        for point, replicate in runs:
            self._ended[point] = self._ended.get(point, 0) | 1 << replicate
        # A run counts when its point is known to need it.
        self.ended = sum(_count(ended, 0, self._first_size) for ended in self._ended.values())
        self._note(values)
        for point in list(self._sizes):
            self._look(point)

    def take(self, places: int) -> list[Key]:
        """Returns the runs of the next batch; none if nothing can begin now.

        Args:
            places: Number of batches that may be under way.
        """
        if self._again:
            return self._taken(self._again.popleft())
        size = self._size(places)
        runs = list(itertools.islice(self._left, size))
        while self._more and len(runs) < size:
            excess, point, missing = heapq.heappop(self._more)
            count = size - len(runs)
            runs += ((point, replicate) for replicate in missing[:count])
            if missing[count:]:
                heapq.heappush(self._more, (excess, point, missing[count:]))
        return self._taken(runs)

    def _taken(self, runs: list[Key]) -> list[Key]:
        self._under_way += len(runs)
        return runs

    @property
    def run_s(self) -> float:
        """Expected duration of a run; 0 if none has ended yet."""
        return median(self._durations) if self._durations else 0.0

    @property
    def run_limit_s(self) -> float:
        """Duration beyond which a run probably never ends.

        It follows from the slowest batch so far, not from the median: in a sweep over rates the
        durations of runs differ a thousandfold.
        """
        if not self._slowest_s:
            return RUN_LIMIT_S
        return max(_TIMES_SLOWEST * self._slowest_s, _LEAST_LIMIT_S)

    def _size(self, places: int) -> int:
        if not self._durations:
            return 1 if self._under_way < _PROBES else 0
        run_s = max(self.run_s, 1e-6)
        left = self.wanted - self.ended - self._under_way
        handed_out_s = places / _TASKS_PER_S
        fair = max(left // (2 * places), math.ceil(max(_LEAST_S, handed_out_s / 2) / run_s))
        return max(1, min(math.ceil(max(AIM_S, handed_out_s) / run_s), fair, _MOST_RUNS))

    def report(
        self,
        runs: Sequence[Key],
        failed: int,
        seconds: float,
        values: Iterable[tuple[int, int, str, str, float]] = (),
    ) -> None:
        """Notes that a batch has ended.

        Args:
            runs: Its runs.
            failed: Number of them that failed.
            seconds: Time that all of them took; 0 if unknown.
            values: Point, replicate, metric, subject and value.
        """
        if seconds > 0:
            self._durations.append(seconds / len(runs))
            self._slowest_s = max(self._slowest_s, self._durations[-1])
        self._under_way -= len(runs)
        self.ended += len(runs)
        self.failed += failed
        if self._precision is None:
            return
        for point, replicate in runs:
            self._ended[point] = self._ended.get(point, 0) | 1 << replicate
        self._note(values)
        for point in dict.fromkeys(point for point, _ in runs):
            self._look(point)

    def give_back(self, runs: Sequence[Key]) -> None:
        """Notes that a batch was lost; its runs are taken again in smaller batches.

        So the run that ends its process is found after a few losses.
        """
        self._under_way -= len(runs)
        size = max(1, math.ceil(len(runs) / _PIECES))
        self._again.extend(list(runs[start : start + size]) for start in range(0, len(runs), size))

    def _note(self, values: Iterable[tuple[int, int, str, str, float]]) -> None:
        for point, replicate, metric, subject, value in values:
            of_point = self._values.setdefault(point, {})
            of_point.setdefault((metric, subject), {})[replicate] = value

    def _look(self, point: int) -> None:
        """Decides about a point if all its replicates have ended."""
        precision = self._precision
        if precision is None:
            return
        ended, size = self._ended.get(point, 0), self._sizes[point]
        while ended & (1 << size) - 1 == (1 << size) - 1:
            values = [
                [by_replicate[replicate] for replicate in sorted(by_replicate) if replicate < size]
                for by_replicate in self._values.get(point, {}).values()
            ]
            excess = precision.widest(values) if values else 0.0  # Every run failed.
            more = precision.next_look(size)
            if excess <= 1 or more is None:
                self.narrow += excess <= 1
                self.at_limit += excess > 1
                self._values.pop(point, None)
                return
            self.wanted += more - size
            self.ended += _count(ended, size, more)
            self._sizes[point] = more
            # An earlier process may have run some of them.
            missing = [replicate for replicate in range(size, more) if not ended >> replicate & 1]
            if missing:
                heapq.heappush(self._more, (-excess, point, missing))
                return
            size = more


def _count(ended: int, begin: int, end: int) -> int:
    """Returns how many of these replicates have ended."""
    return (ended >> begin & (1 << end - begin) - 1).bit_count()
