from pathlib import Path

import pytest

PATH = """
schema = 1
duration = "4 s"
warmup = "1 s"

[[hops]]
name = "bottleneck"
link = { kind = "constant", rate = "12 Mbit/s" }
queue = { kind = "droptail", limit = "1 BDP" }
delay = "10 ms"
impairments = [{ kind = "iid_loss", probability = 0.002 }]

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[flows]]
name = "mine"
route = ["bottleneck"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" } }
"""

GAME = (
    PATH
    + """
count = 3
start = ["0 s", "1 s"]

[[flows]]
name = "cross"
route = ["bottleneck"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" } }
"""
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "path.toml"
    file.write_text(PATH)
    return file


@pytest.fixture
def game(tmp_path: Path) -> Path:
    file = tmp_path / "game.toml"
    file.write_text(GAME)
    return file
