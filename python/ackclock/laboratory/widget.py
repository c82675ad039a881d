"""The lab page in a notebook, as a widget: `ackclock.lab(scenario)`.

Its files travel to the browser, so that it needs no server. The engine runs in the browser; models
and Linux are asked from Python instead.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ackclock.errors import LackingError
from ackclock.laboratory import page
from ackclock.result.result import Result
from ackclock.scenario import Scenario

# What the page needs no longer where its files are addresses.
_POLICY = "<meta http-equiv"


class LabWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A scenario with sliders, as `ackclock lab` shows it."""

    _esm = (Path(__file__).parent / "widget.js").read_text(encoding="utf-8")

    files = traitlets.Dict().tag(sync=True)
    engine = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, scenario: Scenario) -> None:
        """Shows a scenario; its folder has the files that it names.

        Raises:
            LackingError: This installation has no engine for pages.
            InputError: The scenario names files that are too large for a page.
        """
        scenario.check()
        self._begin = page.beginning("scenario.toml", scenario)
        files = _files() | self._begin.made(server=False)
        super().__init__(files=files, engine=_engine(), state={"scenario": scenario.tree})

    @property
    def scenario(self) -> Scenario:
        """The scenario of side A, as the sliders say."""
        return self._side({})

    @property
    def other(self) -> Scenario | None:
        """The scenario of side B; None without it."""
        other = self.state.get("b")
        return None if other is None else self._side(other)

    def result(self) -> Result:
        """Simulates the scenario of side A: all replicates, all tables."""
        from ackclock.run.simulation import simulate

        return simulate(self.scenario)

    def _side(self, differences: dict[str, Any]) -> Scenario:
        tree = json.loads(json.dumps(self.state["scenario"]))
        changes = self.state.get("set", {}) | differences
        return self._begin.changed(tree, changes)


@cache
def _engine() -> bytes:
    path = page.static().get(page.ENGINE)
    if path is None:
        raise LackingError(
            "lacking",
            page.ENGINE,
            "is not part of this installation; in the sources, `make lab` builds it",
        )
    return gzip.compress(path.read_bytes(), 6, mtime=0)


@cache
def _files() -> dict[str, str]:
    """Returns the texts of the page by name; without the policy, which names a server."""
    texts = {}
    for name, path in page.static().items():
        if path.suffix in {".html", ".js", ".css"}:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            texts[name] = "".join(line for line in lines if not line.startswith(_POLICY))
    return texts
