"""The page as a widget of a notebook: in a browser with a model of ours, and in JupyterLab."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import ackclock
import exercise_notebooks
from ackclock import load
from ackclock.errors import LackingError

from ..patience import PATIENCE_S
from .test_page import FIRST

SHORT = {"duration": "4 s", "warmup": "1 s"}
RATE = 'input[type=range][aria-label="rate"]'

# What Jupyter does for a widget, on a page that holds nothing else.
CELL = """<!doctype html><div id="cell"></div><script type="module">
import widget from "./widget.js";
const traits = await (await fetch("traits.json")).json();
traits.engine = new DataView(await (await fetch("engine.gz")).arrayBuffer());
globalThis.traits = traits;
const model = {
  get: (name) => traits[name],
  set: (name, value) => (traits[name] = value),
  save_changes: () => {},
};
widget.render({ model, el: document.getElementById("cell") });
</script>"""


@pytest.fixture
def widget(request: pytest.FixtureRequest) -> Any:
    request.getfixturevalue("any_engine")
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    return ackclock.lab(load(FIRST).replace(SHORT))


@pytest.mark.slow
def test_a_widget_has_the_scenario_that_its_state_says(widget: Any) -> None:
    assert widget.scenario.tree == load(FIRST).replace(SHORT).tree
    assert widget.other is None
    tree = widget.scenario.tree
    widget.state = {
        "scenario": tree,
        "set": {"duration": "3 s", "replicates": 1},
        "b": {"hops.bottleneck.link.rate": "5 Mbit/s"},
    }
    assert widget.scenario == load(FIRST).replace(SHORT | {"duration": "3 s", "replicates": 1})
    assert widget.other.hops["bottleneck"].link.rate == "5 Mbit/s"
    assert widget.result().tables["flows"].num_rows == 1


def test_a_page_in_a_notebook_names_no_server(widget: Any) -> None:
    assert json.loads(widget.files["scenario.json"])["server"] is False
    assert "Content-Security-Policy" not in widget.files["index.html"]
    assert not any("127.0.0.1" in text for text in widget.files.values())


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "ackclock.laboratory.widget", raising=False)
    with pytest.raises(LackingError, match=r"anywidget: .*ackclock\[notebook\]"):
        ackclock.lab(load(FIRST))


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_engine")
def test_a_slider_in_a_cell_changes_the_state(browser: Any, widget: Any) -> None:
    content = {
        "cell.html": (CELL.encode(), "text/html"),
        "widget.js": (widget._esm.encode(), "text/javascript"),
        "traits.json": (
            json.dumps({"files": widget.files, "state": widget.state}).encode(),
            "application/json",
        ),
        "engine.gz": (widget.engine, "application/octet-stream"),
    }
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1e3)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def answer(route: Any) -> None:
        body, kind = content[route.request.url.rsplit("/", 1)[1]]
        route.fulfill(body=body, content_type=kind)

    page.route("http://127.0.0.1:1/*", answer)
    page.goto("http://127.0.0.1:1/cell.html")
    frame = page.frame_locator("iframe")
    frame.locator('body[data-replicates="20"]').wait_for()
    assert frame.locator("#predict").is_disabled()
    frame.locator(RATE).press("Home")
    frame.locator('body[data-replicates="20"]').wait_for()
    widget.state = page.evaluate("traits.state")
    assert widget.scenario.hops["bottleneck"].link.rate == "0.5 Mbit/s"
    assert not complaints
    page.close()


def notebook(*cells: str) -> str:
    written = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": source,
        }
        for source in cells
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": written, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4})


@pytest.fixture
def jupyter(tmp_path: Path) -> Iterator[str]:
    """The address of a notebook with a lab page, in JupyterLab."""
    if find_spec("jupyterlab") is None:
        pytest.skip("JupyterLab is not installed: ackclock.lab(scenario) is not tested in it")
    cell = f"import ackclock\nshown = ackclock.lab(ackclock.load({str(FIRST)!r}))\nshown"
    after = "print('now', shown.scenario.hops['bottleneck'].link.rate)"
    (tmp_path / "lab.ipynb").write_text(notebook(cell, after))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"ip": "127.0.0.1", "port": port, "root_dir": str(tmp_path), "open_browser": False}
    settings = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", "--IdentityProvider.token=t"]
    home = {"HOME": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "1", "PATH": os.defpath}
    address = f"http://127.0.0.1:{port}"
    with (
        (tmp_path / "jupyter.log").open("w") as log,
        subprocess.Popen([*command, *settings], stdout=log, stderr=log, env=home) as run,
    ):
        try:
            answering(f"{address}/api/status?token=t", run)
            yield f"{address}/lab/tree/lab.ipynb?token=t"
        finally:
            run.terminate()


def answering(address: str, run: subprocess.Popen[bytes]) -> None:
    """Waits until a server answers."""
    until = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < until:
        with contextlib.suppress(URLError), urlopen(address):
            return
        time.sleep(0.1)
    raise AssertionError("JupyterLab does not answer")


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_engine")
def test_a_widget_in_jupyterlab_follows_its_slider(browser: Any, jupyter: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1e3)
    page.goto(jupyter)
    # Cells that are run before the notebook has its kernel are not run at all.
    page.locator("#jp-main-statusbar", has_text="| Idle").wait_for()
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Shift+Enter")
    frame = page.frame_locator('iframe[title="ackclock lab"]')
    frame.locator("body[data-drawn]").wait_for()
    assert frame.locator(".figure").count() == 4
    frame.locator(RATE).press("Home")
    frame.locator('body[data-replicates="20"]').wait_for()
    page.locator(".jp-Notebook .jp-Cell").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.get_by_text("now 0.5 Mbit/s").wait_for()
    page.close()


def test_notebooks_of_the_exercises_are_current() -> None:
    notebooks = exercise_notebooks.notebooks()
    assert {path.stem for path in notebooks} == {
        path.stem for path in FIRST.parent.glob("lab/*.toml")
    }
    for path, text in notebooks.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: make docs-write"


@pytest.mark.usefixtures("any_engine")
@pytest.mark.parametrize("path", exercise_notebooks.notebooks(), ids=lambda path: path.stem)
def test_the_cells_of_an_exercise_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.chdir(path.parent)
    whole = ackclock.load
    brief = {"duration": "4 s", "warmup": "1 s", "replicates": 2}
    monkeypatch.setattr(ackclock, "load", lambda name: whole(name).replace(brief))
    names: dict[str, Any] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(cell["source"], names)
    assert names["shown"].result().tables["flows"].num_rows >= 2
