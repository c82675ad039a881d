"""Chromium for tests of pages, driven over a pipe by the DevTools protocol.

It needs nothing but the program: messages are JSON, each with a zero byte behind it, on the file
descriptors 3 and 4. Waiting is for an event or for a condition in the page, never for a time.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["PROGRAM", "Browser", "PageError"]

#: Path of the program; None where there is no browser.
PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

# Longest wait for one answer or condition, in seconds: a limit against hanging, not a measure.
_PATIENCE_S = 60


# A new process gets its pipes as 3 and 4; first out of the way, as they may have these numbers.
_AS_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class PageError(AssertionError):
    """An exception in a page, or an answer that did not come."""


class Browser:
    """A headless browser with one page, ended with its context."""

    def __init__(self) -> None:
        if PROGRAM is None:
            raise PageError("no browser")
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, theirs_out = os.pipe()
        theirs_in, writes = os.pipe()
        command = [
            sys.executable, "-ISc", _AS_3_AND_4, str(theirs_in), str(theirs_out), PROGRAM,
            "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--force-device-scale-factor=1",
            # Pages of the address bar, which every window would load.
            "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
            f"--user-data-dir={self._profile.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._reads, self._writes = reads, writes
        self._buffer, self._number, self._events = b"", 0, []
        self._session = ""
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(page for page in pages if page["type"] == "page")["targetId"]
        asked = {"targetId": target, "flatten": True}
        self._session = self._call("Target.attachToTarget", asked)["sessionId"]
        for domain in ("Page", "Runtime"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Ends the browser."""
        self._process.terminate()
        self._process.wait()
        os.close(self._reads)
        os.close(self._writes)
        self._profile.cleanup()

    def open(self, path: Path, width: int, height: int = 800) -> None:
        """Shows a file in a window of that size, and waits until it is drawn.

        Raises:
            PageError: A script of the page failed.
        """
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", size)
        self._events.clear()
        self._call("Page.navigate", {"url": path.resolve().as_uri()})
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive()
        # A picture waits until what was laid out is drawn, with or without scripts.
        self._call("Page.captureScreenshot", {"format": "jpeg", "quality": 1})
        failed = [event for event in self._events if event["method"] == "Runtime.exceptionThrown"]
        if failed:
            raise PageError(json.dumps(failed[0]["params"]["exceptionDetails"])[:600])

    def colours(self, scheme: str) -> None:
        """Sets which colours the system prefers: `light` or `dark`."""
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", {"features": [preferred]})

    def scripts(self, *, allowed: bool) -> None:
        """Sets whether pages that are opened from now on may run scripts."""
        self._call("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def run(self, expression: str) -> Any:
        """Returns the value of an expression in the page; a promise is waited for."""
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        reply = self._call("Runtime.evaluate", asked)
        if "exceptionDetails" in reply:
            raise PageError(json.dumps(reply["exceptionDetails"])[:600])
        return reply["result"].get("value")

    def press(self, *keys: str) -> None:
        """Presses keys one after the other: `ArrowRight`, `Escape`, `+`."""
        for key in keys:
            more = {"text": key} if len(key) == 1 else {}
            self._call("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, **more})
            self._call("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Moves, presses or releases the left button: `mouseMoved`, `mousePressed`, …"""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self._call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **button})

    def picture(self) -> bytes:
        """Returns the whole page as PNG."""
        asked = {"format": "png", "captureBeyondViewport": True}
        return base64.b64decode(self._call("Page.captureScreenshot", asked)["data"])

    def _call(self, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters or {}}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == number:
                if "error" in reply:
                    raise PageError(f"{method}: {reply['error']['message']}")
                result: dict[str, Any] = reply["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """Returns the next message; events are kept."""
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reads], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._reads, 1 << 20) if ready else b""
            if not part:
                raise PageError("the browser does not answer")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._events.append(message)
        return message
