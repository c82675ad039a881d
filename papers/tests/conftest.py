import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ackclock.run import doctor
from ackclock.run.emulation import replay

# Looking for garbage costs a tenth of the time unless it is rare, and spares the collected tests.
gc.set_threshold(100_000, 20, 10)

# Speed is measured in benchmarks, so a busy machine fails no test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "emulation" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_time)


@pytest.fixture(scope="session")
def no_emulation() -> str | None:
    """The reason why this machine cannot emulate, or None if it can."""
    examination = doctor.examine()
    return None if examination["emulation"] else doctor.complaint(examination)


@pytest.fixture(scope="session")
def emulation(no_emulation: str | None) -> None:
    """Skips a test that needs an emulation where none is possible, with the reason."""
    if no_emulation is not None:
        pytest.skip(no_emulation)


@pytest.fixture(autouse=True)
def replayed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Replays every complete emulation in a test's folder, and checks that it decides the same."""
    yield
    place = request.node.funcargs.get("tmp_path")
    if place is None or not {"emulation", "no_emulation"} & set(request.fixturenames):
        return
    records = {record.parents[1] for record in place.rglob("record/*.ackrec")}
    for folder in (folder for folder in records if (folder / "fidelity.parquet").exists()):
        assert {run["difference"] for run in replay(folder)} == {None}, folder
