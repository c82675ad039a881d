"""A worker that dies at point 40 and never ends point 221, as `places.here` starts it."""

import os
import sys
import time
from multiprocessing.connection import Connection

from ackclock import engine
from ackclock.sweeps import worker
from ackclock.sweeps.plan import Plan

ABORTS, HANGS = 40, 221


def main() -> None:
    tree = Plan.tree

    def breaking(plan: Plan, point: int, *arguments: object) -> engine.Tree:
        if point == ABORTS:
            os.abort()
        while point == HANGS:
            time.sleep(1)
        return tree(plan, point, *arguments)  # type: ignore[arg-type]

    Plan.tree = breaking  # type: ignore[method-assign]
    worker.serve(Connection(int(sys.argv[1])))


main()
