"""The server of lab pages: this machine only, files and a few calls.

It keeps nothing but what the page saves, in the one file that the user named at the start. It reads
no files but those of the page, and those that the scenario named at the start
(`Beginning.changed`).

A page from elsewhere must not use it. So it answers only to its own name (`Host`), which stops DNS
rebinding, and only to a browser that came with the token of its address. The token becomes a
cookie that other sites' requests do not carry.
"""

import hmac
import json
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ackclock.errors import LackingError, ScenarioError
from ackclock.laboratory import page
from ackclock.laboratory.calls import CALLS, Session
from ackclock.laboratory.links import received
from ackclock.laboratory.live import event
from ackclock.limits import REQUEST_BYTES
from ackclock.scenario import Scenario

#: Nothing but the page's own files, and WebAssembly. Figures are styled by script only.
_POLICY = (
    "default-src 'self'; img-src 'self' data:; script-src 'self' 'wasm-unsafe-eval'; "
    "frame-ancestors 'none'"
)
#: Runs at the same time; more wait.
_SIDE_BY_SIDE = 2


class LabServer(ThreadingHTTPServer):
    """Serves one page on 127.0.0.1.

    Attributes:
        session: What the calls work on.
        token: What the first address carries.
        running: Taken by each run.
    """

    daemon_threads = True

    def __init__(self, begin: page.Beginning, port: int = 0) -> None:
        self.session = Session(begin)  # first: a port that is taken closes the server
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(16)
        self.running = threading.Semaphore(_SIDE_BY_SIDE)
        self.files = page.static()
        self.made = begin.made(server=True)

    @property
    def host(self) -> str:
        """Address and port, as browsers send it."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def cookie(self) -> str:
        """Name and value of the cookie. Browsers give cookies to every port of a host."""
        return f"ackclock-lab-{self.server_port}={self.token}"

    @property
    def address(self) -> str:
        """The address to open first."""
        return f"http://{self.host}/?token={self.token}"

    def server_close(self) -> None:
        """Ends an emulation, then the server."""
        self.session.live.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Writes nothing if the browser has gone: it drops what it no longer needs."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LabServer
    protocol_version = "HTTP/1.1"
    server_version = "ackclock"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        if not self._is_host():
            return
        asked = urlsplit(self.path)
        given = parse_qs(asked.query).get("token", [""])[0]
        if asked.path == "/" and hmac.compare_digest(given.encode(), self.server.token.encode()):
            self.send_response(303)
            self.send_header("Location", "/")
            self.send_header(
                "Set-Cookie", f"{self.server.cookie}; HttpOnly; SameSite=Strict; Path=/"
            )
            self._end(b"")
            return
        if not self._is_ours():
            return
        name = asked.path.removeprefix("/") or "index.html"
        if name == "emulate/events":
            self._emulate()
        elif name in self.server.made:
            self._send(self.server.made[name].encode(), page.TYPES[".json"])
        elif name in self.server.files:
            path = self.server.files[name]
            self._send(path.read_bytes(), page.TYPES[path.suffix])
        else:
            self._refuse(404, "no such page")

    def do_POST(self) -> None:
        if not self._is_host() or not self._is_ours():
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.server.host}":
            self._refuse(403, "asked by another page")
            return
        call = CALLS.get(self.path.removeprefix("/call/"))
        length = self.headers.get("Content-Length", "")
        if call is None or not self.path.startswith("/call/"):
            self._refuse(404, "no such call")
        elif not length.isdecimal() or int(length) > REQUEST_BYTES:
            self._refuse(413, "too long")
        else:
            self._send(_answer(call, self.server, self.rfile.read(int(length))), "application/json")

    def _emulate(self) -> None:
        """Runs the emulation that has been prepared, and sends its events until the page goes."""
        prepared: Scenario | None = self.server.session.live.take()
        if prepared is None:
            self._refuse(409, "no emulation has been asked for")
            return
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()

        def write(name: str, data: dict[str, Any]) -> None:
            self.wfile.write(event(name, data))
            self.wfile.flush()

        try:
            self.server.session.live.run(prepared, write)
        except ConnectionError:
            raise
        except (ValueError, OSError, LackingError) as error:
            write("failed", {"errors": _errors(error)})

    def _is_host(self) -> bool:
        """True if the request names this server; refuses it otherwise."""
        if self.headers.get("Host") == self.server.host:
            return True
        self._refuse(421, f"this server is http://{self.server.host}")
        return False

    def _is_ours(self) -> bool:
        """True if the browser has the cookie; refuses the request otherwise."""
        cookies = [cookie.strip() for cookie in self.headers.get("Cookie", "").split(";")]
        expected = self.server.cookie
        if any(hmac.compare_digest(cookie.encode(), expected.encode()) for cookie in cookies):
            return True
        self._refuse(403, "open the address that ackclock lab printed, with its token")
        return False

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")
        self._end(body)

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self._end(f"{why}\n".encode())

    def _end(self, body: bytes) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Writes nothing: the terminal shows the address."""


def _answer(call: Any, server: LabServer, body: bytes) -> bytes:
    """Returns the answer of a call as JSON; errors as the engine in the page gives them."""
    try:
        request = received(body)
        with server.running:
            answer = call(server.session, request)
    except (ValueError, RecursionError, LackingError) as error:
        answer = {"errors": _errors(error)}
    return json.dumps(answer, ensure_ascii=False).encode()


def _errors(error: Exception) -> list[dict[str, Any]]:
    every = error.errors if isinstance(error, ScenarioError) else (error,)
    return [
        {
            "code": getattr(problem, "code", "syntax"),
            "field": getattr(problem, "field", ""),
            "message": getattr(problem, "message", str(problem)),
            "place": [int(part) for part in getattr(problem, "place", "").split(":") if part]
            or None,
        }
        for problem in every
    ]
