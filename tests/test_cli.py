import errno
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import ackclock.cli as commands
from ackclock import LackingError, Result, __version__, engine, plot, predict
from ackclock.cli import VERBS, cli
from ackclock.cli.output import print_table
from ackclock.cli.records import shown
from ackclock.elements.registry import registry
from ackclock.models import MODELS
from ackclock.report.run_tables import flow_rows, flow_table
from ackclock.result.run_json import SCHEMA
from ackclock.table import table

from .in_process import ackclock
from .patience import PATIENCE_S
from .refusals import check, check_refusal, error_of

ROOT = Path(__file__).resolve().parent.parent

QUICK = ("--replicates", "2", "--set", "duration=3 s")
ONE_RUN = ("--replicates", "1", "--set", "duration=3 s")


def test_check_says_what_would_run(scenario_file: Path) -> None:
    outcome = ackclock("check", scenario_file)
    assert outcome.exit_code == 0
    assert outcome.stdout == (
        "leaky.toml: fine. 3 hops, 1 flow; 6 points, 3 replicates of each: 18 runs of 5 s\n"
    )


def test_check_as_json_has_the_defaults(scenario_file: Path) -> None:
    outcome = ackclock("check", scenario_file, "--json", "--seed", 2**64 - 1)
    points = json.loads(outcome.stdout)
    assert len(points) == 6
    assert points[0]["scenario"]["flows"][0]["transport"]["mss"] == "1000 bytes"
    assert str(points[0]["scenario"]["seed"]) == str(2**64 - 1)


@pytest.mark.slow
def test_simulate_prints_the_table_and_writes_the_folder(scenario_file: Path) -> None:
    outcome = ackclock("simulate", scenario_file, *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    title, _, names, units, rule, *_ = outcome.stdout.splitlines()
    assert title.startswith("leaky pipe: one flow, 6 points; ")
    assert "goodput" in names
    assert "Mbit/s" in units
    assert set(rule) == {"-"}
    assert "PFTK" in names
    assert f"  result  {Path('out') / 'leaky'}\n" in outcome.stdout
    assert "  next    ackclock plot " in outcome.stdout
    [warning] = outcome.stderr.splitlines()
    assert warning.startswith(
        "warning: main (control.kind reno, probability 0 %): 1 congestion epoch in 2 s"
    )
    result = Result.load("out/leaky")
    assert result.run["replicates"] == 2
    assert result.tables["flows"].num_rows == 12
    assert not result.partial


@pytest.mark.slow
def test_simulate_as_json(scenario_file: Path) -> None:
    outcome = ackclock(
        "simulate",
        scenario_file,
        *QUICK,
        "-o",
        "run",
        "--json",
        "--packets",
        "--pcap",
        "--threads",
        1,
    )
    answer = json.loads(outcome.stdout)
    assert answer["folder"] == "run"
    assert answer["partial"] is False
    assert len(answer["flows"]) == 6
    first = answer["flows"][1]
    assert first["goodput"]["low"] <= first["goodput"]["mean"] <= first["goodput"]["high"]
    assert set(first["predicted"]) == {"square root", "PFTK"}
    assert {row["hop"] for row in answer["hops"]} == {"wired", "wireless", "return"}
    assert Result.load("run").tables["packets"].num_rows > 0
    assert len(list(Path("run/pcap").glob("*.pcap"))) == 24


def test_a_run_that_cannot_fit_into_memory_is_refused_in_one_line(scenario_file: Path) -> None:
    outcome = ackclock(
        "simulate", scenario_file, "--set", "flows.main.count=10000000", "--set", "duration=1000 h"
    )
    assert (outcome.exit_code, outcome.stdout, len(outcome.stderr.splitlines())) == (3, "", 1)
    error = error_of(outcome)
    assert (error.code, type(error)) == ("lacking", LackingError)
    assert [path.name for path in Path().iterdir()] == ["leaky.toml"]


@pytest.mark.slow
def test_seed_and_set_change_the_scenario(scenario_file: Path) -> None:
    ackclock(
        "simulate",
        scenario_file,
        *QUICK,
        "-o",
        "run",
        "--seed",
        5,
        "--set",
        "hops.wired.delay=1 ms",
        "--set",
        "name=x y",
    )
    run = Result.load("run").run
    assert run["seed"] == "5"
    assert run["name"] == "x y"
    assert run["points"][0]["scenario"]["hops"][0]["delay"] == "1 ms"


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", ["check", "predict", "simulate", "emulate", "compare", "advise buffer"]
)
def test_what_is_set_is_what_runs_though_it_is_swept(scenario_file: Path, verb: str) -> None:
    path = "hops.wireless.impairments.0.probability"
    check_refusal(
        ackclock(*verb.split(), scenario_file, "--set", f"{path}=nan"), "wrong-type", path, "nan"
    )


@pytest.mark.slow
def test_what_is_set_is_no_longer_swept(scenario_file: Path) -> None:
    path = "hops.wireless.impairments.0.probability"
    for changes, points in ((QUICK, 6), ((*QUICK, "--set", f"{path}=1 %"), 2)):
        rows = json.loads(
            ackclock("predict", scenario_file, "--models", "square_root", "--json", *changes).stdout
        )
        assert len(rows) == points
        assert ackclock("simulate", scenario_file, "-o", f"out-{points}", *changes).exit_code == 0
        assert len(json.loads(Path(f"out-{points}", "run.json").read_text())["points"]) == points


@pytest.mark.slow
def test_plot_and_report_say_where_they_are(scenario_file: Path) -> None:
    ackclock("simulate", scenario_file, *QUICK, "-o", "run")
    outcome = ackclock("plot", "run")
    names = [
        f"run/figures/{kind.name}{'_goodput' if 'metric' in kind.takes else ''}.svg"
        for kind in plot.available(Result.load("run"), plot.View())
    ]
    assert len(names) > 5
    assert outcome.stdout.splitlines() == [f"figure: {name}" for name in names]
    assert all(Path(name).stat().st_size > 1000 for name in names)
    ackclock("plot", "run", "--kind", "heatmap", "--metric", "queueing_delay_p99")
    assert Path("run/figures/heatmap_queueing_delay_p99.svg").exists()
    outcome = ackclock("plot", "run", "--kind", "sweep", "--metric", "rtt", "-o", "rtt.png")
    assert outcome.stdout == "figure: rtt.png\n"
    assert Path("rtt.png").read_bytes().startswith(b"\x89PNG")
    outcome = ackclock("report", "run", "-o", "report.html", "--json")
    assert json.loads(outcome.stdout) == {"report": "report.html"}
    assert ackclock("report", "run").stdout == "report: run/report.html\n"
    assert Path("run/report.html").read_bytes() == Path("report.html").read_bytes()
    assert (
        ackclock("simulate", scenario_file, *QUICK, "-o", "run").exit_code == 0
    )  # everything that is ours may go


@pytest.mark.slow
def test_predict_names_what_does_not_apply(scenario_file: Path) -> None:
    outcome = ackclock("predict", scenario_file)
    assert outcome.exit_code == 0
    text = " ".join(outcome.stdout.split())
    assert "does not apply " not in text.replace("does not apply. ", "")
    assert re.search(r"\d+ of \d+ models apply; ackclock predict --models NAME says why", text)
    assert " CUBIC " in text
    # A model that is asked for by name says why.
    asked = ackclock("predict", scenario_file, "--models", "pftk,sawtooth").stdout
    assert re.search("does not apply +cubic is not AIMD", asked)
    long = "--set", "duration=100 s", "--set", "warmup=20 s"
    rows = json.loads(ackclock("predict", scenario_file, "--json", *long).stdout)
    assert len(rows) == 6 * len(MODELS)
    assert {row["control"] for row in rows} == {"reno", "cubic"}
    verdicts = {re.sub(r"within \d+ %", "within", row["verdict"]) for row in rows}
    assert verdicts == {"applies, within", "applies with violated assumptions", "does not apply"}
    [row] = [row for row in rows if (row["point"], row["model"]) == (1, "pftk")]
    assert row["inputs"]["loss"] == pytest.approx(0.005)
    assert row["inputs"]["window"] == "unlimited"
    assert row["outputs"]["goodput"] * 8000 == pytest.approx(row["model_bit_per_s"])
    assert row["violated"] == ["reno_recovery"]
    asked = "--json", "--models", "pftk,mathis"
    few = json.loads(ackclock("predict", scenario_file, *asked, *long).stdout)
    assert few == [row for row in rows if row["model"] in ("mathis", "pftk")]
    assert list(Path().iterdir()) == [scenario_file]


def test_whatever_is_registered_can_be_shown() -> None:
    kinds = {name for name, listed in registry().items() if listed} - {"kinds"}
    assert kinds | {"models", "metrics", "figures", "causes", "experiments", "schema"} == set(
        shown()
    )
    help_text = "".join(ackclock("show", "--help").stdout.split())  # lines are wrapped within words
    assert "|".join(shown()) in help_text


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in shown() if kind != "schema"])
def test_show_lists_and_details(kind: str) -> None:
    records = json.loads(ackclock("show", kind, "--json").stdout)
    assert records
    listed = ackclock("show", kind)
    assert all(record["name"] in listed.stdout for record in records)
    for record in records:
        details = ackclock("show", kind, record["name"])
        assert details.exit_code == 0
        assert details.stdout
        assert len(json.loads(ackclock("show", kind, record["name"], "--json").stdout)) == 1


def test_show_names_parameters() -> None:
    assert "limit" in ackclock("show", "queues", "droptail").stdout
    assert "rto_minimum" in ackclock("show", "presets", "rfc").stdout
    assert "title" in json.loads(ackclock("show", "schema").stdout)


def test_show_finds_a_name_that_only_one_kind_has() -> None:
    assert ackclock("show", "droptail").stdout == ackclock("show", "queues", "droptail").stdout
    described = json.loads(ackclock("show", "reno_response", "--json").stdout)
    assert described == json.loads(ackclock("show", "models", "reno_response", "--json").stdout)
    for name in ("rtt", "tfrc"):
        check_refusal(ackclock("show", name), "unknown-name", "KIND", name, "show")


def test_show_refuses_an_unknown_name_with_the_nearest_or_the_known() -> None:
    check_refusal(ackclock("show", "controls", "rneo"), "unknown-name", "NAME", "rneo", "reno")
    names = (entry["name"] for entry in registry()["controls"])
    check_refusal(ackclock("show", "controls", "zzz"), "unknown-name", "NAME", "zzz", *names)


def test_check_says_which_controls_only_a_kernel_has(scenario_file: Path) -> None:
    kernel = (
        "flows.main.transport.control={kind = 'kernel', name = 'bbr'}",
        "sweep={seed = [1, 2]}",
    )
    printed = ackclock("check", scenario_file, "--set", kernel[1], "--set", kernel[0]).stdout
    assert printed.endswith("; only ackclock emulate runs kernel:bbr\n")
    assert "emulate" not in ackclock("check", scenario_file).stdout


BAD = {
    "no unit": ('"45 Mbit/s"', '"45"', "no-unit", "hops.wired.link.rate"),
    "wrong unit": ('"45 Mbit/s"', '"45 ms"', "wrong-unit", "hops.wired.link.rate"),
    "unknown field": ('delay = "35 ms"', 'dealy = "35 ms"', "unknown-field", "hops.wired.dealy"),
    "impossible value": (
        '"5 %"]',
        '"120 %"]',
        "out-of-range",
        "hops.wireless.impairments.0.probability",
    ),
    "negative": ('delay = "35 ms"', 'delay = "-35 ms"', "out-of-range", "hops.wired.delay"),
    "missing trace": (
        '{ kind = "constant", rate = "45 Mbit/s" }',
        '{ kind = "trace", file = "no.trace", format = "mahimahi" }',
        "file",
        "hops.wired.link.file",
    ),
    "malformed trace": (
        '{ kind = "constant", rate = "45 Mbit/s" }',
        '{ kind = "trace", file = "bad.trace", format = "mahimahi" }',
        "file",
        "hops.wired.link.file",
    ),
    "no TOML": ("schema = 1", "schema = = 1", "syntax", ""),
}


@pytest.mark.parametrize("command", ["check", "simulate", "predict"])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(
    scenario_file: Path, case: str, command: str
) -> None:
    before, after, code, field = BAD[case]
    text = scenario_file.read_text()
    assert before in text
    scenario_file.write_text(text.replace(before, after, 1))
    Path("bad.trace").write_text("1\ntwo\n")
    check_refusal(ackclock(command, scenario_file), code, field)
    assert sorted(path.name for path in Path().iterdir()) == ["bad.trace", "leaky.toml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("simulate", "missing.toml"), "file", "missing.toml"),
        (("simulate", "leaky.toml", "--set", "nonsense"), "syntax", ""),
        (
            ("simulate", "leaky.toml", "--set", "hops.wierd.delay=1 ms"),
            "unknown-field",
            "hops.wierd",
        ),
        (("simulate", "leaky.toml", "--replicates", "0"), "out-of-range", "--replicates"),
        (("simulate", "leaky.toml", "--seed", "x"), "out-of-range", "--seed"),
        (("simulate", "leaky.toml", "--threads", "0"), "out-of-range", "--threads"),
        (("simulate", "leaky.toml", "-o", "."), "file", "."),
        (("simulate", "leaky.toml", "-o", "leaky.toml"), "file", "leaky.toml"),
        (("simulate", "leaky.toml", "-o", "leaky.toml/run"), "file", "leaky.toml"),
        (("simulate",), "missing", "SCENARIO"),
        (("simulate", "leaky.toml", "--frobnicate"), "unknown-field", "--frobnicate"),
        (("plot", "missing"), "file", "missing"),
        (("report", "missing"), "file", "missing"),
        (("report",), "missing", "RUNS"),
        (("show", "wombats"), "unknown-name", "KIND"),
        (("frobnicate",), "unknown-name", ""),
    ],
)
def test_a_bad_command_is_one_line(
    scenario_file: Path, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(ackclock(*arguments), code, field)
    assert list(Path().iterdir()) == [scenario_file]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("--metric", "speed"), "unknown-name", "--metric"),
        (("--metric", "zzz"), "unknown-name", "--metric"),
        (("--point", "6"), "out-of-range", "--point"),
        (("--replicate", "3"), "out-of-range", "--replicate"),
        (("--kind", "cwnd", "-o", "x.doc"), "unsupported", "-o"),
        (("-o", "x.svg"), "contradiction", "-o"),
        (("--kind", "pie"), "unknown-name", "--kind"),
        (("--kind", "sequence"), "no-data", "--kind"),
        (("--kind", "sweep", "--subject", "nobody"), "unknown-name", "--subject"),
        (("--kind", "variation", "--from", "1s"), "contradiction", "--from"),
    ],
)
@pytest.mark.usefixtures("scenario_file")
def test_a_figure_that_cannot_be_drawn_is_one_line(
    result: Result, arguments: tuple[str, ...], code: str, field: str
) -> None:
    result.save("run")
    check_refusal(ackclock("plot", "run", *arguments), code, field)
    assert not Path("run/figures").exists()


@pytest.mark.long
def test_samples_too_far_apart_for_any_time_scale_are_said_to_be_so(scenario_file: Path) -> None:
    coarse = ("--set", "sample_interval=1 s", "--set", "sweep={}")
    ackclock("simulate", scenario_file, *QUICK, *coarse, "-o", "run")
    check_refusal(
        ackclock("plot", "run", "--kind", "variation"), "no-data", "--kind", "sample_interval"
    )
    assert ackclock("plot", "run").exit_code == 0
    assert not Path("run/figures/variation.svg").exists()


def test_every_command_of_a_file_is_a_verb_or_belongs_to_one() -> None:
    remedy = "in TASKS of python/ackclock/cli/__init__.py, from which --help has its verbs"
    listed = [verb for task in commands.TASKS.values() for verb in task]
    assert sorted(VERBS) == sorted(listed), f"list each verb once, {remedy}"
    modules = [
        import_module(f"ackclock.cli.{module.name}")
        for module in pkgutil.iter_modules(commands.__path__)
    ]
    defined = {
        command
        for module in modules
        for command in vars(module).values()
        if isinstance(command, click.Command)
    }
    verbs = {cli.get_command(click.Context(cli), name) for name in VERBS}
    subjects = {
        command
        for verb in verbs
        if isinstance(verb, click.Group)
        for command in verb.commands.values()
    }
    for command in defined - verbs - subjects:
        pytest.fail(f"python/ackclock/cli: no verb is the command {command.name}; list it {remedy}")
    assert all(verb.name in VERBS for verb in verbs)


def test_every_command_has_help_with_an_example() -> None:
    for name in VERBS:
        outcome = ackclock(name, "--help")
        assert outcome.exit_code == 0
        assert "Example:" in outcome.stdout
        assert f"  ackclock {name} " in outcome.stdout


def test_what_examples_of_the_help_read_is_there() -> None:
    commands = [(name,) for name in VERBS] + [("advise", "feedback")]
    texts = [ackclock(*command, "--help").stdout for command in commands]
    named = {path for text in texts for path in re.findall(r"\b(?:examples|traces)/[\w.-]+", text)}
    assert {"examples/first.toml", "traces/moving-link.csv"} <= named
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []


def test_version() -> None:
    assert ackclock("--version").stdout.startswith(f"ackclock, version {__version__}")


def test_the_version_says_whether_the_engine_checks_itself() -> None:
    assert ("debug assertions" in ackclock("--version").stdout) == engine.is_checking()


def test_a_file_of_an_option_is_looked_for_beside_the_scenario(scenario_file: Path) -> None:
    folder = Path("elsewhere")
    folder.mkdir()
    scenario_file.rename(folder / scenario_file.name)
    Path("own.py").write_text("")
    control = '{ kind = "python", file = "own.py", class = "Own" }'
    field = "flows.main.transport.control"
    outcome = ackclock("check", folder / scenario_file.name, "--set", f"{field}={control}")
    check_refusal(outcome, "file", f"{field}.file", "own.py")
    assert f"beside {folder / scenario_file.name}" in outcome.stderr


def test_a_full_disk_is_the_machines_fault(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    outcome = ackclock("simulate", scenario_file, *QUICK, "-o", "run")
    assert outcome.exit_code == 3
    check(error_of(outcome), "file", "run", "No space left on device")
    assert list(Path().iterdir()) == [scenario_file]


def test_ctrl_c_during_the_import_of_a_compiled_module_is_an_interrupt(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr("pyarrow.parquet.write_table", interrupted)
    outcome = ackclock("simulate", scenario_file, *QUICK, "-o", "run")
    assert outcome.exit_code == 130
    check(error_of(outcome), "interrupted", "")


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_start_up_imports_nothing_heavy(run_python) -> None:
    code = (
        "import sys, ackclock; from ackclock import cli; ackclock.load('leaky.toml').check();"
        "print(sorted({'numpy', 'scipy', 'pyarrow', 'matplotlib', 'jinja2', 'rich'} & "
        "set(sys.modules)))"
    )
    assert run_python("-c", code).stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_nothing_heavy_is_imported_before_the_first_event(run_python) -> None:
    code = """\
import sys
from ackclock import _native, cli
def stop(*_, **__):
    print(sorted({"numpy", "scipy", "pyarrow", "matplotlib", "jinja2", "rich"} & set(sys.modules)))
    raise SystemExit
_native.simulate = stop
cli.cli(["simulate", "leaky.toml"])
"""
    outcome = run_python("-c", code)
    assert (outcome.stdout, outcome.stderr) == ("[]\n", "")


@pytest.mark.long
@pytest.mark.usefixtures("scenario_file")
def test_a_summary_imports_nothing_that_draws(run_python) -> None:
    code = f"""\
import atexit, sys
from ackclock.cli import cli
atexit.register(lambda: print(sorted({{"matplotlib", "jinja2"}} & set(sys.modules))))
cli(["simulate", "leaky.toml", *{QUICK}])
"""
    assert run_python("-c", code).stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_the_command_in_a_process_of_its_own(run_python) -> None:
    outcome = run_python("-m", "ackclock", "simulate", "leaky.toml", *QUICK)
    assert outcome.returncode == 0
    [warning] = outcome.stderr.splitlines()
    assert warning.startswith("warning: main "), "two seconds are too few to settle"
    outcome = run_python("-m", "ackclock", "check", "missing.toml")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert len(outcome.stderr.splitlines()) == 1
    outcome = run_python("-m", "ackclock", "check", "missing.toml", "--json")
    error = json.loads(outcome.stdout)["error"]
    assert (error["code"], error["field"]) == ("file", "missing.toml")
    assert outcome.stderr == f"ackclock: missing.toml: {error['message']}\n"


# The signal comes when a few of the runs are done, however long that takes.
INTERRUPTED = """\
import os, signal
from ackclock.run import simulation
from ackclock.cli import main
simulate = simulation.simulate
def interrupted(*arguments, progress, **options):
    def tell(share):
        progress(share)
        if share > 3 / 6000:
            os.kill(os.getpid(), signal.SIGINT)
    return simulate(*arguments, progress=tell, **options)
simulation.simulate = interrupted
main()
"""


@pytest.mark.long
@pytest.mark.usefixtures("scenario_file")
def test_ctrl_c_leaves_a_valid_folder_marked_partial() -> None:
    # Thousands of runs: some end before the signal, most do not.
    arguments = [
        "simulate",
        "leaky.toml",
        "-o",
        "run",
        "--replicates",
        "1000",
        "--set",
        "duration=10 s",
        "--threads",
        "1",
    ]
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    result = Result.load("run")
    assert result.partial
    assert 0 < result.tables["flows"].num_rows < 6000
    assert sorted(path.name for path in Path().iterdir()) == ["leaky.toml", "run"]
    assert ackclock("report", "run").exit_code == 0
    assert "Interrupted:" in Path("run/report.html").read_text()
    assert ackclock("plot", "run").exit_code == 0
    assert (
        ackclock("plot", "run", "--kind", "cwnd", "--point", 5, "--replicate", 999).exit_code == 0
    )


def _folder(path: Path) -> dict[str, bytes]:
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file()
    }


IN_TURN = """\
from click.testing import CliRunner
from ackclock.cli import cli
for command in {}:
    outcome = CliRunner().invoke(cli, command)
    assert outcome.exit_code == 0, outcome.stderr
"""


@pytest.mark.long
def test_a_run_its_captures_figures_and_report_are_the_same_bytes_for_any_number_of_threads(
    scenario_file: Path, run_python
) -> None:
    # Two points of three replicates; drawing takes most of the time.
    text = scenario_file.read_text("utf-8").replace('["reno", "cubic"]', '["cubic"]')
    fewer = text.replace('["0 %", "0.5 %", "5 %"]', '["0 %", "5 %"]')
    scenario_file.write_text(fewer, encoding="utf-8")

    def commands(threads: int) -> list[list[str]]:
        more = ("--packets", "--pcap", "--threads", str(threads))
        simulated = ["simulate", "leaky.toml", *QUICK, "-o", "run", *more]
        return [simulated, ["plot", "run"], ["report", "run"]]

    # A process of its own: nothing left by a first run can make the second one equal.
    outcome = run_python("-c", IN_TURN.format(commands(1)))
    assert outcome.returncode == 0, outcome.stderr
    everything = _folder(Path("run"))
    assert {Path(name).suffix for name in everything} == {
        ".json", ".parquet", ".pcap", ".svg", ".html", "",
    }  # fmt: skip
    shutil.rmtree("run")  # existing runs would not be made again
    for command in commands(2):
        assert ackclock(*command).exit_code == 0
    assert _folder(Path("run")) == everything


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["run.json", "flows.parquet", "samples.parquet"])
@pytest.mark.usefixtures("scenario_file")
def test_a_damaged_or_incomplete_result_is_one_line(result: Result, damage: str) -> None:
    result.save("run")
    (Path("run") / damage).write_text(json.dumps({"schema": SCHEMA}))
    for command in ("plot", "report"):
        check_refusal(ackclock(command, "run"), "file", f"run/{damage}", "ackclock simulate")
    (Path("run") / damage).unlink()
    for command in ("plot", "report"):
        check_refusal(ackclock(command, "run"), "file", "run", damage)
    assert not (Path("run") / "figures").exists()


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_refused_before_the_run(
    scenario_file: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.save("run")
    check_refusal(ackclock("plot", "run", "-o", "leaky.toml/figures"), "file", "leaky.toml/figures")
    place = str(Path("leaky.toml").absolute())
    check_refusal(ackclock("report", "run", "-o", "leaky.toml/x.html"), "file", place)

    def read_only(*_arguments: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), ".")

    monkeypatch.setattr(
        "tempfile.mkdtemp", read_only
    )  # tests may run as root, who may write everywhere
    monkeypatch.setattr("ackclock.run.simulation.simulate", lambda *_, **__: pytest.fail("was run"))
    check_refusal(ackclock("simulate", scenario_file, "-o", "other"), "file", str(Path.cwd()))


@pytest.mark.slow
def test_one_replicate_has_no_interval_and_says_so(scenario_file: Path) -> None:
    outcome = ackclock("simulate", scenario_file, *ONE_RUN)
    assert "one replicate, no confidence interval" in outcome.stdout
    assert "±" not in outcome.stdout
    first, second = outcome.stderr.splitlines()
    assert first == "warning: one replicate: no confidence interval; set replicates = 5 or more"
    assert "a mean needs at least 5" in second
    answer = json.loads(ackclock("simulate", scenario_file, *ONE_RUN, "--json").stdout)
    assert answer["flows"][0]["goodput"]["mean"] > 0
    assert (answer["flows"][0]["goodput"]["low"], answer["flows"][0]["goodput"]["high"]) == (
        None,
        None,
    )


@pytest.mark.parametrize(("columns", "parts"), [(40, 3), (80, 2), (200, 1)])
def test_a_comparison_that_is_too_wide_goes_on_below(
    columns: int, parts: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    head = [
        "p",
        *(name for quantity in ("mean", "spread", "atom") for name in (quantity, "ours", "off by")),
    ]
    cells = [["0.01", *(f"{10 * row + column}.12345" for column in range(9))] for row in (1, 2)]
    print_table(table("title", head, cells, keys=1, together=3))
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.startswith("0.01") for line in lines) == 2 * parts
    assert all(cell in text for row in cells for cell in row)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_table_fits_the_terminal_and_says_what_it_leaves_out(
    result: Result,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = flow_table(flow_rows(result, predict(result, "usual")))
    head, cells = shown.head, shown.texts
    print_table(shown)
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, text.partition("left out")[0].splitlines())) <= columns
    assert all(row[head.index("goodput Mbit/s")] in text for row in cells)
    left_out = [name for name in head if name.split()[0] not in text.partition("left out")[0]]
    assert all(name in text.partition("left out")[2] for name in left_out)
    assert bool(left_out) == (columns < 200)


@pytest.mark.slow
@pytest.mark.usefixtures("scenario_file")
def test_names_cannot_move_the_cursor_of_a_terminal() -> None:
    name = "a\x1b[2Jb\u202ec"
    Path("leaky.toml").write_text(
        Path("leaky.toml").read_text().replace("leaky pipe", r"a\u001b[2Jb\u202ec")
    )
    outcome = ackclock("simulate", "leaky.toml", *QUICK, "-o", f"out/{name}")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.count(r"a\x1b[2Jb\u202ec") == 3, "title, folder and next command"
    refused = ackclock("simulate", f"{name}.toml")
    shown = [outcome.stdout, outcome.stderr, refused.stdout, refused.stderr]
    assert not any(character in text for character in "\x1b\u202e" for text in shown)


@pytest.mark.parametrize("words", [["simulate"], ["sweep", "run"], []])
def test_help_is_a_verb_too(words: list[str]) -> None:
    asked = ackclock("help", *words)
    assert asked.exit_code == 0
    assert asked.stdout == ackclock(*words, "--help").stdout
