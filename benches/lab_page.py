#!/usr/bin/env python3
"""Measures how long a lab page takes from a slider's move to its figures.

    python3 benches/lab_page.py [--moves 20] [--profile]

The scenario is `examples/first.toml` as it is. Two numbers for each move: the time from the event
`input` to the figures, and the processor time that the page's own thread takes meanwhile, until the
next frame is drawn. Processor time does not grow with other load of the machine, so far as caches
are not shared. The medians are printed, then the time from a cold load to the first figures, and
the memory that 200 moves in 10 s leave behind. `--profile` prints the functions that take most.
"""

import argparse
import re
import statistics
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from ackclock import load
from ackclock.laboratory import page
from ackclock.laboratory.server import LabServer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.browser import PROGRAM  # noqa: E402

RATE = 'input[type=range][aria-label="rate"]'
#: Moves before those that count: compilers in the page have seen its code by then.
WARM = 10
#: Moves the slider, and waits until its figures are drawn and the frame after them begins. One call
#: for all of it, so that the driver of the browser takes next to no time in the page.
MOVE = """([slider, by]) => new Promise((done) => {
    const one = document.querySelector(slider);
    const drawn = new MutationObserver(() => {
        drawn.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(done));
    });
    drawn.observe(document.body, { attributeFilter: ["data-drawn"] });
    one.value = Number(one.value) + by;
    one.dispatchEvent(new Event("input"));
})"""


MANY_MOVES = """async (slider) => {
    const one = document.querySelector(slider);
    for (let move = 0; move < 200; move++) {
        one.value = Number(one.value) + (move % 2 ? 10 : -10);
        one.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done, 50));
    }
}"""


class Thread:
    """The page's own thread: its processor time by kind of work, and its profile."""

    def __init__(self, tab: Any) -> None:
        self.session = tab.context.new_cdp_session(tab)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self) -> dict[str, float]:
        """Returns processor time so far, by kind of work."""
        measured_by_page = self.session.send("Performance.getMetrics")["metrics"]
        return {
            metric["name"]: metric["value"]
            for metric in measured_by_page
            if metric["name"].endswith("Duration")
        }


def measured(tab: Any, moves: int) -> tuple[list[float], list[dict[str, float]]]:
    """Returns milliseconds to the figures, and of the thread by kind of work, for each move."""
    thread, took, own = Thread(tab), [], []
    for move in range(WARM + moves):
        before = thread.seconds()
        tab.evaluate(MOVE, [RATE, 10 if move % 2 else -10])
        after = thread.seconds()
        if move >= WARM:
            took.append(float(tab.get_attribute("body", "data-milliseconds")))
            own.append({name: 1e3 * (after[name] - before[name]) for name in after})
        tab.wait_for_selector('body[data-replicates="20"]')
    return took, own


def cold_load(browser: Any, address: str) -> float:
    """Returns milliseconds from the address to the first figures, with an empty cache."""
    tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    began = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector("body[data-drawn]")
    took = 1e3 * (time.perf_counter() - began)
    tab.context.close()
    return took


def megabytes(browser: Any, tab: Any) -> float:
    """Returns the memory that the page's processes hold, workers and engines too."""
    tab.context.new_cdp_session(tab).send("HeapProfiler.collectGarbage")
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    pids = [process["id"] for process in processes if process["type"] == "renderer"]
    rolled = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    return sum(int(re.search(r"Private_Dirty: +([0-9]+)", text)[1]) for text in rolled) / 1e3


def left_by_many_moves(browser: Any, tab: Any) -> float:
    """Returns the megabytes that 200 moves in 10 s leave."""
    before = megabytes(browser, tab)
    tab.evaluate(MANY_MOVES, RATE)
    tab.wait_for_selector('body[data-replicates="20"]')
    return megabytes(browser, tab) - before


def profile(tab: Any, moves: int) -> Counter[str]:
    """Returns milliseconds of each function of the page for one move, on average."""
    session = tab.context.new_cdp_session(tab)
    session.send("Profiler.enable")
    session.send("Profiler.setSamplingInterval", {"interval": 100})
    session.send("Profiler.start")
    for move in range(moves):
        tab.evaluate(MOVE, [RATE, 10 if move % 2 else -10])
    profile = session.send("Profiler.stop")["profile"]
    names = {
        node["id"]: "{functionName} {url}:{lineNumber}".format(**node["callFrame"])
        for node in profile["nodes"]
    }
    spent: Counter[str] = Counter()
    for node, delta in zip(profile["samples"], profile["timeDeltas"], strict=True):
        spent[names[node]] += delta / 1e3 / moves
    return spent


def main() -> None:
    """Prints the medians."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("--moves", type=int, default=20)
    asked.add_argument("--profile", action="store_true")
    chosen = asked.parse_args()
    scenario = load(ROOT / "examples/first.toml")
    server = LabServer(page.beginning("first.toml", scenario))
    with server, sync_playwright() as browsers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = browsers.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(server.address)
        tab.wait_for_selector('body[data-replicates="20"]')
        took, own = measured(tab, chosen.moves)
        print(f"input to figures: median {statistics.median(took):.0f} ms of {len(took)} moves")
        for name in ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"):
            times = [move[name] for move in own]
            print(f"{name:20} median {statistics.median(times):5.1f} ms, worst {max(times):.1f} ms")
        cold = statistics.median(cold_load(browser, server.address) for _ in range(3))
        print(f"cold load to figures: median {cold:.0f} ms of 3")
        print(f"200 moves in 10 s leave {left_by_many_moves(browser, tab):.1f} MB")
        if chosen.profile:
            for name, spent in profile(tab, chosen.moves).most_common(25):
                print(f"{spent:7.2f} ms  {name}")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
