"""The server of lab pages answers its own page and nobody else."""

import base64
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from ackclock import load, metrics, simulate
from ackclock.errors import LackingError
from ackclock.laboratory import page
from ackclock.laboratory.server import LabServer
from ackclock.scenario import Scenario

from ..patience import PATIENCE_S
from .test_page import FIRST, TRACED, ackclock


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    with LabServer(page.beginning(str(TRACED), load(TRACED))) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield serving
        serving.shutdown()


def ask(
    server: LabServer, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    cookie = {"Cookie": server.cookie}
    connection.request(method, path, body, cookie | headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def call(server: LabServer, name: str, **request: Any) -> Any:
    answer, content = ask(server, "POST", f"/call/{name}", json.dumps(request))
    assert answer.status == 200
    return json.loads(content)


def test_the_first_address_becomes_a_cookie(server: LabServer) -> None:
    path = server.address.removeprefix(f"http://{server.host}")
    answer, _ = ask(server, "GET", path, Cookie="")
    assert answer.status == 303
    assert answer.headers["Location"] == "/"
    cookie = answer.headers["Set-Cookie"]
    assert "SameSite=Strict" in cookie
    assert "HttpOnly" in cookie
    answer, content = ask(server, "GET", "/", Cookie=cookie.partition(";")[0])
    assert answer.status == 200
    assert b"ackclock lab" in content


def test_files_have_their_types_and_a_policy(server: LabServer) -> None:
    for name, path in page.static().items():
        answer, content = ask(server, "GET", f"/{name}")
        assert answer.status == 200
        assert content == path.read_bytes()
        assert answer.headers["Content-Type"] == page.TYPES[path.suffix]
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in answer.headers
    begun = json.loads(ask(server, "GET", "/scenario.json")[1])
    assert begun["server"] is True
    assert len(begun["files"]) == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1:1"}),
        (403, {"Cookie": ""}),
        (403, {"Cookie": "ackclock-lab=guess"}),
        (403, {"Cookie": "ackclock-lab=ü".encode().decode("latin-1")}),
    ],
)
def test_others_are_refused(
    server: LabServer, method: str, status: int, headers: dict[str, str]
) -> None:
    answer, content = ask(server, method, "/call/describe", "{}", **headers)
    assert answer.status == status
    assert content.count(b"\n") == 1


def test_a_call_from_another_origin_is_refused(server: LabServer) -> None:
    answer, _ = ask(server, "POST", "/call/describe", "{}", Origin="http://evil.example")
    assert answer.status == 403
    own, _ = ask(server, "POST", "/call/read", '{"text": ""}', Origin=f"http://{server.host}")
    assert own.status == 200


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/static/view.js", "/page.py", "/%2e%2e/x"])
def test_no_other_file_is_served(server: LabServer, path: str) -> None:
    assert ask(server, "GET", path)[0].status == 404


def test_calls_are_bounded_and_known(server: LabServer) -> None:
    assert ask(server, "POST", "/call/open", "{}")[0].status == 404
    assert (
        ask(server, "POST", "/call/check", "{}", **{"Content-Length": "99999999999"})[0].status
        == 413
    )
    for body in ("", "[]", "nonsense", "[" * 100_000):
        answer, content = ask(server, "POST", "/call/check", body)
        assert answer.status == 200
        assert json.loads(content)["errors"]


def test_a_mistake_is_told_with_its_field(server: LabServer) -> None:
    answer = call(server, "check", scenario=load(FIRST).tree, set={"duration": "10 x"})
    assert answer["errors"][0]["field"] == "duration"
    answer = call(server, "read", text="a = = 1")
    assert answer["errors"][0]["code"] == "syntax"


def test_two_labs_live_beside_each_other(server: LabServer) -> None:
    """A browser gives the cookies of a host to all its ports, and keeps the last of each name."""
    with serving(load(FIRST)) as other:
        jar: dict[str, str] = {}
        for lab in (server, other):
            path = lab.address.removeprefix(f"http://{lab.host}")
            name, _, value = ask(lab, "GET", path)[0].headers["Set-Cookie"].partition("=")
            jar[name] = value.partition(";")[0]
        cookies = "; ".join(f"{name}={value}" for name, value in jar.items())
        for lab in (server, other):
            assert ask(lab, "POST", "/call/describe", "{}", Cookie=cookies)[0].status == 200


CALLS_WITH_SCENARIO = ("check", "run", "predict", "emulate", "save")


@pytest.mark.parametrize("name", CALLS_WITH_SCENARIO)
def test_a_page_names_no_file_that_it_did_not_begin_with(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hunter2")
    (tmp_path / "run.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    traced = load(TRACED)
    with serving(traced, TRACED.parent / "saved.toml") as made:
        for file in (tmp_path / "secret.txt", "/dev/zero", "../traces/moving-link.csv"):
            link = {"kind": "trace", "file": str(file), "format": "mahimahi"}
            for sent in ({"set": {"hops.0.link": link}}, {"sweep": {"hops.0.link": [link]}}):
                tree = traced.tree | {"sweep": sent["sweep"]} if "sweep" in sent else traced.tree
                answered = call(made, name, scenario=tree, set=sent.get("set", {}))
                assert "names no file" in answered["errors"][0]["message"]
                assert "hunter2" not in json.dumps(answered)
        control = {"kind": "python", "file": str(tmp_path / "run.py"), "class": "Control"}
        changes = {"flows.0.transport.control": control}
        tree = {name: field for name, field in traced.tree.items() if name != "sweep"}
        answered = call(made, name, scenario=tree, set=changes)
        assert "names no file" in answered["errors"][0]["message"]
    assert not (tmp_path / "ran").exists()
    assert not (TRACED.parent / "saved.toml").exists()


def test_a_page_may_name_the_files_that_it_began_with(server: LabServer) -> None:
    answered = call(server, "check", scenario=load(TRACED).tree)
    assert answered["resolved"]["hops"][0]["link"]["digest"]


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff"])
def test_half_a_character_is_refused(server: LabServer, text: str) -> None:
    for name in (*CALLS_WITH_SCENARIO, "read", "write"):
        body = f'{{"scenario": {{"name": "{text}"}}, "text": "{text}"}}'
        answer, content = ask(server, "POST", f"/call/{name}", body)
        assert answer.status == 200
        assert json.loads(content)["errors"]


def test_a_run_here_has_the_rows_of_simulate(server: LabServer) -> None:
    changes = {"duration": "6 s", "warmup": "1 s"}
    answer = call(server, "run", scenario=load(FIRST).tree, set=changes, replicate=1)
    columns = {name: data for name, kind, data, *_ in answer["samples"] if kind == "f8"}
    cwnd = np.frombuffer(base64.b64decode(columns["cwnd_bytes"]), "<f8")
    whole = simulate(load(FIRST).replace({**changes, "replicates": 2})).tables["samples"]
    expected = whole.filter(np.asarray(whole["replicate"]) == 1)["cwnd_bytes"].to_numpy()
    np.testing.assert_array_equal(cwnd, expected)


def test_the_first_point_of_a_sweep_is_shown(server: LabServer) -> None:
    answer = call(server, "check", scenario=load(TRACED).tree)
    assert answer["assignments"] == [["flows.download.transport.control.kind", "reno"]]
    assert answer["points"] == 2
    assert "sweep" in answer["scenario"]
    assert "sweep" not in answer["point"]


def test_a_run_that_is_too_large_is_refused(server: LabServer) -> None:
    answer = call(
        server, "run", scenario=load(FIRST).tree, set={"flows.download.count": 10_000_000}
    )
    assert "memory" in answer["errors"][0]["message"]


@pytest.mark.parametrize("replicate", ["1", None, -1, 10**9, [], 1.5])
def test_a_replicate_is_a_small_number(server: LabServer, replicate: object) -> None:
    answer = call(server, "run", scenario=load(FIRST).tree, replicate=replicate)
    assert answer["errors"][0]["field"] == "replicate"


@pytest.mark.long
@pytest.mark.parametrize("options", [["--no-browser"], []], ids=["not asked for", "none there"])
def test_the_command_serves_until_it_is_interrupted(options: list[str], tmp_path: Path) -> None:
    """Without a browser the address is printed, and the page served."""
    command = [sys.executable, "-m", "ackclock", "lab", str(FIRST), *options]
    nowhere = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    with subprocess.Popen(
        [*command, "--set", "duration=7 s"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=nowhere,
    ) as serving:  # fmt: skip
        assert serving.stdout is not None
        assert serving.stderr is not None
        address = urlsplit(serving.stdout.readline().strip())
        connection = HTTPConnection(str(address.hostname), address.port or 0, timeout=PATIENCE_S)
        token = address.query.removeprefix("token=")
        cookie = f"ackclock-lab-{address.port}={token}"
        connection.request("GET", "/scenario.json", headers={"Cookie": cookie})
        begun = json.loads(connection.getresponse().read())
        connection.close()
        assert begun["scenario"]["duration"] == "7 s"
        assert begun["options"] == ["--set", "duration=7 s"]
        serving.send_signal(signal.SIGINT)
        assert serving.wait(PATIENCE_S) == 0
        assert "Traceback" not in serving.stderr.read()


def test_a_port_that_is_taken_is_refused(server: LabServer) -> None:
    done = ackclock("lab", FIRST, "--no-browser", "--port", server.server_port)
    assert done.exit_code == 3
    assert f"--port: {server.server_port}: " in done.output


@contextmanager
def serving(scenario: Scenario, saved: Path | None = None) -> Iterator[LabServer]:
    with LabServer(page.beginning("x.toml", scenario, saved=saved)) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_the_page_saves_to_the_file_that_was_named_and_nowhere_else(tmp_path: Path) -> None:
    saved = tmp_path / "mine.toml"
    with serving(load(FIRST), saved) as made:
        answer = call(made, "save", scenario=load(FIRST).tree, set={"duration": "7 s"}, path="/x")
        assert answer == {"saved": str(saved)}
        assert load(saved).tree == load(FIRST).replace(duration="7 s").tree
        wrong = call(made, "save", scenario=load(FIRST).tree, set={"duration": "7 x"})
        assert wrong["errors"][0]["field"] == "duration"
    assert load(saved).duration == "7 s"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_nothing_is_saved_unless_a_file_was_named(server: LabServer) -> None:
    answer = call(server, "save", scenario=load(FIRST).tree)
    assert "--save" in answer["errors"][0]["message"]
    assert json.loads(ask(server, "GET", "/scenario.json")[1])["saved"] == ""


def test_a_file_to_save_to_is_checked_before_anything_is_served(tmp_path: Path) -> None:
    there = tmp_path / "there.toml"
    there.touch()
    for path, words in (
        (there, "there.toml: is there; choose another file"),
        (tmp_path / "x.txt", "--save: "),
        (tmp_path / "x.toml", "names"),
    ):
        scenario = TRACED if path.stem == "x" and path.suffix == ".toml" else FIRST
        done = ackclock("lab", scenario, "--no-browser", "--save", path)
        assert done.exit_code == 2, done.output
        assert words in done.output


def events(answer: bytes) -> list[tuple[str, Any]]:
    """The events of a stream: name and data."""
    parts = [block.splitlines() for block in answer.decode().split("\n\n") if block]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1][6:])) for lines in parts]


def test_an_emulation_is_asked_for_before_it_is_watched(server: LabServer) -> None:
    assert ask(server, "GET", "/emulate/events")[0].status == 409
    assert ask(server, "GET", "/emulate/events", Cookie="")[0].status == 403
    long = call(server, "emulate", scenario=load(FIRST).tree, set={"duration": "301 s"})
    assert long["errors"][0]["field"] == "duration"
    assert ask(server, "GET", "/emulate/events")[0].status == 409


def test_what_a_machine_lacks_is_told_in_a_line(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_more: Any) -> None:
        raise LackingError("lacking", "", "no emulation on this machine: no privileges; use sudo")

    monkeypatch.setattr("ackclock.run.emulation.emulate", refuse)
    assert call(server, "emulate", scenario=load(FIRST).tree) == {}
    answer, content = ask(server, "GET", "/emulate/events")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    [(name, data)] = events(content)
    assert name == "failed"
    assert data["errors"][0]["message"] == "no emulation on this machine: no privileges; use sudo"
    assert ask(server, "GET", "/emulate/events")[0].status == 409


def test_an_emulation_ends_once_the_page_has_gone(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that has gone, or a server that ends, makes `progress` raise, which ends a run."""
    ended = threading.Event()

    def run(*_arguments: Any, progress: Any, **_more: Any) -> None:
        try:
            while True:
                progress({"fraction": 0.1, "rate_bit_per_s": 1e6})
        finally:
            ended.set()

    monkeypatch.setattr("ackclock.run.emulation.emulate", run)
    call(server, "emulate", scenario=load(FIRST).tree)
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE_S)
    connection.request("GET", "/emulate/events", headers={"Cookie": server.cookie})
    assert connection.getresponse().readline() == b"event: progress\n"
    connection.close()
    assert ended.wait(PATIENCE_S)


def test_models_answer(server: LabServer) -> None:
    losses = {"hops.bottleneck.impairments": [{"kind": "iid_loss", "probability": "1 %"}]}
    reno = {"flows.download.transport.control": {"kind": "reno"}}
    predictions = call(server, "predict", scenario=load(FIRST).tree, set=losses | reno)
    assert "square_root" in [prediction["model"] for prediction in predictions]
    assert all(prediction["goodput_bit_per_s"] > 0 for prediction in predictions)


def test_metrics_exist_by_the_names_that_the_page_shows() -> None:
    names = {metric.name for metric in metrics.METRICS.values()}
    assert {"goodput", "utilisation", "rtt", "queueing_delay", "retransmissions"} <= names


def test_a_page_says_that_its_server_has_ended(node: str) -> None:
    """In node nothing answers a call, as when the server has ended."""
    engine = (page.static()["view.js"].parent / "engine.js").as_uri()
    script = f"""const {{ called }} = await import("{engine}");
    console.log(JSON.stringify(await called("predict", {{}})));
    process.exit();"""  # The engine's channel would keep node alive.
    ran = subprocess.run(
        [node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    [error] = json.loads(ran.stdout)["errors"]
    assert (error["code"], error["field"]) == ("failed", "")
    assert "start ackclock lab again" in error["message"]
